//! Best bids and offers of stocks over time: what a feed of quotes shows, and an endless source of
//! them with clustered arrivals.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{rng::Rng, stock_book::TICK};

/// Best bid and best offer of a stock. A side without shares is empty, and its price is 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Quote {
    /// Price of the best bid, in units of a ten thousandth.
    pub bid_price: u32,
    /// Shares of the best bid.
    pub bid_shares: u32,
    /// Price of the best offer, in units of a ten thousandth.
    pub offer_price: u32,
    /// Shares of the best offer.
    pub offer_shares: u32,
}

/// A quote from a time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuoteUpdate {
    /// Nanoseconds since midnight.
    pub time_ns: u64,
    /// Index of the stock: its locate less one.
    pub stock: u16,
    /// Its best bid and offer.
    pub quote: Quote,
}

/// What a [`QuoteStream`] is made of. Equal configurations give equal quotes on every machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuoteConfig {
    /// Number of stocks. Each changes independently of the others.
    pub stocks: u16,
    /// Mean number of updates of each stock in a second, from 0.001 to 1,000,000.
    pub updates_per_s: f64,
    /// When the quotes begin, in nanoseconds since midnight.
    pub from_ns: u64,
    /// Chooses times and values.
    pub seed: u64,
}

/// Chance that an update is followed by another of its cluster, as in the synthetic market.
const CLUSTER_GOES_ON: f64 = 0.7;
/// The mean gap of a cluster, in nanoseconds, at rates that leave room for it.
const CLUSTER_GAP: f64 = 10_000.0;
/// Shares are round lots, up to so many.
const LOTS_MAX: u64 = 100;
/// One update in so many moves the prices; the others change the shares of one side.
const MOVES_ONE_IN: u64 = 8;

/// Quotes without end, in order of time.
///
/// Updates of a stock come in clusters: gaps are exponential, 70 % of them with a mean of 10 us and
/// the others with the mean that gives the configured rate. At high rates the short mean is a
/// quarter of the overall one. Each update changes the shares of one side to another number of
/// round lots, from 1 to 100, each octave as likely as the next; or it moves both prices by a tick.
#[derive(Debug)]
pub struct QuoteStream {
    stocks: Vec<QuotedStock>,
    /// The next update of each stock: its time, and the index of the stock.
    next: BinaryHeap<Reverse<(u64, u16)>>,
    short_gap: f64,
    long_gap: f64,
}

#[derive(Debug)]
struct QuotedStock {
    quote: Quote,
    rng: Rng,
}

impl QuoteStream {
    /// Quotes from the configured time on. The rate is clamped to its range.
    pub fn new(config: QuoteConfig) -> Self {
        let mean = 1e9 / config.updates_per_s.clamp(0.001, 1e6);
        let short_gap = CLUSTER_GAP.min(mean / 4.0);
        let long_gap = (mean - CLUSTER_GOES_ON * short_gap) / (1.0 - CLUSTER_GOES_ON);
        let stock = |index| {
            let mut rng = Rng::new(config.seed, 0x5155_0000 + u64::from(index));
            let price = rng.between(1_000, 50_000) as u32 * TICK;
            let spread = rng.between(1, 3) as u32 * TICK;
            let (bid_shares, offer_shares) = (round_lots(&mut rng), round_lots(&mut rng));
            let (bid_price, offer_price) = (price, price + spread);
            let quote = Quote { bid_price, bid_shares, offer_price, offer_shares };
            QuotedStock { quote, rng }
        };
        let mut stream = Self {
            stocks: (0..config.stocks).map(stock).collect(),
            next: BinaryHeap::new(),
            short_gap,
            long_gap,
        };
        for stock in 0..config.stocks {
            stream.plan(config.from_ns, stock);
        }
        stream
    }

    /// Draws the next time of a stock whose last one this is.
    fn plan(&mut self, time_ns: u64, stock: u16) {
        let rng = &mut self.stocks[usize::from(stock)].rng;
        let mean = if rng.chance(CLUSTER_GOES_ON) { self.short_gap } else { self.long_gap };
        // The mean of the whole part of an exponential is a half less than its own.
        let gap = (mean * rng.exponential() + 0.5) as u64;
        self.next.push(Reverse((time_ns.saturating_add(gap), stock)));
    }
}

impl Iterator for QuoteStream {
    type Item = QuoteUpdate;

    fn next(&mut self) -> Option<QuoteUpdate> {
        let Reverse((time_ns, stock)) = self.next.pop()?;
        let QuotedStock { quote, rng } = &mut self.stocks[usize::from(stock)];
        change(quote, rng);
        let update = QuoteUpdate { time_ns, stock, quote: *quote };
        self.plan(time_ns, stock);
        Some(update)
    }
}

fn change(quote: &mut Quote, rng: &mut Rng) {
    if rng.below(MOVES_ONE_IN) == 0 {
        // A tenth of the lowest first price is the floor.
        let up = rng.below(2) == 0 || quote.bid_price <= 100 * TICK;
        let moved = |price: u32| if up { price.saturating_add(TICK) } else { price - TICK };
        (quote.bid_price, quote.offer_price) = (moved(quote.bid_price), moved(quote.offer_price));
    }
    let shares = if rng.below(2) == 0 { &mut quote.bid_shares } else { &mut quote.offer_shares };
    let before = *shares;
    while *shares == before {
        *shares = round_lots(rng);
    }
}

/// A number of shares as a quote has them.
pub(super) fn round_lots(rng: &mut Rng) -> u32 {
    rng.log_uniform(1, LOTS_MAX) as u32 * 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_have_their_rate_and_always_change() {
        for (stocks, updates_per_s) in [(1, 100.0), (3, 500.0), (2, 5_000.0)] {
            let config = QuoteConfig { stocks, updates_per_s, from_ns: 1_000, seed: 4 };
            let mut last = vec![Quote::default(); usize::from(stocks)];
            let (mut time_ns, mut updates) = (1_000, 0.0);
            for update in QuoteStream::new(config).take(60_000 * usize::from(stocks)) {
                assert!(
                    update.time_ns >= time_ns && update.quote != last[usize::from(update.stock)]
                );
                assert!(update.quote.bid_price < update.quote.offer_price);
                last[usize::from(update.stock)] = update.quote;
                (time_ns, updates) = (update.time_ns, updates + 1.0);
            }
            let rate = updates / f64::from(stocks) / ((time_ns - 1_000) as f64 / 1e9);
            assert!((rate / updates_per_s - 1.0).abs() < 0.03, "{rate} for {updates_per_s}");
        }
    }
}
