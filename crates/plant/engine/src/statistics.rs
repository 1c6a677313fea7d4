//! Statistics of a day: rates, volumes, event depth, price levels, processing time; per stock and
//! in total.
//!
//! Definitions:
//! - **trades and volume**: executions (`E`, and `C` if printable), hidden trades (`P`) and crosses
//!   with shares (`Q`), minus broken trades (`B`). A `C` that is not printable is part of a cross.
//!   A break is valid for every trade of its match number, before it and after it.
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
mod breakable;
mod counting;
mod level_counts;
mod stock;
mod worker;

use core::ops::ControlFlow;

pub use activity::Activity;
use breakable::BreakableTrades;
use counting::Counting;
pub use level_counts::LevelCounts;
use nanotape_book::{Books, Condition, OrderStore, Outcome, PriceLevels};
use nanotape_clock::{Clock, Stamp};
use nanotape_market::{MarketEvent, Position, What};
use nanotape_types::{BookEvent, LocateTable, MatchNumber, Price, Side, StockLocate};
pub use stock::StockStatistics;
use stock::{Message, NONE};
use worker::Worker;

use crate::{BookEngine, Observer};

/// Precision of the histograms of times and depths of single stocks, of which there are tens of
/// thousands: values below 128 are exact, others at most 1.6% too high.
const PRECISION_BITS: u32 = 7;

/// Messages that are counted together. Between the stamps of two messages there is then little
/// work, and counting is not interrupted by stamps, which wait for everything before them.
const KEPT: usize = 4096;

/// Collects the statistics of a day, as an observer.
#[derive(Debug)]
pub struct DayStatistics {
    clock: Clock,
    /// The latest messages, which are not counted yet.
    kept: Vec<Message>,
    worker: Worker,
    /// Trades and their shares by the volume rule, minus broken trades, of stocks with any.
    traded: LocateTable<Option<(i64, i64)>>,
    /// The trades that can be broken.
    breakable: BreakableTrades,
    /// The number of the message that is kept last.
    last_number: u64,
    /// Between `before` and `after` of one message.
    began: Stamp,
    depth: Option<u32>,
}

/// The statistics of a day.
#[derive(Debug)]
pub struct DayFigures {
    clock: Clock,
    counting: Counting,
}

impl DayFigures {
    /// All stocks together, with messages about no stock. Times crossed and locked are sums over
    /// stocks. Price levels are those of the stock of each message.
    pub fn total(&self) -> &StockStatistics {
        &self.counting.total
    }

    /// The stocks that had messages.
    pub fn stocks(&self) -> impl Iterator<Item = (StockLocate, &StockStatistics)> {
        self.counting.stocks()
    }

    /// The clock of the processing times.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl DayStatistics {
    /// Empty statistics; processing times are from `clock`.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            kept: Vec::with_capacity(KEPT),
            worker: Worker::start(),
            traded: LocateTable::filled(None),
            breakable: BreakableTrades::default(),
            last_number: 0,
            began: clock.stamp(),
            depth: None,
        }
    }

    /// Closes windows and conditions at the last message.
    pub fn finish(mut self) -> DayFigures {
        self.count();
        let mut counting = self.worker.end();
        counting.finish(&self.traded);
        DayFigures { clock: self.clock, counting }
    }

    #[inline(never)]
    fn count(&mut self) {
        self.worker.messages(&mut self.kept);
    }

    /// Keeps a message until it is counted. A message can be several events of its stock.
    #[inline]
    fn keep(&mut self, number: u64, message: Message) {
        let is_same = std::mem::replace(&mut self.last_number, number) == number;
        match self.kept.last_mut() {
            Some(last) if is_same && last.locate == message.locate => last.join(message),
            _ => {
                if self.kept.len() == KEPT {
                    self.count();
                }
                self.kept.push(message);
            }
        }
    }

    /// Trades of these numbers do not count: breaks that are not among the messages.
    #[must_use]
    pub fn without(mut self, broken: impl IntoIterator<Item = MatchNumber>) -> Self {
        for number in broken {
            self.breakable.break_all(number, |_, _| {});
        }
        self
    }

    /// Applies the volume rule of the specification.
    fn trades(&mut self, locate: StockLocate, event: &MarketEvent) {
        let (number, shares) = match event.what {
            What::Execution(execution) if execution.is_printed => {
                (execution.match_number, u64::from(execution.shares.get()))
            }
            What::Trade(trade) if trade.shares.get() > 0 => {
                (trade.match_number, trade.shares.get())
            }
            What::TradeBroken(number) => {
                let Self { breakable, traded, .. } = self;
                return breakable.break_all(number, |locate, shares| {
                    add(traded, locate, -1, -signed(shares));
                });
            }
            _ => return,
        };
        if self.breakable.insert(number, locate, shares) {
            add(&mut self.traded, locate, 1, signed(shares));
        }
    }
}

/// Adds to the trades and shares of a stock.
fn add(
    traded: &mut LocateTable<Option<(i64, i64)>>,
    locate: StockLocate,
    trades: i64,
    shares: i64,
) {
    let (all_trades, all_shares) = traded[locate].get_or_insert_default();
    *all_trades += trades;
    *all_shares = all_shares.saturating_add(shares);
}

fn signed(shares: u64) -> i64 {
    i64::try_from(shares).unwrap_or(i64::MAX)
}

impl<L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for DayStatistics {
    fn begin(&mut self, engine: &BookEngine<Books<L, S>>, nanos: u64) {
        for locate in StockLocate::all() {
            let condition = engine.books().book(locate).inside().condition();
            if matches!(condition, Condition::Crossed | Condition::Locked) {
                self.worker.condition(locate, condition, nanos);
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
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let processing = self.clock.nanos_between(self.began, self.clock.stamp());
        let Some(time) = event.time else {
            self.count();
            self.worker.message_without_time();
            return ControlFlow::Continue(());
        };
        let mut message = Message {
            nanos: engine.time_of_day_ns(time),
            processing_nanos: processing,
            depth_ticks: self.depth.unwrap_or(NONE),
            levels: [NONE; 2],
            locate: event.stock_locate,
            inside: None,
        };
        if let Some(outcome) = outcome {
            let book = engine.books().book(outcome.stock_locate);
            message.levels = Side::BOTH.map(|side| book.level_count(side) as u32);
            message.locate = outcome.stock_locate;
            message.inside = outcome.inside_changed.then(|| book.inside().condition());
        }
        let locate = message.locate;
        self.keep(at.number, message);
        self.trades(locate, event);
        ControlFlow::Continue(())
    }
}

/// Ticks from the best price of the order's own side, in the book before the message.
fn event_depth<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    event: &MarketEvent,
) -> Option<u32> {
    let (locate, side, price) = place_of(books, event)?;
    Some(ticks_from_best(books, locate, side, price))
}

/// Where a message about an order acts: the stock, the side and the price of the order, with the
/// new price of a replace. From the books before the message; `None` if they lack the order, and
/// for other messages.
#[inline]
pub fn place_of<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    event: &MarketEvent,
) -> Option<(StockLocate, Side, Price)> {
    Some(match event.book_event()? {
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
    })
}

fn ticks_from_best<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    locate: StockLocate,
    side: Side,
    price: Price,
) -> u32 {
    /// Units of 0.0001 in a tick of 0.01.
    const TICK: u64 = 100;
    let Some(best) = books.book(locate).best(side) else { return 0 };
    let scale = books.price_scale();
    let units = scale.ten_thousandths(best.price).abs_diff(scale.ten_thousandths(price));
    // The greatest price has 28 bits in ticks.
    ((units + TICK / 2) / TICK) as u32
}
