//! Reads several subscribers in the order of the times of their records.
//!
//! Protocol: files are read as far as the next record of the merge needs, and may be waited for, so
//! their order is exact. Rings are polled in turn, and a record of one waits for the others up to
//! the bound of the merge.
//! Bounds: [`MOST_WAITING`] events of a ring wait; then it is not read, and loses records if its
//! plant overtakes the reader, as any other slow tap does.
//! Failure: an error names its source. The caller may go on: the other sources are unaffected.
//! Cost: an allocation for each record.

use std::{ops::ControlFlow, time::Duration};

use nanotape_clock::Clock;
use nanotape_records::{Notice, Record, RecordBuffer};
use nanotape_tape::{Step, WriterState};

use super::{LateItems, MergeBy, Merged, StoredEvent, TimeMerge};
use crate::{Event, SubscribeError, Subscriber};

/// How many events of a ring wait for other sources.
const MOST_WAITING: usize = 1 << 18;

/// Several subscribers that are read together.
#[derive(Debug)]
pub struct MergedSources {
    sources: Vec<MergedSource>,
    merge: TimeMerge<StoredEvent>,
    by: MergeBy,
    clock: Clock,
    began: nanotape_clock::Stamp,
    buffer: RecordBuffer,
}

/// A subscriber among several.
#[derive(Debug)]
pub struct MergedSource {
    subscriber: Subscriber,
    /// Whether it is a ring, which is polled and never waited for.
    is_live: bool,
    /// The number of the first message.
    first: u64,
    end: Option<SourceEnd>,
}

/// How a source ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceEnd {
    /// Its plant stopped.
    Stopped,
    /// Its writer is gone.
    Gone(WriterState),
    /// Its span or its run is over.
    Complete,
    /// A shutdown was requested.
    Shutdown,
}

/// What a step of the merge did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeStep {
    /// Events were read or visited.
    Read,
    /// Nothing was there, or only events that wait for other sources.
    Idle,
    /// The visitor ended the reading.
    Stopped,
    /// All sources have ended, and all of their events were visited.
    Over,
}

impl MergedSources {
    /// Merges subscribers, each with whether it reads a ring. `wait_silent`: how long a record of a
    /// ring waits for the others.
    pub fn new(
        subscribers: impl IntoIterator<Item = (Subscriber, bool)>,
        by: MergeBy,
        wait_silent: Duration,
    ) -> Self {
        let source = |(subscriber, is_live): (Subscriber, bool)| {
            let first = subscriber.next_sequence();
            MergedSource { subscriber, is_live, first, end: None }
        };
        let sources: Vec<_> = subscribers.into_iter().map(source).collect();
        let bound = sources.iter().any(|source| source.is_live).then_some(wait_silent);
        let (merge, clock) = (TimeMerge::new(sources.len(), bound), Clock::monotonic());
        Self { merge, sources, by, began: clock.stamp(), clock, buffer: RecordBuffer::default() }
    }

    /// The sources, in the order in which they were given.
    pub fn sources(&self) -> &[MergedSource] {
        &self.sources
    }

    /// The same to finish their readings.
    pub fn sources_mut(&mut self) -> &mut [MergedSource] {
        &mut self.sources
    }

    /// Events that came after one of a later time.
    pub fn late(&self) -> LateItems {
        self.merge.late()
    }

    /// Visits events that are next, with the number of their source, and reads more. `Break` ends
    /// the step. An error has the number of its source.
    pub fn step(
        &mut self,
        mut visit: impl FnMut(usize, &Event<'_>) -> ControlFlow<()>,
    ) -> Result<MergeStep, (usize, Box<SubscribeError>)> {
        let mut is_idle = true;
        while let Some(Merged { source, item, .. }) = self.merge.pop(self.now_ns()) {
            is_idle = false;
            let Some(event) = item.event(&mut self.buffer) else { continue };
            if visit(source, &event).is_break() {
                return Ok(MergeStep::Stopped);
            }
        }
        if self.merge.is_over() {
            return Ok(MergeStep::Over);
        }
        let now_ns = self.now_ns();
        let Self { sources, merge, by, .. } = self;
        let mut failed = None;
        for (number, source) in sources.iter_mut().enumerate() {
            if source.end.is_some() {
                continue;
            }
            let waiting = merge.waiting(number);
            let is_needed = if source.is_live { waiting < MOST_WAITING } else { waiting == 0 };
            if !is_needed {
                continue;
            }
            match source.read(|event| {
                merge.push(number, by.time_of(event), now_ns, StoredEvent::of(event));
            }) {
                Ok(has_read) => is_idle &= !has_read,
                Err(error) => {
                    is_idle = false;
                    failed = failed.or(Some((number, Box::new(error))));
                }
            }
            if source.end.is_some() {
                merge.end(number);
                is_idle = false;
            }
        }
        match failed {
            Some(failed) => Err(failed),
            None => Ok(if is_idle { MergeStep::Idle } else { MergeStep::Read }),
        }
    }

    /// Ends a source, after an error that the caller cannot go on after.
    pub fn give_up(&mut self, source: usize) {
        self.sources[source].end = Some(SourceEnd::Gone(WriterState::Closed));
        self.merge.end(source);
    }

    fn now_ns(&self) -> u64 {
        self.clock.nanos_between(self.began, self.clock.stamp())
    }
}

impl MergedSource {
    /// The subscriber.
    pub fn subscriber(&self) -> &Subscriber {
        &self.subscriber
    }

    /// The same to finish its reading.
    pub fn subscriber_mut(&mut self) -> &mut Subscriber {
        &mut self.subscriber
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<SourceEnd> {
        self.end
    }

    /// How many messages were read or lost.
    pub fn messages(&self) -> u64 {
        self.subscriber.next_sequence().saturating_sub(self.first)
    }

    /// Reads some events. Returns whether there was something to read.
    fn read(&mut self, mut store: impl FnMut(&Event<'_>)) -> Result<bool, SubscribeError> {
        let run_first = self.subscriber.run_first();
        let mut is_stopped = false;
        let mut take = |event: Event<'_>| {
            // What follows on the ring is of the next plant.
            if is_stopped {
                return ControlFlow::Break(());
            }
            store(&event);
            is_stopped = matches!(&event, Event::Record(delivery)
                if matches!(delivery.record, Record::Notice(Notice::Stop(_)))
                    && delivery.sequence >= run_first);
            if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if !self.is_live {
            let step = self.subscriber.step(take)?;
            self.end = match step {
                _ if is_stopped => Some(SourceEnd::Stopped),
                Step::Gone(state) => Some(SourceEnd::Gone(state)),
                Step::Complete => Some(SourceEnd::Complete),
                Step::Shutdown => Some(SourceEnd::Shutdown),
                _ => None,
            };
            return Ok(true);
        }
        // The state is older than the poll: what a writer that is gone has left is read.
        let state = self.subscriber.writer();
        let read = self.subscriber.poll(|event| _ = take(event))?;
        if is_stopped {
            self.end = Some(SourceEnd::Stopped);
        } else if read == 0 && state != WriterState::Alive {
            self.end = Some(SourceEnd::Gone(state));
        }
        Ok(read > 0)
    }
}
