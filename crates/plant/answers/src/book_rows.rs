//! Rows of books: one for each change, or with a period one for each multiple of it.
//!
//! A row of a period is the state after the last message with a time not later than the row's. Its
//! times are multiples of the period since midnight.

use std::{fmt, ops::ControlFlow};

use nanotape_book::{DefaultBook, DefaultBooks, Outcome, Quote};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{MarketEvent, Position};
use nanotape_types::{LocateTable, NanosSinceMidnight, Side, StockLocate, Symbol, rows::StockName};

use crate::{Doubts, Reason, Session, SymbolFilter, doubts::keep_doubts, symbol_or_locate};

/// The content of a row.
#[derive(Debug)]
pub struct BookRow<'a> {
    /// The stock.
    pub stock: StockName,
    /// Its book.
    pub book: DefaultBook<'a>,
    /// Whether its levels have a number of orders.
    pub has_orders: bool,
    /// The number of the last message of the book; `None` if it was before the span.
    pub message: Option<u64>,
    /// The time of the row, in ns since the exchange's midnight; `None` before the first time.
    pub ts_ns: Option<u64>,
    /// When the message was received, in ns since the UNIX epoch; `None` if that is unknown, and in
    /// a periodic row.
    pub ts_recv_ns: Option<u64>,
    /// Why the row may be wrong.
    pub reason: Option<Reason>,
}

/// `09:30:00.000000001 AAPL  100 x 189.9500 | 189.9600 x 200`: the best prices; a side without
/// orders is empty.
impl fmt::Display for BookRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.ts_ns.and_then(NanosSinceMidnight::new).unwrap_or_default();
        write!(f, "{time} {:<8}", self.stock)?;
        let (inside, scale) = (self.book.inside(), self.book.price_scale());
        if let Some(Quote { price, shares }) = inside.side(Side::Buy) {
            write!(f, " {} x {}", shares.get(), scale.shown(price))?;
        }
        f.write_str(" |")?;
        match inside.side(Side::Sell) {
            Some(Quote { price, shares }) => {
                write!(f, " {} x {}", scale.shown(price), shares.get())
            }
            None => Ok(()),
        }
    }
}

/// Takes rows of books.
pub trait BookVisitor {
    /// Whether a message with this outcome gets a row, without a period.
    fn is_row(&self, outcome: &Outcome) -> bool {
        outcome.inside_changed
    }

    /// Takes a row. `Break` ends the reading.
    fn visit(&mut self, row: &BookRow<'_>) -> ControlFlow<()>;
}

/// A function gets a row for each change of a best price or its size.
impl<F: FnMut(&BookRow<'_>) -> ControlFlow<()>> BookVisitor for F {
    fn visit(&mut self, row: &BookRow<'_>) -> ControlFlow<()> {
        self(row)
    }
}

/// Gives rows of the selected stocks to a visitor, as an observer.
#[derive(Debug)]
pub struct BookRows<V> {
    /// The selected stocks.
    pub filter: SymbolFilter,
    /// The visitor.
    pub visitor: V,
    grid: Option<Grid>,
    doubts: Doubts,
    /// Whether the visitor ended the reading.
    is_over: bool,
}

/// The times of periodic rows, and the stocks that have them.
#[derive(Debug)]
struct Grid {
    period_ns: u64,
    /// The time of the next rows; `None` before the first message.
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

impl<V: BookVisitor> BookRows<V> {
    /// Rows of these stocks; of all if there are none.
    pub fn new(symbols: &[Symbol], visitor: V) -> Self {
        let (filter, doubts) = (SymbolFilter::new(symbols), Doubts::default());
        Self { filter, visitor, grid: None, doubts, is_over: false }
    }

    /// Rows at each multiple of a period since midnight, instead of one for each change.
    #[must_use]
    pub fn every(mut self, period_ns: Option<u64>) -> Self {
        self.grid = period_ns.map(|period_ns| Grid {
            period_ns: period_ns.max(1),
            next_ns: None,
            last_ns: 0,
            stocks: Vec::new(),
            messages: LocateTable::filled(0),
        });
        self
    }

    /// Gives the rows after the last message, up to the end of the span if the input goes on after
    /// it. `bounds`: those of the [opening](crate::Opening).
    pub fn finish(&mut self, session: &Session, (from_ns, to_ns): (u64, u64)) -> ControlFlow<()> {
        let has_passed = session.has_passed_the_span();
        if has_passed && self.grid.as_ref().is_some_and(|grid| grid.next_ns.is_none()) {
            // The span has no message: the books are those of its beginning.
            self.begin(&session.engine, from_ns);
        }
        let Some(grid) = &self.grid else { return ControlFlow::Continue(()) };
        let end_ns = if has_passed { to_ns } else { grid.last_ns.saturating_add(1) };
        self.periods_before(&session.engine, end_ns)
    }

    /// Gives the rows of all times before this one.
    #[cold]
    fn periods_before(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        end_ns: u64,
    ) -> ControlFlow<()> {
        let Self { visitor, grid: Some(grid), doubts, .. } = self else {
            return ControlFlow::Continue(());
        };
        while let Some(nanos) = grid.next_ns.filter(|&next| next < end_ns) {
            for &locate in &grid.stocks {
                visitor.visit(&BookRow {
                    stock: symbol_or_locate(engine.directory(), locate),
                    book: engine.books().book(locate),
                    has_orders: engine.has_orders(),
                    message: Some(grid.messages[locate]).filter(|&number| number != BEFORE),
                    ts_ns: Some(nanos),
                    ts_recv_ns: None,
                    reason: doubts.reason(locate),
                })?;
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

impl<V: BookVisitor> Observer<DefaultBooks> for BookRows<V> {
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
        let time_ns = engine.time_of_day_ns(time);
        grid.last_ns = time_ns;
        let next_ns = match grid.next_ns {
            Some(next_ns) => next_ns,
            None => *grid.next_ns.insert(grid.first_at(time_ns)),
        };
        if next_ns < time_ns {
            self.is_over = self.periods_before(engine, time_ns).is_break();
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
        if self.is_over {
            return ControlFlow::Break(());
        }
        self.doubts.outcome(outcome);
        let Some(outcome) = outcome else { return ControlFlow::Continue(()) };
        let locate = outcome.stock_locate;
        if self.grid.is_none() && !self.visitor.is_row(&outcome)
            || !self.filter.accepts(locate, engine.directory())
        {
            return ControlFlow::Continue(());
        }
        if let Some(grid) = &mut self.grid {
            grid.note(locate, at.number);
            return ControlFlow::Continue(());
        }
        // Between the parts of a change the book may look crossed.
        if !event.is_last {
            return ControlFlow::Continue(());
        }
        self.visitor.visit(&BookRow {
            stock: symbol_or_locate(engine.directory(), locate),
            book: engine.books().book(locate),
            has_orders: engine.has_orders(),
            message: Some(at.number),
            ts_ns: event.time.map(|time| engine.time_of_day_ns(time)),
            ts_recv_ns: self.doubts.ts_recv_ns,
            reason: self.doubts.reason(locate),
        })
    }

    keep_doubts!();
}
