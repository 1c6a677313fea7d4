//! Changes of a processor's speed: the turns of a loop in each millisecond, against the counter.
//!
//! The counter runs at a constant rate and the loop at that of the processor. If the processor
//! changes its frequency, or shares its core with another thread, the time of a turn takes a step.
//! Turbo that is switched on and off gives a sawtooth, which is found by folding the steps.
//!
//! A processor stands still for some microseconds while it changes its frequency. So an
//! interruption with another speed after it than before it can be that change.

use nanotape_clock::{Clock, Stamp};
use nanotape_lab::statistics::order::{median, quantile};

use crate::{
    gaps::Gap,
    periods::{Period, fold},
};

/// Milliseconds on either side of a step.
const BLOCK: usize = 8;

/// A smaller change of the speed is noise.
const LEAST_STEP: f64 = 0.02;

/// The least time on either side of an interruption in which the speed is measured.
const SIDE_NS: u64 = 300_000;

/// A step is known to within two windows.
const NEARBY_NS: u64 = 2_000_000;

/// The share of a step that an interruption must show on its own.
const LEAST_SHARE: f64 = 0.8;

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

/// The progress of a loop at an interruption, or at the end of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    /// The interruption; without one, both ends are the same.
    pub(crate) gap: Gap,
    /// Turns so far.
    pub(crate) turns: u64,
    /// The time of these turns, without interruptions, in nanoseconds.
    pub(crate) busy_ns: u64,
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

/// The interruptions at which the steps happened. `points`: in order; `begin`: the stamp at which
/// the time of the steps begins. A step that two interruptions could be is left out.
pub(crate) fn interruptions_at(
    steps: &[Step],
    points: &[Point],
    begin: Stamp,
    clock: &Clock,
) -> Vec<Gap> {
    let at_ns = |point: &Point| clock.nanos_between(begin, point.gap.from);
    let found = steps.iter().filter_map(|step| {
        let first = points.partition_point(|one| at_ns(one) < step.at_ns.saturating_sub(NEARBY_NS));
        let near = points[first..].iter().enumerate().map(|(index, one)| (first + index, one));
        let mut shown = near
            .take_while(|(_, one)| at_ns(one) <= step.at_ns + NEARBY_NS)
            .filter(|(_, one)| one.gap.from < one.gap.to)
            .filter(|(index, _)| {
                ratio_across(points, *index, clock)
                    .is_some_and(|ratio| ratio.ln() / step.ratio.ln() >= LEAST_SHARE)
            });
        let (_, one) = shown.next()?;
        shown.next().is_none().then_some(one.gap)
    });
    found.collect()
}

/// The time of a turn after a point, divided by that before it.
fn ratio_across(points: &[Point], index: usize, clock: &Clock) -> Option<f64> {
    let here = points[index];
    let is_before = |one: &&Point| clock.nanos_between(one.gap.to, here.gap.from) >= SIDE_NS;
    let before = points[..index].iter().rev().find(is_before)?;
    let is_after = |one: &&Point| clock.nanos_between(here.gap.to, one.gap.from) >= SIDE_NS;
    let after = points[index + 1..].iter().find(is_after)?;
    let turn_ns = |from: &Point, to: &Point| {
        let turns = to.turns.saturating_sub(from.turns);
        (turns > 0).then(|| to.busy_ns.saturating_sub(from.busy_ns) as f64 / turns as f64)
    };
    let ratio = turn_ns(&here, after)? / turn_ns(before, &here)?;
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
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

    /// A loop whose turn takes 10 ns, and 11 ns from `change_ns` on, with interruptions of 10 us.
    fn points(change_ns: u64, gaps_ns: &[u64]) -> Vec<Point> {
        let mut at: Vec<(u64, u64)> = (1..=100).map(|index| (index * MILLISECOND, 0)).collect();
        at.extend(gaps_ns.iter().map(|&begin| (begin, 10_000)));
        at.sort_unstable();
        let (mut turns, mut busy_ns, mut last) = (0, 0, 0);
        let points = at.into_iter().map(|(begin, length)| {
            let slow = begin.saturating_sub(last.max(change_ns));
            let fast = begin - last - slow;
            turns += fast / 10 + slow / 11;
            busy_ns += fast + slow;
            last = begin + length;
            let stamp = Stamp::from_ticks;
            Point { gap: Gap { from: stamp(begin), to: stamp(last) }, turns, busy_ns }
        });
        points.collect()
    }

    #[test]
    fn the_interruption_at_a_step_is_found() {
        const NONE: [u64; 0] = [];
        let clock = Clock::monotonic();
        let begin = Stamp::from_ticks(0);
        let step = Step { at_ns: 50 * MILLISECOND, ratio: 1.1 };
        let at = |points: &[Point], step: Step| {
            let found = interruptions_at(&[step], points, begin, &clock);
            found.iter().map(|gap| gap.from.ticks()).collect::<Vec<_>>()
        };
        let change = 50_400_000;
        let all = points(change, &[20_000_000, 49_200_000, change, 51_100_000]);
        assert_eq!(at(&all, step), [change]);
        // Faster is not slower, and the speed did not change at the others.
        assert_eq!(at(&all, Step { ratio: 0.9, ..step }), NONE);
        assert_eq!(at(&all, Step { at_ns: 20 * MILLISECOND, ..step }), NONE);
        // A neighbour that begins to run interrupts nothing.
        assert_eq!(at(&points(change, &[49_000_000]), step), NONE);
        // Two within the same moment: it is not known which one.
        assert_eq!(at(&points(change, &[change, change + 20_000]), step), NONE);
    }

    #[test]
    fn too_few_windows_have_no_step() {
        assert_eq!(Speed::of(&windows(|_| 10.0)[..7]).steps, []);
        assert_eq!(Speed::of(&[]), Speed::default());
        let idle = Window { end_ns: 1, turns: 0, busy_ns: 0 };
        assert_eq!(Speed::of(&[idle; 40]).turn_ns, None);
    }
}
