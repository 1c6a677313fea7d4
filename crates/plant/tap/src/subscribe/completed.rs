//! A ring that is completed from a journal.
//!
//! Protocol: records come from the ring until the reader is lapped, or if the ring no longer has
//! the first requested record. Then they come from the journal, from the exact number on, until the
//! ring has the next number again. Both number a record in the same way, so nothing is read twice
//! and nothing is left out. Before the first record of the ring, the subscriber gets a [`Handover`]
//! with the numbers.
//! Failure: a journal that lacks the next record is waited for, since its recorder might be behind,
//! or be started again. After the patience of the subscriber the missing records are a [`Gap`], and
//! they do not come later.
//! Bounds: a journal is read faster than a plant publishes, so the ring is reached. A reader that
//! is slower than the plant stays in the journal, and loses nothing.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_history::{Entry, Handover};
use nanotape_journal::{ErrorKind, JournalError, Tailer, TailerSource};
use nanotape_ring::{Gap, Read, RingError, RingSource, Start, Subscribe as _, stream};
use nanotape_tape::{Item, Progress, Source as _, Tape};

use super::{
    Failed,
    feed::{Amount, limited},
};
use crate::recorder::check_origin;

/// Polls of a journal between two attempts to continue in the ring.
const POLLS_PER_ATTEMPT: u32 = 64;

/// Time between two checks of a journal that lacks the next record.
const RETRY: Duration = Duration::from_millis(1);

/// The path of a ring, and when it was created: a journal states both.
pub(super) type Origin = (PathBuf, u64);

/// Refuses the journal of another ring.
pub(super) fn require_origin(journal: &Path, (ring, created_ns): &Origin) -> Result<(), Failed> {
    check_origin(journal, ring, *created_ns).map_err(Failed::Origin)
}

/// Whether a folder has a journal: an empty one can get it.
pub fn has_journal(folder: &Path) -> bool {
    let opened = Tailer::open(folder, Start::Oldest);
    !opened.is_err_and(|error| *error.kind() == ErrorKind::NotFound)
}

/// A ring that is completed from a journal.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) ring: RingSource<stream::Reader>,
    origin: Origin,
    journal: PathBuf,
    patience: Duration,
    clock: Clock,
    /// `Some` while records come from the journal.
    reading: Option<Reading>,
    /// A reading that ended, to be reported before the next record of the ring.
    done: Option<Reading>,
}

/// Records that come from the journal.
#[derive(Debug)]
struct Reading {
    /// `None` while the journal does not have the next record.
    tailer: Option<TailerSource>,
    /// The next number, if there is no tailer.
    next: u64,
    handover: Handover,
    began: Stamp,
    /// Since when the journal lacks the next record.
    waits_since: Option<Stamp>,
    /// Whether the journal could not be read.
    has_failed: bool,
    polls: u32,
}

impl Completed {
    /// Reads from the record `next` on. `origin`: the ring that the journal must be of.
    pub(super) fn new(
        (ring, origin): (RingSource<stream::Reader>, Origin),
        journal: &Path,
        patience: Duration,
        next: u64,
    ) -> Result<Self, Failed> {
        let mut completed = Self {
            ring,
            origin,
            journal: journal.to_owned(),
            patience,
            clock: Clock::monotonic(),
            reading: None,
            done: None,
        };
        let (oldest, end) = completed.bounds()?;
        if (oldest..=end).contains(&next) {
            completed.ring.seek(Start::Sequence(next))?;
        } else {
            completed.read_journal(next);
        }
        Ok(completed)
    }

    /// Whether it waits for the recorder: a poll without an item is not the end then.
    pub(super) fn is_waiting(&self) -> bool {
        self.reading.as_ref().is_some_and(|reading| self.is_hopeful(reading))
    }

    /// Whether the journal lacks the next record, and can still get it within the patience.
    fn is_hopeful(&self, reading: &Reading) -> bool {
        let waited = |since| self.clock.nanos_between(since, self.clock.stamp());
        let is_patient = |since| u128::from(waited(since)) < self.patience.as_nanos();
        !reading.has_failed && reading.waits_since.is_some_and(is_patient)
    }

    /// What came from the journal and was not reported yet: the reader may end there.
    pub(super) fn finish(&mut self) -> Option<Handover> {
        let reading = self.done.take().or(self.reading.take())?;
        let handover = reading.ended(&self.clock);
        (handover.records > 0).then_some(handover)
    }

    /// A pause of a reader that waits for the recorder.
    pub(super) fn pause() {
        thread::sleep(RETRY);
    }

    pub(super) fn poll(
        &mut self,
        amount: Amount,
        visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        if self.reading.is_some() {
            return self.poll_journal(amount, visit);
        }
        self.poll_ring(amount, visit)
    }

    /// Visits records of the ring, after the report of an earlier reading of the journal.
    #[inline]
    fn poll_ring(
        &mut self,
        amount: Amount,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        let mut is_reported = false;
        if self.done.is_some() {
            let (oldest, _) = self.bounds()?;
            if oldest > self.ring.next_sequence() {
                // Lapped again before the first record of the ring: the reading continues.
                self.reading = self.done.take().map(|it| Reading { waits_since: None, ..it });
                return Ok(Progress::Read);
            }
            if let Some(reading) = self.done.take() {
                is_reported = true;
                let flow = visit(Entry::Handover(reading.ended(&self.clock)));
                if limited(flow, amount).is_break() {
                    return Ok(Progress::Stopped);
                }
            }
        }
        let mut lapped = None;
        let mut take = |item: Item<'_>| match item {
            Item::Gap(gap) => {
                lapped = Some(gap);
                ControlFlow::Continue(())
            }
            item => visit(Entry::Item(item)),
        };
        let polled = match amount {
            Amount::One => self.ring.poll_one(|item| _ = take(item))?,
            Amount::Batch => self.ring.poll(take)?,
        };
        if let Some(gap) = lapped {
            self.read_journal(gap.from);
        }
        Ok(if is_reported && polled == Progress::Nothing { Progress::Read } else { polled })
    }

    /// Continues in the journal, at this number.
    #[cold]
    fn read_journal(&mut self, next: u64) {
        self.reading = Some(Reading {
            tailer: None,
            next,
            handover: Handover::beginning_at(next),
            began: self.clock.stamp(),
            waits_since: None,
            has_failed: false,
            polls: 0,
        });
    }

    fn poll_journal(
        &mut self,
        amount: Amount,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        let Self { origin, reading, journal, clock, .. } = self;
        let Some(current) = reading else { return Ok(Progress::Nothing) };
        let opened = if current.has_failed { Ok(false) } else { current.open(journal, origin) };
        let polled = match opened {
            Ok(true) => current
                .poll(clock, |item| limited(visit(Entry::Item(item)), amount))
                .map_err(Failed::Journal),
            Ok(false) => Ok(Progress::Nothing),
            Err(error) => Err(error),
        };
        match polled {
            Ok(Progress::Nothing) => self.try_ring(visit),
            Ok(progress) => {
                current.waits_since = None;
                current.polls += 1;
                if current.polls.is_multiple_of(POLLS_PER_ATTEMPT) && self.is_near()? {
                    self.continue_in_ring()?;
                }
                Ok(progress)
            }
            Err(error) => {
                // The journal cannot be read: the rest is lost, and the error names the reason.
                current.has_failed = true;
                Err(error)
            }
        }
    }

    /// The journal has no more records: continues in the ring if that has the next one.
    #[cold]
    fn try_ring(
        &mut self,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        let next = self.next_sequence();
        let (oldest, end) = self.bounds()?;
        let resumes_at = self.resumes_at(next, oldest, end)?;
        if resumes_at == next {
            self.continue_in_ring()?;
            return Ok(Progress::Read);
        }
        if let Some(reading) = &mut self.reading {
            reading.waits_since.get_or_insert_with(|| self.clock.stamp());
        }
        // A number that the plant has not reached is waited for as long as the plant is there.
        if next > end || self.is_waiting() {
            return Ok(Progress::Nothing);
        }
        let Some(reading) = &mut self.reading else { return Ok(Progress::Nothing) };
        // The recorder is too late: the rest is lost.
        self.ring.seek(Start::Sequence(resumes_at))?;
        let gap = Gap { from: next, to: resumes_at - 1 };
        reading.handover.lose(&gap);
        (reading.tailer, reading.next) = (None, gap.to + 1);
        self.done = self.reading.take();
        Ok(Progress::of(visit(Entry::Item(Item::Gap(gap)))))
    }

    fn continue_in_ring(&mut self) -> Result<(), Failed> {
        let next = self.next_sequence();
        self.ring.seek(Start::Sequence(next))?;
        self.done = self.reading.take();
        Ok(())
    }

    /// Whether the ring has the next record, in its newer half.
    fn is_near(&self) -> Result<bool, Failed> {
        let (oldest, end) = self.bounds()?;
        let next = self.next_sequence();
        Ok((oldest + (end - oldest) / 2..=end).contains(&next)
            && self.resumes_at(next, oldest, end)? == next)
    }

    /// The first number from `next` on that the ring has or waits for. A mirror of a ring has
    /// skipped what it lost, so the ring may lack numbers after its oldest one. Above `end`, the
    /// ring is behind the journal: 0.
    fn resumes_at(&self, next: u64, oldest: u64, end: u64) -> Result<u64, Failed> {
        if !(oldest..end).contains(&next) {
            return Ok(if next > end { 0 } else { next.max(oldest) });
        }
        let mut probe = self.ring.reader().clone();
        probe.seek(Start::Sequence(next))?;
        match probe.try_visit(|_| ()).map_err(RingError::from)? {
            Read::Lapped(gap) => Ok(gap.to + 1),
            Read::Message(()) | Read::Empty => Ok(next),
        }
    }

    /// The oldest number in the ring, and the one after the newest.
    fn bounds(&self) -> Result<(u64, u64), RingError> {
        let mut probe = self.ring.reader().clone();
        probe.seek(Start::Oldest)?;
        let oldest = probe.next_sequence();
        probe.seek(Start::Newest)?;
        Ok((oldest, probe.next_sequence().max(oldest)))
    }

    pub(super) fn next_sequence(&self) -> u64 {
        match &self.reading {
            Some(reading) => reading.next_sequence(),
            None => self.ring.next_sequence(),
        }
    }
}

impl Reading {
    fn next_sequence(&self) -> u64 {
        self.tailer.as_ref().map_or(self.next, Tape::next_sequence)
    }

    /// Opens the journal at the next number. Returns `false` while it does not have it. It may have
    /// come after the subscriber, and may be that of another ring.
    fn open(&mut self, journal: &Path, origin: &Origin) -> Result<bool, Failed> {
        if self.tailer.is_some() {
            return Ok(true);
        }
        match Tailer::open(journal, Start::Sequence(self.next)) {
            Ok(tailer) => {
                require_origin(journal, origin)?;
                self.tailer = Some(TailerSource::new(tailer));
                Ok(true)
            }
            // The recorder is behind, or has not begun.
            Err(error) => match error.kind() {
                ErrorKind::NotYet { .. } | ErrorKind::NotFound => Ok(false),
                _ => Err(Failed::Journal(error)),
            },
        }
    }

    fn poll(
        &mut self,
        clock: &Clock,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, JournalError> {
        let Self { tailer, handover, .. } = self;
        let Some(tailer) = tailer else { return Ok(Progress::Nothing) };
        // A recorder that was started again might have recovered the journal.
        tailer.check()?;
        tailer.poll(|item| {
            match item {
                Item::Message(message) => {
                    if handover.records == 0 {
                        let now = clock.utc_ns();
                        let ts = message.ts.map_or(now, |ts| ts.unix_ns());
                        handover.behind_ns = now.saturating_sub(ts);
                    }
                    handover.records += 1;
                    handover.to = message.sequence;
                }
                Item::Gap(gap) => handover.lose(&gap),
                Item::Reused(_) => {}
            }
            visit(item)
        })
    }

    fn ended(self, clock: &Clock) -> Handover {
        let took_ns = clock.nanos_between(self.began, clock.stamp());
        let mut handover = self.handover;
        handover.took_ns = took_ns;
        handover
    }
}
