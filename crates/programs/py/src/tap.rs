//! A tap: the records of a plant that runs, in batches, with what is no row of the market as events
//! in their places.
//!
//! The records are read from the ring when Python asks for them, so no memory grows while it does
//! not. What the ring has overwritten by then comes from the journal, if the tap has one.

use std::{collections::VecDeque, ops::ControlFlow, sync::Mutex, time::Duration};

use arrow_array::{Array as _, RecordBatch, UInt64Array};
use nanotape_answers::{
    Given, Input as Opened, InputError, InputOptions, RecordRow, RecordSpan, members,
};
use nanotape_plant::{
    Step,
    records::{Notice, Record, RecordKinds},
};
use nanotape_tables::{BATCH_ROWS, Batches, Fields, TableError};
use nanotape_tap::{Event as Received, SubscribeError, Subscriber, Subscription, has_journal};
use nanotape_tape::{Deadline, ShutdownFlag, Start, WriterState};
use nanotape_types::rows::{Cell, Column, Sink as _};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    errors::{NanotapeError, ReadError},
    input::{parsed, symbols_of},
    reading::{LONGEST_WAIT, lock},
    rows::{Batch, prices_of},
};

/// Columns of records that rows have. The others belong to events.
const ROW_COLUMNS: usize = 19;

/// A subscription to the records of a plant.
#[pyclass(frozen, subclass, module = "nanotape._core")]
pub(crate) struct Tap {
    /// Locked for as long as a call waits, and never while the interpreter's lock is held.
    state: Mutex<State>,
    /// Locked for moments only.
    pending: Mutex<Pending>,
    shutdown: ShutdownFlag,
}

struct State {
    subscriber: Subscriber,
    rows: Batches<Collected>,
    /// The items of a step, before they are pending.
    items: VecDeque<Numbered>,
}

/// What is read and not yet given. The end of the reading is the end of the tap only after that, or
/// a loop that checks `tap.end` would lose what is left.
#[derive(Default)]
struct Pending {
    items: VecDeque<Numbered>,
    end: Option<End>,
    /// The number of the next record that is read.
    next_sequence: u64,
}

/// An item, and the number from which a tap that starts anew gives it again.
type Numbered = (u64, Item);

/// The end of a reading.
enum End {
    Over(String),
    /// An error that is not raised yet.
    Failed(String),
}

impl Pending {
    /// The next item, or the error after the last one, once.
    fn take(&mut self) -> Result<Option<Item>, String> {
        if let Some((_, item)) = self.items.pop_front() {
            return Ok(Some(item));
        }
        match self.end.take() {
            Some(End::Failed(line)) => {
                self.end = Some(End::Over(line.clone()));
                Err(line)
            }
            end => {
                self.end = end;
                Ok(None)
            }
        }
    }

    /// Why the tap is over, once all is given.
    fn end(&self) -> Option<&str> {
        match &self.end {
            Some(End::Over(reason)) if self.items.is_empty() => Some(reason),
            _ => None,
        }
    }

    /// Ends it before what is not given.
    fn close(&mut self) {
        if self.end().is_none() {
            self.next_sequence = self.next_sequence();
            self.items.clear();
            self.end = Some(End::Over("closed".to_owned()));
        }
    }

    /// The number of the first record that is not given.
    fn next_sequence(&self) -> u64 {
        self.items.front().map_or(self.next_sequence, |(sequence, _)| *sequence)
    }

    /// Whether a call of [`take`](Self::take) has a result.
    fn is_ready(&self) -> bool {
        !self.items.is_empty() || self.end.is_some()
    }
}

/// Batches of the rows, which wait for their place among the events.
#[derive(Default)]
struct Collected(VecDeque<RecordBatch>);

impl nanotape_tables::BatchSink for Collected {
    fn batch(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        self.0.push_back(batch);
        Ok(())
    }
}

enum Item {
    Rows(RecordBatch),
    Event(Event),
}

/// Something that is no row: a loss, a report of the plant, a status, a definition, an imbalance.
#[pyclass(frozen, subclass, module = "nanotape._core")]
pub(crate) struct Event {
    /// lost, healed, loss, bad_record; start, stop, gap, taint, session_gap, suspect, restored;
    /// status, definition, imbalance.
    #[pyo3(get)]
    kind: String,
    /// What it says, in words.
    #[pyo3(get)]
    text: String,
    /// Number of the record; of a loss, that of the first record that is missing.
    #[pyo3(get)]
    sequence: Option<u64>,
    /// Of a loss, the number of the last record that is missing.
    #[pyo3(get)]
    last: Option<u64>,
    /// Time at the exchange, in ns since 1970.
    #[pyo3(get)]
    ts_event: Option<u64>,
    /// Time of receipt, in ns since 1970.
    #[pyo3(get)]
    ts_recv: Option<u64>,
    /// The stock.
    #[pyo3(get)]
    symbol: Option<String>,
    /// Values of a status, a definition or an imbalance.
    values: Vec<(&'static str, Value)>,
}

/// A value of a record.
#[derive(Clone, IntoPyObject)]
enum Value {
    Text(String),
    U64(u64),
    I64(i64),
    Flag(bool),
    Absent(Option<bool>),
}

#[pymethods]
impl Event {
    /// Values of a status, a definition or an imbalance.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        for (name, value) in &self.values {
            fields.set_item(name, value.clone())?;
        }
        Ok(fields)
    }

    fn __repr__(&self) -> String {
        format!("<nanotape.Event {}: {}>", self.kind, self.text)
    }
}

#[pymethods]
impl Tap {
    #[expect(clippy::too_many_arguments, reason = "each is an argument in Python")]
    #[new]
    #[pyo3(signature = (ring, heal, symbols, records, start, wait_seconds, heal_wait_seconds, prices))]
    fn new(
        py: Python<'_>,
        ring: std::ffi::OsString,
        heal: Option<std::path::PathBuf>,
        symbols: Vec<String>,
        records: &str,
        start: &str,
        wait_seconds: f64,
        heal_wait_seconds: f64,
        prices: &str,
    ) -> PyResult<Self> {
        let seconds =
            |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        let kinds: RecordKinds = parsed("records", records)?;
        let shutdown = ShutdownFlag::new();
        let name = Given::from(ring);
        let mut subscription = Subscription::to(&name)
            .symbols(symbols_of(&symbols)?)
            .records(kinds.iter())
            .shutdown(&shutdown)
            .quiet_after(LONGEST_WAIT);
        if let Some(journal) = &heal {
            subscription = subscription.heal_from(journal, seconds(heal_wait_seconds));
        }
        let start: Start = parsed("start", start)?;
        let (is_newest, is_oldest) = (start == Start::Newest, start == Start::Oldest);
        let start = Some(start).filter(|_| !is_newest);
        let span = RecordSpan { start, ..RecordSpan::default() };
        let options = InputOptions { rings: true, ..InputOptions::default() };
        // The end of the records of a plant that is over at the first attempt. The next one is read
        // from its beginning, also if it is over by then. While it takes the ring over, it is alive
        // and the run is still the last one.
        let (mut is_first, mut over_at) = (true, None);
        let subscriber = waiting(py, seconds(wait_seconds), || {
            let is_first = std::mem::take(&mut is_first);
            let subscription = match is_first {
                true => subscription.clone(),
                false => subscription.clone().begin_with_run(),
            };
            let opened = Opened::open(name.clone(), options.clone());
            let is_of_last_run = |subscriber: &Subscriber| match is_first {
                true => subscriber.writer() != WriterState::Alive,
                false => over_at > Some(subscriber.next_sequence()),
            };
            match opened.and_then(|opened| opened.records(subscription, span)) {
                Ok(subscriber) if is_newest && is_of_last_run(&subscriber) => {
                    over_at = over_at.or(Some(subscriber.next_sequence()));
                    let line = format!("{name}: the plant of the ring is over");
                    Attempt::Later(ReadError::Choice(line))
                }
                Ok(subscriber) if !is_oldest && is_over(&subscriber) => Attempt::Poor(subscriber),
                Ok(subscriber) => Attempt::Done(subscriber),
                Err(error) if is_pending(&error) => Attempt::Later(error.into()),
                Err(error) => Attempt::Failed(error.into()),
            }
        })?;
        if let Some(journal) = heal {
            waiting(py, seconds(heal_wait_seconds), || match has_journal(&journal) {
                true => Attempt::Done(()),
                false => {
                    let line = "no journal there; heal= is the one that records the ring";
                    Attempt::Later(ReadError::Choice(format!("{}: {line}", journal.display())))
                }
            })?;
        }
        let columns = columns();
        let fields = Fields { prices: prices_of(prices)?, midnight_ns: 0 };
        let schema = fields.schema(&columns, &[]);
        let rows = Batches::new(Collected::default(), &columns, (fields, schema), BATCH_ROWS);
        let next_sequence = subscriber.next_sequence();
        let pending = Mutex::new(Pending { next_sequence, ..Pending::default() });
        let state = Mutex::new(State { subscriber, rows, items: VecDeque::new() });
        Ok(Self { state, pending, shutdown })
    }

    /// The next batch or event; None if nothing came within the time, or at the end.
    fn _next(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Py<PyAny>>> {
        let deadline = deadline_of(seconds);
        loop {
            if let Some(item) = self._take(py)? {
                return Ok(Some(item));
            }
            if self.end().is_some() || !self.wait(py, &deadline)? {
                return Ok(None);
            }
        }
    }

    /// Waits for an item or the end, and takes nothing, so that a caller that gives up loses
    /// nothing.
    fn _wait(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.wait(py, &deadline_of(seconds)).map(drop)
    }

    /// The next batch or event if there is one, without a wait.
    fn _take(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let item = lock(&self.pending).take().map_err(NanotapeError::new_err)?;
        Ok(match item {
            Some(Item::Rows(batch)) => Some(Batch(batch).into_pyobject(py)?.into_any().unbind()),
            Some(Item::Event(event)) => Some(event.into_pyobject(py)?.into_any().unbind()),
            None => None,
        })
    }

    /// Why the tap is over; None while it is not, or has items that are not given.
    #[getter]
    fn end(&self) -> Option<String> {
        lock(&self.pending).end().map(str::to_owned)
    }

    /// The number of the first record that is not given.
    #[getter]
    fn next_sequence(&self) -> u64 {
        lock(&self.pending).next_sequence()
    }

    /// Ends the tap: a call that waits returns, and what is not given is given no more.
    fn close(&self) {
        self.shutdown.request();
        lock(&self.pending).close();
    }
}

impl Tap {
    /// Waits until an item or the end is pending; `false` if the time is over before.
    ///
    /// One poll reads 16 KiB, and a tap of a rare stock polls often without an item. Each return to
    /// the interpreter waits for its lock, 5 ms beside a busy thread, so there is none between
    /// polls: a tap would read 3 MB/s.
    fn wait(&self, py: Python<'_>, deadline: &Deadline) -> PyResult<bool> {
        loop {
            let is_ready = py.detach(|| {
                let signals = Deadline::after(LONGEST_WAIT);
                loop {
                    if self.poll() {
                        return true;
                    }
                    if signals.is_over() || deadline.is_over() {
                        return false;
                    }
                }
            });
            if is_ready || deadline.is_over() {
                return Ok(is_ready);
            }
            py.check_signals()?;
        }
    }

    /// Reads what there is, or waits a while, unless something is pending. Returns whether an item
    /// or the end is pending then.
    fn poll(&self) -> bool {
        let mut state = lock(&self.state);
        if lock(&self.pending).is_ready() {
            return true;
        }
        let State { subscriber, rows, items } = &mut *state;
        let run_first = subscriber.run_first();
        let over = |reason: &str| Some(End::Over(reason.to_owned()));
        let mut stopped = None;
        let mut detail = String::new();
        let step = subscriber.step(|event| {
            take(&event, rows, items, &mut detail);
            if let Received::Record(delivery) = &event
                && let Record::Notice(Notice::Stop(stop)) = &delivery.record
                && delivery.sequence >= run_first
            {
                stopped = over(&format!("the plant stopped: {}", stop.reason.name()));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        flush(rows, items);
        let end = match step {
            Ok(Step::Gone(WriterState::Dead)) => over("the plant was killed"),
            Ok(Step::Gone(WriterState::Closed)) => over("the plant stopped"),
            Ok(Step::Gone(WriterState::Alive)) => over("another plant has the ring"),
            Ok(Step::Complete) => over("complete"),
            Ok(Step::Shutdown) => over("closed"),
            // The next step returns as well if nothing comes.
            Ok(Step::Quiet) => {
                subscriber.expect_quiet();
                None
            }
            Ok(_) => None,
            // One record is invalid; the records around it are valid.
            Err(SubscribeError::Record { path, error }) => {
                let sequence = error.sequence;
                let error = SubscribeError::Record { path, error };
                items.push_back((sequence, Item::Event(plain("bad_record", error.to_string()))));
                None
            }
            Err(error) => Some(End::Failed(error.to_string())),
        };
        let mut pending = lock(&self.pending);
        // It was closed meanwhile.
        if pending.end.is_some() {
            return true;
        }
        pending.items.append(items);
        pending.next_sequence = subscriber.next_sequence();
        pending.end = stopped.or(end);
        pending.is_ready()
    }
}

fn deadline_of(seconds: f64) -> Deadline {
    Deadline::after(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

/// What an attempt gave.
enum Attempt<T> {
    Done(T),
    Failed(ReadError),
    /// A result, if there is no better one later.
    Poor(T),
    /// It can succeed later.
    Later(ReadError),
}

/// Tries until it succeeds, fails for good, or a time is over. Signals of Python end it.
fn waiting<T: Send>(
    py: Python<'_>,
    wait: Duration,
    mut attempt: impl FnMut() -> Attempt<T> + Send,
) -> PyResult<T> {
    let deadline = Deadline::after(wait);
    loop {
        match py.detach(&mut attempt) {
            Attempt::Done(result) => return Ok(result),
            Attempt::Failed(error) => return Err(error.into()),
            Attempt::Poor(result) if deadline.is_over() => return Ok(result),
            Attempt::Later(error) if deadline.is_over() => return Err(error.into()),
            Attempt::Poor(_) | Attempt::Later(_) => {
                py.detach(|| std::thread::sleep(LONGEST_WAIT / 5))
            }
        }
        py.check_signals()?;
    }
}

/// Whether a tap would end at once: only the next plant of its ring has records for it.
fn is_over(subscriber: &Subscriber) -> bool {
    subscriber.writer() != WriterState::Alive && subscriber.is_at_end().is_ok_and(|is_end| is_end)
}

/// Whether the ring, or its record, can come later.
fn is_pending(error: &InputError) -> bool {
    match error {
        InputError::Subscribe(error) => error.is_pending(),
        _ => false,
    }
}

/// The columns of rows.
fn columns() -> Vec<Column> {
    let mut columns = RecordRow::columns();
    columns.truncate(ROW_COLUMNS);
    columns.retain(|column| column.name != "ts_ns");
    columns
}

/// Takes an event of the subscriber as a row, or as an event after the rows so far.
fn take(
    event: &Received<'_>,
    rows: &mut Batches<Collected>,
    items: &mut VecDeque<Numbered>,
    detail: &mut String,
) {
    let is_row = matches!(
        event,
        Received::Record(delivery)
            if matches!(delivery.record, Record::Mbo(_) | Record::Bbo(_) | Record::Trade(_))
    );
    let row = RecordRow::of(event, detail);
    if is_row {
        let cells = row.cells();
        let mut of_row = [Cell::Absent; ROW_COLUMNS - 1];
        // All but the time of day.
        of_row[..4].copy_from_slice(&cells[..4]);
        of_row[4..].copy_from_slice(&cells[5..ROW_COLUMNS]);
        // An error is that of the sink, which has none.
        let _ = rows.row(&of_row);
        return;
    }
    flush(rows, items);
    let sequence = match event {
        Received::Record(delivery) => delivery.sequence,
        Received::Lost(gap) => gap.from,
        // It reports records that were given before it.
        Received::Healed(handover) => handover.to.saturating_add(1),
        Received::Reported { sequence, .. } => *sequence,
    };
    items.push_back((sequence, Item::Event(event_of(event, &row))));
}

fn flush(rows: &mut Batches<Collected>, items: &mut VecDeque<Numbered>) {
    // Columns of one length, as the row has them.
    let _ = rows.flush();
    items.extend(rows.batches.0.drain(..).map(|batch| (first_of(&batch), Item::Rows(batch))));
}

/// The number of the first row of a batch, which has at least one.
fn first_of(batch: &RecordBatch) -> u64 {
    let numbers = batch.column_by_name("sequence");
    let numbers = numbers.and_then(|column| column.as_any().downcast_ref::<UInt64Array>());
    numbers.map_or(0, |numbers| numbers.value(0))
}

fn plain(kind: &str, text: String) -> Event {
    Event {
        kind: kind.to_owned(),
        text,
        sequence: None,
        last: None,
        ts_event: None,
        ts_recv: None,
        symbol: None,
        values: Vec::new(),
    }
}

fn event_of(event: &Received<'_>, row: &RecordRow<'_>) -> Event {
    use nanotape_answers::RecordColumn;
    let number = |column| match row.cell(column) {
        Cell::U64(value) | Cell::UnixTime(value) => Some(value),
        _ => None,
    };
    let text = |column| match row.cell(column) {
        Cell::Text(text) => Some(text.to_owned()),
        Cell::Stock(stock) => Some(stock.to_string()),
        _ => None,
    };
    let mut of = plain(&text(RecordColumn::Record).unwrap_or_default(), String::new());
    of.text = text(RecordColumn::Detail).unwrap_or_default();
    of.sequence = number(RecordColumn::Sequence)
        .or(number(RecordColumn::LostFrom))
        .or(number(RecordColumn::HealedFrom));
    of.last = number(RecordColumn::LostTo).or(number(RecordColumn::HealedTo));
    (of.ts_event, of.ts_recv) = (number(RecordColumn::TsEvent), number(RecordColumn::TsRecv));
    of.symbol = text(RecordColumn::Symbol);
    if let Received::Lost(gap) = event {
        of.text = gap.to_string();
    }
    if let Received::Record(delivery) = event {
        members(&delivery.record, |name, cell| {
            let value = match cell {
                Cell::Text(text) => Value::Text(text.to_owned()),
                Cell::Letter(letter) => Value::Text(char::from(letter).to_string()),
                Cell::U64(value) => Value::U64(value),
                Cell::I64(value) | Cell::Price9(value) => Value::I64(value),
                Cell::Flag(flag) => Value::Flag(flag),
                _ => Value::Absent(None),
            };
            of.values.push((name, value));
        });
    }
    of
}
