//! The counts that draw a day: kinds of events by stock, the level of the book at which they act,
//! messages in time at four scales, and changes of the inside by themselves.
//!
//! Definitions:
//! - **event**: what a message does. A message of some exchanges is several events.
//! - **event depth**: the number of price levels of the order's own side, before the event, that
//!   are better than the price of the event (the new price of a replace). 0 is the inside, or a
//!   price that is better than it.
//! - **inside change**: a message that changes the price or the shares of the best bid or offer.
//!
//! Bounds: one entry for each second of four days and each stock, and the messages of three
//! seconds and one minute by time. Nothing grows with the number of messages.

mod arrivals;
mod gaps;

use core::ops::ControlFlow;

pub use arrivals::{Arrivals, DAY_SECONDS, Scale, day_scale};
pub use gaps::{GapBin, Gaps};
use nanotape_book::{DefaultBooks, Outcome};
use nanotape_engine::{BookEngine, DayFigures, DayStatistics, Observer, place_of};
use nanotape_market::{LevelChange, MarketEvent, Modified, Position, What};
use nanotape_types::{BookEvent, LocateTable, StockLocate, Symbol};

use crate::SymbolFilter;

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// An order entered.
    Add,
    /// Displayed shares were executed.
    Execution,
    /// Shares of an order, or all of it, were cancelled.
    Cancel,
    /// An order got another price or size.
    Replace,
    /// A price level got other shares, at an exchange that does not show orders.
    Level,
    /// A trade that takes no displayed shares: hidden, or in an auction.
    Trade,
    /// Definitions, trading states, auctions, and what no book can take.
    Other,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Add,
        Self::Execution,
        Self::Cancel,
        Self::Replace,
        Self::Level,
        Self::Trade,
        Self::Other,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Execution => "execution",
            Self::Cancel => "cancel",
            Self::Replace => "replace",
            Self::Level => "level",
            Self::Trade => "trade",
            Self::Other => "other",
        }
    }

    /// That of an event.
    #[inline]
    pub fn of(what: &What) -> Self {
        match what {
            What::Order(BookEvent::Add { .. }) => Self::Add,
            What::Order(BookEvent::Execute { .. }) | What::Execution(_) => Self::Execution,
            What::Order(BookEvent::Cancel { .. } | BookEvent::Delete { .. }) => Self::Cancel,
            What::Order(BookEvent::Replace { .. }) | What::OrderModified(_) => Self::Replace,
            What::Level(_) => Self::Level,
            What::Trade(_) => Self::Trade,
            What::TradeBroken(_)
            | What::Definition(_)
            | What::Status(_)
            | What::AuctionImbalance(_)
            | What::BookCleared
            | What::UnknownSide
            | What::PriceOutOfRange(_)
            | What::Other => Self::Other,
        }
    }
}

/// Events by their kind, in the order of [`EventKind::ALL`].
pub type EventCounts = [u64; EventKind::ALL.len()];

/// The depth from which events are counted together.
pub const DEEPEST: usize = 100;

/// Collects the counts of a day, beside its statistics, as an observer.
#[derive(Debug)]
pub struct DayPicture {
    statistics: DayStatistics,
    /// The selected stocks.
    filter: SymbolFilter,
    counts: PictureCounts,
    last_changes: LocateTable<Option<u64>>,
    last_change: Option<u64>,
    /// The message of the last event, and whether it is among the changes of the inside.
    last: Option<(u64, StockLocate)>,
    has_changed: bool,
    /// Between `before` and `after` of one event.
    depth: Option<usize>,
}

/// The counts of a day, of the selected stocks.
#[derive(Debug)]
pub struct PictureCounts {
    /// Messages, each once.
    pub messages: u64,
    /// Those of them without a time, or at a time after the fourth day.
    pub untimed: u64,
    /// Events of each stock.
    pub events: LocateTable<EventCounts>,
    /// By depth, the last entry from [`DEEPEST`] on: events that act on a side of a book.
    pub depths: Vec<EventCounts>,
    /// Messages in time.
    pub arrivals: Arrivals,
    /// Changes of the inside by the second of the day.
    pub change_seconds: Vec<u64>,
    /// Times between inside changes of the same stock.
    pub stock_gaps: Gaps,
    /// Times between inside changes of any stock.
    pub gaps: Gaps,
}

/// A day after its reading.
#[derive(Debug)]
pub struct Picture {
    /// The statistics, of all stocks.
    pub figures: DayFigures,
    /// The counts, of the selected stocks.
    pub counts: PictureCounts,
    /// The selected stocks.
    pub filter: SymbolFilter,
}

impl DayPicture {
    /// Nothing yet. `symbols`: the selected stocks, empty for all of them.
    pub fn new(statistics: DayStatistics, symbols: &[Symbol]) -> Self {
        Self {
            statistics,
            filter: SymbolFilter::new(symbols),
            counts: PictureCounts {
                messages: 0,
                untimed: 0,
                events: LocateTable::filled(EventCounts::default()),
                depths: vec![EventCounts::default(); DEEPEST + 1],
                arrivals: Arrivals::default(),
                change_seconds: Vec::new(),
                stock_gaps: Gaps::default(),
                gaps: Gaps::default(),
            },
            last_changes: LocateTable::filled(None),
            last_change: None,
            last: None,
            has_changed: false,
            depth: None,
        }
    }

    /// The counts, after the last message.
    pub fn finish(self) -> Picture {
        let mut counts = self.counts;
        counts.arrivals.finish();
        Picture { figures: self.statistics.finish(), counts, filter: self.filter }
    }

    /// Counts a change of the inside of a stock.
    fn change(&mut self, locate: StockLocate, nanos: u64) {
        let counts = &mut self.counts;
        arrivals::count_second(&mut counts.change_seconds, nanos);
        if let Some(before) = self.last_changes[locate].replace(nanos) {
            counts.stock_gaps.record(nanos.saturating_sub(before));
        }
        if let Some(before) = self.last_change.replace(nanos) {
            counts.gaps.record(nanos.saturating_sub(before));
        }
    }
}

impl Observer<DefaultBooks> for DayPicture {
    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, nanos: u64) {
        self.statistics.begin(engine, nanos);
    }

    #[inline]
    fn before(&mut self, engine: &BookEngine<DefaultBooks>, at: Position, event: &MarketEvent) {
        self.depth = depth_of(engine.books(), event);
        // Last, so that its times of processing are those of a run without pictures.
        self.statistics.before(engine, at, event);
    }

    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.statistics.after(engine, at, event, outcome)?;
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        if !self.filter.accepts(locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        let kind = EventKind::of(&event.what) as usize;
        self.counts.events[locate][kind] += 1;
        if let Some(depth) = self.depth {
            self.counts.depths[depth][kind] += 1;
        }
        let nanos = event.time.map(|time| engine.time_of_day_ns(time));
        let nanos = nanos.filter(|nanos| arrivals::is_in_time(*nanos));
        if self.last.replace((at.number, locate)) != Some((at.number, locate)) {
            self.has_changed = false;
            self.counts.messages += 1;
            match nanos {
                Some(nanos) => self.counts.arrivals.message(nanos),
                None => self.counts.untimed += 1,
            }
        }
        if let Some(nanos) = nanos
            && outcome.is_some_and(|outcome| outcome.inside_changed)
            && !self.has_changed
        {
            self.has_changed = true;
            self.change(locate, nanos);
        }
        ControlFlow::Continue(())
    }
}

/// The event depth, at most [`DEEPEST`], in the books before the event; `None` for an event that
/// acts on no side of a book.
#[inline]
fn depth_of(books: &DefaultBooks, event: &MarketEvent) -> Option<usize> {
    let (locate, side, price) = match event.what {
        What::Level(LevelChange { side, price, .. }) => (event.stock_locate, side, price),
        What::OrderModified(Modified { reference, price, .. }) => {
            let order = books.order(reference)?;
            (order.stock_locate, order.side, price)
        }
        _ => place_of(books, event)?,
    };
    Some(books.book(locate).better_levels(side, price).min(DEEPEST))
}
