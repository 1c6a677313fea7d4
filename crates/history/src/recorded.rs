//! A recorded run as a source of market events: the same code reads a journal and a day file.
//!
//! Where: between a numbered stream of records, usually a journal, and a
//! [`BookEngine`](crate::BookEngine).
//! Protocol: the stream is read from its position to its current end, but only within one run of a
//! plant: another start record would empty all books, so it ends the reading.
//! Failure: [`RecordedError`]. Loss is data: the [`RecordedSummary`] lists what the plant reported
//! as lost and what the stream lacks.

use std::{fmt, ops::ControlFlow};

use nanotape_market::{EventHandler, EventSource, MarketEvent, NoOrigin, Position};
use nanotape_records::{
    BadOrder, BadRecord, EventReader, Gap as InputGap, Notice, PlantStart, Record, RecordBuffer,
    RecordKind,
};
use nanotape_tape::{Gap, Item, Progress, Source};

/// Losses that are kept; later ones are only counted.
const KEPT_LOSSES: usize = 64;

/// A recorded run.
#[derive(Debug)]
pub struct RecordedRun<S> {
    stream: S,
}

/// Why a recorded run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError<E> {
    /// The stream cannot be read.
    #[error(transparent)]
    Stream(E),
    /// A message is not a record.
    #[error(transparent)]
    Record(#[from] BadRecord),
    /// A record is not an event.
    #[error("message {sequence}: {error}")]
    Order {
        /// The sequence number of the record.
        sequence: u64,
        /// The problem.
        error: BadOrder,
    },
    /// The run was recorded without order records, so books cannot be built.
    #[error(
        "message {sequence} of the journal: the plant published {kinds}; books need mbo records"
    )]
    NoOrders {
        /// The sequence number of the start record.
        sequence: u64,
        /// The kinds of records that it published.
        kinds: nanotape_records::RecordKinds,
    },
}

/// The result of reading a recorded run.
#[derive(Clone, Debug, Default)]
pub struct RecordedSummary {
    /// Messages of the stream that were read.
    pub messages: u64,
    /// The start record, if the stream has it.
    pub start: Option<PlantStart>,
    /// The end of the reading.
    pub end: RecordedEnd,
    /// The first losses, in order.
    pub losses: Vec<Loss>,
    /// Number of losses.
    pub total_losses: u64,
    /// Stocks whose book the plant reported as tainted.
    pub tainted_stocks: usize,
}

/// A part that the recorded run lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The plant could not read a part of its input.
    Input {
        /// The sequence number of the notice.
        sequence: u64,
        /// The plant's report.
        gap: InputGap,
    },
    /// The stream lacks messages.
    Stream(Gap),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { sequence, gap } => {
                write!(f, "message {sequence}: {}", Notice::Gap(*gap))
            }
            Self::Stream(gap) => gap.fmt(f),
        }
    }
}

/// The end of reading a recorded run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecordedEnd {
    /// End of the stream; the run has no stop record.
    #[default]
    NoStop,
    /// The plant ended its run.
    Stop,
    /// Another run begins at this sequence number.
    AnotherRun(u64),
    /// The handler stopped the reading.
    Stopped,
}

impl RecordedSummary {
    /// Whether the run was read completely, and the plant read all of its input.
    pub fn is_good(&self) -> bool {
        self.total_losses == 0 && matches!(self.end, RecordedEnd::Stop | RecordedEnd::Stopped)
    }

    fn lost(&mut self, loss: Loss) {
        self.total_losses += 1;
        if self.losses.len() < KEPT_LOSSES {
            self.losses.push(loss);
        }
    }
}

impl<S: Source> RecordedRun<S> {
    /// Reads from the stream's position.
    pub fn new(stream: S) -> Self {
        Self { stream }
    }

    /// The sequence number of the next message.
    pub fn next_sequence(&self) -> u64 {
        self.stream.next_sequence()
    }

    /// The sequence number after the current newest message.
    pub fn end(&self) -> Result<u64, S::Error> {
        self.stream.end()
    }
}

impl<S: Source> EventSource for RecordedRun<S> {
    type Summary = RecordedSummary;
    type Error = RecordedError<S::Error>;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<RecordedSummary, Self::Error> {
        let mut reading = Reading::default();
        loop {
            let mut failed = None;
            let polled = self.stream.poll(|item| {
                let flow = reading.item(item, handler);
                flow.unwrap_or_else(|error| {
                    failed = Some(error);
                    ControlFlow::Break(())
                })
            });
            if let Some(error) = failed {
                return Err(error.of_stream());
            }
            progress(self);
            match polled.map_err(RecordedError::Stream)? {
                Progress::Read => {}
                Progress::Stopped => return Ok(reading.summary),
                Progress::Nothing => {
                    reading.finish(handler);
                    return Ok(reading.summary);
                }
            }
        }
    }
}

/// A reading in progress.
#[derive(Default)]
struct Reading {
    events: EventReader,
    buffer: RecordBuffer,
    summary: RecordedSummary,
}

impl Reading {
    fn item(
        &mut self,
        item: Item<'_>,
        handler: &mut impl EventHandler,
    ) -> Result<ControlFlow<()>, RecordedError<core::convert::Infallible>> {
        let message = match item {
            Item::Message(message) => message,
            Item::Gap(gap) => {
                self.summary.lost(Loss::Stream(gap));
                return Ok(ControlFlow::Continue(()));
            }
            // A reading starts once and only advances, so no number occurs twice.
            Item::Reused(_) => return Ok(ControlFlow::Continue(())),
        };
        let sequence = message.sequence;
        self.summary.messages += 1;
        let record = self.buffer.decode(sequence, message.type_id, message.payload)?;
        let Some(record) = record else { return Ok(ControlFlow::Continue(())) };
        match record {
            Record::Notice(Notice::Start(_)) if self.summary.start.is_some() => {
                self.summary.end = RecordedEnd::AnotherRun(sequence);
                return Ok(ControlFlow::Break(()));
            }
            Record::Notice(Notice::Start(start)) => {
                if !start.kinds.has(RecordKind::Mbo) {
                    return Err(RecordedError::NoOrders { sequence, kinds: start.kinds });
                }
                self.summary.start = Some(start);
            }
            Record::Notice(Notice::Stop(_)) => self.summary.end = RecordedEnd::Stop,
            Record::Notice(Notice::Gap(gap)) => self.summary.lost(Loss::Input { sequence, gap }),
            Record::Notice(Notice::Taint(_)) => self.summary.tainted_stocks += 1,
            _ => {}
        }
        let flow = self.events.next(&record, &mut |number, event: &MarketEvent| {
            handler.event(Position { number, offset: sequence }, event, NoOrigin)
        });
        let flow = flow.map_err(|error| RecordedError::Order { sequence, error })?;
        if flow.is_break() {
            self.summary.end = RecordedEnd::Stopped;
        }
        Ok(flow)
    }

    /// The end of the stream: a message that was not completed is an event as far as it goes.
    fn finish(&mut self, handler: &mut impl EventHandler) {
        let offset = self.summary.messages;
        let _ = self.events.flush(&mut |number, event: &MarketEvent| {
            handler.event(Position { number, offset }, event, NoOrigin)
        });
    }
}

impl RecordedError<core::convert::Infallible> {
    fn of_stream<E>(self) -> RecordedError<E> {
        match self {
            Self::Stream(never) => match never {},
            Self::Record(bad) => RecordedError::Record(bad),
            Self::Order { sequence, error } => RecordedError::Order { sequence, error },
            Self::NoOrders { sequence, kinds } => RecordedError::NoOrders { sequence, kinds },
        }
    }
}
