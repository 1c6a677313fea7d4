//! The best bid and offer over the rings of several plants, while they publish.
//!
//! Protocol: the insides that plants publish (bbo) are merged in the order of their receipt. A
//! stock has a quote of a venue from its first change on that was read. A venue is stale if neither
//! a message of its ring came nor its plant showed its counters for longer than a time, by the
//! clock of this machine. The times of rows are those of the exchange.

use std::{ops::ControlFlow, time::Duration};

use nanotape_book::{Inside, Quote};
use nanotape_clock::Clock;
use nanotape_plant::{
    dbn::BidAskPair,
    records::{Header, Notice, Record},
};
use nanotape_tap::{
    Delivery, Event, MergeBy, MergeStep, MergedSources, SubscribeError, Subscriber,
};
use nanotape_types::{PriceScale, Symbol};

use super::{ConsolidatedBooks, ConsolidatedRow};

/// Several rings that are read together.
#[derive(Debug)]
pub struct ConsolidatedRings {
    merged: MergedSources,
    books: RingBooks,
    stale_after_ns: u64,
    clock: Clock,
    /// For each venue, how many messages were read, and when the last one came.
    seen: Vec<(u64, u64)>,
}

/// The books, and the times of their rows.
#[derive(Debug)]
struct RingBooks {
    books: ConsolidatedBooks,
    /// The exchange's time of the last event of each venue, in ns since midnight.
    last_ns: Vec<Option<u64>>,
    /// The latest one of all.
    now_ns: u64,
    /// Stocks with a quote of each venue.
    quoted: Vec<Vec<Symbol>>,
}

impl ConsolidatedRings {
    /// Merges the subscribers of rings, which deliver bbo records.
    pub fn new(subscribers: Vec<Subscriber>, wait_silent: Duration, stale_after: Duration) -> Self {
        let clock = Clock::monotonic();
        let (venues, now_ns) = (subscribers.len(), clock.utc_ns());
        let sources = subscribers.into_iter().map(|subscriber| (subscriber, true));
        Self {
            merged: MergedSources::new(sources, MergeBy::TsRecv, wait_silent),
            books: RingBooks {
                books: ConsolidatedBooks::new(venues),
                last_ns: vec![None; venues],
                now_ns: 0,
                quoted: vec![Vec::new(); venues],
            },
            stale_after_ns: stale_after.as_nanos() as u64,
            clock,
            seen: vec![(0, now_ns); venues],
        }
    }

    /// The sources, in the order of the venues.
    pub fn merged(&self) -> &MergedSources {
        &self.merged
    }

    /// Reads what is there, and calls `visit` with the rows that follow. An error has the number of
    /// its venue.
    pub fn step(
        &mut self,
        mut visit: impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> Result<MergeStep, (usize, Box<SubscribeError>)> {
        let books = &mut self.books;
        let step = self.merged.step(|venue, event| books.apply(venue, event, &mut visit))?;
        if step != MergeStep::Stopped && self.check_stale(&mut visit).is_break() {
            return Ok(MergeStep::Stopped);
        }
        Ok(step)
    }

    fn check_stale(
        &mut self,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let now_ns = self.clock.utc_ns();
        for (venue, source) in self.merged.sources().iter().enumerate() {
            let (messages, seen_ns) = &mut self.seen[venue];
            if source.messages() != *messages {
                (*messages, *seen_ns) = (source.messages(), now_ns);
            }
            let is_silent = |since_ns: u64| now_ns.saturating_sub(since_ns) > self.stale_after_ns;
            if self.books.books.stale()[venue].is_some() || !is_silent(*seen_ns) {
                continue;
            }
            let Some(last_ns) = self.books.last_ns[venue] else { continue };
            // The board is sampled only if no message came for long.
            let board = source.subscriber().board();
            let shown_ns = board.map_or(0, |board| board.sample().updated_ns);
            if source.end().is_none() && !is_silent(shown_ns) {
                *seen_ns = shown_ns;
                continue;
            }
            self.books.set_stale(venue, Some(last_ns), visit)?;
        }
        ControlFlow::Continue(())
    }
}

impl RingBooks {
    fn apply(
        &mut self,
        venue: usize,
        event: &Event<'_>,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Event::Record(delivery) = event else { return ControlFlow::Continue(()) };
        if let Some(ts_ns) = time_of_day(delivery) {
            self.last_ns[venue] = self.last_ns[venue].max(Some(ts_ns));
            self.now_ns = self.now_ns.max(ts_ns);
        }
        match (&delivery.record, delivery.symbol) {
            (Record::Bbo(bbo), Some(symbol)) => {
                let inside = inside_of(&bbo.levels[0]);
                self.set(venue, symbol, inside, visit)?;
            }
            // Its books are empty.
            (Record::Notice(Notice::Start(_)), _) => {
                for symbol in std::mem::take(&mut self.quoted[venue]) {
                    self.set(venue, symbol, Inside::default(), visit)?;
                }
            }
            _ => {}
        }
        match self.books.stale()[venue] {
            Some(_) => self.set_stale(venue, None, visit),
            None => ControlFlow::Continue(()),
        }
    }

    fn set(
        &mut self,
        venue: usize,
        symbol: Symbol,
        inside: Inside,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if inside != Inside::default()
            && let Err(place) = self.quoted[venue].binary_search(&symbol)
        {
            self.quoted[venue].insert(place, symbol);
        }
        match self.books.set(venue, symbol, inside) {
            Some(stock) => self.row(stock, visit),
            None => ControlFlow::Continue(()),
        }
    }

    fn set_stale(
        &mut self,
        venue: usize,
        since_ns: Option<u64>,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for stock in self.books.set_stale(venue, since_ns) {
            self.row(stock, visit)?;
        }
        ControlFlow::Continue(())
    }

    fn row(
        &self,
        stock: usize,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (symbol, inside) = (self.books.symbol(stock), self.books.inside(stock));
        visit(&ConsolidatedRow { ts_ns: self.now_ns, symbol, inside, stale: self.books.stale() })
    }
}

/// The exchange's time of a record, in ns since midnight.
fn time_of_day(delivery: &Delivery<'_>) -> Option<u64> {
    if matches!(delivery.record, Record::Notice(_)) {
        return None;
    }
    Header::of(delivery.bytes)?.ts_event.checked_sub(delivery.midnight_ns?)
}

/// The best prices of a record. A price that no book has counts as none.
fn inside_of(level: &BidAskPair) -> Inside {
    let quote = |price: i64, shares: u32| {
        Some(Quote {
            price: PriceScale::WIDE.of_nanos(price)?,
            shares: u64::from(shares).try_into().ok()?,
        })
    };
    Inside { bid: quote(level.bid_px, level.bid_sz), offer: quote(level.ask_px, level.ask_sz) }
}
