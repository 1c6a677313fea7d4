//! The Hodges-Lehmann estimate: the centre of paired differences, with the interval of a rank test.
//!
//! Bounds: n values have n (n + 1) / 2 Walsh averages, all in memory: 16 MB for 2,000 values.

use super::order::{median_in_place, nth, refuse_nan};
use super::{Estimate, Interval, signed_rank};

/// The median of all means of two differences (the Walsh averages, each difference with itself
/// included), with its interval (J. L. Hodges and E. L. Lehmann, Annals of Mathematical Statistics
/// 34, 1963; the interval after J. W. Tukey, in M. Hollander and D. A. Wolfe, "Nonparametric
/// Statistical Methods", 3.3).
///
/// The interval is the inversion of [`signed_rank::test`]: a shift lies outside it if and only if
/// that test rejects the shift at 1 - `confidence` (with ties it might keep slightly more). Its
/// ends are Walsh averages, numbers k + 1 from below and from above, where k is the critical value
/// of the test. Up to 50 differences k is counted exactly. Beyond, it is floor(n (n + 1) / 4 - 1/2
/// - z sqrt(n (n + 1) (2 n + 1) / 24)), with the continuity correction of the test.
///
/// `None` if there are too few differences for the confidence: 95% takes 6, 99% takes 8, and 100%
/// is impossible.
pub fn one_sample(differences: &[f64], confidence: f64) -> Option<Estimate> {
    if !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let (below, alpha) = signed_rank::critical(differences.len(), 1.0 - confidence)?;
    let mut walsh = walsh_averages(differences);
    let value = median_in_place(&mut walsh)?;
    Some(Estimate { value, interval: between(&mut walsh, below as usize, 1.0 - alpha) })
}

/// The interval that leaves `below` of the values on either side.
pub(super) fn between(values: &mut [f64], below: usize, confidence: f64) -> Interval {
    let low = nth(values, below);
    let high = nth(values, values.len() - 1 - below);
    Interval { low, high, confidence }
}

fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    refuse_nan(differences);
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (place, &one) in differences.iter().enumerate() {
        averages.extend(differences[..=place].iter().map(|&other| one.midpoint(other)));
    }
    averages
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    fn skewed(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count).map(|_| (random.next_u64() as f64 / 2f64.powi(63)).powi(3) - 1.0).collect()
    }

    #[test]
    fn the_interval_is_the_inversion_of_the_test() {
        for (count, steps) in [(8, 400), (13, 400), (30, 400), (50, 300), (51, 300), (120, 150)] {
            for (seed, confidence) in [(1, 0.95), (2, 0.99), (3, 0.8), (4, 0.5)] {
                let values = skewed(count, seed * 1000 + count as u64);
                let estimate = one_sample(&values, confidence).unwrap();
                assert!(estimate.interval.contains(estimate.value));
                assert!(estimate.interval.confidence >= confidence);
                let (low, high) = (estimate.interval.low, estimate.interval.high);
                let hair = (high - low) * 1e-9;
                let grid = (0..steps).map(|i| low + (high - low) * (i as f64 / 99.3 - 1.0));
                for shift in grid.chain([low - hair, low + hair, high - hair, high + hair]) {
                    let kept = signed_rank::test(&values, shift).p_two_sided > 1.0 - confidence;
                    assert_eq!(estimate.interval.contains(shift), kept, "{count} {shift}");
                }
            }
        }
    }

    #[test]
    fn too_few_values_have_no_interval() {
        let values = skewed(8, 7);
        assert_eq!(one_sample(&[], 0.95), None);
        assert_eq!(one_sample(&values[..5], 0.95), None);
        for impossible in [1.0, 1.5, -0.5, f64::NAN] {
            assert_eq!(one_sample(&values, impossible), None);
        }
        assert!(one_sample(&values[..1], 0.0).is_some());
        assert!(one_sample(&values[..6], 0.95).is_some());
        assert_eq!(one_sample(&values[..7], 0.99), None);
        let estimate = one_sample(&values, 0.99).unwrap();
        assert_eq!(estimate.interval.confidence, 1.0 - 2.0 / 256.0);
    }

    #[test]
    fn two_thousand_values_are_not_too_many() {
        let values = skewed(2000, 3);
        let estimate = one_sample(&values, 0.99).unwrap();
        assert!(estimate.interval.contains(estimate.value));
        assert!(estimate.interval.high - estimate.interval.low < 0.5);
    }

    #[test]
    fn equal_values_are_their_own_estimate() {
        let estimate = one_sample(&[0.25; 10], 0.95).unwrap();
        assert_eq!(
            (estimate.value, estimate.interval.low, estimate.interval.high),
            (0.25, 0.25, 0.25)
        );
    }
}
