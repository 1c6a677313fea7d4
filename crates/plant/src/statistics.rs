//! Statistics of a day: rates, volumes, event depth, processing time; per stock and in total.
//!
//! Definitions:
//! - **trades and volume**: executions (`E`, and `C` if printable), hidden trades (`P`) and crosses
//!   with shares (`Q`), minus broken trades (`B`). A `C` that is not printable is part of a cross.
//! - **rate**: messages per second, millisecond and microsecond, over windows with at least one
//!   message.
//! - **gap**: time from one message to the next, by the exchange's timestamps.
//! - **event depth**: distance in ticks of 0.01 from the best price of the order's own side before
//!   the message to the price of the message (the new price of a replace); 0 if the side was empty.
//! - **processing time**: from a decoded view to an updated book, between two stamps of the clock,
//!   including the cost of one stamp.

mod rate;

use core::ops::ControlFlow;
use std::collections::HashMap;

use nanotape_book::{Books, Condition, OrderStore, Outcome, PriceLevels};
use nanotape_clock::{Clock, Stamp};
use nanotape_market::{MarketEvent, Position, TradeKind, What};
use nanotape_trace::Histogram;
use nanotape_types::{BookEvent, LocateTable, MatchNumber, Price4, Side, StockLocate};
pub use rate::Rate;

use crate::{BookEngine, Observer};

/// Figures of one stock, or of all stocks.
#[derive(Clone, Debug)]
pub struct StockStatistics {
    /// Messages of the stock.
    pub messages: u64,
    /// Messages that changed the inside.
    pub inside_changes: u64,
    /// Trades by the volume rule, minus broken trades.
    pub trades: i64,
    /// Shares by the volume rule, minus broken trades.
    pub volume_shares: i64,
    /// Messages per second.
    pub per_second: Rate,
    /// Messages per millisecond.
    pub per_millisecond: Rate,
    /// Messages per microsecond.
    pub per_microsecond: Rate,
    /// Nanoseconds between messages.
    pub gap_nanos: Histogram,
    /// Nanoseconds to apply a message.
    pub processing_nanos: Histogram,
    /// Ticks from the inside.
    pub event_depth_ticks: Histogram,
    /// Nanoseconds with the best bid above the best offer.
    pub crossed_nanos: u64,
    /// Nanoseconds with the best bid equal to the best offer.
    pub locked_nanos: u64,
    last_nanos: Option<u64>,
    condition: Condition,
    condition_since: u64,
}

impl Default for StockStatistics {
    fn default() -> Self {
        Self {
            messages: 0,
            inside_changes: 0,
            trades: 0,
            volume_shares: 0,
            per_second: Rate::new(1_000_000_000),
            per_millisecond: Rate::new(1_000_000),
            per_microsecond: Rate::new(1_000),
            gap_nanos: Histogram::coarse(),
            processing_nanos: Histogram::coarse(),
            event_depth_ticks: Histogram::coarse(),
            crossed_nanos: 0,
            locked_nanos: 0,
            last_nanos: None,
            condition: Condition::Empty,
            condition_since: 0,
        }
    }
}

impl StockStatistics {
    #[inline]
    fn message(&mut self, nanos: u64, processing: u64, depth: Option<u64>, inside_changed: bool) {
        self.messages += 1;
        self.inside_changes += u64::from(inside_changed);
        for rate in [&mut self.per_second, &mut self.per_millisecond, &mut self.per_microsecond] {
            rate.message_at(nanos);
        }
        if let Some(last) = self.last_nanos.replace(nanos) {
            self.gap_nanos.record(nanos.saturating_sub(last));
        }
        self.processing_nanos.record(processing);
        if let Some(ticks) = depth {
            self.event_depth_ticks.record(ticks);
        }
    }

    fn trade(&mut self, trades: i64, shares: i64) {
        self.trades += trades;
        self.volume_shares = self.volume_shares.saturating_add(shares);
    }

    /// Sets the book's condition from `nanos` on. Returns how long it was crossed and locked
    /// before.
    fn condition(&mut self, condition: Condition, nanos: u64) -> (u64, u64) {
        let lasted = nanos.saturating_sub(self.condition_since);
        let (crossed, locked) = match self.condition {
            Condition::Crossed => (lasted, 0),
            Condition::Locked => (0, lasted),
            _ => (0, 0),
        };
        self.crossed_nanos += crossed;
        self.locked_nanos += locked;
        (self.condition, self.condition_since) = (condition, nanos);
        (crossed, locked)
    }

    fn close_rates(&mut self) {
        self.per_second.close();
        self.per_millisecond.close();
        self.per_microsecond.close();
    }
}

/// Collects the statistics of a day, as an observer.
#[derive(Debug)]
pub struct DayStatistics {
    clock: Clock,
    total: StockStatistics,
    stocks: LocateTable<Option<Box<StockStatistics>>>,
    /// Stock and shares of each counted trade, for when it is broken.
    counted: HashMap<MatchNumber, (StockLocate, u32)>,
    /// Between `before` and `after` of one message.
    began: Stamp,
    depth: Option<u64>,
}

impl DayStatistics {
    /// Empty statistics; processing times are from `clock`.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            total: StockStatistics {
                processing_nanos: Histogram::fine(),
                ..StockStatistics::default()
            },
            stocks: LocateTable::filled(None),
            counted: HashMap::new(),
            began: clock.stamp(),
            depth: None,
        }
    }

    /// Closes windows and conditions at the last message. Call once after the run.
    pub fn finish(&mut self) {
        let end = self.total.last_nanos.unwrap_or(0);
        self.total.close_rates();
        for stock in self.stocks.iter_mut().filter_map(|(_, stock)| stock.as_mut()) {
            let (crossed, locked) = stock.condition(Condition::Empty, end);
            self.total.crossed_nanos += crossed;
            self.total.locked_nanos += locked;
            stock.close_rates();
        }
    }

    /// All stocks together, with messages about no stock. Times crossed and locked are sums over
    /// stocks.
    pub fn total(&self) -> &StockStatistics {
        &self.total
    }

    /// The stocks that had messages.
    pub fn stocks(&self) -> impl Iterator<Item = (StockLocate, &StockStatistics)> {
        self.stocks.iter().filter_map(|(locate, stock)| Some((locate, stock.as_deref()?)))
    }

    /// The clock of the processing times.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    fn stock(&mut self, locate: StockLocate) -> &mut StockStatistics {
        self.stocks[locate].get_or_insert_default()
    }

    fn trade(&mut self, locate: StockLocate, trades: i64, shares: i64) {
        self.total.trade(trades, shares);
        self.stock(locate).trade(trades, shares);
    }

    fn breakable_trade(&mut self, locate: StockLocate, number: MatchNumber, shares: u32) {
        self.counted.insert(number, (locate, shares));
        self.trade(locate, 1, i64::from(shares));
    }

    /// Applies the volume rule of the specification.
    fn trades(&mut self, event: &MarketEvent) {
        let locate = event.instrument;
        match event.what {
            What::Execution(execution) if execution.is_printed => {
                self.breakable_trade(locate, execution.match_number, execution.shares.get());
            }
            What::Trade(trade) => match trade.kind {
                TradeKind::Hidden => {
                    let shares = u32::try_from(trade.shares.get()).unwrap_or(u32::MAX);
                    self.breakable_trade(locate, trade.match_number, shares);
                }
                TradeKind::Auction if trade.shares.get() == 0 => {}
                TradeKind::Auction => {
                    let shares = i64::try_from(trade.shares.get()).unwrap_or(i64::MAX);
                    self.trade(locate, 1, shares);
                }
            },
            What::TradeBroken(match_number) => {
                if let Some((locate, shares)) = self.counted.remove(&match_number) {
                    self.trade(locate, -1, -i64::from(shares));
                }
            }
            _ => {}
        }
    }
}

impl<L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for DayStatistics {
    fn begin(&mut self, engine: &BookEngine<Books<L, S>>, nanos: u64) {
        for (locate, stock) in self.stocks.iter_mut() {
            let condition = engine.books().book(locate).inside().condition();
            if matches!(condition, Condition::Crossed | Condition::Locked) {
                stock.get_or_insert_default().condition(condition, nanos);
            }
        }
    }

    #[inline]
    fn before(&mut self, engine: &BookEngine<Books<L, S>>, _: Position, event: &MarketEvent) {
        self.depth = event_depth(engine.books(), event);
        self.began = self.clock.stamp();
    }

    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let processing = self.clock.nanos_between(self.began, self.clock.stamp());
        let Some(time) = event.time else {
            self.total.messages += 1;
            return ControlFlow::Continue(());
        };
        let inside_changed = outcome.is_some_and(|outcome| outcome.inside_changed);
        let (nanos, depth) = (time.get(), self.depth);
        self.total.message(nanos, processing, depth, inside_changed);
        let locate = outcome.map_or(event.instrument, |outcome| outcome.stock_locate);
        if outcome.is_some() || locate.get() != 0 {
            self.stock(locate).message(nanos, processing, depth, inside_changed);
            if inside_changed {
                let condition = engine.books().book(locate).inside().condition();
                let (crossed, locked) = self.stock(locate).condition(condition, nanos);
                self.total.crossed_nanos += crossed;
                self.total.locked_nanos += locked;
            }
        }
        self.trades(event);
        ControlFlow::Continue(())
    }
}

/// Ticks from the best price of the order's own side, in the book before the message.
fn event_depth<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    event: &MarketEvent,
) -> Option<u64> {
    let (locate, side, price) = match event.book_event()? {
        BookEvent::Add { stock_locate, side, price, .. } => (stock_locate, side, price),
        BookEvent::Replace { original, price, .. } => {
            let order = books.order(original)?;
            (order.stock_locate, order.side, price)
        }
        BookEvent::Execute { reference, .. }
        | BookEvent::Cancel { reference, .. }
        | BookEvent::Delete { reference, .. } => {
            let order = books.order(reference)?;
            (order.stock_locate, order.side, order.price)
        }
    };
    Some(ticks_from_best(books, locate, side, price))
}

fn ticks_from_best<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    locate: StockLocate,
    side: Side,
    price: Price4,
) -> u64 {
    /// Price units in a tick of 0.01.
    const TICK: u64 = 100;
    let Some(best) = books.book(locate).best(side) else { return 0 };
    (u64::from(best.price.get().abs_diff(price.get())) + TICK / 2) / TICK
}
