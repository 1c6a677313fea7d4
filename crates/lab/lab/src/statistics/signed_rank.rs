//! The Wilcoxon signed-rank test: are paired differences spread symmetrically around a shift?
//!
//! Where: [`super::hodges_lehmann`] inverts this test into an interval.
//! Bounds: exact up to 50 pairs, in at most 50 x 2,550 steps; beyond, a normal approximation in
//! the time of a sort.

use super::normal;
use super::ranks::Ranks;

/// Up to this many pairs the null distribution is counted exactly.
const EXACT_PAIRS: usize = 50;

/// The outcome of a signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The sum of the ranks of the differences above the shift.
    pub statistic: f64,
    /// Differences that count: those equal to the shift are dropped.
    pub pairs: usize,
    /// Whether the null distribution was counted exactly, not approximated.
    pub exact: bool,
    /// For "the differences are not centred on the shift".
    pub p_two_sided: f64,
    /// For "the differences are centred above the shift".
    pub p_greater: f64,
    /// For "the differences are centred below the shift".
    pub p_less: f64,
}

/// Tests whether the differences are symmetric around `shift` (F. Wilcoxon, Biometrics Bulletin 1,
/// 1945): exactly up to 50 pairs, otherwise by the normal approximation with corrections for ties
/// and continuity. Two-sided is twice the smaller tail. Without differences all p-values are 1.
///
/// Equal to `scipy.stats.wilcoxon` with its defaults, with one exception: more than 13 values with
/// ties or zeros, of which at most 50 are not zero. There scipy approximates, and this test counts
/// the distribution given the ties, as scipy does for up to 13.
pub fn test(differences: &[f64], shift: f64) -> Test {
    let ranked = Ranked::of(differences, shift);
    if ranked.pairs() > EXACT_PAIRS { ranked.approximate() } else { ranked.exact() }
}

/// Absolute differences, ranked.
struct Ranked {
    ranks: Ranks,
    /// Twice the sum of the ranks of positive differences.
    doubled_statistic: u64,
}

impl Ranked {
    fn of(differences: &[f64], shift: f64) -> Self {
        let shifted: Vec<f64> =
            differences.iter().map(|difference| difference - shift).filter(|&d| d != 0.0).collect();
        let sizes: Vec<f64> = shifted.iter().map(|difference| difference.abs()).collect();
        let ranks = Ranks::of(&sizes);
        let doubled_statistic = (shifted.iter().zip(&ranks.doubled))
            .filter_map(|(&difference, &rank)| (difference > 0.0).then_some(rank))
            .sum();
        Self { ranks, doubled_statistic }
    }

    fn pairs(&self) -> usize {
        self.ranks.doubled.len()
    }

    fn exact(&self) -> Test {
        let null = distribution(&self.ranks.doubled);
        let observed = self.doubled_statistic as usize;
        let p_less = null[..=observed].iter().sum::<f64>().min(1.0);
        // The distribution is symmetric; summing from the small end keeps small tails precise.
        let mirrored = null.len() - 1 - observed;
        let p_greater = null[..=mirrored].iter().sum::<f64>().min(1.0);
        self.outcome(true, p_greater, p_less)
    }

    fn approximate(&self) -> Test {
        let moments = Moments::of(self.pairs(), self.ranks.tie_term);
        let statistic = self.doubled_statistic as f64 / 2.0;
        let p_less = moments.at_most(statistic);
        let p_greater = moments.at_most(2.0 * moments.mean - statistic);
        self.outcome(false, p_greater, p_less)
    }

    fn outcome(&self, exact: bool, p_greater: f64, p_less: f64) -> Test {
        Test {
            statistic: self.doubled_statistic as f64 / 2.0,
            pairs: self.pairs(),
            exact,
            p_two_sided: (2.0 * p_greater.min(p_less)).min(1.0),
            p_greater,
            p_less,
        }
    }
}

/// Mean and standard deviation of the statistic without an effect.
struct Moments {
    mean: f64,
    deviation: f64,
}

impl Moments {
    fn of(pairs: usize, tie_term: f64) -> Self {
        let n = pairs as f64;
        let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - tie_term / 2.0) / 24.0;
        Self { mean: n * (n + 1.0) / 4.0, deviation: variance.sqrt() }
    }

    /// The probability of a statistic of at most `statistic`, including half the step to the next
    /// value: the continuity correction.
    fn at_most(&self, statistic: f64) -> f64 {
        if self.deviation == 0.0 {
            return 1.0;
        }
        normal::cumulative((statistic + 0.5 - self.mean) / self.deviation)
    }
}

/// The probability of every sum of a random subset of `ranks`, each rank included with probability
/// one half: the null distribution, computed by adding one rank after the other.
fn distribution(ranks: &[u64]) -> Vec<f64> {
    let mut probabilities = vec![0.0; ranks.iter().sum::<u64>() as usize + 1];
    probabilities[0] = 1.0;
    let mut highest = 0;
    for &rank in ranks {
        let rank = rank as usize;
        highest += rank;
        for sum in (0..=highest).rev() {
            let with = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = 0.5 * (probabilities[sum] + with);
        }
    }
    probabilities
}

/// The largest statistic of `pairs` pairs without ties whose two-sided p-value is at most `alpha`,
/// and that p-value; `None` if no statistic is that rare.
pub(super) fn critical(pairs: usize, alpha: f64) -> Option<(u64, f64)> {
    if pairs > EXACT_PAIRS {
        let moments = Moments::of(pairs, 0.0);
        let deviate = normal::quantile(alpha / 2.0);
        let guess = (moments.mean - 0.5 + deviate * moments.deviation).floor().max(-1.0) as i64;
        // The guess can be off by one if its roundings differ from those of the test.
        return (guess - 1..=guess + 1).rev().find_map(|statistic| {
            let p = 2.0 * moments.at_most(statistic as f64);
            (statistic >= 0 && p <= alpha).then_some((statistic as u64, p))
        });
    }
    let null = distribution(&(1..=pairs as u64).collect::<Vec<_>>());
    let mut found = None;
    let mut tail = 0.0;
    for (statistic, probability) in null.into_iter().enumerate() {
        tail += probability;
        if 2.0 * tail > alpha {
            break;
        }
        found = Some((statistic as u64, 2.0 * tail));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_distributions_are_counted_out() {
        let eighths = [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0].map(|count| count / 8.0);
        assert_eq!(distribution(&[1, 2, 3]), eighths);
        assert_eq!(distribution(&[]), [1.0]);
    }

    #[test]
    fn without_differences_nothing_is_rejected() {
        let approximate = Ranked::of(&[2.0; 5], 2.0).approximate();
        for test in [test(&[], 0.0), test(&[2.0; 5], 2.0), approximate] {
            assert_eq!((test.pairs, test.statistic), (0, 0.0));
            assert_eq!((test.p_two_sided, test.p_greater, test.p_less), (1.0, 1.0, 1.0));
        }
    }

    #[test]
    fn differences_all_on_one_side_are_as_rare_as_their_signs() {
        let test = test(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.0);
        assert_eq!((test.statistic, test.exact), (15.0, true));
        assert_eq!((test.p_greater, test.p_less, test.p_two_sided), (0.03125, 1.0, 0.0625));
    }

    #[test]
    fn ties_are_counted_exactly() {
        // Signs of three equal sizes: like a fair coin.
        let test = test(&[1.0, 1.0, 1.0], 0.0);
        assert_eq!((test.statistic, test.p_greater), (6.0, 0.125));
    }

    #[test]
    fn the_approximation_never_rounds_a_tail_to_nothing() {
        let rising: Vec<f64> = (1..=1500).map(f64::from).collect();
        let test = test(&rising, 0.0);
        assert!(!test.exact && test.p_greater > 0.0 && test.p_greater < 1e-200);
    }

    #[test]
    fn critical_values_are_the_largest_that_the_test_rejects() {
        assert_eq!(critical(5, 0.05), None);
        assert_eq!(critical(6, 0.05), Some((0, 0.03125)));
        // Printed tables: 52 for 20 pairs at 5%.
        assert_eq!(critical(20, 0.05).unwrap().0, 52);
        assert_eq!(critical(51, 0.0), None);
    }
}
