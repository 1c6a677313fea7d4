//! The second day: what a feed of known delay shows of the first.

use std::io::{self, Write as _};

use nanotape_book::{Books, DefaultBooks};
use nanotape_feed::book_event;
use nanotape_synth::{Fate, FeedShape, MarketConfig, Quote, QuoteDay, QuoteUpdate, SecondFeed};
use nanotape_synth::{SecondFeedSpec, ShownUpdate};
use nanotape_types::{Side, StockLocate};
use nanotape_wire::itch50::Message;

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
    books: DefaultBooks,
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
                let books = Books::with_capacity(0);
                let insides = Insides { books, day, shown: Vec::new(), bytes: Vec::new() };
                (feed.not_before(QuoteDay::OPENS_NS), Shows::Inside(Box::new(insides)))
            }
        };
        Ok(Self { feed, shows, output, truth })
    }

    /// Takes the next whole records of the first day, and may change them.
    pub(super) fn add(&mut self, records: &mut [u8]) -> io::Result<()> {
        let Self { feed, shows, output, truth } = self;
        let truth = &mut |time_ns, stock, fate| match truth {
            Some(truth) => truth.add(time_ns, stock, fate),
            None => Ok(()),
        };
        match shows {
            Shows::Inside(insides) => insides.add(feed, records, output, truth),
            Shows::Copy => {
                let mut result = Ok(());
                feed.delay_records(records, |locate, time_ns, delay_ns| {
                    // Locate 0 is no stock.
                    if let (Ok(()), Some(stock)) = (&result, locate.checked_sub(1)) {
                        let fate = Fate::Shown { delay_ns, foreign_follows: false };
                        result = truth(time_ns, stock, fate);
                    }
                });
                result?;
                output.write_all(records)
            }
        }
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

impl Insides {
    fn add(
        &mut self,
        feed: &mut SecondFeed,
        records: &[u8],
        output: &mut Output,
        truth: &mut impl FnMut(u64, u16, Fate) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut rest = records;
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
            let (message, after) = after.split_at(length);
            rest = after;
            let Some(update) = self.changed(message) else { continue };
            let fate = feed.push(&update, &mut self.shown);
            truth(update.time_ns, update.stock, fate)?;
            self.shown.drain(..).for_each(|shown| self.day.push(&shown.update));
        }
        self.day.drain(&mut self.bytes);
        output.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// The inside after a message that changed it, of a stock that the second day has.
    fn changed(&mut self, message: &[u8]) -> Option<QuoteUpdate> {
        let message = Message::decode(message).ok()?;
        let event = book_event(&message)?;
        let outcome = self.books.apply(event);
        let stock = outcome.stock_locate.get().checked_sub(1)?;
        let is_wanted = outcome.inside_changed && self.day.symbol(stock).is_some();
        let time_ns = message.timestamp().filter(|_| is_wanted)?.get();
        Some(QuoteUpdate { time_ns, stock, quote: self.quote(outcome.stock_locate) })
    }

    fn quote(&self, locate: StockLocate) -> Quote {
        let inside = self.books.book(locate).inside();
        let side = |side| {
            let quote = inside.side(side);
            let shares = quote.map_or(0, |quote| quote.shares.get());
            let price = quote.map_or(0, |quote| quote.price.get());
            // A day file has no larger order.
            (price, u32::try_from(shares).unwrap_or(u32::MAX))
        };
        let ((bid_price, bid_shares), (offer_price, offer_shares)) =
            (side(Side::Buy), side(Side::Sell));
        Quote { bid_price, bid_shares, offer_price, offer_shares }
    }
}
