//! The second day: what a feed of known delay shows of the first.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
};

use nanotape_book::{Book, Books, DefaultBooks, OrderStore, Outcome, PriceLevels};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::DaySource;
use nanotape_market::{MarketEvent, Position};
use nanotape_synth::{
    Fate, FeedShape, MarketConfig, Quote, QuoteDay, QuoteUpdate, SecondFeed, SecondFeedSpec,
    ShownUpdate,
};
use nanotape_types::Side;

use super::truth::TruthRows;
use crate::output::Output;

/// A second day in progress.
pub(super) struct Second {
    feed: SecondFeed,
    shows: Shows,
    output: Output,
    truth: Option<TruthRows>,
}

/// What it shows of the first day.
enum Shows {
    /// All messages.
    Copy,
    /// The insides, from the books of the first day.
    Inside(Box<Insides>),
}

struct Insides {
    engine: BookEngine<DefaultBooks>,
    day: QuoteDay,
    /// Reused.
    shown: Vec<ShownUpdate>,
    bytes: Vec<u8>,
}

impl Second {
    /// A second day for the first day of a market, whose quotes begin at `from_ns` since midnight.
    pub(super) fn new(
        spec: &SecondFeedSpec,
        market: &MarketConfig,
        from_ns: u64,
        output: Output,
        truth: Option<TruthRows>,
    ) -> anyhow::Result<Self> {
        let feed = SecondFeed::new(spec.clone(), market.seed, from_ns);
        let (feed, shows) = match spec.shape {
            FeedShape::Copy => (feed, Shows::Copy),
            FeedShape::Inside => {
                let day = QuoteDay::new(market, &spec.symbols)?;
                let engine = BookEngine::new(DefaultBooks::with_capacity(0));
                let insides = Insides { engine, day, shown: Vec::new(), bytes: Vec::new() };
                (feed.not_before(QuoteDay::OPENS_NS), Shows::Inside(Box::new(insides)))
            }
        };
        Ok(Self { feed, shows, output, truth })
    }

    /// Takes the next whole records of the first day, and may change them.
    pub(super) fn add(&mut self, records: &mut [u8]) -> anyhow::Result<()> {
        let Self { feed, shows, output, truth } = self;
        let Shows::Inside(insides) = shows else {
            let mut result = Ok(());
            feed.delay_records(records, |locate, time_ns, delay_ns| {
                // Locate 0 is no stock.
                if let (Ok(()), Some(stock), Some(truth)) =
                    (&result, locate.checked_sub(1), truth.as_mut())
                {
                    let fate = Fate::Shown { delay_ns, foreign_follows: false };
                    result = truth.add(time_ns, stock, fate);
                }
            });
            result?;
            return Ok(output.write_all(records)?);
        };
        let Insides { engine, day, shown, bytes } = &mut **insides;
        let mut showing = Showing { feed, day, shown, truth, result: Ok(()) };
        let mut source = DaySource::memory("the first day", records.to_vec());
        // The day is made here, so it has no damage.
        let _ = engine.run(&mut source, &mut showing, |_| ())?;
        showing.result?;
        day.drain(bytes);
        output.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }

    /// Completes the day and the truth.
    pub(super) fn finish(self) -> io::Result<()> {
        let Self { mut feed, shows, mut output, truth } = self;
        if let Shows::Inside(insides) = shows {
            let Insides { mut day, mut shown, mut bytes, .. } = *insides;
            feed.finish(&mut shown);
            shown.drain(..).for_each(|shown| day.push(&shown.update));
            day.finish(&mut bytes);
            output.write_all(&bytes)?;
        }
        output.finish()?;
        truth.map_or(Ok(()), TruthRows::finish)
    }
}

/// Shows each inside that changes.
struct Showing<'a> {
    feed: &'a mut SecondFeed,
    day: &'a mut QuoteDay,
    shown: &'a mut Vec<ShownUpdate>,
    truth: &'a mut Option<TruthRows>,
    result: io::Result<()>,
}

impl<L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for Showing<'_> {
    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let stock = event.stock_locate.get().checked_sub(1);
        let stock = stock.filter(|&stock| self.day.symbol(stock).is_some());
        let (Some(outcome), Some(stock), Some(time)) = (outcome, stock, event.time) else {
            return ControlFlow::Continue(());
        };
        if !outcome.inside_changed {
            return ControlFlow::Continue(());
        }
        let quote = quote_of(&engine.books().book(event.stock_locate));
        let update = QuoteUpdate { time_ns: time.get(), stock, quote };
        let fate = self.feed.push(&update, self.shown);
        self.shown.drain(..).for_each(|shown| self.day.push(&shown.update));
        if let Some(truth) = self.truth {
            self.result = truth.add(update.time_ns, stock, fate);
        }
        if self.result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

fn quote_of<L: PriceLevels>(book: &Book<'_, L>) -> Quote {
    let (inside, scale) = (book.inside(), book.price_scale());
    let side = |side| {
        let quote = inside.side(side);
        let shares = quote.map_or(0, |quote| quote.shares.get());
        let price = quote.map_or(0, |quote| scale.ten_thousandths(quote.price));
        // A day file has no larger price and no larger order.
        let [price, shares] = [price, shares].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        (price, shares)
    };
    let ((bid_price, bid_shares), (offer_price, offer_shares)) =
        (side(Side::Buy), side(Side::Sell));
    Quote { bid_price, bid_shares, offer_price, offer_shares }
}
