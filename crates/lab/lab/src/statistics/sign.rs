//! The sign test and its interval of a median: they assume only independence.
//!
//! Bounds: linear time in the number of values, and exact for every number.

use super::Interval;
use super::order::{refuse_nan, sort};

/// The outcome of a sign test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// Differences above the shift.
    pub above: usize,
    /// Differences below the shift. Differences equal to it are dropped.
    pub below: usize,
    /// For "the median is not the shift".
    pub p_two_sided: f64,
    /// For "the median is above the shift".
    pub p_greater: f64,
    /// For "the median is below the shift".
    pub p_less: f64,
}

/// Tests whether the median of the differences is `shift`, by counting (J. Arbuthnott, 1710): an
/// exact binomial test of one half, two-sided as twice the smaller tail. Without differences all
/// p-values are 1.
pub fn test(differences: &[f64], shift: f64) -> Test {
    refuse_nan(differences);
    let above = differences.iter().filter(|&&difference| difference > shift).count();
    let below = differences.iter().filter(|&&difference| difference < shift).count();
    let p_greater = at_most(above + below, below);
    let p_less = at_most(above + below, above);
    Test { above, below, p_two_sided: (2.0 * p_greater.min(p_less)).min(1.0), p_greater, p_less }
}

/// The interval of the median between two order statistics (W. R. Thompson, Annals of Mathematical
/// Statistics 7, 1936): exactly the shifts that the sign test does not reject. Its confidence is at
/// least `confidence`; `None` if the whole range of the values does not reach it.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let alpha = 1.0 - confidence;
    let outside = |below: usize| 2.0 * at_most(values.len(), below);
    // The tail grows with the count, so a binary search finds where it exceeds alpha.
    let (mut rejected, mut kept) = (None, values.len().div_ceil(2));
    while rejected.map_or(0, |below| below + 1) < kept {
        let middle = rejected.map_or(0usize, |below| below + 1).midpoint(kept - 1);
        if outside(middle) <= alpha { rejected = Some(middle) } else { kept = middle }
    }
    let cut = rejected?;
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    Some(Interval {
        low: sorted[cut],
        high: sorted[values.len() - 1 - cut],
        confidence: 1.0 - outside(cut),
    })
}

/// The probability of at most `most` heads in `tosses` tosses of a fair coin.
fn at_most(tosses: usize, most: usize) -> f64 {
    if most >= tosses {
        return 1.0;
    }
    if 2 * most >= tosses {
        return 1.0 - at_most(tosses, tosses - most - 1);
    }
    // Terms relative to the last one, downwards, until they are negligible.
    let (mut term, mut sum) = (1.0, 1.0);
    for heads in (1..=most).rev() {
        term *= heads as f64 / (tosses - heads + 1) as f64;
        sum += term;
        if term < f64::EPSILON * 1e-3 {
            break;
        }
    }
    exactly(tosses, most) * sum
}

/// The probability of exactly `heads` heads: a product that alternates factors 1/2 with those of
/// the binomial coefficient, so that no intermediate value overflows.
fn exactly(tosses: usize, heads: usize) -> f64 {
    let mut halves = tosses;
    let mut product = 1.0;
    for factor in 1..=heads {
        product *= (tosses - heads + factor) as f64 / factor as f64;
        while product > 1.0 && halves > 0 {
            product *= 0.5;
            halves -= 1;
        }
    }
    // In two steps, because 2^-halves can underflow where its product does not.
    let first = halves.min(1000);
    product * libm::ldexp(1.0, -(first as i32)) * 0.5f64.powi((halves - first).min(2000) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fair_coin_is_counted_exactly() {
        assert_eq!(at_most(4, 0), 1.0 / 16.0);
        assert_eq!(at_most(4, 1), 5.0 / 16.0);
        assert_eq!(at_most(4, 2), 11.0 / 16.0);
        assert_eq!(at_most(4, 4), 1.0);
        assert_eq!(at_most(0, 0), 1.0);
        assert!((at_most(100_001, 50_000) - 0.5).abs() < 1e-10);
        assert_eq!(at_most(100_000, 10), 0.0);
    }

    #[test]
    fn differences_at_the_shift_do_not_count() {
        let test = test(&[1.0, 1.0, 2.0, 3.0, 0.0], 1.0);
        assert_eq!((test.above, test.below), (2, 1));
        assert_eq!((test.p_greater, test.p_less, test.p_two_sided), (0.5, 0.875, 1.0));
    }

    #[test]
    fn without_differences_nothing_is_rejected() {
        assert_eq!(test(&[], 0.0).p_two_sided, 1.0);
        assert_eq!(test(&[0.0; 9], 0.0).p_greater, 1.0);
    }

    #[test]
    fn the_interval_needs_enough_values_and_says_what_it_reached() {
        assert_eq!(median_interval(&[], 0.5), None);
        let values: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(median_interval(&values[..5], 0.95), None);
        let interval = median_interval(&values, 0.95).unwrap();
        assert_eq!((interval.low, interval.high, interval.confidence), (1.0, 6.0, 0.96875));
    }

    #[test]
    fn the_interval_holds_the_shifts_that_the_test_keeps() {
        let values: Vec<f64> = (0..23u32).map(|i| f64::from(i * i % 29)).collect();
        let interval = median_interval(&values, 0.95).unwrap();
        for step in -2..60 {
            let shift = f64::from(step) / 2.0 + 0.25;
            assert_eq!(interval.contains(shift), test(&values, shift).p_two_sided > 0.05);
        }
    }
}
