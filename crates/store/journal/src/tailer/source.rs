//! Journals as numbered streams, which tools and followers read and write.
//!
//! Cost: a payload is copied once. A program that needs the lowest latency uses the tailer itself,
//! and reads excerpts in place.

use std::{fmt, ops::ControlFlow};

use nanotape_clock::UtcNanos;
use nanotape_shm::OwnerState;
use nanotape_tape::{Item, Message, Progress, Source, Start, Tape, Writer, WriterState};

use super::{Excerpt, Tail, Tailer};
use crate::{Disk, ErrorKind, Folder, JournalError};

/// The most items that one poll visits.
const ITEMS_PER_POLL: usize = 256;

/// A journal as a [`Source`]: a tailer with a buffer. Times of excerpts after the year 2262 are
/// clamped to the end of the range.
pub struct TailerSource<D: Disk = Folder> {
    tailer: Tailer<D>,
    buffer: Vec<u8>,
}

impl<D: Disk> fmt::Debug for TailerSource<D>
where
    Tailer<D>: fmt::Debug,
{
    /// Without the excerpts in the buffer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TailerSource").field("tailer", &self.tailer).finish_non_exhaustive()
    }
}

impl<D: Disk> TailerSource<D> {
    /// Continues at the position of a tailer.
    pub fn new(tailer: Tailer<D>) -> Self {
        Self { tailer, buffer: Vec::new() }
    }

    /// The tailer.
    pub fn tailer(&self) -> &Tailer<D> {
        &self.tailer
    }

    /// As [`Tailer::set_stops_at_end`].
    pub fn set_stops_at_end(&mut self, stops_at_end: bool) {
        self.tailer.set_stops_at_end(stops_at_end);
    }

    /// Like [`poll`](Source::poll), but visits only the excerpts that `is_wanted` accepts. Others
    /// are skipped in place, without a copy; their checksums are verified all the same.
    pub fn poll_where(
        &mut self,
        mut is_wanted: impl FnMut(&Excerpt<'_>) -> bool,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, JournalError> {
        let mut progress = Progress::Nothing;
        for _ in 0..ITEMS_PER_POLL {
            progress = Progress::of(match self.tailer.next()? {
                Tail::Excerpt(excerpt) if !is_wanted(&excerpt) => ControlFlow::Continue(()),
                Tail::Excerpt(excerpt) => {
                    let length = excerpt.len();
                    if self.buffer.len() < length {
                        self.buffer.resize(length, 0);
                    }
                    let payload = &mut self.buffer[..length];
                    excerpt.copy_to(payload);
                    visit(Item::Message(Message {
                        sequence: excerpt.sequence(),
                        type_id: excerpt.type_id(),
                        ts: Some(UtcNanos::of_unix_ns(excerpt.ts_ns())),
                        payload,
                    }))
                }
                Tail::Gap(gap) => visit(Item::Gap(gap)),
                Tail::Reused(reused) => visit(Item::Reused(reused)),
                Tail::Nothing => break,
            });
            if progress == Progress::Stopped {
                break;
            }
        }
        Ok(progress)
    }
}

impl<D: Disk> Tape for TailerSource<D> {
    type Error = JournalError;

    #[inline]
    fn next_sequence(&self) -> u64 {
        self.tailer.next_sequence().max(1)
    }

    fn end(&self) -> Result<u64, JournalError> {
        match Tailer::open_on(self.tailer.disk.clone(), Start::Newest) {
            // The next poll reports it.
            Ok(newest) if newest.is_of_other_journal(&self.tailer) => Ok(u64::MAX),
            Ok(newest) => Ok(newest.next_sequence().max(1)),
            // Reading reports it, after everything that is before it.
            Err(error) if self.tailer.stops_at_end && *error.kind() != ErrorKind::NotFound => {
                Ok(u64::MAX)
            }
            Err(error) => Err(error),
        }
    }

    fn writer(&self) -> Writer {
        let owner = self.tailer.disk.appender();
        let state = match owner.map(|owner| owner.state) {
            Some(OwnerState::Alive) => WriterState::Alive,
            Some(OwnerState::Dead) => WriterState::Dead,
            Some(OwnerState::Closed) | None => WriterState::Closed,
        };
        Writer { epoch: owner.map_or(0, |owner| owner.epoch), state }
    }

    /// Never fails. The next poll checks the folder.
    fn check(&mut self) -> Result<(), JournalError> {
        self.tailer.recheck();
        Ok(())
    }
}

impl<D: Disk> Source for TailerSource<D> {
    fn poll(
        &mut self,
        visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, JournalError> {
        self.poll_where(|_| true, visit)
    }

    fn seek(&mut self, start: Start) -> Result<(), JournalError> {
        self.tailer.seek(start)
    }
}
