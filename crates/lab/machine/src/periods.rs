//! Finds the period of interruptions that nothing explains: the tick of a host, for example.
//!
//! Times that recur every P nanoseconds have the same phase modulo P. The mean of their phases, as
//! unit vectors, then has a length near 1; for times without that period it is near 0 (Rayleigh's
//! test). A period folds well at its divisors too, so the longest one that explains as much is
//! reported.

use core::f64::consts::TAU;

/// Candidates in nanoseconds: ticks of 1,000, 300, 250 and 100 Hz, their multiples, and timers that
/// hosts use.
const CANDIDATES_NS: [f64; 13] = [
    250_000.0,
    500_000.0,
    1_000_000.0,
    2_000_000.0,
    2_500_000.0,
    10_000_000.0 / 3.0,
    4_000_000.0,
    5_000_000.0,
    8_000_000.0,
    10_000_000.0,
    20_000_000.0,
    100_000_000.0,
    1_000_000_000.0,
];

/// Fewer times have a mean vector by chance.
const FEWEST: usize = 20;

/// The length of the mean vector from which a period is one.
const STRONG: f64 = 0.5;

/// The chance of such a length without a period is about exp(-n R^2).
const LEAST_EVIDENCE: f64 = 12.0;

/// Shares of a length that count as equally strong.
const AS_STRONG: f64 = 0.9;

/// How well times fit one period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Period {
    /// The period in nanoseconds.
    pub period_ns: f64,
    /// The length of the mean vector, from 0 to 1.
    pub strength: f64,
    /// The number of times.
    pub count: usize,
    /// Whether this is the period of the times.
    pub is_found: bool,
}

/// Folds the times, in nanoseconds since any origin, at each candidate that occurs at least five
/// times in them.
pub fn fold(times_ns: &[u64]) -> Vec<Period> {
    let (Some(first), Some(last)) = (times_ns.iter().min(), times_ns.iter().max()) else {
        return Vec::new();
    };
    let span_ns = (last - first) as f64;
    let fits = CANDIDATES_NS.into_iter().filter(|period_ns| 5.0 * period_ns <= span_ns);
    let mut periods: Vec<Period> = fits
        .map(|period_ns| Period {
            period_ns,
            strength: strength(times_ns, *first, period_ns),
            count: times_ns.len(),
            is_found: false,
        })
        .collect();
    let is_strong = |one: &Period| {
        let evidence = one.count as f64 * one.strength * one.strength;
        one.count >= FEWEST && one.strength >= STRONG && evidence >= LEAST_EVIDENCE
    };
    let best = periods.iter().map(|one| one.strength).fold(0.0, f64::max);
    let longest = periods
        .iter_mut()
        .filter(|one| is_strong(one) && one.strength >= AS_STRONG * best)
        .max_by(|one, other| one.period_ns.total_cmp(&other.period_ns));
    if let Some(longest) = longest {
        longest.is_found = true;
    }
    periods
}

fn strength(times_ns: &[u64], origin: u64, period_ns: f64) -> f64 {
    let (mut x, mut y) = (0.0, 0.0);
    for time in times_ns {
        let phase = TAU * (((time - origin) as f64 / period_ns).fract());
        x += phase.cos();
        y += phase.sin();
    }
    x.hypot(y) / times_ns.len() as f64
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Random;

    use super::*;

    fn found(times: &[u64]) -> Option<f64> {
        fold(times).iter().find(|one| one.is_found).map(|one| one.period_ns)
    }

    #[test]
    fn a_tick_is_found_among_noise_and_not_its_divisors() {
        let mut random = Random::new(7);
        let tick = |n: u64| 5_000 + n * 10_000_000;
        let mut times: Vec<u64> = (0..400).map(|n| tick(n) + random.below(300_000)).collect();
        times.extend((0..100).map(|_| random.below(4_000_000_000)));
        assert_eq!(found(&times), Some(10_000_000.0));
    }

    #[test]
    fn a_faster_tick_is_not_taken_for_a_slow_one() {
        let times: Vec<u64> = (0..2_000).map(|n| n * 4_000_000).collect();
        assert_eq!(found(&times), Some(4_000_000.0));
    }

    #[test]
    fn times_without_a_period_have_none() {
        let mut random = Random::new(11);
        let times: Vec<u64> = (0..2_000).map(|_| random.below(5_000_000_000)).collect();
        assert_eq!(found(&times), None);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[5, 5, 5]), None);
    }
}
