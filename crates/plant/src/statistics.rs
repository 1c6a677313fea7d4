//! Statistics of a day: rates, volumes, event depth, price levels, processing time; per stock and
//! in total.
//!
//! Definitions:
//! - **trades and volume**: executions (`E`, and `C` if printable), hidden trades (`P`) and crosses
//!   with shares (`Q`), minus broken trades (`B`). A `C` that is not printable is part of a cross.
//! - **rate**: messages per second, millisecond and microsecond, over windows with at least one
//!   message.
//! - **gap**: time from one message to the next, by the exchange's timestamps.
//! - **inside changes**: rates, gaps and processing times of the messages that changed the price or
//!   the shares of the best bid or the best offer, as if there were no others.
//! - **event depth**: distance in ticks of 0.01 from the best price of the order's own side before
//!   the message to the price of the message (the new price of a replace); 0 if the side was empty.
//! - **price levels**: how many prices of a side have an order, after each message about the book
//!   of the stock: entries, executions, cancels, deletes and replaces, whether they fit or not.
//! - **processing time**: from a decoded view to an updated book, between two stamps of the clock,
//!   including the cost of one stamp.

mod activity;
mod level_counts;
mod stock;

use core::ops::ControlFlow;
use std::collections::HashMap;

pub use activity::Activity;
pub use level_counts::LevelCounts;
use nanotape_book::{Books, Condition, OrderStore, Outcome, PriceLevels};
use nanotape_clock::{Clock, Stamp};
use nanotape_market::{MarketEvent, Position, TradeKind, What};
use nanotape_trace::Histogram;
use nanotape_types::{BookEvent, LocateTable, MatchNumber, Price4, Side, StockLocate};
pub use stock::StockStatistics;
use stock::{Message, Stock};

use crate::{BookEngine, Observer};

/// Precision of the histograms of times and depths of single stocks, of which there are tens of
/// thousands: values below 128 are exact, others at most 1.6% too high.
const PRECISION_BITS: u32 = 7;

/// Collects the statistics of a day, as an observer.
#[derive(Debug)]
pub struct DayStatistics {
    clock: Clock,
    total: StockStatistics,
    stocks: LocateTable<Option<Box<Stock>>>,
    /// Stock and shares of each counted trade, for when it is broken.
    counted: HashMap<MatchNumber, (StockLocate, u32)>,
    /// Between `before` and `after` of one message.
    began: Stamp,
    depth: Option<u32>,
}

impl DayStatistics {
    /// Empty statistics; processing times are from `clock`.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            total: total(),
            stocks: LocateTable::filled(None),
            counted: HashMap::new(),
            began: clock.stamp(),
            depth: None,
        }
    }

    /// Closes windows and conditions at the last message. Call once after the run.
    pub fn finish(&mut self) {
        let end = self.total.messages.last_nanos();
        self.total.close();
        for stock in self.stocks.iter_mut().filter_map(|(_, stock)| stock.as_mut()) {
            stock.close(end);
            self.total.add(stock.figures());
        }
    }

    /// All stocks together, with messages about no stock. Times crossed and locked are sums over
    /// stocks. Price levels are those of the stock of each message.
    pub fn total(&self) -> &StockStatistics {
        &self.total
    }

    /// The stocks that had messages.
    pub fn stocks(&self) -> impl Iterator<Item = (StockLocate, &StockStatistics)> {
        self.stocks.iter().filter_map(|(locate, stock)| Some((locate, stock.as_ref()?.figures())))
    }

    /// The clock of the processing times.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    fn stock(&mut self, locate: StockLocate) -> &mut Stock {
        self.stocks[locate].get_or_insert_default()
    }

    fn trade(&mut self, locate: StockLocate, trades: i64, shares: i64) {
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
            self.total.messages.message_without_time();
            return ControlFlow::Continue(());
        };
        let mut message = Message {
            nanos: time.get(),
            processing_nanos: processing,
            depth_ticks: self.depth,
            levels: None,
            inside_changed: outcome.is_some_and(|outcome| outcome.inside_changed),
        };
        self.total.activity(&message);
        let Some(outcome) = outcome else {
            if event.instrument.get() != 0 {
                self.stock(event.instrument).message(&message);
            }
            self.trades(event);
            return ControlFlow::Continue(());
        };
        let book = engine.books().book(outcome.stock_locate);
        message.levels = Some(Side::BOTH.map(|side| book.level_count(side) as u32));
        let stock = self.stock(outcome.stock_locate);
        stock.message(&message);
        if message.inside_changed {
            stock.condition(book.inside().condition(), message.nanos);
        }
        self.trades(event);
        ControlFlow::Continue(())
    }
}

/// Empty figures of all stocks. Their processing times are as precise as those of a benchmark.
fn total() -> StockStatistics {
    let mut total = StockStatistics::new();
    total.messages.processing_nanos = Histogram::fine();
    total.inside_changes.processing_nanos = Histogram::fine();
    total
}

/// Ticks from the best price of the order's own side, in the book before the message.
fn event_depth<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    event: &MarketEvent,
) -> Option<u32> {
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
) -> u32 {
    /// Price units in a tick of 0.01.
    const TICK: u64 = 100;
    let Some(best) = books.book(locate).best(side) else { return 0 };
    // Prices have 32 bits.
    ((u64::from(best.price.get().abs_diff(price.get())) + TICK / 2) / TICK) as u32
}
