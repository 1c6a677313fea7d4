//! The median of observations that come in bursts, with an interval that holds for any
//! distribution.
//!
//! A feed delays a burst of messages together, so the observations of a burst say hardly more than
//! one of them. The interval therefore rests on bursts:
//!
//! 1. Observations within a 32nd of the window, or within a quarter of their mean gap, are one
//!    burst. This length grows, by doubling, as long as bursts that follow each other within it
//!    have the same signs about the median more often than chance gives.
//! 2. If a value is the median, the sum of the signs of a burst about it is as likely positive as
//!    negative. The interval has the values for which the sum of all signs is within what turned
//!    signs of whole bursts give: its variance is the sum of the squares of the bursts' sums. With
//!    bursts of one observation this is the sign test.
//! 3. A delay that grows through the window makes all of it one burst by rule 1. The length then
//!    grows by the signs about a line through both halves instead. This is the only reason for
//!    bursts to resemble each other if the signs about the line hardly do; otherwise there are too
//!    few bursts.
//! 4. Where few bursts have most observations, each burst counts once: the interval is that of the
//!    medians of the bursts, which is wider than all of them if they are few.
//!
//! Bursts are counted by weight (Kish, "Survey Sampling", 1965), so that one burst with most of the
//! observations is not many.
//!
//! Cost: for `n` observations in bursts, about `2 log2 n` passes; no allocation once the memory has
//! grown.

use std::cmp::Ordering;

use crate::{NoEstimate, Window};

/// Two-sided 95 % of the normal distribution.
const Z: f64 = 1.96;
/// Observations that an interval needs.
pub(crate) const LEAST: usize = 5;
/// Bursts, counted by weight, from which the interval is that of all observations.
const ENOUGH: f64 = 4.2;
/// Bursts that an interval needs, however many observations they have.
pub(crate) const LEAST_BURSTS: usize = 3;
/// How far the interval of 3, 4 and 5 bursts is beyond the smallest and the largest, in ranges: 95
/// % for a normal, a lognormal and an exponential distribution, each within 1.2 %, by simulation.
const BEYOND: [f64; 3] = [0.86, 0.24, 0.03];
/// Bursts of a window at most: what is closer than one in so many of it is one burst.
const SHARE: u64 = 32;
/// Observations within this share of the mean gap are one burst.
const NEAR: f64 = 0.25;
/// Least part of the bursts of a window that a delay which grows leaves apart.
const APART: u64 = SHARE / 2;
/// How many deviations of chance the products of neighbours exceed for bursts to be joined.
const ALIKE: f64 = 1.0;

/// Observations of a window that are closer than this are one burst, whatever the data say.
pub(crate) fn near_ns(window: Window) -> u64 {
    window.length_ns().unsigned_abs() / SHARE
}

/// A value that was seen at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observed {
    /// When.
    pub at_ns: i64,
    /// What.
    pub value: i64,
}

/// A median with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Median {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A value that changes with time.
#[derive(Clone, Copy, Debug)]
struct Line {
    at_ns: i64,
    value: f64,
    /// By nanosecond.
    slope: f64,
}

impl Line {
    /// Whether an observation is above the line, 1, or below, -1.
    fn sign(self, one: Observed) -> f64 {
        let since_ns = (i128::from(one.at_ns) - i128::from(self.at_ns)) as f64;
        match (one.value as f64).partial_cmp(&self.slope.mul_add(since_ns, self.value)) {
            Some(Ordering::Greater) => 1.0,
            Some(Ordering::Less) => -1.0,
            _ => 0.0,
        }
    }
}

/// Computes medians; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct BurstMedian {
    sorted: Vec<i64>,
    /// Those of one burst.
    one: Vec<i64>,
    /// The first observation of each burst.
    begins: Vec<u32>,
}

impl BurstMedian {
    /// The median of observations in order of time. Those within `near_ns` are one burst.
    pub(crate) fn of(&mut self, observed: &[Observed], near_ns: u64) -> Result<Median, NoEstimate> {
        let few = |bursts| NoEstimate::FewBursts { bursts, least: LEAST_BURSTS };
        if observed.len() < LEAST {
            return Err(few(observed.len()));
        }
        self.sorted.clear();
        self.sorted.extend(observed.iter().map(|one| one.value));
        self.sorted.sort_unstable();
        let median = middle(&self.sorted);
        self.split(observed, Line { at_ns: 0, value: median, slope: 0.0 }, near_ns);
        let bursts = self.begins.len();
        if bursts < LEAST_BURSTS {
            let line = self.line(observed);
            self.split(observed, line, near_ns);
            if (self.begins.len() as u64) < APART {
                return Err(few(bursts));
            }
        }
        if self.count(observed.len()) < ENOUGH {
            return Ok(self.of_bursts(observed, median));
        }
        // The ends of the values that no test of the signs refuses, just above and just below them.
        let is_too_low = |&value: &i64| self.excess(observed, |one| one > value) > Z;
        let is_too_high = |&value: &i64| self.excess(observed, |one| one >= value) < -Z;
        let low = self.sorted.partition_point(is_too_low).min(self.sorted.len() - 1);
        let high = self.sorted.partition_point(|value| !is_too_high(value)).max(1) - 1;
        let (low, high) = (self.sorted[low] as f64, self.sorted[high] as f64);
        Ok(Median { median, low: low.min(median), high: high.max(median) })
    }

    /// The median with the interval of the bursts' own medians, for few bursts of which one has
    /// most observations.
    fn of_bursts(&mut self, observed: &[Observed], median: f64) -> Median {
        let mut medians = std::mem::take(&mut self.sorted);
        medians.clear();
        for (burst, _) in bursts(&self.begins, observed) {
            self.one.clear();
            self.one.extend(burst.iter().map(|one| one.value));
            self.one.sort_unstable();
            medians.push(middle(&self.one) as i64);
        }
        medians.sort_unstable();
        let count = medians.len();
        let beyond = BEYOND.get(count - LEAST_BURSTS).copied().unwrap_or(0.0);
        let low = ((count as f64 - Z * (count as f64).sqrt()) / 2.0).ceil().max(1.0) as usize - 1;
        let (low, high) = (medians[low], medians[count - 1 - low]);
        let beyond = beyond * high.abs_diff(low) as f64;
        self.sorted = medians;
        let (low, high) = (low as f64 - beyond, high as f64 + beyond);
        Median { median, low: low.min(median), high: high.max(median) }
    }

    /// The observations above, less those below, in deviations of what turned signs of whole bursts
    /// give.
    fn excess(&self, observed: &[Observed], is_above: impl Fn(i64) -> bool) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (burst, _) in bursts(&self.begins, observed) {
            let above = burst.iter().filter(|one| is_above(one.value)).count() as f64;
            let signs = 2.0 * above - burst.len() as f64;
            sum += signs;
            squares += signs * signs;
        }
        if squares > 0.0 { sum / squares.sqrt() } else { 0.0 }
    }

    /// The line through the medians of both halves, each in the middle of its time.
    fn line(&mut self, observed: &[Observed]) -> Line {
        let halves = observed.split_at(observed.len() / 2);
        let [first, second] = [halves.0, halves.1].map(|half| {
            self.one.clear();
            self.one.extend(half.iter().map(|one| one.value));
            self.one.sort_unstable();
            let at_ns = half[0].at_ns + (gap_ns(half[0], half[half.len() - 1]) / 2) as i64;
            (at_ns, middle(&self.one))
        });
        let apart_ns = second.0.abs_diff(first.0).max(1) as f64;
        Line { at_ns: first.0, value: first.1, slope: (second.1 - first.1) / apart_ns }
    }

    /// Finds the bursts, by signs about a line.
    fn split(&mut self, observed: &[Observed], line: Line, least_ns: u64) {
        let span_ns = gap_ns(observed[0], observed[observed.len() - 1]);
        let mut near_ns = (span_ns as f64 / (observed.len() - 1) as f64 * NEAR) as u64;
        near_ns = near_ns.max(least_ns);
        self.cut(observed, near_ns);
        let mut reach_ns = near_ns.max(1);
        while reach_ns < span_ns / 2 {
            reach_ns = reach_ns.saturating_mul(2);
            if self.alike(observed, line, reach_ns) > ALIKE {
                near_ns = reach_ns;
                self.cut(observed, near_ns);
            }
        }
    }

    /// A burst has what comes within a length of its first observation, so that a feed that is
    /// never quiet has bursts too.
    fn cut(&mut self, observed: &[Observed], near_ns: u64) {
        self.begins.clear();
        let mut begin = observed[0];
        self.begins.push(0);
        for (&one, at) in observed.iter().zip(0..) {
            if gap_ns(begin, one) > near_ns {
                self.begins.push(at);
                begin = one;
            }
        }
    }

    /// By how many deviations of chance bursts resemble the ones before them, where these are
    /// within reach.
    fn alike(&self, observed: &[Observed], line: Line, reach_ns: u64) -> f64 {
        // Ties with the line have no sign: the others are then more often on one side.
        let all: f64 = observed.iter().map(|&one| line.sign(one)).sum();
        let usual = all / observed.len() as f64;
        let (mut sum, mut squares, mut before) = (0.0, 0.0, 0.0);
        for (burst, from) in bursts(&self.begins, observed) {
            let signs: f64 = burst.iter().map(|&one| line.sign(one) - usual).sum();
            if from > 0 && gap_ns(observed[from - 1], observed[from]) <= reach_ns {
                let product: f64 = signs * before;
                sum += product;
                squares += product * product;
            }
            before = signs;
        }
        if squares > 0.0 { sum / squares.sqrt() } else { 0.0 }
    }

    /// The bursts, counted by weight.
    fn count(&self, observations: usize) -> f64 {
        let ends = self.begins[1..].iter().copied().chain([observations as u32]);
        let squares: f64 =
            self.begins.iter().zip(ends).map(|(from, end)| f64::from(end - from).powi(2)).sum();
        (observations as f64).powi(2) / squares
    }
}

/// The bursts, each with the index of its first observation.
fn bursts<'a>(
    begins: &'a [u32],
    observed: &'a [Observed],
) -> impl Iterator<Item = (&'a [Observed], usize)> {
    let ends = begins.iter().skip(1).map(|&end| end as usize).chain([observed.len()]);
    begins.iter().zip(ends).map(|(&from, end)| (&observed[from as usize..end], from as usize))
}

fn gap_ns(one: Observed, other: Observed) -> u64 {
    other.at_ns.abs_diff(one.at_ns)
}

/// The middle of sorted values.
fn middle(sorted: &[i64]) -> f64 {
    let (lower, upper) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    lower as f64 + upper.abs_diff(lower) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Random;

    use super::*;

    /// Values that are so far apart in time.
    fn observed(values: &[i64], apart_ns: i64) -> Vec<Observed> {
        let values = values.iter().zip(0..);
        values.map(|(&value, at)| Observed { at_ns: at * apart_ns, value }).collect()
    }

    fn of(values: &[i64]) -> Result<Median, NoEstimate> {
        BurstMedian::default().of(&observed(values, 1_000), 0)
    }

    /// A number around 0 of a skewed distribution with median 0, in thousandths.
    fn skewed(random: &mut Random) -> i64 {
        let u = random.below(999_999) as f64 / 1e6 + 1e-6;
        ((-(1.0 - u).ln() - std::f64::consts::LN_2) * 1_000.0) as i64
    }

    #[test]
    fn the_ranks_of_single_observations_are_those_of_the_sign_test() {
        for (count, rank) in [(6, 1), (9, 2), (12, 3), (20, 6), (40, 14), (100, 41)] {
            // In an order without dependence, which is one of negative autocorrelation.
            let values: Vec<i64> = (0..count)
                .map(|at| if at % 2 == 0 { at / 2 } else { count - 1 - at / 2 })
                .collect();
            let found = of(&values).unwrap();
            let expected = ((rank - 1) as f64, (count - rank) as f64);
            assert_eq!((found.low, found.high), expected, "{count}");
            assert_eq!(found.median, (count - 1) as f64 / 2.0);
        }
        let same = of(&[7; 9]).unwrap();
        assert_eq!((same.median, same.low, same.high), (7.0, 7.0, 7.0));
        let ends = of(&[i64::MIN, i64::MAX, 0, 0, i64::MIN, i64::MAX]).unwrap();
        assert_eq!((ends.low, ends.median, ends.high), (i64::MIN as f64, 0.0, i64::MAX as f64));
        assert!(of(&[1, 2, 3, 4]).is_err());
    }

    #[test]
    fn bursts_count_once_however_many_observations_they_have() {
        let mut two = observed(&[5; 40], 1);
        two.extend(
            observed(&[9; 40], 1).iter().map(|one| Observed { at_ns: one.at_ns + 9_999, ..*one }),
        );
        let none = BurstMedian::default().of(&two, 100);
        assert_eq!(none, Err(NoEstimate::FewBursts { bursts: 2, least: 3 }));
        two.push(Observed { at_ns: 30_000, value: 6 });
        let three = BurstMedian::default().of(&two, 100).unwrap();
        assert_eq!(three.median, 6.0);
        assert!(three.low < 5.0 - 3.0 && three.high > 9.0 + 3.0, "{three:?}");
    }

    /// The delay grows by twice its jitter within the window, and the jitter is that of each
    /// observation, or that of a tenth of the window.
    #[test]
    fn a_delay_that_grows_is_not_taken_for_a_burst() {
        let mut random = Random::new(3);
        for shared_ns in [1_000, 40_000] {
            let (mut given, mut covered) = (0, 0);
            for _ in 0..500 {
                let mut shared = 0;
                let values: Vec<Observed> = (0..400)
                    .map(|at| {
                        let begin_ns = at * 1_000;
                        if begin_ns % shared_ns == 0 {
                            shared = skewed(&mut random);
                        }
                        let at_ns = begin_ns + random.below(500) as i64;
                        Observed { at_ns, value: at_ns * 2_000 / 400_000 + shared }
                    })
                    .collect();
                let Ok(found) = BurstMedian::default().of(&values, 400_000 / SHARE) else {
                    continue;
                };
                given += 1;
                // The median of the sum of a growth and a jitter.
                covered += usize::from(found.low <= 1_147.0 && 1_147.0 <= found.high);
            }
            assert!(covered * 100 >= given * 93, "{shared_ns} ns: {covered} of {given}");
            assert!(given > 400 || shared_ns > 1_000, "{given}");
        }
    }

    /// Coverage of 2,000 intervals: 95 % with a standard error of 0.49 %.
    #[test]
    fn intervals_contain_the_median_as_often_as_they_say() {
        const SEED: u64 = 24;
        let mut random = Random::new(SEED);
        for (bursts, most, shares) in [
            (3, 1, false),
            (5, 1, false),
            (12, 1, true),
            (12, 9, true),
            (12, 9, false),
            (50, 9, true),
            (50, 40, true),
            (200, 4, true),
        ] {
            let mut covered = 0;
            for _ in 0..2_000 {
                let (mut values, mut at_ns) = (Vec::new(), 0);
                for _ in 0..bursts {
                    let shared = skewed(&mut random);
                    at_ns += 1_000_000;
                    for _ in 0..=random.below(most) {
                        at_ns += 1_000;
                        let value = if shares { shared } else { skewed(&mut random) };
                        values.push(Observed { at_ns, value });
                    }
                }
                // Five observations at least.
                let Ok(found) = BurstMedian::default().of(&values, 0) else { continue };
                covered += usize::from(found.low <= 0.0 && 0.0 <= found.high);
            }
            let share = covered as f64 / 2_000.0;
            let given = bursts >= LEAST as u64 || most > 1;
            assert!(
                !given || (0.93..=0.985).contains(&share),
                "{bursts} of up to {most}, seed {SEED}: {share}"
            );
        }
    }
}
