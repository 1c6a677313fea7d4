//! Two instruments of known correlation and lead, seen at random times.

use nanotape_delay::Series;
use nanotape_harness::Random;

pub(crate) const SECOND: f64 = 1e9;

/// When instruments tick.
#[derive(Clone, Copy)]
pub(crate) enum Arrivals {
    /// Independent of one another, with a mean distance in nanoseconds.
    Poisson(f64),
    /// Mostly in bursts that both have at the same times. Prices move in bursts only.
    CommonBursts,
}

/// A pair of Brownian motions, the second one later.
#[derive(Clone, Copy)]
pub(crate) struct Market {
    pub(crate) correlation: f64,
    pub(crate) lead_ns: f64,
    pub(crate) length_ns: f64,
    pub(crate) arrivals: Arrivals,
}

impl Market {
    /// The prices that are seen, in millionths of a move a second.
    pub(crate) fn day(self, seed: u64) -> (Series, Series) {
        let mut random = Random::new(seed);
        let bursts = match self.arrivals {
            Arrivals::Poisson(_) => Vec::new(),
            Arrivals::CommonBursts => poisson(&mut random, 5.0 * SECOND, self.length_ns),
        };
        let mut seen: Vec<(f64, bool)> = Vec::new();
        for is_second in [false, true] {
            let later = if is_second { self.lead_ns } else { 0.0 };
            for time in self.ticks(&bursts, &mut random) {
                // The second shows at a time what happened a lead earlier.
                seen.push((time - later, is_second));
            }
        }
        seen.sort_by(|one, two| one.0.total_cmp(&two.0));
        self.prices(&seen, &bursts, &mut random)
    }

    fn ticks(self, bursts: &[f64], random: &mut Random) -> Vec<f64> {
        match self.arrivals {
            Arrivals::Poisson(mean) => poisson(random, mean, self.length_ns),
            Arrivals::CommonBursts => {
                let mut ticks = poisson(random, 2.0 * SECOND, self.length_ns);
                for burst in bursts {
                    let inside = poisson(random, 0.02 * SECOND, 0.3 * SECOND);
                    ticks.extend(inside.into_iter().map(|after| burst + after));
                }
                ticks.sort_by(f64::total_cmp);
                ticks
            }
        }
    }

    fn prices(self, seen: &[(f64, bool)], bursts: &[f64], random: &mut Random) -> (Series, Series) {
        let (mut first, mut second) = (Series::new(), Series::new());
        let (mut one, mut two, mut last) = (0.0, 0.0, f64::NEG_INFINITY);
        let own = (1.0 - self.correlation * self.correlation).sqrt();
        for &(time, is_second) in seen {
            let past = if last.is_finite() { time - last } else { 0.0 };
            last = time;
            let burst = bursts.partition_point(|&burst| burst <= time).checked_sub(1);
            let is_inside = burst.is_none_or(|burst| time - bursts[burst] < 0.4 * SECOND);
            let busy = if is_inside || bursts.is_empty() { 1.0 } else { 0.05 };
            let size = (past / SECOND).sqrt() * busy;
            let (common, other) = (normal(random), normal(random));
            one += size * common;
            two += size * (self.correlation * common + own * other);
            if is_second {
                second.push((time + self.lead_ns) as i64, (two * 1e6) as i64);
            } else {
                first.push(time as i64, (one * 1e6) as i64);
            }
        }
        (first, second)
    }
}

/// Between 0 and 1, never either.
pub(crate) fn uniform(random: &mut Random) -> f64 {
    ((random.number() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// The times of a Poisson process before an end.
fn poisson(random: &mut Random, mean: f64, end: f64) -> Vec<f64> {
    let mut time = 0.0;
    let mut next = || {
        time -= mean * uniform(random).ln();
        time
    };
    std::iter::repeat_with(&mut next).take_while(|&time| time < end).collect()
}

/// Nearly normal, without functions that differ between machines: the sum of 12 uniform numbers.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
}
