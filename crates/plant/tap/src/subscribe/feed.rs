//! Where the records of a subscriber come from: a ring, a journal, a ring that is completed from a
//! journal, a day file, or a DBN file. A stream that is received is a ring too.

use std::ops::ControlFlow;

use nanotape_history::{Entry, Handover, snapshot::SnapshotRecords};
use nanotape_journal::TailerSource;
use nanotape_plant::{Ended, RunError};
use nanotape_records::RecordKind;
use nanotape_ring::{RingSource, stream};
use nanotape_tape::{Message, Progress, Source as _, Tape, Writer};

use super::{Failed, completed::Completed, day::DayFeed, dbn::DbnFeed, received::ReceivedEnd};

/// The records of a subscriber.
#[derive(Debug)]
pub(super) struct Feed {
    /// The orders of a snapshot, which come first.
    opening: Option<SnapshotRecords>,
    source: Source,
    /// The end of the stream, if the ring is filled by a thread that receives it.
    received: Option<ReceivedEnd>,
}

#[derive(Debug)]
enum Source {
    Ring(RingSource<stream::Reader>),
    Journal(Box<TailerSource>),
    Completed(Box<Completed>),
    Day(Box<DayFeed>),
    Dbn(Box<DbnFeed>),
}

/// How much a poll reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Amount {
    One,
    Batch,
}

impl Feed {
    /// A ring alone.
    pub(super) fn ring(ring: RingSource<stream::Reader>) -> Self {
        Self { opening: None, received: None, source: Source::Ring(ring) }
    }

    /// A journal alone.
    pub(super) fn journal(tailer: TailerSource) -> Self {
        Self { opening: None, received: None, source: Source::Journal(Box::new(tailer)) }
    }

    /// A day file.
    pub(super) fn day(day: DayFeed) -> Self {
        Self { opening: None, received: None, source: Source::Day(Box::new(day)) }
    }

    /// A DBN file.
    pub(super) fn dbn(dbn: DbnFeed) -> Self {
        Self { opening: None, received: None, source: Source::Dbn(Box::new(dbn)) }
    }

    /// The result of the plant of a day file, which ends if it still runs. `None` for other feeds,
    /// and after the first call.
    pub(super) fn finish_day(&mut self) -> Option<Result<Ended, RunError>> {
        match &mut self.source {
            Source::Day(day) => day.finish(),
            _ => None,
        }
    }

    /// What came from a journal and was not reported yet, at the end of the reading.
    pub(super) fn finish_healing(&mut self) -> Option<Handover> {
        match &mut self.source {
            Source::Completed(completed) => completed.finish(),
            _ => None,
        }
    }

    /// A ring that is completed from a journal.
    pub(super) fn completed(completed: Completed) -> Self {
        Self { opening: None, received: None, source: Source::Completed(Box::new(completed)) }
    }

    /// The ring of a thread that receives a stream ends as the stream does.
    pub(super) fn ending_as(mut self, received: ReceivedEnd) -> Self {
        self.received = Some(received);
        self
    }

    /// The orders of a snapshot come before everything else.
    pub(super) fn open_with(&mut self, snapshot: SnapshotRecords) {
        self.opening = Some(snapshot);
    }

    /// The reader of the ring, if there is one.
    pub(super) fn reader_mut(&mut self) -> Option<&mut stream::Reader> {
        match &mut self.source {
            Source::Ring(ring) => Some(ring.reader_mut()),
            Source::Completed(completed) => Some(completed.ring.reader_mut()),
            Source::Day(day) => Some(day.ring.reader_mut()),
            Source::Journal(_) | Source::Dbn(_) => None,
        }
    }

    /// Whether it waits for the recorder: a poll without an item is not the end then.
    pub(super) fn is_waiting(&self) -> bool {
        match &self.source {
            Source::Completed(completed) => completed.is_waiting(),
            _ => false,
        }
    }

    /// Visits what is available.
    #[inline]
    pub(super) fn poll(
        &mut self,
        amount: Amount,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        if self.opening.is_some() {
            return self.poll_opening(amount, visit);
        }
        match &mut self.source {
            Source::Ring(ring) if amount == Amount::One => {
                Ok(ring.poll_one(|item| _ = visit(Entry::Item(item)))?)
            }
            Source::Ring(ring) => Ok(ring.poll(|item| visit(Entry::Item(item)))?),
            Source::Journal(tailer) => tailer
                .poll(|item| limited(visit(Entry::Item(item)), amount))
                .map_err(Failed::Journal),
            Source::Completed(completed) => completed.poll(amount, visit),
            Source::Day(day) => day.poll(amount, |item| visit(Entry::Item(item))),
            Source::Dbn(dbn) => dbn.poll(amount, visit),
        }
    }

    #[cold]
    fn poll_opening(
        &mut self,
        amount: Amount,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        /// Records of a snapshot in one poll.
        const BATCH: usize = 256;
        let Some(opening) = &mut self.opening else { return Ok(Progress::Nothing) };
        let sequence = opening.file().moment().sequence;
        for _ in 0..BATCH {
            let Some(words) = opening.next().map_err(Failed::Snapshot)? else {
                self.opening = None;
                break;
            };
            let (type_id, payload) = (RecordKind::Mbo.type_id(), words.as_flattened());
            let message = Message { sequence, type_id, ts: None, payload };
            if limited(visit(Entry::Opening(message)), amount).is_break() {
                return Ok(Progress::Stopped);
            }
        }
        Ok(Progress::Read)
    }
}

/// Stops after one item, or if the visitor stops.
pub(super) fn limited(flow: ControlFlow<()>, amount: Amount) -> ControlFlow<()> {
    if amount == Amount::One { ControlFlow::Break(()) } else { flow }
}

impl Tape for Feed {
    type Error = Failed;

    #[inline]
    fn next_sequence(&self) -> u64 {
        match &self.source {
            Source::Ring(ring) => ring.next_sequence(),
            Source::Journal(tailer) => tailer.next_sequence(),
            Source::Completed(completed) => completed.next_sequence(),
            Source::Day(day) => day.ring.next_sequence(),
            Source::Dbn(dbn) => dbn.next_sequence(),
        }
    }

    fn end(&self) -> Result<u64, Failed> {
        match &self.source {
            Source::Ring(ring) => Ok(ring.end()?),
            Source::Journal(tailer) => tailer.end().map_err(Failed::Journal),
            Source::Completed(completed) => Ok(completed.ring.end()?),
            Source::Day(day) => Ok(day.ring.end()?),
            Source::Dbn(dbn) => Ok(dbn.next_sequence()),
        }
    }

    fn writer(&self) -> Writer {
        let writer = match &self.source {
            Source::Ring(ring) => ring.writer(),
            Source::Journal(tailer) => tailer.writer(),
            Source::Completed(completed) => completed.ring.writer(),
            Source::Day(day) => day.ring.writer(),
            Source::Dbn(dbn) => dbn.writer(),
        };
        let state = self.received.as_ref().and_then(ReceivedEnd::writer);
        Writer { state: state.unwrap_or(writer.state), ..writer }
    }

    fn check(&mut self) -> Result<(), Failed> {
        if let Some(error) = self.received.as_ref().and_then(ReceivedEnd::failure) {
            return Err(Failed::Received(error));
        }
        match &mut self.source {
            Source::Ring(ring) => Ok(ring.check()?),
            Source::Journal(tailer) => tailer.check().map_err(Failed::Journal),
            Source::Completed(completed) => Ok(completed.ring.check()?),
            Source::Day(day) => Ok(day.ring.check()?),
            Source::Dbn(_) => Ok(()),
        }
    }
}
