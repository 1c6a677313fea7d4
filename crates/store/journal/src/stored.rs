//! A segment as readers access it: mapped, or unpacked from a compressed file.

use std::{io, sync::Arc};

use nanotape_shm::{ReadWord, Word, as_read_only};

use crate::{
    Cause, Corruption, ErrorKind, JournalError,
    disk::{Disk, ReadableFile},
    names::{self, Kept},
    segment::{
        excerpt::{Kind, MAX_LENGTH, MAX_SEQUENCE, excerpt_words},
        header::Header,
        layout::{Layout, at},
        view::View,
    },
};

const MESSAGE: u64 = Kind::Message as u64;
const LOST: u64 = Kind::Lost as u64;

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

/// The words of a compressed segment: never more than its own header allows, and at most
/// [`SLACK_WORDS`] after the last excerpt whose number is larger than that of the one before. So a
/// small file that states a large segment does not take its memory.
pub(crate) fn unpack(packed: &[u8]) -> Result<Arc<[Word]>, Cause> {
    let (front, outcome) = unpack_up_to(packed, at::INDEX);
    if front.len() < at::INDEX {
        outcome?;
    }
    // Without a valid header the rest is not read: the caller finds the error of the header.
    let Ok(header) = Header::load(as_read_only(&front)) else { return Ok(front.into()) };
    let (words, end) = unpack_excerpts(packed, header.layout);
    end.map(|()| words.into())
}

/// The words of a compressed segment as far as they can be unpacked: for repairs. Without a valid
/// header those of the layout that it states, and at least `most` words.
pub(crate) fn unpack_damaged(packed: &[u8], most: usize) -> Vec<Word> {
    let (front, _) = unpack_up_to(packed, at::INDEX);
    if let Ok(header) = Header::load(as_read_only(&front)) {
        return unpack_excerpts(packed, header.layout).0;
    }
    let word = |at: usize| front.get(at).map_or(0, |word| word.as_read_only().load());
    let stated = Layout::new(word(at::SEGMENT_BYTES), word(at::BLOCK_BYTES));
    let excerpts = stated.map(|layout| unpack_excerpts(packed, layout).0).unwrap_or_default();
    let words = unpack_up_to(packed, most).0;
    if excerpts.len() > words.len() { excerpts } else { words }
}

/// The most words that are unpacked after the end mark or after damage: a repair finds later
/// excerpts there.
const SLACK_WORDS: usize = (64 << 20) / 8;

/// The words of a compressed segment of this layout.
fn unpack_excerpts(packed: &[u8], layout: Layout) -> (Vec<Word>, Result<(), Cause>) {
    let (mut next, mut good_end, mut before) = (layout.data, layout.data, 0);
    unpack_while(packed, |words| {
        let load = |at: usize| words.get(at).map(|word| word.as_read_only().load());
        while let (Some(commit), Some(sequence)) = (load(next), load(next + 1)) {
            let length = excerpt_words((commit as u32 & MAX_LENGTH) as usize);
            // Otherwise it is the end mark, or damage.
            if !matches!(commit >> 28 & 0xf, MESSAGE | LOST) {
                break;
            }
            next += length;
            let sequence = sequence & MAX_SEQUENCE;
            if sequence > before {
                good_end = next;
            }
            before = sequence;
        }
        (good_end + SLACK_WORDS).min(layout.words)
    })
}

/// The first `wanted` words of a compressed segment, or fewer, and the reason why there are no
/// more.
pub(crate) fn unpack_up_to(packed: &[u8], wanted: usize) -> (Vec<Word>, Result<(), Cause>) {
    unpack_while(packed, |_| wanted)
}

/// Unpacks until there are more words than `wanted`, which is called with those so far.
fn unpack_while(
    packed: &[u8],
    mut wanted: impl FnMut(&[Word]) -> usize,
) -> (Vec<Word>, Result<(), Cause>) {
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
        let wanted = wanted(&words);
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

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    /// A compressed segment of this length without excerpts: `fill` in all words after the index.
    fn packed(segment_bytes: u64, fill: u64) -> Vec<u8> {
        use io::Write as _;

        let layout = Layout::new(segment_bytes, Layout::usual_block_bytes(segment_bytes)).unwrap();
        let header = Header { journal: 7, number: 1, layout, cycle_ns: 0, created_ns: 1 };
        let front: Vec<Word> = (0..layout.data).map(|_| Word::new(0)).collect();
        header.store(&front);
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        let bytes: Vec<u8> = front.iter().flat_map(|word| word.load().to_ne_bytes()).collect();
        encoder.write_all(&bytes).unwrap();
        let chunk: Vec<u8> = (0..1 << 17).flat_map(|_| fill.to_ne_bytes()).collect();
        let mut left = (layout.words - layout.data) * 8;
        while left > 0 {
            let some = left.min(chunk.len());
            encoder.write_all(&chunk[..some]).unwrap();
            left -= some;
        }
        encoder.finish().unwrap()
    }

    #[test]
    fn a_small_file_that_states_a_large_segment_is_not_unpacked_to_its_end() {
        for fill in [0, u64::MAX, 0x2fff_ffff, MESSAGE << 28] {
            let packed = packed(1 << 30, fill);
            assert!(packed.len() < 1 << 17, "{}", packed.len());
            assert_eq!(unpack(&packed).map(|_| ()), Err(Cause::TooLong), "{fill:#x}");
            let words = unpack_damaged(&packed, 0);
            let most = (1 << 30) / 8 / 8;
            assert!(words.len() <= most, "{fill:#x}: {} words", words.len());
        }
    }
}
