//! Tests the error rates of comparisons on this machine: many of them, with known true effects.
//!
//! Every experiment is a complete comparison with its own processes, against arms that are slower
//! by 0% (the same program again), 2% and 5%, see [`crate::truth`]. The counts are: rejections of
//! the tests, intervals that contain the truth, and verdicts.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    Rng,
    compare::{
        arm::{ArmError, Subject},
        judge::{self, Rules, Verdict},
        replicate::{self, Design},
    },
    statistics::{hodges_lehmann, normal, order, power, sign, signed_rank},
};

/// The arms besides the base, and by how much each is slower.
pub const TRUTHS: [(&str, f64); 3] =
    [("truth/base", 0.0), ("truth/plus-2", 0.02), ("truth/plus-5", 0.05)];

/// Nominal rates of the counts.
pub const LEVELS: [f64; 2] = [0.05, 0.01];

/// The plan of the experiments.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of experiments.
    pub experiments: usize,
    /// Replicates in each.
    pub replicates: usize,
    /// The smallest effect of interest of the verdicts.
    pub smallest_effect: f64,
    /// How a replicate is measured.
    pub design: Design,
    /// Determines the orders of turns.
    pub seed: u64,
}

/// The counts for one true effect.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The true change: 0.02 is 2% slower.
    pub truth: f64,
    /// Counts for each of [`LEVELS`].
    pub levels: [LevelTally; 2],
    /// The number of each verdict, at a single look: faster, slower, same, not enough power.
    pub verdicts: [u64; 4],
    /// The estimates, as ratios.
    pub estimates: Vec<f64>,
    /// The spread of replicates in each experiment: the standard deviation of their logarithms.
    pub spreads: Vec<f64>,
}

/// Counts at one nominal rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LevelTally {
    /// Wilcoxon's test rejected "no difference".
    pub wilcoxon: u64,
    /// The sign test rejected it.
    pub sign: u64,
    /// The interval contained the truth.
    pub covered: u64,
    /// Experiments large enough for this level.
    pub experiments: u64,
}

/// Runs the experiments with `program`, which must have the suite of [`crate::truth`].
pub fn prove(
    program: &Path,
    arguments: &[String],
    plan: &Plan,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Tally>, ArmError> {
    let subject = |name: &str| Subject {
        label: name.to_owned(),
        revision: None,
        program: program.to_owned(),
        arguments: arguments.to_vec(),
        benchmark: name.to_owned(),
    };
    let base = subject(TRUTHS[0].0);
    let others = TRUTHS.map(|(name, _)| subject(name));
    let subjects: Vec<&Subject> = std::iter::once(&base).chain(&others).collect();
    let mut tallies: Vec<Tally> = TRUTHS.iter().map(|&(_, truth)| Tally::of(truth)).collect();
    let (mut rng, mut cut) = (Rng::new(plan.seed), None);
    for done in 0..plan.experiments {
        let mut ln_ratios = vec![Vec::with_capacity(plan.replicates); TRUTHS.len()];
        for _ in 0..plan.replicates {
            let arms = replicate::measure(&subjects, &plan.design, &mut cut, &mut rng)?;
            let Some((base, others)) = arms.split_first() else { continue };
            for (values, arm) in ln_ratios.iter_mut().zip(others) {
                values.push(arm.ln_ratio_to(base));
            }
        }
        for (tally, values) in tallies.iter_mut().zip(&ln_ratios) {
            tally.count(values, plan);
        }
        progress(done + 1);
    }
    Ok(tallies)
}

impl Tally {
    fn of(truth: f64) -> Self {
        Self {
            truth,
            levels: [LevelTally::default(); 2],
            verdicts: [0; 4],
            estimates: Vec::new(),
            spreads: Vec::new(),
        }
    }

    fn count(&mut self, ln_ratios: &[f64], plan: &Plan) {
        let (wilcoxon, sign) = (signed_rank::test(ln_ratios, 0.0), sign::test(ln_ratios, 0.0));
        for (level, tally) in LEVELS.into_iter().zip(&mut self.levels) {
            let Some(estimate) = hodges_lehmann::one_sample(ln_ratios, 1.0 - level) else {
                continue;
            };
            tally.experiments += 1;
            tally.wilcoxon += u64::from(wilcoxon.p_two_sided <= level);
            tally.sign += u64::from(sign.p_two_sided <= level);
            tally.covered += u64::from(estimate.interval.contains(self.truth.ln_1p()));
        }
        if let Some(estimate) = hodges_lehmann::one_sample(ln_ratios, 0.5) {
            self.estimates.push(estimate.value.exp());
        }
        self.spreads.extend(order::winsorised_standard_deviation(ln_ratios, 0.1));
        let rules = Rules { smallest_effect: plan.smallest_effect, looks: 1, ..Rules::default() };
        let verdict = judge::contrast(ln_ratios, &rules)
            .map_or(Verdict::NotEnoughPower, |contrast| {
                judge::decide(&contrast, contrast.p_verdict, &rules).0
            });
        self.verdicts[match verdict {
            Verdict::Faster => 0,
            Verdict::Slower => 1,
            Verdict::Same => 2,
            Verdict::NotEnoughPower => 3,
        }] += 1;
    }

    /// The share of experiments whose tests should reject. Without a difference it is the nominal
    /// rate. Otherwise it is the mean over experiments of the power that follows from each one's
    /// own spread. Spreads differ between experiments, because noise varies.
    pub fn expected_rejections(&self, level: f64, replicates: usize) -> f64 {
        if self.truth == 0.0 || self.spreads.is_empty() {
            return level;
        }
        let powers = self.spreads.iter();
        let sum: f64 =
            powers.map(|&spread| power::power_of(spread, replicates, self.truth, level)).sum();
        sum / self.spreads.len() as f64
    }

    /// The median estimate, as a ratio.
    pub fn median_estimate(&self) -> Option<f64> {
        order::median(&self.estimates)
    }

    /// As JSON, for `--format json`.
    pub fn to_json(&self, plan: &Plan) -> Value {
        let level = |(nominal, tally): (f64, &LevelTally)| {
            json!({
                "nominal": nominal,
                "experiments": tally.experiments,
                "wilcoxon_rejects": tally.wilcoxon,
                "sign_rejects": tally.sign,
                "expected_share": self.expected_rejections(nominal, plan.replicates),
                "interval_holds_truth": tally.covered,
            })
        };
        json!({
            "truth": self.truth,
            "experiments": plan.experiments,
            "replicates": plan.replicates,
            "levels": LEVELS.into_iter().zip(&self.levels).map(level).collect::<Vec<_>>(),
            "median_estimate": self.median_estimate(),
            "median_spread": order::median(&self.spreads),
            "smallest_effect": plan.smallest_effect,
            "verdicts": {
                "faster": self.verdicts[0],
                "slower": self.verdicts[1],
                "same": self.verdicts[2],
                "not enough power": self.verdicts[3],
            },
        })
    }
}

/// Whether `count` of `experiments` is within three standard deviations above the share `nominal`.
pub fn within_chance(count: u64, experiments: u64, nominal: f64) -> bool {
    let expected = nominal * experiments as f64;
    let deviation = (expected * (1.0 - nominal)).sqrt();
    count as f64 <= expected + 3.0 * deviation
}

/// The 95% interval of a share, observed as `count` of `experiments`.
///
/// Source: Wilson (1927), the score interval.
pub fn share_interval(count: u64, experiments: u64) -> (f64, f64) {
    if experiments == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (experiments as f64, normal::quantile(0.975));
    let share = count as f64 / n;
    let centre = share + z * z / (2.0 * n);
    let width = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (((centre - width) / scale).max(0.0), ((centre + width) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // 8 of 10: 0.4902 to 0.9433, from the formula in exact arithmetic.
        let (low, high) = share_interval(8, 10);
        assert!((low - 0.490_16).abs() < 1e-4 && (high - 0.943_31).abs() < 1e-4, "{low} {high}");
        assert_eq!(share_interval(0, 300).0, 0.0);
        assert_eq!(share_interval(0, 0), (0.0, 1.0));
    }

    #[test]
    fn more_than_chance_is_found_out() {
        assert!(within_chance(3, 300, 0.01) && within_chance(8, 300, 0.01));
        assert!(!within_chance(9, 300, 0.01) && !within_chance(60, 300, 0.05));
    }
}
