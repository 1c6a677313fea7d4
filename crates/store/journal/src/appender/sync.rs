//! Syncs in order: a segment is recorded as on disk only after those before it.
//!
//! Failure: after a failed sync the kernel counts pages as written that are not. So the same words
//! are stored again before the next sync. The kernel might also have dropped such a page and
//! restored its old contents. So everything is checked first, and invalid excerpts are reported as
//! lost. The segment notes that a sync is in progress, for the next appender; [`Syncer`] does too,
//! because that note can be lost in the same way.

use std::{io, ops::Range, sync::Arc};

use nanotape_shm::{ReadWord, Word, as_read_only};

use crate::{
    Corruption, JournalError,
    disk::{Disk, ReadableFile as _, WritableFile},
    names::{self, Files},
    segment::{
        header::hints,
        layout::{at, position_bytes},
        view::{Contents, View},
    },
};

/// Words to prefetch at a time: as many as one read of the disk brings in.
const EXPECTED_WORDS: usize = 1 << 14;

/// Why something is not on disk.
#[derive(Debug)]
pub(crate) enum SyncFailure {
    /// A retry might succeed.
    System(io::Error),
    /// The data is no longer in memory, because an earlier sync failed.
    Lost { number: u64, word: usize, damage: Corruption },
}

impl From<io::Error> for SyncFailure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl SyncFailure {
    fn lost(number: u64) -> impl Fn((usize, Corruption)) -> Self {
        move |(word, damage)| Self::Lost { number, word, damage }
    }

    /// The error of a sync of segment `number` and of those before it.
    pub(crate) fn into_error<D: Disk>(self, disk: &D, number: u64) -> JournalError {
        match self {
            Self::System(error) => {
                JournalError::system(disk.path(&names::segment(number)), "sync")(error)
            }
            Self::Lost { number, word, damage } => {
                JournalError::damaged(disk, &names::segment(number), word, damage)
            }
        }
    }
}

/// The progress of syncs.
#[derive(Debug, Default)]
pub(crate) struct Syncer {
    /// The first segment that might not be entirely on disk; 0 if not known yet.
    number: u64,
    /// Everything before this word of the segment is on disk.
    at: usize,
    /// The word of the segment before which pages were prefetched.
    expected: usize,
    /// Whether the last sync of the segment failed.
    has_failed: bool,
}

impl Syncer {
    /// Whether everything before this position is on disk.
    pub(crate) fn is_done(&self, number: u64, at: usize) -> bool {
        (self.number, self.at) >= (number, at)
    }

    /// Syncs everything before word `at` of segment `number`, which is stored in `file`.
    pub(crate) fn sync<D: Disk>(
        &mut self,
        disk: &D,
        file: &Arc<D::Writable>,
        number: u64,
        at: usize,
    ) -> Result<(), SyncFailure> {
        self.seal_before(disk, number)?;
        let words = file.words();
        let read = as_read_only(words);
        if self.has_failed || hints::sync_pending(read) > 0 {
            let from = hints::synced(read).min(at);
            check_up_to(read, from, at).map_err(SyncFailure::lost(number))?;
            store_again(words, from..at);
        }
        hints::store_sync_pending(words, at);
        self.has_failed = true;
        // Before the first excerpt, the header counts: without it there is no segment.
        file.sync(self.at..at)?;
        hints::store_synced(words, at);
        hints::store_sync_pending(words, 0);
        self.has_failed = false;
        self.at = at;
        self.expect_pages(file, at);
        Ok(())
    }

    /// Prefetches pages ahead of the appender. Otherwise the first store to each one would read the
    /// disk, a third of what a batch of 32 took (bench: journal/sync).
    fn expect_pages(&mut self, file: &Arc<impl WritableFile>, at: usize) {
        if at + EXPECTED_WORDS / 2 > self.expected {
            let from = self.expected.max(at);
            self.expected = at + EXPECTED_WORDS;
            file.expect(from..self.expected);
        }
    }

    /// Syncs all segments before this number that might not be on disk.
    pub(crate) fn seal_before<D: Disk>(
        &mut self,
        disk: &D,
        number: u64,
    ) -> Result<(), SyncFailure> {
        if self.number == 0 {
            self.number = first_unsealed(disk, number)?;
        }
        while self.number < number {
            let had_failed = std::mem::replace(&mut self.has_failed, true);
            match seal(disk, self.number, had_failed) {
                // Compressed since, which syncs, or pruned.
                Err(SyncFailure::System(error))
                    if error.kind() == io::ErrorKind::NotFound
                        && is_compressed_or_pruned(disk, self.number) => {}
                outcome => outcome?,
            }
            self.has_failed = false;
            (self.number, self.at, self.expected) = (self.number + 1, 0, 0);
        }
        Ok(())
    }
}

/// Whether a segment without a file was compressed, or was pruned with all segments before it.
fn is_compressed_or_pruned<D: Disk>(disk: &D, number: u64) -> bool {
    Files::list(disk).is_ok_and(|files| {
        let oldest = files.segments.keys().next();
        oldest.is_some_and(|&oldest| oldest > number) || files.segments.contains_key(&number)
    })
}

/// Syncs a segment that has ended, and notes this in it. `has_failed`: an earlier sync of it
/// failed.
pub(crate) fn seal<D: Disk>(disk: &D, number: u64, has_failed: bool) -> Result<(), SyncFailure> {
    let name = &names::segment(number);
    let viewed = disk.view(name)?;
    let words = viewed.words().len();
    if words > at::SYNC_PENDING && (has_failed || hints::sync_pending(viewed.words()) > 0) {
        let view = active(viewed.words()).map_err(SyncFailure::lost(number))?;
        let end = view.check_closed().map_err(SyncFailure::lost(number))?;
        // Not all of it: its unused end might be freed concurrently.
        store_again(disk.open(name, position_bytes(end))?.words(), 0..end);
    }
    disk.store(name, at::SYNC_PENDING, position_bytes(words))?;
    disk.sync(name)?;
    Ok(disk.store(name, at::SEALED, 1)?)
}

/// Checks all excerpts from one before `from` up to word `at`, where one ends. The error has the
/// position and the damage.
fn check_up_to(words: &[ReadWord], from: usize, at: usize) -> Result<(), (usize, Corruption)> {
    let view = active(words)?;
    let mut place = view.by_index(|entry| entry.at <= from);
    while place.at < at {
        // The excerpt at `at` is excluded: it might be half written.
        match view.read_from(&place) {
            Ok(Contents::Excerpt(front)) => place = place.behind(&front),
            // After an end mark there is nothing to check.
            Ok(Contents::End(_)) => return Ok(()),
            Ok(Contents::Nothing) => return Err((place.at, Corruption::Hole)),
            Err(damage) => return Err((place.at, damage)),
        }
    }
    Ok(())
}

fn active(words: &[ReadWord]) -> Result<View<'_>, (usize, Corruption)> {
    View::new(words).ok().flatten().ok_or((at::ACTIVATION, Corruption::Activation))
}

/// Makes the kernel write words again. Excludes the index, which is only a hint, and to which the
/// appender might be writing.
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

/// The first of the segments up to this one that might not be on disk.
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
