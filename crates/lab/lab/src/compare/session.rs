//! A complete comparison: pilot, planned sample, looks, and the joint verdicts of all benchmarks.

use crate::{
    Rng,
    compare::{
        arm::{ArmError, Subject},
        judge::{self, Contrast, Rules, Verdict},
        replicate::{self, ArmReplicate, Design},
    },
    sampler::Cut,
    statistics::{Estimate, bootstrap, order},
};

/// Two subjects to compare, under one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The benchmark's name in the results.
    pub name: String,
    /// The reference.
    pub base: Subject,
    /// The subject to judge.
    pub candidate: Subject,
}

/// The progress of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The benchmark whose replicate was just measured.
    pub name: &'a str,
    /// Replicates measured so far, all benchmarks together.
    pub done: usize,
    /// Replicates planned so far.
    pub planned: usize,
}

/// The outcome for one pair.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The compared pair.
    pub pair: Pair,
    /// The rules of the comparison.
    pub rules: Rules,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, if the verdict needs one.
    pub reason: Option<String>,
    /// The candidate against the base; `None` if there were too few replicates.
    pub contrast: Option<Contrast>,
    /// The base against itself.
    pub control: Option<Contrast>,
    /// `p_verdict` of the contrast, corrected for the number of benchmarks.
    pub p_holm: f64,
    /// The number of looks at the result.
    pub looks: u32,
    /// The cut of time into samples.
    pub cut: Option<Cut>,
    /// The base's median in each replicate, in ns for one operation.
    pub base_ns: Vec<f64>,
    /// The same of the candidate.
    pub candidate_ns: Vec<f64>,
    /// The tails of both arms: reported, and never judged.
    pub quantiles: Vec<QuantileRatio>,
}

/// One quantile of all samples of both arms.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuantileRatio {
    /// `p99` is the 99th percentile.
    pub name: &'static str,
    /// Of the base's samples, in ns for one operation.
    pub base_ns: f64,
    /// Of the candidate's samples.
    pub candidate_ns: f64,
    /// candidate / base, with its interval.
    pub ratio: Estimate,
}

/// Compares all `pairs`, in rounds, so that changes of the machine affect all of them alike.
pub fn compare(
    pairs: Vec<Pair>,
    rules: &Rules,
    design: &Design,
    seed: u64,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Compared>, ArmError> {
    let mut rng = Rng::new(seed);
    let mut measure = |Pair { base, candidate, .. }: &Pair, cut: &mut Option<Cut>| {
        replicate::measure(&[base, base, candidate], design, cut, &mut rng)
    };
    compare_by(pairs, rules, &mut measure, seed, progress)
}

/// Measures a replicate of a pair: base, control, candidate.
type Measure<'a> = dyn FnMut(&Pair, &mut Option<Cut>) -> Result<Vec<ArmReplicate>, ArmError> + 'a;

/// The procedure, for any source of replicates.
fn compare_by(
    pairs: Vec<Pair>,
    rules: &Rules,
    measure: &mut Measure<'_>,
    seed: u64,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Compared>, ArmError> {
    let mut all: Vec<Gathered> = pairs.into_iter().map(|pair| Gathered::new(pair, rules)).collect();
    let mut round = 0;
    loop {
        gather(&mut all, measure, progress)?;
        round += 1;
        let judged = judge_all(&all, rules);
        let mut any_left = false;
        for (one, judged) in all.iter_mut().zip(&judged) {
            one.looks = if one.decided { one.looks } else { round };
            one.decided = judged.verdict != Verdict::NotEnoughPower;
            if !one.decided && one.base.len() < rules.cap {
                let twice = one.base.len() * 2;
                one.target = match round {
                    // The pilot plans the sample if it could not decide.
                    1 => judge::replicates_needed(&one.ln_ratios(), rules, seed).max(twice),
                    _ => twice,
                }
                .min(rules.cap);
                any_left = true;
            }
        }
        if !any_left || round == rules.looks {
            let results = all.into_iter().zip(judged);
            return Ok(results.map(|(one, judged)| conclude(one, judged, rules, seed)).collect());
        }
    }
}

/// The measurements of one pair so far.
struct Gathered {
    pair: Pair,
    cut: Option<Cut>,
    base: Vec<ArmReplicate>,
    control: Vec<ArmReplicate>,
    candidate: Vec<ArmReplicate>,
    target: usize,
    looks: u32,
    decided: bool,
}

impl Gathered {
    fn new(pair: Pair, rules: &Rules) -> Self {
        Self {
            pair,
            cut: None,
            base: Vec::new(),
            control: Vec::new(),
            candidate: Vec::new(),
            target: rules.pilot,
            looks: 0,
            decided: false,
        }
    }

    fn wants_more(&self) -> bool {
        !self.decided && self.base.len() < self.target
    }

    fn replicate(&mut self, measure: &mut Measure<'_>) -> Result<(), ArmError> {
        let arms = measure(&self.pair, &mut self.cut)?;
        if let Ok([base, control, candidate]) = <[ArmReplicate; 3]>::try_from(arms) {
            self.base.push(base);
            self.control.push(control);
            self.candidate.push(candidate);
        }
        Ok(())
    }

    fn ln_ratios(&self) -> Vec<f64> {
        ln_ratios(&self.candidate, &self.base)
    }

    fn contrasts(&self, rules: &Rules) -> (Option<Contrast>, Option<Contrast>) {
        let control = ln_ratios(&self.control, &self.base);
        (judge::contrast(&self.ln_ratios(), rules), judge::contrast(&control, rules))
    }
}

fn ln_ratios(arm: &[ArmReplicate], base: &[ArmReplicate]) -> Vec<f64> {
    arm.iter().zip(base).map(|(arm, base)| arm.ln_ratio_to(base)).collect()
}

/// Measures until every pair has reached its target, one replicate of each in turn.
fn gather(
    all: &mut [Gathered],
    measure: &mut Measure<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), ArmError> {
    while all.iter().any(Gathered::wants_more) {
        for index in 0..all.len() {
            if !all[index].wants_more() {
                continue;
            }
            all[index].replicate(measure)?;
            let done = all.iter().map(|one| one.base.len()).sum();
            let planned = all.iter().map(|one| one.target.max(one.base.len())).sum();
            progress(Progress { name: &all[index].pair.name, done, planned });
        }
    }
    Ok(())
}

/// The judgement of one pair after a look.
struct Judged {
    contrast: Option<Contrast>,
    control: Option<Contrast>,
    p_holm: f64,
    verdict: Verdict,
    reason: Option<String>,
}

/// Judges all pairs together, because the correction of each p-value depends on the others.
fn judge_all(all: &[Gathered], rules: &Rules) -> Vec<Judged> {
    let contrasts: Vec<_> = all.iter().map(|one| one.contrasts(rules)).collect();
    let candidates: Vec<_> = contrasts.iter().map(|(candidate, _)| *candidate).collect();
    let corrected = judge::corrected(&candidates);
    let judged = contrasts.into_iter().zip(corrected).map(|((contrast, control), p_holm)| {
        let (verdict, reason) = judge::verdict(contrast.as_ref(), control.as_ref(), p_holm, rules);
        Judged { contrast, control, p_holm, verdict, reason }
    });
    judged.collect()
}

fn conclude(one: Gathered, judged: Judged, rules: &Rules, seed: u64) -> Compared {
    Compared {
        quantiles: quantile_ratios(&one, seed),
        pair: one.pair,
        rules: *rules,
        verdict: judged.verdict,
        reason: judged.reason,
        contrast: judged.contrast,
        control: judged.control,
        p_holm: judged.p_holm,
        looks: one.looks,
        cut: one.cut,
        base_ns: one.base.iter().map(ArmReplicate::median_ns).collect(),
        candidate_ns: one.candidate.iter().map(ArmReplicate::median_ns).collect(),
    }
}

/// Quantiles to report if enough samples lie beyond them.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The quantiles of all samples of both arms, with intervals by a bootstrap over replicates.
fn quantile_ratios(one: &Gathered, seed: u64) -> Vec<QuantileRatio> {
    const REPETITIONS: usize = 1_000;
    const CONFIDENCE: f64 = 0.95;
    let (base, candidate) = (samples(&one.base), samples(&one.candidate));
    let count = base.iter().map(|cluster| cluster.len()).sum();
    let wanted = QUANTILES.into_iter().filter(|&(_, at)| bootstrap::enough_beyond(count, at));
    let named: Vec<(&str, f64)> = wanted.collect();
    let quantiles: Vec<f64> = named.iter().map(|&(_, at)| at).collect();
    let ratios = bootstrap::paired_quantile_ratios(
        &base,
        &candidate,
        &quantiles,
        REPETITIONS,
        CONFIDENCE,
        seed,
    )
    .unwrap_or_default();
    let (base, candidate) = (base.concat(), candidate.concat());
    named
        .into_iter()
        .zip(ratios)
        .filter_map(|((name, at), ratio)| {
            Some(QuantileRatio {
                name,
                base_ns: order::quantile(&base, at)?,
                candidate_ns: order::quantile(&candidate, at)?,
                ratio,
            })
        })
        .collect()
}

fn samples(arms: &[ArmReplicate]) -> Vec<&[f64]> {
    arms.iter().map(|arm| arm.samples_ns.as_slice()).collect()
}

#[cfg(test)]
mod tests;
