//! Which of two instruments leads: the lag at which the moves of one explain the other's best.
//!
//! Where: an [`Estimator`] for two different instruments. Their values have nothing in common but
//! their moves, and they tick at different times, so no value and no sample can be matched.
//!
//! ```text
//! Changes --> Ticks --> contrast at coarse lags, by block (contrast.rs)
//!                          |--> chance: is there any relation? (resample.rs)
//!                          |--> rules: one clear peak, not at the end of the search
//!                          '--> finer lags around the best peaks, down to a plateau
//!                                  '--> interval: the peaks of resampled blocks (resample.rs)
//! ```
//!
//! The contrast is that of Hayashi and Yoshida over lags, see `contrast.rs`; the estimate is the
//! lag where its size is largest (M. Hoffmann, M. Rosenbaum and N. Yoshida, 2013). All sums are of
//! integers and exact, so equal contrasts are equal. The contrast is constant between the lags at
//! which ticks meet: the estimate is the middle of the best of these plateaus.

mod contrast;
mod matrix;
mod resample;
mod ticks;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use self::{
    contrast::{Grid, Rows},
    resample::Contributions,
    ticks::Ticks,
};
use crate::{CONFIDENCE, Changes, Estimate, Estimator, NoEstimate, Window};

pub use matrix::{Matrix, Pair};

/// A search gets this many times finer with each step.
const FINER: i64 = 16;

/// Coarse peaks to examine more closely.
const CANDIDATES: usize = 3;

/// Bounds of the settings, so that memory is bounded.
const FARTHEST_LAG_NS: i64 = 1 << 60;
const MOST_LAGS: usize = 10_000;
const MOST_BLOCKS: usize = 200;
const MOST_RESAMPLES: usize = 100_000;
const MOST_PERMUTATIONS: usize = 1 << 20;

/// How to search for a lead, and what to accept. Numbers out of their bounds count as the bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LeadLagSettings {
    /// The largest lead and the largest lag in nanoseconds, from 1 to 2^60.
    pub max_lag_ns: i64,
    /// Coarse lags on each side of 0, from 1 to 10,000. A coarse step should not be longer than
    /// the usual time between two ticks, which is how wide a peak is.
    pub lags: usize,
    /// Changes in the window that both instruments need, at least 2.
    pub least_changes: usize,
    /// The largest contrast has to be so many times the largest one beyond the peak.
    pub least_peak_ratio: f64,
    /// The largest probability with which chance alone may give such a contrast.
    pub largest_p: f64,
    /// Blocks of equal time that the window consists of, from 1 to 200. They should be long
    /// beside the largest lag. With few blocks little is certain: with 5, chance gives any contrast
    /// with a probability of at least 1/16.
    pub blocks: usize,
    /// Draws of blocks for the interval, at most 100,000.
    pub resamples: usize,
    /// Draws of signs for the probability, at most 2^20. It is not below `1 / (1 + permutations)`.
    pub permutations: usize,
    /// The seed of all draws.
    pub seed: u64,
}

impl Default for LeadLagSettings {
    fn default() -> Self {
        Self {
            max_lag_ns: 1_000_000_000,
            lags: 200,
            least_changes: 20,
            least_peak_ratio: 1.1,
            largest_p: 0.05,
            blocks: 40,
            resamples: 400,
            permutations: 999,
            seed: 1,
        }
    }
}

/// What a window says about two instruments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lead {
    /// The lag of the second instrument: positive if it follows the first.
    pub estimate: Result<Estimate, NoEstimate>,
    /// Absent if an instrument changes too rarely.
    pub evidence: Option<Evidence>,
}

/// How strongly two instruments are related, whether or not it is clear at which lag.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Evidence {
    /// The contrast at the best lag by the square root of both realised variances: an estimate of
    /// the correlation, so that noise can put it beyond 1.
    pub contrast: f64,
    /// The sum of the squared contrasts at positive coarse lags by that at negative ones (LLR; N.
    /// Huth and F. Abergel, "High frequency lead/lag relationships", 2014): above 1 if the first
    /// instrument leads. It does not depend on one peak.
    pub lead_lag_ratio: f64,
    /// The probability that unrelated instruments have as large a contrast at any coarse lag.
    pub p_value: f64,
}

/// Estimates which of two instruments leads, and by how much.
///
/// ```
/// use nanotape_delay::{Estimator, LeadLag, LeadLagSettings, Series, Window};
///
/// // The second repeats every move of the first 40 ms later.
/// let (mut first, mut second, mut level) = (Series::new(), Series::new(), 0);
/// for number in 0_i64..2_000 {
///     let time_ns = number * 100_000_000 + number * number % 97 * 1_000_000;
///     level += if number * number % 7 < 3 { 1 } else { -1 };
///     first.push(time_ns, level);
///     second.push(time_ns + 40_000_000, 5 * level);
/// }
/// let mut lead_lag = LeadLag::new(LeadLagSettings::default());
/// let window = Window::new(0, 200_000_000_000);
/// let estimate = lead_lag.estimate(first.changes(), second.changes(), window)?;
/// assert_eq!(estimate.delay_ns, 40_000_000.0);
/// # Ok::<(), nanotape_delay::NoEstimate>(())
/// ```
///
/// Cost: with n ticks each and m of the second within the search around one tick, about n times m
/// additions, and never more than n times the number of coarse lags. It allocates nothing once its
/// memory has grown to the size of a window.
///
/// Limits: ticks of both instruments that are on one grid of time give the lead only to about the
/// step of the grid. Noise of the prices (bounces between bid and offer) weakens the contrast: use
/// mids.
#[derive(Debug)]
pub struct LeadLag {
    settings: LeadLagSettings,
    first: Ticks,
    second: Ticks,
    blocks: Vec<u32>,
    rows: Rows,
    totals: Vec<u128>,
    contributions: Contributions,
}

/// A lag and the size of its contrast, exact.
#[derive(Clone, Copy, Default)]
struct Peak {
    lag_ns: i64,
    size: u128,
}

impl LeadLag {
    /// With settings, brought within their bounds.
    pub fn new(mut settings: LeadLagSettings) -> Self {
        settings.max_lag_ns = settings.max_lag_ns.clamp(1, FARTHEST_LAG_NS);
        let most_lags = usize::try_from(settings.max_lag_ns).unwrap_or(MOST_LAGS).min(MOST_LAGS);
        settings.lags = settings.lags.clamp(1, most_lags);
        settings.blocks = settings.blocks.clamp(1, MOST_BLOCKS);
        settings.resamples = settings.resamples.min(MOST_RESAMPLES);
        settings.permutations = settings.permutations.min(MOST_PERMUTATIONS);
        settings.least_changes = settings.least_changes.max(2);
        Self {
            settings,
            first: Ticks::default(),
            second: Ticks::default(),
            blocks: Vec::new(),
            rows: Rows::default(),
            totals: Vec::new(),
            contributions: Contributions::default(),
        }
    }

    /// The settings in use.
    pub fn settings(&self) -> &LeadLagSettings {
        &self.settings
    }

    /// Coarse lags in nanoseconds and their contrasts in the last window: correlations with their
    /// signs. Empty if an instrument had too few changes.
    pub fn contrasts(&mut self) -> impl Iterator<Item = (i64, f64)> {
        let grid = self.coarse();
        let values = self.contributions.coarse().iter().copied();
        values.enumerate().map(move |(index, value)| (grid.lag_ns(index), value))
    }

    /// What [`Estimator::estimate`] answers, with the evidence of a relation.
    pub fn examine(&mut self, first: Changes<'_>, second: Changes<'_>, window: Window) -> Lead {
        let scale = match self.load(first, second, window) {
            Ok(scale) => scale,
            Err(reason) => {
                self.contributions.clear(0);
                return Lead { estimate: Err(reason), evidence: None };
            }
        };
        self.contributions.clear(self.settings.blocks);
        let coarse = self.coarse();
        let best = self.search(coarse, scale);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.settings.seed);
        let LeadLagSettings { permutations, largest_p, .. } = self.settings;
        let (p_value, by_chance) = self.contributions.chance(permutations, largest_p, &mut random);
        let values = self.contributions.coarse();
        let mut evidence =
            Evidence { contrast: values[best], lead_lag_ratio: lead_lag_ratio(values), p_value };
        let ratio = peak_ratio(values, best);
        let accepted = self.accept(&evidence, by_chance, ratio, coarse.lag_ns(best));
        let peak = accepted.and_then(|()| self.refine(coarse, scale));
        let estimate = peak.map(|peak| {
            evidence.contrast = peak.size as f64 * scale * evidence.contrast.signum();
            self.with_interval(peak, evidence.contrast, &mut random)
        });
        Lead { estimate, evidence: Some(evidence) }
    }

    /// The grid of coarse lags.
    fn coarse(&self) -> Grid {
        let lags = self.settings.lags;
        let step_ns = self.settings.max_lag_ns / lags as i64;
        Grid { from_ns: -(step_ns * lags as i64), step_ns, count: 2 * lags + 1 }
    }

    /// Prepares a window; returns what makes a contrast a correlation.
    fn load(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<f64, NoEstimate> {
        let least = self.settings.least_changes;
        let first = first.within(window);
        let near = second.within(window).len();
        if first.len() < least || near < least {
            return Err(NoEstimate::FewChanges { first: first.len(), second: near, least });
        }
        self.first.load(first, window.from_ns);
        self.second.load(second.within(window.widened(self.settings.max_lag_ns)), window.from_ns);
        let length_ns = window.length_ns();
        let blocks = self.settings.blocks as u128;
        self.blocks.clear();
        self.blocks.extend(self.first.times_ns.iter().map(|&at| {
            let block = u128::from(at.unsigned_abs()) * blocks / length_ns.max(1) as u128;
            block.min(blocks - 1) as u32
        }));
        let both = self.first.variance(length_ns) as f64 * self.second.variance(length_ns) as f64;
        // Values that return to where they were at the same time do not vary.
        Ok(if both > 0.0 { both.sqrt().recip() } else { 0.0 })
    }

    /// Computes the contrasts of a grid; returns the index of the largest one, or the middle of
    /// neighbours that are equally large.
    fn search(&mut self, grid: Grid, scale: f64) -> usize {
        let blocks = self.settings.blocks;
        self.rows.compute(&self.first, &self.second, grid, &self.blocks, blocks);
        self.contributions.add(grid, &self.rows, scale);
        self.totals.clear();
        self.totals.extend((0..grid.count).map(|index| {
            let sum: i128 = (0..blocks).map(|block| self.rows.block(block)[index]).sum();
            sum.unsigned_abs()
        }));
        let (best, size) = largest_of(&self.totals);
        let alike = self.totals[best..].iter().take_while(|&&total| total == size).count();
        best + (alike - 1) / 2
    }

    /// Refuses a largest coarse contrast that says nothing certain about a lead.
    fn accept(
        &self,
        evidence: &Evidence,
        by_chance: f64,
        ratio: f64,
        lag_ns: i64,
    ) -> Result<(), NoEstimate> {
        let settings = &self.settings;
        let correlation = evidence.contrast.abs();
        if evidence.p_value > settings.largest_p || correlation == 0.0 {
            return Err(NoEstimate::WeakPeak { correlation, least: by_chance });
        }
        self.check_inside(lag_ns)?;
        let least = settings.least_peak_ratio;
        if ratio < least {
            return Err(NoEstimate::AmbiguousPeak { ratio, least });
        }
        Ok(())
    }

    fn check_inside(&self, lag_ns: i64) -> Result<(), NoEstimate> {
        let ends_ns = self.coarse().from_ns.abs();
        if lag_ns.abs() < ends_ns { Ok(()) } else { Err(NoEstimate::AtTheEdge { lag_ns }) }
    }

    /// Searches around the best coarse peaks with finer and finer steps, until a step is shorter
    /// than a plateau.
    fn refine(&mut self, coarse: Grid, scale: f64) -> Result<Peak, NoEstimate> {
        let mut peak = Peak::default();
        let mut step_ns = coarse.step_ns;
        for candidate in peaks(&self.totals, coarse).into_iter().flatten() {
            let around = around(candidate.lag_ns, step_ns);
            for found in [candidate, self.peak_of(around, scale)] {
                if found.size > peak.size {
                    peak = found;
                }
            }
        }
        loop {
            step_ns = around(0, step_ns).step_ns;
            let (low_ns, high_ns) = self.first.plateau(&self.second, peak.lag_ns);
            if step_ns == 1 || high_ns.saturating_sub(low_ns) >= step_ns {
                // The best of the fine lags can be beside another coarse peak than the best one.
                return self.check_inside(peak.lag_ns).map(|()| peak);
            }
            let found = self.peak_of(around(peak.lag_ns, step_ns), scale);
            if found.size > peak.size {
                peak = found;
            }
        }
    }

    /// The largest contrast of a grid.
    fn peak_of(&mut self, grid: Grid, scale: f64) -> Peak {
        let index = self.search(grid, scale);
        Peak { lag_ns: grid.lag_ns(index), size: self.totals[index] }
    }

    /// The middle of the peak's plateau, and the interval, which contains the plateau.
    fn with_interval(
        &mut self,
        peak: Peak,
        contrast: f64,
        random: &mut Xoshiro256PlusPlus,
    ) -> Estimate {
        let (low_ns, high_ns) = self.first.plateau(&self.second, peak.lag_ns);
        let farthest_ns = self.settings.max_lag_ns;
        let (low_ns, high_ns) = (low_ns.max(-farthest_ns), high_ns.min(farthest_ns));
        let delay_ns = low_ns.midpoint(high_ns) as f64;
        let resamples = self.settings.resamples;
        let interval = self.contributions.interval(resamples, CONFIDENCE, random);
        // Without draws nothing is known but that the lag was searched for.
        let ends = interval.unwrap_or((-farthest_ns as f64, farthest_ns as f64));
        Estimate {
            delay_ns,
            low_ns: ends.0.min(low_ns as f64),
            high_ns: ends.1.max(high_ns as f64),
            support: self.first.len().min(self.second.len()),
            quality: contrast.abs().min(1.0),
        }
    }
}

impl Estimator for LeadLag {
    fn name(&self) -> &'static str {
        "lead-lag"
    }

    fn estimate(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<Estimate, NoEstimate> {
        self.examine(first, second, window).estimate
    }

    fn curve(&mut self, points: &mut Vec<(f64, f64)>) {
        points.extend(self.contrasts().map(|(lag_ns, value)| (lag_ns as f64, value)));
    }
}

/// The lags within a step of one, at finer steps.
fn around(lag_ns: i64, step_ns: i64) -> Grid {
    let finer_ns = (step_ns + FINER - 1) / FINER;
    let each_side = step_ns / finer_ns;
    Grid {
        from_ns: lag_ns - each_side * finer_ns,
        step_ns: finer_ns,
        count: 2 * each_side as usize + 1,
    }
}

/// The first of the largest values, and its index.
fn largest_of(values: &[u128]) -> (usize, u128) {
    let mut best = (0, 0);
    for (index, &value) in values.iter().enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best
}

/// The largest local maxima that are not neighbours, in descending order.
fn peaks(totals: &[u128], grid: Grid) -> [Option<Peak>; CANDIDATES] {
    let mut found = [None::<(usize, u128)>; CANDIDATES];
    for place in 0..CANDIDATES {
        let mut best = None::<(usize, u128)>;
        for (index, &size) in totals.iter().enumerate() {
            let is_top = index.checked_sub(1).is_none_or(|before| totals[before] <= size)
                && totals.get(index + 1).is_none_or(|&after| after <= size);
            let is_new = found.iter().flatten().all(|&(other, _)| index.abs_diff(other) > 1);
            if is_top && is_new && size > best.map_or(0, |(_, most)| most) {
                best = Some((index, size));
            }
        }
        found[place] = best;
    }
    found.map(|peak| peak.map(|(index, size)| Peak { lag_ns: grid.lag_ns(index), size }))
}

/// The largest contrast by the largest beyond the peak, which reaches to where the contrast is
/// less than half as large.
fn peak_ratio(values: &[f64], best: usize) -> f64 {
    let most = values[best].abs();
    let belongs = |value: &&f64| value.abs() >= most / 2.0;
    let below = values[..best].iter().rev().take_while(belongs).count();
    let above = values[best..].iter().take_while(belongs).count();
    let others = values[..best - below].iter().chain(&values[best + above.max(1)..]);
    most / others.fold(0.0, |other: f64, value| other.max(value.abs()))
}

/// The sum of squares at positive lags by that at negative ones; 1 if all are 0.
fn lead_lag_ratio(values: &[f64]) -> f64 {
    let squares = |part: &[f64]| part.iter().map(|value| value * value).sum::<f64>();
    let (behind, ahead) = values.split_at(values.len() / 2);
    let (behind, ahead) = (squares(behind), squares(&ahead[1..]));
    if behind == ahead { 1.0 } else { ahead / behind }
}
