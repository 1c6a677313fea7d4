//! A segment as readers access it: mapped, or unpacked from a compressed file.

use std::{io, sync::Arc};

use nanotape_shm::{ReadWord, Word, as_read_only};

use crate::{
    Cause, Corruption, ErrorKind, JournalError,
    disk::{Disk, ReadableFile},
    names::{self, Kept},
    segment::{header::Header, layout::at, view::View},
};

/// The words of a segment, and their owner.
#[derive(Debug)]
pub(crate) enum Stored<F> {
    Mapped(F),
    Unpacked(Arc<[Word]>),
}

impl<F: ReadableFile> Stored<F> {
    #[inline(always)]
    pub(crate) fn words(&self) -> &[ReadWord] {
        match self {
            Self::Mapped(file) => file.words(),
            Self::Unpacked(words) => as_read_only(words),
        }
    }

    pub(crate) fn touch(&self, words: std::ops::Range<usize>) {
        if let Self::Mapped(file) = self {
            file.touch(words);
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Mapped(file) if file.is_lost())
    }

    /// Whether the name of this segment, plain or compressed, still belongs to this file.
    pub(crate) fn is_current(&self, number: u64) -> bool {
        match self {
            Self::Mapped(file) => file.is_at(&names::segment(number)),
            Self::Unpacked(_) => true,
        }
    }
}

/// Opens a segment by its number; `None` if it does not exist.
pub(crate) fn open<D: Disk>(
    disk: &D,
    number: u64,
) -> Result<Option<Stored<D::Readable>>, JournalError> {
    // Compressed between the two attempts: then it exists again under the first name, or is gone.
    for _ in 0..2 {
        for is_packed in [false, true] {
            let kept = Kept { number, is_packed, bytes: 0 };
            match open_kept(disk, &kept) {
                Ok(stored) => return Ok(Some(stored)),
                Err(error) if error.kind().is_of_no_file() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// Opens a segment from a list.
pub(crate) fn open_kept<D: Disk>(
    disk: &D,
    kept: &Kept,
) -> Result<Stored<D::Readable>, JournalError> {
    let name = kept.name();
    let refused = |error: io::Error| {
        let problem = match error.kind() {
            io::ErrorKind::UnexpectedEof => ErrorKind::damaged(0, Corruption::Short),
            _ => ErrorKind::system("open", &error),
        };
        JournalError::new(disk.path(&name), problem)
    };
    if !kept.is_packed {
        return disk.view(&name).map(Stored::Mapped).map_err(refused);
    }
    let bytes = disk.read(&name).map_err(refused)?;
    let unpacked = unpack(&bytes).map(Stored::Unpacked);
    unpacked.map_err(|cause| JournalError::new(disk.path(&name), ErrorKind::Packed { cause }))
}

/// The words of a compressed segment: never more than its own header allows.
pub(crate) fn unpack(packed: &[u8]) -> Result<Arc<[Word]>, Cause> {
    let (front, outcome) = unpack_up_to(packed, at::INDEX);
    if front.len() < at::INDEX {
        outcome?;
    }
    // Without a valid header the rest is not read: the caller finds the error of the header.
    let most = Header::load(as_read_only(&front)).map_or(at::INDEX, |header| header.layout.words);
    let (words, end) = unpack_up_to(packed, most);
    match end {
        Err(_) if most == at::INDEX => Ok(front.into()),
        Err(cause) => Err(cause),
        Ok(()) => Ok(words.into()),
    }
}

/// The first `wanted` words of a compressed segment, or fewer, and the reason why there are no
/// more.
pub(crate) fn unpack_up_to(packed: &[u8], wanted: usize) -> (Vec<Word>, Result<(), Cause>) {
    use io::Read as _;

    let mut words = Vec::new();
    let mut decoder = match zstd::Decoder::new(packed) {
        Ok(decoder) => decoder,
        Err(error) => return (words, Err((&error).into())),
    };
    let mut chunk = vec![0; 1 << 16];
    loop {
        let mut length = 0;
        let mut failed = None;
        while length < chunk.len() && failed.is_none() {
            match decoder.read(&mut chunk[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) => failed = Some(error),
            }
        }
        let (whole, rest) = chunk[..length].as_chunks::<8>();
        words.extend(whole.iter().map(|bytes| Word::new(u64::from_ne_bytes(*bytes))));
        if let Some(error) = failed {
            return (words, Err((&error).into()));
        }
        if words.len() > wanted {
            words.truncate(wanted);
            return (words, Err(Cause::TooLong));
        }
        if length < chunk.len() {
            return (words, if rest.is_empty() { Ok(()) } else { Err(Cause::PartOfWord) });
        }
    }
}

/// The view of a segment that must be the expected one; `None` while it is only prepared.
pub(crate) fn view<'words, D: Disk>(
    disk: &D,
    name: &str,
    words: &'words [ReadWord],
    number: u64,
    journal: Option<u64>,
) -> Result<Option<View<'words>>, JournalError> {
    let damaged = |damage| JournalError::damaged(disk, name, 0, damage);
    let view = View::new(words).map_err(damaged)?;
    if let Some(view) = &view {
        let header = &view.header;
        if header.number != number || journal.is_some_and(|journal| journal != header.journal) {
            let (number, journal) = (header.number, header.journal);
            return Err(damaged(Corruption::Stranger { number, journal }));
        }
    }
    Ok(view)
}
