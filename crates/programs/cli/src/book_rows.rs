//! Rows of books: one for each change, or with `--every` one for each period.
//!
//! A row of a period is the state after the last message with a time not later than the row's, as
//! in `nanotape book --at`. Its times are multiples of the period since midnight.

use std::{io, ops::ControlFlow, time::Duration};

use clap::{Args, ValueEnum};
use nanotape_answers::{Session, StockName, SymbolFilter, symbol_or_locate};
use nanotape_arguments::Times;
use nanotape_book::{DefaultBook, DefaultBooks, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{MarketEvent, Position};
use nanotape_types::{LocateTable, Side, StockLocate};

use crate::{
    rows::Rows,
    values::{duration, nanos},
};

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EveryArguments {
    /// Print a row for each stock and each multiple of PERIOD since midnight (100ms, 1s, 5m, 1h),
    /// instead of one for each change: the state after the last message up to that time
    #[arg(long, value_name = "PERIOD", value_parser = period)]
    every: Option<Duration>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct WithArguments {
    /// Add columns
    #[arg(long, value_name = "COLUMNS", value_enum, value_delimiter = ',')]
    with: Vec<More>,
}

/// Columns that are added on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum More {
    /// The number of the message, for joins with the rows of other commands
    #[value(alias = "sequence")]
    Message,
    /// The number of orders at each price
    Orders,
}

impl WithArguments {
    pub(crate) fn has_message(&self) -> bool {
        self.with.contains(&More::Message)
    }

    pub(crate) fn has_orders(&self) -> bool {
        self.with.contains(&More::Orders)
    }
}

/// Parses a period that is not shorter than a microsecond.
fn period(text: &str) -> Result<Duration, String> {
    let period = duration(text)?;
    let is_long_enough = period >= Duration::from_micros(1);
    is_long_enough.then_some(period).ok_or_else(|| "expected at least 1us".to_owned())
}

/// The cells of one kind of row.
pub(crate) trait Cells {
    /// Whether a message with this outcome gets a row, without `--every`.
    fn is_row(&self, outcome: &Outcome) -> bool;

    /// Appends all cells of a row.
    fn write(&self, rows: &mut Rows, row: &BookRow<'_>);
}

/// The content of a row.
pub(crate) struct BookRow<'a> {
    pub(crate) stock: StockName,
    pub(crate) book: DefaultBook<'a>,
    /// The number of the last message of the book; None if it was before the span.
    pub(crate) message: Option<u64>,
    pub(crate) nanos: Option<u64>,
    pub(crate) times: Times,
}

/// Writes rows of the selected stocks, as an observer.
pub(crate) struct BookRows<C> {
    pub(crate) filter: SymbolFilter,
    rows: Rows,
    cells: C,
    times: Times,
    grid: Option<Grid>,
}

/// The times of periodic rows, and the stocks that have them.
struct Grid {
    period_ns: u64,
    /// The time of the next rows; None before the first message.
    next_ns: Option<u64>,
    /// The time of the last message.
    last_ns: u64,
    /// In the order of their first messages.
    stocks: Vec<StockLocate>,
    /// The number of each stock's last message; 0 for a stock without rows.
    messages: LocateTable<u64>,
}

/// For the number of a message before the span, which is unknown.
const BEFORE: u64 = u64::MAX;

impl<C: Cells> BookRows<C> {
    pub(crate) fn new(
        rows: Rows,
        cells: C,
        filter: SymbolFilter,
        times: Times,
        every: EveryArguments,
    ) -> Self {
        let grid = every.every.map(|period| Grid {
            period_ns: nanos(period),
            next_ns: None,
            last_ns: 0,
            stocks: Vec::new(),
            messages: LocateTable::filled(0),
        });
        Self { filter, rows, cells, times, grid }
    }

    /// Returns the error that stopped the rows, if there is one.
    pub(crate) fn require_written(&mut self) -> io::Result<()> {
        self.rows.require_written()
    }

    /// Writes the rows after the last message, up to the end of the span if the input goes on after
    /// it, and completes the output.
    pub(crate) fn finish(
        mut self,
        session: &Session,
        (from_ns, to_ns): (u64, u64),
    ) -> io::Result<()> {
        let has_passed = session.has_passed_the_span();
        if has_passed && self.grid.as_ref().is_some_and(|grid| grid.next_ns.is_none()) {
            // The span has no message: the books are those of its beginning.
            self.begin(&session.engine, from_ns);
        }
        if let Some(grid) = &self.grid {
            let end_ns = if has_passed { to_ns } else { grid.last_ns.saturating_add(1) };
            // An error of the output is kept, and returned at its end.
            let _ = self.periods_before(&session.engine, end_ns);
        }
        self.rows.finish()
    }

    /// Writes the rows of all times before this one.
    #[cold]
    fn periods_before(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        end_ns: u64,
    ) -> ControlFlow<()> {
        let Self { rows, cells, times, grid: Some(grid), .. } = self else {
            return ControlFlow::Continue(());
        };
        while let Some(nanos) = grid.next_ns.filter(|&next| next < end_ns) {
            for &locate in &grid.stocks {
                let row = BookRow {
                    stock: symbol_or_locate(engine.directory(), locate),
                    book: engine.books().book(locate),
                    message: Some(grid.messages[locate]).filter(|&number| number != BEFORE),
                    nanos: Some(nanos),
                    times: *times,
                };
                cells.write(rows, &row);
                rows.end_row_or_stop()?;
            }
            grid.next_ns = nanos.checked_add(grid.period_ns);
        }
        ControlFlow::Continue(())
    }
}

impl Grid {
    /// The first time of a row at or after this one.
    fn first_at(&self, nanos: u64) -> u64 {
        nanos.div_ceil(self.period_ns).saturating_mul(self.period_ns)
    }

    /// Notes a message of a stock's book.
    fn note(&mut self, locate: StockLocate, message: u64) {
        if std::mem::replace(&mut self.messages[locate], message) == 0 {
            self.stocks.push(locate);
        }
    }
}

impl<C: Cells> Observer<DefaultBooks> for BookRows<C> {
    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, nanos: u64) {
        let Self { filter, grid: Some(grid), .. } = self else { return };
        grid.next_ns = Some(grid.first_at(nanos));
        for (locate, _) in engine.directory().iter() {
            let book = engine.books().book(locate);
            let is_empty = Side::BOTH.iter().all(|&side| book.best(side).is_none());
            if !is_empty && filter.accepts(locate, engine.directory()) {
                grid.note(locate, BEFORE);
            }
        }
    }

    #[inline]
    fn before(&mut self, engine: &BookEngine<DefaultBooks>, _: Position, event: &MarketEvent) {
        let Some(grid) = &mut self.grid else { return };
        let Some(time) = event.time else { return };
        grid.last_ns = time.get();
        let next_ns = match grid.next_ns {
            Some(next_ns) => next_ns,
            None => *grid.next_ns.insert(grid.first_at(time.get())),
        };
        if next_ns < time.get() {
            // An error of the output is kept, and stops the run after the message.
            let _ = self.periods_before(engine, time.get());
        }
    }

    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let Some(outcome) = outcome else { return ControlFlow::Continue(()) };
        let locate = outcome.stock_locate;
        if self.grid.is_none() && !self.cells.is_row(&outcome)
            || !self.filter.accepts(locate, engine.directory())
        {
            return ControlFlow::Continue(());
        }
        if let Some(grid) = &mut self.grid {
            grid.note(locate, at.number);
            return self.rows.flow();
        }
        let row = BookRow {
            stock: symbol_or_locate(engine.directory(), locate),
            book: engine.books().book(locate),
            message: Some(at.number),
            nanos: event.time.map(|time| time.get()),
            times: self.times,
        };
        self.cells.write(&mut self.rows, &row);
        self.rows.end_row_or_stop()
    }
}
