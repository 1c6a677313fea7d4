//! The words that a repair writes to: those of the file, or of a copy in a dry run.

use std::io;

use nanotape_shm::Word;

use super::{Done, Loaded, Repair};
use crate::{
    JournalError,
    disk::{Disk, WritableFile as _},
    names::{self, Kept},
    quarantine,
    segment::header::Header,
    upkeep::write_plain,
};

/// The words of a segment, as many as its layout has.
pub(super) enum RepairBuffer<D: Disk> {
    File(D::Writable, usize),
    Copy(Vec<Word>),
}

impl<D: Disk> RepairBuffer<D> {
    pub(super) fn words(&self) -> &[Word] {
        match self {
            Self::File(file, words) => &file.words()[..*words],
            Self::Copy(words) => words,
        }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File(..))
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file, words) => file.sync(0..*words),
            Self::Copy(_) => Ok(()),
        }
    }
}

impl<D: Disk> Repair<'_, D> {
    /// The words to repair. A compressed segment is first unpacked to a new file, which then
    /// counts, and its compressed file is moved out.
    pub(super) fn buffer(
        &mut self,
        kept: &Kept,
        header: &Header,
        loaded: Loaded<D::Readable>,
    ) -> Result<RepairBuffer<D>, JournalError> {
        let words = loaded.stored.words();
        let total = header.layout.words;
        if self.is_dry_run {
            if kept.is_packed {
                self.note(&kept.name(), 0, Done::Unpacked { to: None });
            }
            let read = match kept.is_packed {
                true => words.iter().map(|word| word.load()).collect(),
                false => self.read_plain(&kept.name())?,
            };
            let mut copy = Vec::new();
            // A header can state more than any machine has.
            let reserved = copy.try_reserve_exact(total);
            let path = self.disk.path(&kept.name());
            let fail = JournalError::system(path, "copy into memory");
            reserved.map_err(|_| fail(io::ErrorKind::OutOfMemory.into()))?;
            let read = read.into_iter().chain(std::iter::repeat(0));
            copy.extend(read.take(total).map(Word::new));
            return Ok(RepairBuffer::Copy(copy));
        }
        let name = names::segment(kept.number);
        if kept.is_packed {
            let words = &words[..words.len().min(total)];
            write_plain(self.disk, kept.number, words, header.layout.segment_bytes())?;
            let to = quarantine::whole(self.disk, kept)?.path;
            self.note(&kept.name(), 0, Done::Unpacked { to: Some(to) });
        }
        drop(loaded);
        let opened = self.disk.open(&name, header.layout.segment_bytes());
        let file = opened.map_err(JournalError::system(self.disk.path(&name), "open"))?;
        Ok(RepairBuffer::File(file, total))
    }

    /// The words of a file; a partial last word is padded with zeros.
    fn read_plain(&self, name: &str) -> Result<Vec<u64>, JournalError> {
        let bytes = self.disk.read(name);
        let bytes = bytes.map_err(JournalError::system(self.disk.path(name), "read"))?;
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        };
        Ok(bytes.chunks(8).map(word).collect())
    }
}
