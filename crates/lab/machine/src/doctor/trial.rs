//! A trial of a fix: the machine is measured without and with it, in turns in a random order, and
//! is restored.

use std::{path::Path, thread, time::Duration};

use nanotape_clock::Clock;
use nanotape_host::CpuList;
use nanotape_lab::{
    Rng,
    statistics::{Estimate, hodges_lehmann, order::median},
};

use super::{ActiveTest, Fix, fix::restore, guard::Guardian};

/// The time between a change and the measurement after it.
const SETTLE: Duration = Duration::from_millis(100);

/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// How to try.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrialOptions {
    /// One side of a round.
    pub side: ActiveTest,
    /// Rounds: each has both sides.
    pub rounds: u32,
    /// Seed of the order.
    pub seed: u64,
}

/// The result of a trial, one entry for each round.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trial {
    /// Without and with the fix.
    pub rounds: Vec<[Side; 2]>,
    /// What the kernel refused to change, a sentence each. The fix was tried without it.
    pub refused: Vec<String>,
    /// What could not be restored, a sentence each.
    pub not_restored: Vec<String>,
}

/// The interruptions of one side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Side {
    /// Lost time in nanoseconds a second, over all hot processors.
    pub lost_ns: f64,
    /// Interruptions a second.
    pub count: f64,
    /// The length that 99% of them do not exceed, in nanoseconds; 0 without one.
    pub p99_ns: f64,
    /// The longest in nanoseconds.
    pub longest_ns: f64,
}

/// The effect on one number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effect {
    /// The median without the fix.
    pub before: f64,
    /// The median with it.
    pub fixed: f64,
    /// The difference within a round, with its interval; `None` with fewer than six rounds.
    pub difference: Option<Estimate>,
}

impl Trial {
    /// Tries a fix. `is_ended` reports whether a stop was requested: then the machine is restored,
    /// and the rounds so far are returned.
    pub fn run(
        clock: &Clock,
        (fix, check): (&Fix, &str),
        hot: &CpuList,
        options: &TrialOptions,
        state: &Path,
        on_side: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Self, String> {
        let guardian = Guardian::start(fix, check, state)?;
        let mut trial = Self::default();
        let measured = trial.measure(clock, fix, hot, options, on_side);
        // Also after a failure: the values are those of before in any case.
        trial.not_restored = restore(fix.changes());
        guardian.finish()?;
        measured.map(|()| trial)
    }

    fn measure(
        &mut self,
        clock: &Clock,
        fix: &Fix,
        hot: &CpuList,
        options: &TrialOptions,
        on_side: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), String> {
        let mut rng = Rng::new(options.seed);
        for round in 0..options.rounds {
            let fixed_first = rng.below(2) == 1;
            let mut sides = [None, None];
            for index in 0..2 {
                if on_side(u64::from(round) * 2 + index) {
                    return Ok(());
                }
                let is_fixed = (index == 0) == fixed_first;
                if is_fixed {
                    self.refused = fix.apply()?;
                } else {
                    fix.withdraw()?;
                }
                thread::sleep(SETTLE);
                sides[usize::from(is_fixed)] = Some(Side::measure(clock, hot, &options.side)?);
            }
            if let [Some(before), Some(fixed)] = sides {
                self.rounds.push([before, fixed]);
            }
        }
        Ok(())
    }

    /// The effect on a number of a side; `None` without a round.
    pub fn effect(&self, of: fn(&Side) -> f64) -> Option<Effect> {
        let values = |side: usize| -> Vec<f64> {
            self.rounds.iter().map(|sides| of(&sides[side])).collect()
        };
        let (before, fixed) = (values(0), values(1));
        let differences: Vec<f64> =
            before.iter().zip(&fixed).map(|(before, fixed)| fixed - before).collect();
        Some(Effect {
            before: median(&before)?,
            fixed: median(&fixed)?,
            difference: hodges_lehmann::one_sample(&differences, CONFIDENCE),
        })
    }
}

impl Side {
    fn measure(clock: &Clock, hot: &CpuList, test: &ActiveTest) -> Result<Self, String> {
        let processors = test.spin(clock, hot).map_err(|error| error.to_string())?;
        let mut lengths: Vec<u64> =
            processors.iter().flat_map(|one| one.sorted_ns(clock)).collect();
        lengths.sort_unstable();
        let seconds = test.duration.as_secs_f64().max(1e-9);
        let at = |quantile: f64| {
            let rank = (quantile * lengths.len() as f64).ceil() as usize;
            lengths.get(rank.max(1) - 1).map_or(0.0, |nanos| *nanos as f64)
        };
        Ok(Self {
            lost_ns: lengths.iter().sum::<u64>() as f64 / seconds,
            count: lengths.len() as f64 / seconds,
            p99_ns: at(0.99),
            longest_ns: at(1.0),
        })
    }
}

impl Effect {
    /// Whether the interval shows less, more, or neither.
    pub fn words(&self) -> &'static str {
        match self.difference {
            None => "too few rounds for an interval: six are needed",
            Some(difference) if difference.interval.high < 0.0 => "less",
            Some(difference) if difference.interval.low > 0.0 => "more",
            Some(_) => "no proof of a change",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(rounds: &[(f64, f64)]) -> Trial {
        let side = |lost_ns| Side { lost_ns, count: 1.0, p99_ns: 1.0, longest_ns: 1.0 };
        let rounds = rounds.iter().map(|(before, fixed)| [side(*before), side(*fixed)]).collect();
        Trial { rounds, ..Trial::default() }
    }

    #[test]
    fn an_effect_is_proved_by_its_interval() {
        let of = |side: &Side| side.lost_ns;
        let words = |rounds: &[(f64, f64)]| trial(rounds).effect(of).unwrap().words();
        let gain: Vec<(f64, f64)> = (0..8).map(|n| (100.0 + f64::from(n), 50.0)).collect();
        let loss: Vec<(f64, f64)> = gain.iter().map(|(before, fixed)| (*fixed, *before)).collect();
        let nothing: Vec<(f64, f64)> =
            (0..8).map(|n| (100.0, if n % 2 == 0 { 90.0 } else { 110.0 })).collect();
        assert_eq!(
            [words(&gain), words(&loss), words(&nothing)],
            ["less", "more", "no proof of a change"]
        );
        assert!(words(&gain[..3]).starts_with("too few rounds"));
        assert_eq!(trial(&[]).effect(of), None);
    }
}
