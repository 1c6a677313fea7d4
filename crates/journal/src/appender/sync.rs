//! To the disk, in order: no segment is said to be there before those in front of it are.
//!
//! Failure: after a sync that failed the kernel takes pages for written that are not. So they are stored
//! once more, as they are, before the next one: what is committed never changes.

use std::{io, ops::Range, sync::Arc};

use nanotape_shm::Word;

use crate::{
    disk::{Disk, ReadableFile as _, WritableFile},
    names,
    segment::{header::hints, layout::at, view::View},
};

/// How far the disk has it.
#[derive(Debug, Default)]
pub(crate) struct Syncer {
    /// The first segment that may have something that is not on the disk; 0 while nobody has looked.
    number: u64,
    /// Everything before this word of it is.
    at: usize,
    /// Whether the last sync failed.
    is_doubtful: bool,
}

impl Syncer {
    /// Whether everything before this place is on the disk.
    pub(crate) fn is_done(&self, number: u64, at: usize) -> bool {
        (self.number, self.at) >= (number, at)
    }

    /// Syncs everything before word `at` of segment `number`, whose file it is.
    pub(crate) fn sync<D: Disk>(
        &mut self,
        disk: &D,
        file: &Arc<D::Writable>,
        number: u64,
        at: usize,
    ) -> io::Result<()> {
        let outcome = self.try_sync(disk, file, number, at);
        self.is_doubtful = outcome.is_err();
        outcome
    }

    fn try_sync<D: Disk>(
        &mut self,
        disk: &D,
        file: &Arc<D::Writable>,
        number: u64,
        at: usize,
    ) -> io::Result<()> {
        if self.number == 0 {
            self.number = first_unsealed(disk, number);
        }
        while self.number < number {
            let name = names::segment(self.number);
            match self.seal(disk, &name) {
                // Compressed since, which syncs, or removed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome?,
            }
            (self.number, self.at) = (self.number + 1, 0);
        }
        // Before the first excerpt the header counts: without it there is no segment.
        let range = self.at..at;
        if self.is_doubtful {
            store_again(file.words(), range.clone());
        }
        file.sync(range)?;
        hints::store_synced(file.words(), at);
        self.at = at;
        Ok(())
    }

    /// Syncs a segment that has ended, and notes in it that this was done.
    fn seal<D: Disk>(&self, disk: &D, name: &str) -> io::Result<()> {
        if self.is_doubtful {
            let words = disk.view(name)?.words().len();
            let file = disk.open(name, (words * 8) as u64)?;
            store_again(file.words(), 0..words);
        }
        disk.sync(name)?;
        disk.store(name, at::SEALED, 1)
    }
}

/// Makes the kernel write words again.
fn store_again(words: &[Word], range: Range<usize>) {
    for word in &words[range] {
        word.store(word.as_read_only().load());
    }
}

/// The first of the segments before this one that may not be on the disk.
fn first_unsealed<D: Disk>(disk: &D, number: u64) -> u64 {
    let mut first = number;
    while first > 1 {
        let is_unsealed = |file: D::Readable| {
            View::new(file.words()).is_ok_and(|view| view.is_some_and(|view| !view.is_sealed()))
        };
        if !disk.view(&names::segment(first - 1)).is_ok_and(is_unsealed) {
            break;
        }
        first -= 1;
    }
    first
}
