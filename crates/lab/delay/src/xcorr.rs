//! Delay by cross-correlation with Fourier transforms.
//!
//! ```text
//! changes --(sample)--> cells --(transform, spectrum)--> correlation by lag --(peak)--> lag
//!    |                                                                                   |
//!    +------------------------------------(refine)--------------------------------------+
//!                                            |
//!                                 delay with its interval
//! ```
//!
//! The transforms find where the peak is among all lags, and the changes near it whether it is one.
//! The delay is then the median of the changes that match there, as in `match-value`: the maximum
//! of a correlation is between the mode and the mean of a skewed jitter, and not its median.

mod peak;
mod refine;
pub(crate) mod sample;
mod samples;
mod settings;
mod spectrum;
mod transform;

pub use peak::Peak;
pub use samples::Samples;
pub use settings::{Padding, SettingsError, Signal, XcorrSettings, fast_length};
pub use transform::Correlator;

use crate::{
    Changes, Estimate, Estimator, NoEstimate, Window,
    bursts::{LEAST, near_ns},
    candidates::{Key, NUMBER_BITS},
    matcher::{Limits, Matcher},
};
use peak::offset_of_parabola;
use refine::{Refiner, Side};
use sample::Grid;

/// Blocks of time, counted by weight, that an estimate by differences needs.
const LEAST_BLOCKS: f64 = 2.0;

/// Candidates of matches at most.
const MOST_PAIRS: usize = 1 << 16;

/// Estimates by cross-correlation. A clone shares the plans, so that each of many threads can have
/// one.
#[derive(Clone, Debug)]
pub struct Xcorr {
    correlator: Correlator,
    first: Samples,
    second: Samples,
    matcher: Matcher,
}

impl Xcorr {
    /// Plans the transforms and takes the memory.
    ///
    /// # Errors
    ///
    /// A setting that is out of its limits.
    pub fn new(settings: XcorrSettings) -> Result<Self, SettingsError> {
        let correlator = Correlator::new(settings)?;
        let (first, second) = (correlator.samples(), correlator.samples());
        Ok(Self { correlator, first, second, matcher: Matcher::new() })
    }

    /// The correlation of the last window by lag, from the largest advance of the second feed to
    /// its largest delay, in steps of a cell. It has no unit: compare it with its largest value.
    pub fn correlation(&self) -> impl Iterator<Item = f32> {
        self.correlator.correlation(0..2 * self.correlator.settings().lags() + 1)
    }

    /// Samples both sides, and finds the peak among the lags.
    fn peak(&mut self, first: (Changes<'_>, Grid), second: (Changes<'_>, Grid)) -> Peak {
        let sample = match self.correlator.settings().signal {
            Signal::Levels => sample::levels,
            Signal::Differences => sample::differences,
        };
        sample(first.0, first.1, &mut self.first);
        sample(second.0, second.1, &mut self.second);
        self.correlator.correlate(&self.first, &self.second)
    }
}

impl Estimator for Xcorr {
    fn name(&self) -> &'static str {
        "xcorr"
    }

    fn estimate(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<Estimate, NoEstimate> {
        let settings = *self.correlator.settings();
        let sides = settings.sides(first, second, window)?;
        let peak = self.peak(sides.first, sides.second);
        let around = || {
            let mut around = [0.0; 3];
            let lags = self.correlator.correlation(peak.at - 1..peak.at + 2);
            around.iter_mut().zip(lags).for_each(|(value, lag)| *value = lag);
            around
        };
        let energies = || self.first.energy() * self.second.energy();
        settings.judge(&mut self.matcher, &sides, peak, around, energies)
    }

    /// Values by the largest one.
    fn curve(&mut self, points: &mut Vec<(f64, f64)>) {
        let (grid_ns, lags) = {
            let settings = self.correlator.settings();
            (settings.grid_ns as f64, settings.lags())
        };
        let most = self.correlation().fold(f32::MIN_POSITIVE, f32::max);
        let lag_ns = |index: usize| (index as f64 - lags as f64) * grid_ns;
        let values = self.correlation().enumerate();
        points.extend(values.map(|(index, value)| (lag_ns(index), f64::from(value / most))));
    }
}

/// A window in which both sides change often enough to be correlated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'a> {
    pub(crate) first: (Changes<'a>, Grid),
    pub(crate) second: (Changes<'a>, Grid),
    pub(crate) window: Window,
    support: usize,
}

impl Grid {
    /// The changes in the cells, after the one before them, which says what the first one changes.
    fn part(self, changes: Changes<'_>, most: usize) -> Changes<'_> {
        let within = self.changes(changes);
        let from = within.start.saturating_sub(1);
        changes.part(from, within.end.min(from.saturating_add(most)).max(from))
    }
}

impl XcorrSettings {
    /// Both sides with their cells. Every back end begins with this.
    pub(crate) fn sides<'a>(
        &self,
        first: Changes<'a>,
        second: Changes<'a>,
        window: Window,
    ) -> Result<Sides<'a>, NoEstimate> {
        let (cells, widened) = self.grids(window);
        let (first, second) = ((first, cells), (second, widened));
        let counts = [first, second].map(|(of, grid)| grid.changes(of).len());
        let support = counts[0].min(counts[1]);
        if support < self.least_changes || cells.cells == 0 {
            let [first, second] = counts;
            return Err(NoEstimate::FewChanges { first, second, least: self.least_changes });
        }
        Ok(Sides { first, second, window, support })
    }

    /// Whether a peak is one, and where exactly. Every back end ends with this. `around` gives the
    /// correlations before, at and after the peak. `energies` gives the product of the energies of
    /// the samples of both sides, which levels need.
    pub(crate) fn judge(
        &self,
        matcher: &mut Matcher,
        sides: &Sides<'_>,
        peak: Peak,
        around: impl FnOnce() -> [f32; 3],
        energies: impl FnOnce() -> f64,
    ) -> Result<Estimate, NoEstimate> {
        let lag_ns = (peak.at as i64 - self.lags() as i64) * self.grid_ns;
        let weak =
            |correlation| NoEstimate::WeakPeak { correlation, least: self.least_correlation };
        if peak.value <= 0.0 || !peak.value.is_finite() {
            return Err(weak(0.0));
        }
        if peak.at == 0 || peak.at == 2 * self.lags() {
            return Err(NoEstimate::AtTheEdge { lag_ns });
        }
        let ratio = f64::from(peak.value) / f64::from(peak.second.max(f32::MIN_POSITIVE));
        if ratio < self.least_ratio {
            return Err(NoEstimate::AmbiguousPeak { ratio, least: self.least_ratio });
        }
        let peak_ns = lag_ns as f64 + offset_of_parabola(around()) * self.grid_ns as f64;
        let window_ns = (sides.first.1.cells as i64 * self.grid_ns) as f64;
        let origin_ns = sides.window.from_ns;
        let refiner = Refiner {
            first: Side::all(sides.first.0, origin_ns).between(0.0, window_ns),
            second: Side::all(sides.second.0, origin_ns)
                .between(-(self.max_lag_ns as f64), window_ns + self.max_lag_ns as f64),
            kernel_ns: self.kernel_ns(),
            window_ns,
        };
        let refined = refiner.refine(peak_ns);
        let correlation = match (self.signal, refined) {
            (Signal::Levels, _) => self.correlation_of_levels(peak.value, energies()),
            (Signal::Differences, Some(refined)) => refined.correlation,
            (Signal::Differences, None) => 0.0,
        };
        if correlation < self.least_correlation {
            return Err(weak(correlation));
        }
        // Changes of one block agree with themselves at some lag whatever the feeds are.
        if let (Signal::Differences, Some(refined)) = (self.signal, refined)
            && refined.blocks < LEAST_BLOCKS
        {
            let least = LEAST_BLOCKS.ceil() as usize;
            return Err(NoEstimate::FewMatches { matches: refined.blocks as usize, least });
        }
        self.matched(matcher, sides, refined.map_or(peak_ns, |refined| refined.delay_ns))
            .map(|estimate| Estimate { quality: correlation, ..estimate })
    }

    /// The median of the changes that match, which must be at the peak.
    fn matched(
        &self,
        matcher: &mut Matcher,
        sides: &Sides<'_>,
        peak_ns: f64,
    ) -> Result<Estimate, NoEstimate> {
        let Sides { first: (first, cells), second: (second, widened), .. } = *sides;
        let (first, second) =
            (cells.part(first, (1 << NUMBER_BITS) - 1), widened.part(second, u32::MAX as usize));
        let limits = Limits {
            max_lag_ns: self.max_lag_ns,
            bin_ns: (self.kernel_ns() as i64).clamp(1, self.max_lag_ns),
            least_matches: LEAST,
            least_ratio: self.least_ratio,
            max_pairs: MOST_PAIRS,
        };
        let found =
            matcher.find(first, second, (Key::Difference, near_ns(sides.window)), &limits)?;
        let median = found.median;
        let reach_ns = (self.neighbourhood() as i64 * self.grid_ns) as f64;
        let is_there = (median.low - reach_ns..=median.high + reach_ns).contains(&peak_ns);
        if !is_there {
            return Err(NoEstimate::AmbiguousPeak { ratio: 1.0, least: self.least_ratio });
        }
        Ok(Estimate {
            delay_ns: median.median,
            low_ns: median.low,
            high_ns: median.high,
            support: sides.support,
            quality: 0.0,
        })
    }

    /// The correlation coefficient of levels, as they were sampled: below 1 even for equal feeds if
    /// the second side is widened, since its whole energy counts.
    fn correlation_of_levels(&self, peak: f32, energies: f64) -> f64 {
        let points = (self.transform_length() / 2) as f64;
        (f64::from(peak) / points / energies.sqrt()).clamp(0.0, 1.0)
    }

    /// The cells of a window, and those of the second feed.
    fn grids(&self, window: Window) -> (Grid, Grid) {
        let (cell_ns, most) = (self.grid_ns, self.samples() as i64);
        let cells = (window.length_ns() / cell_ns).clamp(0, most) as usize;
        let margin_ns = self.margin() as i64 * cell_ns;
        let first = Grid { origin_ns: window.from_ns, cell_ns, cells };
        let origin_ns = window.from_ns.wrapping_sub(margin_ns);
        (first, Grid { origin_ns, cell_ns, cells: cells + 2 * self.margin() })
    }
}

#[cfg(test)]
mod tests;
