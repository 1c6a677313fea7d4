//! The specification of a second feed, as typed and printed.

use core::{fmt, str::FromStr};

use nanotape_types::Symbol;

use crate::spec::{self, Share, SpecError, Time};

/// The longest delay, jitter or swing.
const LONGEST_NS: i64 = 60_000_000_000;
/// The steepest drift: a millisecond in a second.
const STEEPEST_NS_PER_H: i64 = 3_600_000_000;

const KEYS: &str =
    "delay, drift, swing, jitter, noise, burst, conflate, foreign, lost, shape or symbols";
const A_TIME: &str = "a time such as 350us or 1.5ms, of at most 60s";
const A_DRIFT: &str = "a time per s or h such as 20us/s or -5ms/h, of at most 1ms/s";
const A_SWING: &str = "a time and its period such as 100us/10s, of at most 60s/24h";
const A_BURST: &str = "a time such as 1ms, of at most 60s";
const SYMBOLS: &str = "symbols with a colon between them, such as ABC:XYZ";

/// What the second feed shows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FeedShape {
    /// The best bid and offer of each stock.
    #[default]
    Inside,
    /// The messages of the first feed with their numbers, as a second line does.
    Copy,
}

impl FeedShape {
    fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Copy => "copy",
        }
    }
}

/// The distribution of the jitter. Both have the median 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Noise {
    /// `scale * (exp(z / 2) - 1)`, `z` standard normal. Nine in ten are between -0.56 and 1.28
    /// times the scale.
    #[default]
    Lognormal,
    /// `scale * (e - ln 2)`, `e` standard exponential. Nine in ten are between -0.64 and 2.30 times
    /// the scale.
    Exponential,
}

impl Noise {
    fn name(self) -> &'static str {
        match self {
            Self::Lognormal => "lognormal",
            Self::Exponential => "exponential",
        }
    }
}

/// How the second feed differs from the first. Its text has the form
/// `delay=350us,drift=20us/s,jitter=20us,conflate=10%,foreign=20%,lost=1%`; absent keys are zero.
///
/// The delay of an update at time `t` of the first feed is `delay + drift * (t - start) + swing +
/// jitter`. The second feed keeps the order of its updates: none is shown before the one that
/// precedes it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SecondFeedSpec {
    /// `delay`: how much later the second feed is, in nanoseconds; negative if it is earlier.
    pub delay_ns: i64,
    /// `drift`: by how much the delay grows in an hour, in nanoseconds.
    pub drift_ns_per_h: i64,
    /// `swing`: the delay rises to so many nanoseconds more and falls again, in straight lines.
    pub swing_ns: i64,
    /// The period of the swing in nanoseconds; 0 without a swing.
    pub swing_period_ns: i64,
    /// `jitter`: the scale of the noise in nanoseconds, with the median 0 and a tail of late
    /// updates.
    pub jitter_ns: i64,
    /// `noise`: the distribution of the jitter.
    pub noise: Noise,
    /// `burst`: updates of the first feed, of any stock, that follow the one before within this
    /// time share its jitter; 0 if each has its own.
    pub burst_ns: i64,
    /// `conflate`: the share of updates that the second feed does not show by themselves; the next
    /// update of the stock stands for them. Each is chosen independently, so that the share is the
    /// same at every rate and delay.
    pub conflate: Share,
    /// `foreign`: updates of other venues, as a share of the updates that are shown.
    pub foreign: Share,
    /// `lost`: the share of updates that are never shown, in runs of eight on average over all
    /// stocks, as packets are lost.
    pub lost: Share,
    /// `shape`: what the second feed shows.
    pub shape: FeedShape,
    /// `symbols`: the stocks of the second feed; empty for all of them.
    pub symbols: Vec<Symbol>,
}

impl SecondFeedSpec {
    fn set(&mut self, key: &str, value: &str) -> Result<bool, &'static str> {
        match key {
            "delay" => self.delay_ns = time(value).ok_or(A_TIME)?,
            "drift" => self.drift_ns_per_h = drift(value).ok_or(A_DRIFT)?,
            "swing" => (self.swing_ns, self.swing_period_ns) = swing(value).ok_or(A_SWING)?,
            "jitter" => {
                self.jitter_ns = time(value).filter(|&scale| scale >= 0).ok_or(A_TIME)?;
            }
            "noise" => {
                self.noise = [Noise::Lognormal, Noise::Exponential]
                    .into_iter()
                    .find(|noise| noise.name() == value)
                    .ok_or("lognormal or exponential")?;
            }
            "burst" => {
                self.burst_ns = time(value).filter(|&gap| gap >= 0).ok_or(A_BURST)?;
            }
            "conflate" => self.conflate = value.parse()?,
            "foreign" => self.foreign = value.parse()?,
            "lost" => self.lost = value.parse()?,
            "shape" => {
                self.shape = [FeedShape::Inside, FeedShape::Copy]
                    .into_iter()
                    .find(|shape| shape.name() == value)
                    .ok_or("inside or copy")?;
            }
            "symbols" => {
                let symbols: Result<_, _> = value.split(':').map(Symbol::from_str).collect();
                self.symbols = symbols.map_err(|_| SYMBOLS)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn time(text: &str) -> Option<i64> {
    spec::nanos(text).filter(|nanos| nanos.abs() <= LONGEST_NS)
}

/// Nanoseconds in an hour.
fn drift(text: &str) -> Option<i64> {
    let (amount, per) = text.split_once('/')?;
    let times = match per {
        "s" => 3_600,
        "h" => 1,
        _ => return None,
    };
    let rate = spec::nanos(amount)?.checked_mul(times)?;
    (rate.abs() <= STEEPEST_NS_PER_H).then_some(rate)
}

fn swing(text: &str) -> Option<(i64, i64)> {
    let (amount, period) = text.split_once('/')?;
    let period =
        spec::nanos(period).filter(|period| (2..=24 * 3_600_000_000_000).contains(period))?;
    Some((time(amount)?, period))
}

impl FromStr for SecondFeedSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut own = Self::default();
        spec::read(text, KEYS, |key, value| own.set(key, value))?;
        let only_inside = own.conflate > Share::default()
            || own.foreign > Share::default()
            || own.lost > Share::default()
            || !own.symbols.is_empty();
        if own.shape == FeedShape::Copy && only_inside {
            return Err(SpecError::Conflict(
                "shape=copy has all messages of the first feed and no others: conflate, foreign, \
                 lost and symbols need shape=inside",
            ));
        }
        if u64::from(own.conflate.millionths()) + u64::from(own.lost.millionths()) > 950_000 {
            return Err(SpecError::Conflict("conflate and lost leave less than 5% of the updates"));
        }
        Ok(own)
    }
}

impl fmt::Display for SecondFeedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "delay={}", Time(self.delay_ns))?;
        if self.drift_ns_per_h != 0 {
            match self.drift_ns_per_h % 3_600 {
                0 => write!(f, ",drift={}/s", Time(self.drift_ns_per_h / 3_600))?,
                _ => write!(f, ",drift={}/h", Time(self.drift_ns_per_h))?,
            }
        }
        if self.swing_period_ns != 0 {
            write!(f, ",swing={}/{}", Time(self.swing_ns), Time(self.swing_period_ns))?;
        }
        if self.jitter_ns != 0 {
            write!(f, ",jitter={}", Time(self.jitter_ns))?;
        }
        if self.noise != Noise::default() {
            write!(f, ",noise={}", self.noise.name())?;
        }
        if self.burst_ns != 0 {
            write!(f, ",burst={}", Time(self.burst_ns))?;
        }
        let shares = [("conflate", self.conflate), ("foreign", self.foreign), ("lost", self.lost)];
        for (key, share) in shares.into_iter().filter(|(_, share)| *share != Share::default()) {
            write!(f, ",{key}={share}")?;
        }
        if self.shape != FeedShape::default() {
            write!(f, ",shape={}", self.shape.name())?;
        }
        for (index, symbol) in self.symbols.iter().enumerate() {
            write!(f, "{}{symbol}", if index == 0 { ",symbols=" } else { ":" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn any_spec(rng: &mut Rng) -> SecondFeedSpec {
        let signed = |rng: &mut Rng, most: i64| {
            let scale = 10u64.pow(rng.below(11) as u32).min(most as u64);
            (rng.below(scale + 1) as i64) * if rng.below(2) == 0 { 1 } else { -1 }
        };
        let share = |rng: &mut Rng| Share::of_a_million(rng.below(400_000) as u32);
        let swings = rng.below(2) == 0;
        let symbols = (0..rng.below(3)).map(symbol).collect();
        SecondFeedSpec {
            delay_ns: signed(rng, LONGEST_NS),
            drift_ns_per_h: signed(rng, STEEPEST_NS_PER_H),
            swing_ns: if swings { signed(rng, LONGEST_NS) } else { 0 },
            swing_period_ns: if swings { 2 + rng.below(1 << 40) as i64 } else { 0 },
            jitter_ns: signed(rng, LONGEST_NS).abs(),
            noise: if rng.below(2) == 0 { Noise::Lognormal } else { Noise::Exponential },
            burst_ns: signed(rng, LONGEST_NS).abs(),
            conflate: share(rng),
            foreign: share(rng),
            lost: share(rng),
            shape: FeedShape::Inside,
            symbols,
        }
    }

    fn symbol(number: u64) -> Symbol {
        Symbol::new([b'A' + number as u8, b'.', b'B', b' ', b' ', b' ', b' ', b' '])
    }

    #[test]
    fn any_specification_is_that_of_its_text_and_no_text_panics() {
        let mut rng = Rng::new(17, 0);
        for _ in 0..2_000 {
            let spec = any_spec(&mut rng);
            let text = spec.to_string();
            assert_eq!(text.parse(), Ok(spec), "{text}");
            let mut bytes = text.into_bytes();
            for _ in 0..rng.between(1, 4) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = b"0123456789.,=%/-:smunhdelay"[rng.below(27) as usize];
            }
            // A text with errors is refused, or is another specification.
            if let Ok(other) = str::from_utf8(&bytes).unwrap_or_default().parse::<SecondFeedSpec>()
            {
                assert_eq!(other.to_string().parse(), Ok(other));
            }
        }
    }
}
