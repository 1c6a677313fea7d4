//! The Mann-Whitney test and the shift between two samples that were not measured in pairs.
//!
//! Where: historical data only. Two arms measured one after the other differ by the drift of the
//! machine too, which no test of this kind can tell from an effect; see
//! `tests/suite/statistics_coverage.rs` for how badly that goes.

use super::Estimate;
use super::hodges_lehmann::between;
use super::normal;
use super::order::{median_in_place, refuse_nan};
use super::ranks::Ranks;

/// With at most this many values in the smaller sample the null distribution is counted out.
pub const EXACT_SMALLER: usize = 8;

/// The outcome of a Mann-Whitney test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// In how many pairs the value of the first sample is the larger; ties count one half.
    pub statistic: f64,
    /// Whether the null distribution was counted out, not approximated.
    pub exact: bool,
    /// For "the samples differ in location".
    pub p_two_sided: f64,
    /// For "the first sample lies higher".
    pub p_greater: f64,
    /// For "the first sample lies lower".
    pub p_less: f64,
}

/// Tests whether values of `first` tend to be larger or smaller than those of `second`
/// (H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18, 1947). `None` if a sample
/// is empty.
///
/// As `scipy.stats.mannwhitneyu` with its defaults: exact without ties if one sample has at most
/// [`EXACT_SMALLER`] values, else a normal approximation with corrections for ties and continuity.
/// Where the number of arrangements passes 2^120 (8 values against some 120,000) this approximates
/// and scipy does not.
pub fn test(first: &[f64], second: &[f64]) -> Option<Test> {
    let ranked = Ranked::of(first, second)?;
    let few = first.len().min(second.len()) <= EXACT_SMALLER;
    let null = (few && !ranked.ranks.has_ties()).then(|| Null::of(first.len(), second.len()));
    Some(match null.flatten() {
        Some(null) => ranked.outcome(true, |count| null.at_most(count as usize)),
        None => ranked.approximate(),
    })
}

/// The same by the normal approximation at any size.
pub fn approximate(first: &[f64], second: &[f64]) -> Option<Test> {
    Some(Ranked::of(first, second)?.approximate())
}

/// How much higher `second` lies than `first`: the median of all differences second - first, with
/// the interval that inverts [`test()`] (J. L. Hodges and E. L. Lehmann, 1963; the interval after
/// L. E. Moses, in M. Hollander and D. A. Wolfe, "Nonparametric Statistical Methods", 4.3).
/// `None` if so few values cannot reach the confidence. Holds all n x m differences at once.
pub fn shift(first: &[f64], second: &[f64], confidence: f64) -> Option<Estimate> {
    refuse_nan(first);
    refuse_nan(second);
    if !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let (below, alpha) = critical(first.len(), second.len(), 1.0 - confidence)?;
    let mut differences: Vec<f64> =
        second.iter().flat_map(|above| first.iter().map(move |under| above - under)).collect();
    let value = median_in_place(&mut differences)?;
    Some(Estimate { value, interval: between(&mut differences, below, 1.0 - alpha) })
}

/// Both samples, ranked together.
struct Ranked {
    ranks: Ranks,
    sizes: (usize, usize),
    statistic: f64,
}

impl Ranked {
    fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.is_empty() || second.is_empty() {
            return None;
        }
        let ranks = Ranks::of(&[first, second].concat());
        let doubled: u64 = ranks.doubled[..first.len()].iter().sum();
        let lowest = (first.len() * (first.len() + 1)) as u64;
        let statistic = (doubled - lowest) as f64 / 2.0;
        Some(Self { ranks, sizes: (first.len(), second.len()), statistic })
    }

    fn approximate(&self) -> Test {
        let moments = Moments::of(self.sizes, self.ranks.tie_term);
        self.outcome(false, |count| moments.at_most(count))
    }

    /// `at_most` is the null distribution, which is symmetric: both tails are asked as lower ones.
    fn outcome(&self, exact: bool, at_most: impl Fn(f64) -> f64) -> Test {
        let all = (self.sizes.0 * self.sizes.1) as f64;
        let (p_less, p_greater) = (at_most(self.statistic), at_most(all - self.statistic));
        let p_two_sided = (2.0 * p_less.min(p_greater)).min(1.0);
        Test { statistic: self.statistic, exact, p_two_sided, p_greater, p_less }
    }
}

/// Mean and standard deviation of the statistic if the samples do not differ.
struct Moments {
    mean: f64,
    deviation: f64,
}

impl Moments {
    fn of(sizes: (usize, usize), tie_term: f64) -> Self {
        let (n, m) = (sizes.0 as f64, sizes.1 as f64);
        let all = n + m;
        let variance = n * m / 12.0 * ((all + 1.0) - tie_term / (all * (all - 1.0)));
        Self { mean: n * m / 2.0, deviation: variance.max(0.0).sqrt() }
    }

    fn at_most(&self, statistic: f64) -> f64 {
        if self.deviation == 0.0 {
            return 1.0;
        }
        normal::cumulative((statistic + 0.5 - self.mean) / self.deviation)
    }
}

/// The null distribution without ties: how many arrangements have each statistic up to the middle.
struct Null {
    arrangements: Vec<i128>,
    total: f64,
    most: usize,
}

impl Null {
    /// Counts arrangements as coefficients of the Gaussian binomial, the product over i of
    /// (1 - x^(m + i)) / (1 - x^i) (G. E. Andrews, "The Theory of Partitions", 1976, chapter 3), in
    /// whole numbers. `None` where these would not fit.
    fn of(n: usize, m: usize) -> Option<Self> {
        let (few, many) = (n.min(m), n.max(m));
        let mut total = 1.0;
        for i in 1..=few {
            total *= (many + i) as f64 / i as f64;
        }
        if total > 2f64.powi(120) {
            return None;
        }
        let mut arrangements = vec![0i128; few * many / 2 + 1];
        arrangements[0] = 1;
        for i in 1..=few {
            for place in (many + i..arrangements.len()).rev() {
                arrangements[place] -= arrangements[place - many - i];
            }
            for place in i..arrangements.len() {
                arrangements[place] += arrangements[place - i];
            }
        }
        Some(Self { arrangements, total, most: few * many })
    }

    fn at_most(&self, statistic: usize) -> f64 {
        let half = self.arrangements.len();
        if statistic >= self.most {
            1.0
        } else if statistic < half {
            self.arrangements[..=statistic].iter().sum::<i128>() as f64 / self.total
        } else {
            1.0 - self.at_most(self.most - statistic - 1)
        }
    }
}

/// The largest statistic without ties whose two-sided p-value is at most `alpha`, and that p-value.
fn critical(n: usize, m: usize, alpha: f64) -> Option<(usize, f64)> {
    let null = (n.min(m) <= EXACT_SMALLER).then(|| Null::of(n, m)).flatten();
    let moments = Moments::of((n, m), 0.0);
    let p = |statistic: usize| match &null {
        Some(null) => 2.0 * null.at_most(statistic),
        None => 2.0 * moments.at_most(statistic as f64),
    };
    // P-values rise with the statistic: halve the range between one rejected and one kept.
    let (mut rejected, mut kept) = (None::<usize>, n * m / 2);
    while rejected.map_or(0, |found| found + 1) < kept {
        let from = rejected.map_or(0usize, |found| found + 1);
        let middle = from.midpoint(kept - 1);
        if p(middle) <= alpha {
            rejected = Some(middle);
        } else {
            kept = middle;
        }
    }
    rejected.map(|statistic| (statistic, p(statistic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_distributions_are_counted_out() {
        let null = Null::of(2, 3).unwrap();
        // 1 1 2 2 2 1 1 of 10.
        assert_eq!(null.arrangements, [1, 1, 2, 2]);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6].map(|u| null.at_most(u)),
            [0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0]
        );
        assert!(Null::of(8, 1_000_000).is_none());
    }

    #[test]
    fn an_empty_sample_has_no_test() {
        assert_eq!(test(&[], &[1.0]), None);
        assert_eq!(test(&[1.0], &[]), None);
        assert_eq!(shift(&[], &[], 0.95), None);
    }

    #[test]
    fn equal_values_are_never_rejected() {
        let test = test(&[1.0; 20], &[1.0; 30]).unwrap();
        assert_eq!((test.statistic, test.exact, test.p_two_sided), (300.0, false, 1.0));
    }

    #[test]
    fn samples_apart_have_a_small_p_value_but_not_none() {
        let low: Vec<f64> = (0..600).map(f64::from).collect();
        let high: Vec<f64> = (5000..5400).map(f64::from).collect();
        let test = test(&low, &high).unwrap();
        assert!(test.p_less > 0.0 && test.p_less < 1e-150, "{}", test.p_less);
        assert_eq!(test.p_greater, 1.0);
    }

    #[test]
    fn the_shift_is_that_of_the_second_sample_and_inverts_the_test() {
        for (n, m) in [(4, 4), (5, 9), (8, 40), (12, 15), (40, 30)] {
            let first: Vec<f64> =
                (0..n).map(|i| f64::from(i * i % 37) + 1e-3 * f64::from(i)).collect();
            let second: Vec<f64> =
                (0..m).map(|i| f64::from(i * i * 3 % 41) + 7.0 + 1.7e-5 * f64::from(i)).collect();
            let estimate = shift(&first, &second, 0.95).unwrap();
            assert!(estimate.interval.contains(estimate.value));
            let (low, high) = (estimate.interval.low, estimate.interval.high);
            for step in 0..200 {
                let by = low + (high - low) * (f64::from(step) / 99.3 - 0.5);
                let moved: Vec<f64> = first.iter().map(|value| value + by).collect();
                let kept = test(&moved, &second).unwrap().p_two_sided > 1.0 - 0.95;
                assert_eq!(estimate.interval.contains(by), kept, "{n} {m} {by}");
            }
        }
        assert_eq!(shift(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.95), None);
    }
}
