//! A reading of an input on a thread of its own, as a stream of batches.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nanotape_answers::{
    BacktestEvent, BacktestEvents, Given, Input, InputKind, InputOptions, InputReport, Opening,
    OrderSteps, Part, Session, Span, StepAt, SymbolFilter, Table, TableOptions, Tables,
    book_columns, book_rows, expanded, stats_columns, stats_rows, with_suggestions,
};
use nanotape_clock::Clock;
use nanotape_engine::DayStatistics;
use nanotape_tables::{BATCH_ROWS, Batches, Fields, Prices, TableError};
use nanotape_types::rows::{Column, Sink};

use crate::{errors::ReadError, stream::BatchReader};

/// Losses, damage and missing symbols that a line lists.
const LISTED: usize = 10;

/// How long a call waits before it looks for signals of Python.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// What is read, and what its rows have.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) name: Given,
    pub(crate) options: InputOptions,
    pub(crate) span: Span,
    pub(crate) table_options: TableOptions,
    pub(crate) request: Request,
    pub(crate) is_strict: bool,
}

/// The rows of a recipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    Table(Table),
    /// Figures of each stock.
    Stats,
    /// A part of the books at the end of the span, with so many levels.
    Book(Part, usize),
    /// The events of a backtest, with this latency in ns, if one is given.
    Backtest(Option<u64>),
}

/// What the input of a reading lacks.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) is_whole: bool,
    pub(crate) lines: Vec<String>,
    /// What the rows lack although the input is whole.
    pub(crate) notes: Vec<String>,
}

/// How the last reading ended; `None` until then, and without a result. A library between the
/// reading and Python passes on only the text of an error.
pub(crate) type Ended = Arc<Mutex<Option<Result<Report, ReadError>>>>;

/// What a lock protects is whole after a panic: each is replaced at once.
pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An input that is open, with the columns of its rows.
pub(crate) struct Prepared {
    recipe: Recipe,
    opening: Opening,
    pub(crate) columns: Vec<Column>,
    pub(crate) midnight_ns: u64,
}

impl Recipe {
    /// Opens the input.
    pub(crate) fn prepare(&self) -> Result<Prepared, ReadError> {
        let mut recipe = self.clone();
        let symbols = recipe.table_options.symbols.clone();
        let input = Input::open(recipe.name.clone(), recipe.options.clone())?;
        if input.kind() == InputKind::Day {
            input.require_date()?;
        }
        let opening = input.within(recipe.span, &symbols)?;
        recipe.table_options.has_receipt = opening.has_receipt;
        recipe.table_options.is_of_records = opening.kind() != InputKind::Day;
        let columns = match recipe.request {
            Request::Table(table) => table.columns(&recipe.table_options),
            Request::Stats => stats_columns(),
            Request::Book(part, _) => book_columns(part, true),
            Request::Backtest(_) => BacktestEvent::columns(),
        };
        let midnight_ns = opening.midnight_ns.unwrap_or_default();
        Ok(Prepared { recipe, opening, columns, midnight_ns })
    }
}

impl Prepared {
    /// Reads the input, and gives the rows to a sink. Returns the sink and the report.
    pub(crate) fn read<S: Sink>(
        self,
        sink: S,
        mut written: impl FnMut(&mut S) -> Result<(), TableError>,
    ) -> Result<(S, Report), ReadError> {
        let Self { recipe, opening, midnight_ns, .. } = self;
        let options = &recipe.table_options;
        let mut notes = Vec::new();
        let (session, mut filter, sink) = match recipe.request {
            Request::Table(table) => {
                let broken = match table {
                    Table::Trades | Table::Bars => opening.breaks(|_| ())?,
                    _ => None,
                };
                let bounds = opening.bounds;
                let mut tables = Tables::new(options);
                tables.add(table, sink, options, broken.as_ref());
                let session = opening.run(&mut tables, |_| ())?;
                for (_, sink) in tables.sinks() {
                    written(sink)?;
                }
                if table.needs_orders() && !session.engine.has_orders() {
                    return Err(ReadError::Choice(format!(
                        "{}: {table} needs orders, and the feed shows price levels only: use bbo() \
                         or depth()",
                        session.name
                    )));
                }
                if !table.is_recorded(&session.report) {
                    return Err(ReadError::Choice(format!(
                        "{}: the plant did not publish {table}: run it with --records all",
                        session.name
                    )));
                }
                // An error of the sink is returned below.
                let _ = tables.finish(&session, bounds);
                let filter = std::mem::replace(&mut tables.filter, SymbolFilter::new(&[]));
                let mut sinks = tables.into_sinks();
                (session, filter, sinks.remove(0).1)
            }
            Request::Stats => {
                let (mut sink, mut filter) = (sink, SymbolFilter::new(&options.symbols));
                let mut statistics = DayStatistics::new(Clock::calibrate());
                let session = opening.run(&mut statistics, |_| ())?;
                let statistics = statistics.finish();
                let _ =
                    stats_rows(&session.engine, &statistics, &mut filter, usize::MAX, &mut sink);
                (session, filter, sink)
            }
            Request::Book(part, levels) => {
                let mut sink = sink;
                let session = opening.run(&mut (), |_| ())?;
                if part == Part::Orders && !session.engine.has_orders() {
                    return Err(ReadError::Choice(format!(
                        "{}: the feed shows price levels only: leave out orders=True",
                        session.name
                    )));
                }
                let stocks = expanded(&options.symbols, session.engine.directory());
                let _ = book_rows(&session.engine, &stocks, (part, true, levels), &mut sink);
                (session, SymbolFilter::new(&options.symbols), sink)
            }
            Request::Backtest(latency_ns) => {
                let mut sink = sink;
                let event = |_: &StepAt<'_>, event: &BacktestEvent| sink.row(&event.cells());
                let events = BacktestEvents::new(midnight_ns, latency_ns.unwrap_or(0), event);
                let mut steps = OrderSteps::new(&options.symbols, events);
                let from_ns = opening.bounds.0;
                let session = opening.run(&mut steps, |_| ())?;
                steps.finish(&session.engine, from_ns);
                if !session.engine.has_orders() {
                    return Err(ReadError::Choice(format!(
                        "{}: the feed shows price levels only, and a backtest needs orders: use \
                         depth()",
                        session.name
                    )));
                }
                notes = steps.visitor.times.lines(latency_ns.is_some(), "latency=\"20us\"");
                let filter = steps.filter;
                (session, filter, sink)
            }
        };
        let mut sink = sink;
        written(&mut sink)?;
        let report = report_of(&session, &mut filter, recipe.is_strict)?;
        Ok((sink, Report { notes, ..report }))
    }

    /// Reads the input on a thread, as batches of this form of prices. The thread begins with the
    /// first batch that is wanted.
    pub(crate) fn stream(self, prices: Prices, ended: Ended) -> BatchReader {
        let fields = Fields { prices, midnight_ns: self.midnight_ns };
        let schema = fields.schema(&self.columns, &[]);
        let of_thread = schema.clone();
        BatchReader::new(schema, move |to| {
            // The result of an earlier reading is not that of this one, which may end without any.
            *lock(&ended) = None;
            let columns = self.columns.clone();
            let batches = Batches::new(to, &columns, (fields, of_thread), BATCH_ROWS);
            let end = self.read(batches, |batches| batches.take_error().map_or(Ok(()), Err));
            let end = end.and_then(|(batches, report)| {
                batches.finish()?;
                Ok(report)
            });
            let line = match &end {
                // A reader that is gone has not read to the end.
                Err(ReadError::Table(TableError::Gone)) => return Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(_) => Ok(()),
            };
            *lock(&ended) = Some(end);
            line
        })
    }
}

fn report_of(
    session: &Session,
    filter: &mut SymbolFilter,
    is_strict: bool,
) -> Result<Report, ReadError> {
    let directory = session.engine.directory();
    let missing = filter.missing(directory);
    if !missing.is_empty() {
        let known: Vec<_> = directory.iter().map(|(_, symbol)| symbol).collect();
        let more = missing.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let missing = with_suggestions(&missing[..missing.len().min(LISTED)], &known) + &more;
        let up_to = if session.has_passed_the_span() { " up to the end of the span" } else { "" };
        let line = format!("{}: symbols not found{up_to}: {missing}", session.name);
        return Err(ReadError::Choice(line));
    }
    let tainted = session.engine.books().tainted();
    let tainted = tainted.filter(|(locate, _)| filter.accepts(*locate, directory)).count();
    let (is_whole, lines) = (session.report.is_whole(), lines(&session.report));
    let mut report = Report { is_whole, lines, notes: Vec::new() };
    if tainted > 0 {
        report.lines.push(format!("{tainted} books are unreliable (tainted)"));
    }
    if !report.is_whole && report.lines.is_empty() {
        report.lines.push("a part of the input is missing".to_owned());
    }
    if is_strict && (!report.is_whole || tainted > 0) {
        let line = format!("{}: {}", session.name, report.lines.join("; "));
        return Err(ReadError::Incomplete(line));
    }
    Ok(report)
}

/// The first parts of an input that are missing or damaged.
fn lines(report: &InputReport) -> Vec<String> {
    let mut lines = Vec::new();
    match report {
        InputReport::Day(report) => {
            let damage = report.damage.first().iter().take(LISTED);
            lines.extend(damage.map(ToString::to_string));
            lines.extend(report.summary.fault.as_ref().map(ToString::to_string));
        }
        InputReport::Records(recorded) => {
            lines.extend(recorded.summary.losses.iter().take(LISTED).map(ToString::to_string));
            lines.extend(recorded.fault.clone());
        }
    }
    lines
}
