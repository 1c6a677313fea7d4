//! The correlation of the changes themselves, near a peak.
//!
//! With both sides smoothed by a Gaussian of deviation `s`, the correlation of the differences at
//! the delay `x` is the contrast `C(x) = sum of a_i b_j K(t_j - t_i - x)` over changes `a_i` of the
//! first feed at `t_i` and `b_j` of the second at `t_j`, where `K` is a Gaussian of deviation
//! `sqrt(2) s`. No grid is in it. Its maximum is the peak, and its value there, by those of each
//! side with itself, is the correlation.
//!
//! Changes that are close share partners, and sizes of changes differ by orders: the blocks of time
//! behind a peak are counted by weight, `(sum w)^2 / sum w^2` (Kish, "Survey Sampling", 1965).
//!
//! With a skewed jitter of the delay, the maximum is the place where the density of the jitter,
//! smoothed by `K`, is the largest. It lies between the mode and the mean of the delays, so it is
//! not the delay that is reported.

use std::ops::Range;

use crate::Changes;

/// Deviations of the kernel beyond which a pair has no weight: 4e-6 of that of an exact one.
const REACH: f64 = 5.0;
/// Deviations of the kernel in a block of time.
const BLOCK: f64 = 10.0;
/// Half deviations of the kernel between the peak on the grid and the maximum of the contrast.
const STEPS: usize = 4;
/// Steps of the solution at most; it takes about four.
const MOST_STEPS: usize = 60;
/// Pairs of changes that are read. Hostile feeds, or a grid that is far too coarse for them,
/// have the square of their changes: those are not refined.
const MOST_PAIRS: usize = 1 << 22;
/// How exactly the delay is solved for, in nanoseconds.
const TOLERANCE_NS: f64 = 1e-3;

/// Changes of one side, as indices of those that count. The first value of a series is not one.
#[derive(Clone, Debug)]
pub(super) struct Side<'a> {
    pub(super) changes: Changes<'a>,
    pub(super) counted: Range<usize>,
    /// What times are counted from: a double holds a span to the nanosecond, but not a time of day
    /// since 1970.
    pub(super) origin_ns: i64,
}

/// What the changes say near a peak.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Refined {
    pub(super) delay_ns: f64,
    /// The correlation, from 0 to 1.
    pub(super) correlation: f64,
    /// The blocks of time behind it, counted by weight.
    pub(super) blocks: f64,
}

/// The contrast at a delay, with its first two derivatives.
#[derive(Clone, Copy, Default, Debug)]
struct Contrast {
    value: f64,
    slope: f64,
    bend: f64,
}

/// Refines a delay.
#[derive(Debug)]
pub(super) struct Refiner<'a> {
    pub(super) first: Side<'a>,
    pub(super) second: Side<'a>,
    /// Deviation of the kernel of pairs.
    pub(super) kernel_ns: f64,
    /// Length of the window.
    pub(super) window_ns: f64,
}

impl<'a> Side<'a> {
    /// All changes, whatever their times.
    pub(super) fn all(changes: Changes<'a>, origin_ns: i64) -> Self {
        Self { changes, counted: 1..changes.len().max(1), origin_ns }
    }

    /// Those at spans from one to before another after the origin.
    pub(super) fn between(mut self, from_ns: f64, until_ns: f64) -> Self {
        let index = |ns: f64| {
            let before = |&at: &i64| (at.saturating_sub(self.origin_ns) as f64) < ns;
            self.changes.times_ns.partition_point(before).max(1)
        };
        let from = index(from_ns);
        self.counted = from..index(until_ns).max(from);
        self
    }

    fn time_ns(&self, at: usize) -> f64 {
        self.changes.times_ns[at].saturating_sub(self.origin_ns) as f64
    }

    fn change(&self, at: usize) -> f64 {
        let [before, value] = [at - 1, at].map(|at| i128::from(self.changes.values[at]));
        (value - before) as f64
    }
}

/// Pairs of changes that are so close at a delay.
fn pairs(first: &Side<'_>, second: &Side<'_>, delay_ns: f64, reach_ns: f64) -> usize {
    let (mut from, mut until, mut pairs) = (second.counted.start, second.counted.start, 0_usize);
    for at in first.counted.clone() {
        let middle_ns = first.time_ns(at) + delay_ns;
        while from < second.counted.end && second.time_ns(from) < middle_ns - reach_ns {
            from += 1;
        }
        until = until.max(from);
        while until < second.counted.end && second.time_ns(until) <= middle_ns + reach_ns {
            until += 1;
        }
        pairs = pairs.saturating_add(until - from);
    }
    pairs
}

impl Refiner<'_> {
    /// The delay nearest to that of a peak; `None` if the contrast has no maximum near it.
    pub(super) fn refine(&self, peak_ns: f64) -> Option<Refined> {
        let reach_ns = (REACH + STEPS as f64) * self.kernel_ns;
        let pairs = [
            pairs(&self.first, &self.second, peak_ns, reach_ns),
            pairs(&self.first, &self.first, 0.0, reach_ns),
            pairs(&self.second, &self.second, 0.0, reach_ns),
        ];
        if pairs.iter().any(|&pairs| pairs > MOST_PAIRS) {
            return None;
        }
        let delay_ns = self.solve(peak_ns)?;
        let parts = self.parts(delay_ns);
        if parts.contrast.bend >= 0.0 || parts.contrast.value <= 0.0 {
            return None;
        }
        Some(Refined {
            delay_ns,
            correlation: self.correlation(delay_ns, parts.contrast.value),
            blocks: parts.count(),
        })
    }

    /// Where the slope of the contrast is zero.
    fn solve(&self, peak_ns: f64) -> Option<f64> {
        let slope_at = |ns| self.contrast(&self.first, &self.second, ns, |_, _| ()).slope;
        let (mut low, mut high) = (peak_ns, peak_ns);
        let rises = slope_at(peak_ns) > 0.0;
        let step_ns = self.kernel_ns / 2.0;
        for step in 1.. {
            if step > STEPS {
                return None;
            }
            if rises {
                (low, high) = (high, high + step_ns);
                if slope_at(high) <= 0.0 {
                    break;
                }
            } else {
                (low, high) = (low - step_ns, low);
                if slope_at(low) >= 0.0 {
                    break;
                }
            }
        }
        // Newton's steps, and halves of what is left where they lead out of it.
        let mut at_ns = low.midpoint(high);
        for _ in 0..MOST_STEPS {
            let contrast = self.contrast(&self.first, &self.second, at_ns, |_, _| ());
            if contrast.slope > 0.0 {
                low = at_ns
            } else {
                high = at_ns
            }
            let next_ns = at_ns - contrast.slope / contrast.bend;
            let is_good = contrast.bend < 0.0 && (low..=high).contains(&next_ns);
            let next_ns = if is_good { next_ns } else { low.midpoint(high) };
            let moved_ns = (next_ns - at_ns).abs();
            at_ns = next_ns;
            if moved_ns < TOLERANCE_NS {
                break;
            }
        }
        Some(at_ns)
    }

    /// The contrast of two sides. Each change of the first is shown with its own part.
    fn contrast(
        &self,
        first: &Side<'_>,
        second: &Side<'_>,
        delay_ns: f64,
        mut show: impl FnMut(usize, Contrast),
    ) -> Contrast {
        let reach_ns = REACH * self.kernel_ns;
        let inverse = 1.0 / (self.kernel_ns * self.kernel_ns);
        let mut sum = Contrast::default();
        let mut from = second.counted.start;
        for at in first.counted.clone() {
            let middle_ns = first.time_ns(at) + delay_ns;
            while from < second.counted.end && second.time_ns(from) < middle_ns - reach_ns {
                from += 1;
            }
            let mut part = Contrast::default();
            for partner in from..second.counted.end {
                let away_ns = second.time_ns(partner) - middle_ns;
                if away_ns > reach_ns {
                    break;
                }
                let square = away_ns * away_ns * inverse;
                let weight = second.change(partner) * (-0.5 * square).exp();
                part.value += weight;
                part.slope += weight * away_ns * inverse;
                part.bend += weight * (square - 1.0) * inverse;
            }
            let change = first.change(at);
            let part = Contrast {
                value: part.value * change,
                slope: part.slope * change,
                bend: part.bend * change,
            };
            show(at, part);
            sum.value += part.value;
            sum.slope += part.slope;
            sum.bend += part.bend;
        }
        sum
    }

    /// The sums over blocks of time.
    fn parts(&self, delay_ns: f64) -> Parts {
        let mut parts = Parts::default();
        let (mut block, mut ends_ns) = (Contrast::default(), f64::MIN);
        parts.contrast = self.contrast(&self.first, &self.second, delay_ns, |at, part| {
            if self.first.time_ns(at) >= ends_ns {
                parts.add(block);
                block = Contrast::default();
                ends_ns = self.first.time_ns(at) + BLOCK * self.kernel_ns;
            }
            block.value += part.value;
        });
        parts.add(block);
        parts
    }

    /// The contrast by those that each side has with itself.
    fn correlation(&self, delay_ns: f64, contrast: f64) -> f64 {
        let second = self.second.clone().between(delay_ns, self.window_ns + delay_ns);
        let own = |side: &Side<'_>| self.contrast(side, side, 0.0, |_, _| ()).value;
        let correlation = contrast / (own(&self.first) * own(&second)).sqrt();
        if correlation.is_finite() { correlation.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Sums over blocks of time.
#[derive(Default, Debug)]
struct Parts {
    contrast: Contrast,
    weights: f64,
    squares_of_weight: f64,
}

impl Parts {
    fn add(&mut self, block: Contrast) {
        self.weights += block.value.abs();
        self.squares_of_weight += block.value * block.value;
    }

    /// The blocks, counted by weight.
    fn count(&self) -> f64 {
        (self.weights * self.weights / self.squares_of_weight).max(1.0)
    }
}
