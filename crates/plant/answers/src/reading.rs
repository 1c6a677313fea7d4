//! Reads an input to the end of a span: its events, or books with an observer.

use std::{collections::BTreeMap, ops::ControlFlow};

use nanotape_book::DefaultBooks;
use nanotape_engine::{BookEngine, DamageLog, Observer, RunReport};
use nanotape_feed::{CaptureChoice, DayEnd, DaySource, venue_of};
use nanotape_history::{DbnStream, JournalRun, RecordedEnd, RecordedRun, RunSpan, Runs};
use nanotape_market::{
    Damage, EventHandler, EventSource as _, EventTime, MarketEvent, Origin, Position,
};
use nanotape_plant::orders_of;
use nanotape_types::{StockLocate, Symbol};

use crate::{
    Breaks, Given, Input, InputError, InputKind, InputOptions, InputReport, RunChoice, Span,
    input::{Source, day_again, open_day},
    span::Guard,
    watched::Watched,
};

/// An input that is open at the beginning of a span.
#[derive(Debug)]
pub struct Opening {
    name: Given,
    options: InputOptions,
    source: Opened,
    /// The first nanosecond since midnight of the span, and the first one after it.
    pub bounds: (u64, u64),
    /// The exchange's midnight in ns since the UNIX epoch, if the input has a date.
    pub midnight_ns: Option<u64>,
    /// DBN's number of the feed and its venue; 0 if it is unknown.
    pub publisher_id: u16,
    /// Runs before the one that is read, if no run was chosen.
    pub earlier_runs: u64,
    /// Whether its messages have receive times that differ from those of the exchange.
    pub has_receipt: bool,
}

#[derive(Debug)]
enum Opened {
    Day(Box<DaySource>),
    Journal(Box<RecordedRun<JournalRun>>),
    Dbn(Box<RecordedRun<DbnStream>>),
}

/// How far an input has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Of a file: bytes, and how many it has, if that is known.
    Bytes(u64, Option<u64>),
    /// Of a journal: messages, and how many the run has, at most.
    Messages(u64, u64),
}

/// An input after its run through books, with the report.
#[derive(Debug)]
pub struct Session {
    /// The name for messages.
    pub name: String,
    /// The books at the end of the span.
    pub engine: BookEngine<DefaultBooks>,
    /// What the input lacks.
    pub report: InputReport,
    /// The first message of each stock that did not fit its book.
    pub misfits: BTreeMap<StockLocate, Position>,
}

impl Input {
    /// Opens the input for books of a span. `symbols`: the stocks, empty for all of them.
    pub fn within(self, span: Span, symbols: &[Symbol]) -> Result<Opening, InputError> {
        let mut input = self;
        let has_receipt = input.has_receive_times()?;
        let earlier_runs = input.find_run()?;
        let Self { name, options, source, .. } = input;
        let choice = options.run;
        let (source, bounds, midnight_ns, publisher_id, earlier_runs) = match source {
            Source::Ring => return Err(InputError::IsARing { name: name.to_string() }),
            Source::Journal(path) => {
                let runs = Runs::of_journal(&path)?;
                let number = RunChoice::of(choice, &name, runs.len() as u64)?;
                let run = runs.iter().nth(number.wrapping_sub(1) as usize);
                let midnight_ns = run.map(|run| run.midnight_ns);
                let bounds = span.bounds(&name, midnight_ns)?;
                let publisher_id = run.map_or(0, |run| run.publisher_id);
                // Before it, books can have an event that is later.
                let skew_ns = venue_of(publisher_id).skew_ns;
                let of_day = |nanos: u64| midnight_ns.unwrap_or(0).saturating_add(nanos);
                let books_at_ns = span.books_from(bounds).map(of_day);
                let wanted = RunSpan {
                    books_at_ns: books_at_ns.map(|at_ns| at_ns.saturating_sub(skew_ns)),
                    until_ns: last_of(bounds, midnight_ns),
                    symbols: symbols.to_vec(),
                };
                let stream = JournalRun::open(&path, &runs, run, &wanted)?;
                let source = RecordedRun::of_run(stream, run.cloned()).until(wanted.until_ns);
                let earlier = RunChoice::earlier(choice, runs.len() as u64);
                (Opened::Journal(Box::new(source)), bounds, midnight_ns, publisher_id, earlier)
            }
            Source::Dbn(stream) => {
                let midnight_ns = stream.start().map(|start| start.midnight_ns);
                let bounds = span.bounds(&name, midnight_ns)?;
                let publisher_id = stream.start().map_or(0, |start| start.publisher_id);
                let run = RecordedRun::new(*stream).until(last_of(bounds, midnight_ns));
                (Opened::Dbn(Box::new(run)), bounds, midnight_ns, publisher_id, earlier_runs)
            }
            Source::Day(source, date) => {
                let midnight_ns = date.map(|date| date.begins_ns(source.venue()));
                let mut source = source;
                source.set_day_begins(midnight_ns.unwrap_or_default());
                let bounds = span.bounds(&name, midnight_ns)?;
                let publisher_id = source.venue().publisher_id;
                (Opened::Day(source), bounds, midnight_ns, publisher_id, 0)
            }
        };
        Ok(Opening {
            name,
            options,
            source,
            bounds,
            midnight_ns,
            publisher_id,
            earlier_runs,
            has_receipt,
        })
    }
}

/// The last moment of a span, in ns since the UNIX epoch; the end of time without a trade date.
fn last_of((_, to): (u64, u64), midnight_ns: Option<u64>) -> u64 {
    midnight_ns.map_or(u64::MAX, |midnight_ns| midnight_ns.saturating_add(to.saturating_sub(1)))
}

impl Opening {
    /// The name as it was given.
    pub fn name(&self) -> &Given {
        &self.name
    }

    /// What the input is; never a ring.
    pub fn kind(&self) -> InputKind {
        match self.source {
            Opened::Day(_) => InputKind::Day,
            Opened::Journal(_) => InputKind::Journal,
            Opened::Dbn(_) => InputKind::Dbn,
        }
    }

    /// The match numbers of all broken trades, by a reading of its own. `None` for records, which
    /// have no match numbers, and for an input that is read only once.
    pub fn breaks(&self, reading: impl FnMut(Reading)) -> Result<Option<Breaks>, InputError> {
        if self.kind() != InputKind::Day {
            return Ok(None);
        }
        let Some(mut source) = day_again(&self.name, &self.options.capture)? else {
            return Ok(None);
        };
        let mut breaks = Breaks::default();
        let show = show_day(&source, reading);
        source.read(&mut breaks, show)?;
        Ok(Some(breaks))
    }

    /// Runs the events up to the end of the span through new books. The observer gets those of the
    /// span. `reading` is called at the start, and then from time to time.
    pub fn run(
        self,
        observer: &mut impl Observer<DefaultBooks>,
        mut reading: impl FnMut(Reading),
    ) -> Result<Session, InputError> {
        let Self { name, options, mut source, bounds, publisher_id, .. } = self;
        let books = DefaultBooks::with_capacity(orders_of(name.path()));
        let engine = BookEngine::new(books).ending(bounds.1, venue_of(publisher_id).skew_ns);
        // A whole day has a loop of its own, because reading the time of each message costs.
        if let (Opened::Day(day), Span::WHOLE) = (&mut source, bounds) {
            let mut guard = Guard::<_, false>::new(observer, bounds);
            let session = Session::of_day(day, engine, &mut guard, reading)?;
            return Ok(Session { misfits: guard.misfits(), ..session });
        }
        match source {
            Opened::Day(mut day) => {
                let mut guard = Guard::<_, true>::new(observer, bounds);
                let session = Session::of_day(&mut day, engine, &mut guard, reading)?;
                Ok(Session { misfits: guard.misfits(), ..session })
            }
            Opened::Journal(run) => {
                let mut watched = Watched(observer);
                let guard = Guard::new(&mut watched, bounds);
                Session::of_journal(&name, run, engine, guard, &mut reading)
            }
            Opened::Dbn(run) => {
                let mut watched = Watched(observer);
                let guard = Guard::new(&mut watched, bounds);
                Session::of_dbn(run, options.run.is_none(), engine, guard, &mut reading)
            }
        }
    }

    /// The messages of a day file or a capture, without the other kinds of input.
    pub fn of_messages(name: &Given, capture: &CaptureChoice) -> Result<Self, InputError> {
        let source = Opened::Day(Box::new(open_day(name, capture)?));
        let options = InputOptions { capture: capture.clone(), ..InputOptions::default() };
        Ok(Self {
            name: name.clone(),
            options,
            source,
            bounds: Span::WHOLE,
            midnight_ns: None,
            publisher_id: 0,
            earlier_runs: 0,
            has_receipt: false,
        })
    }

    /// Calls `event` with each event, whose time is the time of day, with the time of its receipt
    /// in ns since the UNIX epoch, if the input has those, and with the exchange's message, empty
    /// for records. `Break` ends the reading.
    pub fn read_events(
        self,
        event: impl FnMut(&MarketEvent, Option<u64>, &[u8]) -> ControlFlow<()>,
        reading: impl FnMut(Reading),
    ) -> Result<InputReport, InputError> {
        let damage = DamageLog::default();
        let mut handler = Events { event, day_begins_ns: 0, received_ns: None, damage };
        match self.source {
            Opened::Day(mut day) => {
                let show = show_day(&day, reading);
                let summary = day.read(&mut handler, show)?;
                Ok(InputReport::Day(RunReport { summary, damage: handler.damage }))
            }
            Opened::Journal(mut run) => {
                let show = show_journal(&run, reading);
                let Ok(summary) = run.read(&mut handler, show);
                InputReport::of_journal(&self.name, run.stream(), summary)
            }
            Opened::Dbn(mut run) => {
                let show = show_dbn(&run, reading);
                let Ok(summary) = run.read(&mut handler, show);
                InputReport::of_dbn(
                    run.stream().source().name(),
                    summary,
                    self.options.run.is_none(),
                )
            }
        }
    }
}

impl Session {
    /// Runs the events of a day file or a capture through `engine`.
    fn of_day(
        source: &mut DaySource,
        mut engine: BookEngine<DefaultBooks>,
        observer: &mut impl Observer<DefaultBooks>,
        reading: impl FnMut(Reading),
    ) -> Result<Self, InputError> {
        let show = show_day(source, reading);
        let report = engine.run(source, observer, show)?;
        Ok(Self::new(source.name(), engine, InputReport::Day(report)))
    }

    fn of_journal(
        name: &str,
        mut run: Box<RecordedRun<JournalRun>>,
        mut engine: BookEngine<DefaultBooks>,
        mut guard: Guard<'_, Watched<'_>, true>,
        reading: &mut dyn FnMut(Reading),
    ) -> Result<Self, InputError> {
        let show = show_journal(&run, reading);
        let Ok(report) = engine.run(&mut *run, &mut guard, show);
        let report = InputReport::of_journal(name, run.stream(), report.summary)?;
        Ok(Self { misfits: guard.misfits(), ..Self::new(name, engine, report) })
    }

    fn of_dbn(
        mut run: Box<RecordedRun<DbnStream>>,
        is_only_first: bool,
        mut engine: BookEngine<DefaultBooks>,
        mut guard: Guard<'_, Watched<'_>, true>,
        reading: &mut dyn FnMut(Reading),
    ) -> Result<Self, InputError> {
        let show = show_dbn(&run, reading);
        let Ok(report) = engine.run(&mut *run, &mut guard, show);
        let name = run.stream().source().name();
        let report = InputReport::of_dbn(name, report.summary, is_only_first)?;
        Ok(Self { misfits: guard.misfits(), ..Self::new(name, engine, report) })
    }

    /// Whether a message after the span ended the reading.
    pub fn has_passed_the_span(&self) -> bool {
        let is_stopped = match &self.report {
            InputReport::Day(report) => report.summary.end == DayEnd::Stopped,
            InputReport::Records(recorded) => recorded.summary.end == RecordedEnd::Stopped,
        };
        is_stopped || self.engine.has_left_out()
    }

    fn new(name: &str, engine: BookEngine<DefaultBooks>, report: InputReport) -> Self {
        Self { name: name.to_owned(), engine, report, misfits: BTreeMap::new() }
    }
}

fn show_day<F: FnMut(Reading)>(
    source: &DaySource,
    mut reading: F,
) -> impl FnMut(&DaySource) + use<F> {
    let mut show = move |source: &DaySource| {
        let progress = source.progress();
        reading(Reading::Bytes(progress.done_bytes, progress.total_bytes));
    };
    show(source);
    show
}

fn show_dbn<F: FnMut(Reading)>(
    run: &RecordedRun<DbnStream>,
    reading: F,
) -> impl FnMut(&RecordedRun<DbnStream>) + use<F> {
    let mut show = show_day(run.stream().source(), reading);
    move |run| show(run.stream().source())
}

fn show_journal<F: FnMut(Reading)>(
    run: &RecordedRun<JournalRun>,
    mut reading: F,
) -> impl FnMut(&RecordedRun<JournalRun>) + use<F> {
    let first = run.stream().next_sequence();
    // Damage before the end is found when it is read.
    let total = run.stream().end().unwrap_or(first).saturating_sub(first);
    reading(Reading::Messages(0, total));
    move |run| {
        let done = run.stream().next_sequence().saturating_sub(first);
        reading(Reading::Messages(done, total));
    }
}

struct Events<F> {
    event: F,
    day_begins_ns: u64,
    received_ns: Option<u64>,
    damage: DamageLog,
}

impl<F: FnMut(&MarketEvent, Option<u64>, &[u8]) -> ControlFlow<()>> EventHandler for Events<F> {
    type Hint = ();

    #[inline(always)]
    fn event(&mut self, _: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()> {
        let of_day =
            |time: EventTime| EventTime::new(time.get().saturating_sub(self.day_begins_ns));
        let event = MarketEvent { time: event.time.map(of_day), ..*event };
        (self.event)(&event, self.received_ns, origin.bytes())
    }

    fn day_begins(&mut self, unix_ns: u64) {
        self.day_begins_ns = unix_ns;
    }

    fn day_begins_ns(&self) -> u64 {
        self.day_begins_ns
    }

    fn received(&mut self, ts_recv_ns: u64) {
        self.received_ns = Some(ts_recv_ns);
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.record(damage);
    }
}
