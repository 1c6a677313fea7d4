//! A second feed of known delay: what it shows of the updates of a first feed, and when.
//!
//! ```text
//! updates of the first feed --> lost? conflated? --> delay, in order --> updates of the second
//!                                                        ^
//!                              updates of other venues --+
//! ```
//!
//! Delays, losses, conflation and other venues draw from separate streams of random numbers: a
//! specification with one more kind of noise keeps the others as they were.
//!
//! Bounds: memory for each stock, and for the foreign updates that are not yet due.

mod copy;
mod spec;
mod truth;

use core::cmp::Reverse;
use std::collections::BinaryHeap;

pub use spec::{FeedShape, Noise, SecondFeedSpec};
pub use truth::{Delays, Truth, TruthRow};

use super::{
    quotes::{Quote, QuoteUpdate, round_lots},
    rng::Rng,
    spec::Share,
    stock_book::TICK,
};

/// Mean number of updates that are lost at once.
const LOST_AT_ONCE: f64 = 8.0;
/// The first foreign update of a stock whose rate is unknown comes after this mean time.
const FIRST_GAP: f64 = 1e6;
/// No foreign update comes later than a minute after the one that it follows.
const LONGEST_GAP: f64 = 6e10;
/// One foreign update in so many is better by a tick, if the spread has room for it.
const BETTER_ONE_IN: u64 = 4;

const NANOS_PER_HOUR: i128 = 3_600_000_000_000;

/// What becomes of an update in the second feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is shown.
    Shown {
        /// The time at which the second feed shows it less that of the first.
        delay_ns: i64,
        /// Whether an update of another venue follows it at a later time.
        foreign_follows: bool,
    },
    /// It is not shown; the next update of the stock stands for it.
    Conflated,
    /// It is not shown.
    Lost,
}

/// An update that the second feed shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShownUpdate {
    /// The stock's quote in the second feed, and the time from which it shows it.
    pub update: QuoteUpdate,
    /// How much later than the first feed; `None` for an update of another venue.
    pub delay_ns: Option<i64>,
}

/// Turns the updates of a first feed into those of a second.
///
/// ```
/// use nanotape_synth::{Fate, QuoteConfig, QuoteStream, SecondFeed};
///
/// let config = QuoteConfig { stocks: 1, updates_per_s: 500.0, from_ns: 0, seed: 7 };
/// let first: Vec<_> = QuoteStream::new(config).take(1_000).collect();
/// let mut feed = SecondFeed::new("delay=350us,conflate=10%".parse()?, 7, 0);
/// let mut second = Vec::new();
/// let fates: Vec<_> = first.iter().map(|update| feed.push(update, &mut second)).collect();
/// feed.finish(&mut second);
/// let shown = fates.iter().filter(|fate| matches!(fate, Fate::Shown { .. })).count();
/// assert!(shown == second.len() && shown < 1_000);
/// assert!(second.iter().all(|shown| shown.delay_ns == Some(350_000)));
/// # Ok::<(), nanotape_synth::SpecError>(())
/// ```
#[derive(Debug)]
pub struct SecondFeed {
    spec: SecondFeedSpec,
    start_ns: u64,
    /// When the second feed showed its last update, of whatever stock.
    last_ns: u64,
    stocks: Vec<Behind>,
    /// Foreign updates to come: time, number and stock.
    foreign: BinaryHeap<Reverse<(u64, u64, u16)>>,
    foreign_count: u64,
    is_losing: bool,
    /// When the first feed had its last update, and the jitter of its burst.
    burst: Option<(u64, i64)>,
    delays: Rng,
    losses: Rng,
    conflation: Rng,
    venues: Rng,
}

/// What the second feed knows of a stock.
#[derive(Clone, Copy, Default, Debug)]
struct Behind {
    /// The last quote shown that had a side.
    quote: Quote,
    first_ns: u64,
    updates: u64,
}

impl SecondFeed {
    /// A second feed. At `start_ns`, in nanoseconds since midnight, its drift and swing begin.
    pub fn new(spec: SecondFeedSpec, seed: u64, start_ns: u64) -> Self {
        let stream = |number: u64| Rng::new(seed, 0x5346_0000 + number);
        Self {
            spec,
            start_ns,
            last_ns: 0,
            stocks: Vec::new(),
            foreign: BinaryHeap::new(),
            foreign_count: 0,
            is_losing: false,
            burst: None,
            delays: stream(0),
            losses: stream(1),
            conflation: stream(2),
            venues: stream(3),
        }
    }

    /// The second feed shows nothing before a time: an earlier update waits for it.
    #[must_use]
    pub fn not_before(mut self, time_ns: u64) -> Self {
        self.last_ns = self.last_ns.max(time_ns);
        self
    }

    /// Its specification.
    pub fn spec(&self) -> &SecondFeedSpec {
        &self.spec
    }

    /// Takes the next update of the first feed, none earlier than the one before. Appends what the
    /// second feed shows until then and because of it, in the order of its times.
    pub fn push(&mut self, update: &QuoteUpdate, shown: &mut Vec<ShownUpdate>) -> Fate {
        let delay_ns = self.delay_at(update.time_ns);
        let (is_lost, is_conflated) =
            (self.draw_loss(), draw(&mut self.conflation, self.spec.conflate));
        let behind = self.behind(update.stock);
        if behind.updates == 0 {
            behind.first_ns = update.time_ns;
        }
        behind.updates += 1;
        if is_lost {
            return Fate::Lost;
        }
        if is_conflated {
            return Fate::Conflated;
        }
        let at_ns = self.in_order(update.time_ns, delay_ns);
        self.show_foreign(at_ns, shown);
        let delay_ns = at_ns.wrapping_sub(update.time_ns) as i64;
        let own = QuoteUpdate { time_ns: at_ns, ..*update };
        shown.push(ShownUpdate { update: own, delay_ns: Some(delay_ns) });
        if update.quote.bid_shares > 0 || update.quote.offer_shares > 0 {
            self.behind(update.stock).quote = update.quote;
        }
        let foreign_follows = self.plan_foreign(update, at_ns);
        Fate::Shown { delay_ns, foreign_follows }
    }

    /// Appends the foreign updates that are still to come.
    pub fn finish(&mut self, shown: &mut Vec<ShownUpdate>) {
        self.show_foreign(u64::MAX, shown);
    }

    /// The delay without jitter that the specification gives to a time, in nanoseconds.
    pub fn steady_delay_at(&self, time_ns: u64) -> i64 {
        let since = time_ns.saturating_sub(self.start_ns);
        let drift = i128::from(self.spec.drift_ns_per_h) * i128::from(since) / NANOS_PER_HOUR;
        let mut delay = i128::from(self.spec.delay_ns) + drift;
        if self.spec.swing_period_ns > 0 {
            let period = i128::from(self.spec.swing_period_ns);
            let phase = i128::from(since) % period;
            delay += i128::from(self.spec.swing_ns) * 2 * phase.min(period - phase) / period;
        }
        // Far below the limits: the specification bounds each part.
        delay as i64
    }

    fn delay_at(&mut self, time_ns: u64) -> i64 {
        let steady = self.steady_delay_at(time_ns);
        if self.spec.jitter_ns == 0 {
            return steady;
        }
        let jitter_ns = match self.burst {
            Some((last_ns, shared_ns))
                if self.spec.burst_ns > 0
                    && time_ns.saturating_sub(last_ns) <= self.spec.burst_ns.unsigned_abs() =>
            {
                shared_ns
            }
            _ => self.draw_jitter(),
        };
        self.burst = Some((time_ns, jitter_ns));
        steady + jitter_ns
    }

    fn draw_jitter(&mut self) -> i64 {
        let factor = match self.spec.noise {
            Noise::Lognormal => libm::exp(self.delays.normal() / 2.0) - 1.0,
            Noise::Exponential => self.delays.exponential() - core::f64::consts::LN_2,
        };
        (self.spec.jitter_ns as f64 * factor) as i64
    }

    fn in_order(&mut self, time_ns: u64, delay_ns: i64) -> u64 {
        self.last_ns = time_ns.saturating_add_signed(delay_ns).max(self.last_ns);
        self.last_ns
    }

    /// A run goes on with a chance that gives its mean length, and begins with one that gives the
    /// configured share.
    fn draw_loss(&mut self) -> bool {
        let share = f64::from(self.spec.lost.millionths()) / f64::from(Share::ALL);
        let chance = if self.is_losing {
            1.0 - 1.0 / LOST_AT_ONCE
        } else {
            (share / (1.0 - share) / LOST_AT_ONCE).min(1.0)
        };
        self.is_losing = share > 0.0 && self.losses.chance(chance);
        self.is_losing
    }

    fn behind(&mut self, stock: u16) -> &mut Behind {
        let index = usize::from(stock);
        if index >= self.stocks.len() {
            self.stocks.resize(index + 1, Behind::default());
        }
        &mut self.stocks[index]
    }

    /// Draws whether an update of another venue follows, and when: other venues are as busy as the
    /// stock was so far, and independent of its clusters.
    fn plan_foreign(&mut self, update: &QuoteUpdate, at_ns: u64) -> bool {
        let behind = self.stocks[usize::from(update.stock)];
        let has_a_side = behind.quote != Quote::default();
        if !draw(&mut self.venues, self.spec.foreign) || !has_a_side {
            return false;
        }
        let mean = match behind.updates {
            1 => FIRST_GAP,
            updates => update.time_ns.saturating_sub(behind.first_ns) as f64 / (updates - 1) as f64,
        };
        let gap = 1 + (self.venues.exponential() * mean).min(LONGEST_GAP) as u64;
        self.foreign_count += 1;
        let at_ns = at_ns.saturating_add(gap);
        self.foreign.push(Reverse((at_ns, self.foreign_count, update.stock)));
        true
    }

    /// Shows the foreign updates before a time.
    fn show_foreign(&mut self, before_ns: u64, shown: &mut Vec<ShownUpdate>) {
        while let Some(&Reverse((time_ns, _, stock))) = self.foreign.peek() {
            if time_ns >= before_ns {
                break;
            }
            self.foreign.pop();
            let own = self.stocks[usize::from(stock)].quote;
            let quote = of_other_venue(own, &mut self.venues);
            let update = QuoteUpdate { time_ns, stock, quote };
            shown.push(ShownUpdate { update, delay_ns: None });
            self.last_ns = self.last_ns.max(time_ns);
        }
    }
}

/// A coin that integers alone decide.
fn draw(rng: &mut Rng, share: Share) -> bool {
    share.millionths() > 0 && rng.below(u64::from(Share::ALL)) < u64::from(share.millionths())
}

/// The best bid and offer while another venue has more shares, or a better price, on one side.
fn of_other_venue(own: Quote, rng: &mut Rng) -> Quote {
    let mut quote = own;
    let shares = round_lots(rng);
    let is_better = rng.below(BETTER_ONE_IN) == 0
        && (own.bid_shares == 0
            || own.offer_shares == 0
            || own.offer_price.saturating_sub(own.bid_price) > TICK);
    let of_bid = own.offer_shares == 0 || (own.bid_shares > 0 && rng.below(2) == 0);
    match (of_bid, is_better) {
        (true, true) => {
            (quote.bid_price, quote.bid_shares) = (own.bid_price.saturating_add(TICK), shares)
        }
        (true, false) => quote.bid_shares = own.bid_shares.saturating_add(shares),
        (false, true) if own.offer_price > 2 * TICK => {
            (quote.offer_price, quote.offer_shares) = (own.offer_price - TICK, shares);
        }
        (false, _) => quote.offer_shares = own.offer_shares.saturating_add(shares),
    }
    quote
}
