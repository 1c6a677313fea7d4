//! Derives a verdict from replicates, with an error rate that was fixed beforehand.
//!
//! All arithmetic is on logarithms of ratios, where twice as slow and twice as fast are equally far
//! from no change. With the smallest effect of interest m:
//!
//! - `slower`: the interval lies beyond +m, and the test of "not beyond +m" rejects, corrected for
//!   the number of benchmarks; `faster` likewise beyond -m.
//! - `same`: the interval lies within -m and +m. A difference that was not found is not enough.
//! - `not enough power`: the measurements support none of these.
//!
//! Source: the two one-sided tests of Schuirmann (1987) for `same`; intervals and tests are those
//! of [`crate::statistics`].

use core::fmt;

use crate::statistics::{
    Estimate, Interval, bootstrap, hodges_lehmann, holm, order, power, sign, signed_rank,
};

/// The requirements of a comparison, fixed before it begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rules {
    /// The accepted chance of a wrong claim, over all looks together.
    pub alpha: f64,
    /// The required chance that the planned sample finds a true effect.
    pub power: f64,
    /// The smallest change that matters: 0.01 is 1%.
    pub smallest_effect: f64,
    /// The number of times that the result can be checked before it is final.
    pub looks: u32,
    /// Replicates before the sample is planned.
    pub pilot: usize,
    /// The most replicates.
    pub cap: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { alpha: 0.01, power: 0.9, smallest_effect: 0.01, looks: 4, pilot: 12, cap: 120 }
    }
}

impl Rules {
    /// The share of alpha that one look can spend (Bonferroni).
    pub(crate) fn alpha_share(&self) -> f64 {
        self.alpha / f64::from(self.looks)
    }

    /// The smallest effect on the logarithmic scale.
    fn margin(&self) -> f64 {
        self.smallest_effect.ln_1p()
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The candidate takes less time, by more than the smallest effect of interest.
    Faster,
    /// The candidate takes more time, by more than the smallest effect of interest.
    Slower,
    /// The difference is below the smallest effect of interest.
    Same,
    /// The measurements support none of these.
    NotEnoughPower,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::NotEnoughPower => "not enough power",
        })
    }
}

/// The statistics of one arm against the base.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Contrast {
    /// ln(arm / base): the Hodges-Lehmann estimate and its interval.
    pub ln_ratio: Estimate,
    /// Two-sided, of no difference at all: Wilcoxon's signed-rank test.
    pub p_wilcoxon: f64,
    /// The same by the sign test.
    pub p_sign: f64,
    /// Two-sided, of no difference beyond the smallest effect of interest.
    pub p_verdict: f64,
    /// The smallest true change that such an interval would have shown, with the power of the
    /// rules.
    pub detectable: f64,
}

/// For differences that are less symmetric than this, the more careful of two methods decides.
const SKEWED: f64 = 1.0;

/// Judges the logarithms of ratios, one per replicate; `None` with too few for the confidence.
pub(crate) fn contrast(ln_ratios: &[f64], rules: &Rules) -> Option<Contrast> {
    let alpha = rules.alpha_share();
    let margin = rules.margin();
    let skewed = order::skewness(ln_ratios).is_some_and(|skewness| skewness.abs() > SKEWED);
    let mut ln_ratio = hodges_lehmann::one_sample(ln_ratios, 1.0 - alpha)?;
    if skewed {
        let by_sign = sign::median_interval(ln_ratios, 1.0 - alpha)?;
        ln_ratio.interval = wider(ln_ratio.interval, by_sign);
    }
    let against = |shift: f64| {
        let (ranks, signs) = (signed_rank::test(ln_ratios, shift), sign::test(ln_ratios, shift));
        let careful = |ranks: f64, signs: f64| if skewed { ranks.max(signs) } else { ranks };
        (careful(ranks.p_greater, signs.p_greater), careful(ranks.p_less, signs.p_less))
    };
    let (beyond_upper, _) = against(margin);
    let (_, beyond_lower) = against(-margin);
    let standard_error = power::standard_error_of(&ln_ratio.interval);
    Some(Contrast {
        ln_ratio,
        p_wilcoxon: signed_rank::test(ln_ratios, 0.0).p_two_sided,
        p_sign: sign::test(ln_ratios, 0.0).p_two_sided,
        p_verdict: (2.0 * beyond_upper.min(beyond_lower)).min(1.0),
        detectable: power::detectable_beyond(
            standard_error,
            rules.smallest_effect,
            alpha,
            rules.power,
        ),
    })
}

/// Judges a quantity that a caller has measured itself, once in each replicate: the logarithms of
/// its ratios to the base, and those of the base measured again. Returns the reason of a verdict
/// that needs one.
pub fn judge_pairs(ln_ratios: &[f64], control: &[f64], rules: &Rules) -> (Verdict, Option<String>) {
    let [found, control] = [ln_ratios, control].map(|ratios| contrast(ratios, rules));
    let p_holm = corrected(&[found])[0];
    verdict(found.as_ref(), control.as_ref(), p_holm, rules)
}

fn wider(one: Interval, other: Interval) -> Interval {
    Interval {
        low: one.low.min(other.low),
        high: one.high.max(other.high),
        confidence: one.confidence.min(other.confidence),
    }
}

/// The p-values of a family of benchmarks, corrected so that a wrong claim in the whole family has
/// the error rate of a single one. Benchmarks without a contrast count as 1.
pub(crate) fn corrected(contrasts: &[Option<Contrast>]) -> Vec<f64> {
    let p_values: Vec<f64> = contrasts
        .iter()
        .map(|contrast| contrast.map_or(1.0, |contrast| contrast.p_verdict))
        .collect();
    holm::adjust(&p_values)
}

/// The verdict and its reason, if it needs one.
pub(crate) fn verdict(
    contrast: Option<&Contrast>,
    control: Option<&Contrast>,
    p_holm: f64,
    rules: &Rules,
) -> (Verdict, Option<String>) {
    let undecided = |reason: String| (Verdict::NotEnoughPower, Some(reason));
    let (Some(contrast), Some(control)) = (contrast, control) else {
        return undecided("too few replicates for this confidence".to_owned());
    };
    if rejects(control, rules) {
        return undecided(format!(
            "the control failed: the base against itself differs by {}, so this run proves nothing",
            percent(control.ln_ratio.value.exp())
        ));
    }
    decide(contrast, p_holm, rules)
}

/// The verdict of a contrast whose control passed.
pub(crate) fn decide(contrast: &Contrast, p_holm: f64, rules: &Rules) -> (Verdict, Option<String>) {
    let undecided = |reason: String| (Verdict::NotEnoughPower, Some(reason));
    let (Interval { low, high, .. }, margin) = (contrast.ln_ratio.interval, rules.margin());
    let significant = p_holm <= rules.alpha_share();
    if -margin < low && high < margin {
        return (Verdict::Same, None);
    }
    match (low > margin, high < -margin, significant) {
        (true, _, true) => (Verdict::Slower, None),
        (_, true, true) => (Verdict::Faster, None),
        (true, _, false) | (_, true, false) => undecided(format!(
            "beyond the limit by itself, but not after the correction for all benchmarks (p \
             {p_holm:.4})"
        )),
        _ if low > 0.0 || high < 0.0 => undecided(
            "a difference exists, but it may be below the smallest effect of interest".to_owned(),
        ),
        _ => undecided("the interval is too wide".to_owned()),
    }
}

/// Whether the control shows a difference, although there is none.
pub(crate) fn rejects(control: &Contrast, rules: &Rules) -> bool {
    control.p_wilcoxon.max(control.p_sign) <= rules.alpha_share()
}

/// The number of replicates that can distinguish no change from the smallest effect of interest,
/// estimated from a pilot. Uses the upper end of the pilot's spread: noise varies, and a pilot in a
/// quiet moment would plan a run that is too short.
pub(crate) fn replicates_needed(ln_ratios: &[f64], rules: &Rules, seed: u64) -> usize {
    const WINSORISED_SHARE: f64 = 0.1;
    const CONFIDENCE: f64 = 0.95;
    const REPETITIONS: usize = 1_000;
    let spread = |values: &[f64]| {
        order::winsorised_standard_deviation(values, WINSORISED_SHARE).unwrap_or(0.0)
    };
    let upper = bootstrap::upper_bound(ln_ratios, spread, CONFIDENCE, REPETITIONS, seed);
    let Some(upper) = upper else { return rules.cap };
    power::pairs_needed(upper, rules.smallest_effect, rules.alpha_share(), rules.power)
}

/// A ratio as a signed percentage: `+3.1%`.
pub(crate) fn percent(ratio: f64) -> String {
    format!("{:+.2}%", (ratio - 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` different values around `centre`, with this spread.
    fn around(centre: f64, spread: f64, count: usize) -> Vec<f64> {
        let middle = (count as f64 - 1.0) / 2.0;
        (0..count).map(|index| centre + spread * (index as f64 - middle) / middle).collect()
    }

    fn verdict_of(ln_ratios: &[f64], family: usize) -> (Verdict, Option<String>) {
        let rules = Rules::default();
        let one = contrast(ln_ratios, &rules);
        // The other benchmarks of the family show no difference.
        let nothing = contrast(&around(0.0, 0.001, 20), &rules);
        let mut all = vec![nothing; family];
        all[0] = one;
        verdict(one.as_ref(), nothing.as_ref(), corrected(&all)[0], &rules)
    }

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let cases = [
            (0.0, 0.004, Verdict::Same, None),
            (0.005, 0.003, Verdict::Same, None),
            (0.03, 0.01, Verdict::Slower, None),
            (-0.03, 0.01, Verdict::Faster, None),
            (0.01, 0.004, Verdict::NotEnoughPower, Some("a difference exists")),
            (-0.01, 0.004, Verdict::NotEnoughPower, Some("a difference exists")),
            (0.0, 0.05, Verdict::NotEnoughPower, Some("the interval is too wide")),
        ];
        for (centre, spread, expected, reason) in cases {
            let (verdict, said) = verdict_of(&around(centre, spread, 20), 1);
            assert_eq!(verdict, expected, "{centre} {spread}: {said:?}");
            let matches = match reason {
                None => said.is_none(),
                Some(reason) => said.as_ref().is_some_and(|said| said.contains(reason)),
            };
            assert!(matches, "{centre} {spread}: {said:?}");
        }
    }

    #[test]
    fn too_few_replicates_prove_nothing() {
        let (verdict, said) = verdict_of(&around(0.5, 0.001, 6), 1);
        assert_eq!(verdict, Verdict::NotEnoughPower);
        assert!(said.unwrap().contains("too few replicates"));
    }

    #[test]
    fn many_benchmarks_need_more_evidence() {
        // Twelve of twelve beyond the limit: p = 2 / 2^12, enough alone and not among six.
        let ln_ratios = around(0.03, 0.01, 12);
        assert_eq!(verdict_of(&ln_ratios, 1).0, Verdict::Slower);
        let (verdict, said) = verdict_of(&ln_ratios, 6);
        assert_eq!(verdict, Verdict::NotEnoughPower);
        assert!(said.unwrap().contains("not after the correction"));
    }

    #[test]
    fn a_control_that_differs_voids_the_run() {
        let rules = Rules::default();
        let slower = contrast(&around(0.03, 0.001, 20), &rules);
        let p_holm = corrected(&[slower])[0];
        let control = contrast(&around(0.002, 0.0005, 20), &rules);
        let (verdict, said) = verdict(slower.as_ref(), control.as_ref(), p_holm, &rules);
        assert_eq!(verdict, Verdict::NotEnoughPower);
        assert!(said.unwrap().contains("the control failed"));
    }

    #[test]
    fn more_noise_plans_more_replicates() {
        let rules = Rules::default();
        let quiet = replicates_needed(&around(0.0, 0.002, 12), &rules, 1);
        let noisy = replicates_needed(&around(0.0, 0.02, 12), &rules, 1);
        assert!(quiet <= 12 && noisy > 20, "{quiet} {noisy}");
    }
}
