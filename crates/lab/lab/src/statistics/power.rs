//! The pairs that a comparison needs, and the effects that it can detect: power, before and after.
//!
//! Effects are ratios minus one (0.02 is 2% slower); spreads are standard deviations of
//! differences of logarithms, one difference per pair or replicate. With z_q the normal quantile:
//!
//! - to reject "no effect": n = 1.15 (z_{1-alpha/2} + z_power)^2 sd^2 / ln(1 + effect)^2, the
//!   sample size of a paired z-test times 1.15. A rank test needs at most 1/0.864 = 1.157 times the
//!   sample of a t-test (J. L. Hodges and E. L. Lehmann, Annals of Mathematical Statistics 27,
//!   1956), and 15% is the customary allowance (E. L. Lehmann, "Nonparametrics", 1975). Below about
//!   30 pairs intervals are wider than the normal formula assumes, and power is a few percent too
//!   low (`tests/suite/statistics_coverage.rs`: 88% of 90% with 17).
//! - to detect "beyond m", where the interval must lie entirely beyond the smallest effect of
//!   interest: the true effect must exceed m by (z_{1-alpha/2} + z_power) standard errors.

use super::Interval;
use super::normal;

/// The factor of pairs for a rank test compared to a test of means.
const RANK_TEST_ALLOWANCE: f64 = 1.15;

/// The pairs needed to detect `effect` with probability `power` at two-sided level `alpha`.
/// `usize::MAX` if no number suffices: without an effect, or for an effect that is not a ratio.
pub fn pairs_needed(sd: f64, effect: f64, alpha: f64, power: f64) -> usize {
    let log_effect = effect.ln_1p();
    let pairs = RANK_TEST_ALLOWANCE * (deviates(alpha, power) * sd / log_effect).powi(2);
    // The conversion saturates; NaN, from invalid parameters, must not become a small number.
    if pairs.is_nan() { usize::MAX } else { (pairs.ceil() as usize).max(1) }
}

/// The probability that `pairs` pairs detect `effect` at level `alpha`, in its true direction.
pub fn power_of(sd: f64, pairs: usize, effect: f64, alpha: f64) -> f64 {
    let effects = effect.ln_1p().abs() / standard_error(sd, pairs);
    normal::cumulative(effects - normal::quantile(1.0 - alpha / 2.0))
}

/// The smallest effect whose interval lies entirely beyond `m` with probability `power`:
/// (1 + m) exp((z_{1-alpha/2} + z_power) se) - 1. `standard_error` is that of the estimated log
/// ratio, see [`standard_error_of`].
pub fn detectable_beyond(standard_error: f64, m: f64, alpha: f64, power: f64) -> f64 {
    (m.ln_1p() + deviates(alpha, power) * standard_error).exp_m1()
}

/// The standard error of an interval of a log ratio, as if its estimate were normal.
pub fn standard_error_of(interval: &Interval) -> f64 {
    let deviate = normal::quantile(0.5 + interval.confidence / 2.0);
    (interval.high - interval.low) / (2.0 * deviate)
}

fn standard_error(sd: f64, pairs: usize) -> f64 {
    sd * (RANK_TEST_ALLOWANCE / pairs as f64).sqrt()
}

fn deviates(alpha: f64, power: f64) -> f64 {
    normal::quantile(1.0 - alpha / 2.0) + normal::quantile(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_questions_agree() {
        let (sd, alpha, power) = (0.018, 0.01, 0.9);
        let pairs = pairs_needed(sd, 0.01, alpha, power);
        // 1.15 * (2.5758 + 1.2816)^2 * 0.018^2 / 0.00995^2
        assert_eq!(pairs, 56);
        let detectable = |pairs| detectable_beyond(standard_error(sd, pairs), 0.0, alpha, power);
        assert!(detectable(pairs) <= 0.01);
        assert!(detectable(pairs - 1) > 0.01);
        let effect = detectable(40);
        assert!((power_of(sd, 40, effect, alpha) - power).abs() < 1e-12);
    }

    #[test]
    fn beyond_the_smallest_effect_of_interest_takes_more() {
        let effect = detectable_beyond(0.003, 0.01, 0.05, 0.9);
        assert!(effect > 0.01 && effect > detectable_beyond(0.003, 0.0, 0.05, 0.9));
        // The distance to 1% is a sum of two deviates, in standard errors.
        let distance = (effect.ln_1p() - 0.01_f64.ln_1p()) / 0.003;
        assert!((distance - 1.959_964 - 1.281_552).abs() < 1e-6);
    }

    #[test]
    fn no_number_of_pairs_sees_nothing() {
        assert_eq!(pairs_needed(0.01, 0.0, 0.05, 0.9), usize::MAX);
        assert_eq!(pairs_needed(0.01, -2.0, 0.05, 0.9), usize::MAX);
        assert_eq!(pairs_needed(0.0, 0.01, 0.05, 0.9), 1);
        assert_eq!(pairs_needed(0.0, 0.0, 0.05, 0.9), usize::MAX);
    }

    #[test]
    fn an_interval_gives_its_standard_error() {
        let interval = Interval { low: -0.0196, high: 0.0196, confidence: 0.95 };
        assert!((standard_error_of(&interval) - 0.01).abs() < 1e-6);
    }
}
