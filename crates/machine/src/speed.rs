//! Changes of a processor's speed: the turns of a loop in each millisecond, against the counter.
//!
//! The counter runs at a constant rate and the loop at that of the processor. If the processor
//! changes its frequency, or shares its core with another thread, the time of a turn takes a step.
//! Turbo that is switched on and off gives a sawtooth, which is found by folding the steps.

use nanotape_lab::statistics::order::{median, quantile};

use crate::periods::{Period, fold};

/// Milliseconds on either side of a step.
const BLOCK: usize = 8;

/// A smaller change of the speed is noise.
const LEAST_STEP: f64 = 0.02;

/// The turns of a loop within some time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Its end, since the start, in nanoseconds.
    pub end_ns: u64,
    /// Turns.
    pub turns: u64,
    /// The time of these turns, without interruptions, in nanoseconds.
    pub busy_ns: u64,
}

/// The speed of a loop over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Speed {
    /// The median time of a turn in nanoseconds; `None` without a window.
    pub turn_ns: Option<f64>,
    /// The times of a turn that 5% and 95% of the windows do not exceed.
    pub range_ns: Option<(f64, f64)>,
    /// Changes that last.
    pub steps: Vec<Step>,
    /// The steps, folded.
    pub periods: Vec<Period>,
}

/// A change of the time of a turn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Since the start, in nanoseconds.
    pub at_ns: u64,
    /// The time of a turn after it, divided by that before it.
    pub ratio: f64,
}

impl Speed {
    /// The speed in windows of equal length.
    pub fn of(windows: &[Window]) -> Self {
        let turns: Vec<(u64, f64)> = windows
            .iter()
            .filter(|window| window.turns > 0)
            .map(|window| (window.end_ns, window.busy_ns as f64 / window.turns as f64))
            .collect();
        let nanos: Vec<f64> = turns.iter().map(|&(_, nanos)| nanos).collect();
        let steps = steps(&turns);
        let times: Vec<u64> = steps.iter().map(|step| step.at_ns).collect();
        Self {
            turn_ns: median(&nanos),
            range_ns: quantile(&nanos, 0.05).zip(quantile(&nanos, 0.95)),
            periods: fold(&times),
            steps,
        }
    }
}

/// The moments at which the medians of the blocks before and after differ most.
fn steps(turns: &[(u64, f64)]) -> Vec<Step> {
    let nanos: Vec<f64> = turns.iter().map(|&(_, nanos)| nanos).collect();
    let ratio_at = |at: usize| {
        let (before, after) = (median(&nanos[at - BLOCK..at])?, median(&nanos[at..at + BLOCK])?);
        Some(after / before)
    };
    let size = |ratio: f64| ratio.ln().abs();
    let mut steps: Vec<(usize, f64)> = Vec::new();
    for at in BLOCK..nanos.len().saturating_sub(BLOCK - 1) {
        let Some(ratio) = ratio_at(at).filter(|&ratio| size(ratio) > LEAST_STEP.ln_1p()) else {
            continue;
        };
        match steps.last_mut() {
            // The same step, seen from a place nearby: the largest ratio is at the step itself.
            Some(last) if at - last.0 < BLOCK => {
                if size(ratio) > size(last.1) {
                    *last = (at, ratio);
                }
            }
            _ => steps.push((at, ratio)),
        }
    }
    let step = |(at, ratio): (usize, f64)| Step { at_ns: turns[at - 1].0, ratio };
    steps.into_iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Random;

    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    /// Windows of a millisecond with a noise of half a percent.
    fn windows(turn_ns: impl Fn(u64) -> f64) -> Vec<Window> {
        let mut random = Random::new(3);
        let window = |index: u64| {
            let noise = 1.0 + (random.below(1_000) as f64 / 1_000.0 - 0.5) / 100.0;
            let turns = (MILLISECOND as f64 / (turn_ns(index) * noise)) as u64;
            Window { end_ns: (index + 1) * MILLISECOND, turns, busy_ns: MILLISECOND }
        };
        (0..2_000).map(window).collect()
    }

    #[test]
    fn a_constant_speed_has_no_steps() {
        let speed = Speed::of(&windows(|_| 10.0));
        assert_eq!(speed.steps, []);
        assert!((speed.turn_ns.unwrap() - 10.0).abs() < 0.05);
    }

    #[test]
    fn a_change_of_frequency_is_one_step_at_its_time() {
        let speed = Speed::of(&windows(|index| if index < 700 { 10.0 } else { 11.0 }));
        let [step] = speed.steps[..] else { panic!("{:?}", speed.steps) };
        assert!(step.at_ns.abs_diff(700 * MILLISECOND) <= 2 * MILLISECOND, "{step:?}");
        assert!((step.ratio - 1.1).abs() < 0.02, "{step:?}");
    }

    #[test]
    fn the_sawtooth_of_turbo_has_a_period() {
        // 100 ms: 30 fast, 70 slow.
        let speed = Speed::of(&windows(|index| if index % 100 < 30 { 9.0 } else { 10.0 }));
        assert!(speed.steps.len() >= 36, "{}", speed.steps.len());
        assert!(speed.periods.iter().any(|period| period.is_found), "{:?}", speed.periods);
    }

    #[test]
    fn too_few_windows_have_no_step() {
        assert_eq!(Speed::of(&windows(|_| 10.0)[..7]).steps, []);
        assert_eq!(Speed::of(&[]), Speed::default());
        let idle = Window { end_ns: 1, turns: 0, busy_ns: 0 };
        assert_eq!(Speed::of(&[idle; 40]).turn_ns, None);
    }
}
