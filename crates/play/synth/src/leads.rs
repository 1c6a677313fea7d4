//! Prices of instruments of which some lead others by a known time, observed at independent times:
//! the setting of Hoffmann, Rosenbaum and Yoshida, "Estimation of the lead-lag parameter from
//! non-synchronous data" (Bernoulli 19(2), 2013).
//!
//! A leader's mid price is a Brownian motion `X(t)`. Its follower's is `rho X(t - lead) +
//! sqrt(1 - rho^2) W(t)`, `W` another. Each instrument is observed at the times of a Poisson
//! process of its own, exactly: the path is drawn at the union of the times of both, so no grid is
//! involved.

use core::{cmp::Reverse, fmt, str::FromStr};
use std::collections::BinaryHeap;

use super::{
    quotes::{Quote, QuoteUpdate},
    rng::Rng,
    spec::{self, SpecError, Time},
    universe::shuffle,
};

const KEYS: &str = "pairs, lead, rho, unrelated or ticks";
const A_COUNT: &str = "a number of instruments from 0 to 10000";
const A_LEAD: &str = "a time or a range of times up to 60s, such as 137ms or 50ms..500ms";
const A_CORRELATION: &str = "a correlation from -1 to 1, such as 0.8";
const A_RATE: &str = "a number in a second from 0.01/s to 1000/s, such as 3/s";

const LONGEST_LEAD_NS: i64 = 60_000_000_000;
/// The first mid price, in units of a ten thousandth: far from zero for any day.
const FIRST_MID: f64 = 5_000_000.0;
/// The least mid price.
const LEAST_MID: f64 = 1_000.0;
/// Standard deviation of a mid price after a second: large against the unit of prices.
const DEVIATION: f64 = 500.0;
/// Distance of bid and offer from the mid price.
const HALF_SPREAD: u32 = 50;

/// Instruments with known leads. Its text has the form
/// `pairs=20,lead=50ms..500ms,rho=0.8,unrelated=20,ticks=3/s`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LeadSpec {
    /// `pairs`: number of pairs of a leader and its follower. No instrument is in two of them.
    pub pairs: u16,
    /// `lead`: by how much a follower is later, in nanoseconds, at least.
    pub lead_from_ns: u64,
    /// The same, at most. Each octave between is as likely as the next.
    pub lead_until_ns: u64,
    /// `rho`: correlation of the increments of a follower with those of its leader earlier.
    pub rho: f64,
    /// `unrelated`: instruments that are independent of all others.
    pub unrelated: u16,
    /// `ticks`: mean number of observations of each instrument in a second.
    pub ticks_per_s: f64,
}

impl Default for LeadSpec {
    fn default() -> Self {
        Self {
            pairs: 10,
            lead_from_ns: 50_000_000,
            lead_until_ns: 500_000_000,
            rho: 0.8,
            unrelated: 10,
            ticks_per_s: 3.0,
        }
    }
}

impl LeadSpec {
    /// Number of instruments.
    pub fn instruments(&self) -> u16 {
        self.pairs.saturating_mul(2).saturating_add(self.unrelated)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<bool, &'static str> {
        match key {
            "pairs" => self.pairs = spec::count(value, 0..=10_000).ok_or(A_COUNT)?,
            "unrelated" => self.unrelated = spec::count(value, 0..=10_000).ok_or(A_COUNT)?,
            "lead" => (self.lead_from_ns, self.lead_until_ns) = lead(value).ok_or(A_LEAD)?,
            "rho" => {
                let rho = value.parse().ok().filter(|rho: &f64| (-1.0..=1.0).contains(rho));
                self.rho = rho.ok_or(A_CORRELATION)?;
            }
            "ticks" => {
                let rate = value.strip_suffix("/s").and_then(|rate| rate.parse().ok());
                let rate = rate.filter(|rate| (0.01..=1_000.0).contains(rate));
                self.ticks_per_s = rate.ok_or(A_RATE)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn lead(text: &str) -> Option<(u64, u64)> {
    let (from, until) = text.split_once("..").unwrap_or((text, text));
    let nanos = |text| {
        let nanos = spec::nanos(text).filter(|nanos| (1..=LONGEST_LEAD_NS).contains(nanos))?;
        u64::try_from(nanos).ok()
    };
    Some((nanos(from)?, nanos(until)?)).filter(|(from, until)| from <= until)
}

impl FromStr for LeadSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut own = Self::default();
        spec::read(text, KEYS, |key, value| own.set(key, value))?;
        if own.instruments() == 0 {
            return Err(SpecError::Conflict("pairs=0 and unrelated=0 leave no instrument"));
        }
        Ok(own)
    }
}

impl fmt::Display for LeadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pairs, rho, unrelated, ticks_per_s, .. } = self;
        write!(f, "pairs={pairs},lead={}", Time(self.lead_from_ns as i64))?;
        if self.lead_from_ns != self.lead_until_ns {
            write!(f, "..{}", Time(self.lead_until_ns as i64))?;
        }
        write!(f, ",rho={rho},unrelated={unrelated},ticks={ticks_per_s}/s")
    }
}

/// What is true about a pair.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LeadPair {
    /// Index of the instrument that is earlier.
    pub leader: u16,
    /// Index of the one that follows it.
    pub follower: u16,
    /// By how much it is later, in nanoseconds.
    pub lead_ns: u64,
    /// Correlation of their increments at that lead.
    pub rho: f64,
}

/// Ticks of all instruments without end, in order of time. Leaders, followers and unrelated
/// instruments have their indexes in random order. A tick is the quote around a mid price; the mid
/// price is half the sum of bid and offer.
#[derive(Debug)]
pub struct LeadStream {
    pairs: Vec<LeadPair>,
    instruments: Vec<Instrument>,
    /// Common paths of the pairs.
    common: Vec<Path>,
    /// The next observation of each instrument, at the time of its leader's path.
    sources: BinaryHeap<Reverse<(u64, u16)>>,
    /// Ticks of followers that wait for their time: time, number, instrument and mid price.
    waiting: BinaryHeap<Reverse<(u64, u64, u16, u32)>>,
    number: u64,
    mean_gap_ns: f64,
    rng: Rng,
}

/// A Brownian motion as far as it is drawn.
#[derive(Clone, Copy, Debug)]
struct Path {
    time_ns: u64,
    value: f64,
}

impl Path {
    fn at(&mut self, time_ns: u64, rng: &mut Rng) -> f64 {
        let seconds = (time_ns - self.time_ns) as f64 / 1e9;
        self.value += DEVIATION * seconds.sqrt() * rng.normal();
        self.time_ns = time_ns;
        self.value
    }
}

#[derive(Clone, Copy, Debug)]
struct Instrument {
    own: Path,
    role: Role,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    Leader { pair: usize },
    Follower { pair: usize },
    Unrelated,
}

impl LeadStream {
    /// Instruments whose prices begin at a time, in nanoseconds since midnight.
    pub fn new(spec: &LeadSpec, seed: u64, from_ns: u64) -> Self {
        let mut rng = Rng::new(seed, 0x4c45_4144);
        let mut indexes: Vec<u16> = (0..spec.instruments()).collect();
        shuffle(&mut indexes, &mut rng);
        let path = Path { time_ns: from_ns, value: 0.0 };
        let mut instruments = vec![Instrument { own: path, role: Role::Unrelated }; indexes.len()];
        let mut pairs = Vec::with_capacity(usize::from(spec.pairs));
        for members in indexes.chunks_exact(2).take(usize::from(spec.pairs)) {
            let (leader, follower, pair) = (members[0], members[1], pairs.len());
            instruments[usize::from(leader)].role = Role::Leader { pair };
            instruments[usize::from(follower)].role = Role::Follower { pair };
            let lead_ns = rng.log_uniform(spec.lead_from_ns, spec.lead_until_ns);
            pairs.push(LeadPair { leader, follower, lead_ns, rho: spec.rho });
        }
        let mut own = Self {
            common: vec![path; pairs.len()],
            pairs,
            instruments,
            sources: BinaryHeap::new(),
            waiting: BinaryHeap::new(),
            number: 0,
            mean_gap_ns: 1e9 / spec.ticks_per_s,
            rng,
        };
        (0..spec.instruments()).for_each(|instrument| own.plan(from_ns, instrument));
        own
    }

    /// The pairs.
    pub fn pairs(&self) -> &[LeadPair] {
        &self.pairs
    }

    fn plan(&mut self, time_ns: u64, instrument: u16) {
        let gap = 1 + (self.mean_gap_ns * self.rng.exponential()) as u64;
        self.sources.push(Reverse((time_ns.saturating_add(gap), instrument)));
    }

    /// Observes an instrument. Observations are in order of the time of the leader's path, so both
    /// of a pair find the path drawn up to the time before.
    fn observe(&mut self, time_ns: u64, instrument: u16) {
        let Self { instruments, common, pairs, rng, .. } = self;
        let Instrument { own, role } = &mut instruments[usize::from(instrument)];
        let (value, at_ns) = match *role {
            Role::Leader { pair } => (common[pair].at(time_ns, rng), time_ns),
            Role::Unrelated => (own.at(time_ns, rng), time_ns),
            Role::Follower { pair } => {
                let LeadPair { lead_ns, rho, .. } = pairs[pair];
                let noise = (1.0 - rho * rho).sqrt() * own.at(time_ns, rng);
                (rho * common[pair].at(time_ns, rng) + noise, time_ns.saturating_add(lead_ns))
            }
        };
        let mid = (FIRST_MID + value).max(LEAST_MID) as u32;
        self.number += 1;
        self.waiting.push(Reverse((at_ns, self.number, instrument, mid)));
    }
}

impl Iterator for LeadStream {
    type Item = QuoteUpdate;

    fn next(&mut self) -> Option<QuoteUpdate> {
        loop {
            let &Reverse((source_ns, instrument)) = self.sources.peek()?;
            // No later observation is shown before its own time.
            if let Some(&Reverse((time_ns, _, stock, mid))) = self.waiting.peek()
                && time_ns <= source_ns
            {
                self.waiting.pop();
                let (bid_price, offer_price) = (mid - HALF_SPREAD, mid + HALF_SPREAD);
                let quote = Quote { bid_price, bid_shares: 100, offer_price, offer_shares: 100 };
                return Some(QuoteUpdate { time_ns, stock, quote });
            }
            self.sources.pop();
            self.observe(source_ns, instrument);
            self.plan(source_ns, instrument);
        }
    }
}
