//! To the disk, in order: no segment is said to be there before those in front of it are.
//!
//! Failure: after a sync that failed the kernel takes pages for written that are not. So they are stored
//! once more, as they are, before the next one: what is committed never changes. That a sync is under way is
//! noted in the segment itself, so that whoever comes next knows when this process ends with it.

use std::{io, ops::Range, sync::Arc};

use nanotape_shm::{Word, as_read_only};

use crate::{
    disk::{Disk, ReadableFile as _, WritableFile},
    names,
    segment::{
        header::hints,
        layout::{at, position_bytes},
        view::View,
    },
};

/// Words that are asked for at a time: as many as one read of the disk brings in.
const EXPECTED_WORDS: usize = 1 << 14;

/// How far the disk has it.
#[derive(Debug, Default)]
pub(crate) struct Syncer {
    /// The first segment that may have something that is not on the disk; 0 while nobody has looked.
    number: u64,
    /// Everything before this word of it is.
    at: usize,
    /// The word of it up to which pages were asked for.
    expected: usize,
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
        self.seal_before(disk, number)?;
        let words = file.words();
        if hints::doubt(as_read_only(words)) > 0 {
            store_again(words, hints::synced(as_read_only(words))..at);
        }
        hints::store_doubt(words, at);
        // Before the first excerpt the header counts: without it there is no segment.
        file.sync(self.at..at)?;
        hints::store_synced(words, at);
        hints::store_doubt(words, 0);
        self.at = at;
        self.expect_pages(file, at);
        Ok(())
    }

    /// Asks for pages in front of the appender: each would be a read of the disk when it is first stored
    /// to, a third of what a batch of 32 took (bench: journal/sync).
    fn expect_pages(&mut self, file: &Arc<impl WritableFile>, at: usize) {
        if at + EXPECTED_WORDS / 2 > self.expected {
            let from = self.expected.max(at);
            self.expected = at + EXPECTED_WORDS;
            file.expect(from..self.expected);
        }
    }

    /// Syncs all segments before this number that may not be on the disk.
    pub(crate) fn seal_before<D: Disk>(&mut self, disk: &D, number: u64) -> io::Result<()> {
        if self.number == 0 {
            self.number = first_unsealed(disk, number)?;
        }
        while self.number < number {
            let name = names::segment(self.number);
            match seal(disk, &name) {
                // Compressed since, which syncs, or removed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome?,
            }
            (self.number, self.at, self.expected) = (self.number + 1, 0, 0);
        }
        Ok(())
    }
}

/// Syncs a segment that has ended, and notes in it that this was done.
pub(crate) fn seal<D: Disk>(disk: &D, name: &str) -> io::Result<()> {
    let viewed = disk.view(name)?;
    let words = viewed.words().len();
    if words > at::DOUBT && hints::doubt(viewed.words()) > 0 {
        store_again(disk.open(name, position_bytes(words))?.words(), 0..words);
    }
    disk.store(name, at::DOUBT, position_bytes(words))?;
    disk.sync(name)?;
    disk.store(name, at::SEALED, 1)
}

/// Makes the kernel write words again. Not the index, which is only a hint, and to which the appender may
/// write at this moment.
pub(crate) fn store_again(words: &[Word], range: Range<usize>) {
    let data = View::new(as_read_only(words)).ok().flatten().map_or(0, |view| view.layout().data);
    let header = range.start..range.end.min(at::INDEX);
    for word in words
        .get(header)
        .unwrap_or_default()
        .iter()
        .chain(&words[range.start.max(data)..range.end.max(data)])
    {
        word.store(word.as_read_only().load());
    }
}

/// The first of the segments up to this one that may not be on the disk.
fn first_unsealed<D: Disk>(disk: &D, number: u64) -> io::Result<u64> {
    let mut first = number;
    while first > 1 {
        match disk.view(&names::segment(first - 1)) {
            Ok(file) if matches!(View::new(file.words()), Ok(Some(view)) if view.is_sealed()) => {
                break;
            }
            Ok(_) => first -= 1,
            // Compressed, which syncs, or removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    Ok(first)
}
