//! A recorded run as a source of market events: the same code reads a journal, a DBN file and a day
//! file.
//!
//! Where: between a stream of records and a [`BookEngine`](crate::BookEngine).
//! Protocol: the stream is read from its position to its current end, but only within one run of a
//! plant: another start record would empty all books, so it ends the reading.
//! Failure: [`RecordedError`], after the events before it. Loss is data: the [`RecordedSummary`]
//! lists what the plant reported as lost and what the stream lacks.

mod look_ahead;

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    fmt,
    ops::ControlFlow,
};

use dbn::UNDEF_TIMESTAMP;
use look_ahead::LookAhead;
use nanotape_market::{Doubt, EventHandler, EventSource, MarketEvent, Position};
use nanotape_records::{
    BadOrder, BadRecord, EventReader, Gap as InputGap, Notice, PlantStart, Record, RecordBuffer,
    RecordKind, RestoredCause, RestoredNotice,
};
use nanotape_tape::{Gap, Item, Message, Progress};
use nanotape_types::StockLocate;

use crate::{Entry, RecordStream, Run};

/// Losses that are kept; later ones are only counted.
const KEPT_LOSSES: usize = 64;

/// A recorded run.
#[derive(Debug)]
pub struct RecordedRun<S> {
    stream: S,
    /// What is known of the run before it is read.
    run: Option<Run>,
    /// Books that become unreliable after this moment are not reported.
    until_ns: u64,
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
    #[error("message {sequence}: the plant published {kinds}; books need mbo records")]
    NoOrders {
        /// The sequence number of the start record.
        sequence: u64,
        /// The kinds of records that it published.
        kinds: nanotape_records::RecordKinds,
    },
    /// The stream has records of trades or insides, but none of orders.
    #[error("no mbo records among {messages} messages; books need them")]
    OnlyOthers {
        /// The messages that were read.
        messages: u64,
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
    /// The number of the start of another run, at which the reading ended.
    pub next_run: Option<u64>,
    /// The first losses, in order.
    pub losses: Vec<Loss>,
    /// Number of losses.
    pub total_losses: u64,
    /// Stocks whose book was reported as unreliable, with the sequence number of the first report:
    /// a taint notice, or an order record with the flag `MAYBE_BAD_BOOK`. A stock that was restored
    /// later is not among them.
    pub taints: BTreeMap<StockLocate, u64>,
}

/// A part that the recorded run lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The writer of the stream reported a loss as text.
    Reported {
        /// The sequence number of the report.
        sequence: u64,
        /// The report.
        text: Box<str>,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { sequence, gap } => {
                write!(f, "message {sequence}: {}", Notice::Gap(*gap))
            }
            Self::Stream(gap) => gap.fmt(f),
            Self::Reported { sequence, text } => write!(f, "message {sequence}: {text}"),
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
    /// The handler stopped the reading.
    Stopped,
}

impl RecordedSummary {
    /// Whether the run was read from its start to its end, and nothing is missing.
    pub fn is_good(&self) -> bool {
        let is_whole = self.start.is_some() && self.end != RecordedEnd::NoStop;
        is_whole && self.total_losses == 0
    }

    #[cold]
    fn taint(&mut self, instrument_id: u32, sequence: u64) {
        if let Ok(locate) = u16::try_from(instrument_id) {
            self.taints.entry(StockLocate::new(locate)).or_insert(sequence);
        }
    }

    /// Books are those of the exchange again.
    #[cold]
    fn restored(&mut self, restored: &RestoredNotice) {
        match (restored.cause, u16::try_from(restored.instrument_id)) {
            (RestoredCause::Same | RestoredCause::Replaced, Ok(locate)) => {
                self.taints.remove(&StockLocate::new(locate));
            }
            (RestoredCause::Snapshot, _) => self.taints.clear(),
            _ => {}
        }
    }

    fn lost(&mut self, loss: Loss) {
        self.total_losses += 1;
        if self.losses.len() < KEPT_LOSSES {
            self.losses.push(loss);
        }
    }
}

impl<S: RecordStream> RecordedRun<S> {
    /// Reads from the stream's position.
    pub fn new(stream: S) -> Self {
        Self::of_run(stream, None)
    }

    /// Reads a run from the stream's position, with the names that are stored of it.
    pub fn of_run(stream: S, run: Option<Run>) -> Self {
        Self { stream, run, until_ns: u64::MAX }
    }

    /// The last moment that the caller needs, in ns since the UNIX epoch. The handler ends the
    /// reading at the first event after it. A taint notice might come before that event.
    #[must_use]
    pub fn until(self, until_ns: u64) -> Self {
        Self { until_ns, ..self }
    }

    /// The stream.
    pub fn stream(&self) -> &S {
        &self.stream
    }
}

impl<S: RecordStream> EventSource for RecordedRun<S> {
    /// The events up to an error were delivered.
    type Summary = (RecordedSummary, Option<RecordedError<S::Error>>);
    type Error = Infallible;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<Self::Summary, Infallible> {
        let mut reading = Reading::until(self.until_ns);
        if let Some(run) = &self.run {
            handler.day_begins(run.midnight_ns);
            run.names.iter().for_each(|&(locate, symbol)| handler.name(locate, symbol));
        }
        loop {
            let mut failed = None;
            let polled = self.stream.poll(|entry| {
                let flow = reading.entry(entry, handler);
                flow.unwrap_or_else(|error| {
                    failed = Some(error);
                    ControlFlow::Break(())
                })
            });
            progress(self);
            let error = match (failed, polled) {
                (Some(error), _) => reading.drain(handler).is_continue().then(|| error.of_stream()),
                (None, Ok(Progress::Read)) => continue,
                (None, Ok(Progress::Stopped)) if reading.summary.next_run.is_none() => None,
                (None, Ok(_)) => reading.finish(handler).err(),
                (None, Err(error)) => {
                    // The stream's own error is the cause of a missing rest.
                    let _ = reading.finish::<S::Error>(handler);
                    Some(RecordedError::Stream(error))
                }
            };
            return Ok((reading.summary, error));
        }
    }
}

/// A reading in progress.
struct Reading<Hint> {
    events: EventReader,
    ahead: LookAhead<Hint>,
    buffer: RecordBuffer,
    summary: RecordedSummary,
    last_sequence: u64,
    /// The receive time of the last record; 0 if it has none.
    received_ns: u64,
    until_ns: u64,
    /// Stocks whose last order record had the flag `MAYBE_BAD_BOOK`, of a stream without notices.
    flagged: BTreeSet<StockLocate>,
    has_orders: bool,
    /// Whether there are records of trades or insides.
    has_others: bool,
}

impl<Hint: Copy> Reading<Hint> {
    fn until(until_ns: u64) -> Self {
        Self {
            events: EventReader::default(),
            ahead: LookAhead::new(),
            buffer: RecordBuffer::default(),
            summary: RecordedSummary::default(),
            last_sequence: 0,
            received_ns: 0,
            until_ns,
            flagged: BTreeSet::new(),
            has_orders: false,
            has_others: false,
        }
    }

    #[inline]
    fn entry(
        &mut self,
        entry: Entry<'_>,
        handler: &mut impl EventHandler<Hint = Hint>,
    ) -> Result<ControlFlow<()>, RecordedError<Infallible>> {
        let Message { sequence, type_id, payload, .. } = match entry {
            Entry::Item(Item::Message(message)) | Entry::Opening(message) => message,
            other => return self.rare(other, handler),
        };
        self.summary.messages += 1;
        self.last_sequence = sequence;
        let record = self.buffer.decode(sequence, type_id, payload)?;
        let Some(record) = record else { return Ok(ControlFlow::Continue(())) };
        let mut unreliable = None;
        match record {
            Record::Notice(notice) => {
                return self.rare(Entry::Notice { sequence, notice }, handler);
            }
            Record::Mbo(order) => {
                self.has_orders = true;
                if order.flags.is_maybe_bad_book() && order.hd.ts_event <= self.until_ns {
                    unreliable = Some(order.hd.instrument_id);
                }
            }
            Record::Bbo(_) | Record::Trade(_) => self.has_others = true,
            _ => {}
        }
        if self.summary.start.is_none()
            && let Record::Mbo(order) = record
            && let is_flagged = order.flags.is_maybe_bad_book()
            && let Some(doubt) = doubt_of(order.hd.instrument_id, is_flagged, &mut self.flagged)
        {
            if self.ahead.drain(handler).is_break() {
                self.summary.end = RecordedEnd::Stopped;
                return Ok(ControlFlow::Break(()));
            }
            handler.doubt(doubt);
        }
        let (message, received_ns) = message_of(&record);
        let before_ns = std::mem::replace(&mut self.received_ns, received_ns);
        let ahead = &mut self.ahead;
        let flow = self.events.next(&record, &mut |number, event: &MarketEvent| {
            // A record can complete the message before its own.
            let is_own = message.is_none_or(|message| message == number as u32);
            ahead.receive(if is_own { received_ns } else { before_ns });
            ahead.push(Position { number, offset: sequence }, event, handler)
        });
        let flow = flow.map_err(|error| RecordedError::Order { sequence, error })?;
        if flow.is_break() {
            self.summary.end = RecordedEnd::Stopped;
        } else if let Some(instrument) = unreliable {
            // The handler might end the reading before this record.
            if self.drain(handler).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.summary.taint(instrument, sequence);
        }
        Ok(flow)
    }

    /// Delivers the events that wait.
    fn drain(&mut self, handler: &mut impl EventHandler<Hint = Hint>) -> ControlFlow<()> {
        let flow = self.ahead.drain(handler);
        if flow.is_break() {
            self.summary.end = RecordedEnd::Stopped;
        }
        flow
    }

    #[cold]
    fn rare(
        &mut self,
        entry: Entry<'_>,
        handler: &mut impl EventHandler<Hint = Hint>,
    ) -> Result<ControlFlow<()>, RecordedError<Infallible>> {
        if self.drain(handler).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        match entry {
            Entry::Notice { sequence, notice } => {
                if let Notice::Start(start) = &notice
                    && self.summary.start.is_none()
                {
                    handler.day_begins(start.midnight_ns);
                }
                notice.doubt().into_iter().for_each(|doubt| handler.doubt(doubt));
                return self.notice(sequence, notice);
            }
            Entry::Name(locate, symbol) => handler.name(locate, symbol),
            Entry::Item(Item::Gap(gap)) => {
                handler.doubt(Doubt::OfAll);
                self.summary.lost(Loss::Stream(gap));
            }
            Entry::Loss { sequence, text } => {
                handler.doubt(Doubt::OfAll);
                self.summary.lost(Loss::Reported { sequence, text: text.into() });
            }
            // A reading starts once and only advances, so no number occurs twice.
            Entry::Item(_) | Entry::Opening(_) | Entry::Handover(_) => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    #[cold]
    fn notice(
        &mut self,
        sequence: u64,
        notice: Notice,
    ) -> Result<ControlFlow<()>, RecordedError<Infallible>> {
        match notice {
            Notice::Start(_) if self.summary.start.is_some() => {
                self.summary.next_run = Some(sequence);
                return Ok(ControlFlow::Break(()));
            }
            Notice::Start(start) => {
                if !start.kinds.has(RecordKind::Mbo) {
                    return Err(RecordedError::NoOrders { sequence, kinds: start.kinds });
                }
                self.summary.start = Some(start);
                self.events = EventReader::default();
            }
            Notice::Stop(_) => self.summary.end = RecordedEnd::Stop,
            Notice::Gap(gap) => self.summary.lost(Loss::Input { sequence, gap }),
            Notice::Taint(taint) if taint.ts_event <= self.until_ns => {
                self.summary.taint(taint.instrument_id, sequence);
            }
            Notice::Restored(restored) if restored.ts_event <= self.until_ns => {
                self.summary.restored(&restored);
            }
            Notice::Taint(_) | Notice::Restored(_) | Notice::SessionGap(_) | Notice::Suspect(_) => {
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The end of the stream: a message that was not completed is an event as far as it goes.
    fn finish<E>(
        &mut self,
        handler: &mut impl EventHandler<Hint = Hint>,
    ) -> Result<(), RecordedError<E>> {
        let (offset, ahead) = (self.last_sequence, &mut self.ahead);
        let flushed = self.events.flush(&mut |number, event: &MarketEvent| {
            ahead.push(Position { number, offset }, event, handler)
        });
        if flushed.is_continue() {
            let _ = self.drain(handler);
        }
        if self.has_others && !self.has_orders {
            return Err(RecordedError::OnlyOthers { messages: self.summary.messages });
        }
        Ok(())
    }
}

/// Of a stream without notices only the flags of records say which books are unreliable.
#[inline]
fn doubt_of(
    instrument_id: u32,
    is_flagged: bool,
    flagged: &mut BTreeSet<StockLocate>,
) -> Option<Doubt> {
    if !is_flagged && flagged.is_empty() {
        return None;
    }
    let locate = StockLocate::new(u16::try_from(instrument_id).ok()?);
    match is_flagged {
        true => flagged.insert(locate).then_some(Doubt::OfStock(locate)),
        false => flagged.remove(&locate).then_some(Doubt::SettledOf(locate)),
    }
}

/// The number of the message of a record, and when it was received, 0 if that is unknown.
#[inline]
fn message_of(record: &Record<'_>) -> (Option<u32>, u64) {
    let message = match record {
        Record::Mbo(order) => Some(order.sequence),
        Record::Bbo(inside) => Some(inside.sequence),
        Record::Trade(trade) => Some(trade.sequence),
        _ => None,
    };
    (message, record.ts_recv().filter(|&ns| ns != UNDEF_TIMESTAMP).unwrap_or(0))
}

impl RecordedError<Infallible> {
    fn of_stream<E>(self) -> RecordedError<E> {
        match self {
            Self::Stream(never) => match never {},
            Self::Record(bad) => RecordedError::Record(bad),
            Self::Order { sequence, error } => RecordedError::Order { sequence, error },
            Self::NoOrders { sequence, kinds } => RecordedError::NoOrders { sequence, kinds },
            Self::OnlyOthers { messages } => RecordedError::OnlyOthers { messages },
        }
    }
}
