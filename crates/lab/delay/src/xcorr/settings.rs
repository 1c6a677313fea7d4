//! What a cross-correlation by transforms reads, and when it refuses to answer.
//!
//! Every back end samples in the same way, so that their answers differ by rounding only:
//!
//! - The first feed has [`XcorrSettings::samples`] cells of `grid_ns` from the beginning of the
//!   window. Cell `k` is `from + k * grid_ns <= time < from + (k + 1) * grid_ns`. A shorter window
//!   leaves the cells that it does not fill whole at zero; a longer one is cut.
//! - The second feed has the same cells if [`Padding::Circular`]; if [`Padding::Zero`] it has
//!   [`XcorrSettings::lags`] more at both ends, so that no lag loses a part of the window.
//! - [`Signal::Differences`]: a cell is the sum of the changes in it, each the value less the value
//!   before it. The first value of a series is no change, since what was before is not known.
//! - [`Signal::Levels`]: a cell is the value of the last change not later than its beginning, less
//!   the mean over the cells, rounded to an integer. Cells before the first change have its value.
//!   A circular correlation has the same shape with any constant taken off; what is correlated is
//!   then small enough for the 24 bits of an `f32`.
//! - Changes and levels are integers until here. Each side is scaled by the power of two that
//!   brings its largest change or level to at least 1/2 and below 1, and then becomes `f32`. This
//!   moves no peak and keeps squares finite. Changes of one cell are added after that, in order of
//!   time.
//! - Both are padded with zeros to [`XcorrSettings::transform_length`] points, and the correlation
//!   at lag `l` is the sum over `k` of `first[k] * second[k + l]`.
//! - The product of the spectra at `k` cycles in the transform is multiplied by
//!   [`XcorrSettings::weight`], which smooths both sides at once.

use std::f64::consts::{PI, SQRT_2};

use thiserror::Error;

/// What is correlated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// The value itself, which stays until the next change.
    Levels,
    /// The changes of the value, each at its time.
    Differences,
}

/// What follows the last sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Padding {
    /// The first sample again: the transforms have the length of the window.
    Circular,
    /// Zeros: the transforms hold the window and the largest lag at both ends of it.
    Zero,
}

/// Finest and coarsest grid.
const GRID_NS: [i64; 2] = [100, 1_000_000];
/// Most points of a transform: 16 MiB a series.
const MOST_POINTS: i64 = 1 << 22;
/// Most standard deviations of the smoothing that fit into the largest lag, inverted: a kernel that
/// is wider than the search has no peak in it.
const LAGS_BY_SMOOTHING: i64 = 2;

/// The settings of a cross-correlation by transforms.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct XcorrSettings {
    /// Length of a cell, from 100 ns to 1 ms.
    pub grid_ns: i64,
    /// Length of the windows. Plans and memory are made for it.
    pub window_ns: i64,
    /// The largest delay that is searched, and the largest advance.
    pub max_lag_ns: i64,
    /// Levels or differences.
    pub signal: Signal,
    /// Standard deviation of a Gaussian that smooths each side; 0 for none.
    pub smoothing_ns: i64,
    /// What follows the last sample.
    pub padding: Padding,
    /// Changes of each side that a window must have.
    pub least_changes: usize,
    /// What the best lag must be of the next best; 1 accepts every one.
    pub least_ratio: f64,
    /// Correlation that the best lag must have, from 0 to 1.
    pub least_correlation: f64,
}

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{field}: {value} is not {expected}")]
pub struct SettingsError {
    /// The name of the field.
    pub field: &'static str,
    /// What it is.
    pub value: String,
    /// What it may be.
    pub expected: String,
}

impl Default for XcorrSettings {
    /// Smoothed differences of 65.536 ms, padded with zeros. They find a peak where both feeds are
    /// clustered, jittered and conflated; levels find it in about half of such windows.
    ///
    /// A grid of about a quarter of the smoothing is enough: smoothed sides have nothing that is
    /// finer, and the delay comes from the changes. A grid of 1 us gave the same delays of
    /// simulated feeds at four times the cost.
    fn default() -> Self {
        Self {
            grid_ns: 4_000,
            window_ns: 65_536_000,
            max_lag_ns: 2_000_000,
            signal: Signal::Differences,
            smoothing_ns: 15_000,
            padding: Padding::Zero,
            least_changes: 10,
            least_ratio: 1.2,
            least_correlation: 0.3,
        }
    }
}

impl XcorrSettings {
    /// As published by `JayBeams` (`jb/fftw/time_delay_estimator.hpp`): circular, of levels, the
    /// largest correlation whatever it is. There the window has 2,048 samples.
    pub fn published() -> Self {
        Self {
            grid_ns: 1_000,
            window_ns: 2_048_000,
            max_lag_ns: 1_023_000,
            signal: Signal::Levels,
            smoothing_ns: 0,
            padding: Padding::Circular,
            least_changes: 1,
            least_ratio: 1.0,
            least_correlation: 0.0,
        }
    }

    /// Whether an estimator can be made of them.
    ///
    /// # Errors
    ///
    /// The first field that is out of its limits.
    pub fn check(&self) -> Result<(), SettingsError> {
        within("grid_ns", self.grid_ns, GRID_NS)?;
        let longest_ns = MOST_POINTS * self.grid_ns;
        within("window_ns", self.window_ns, [8 * self.grid_ns, longest_ns])?;
        if self.padding == Padding::Circular && !self.samples().is_multiple_of(4) {
            let expected = "a multiple of 4 cells".to_owned();
            return Err(SettingsError {
                field: "window_ns",
                value: self.window_ns.to_string(),
                expected,
            });
        }
        // A circular lag of more than half of the window is one of the other direction.
        let farthest_ns = match self.padding {
            Padding::Circular => (self.samples() as i64 - 1) / 2 * self.grid_ns,
            Padding::Zero => (longest_ns - self.window_ns) / 2,
        };
        within("max_lag_ns", self.max_lag_ns, [2 * self.grid_ns, farthest_ns])?;
        within("smoothing_ns", self.smoothing_ns, [0, self.max_lag_ns / LAGS_BY_SMOOTHING])?;
        within("least_changes", self.least_changes as i64, [1, i64::MAX])?;
        within_real("least_ratio", self.least_ratio, [1.0, f64::MAX])?;
        within_real("least_correlation", self.least_correlation, [0.0, 1.0])
    }

    /// Cells of a window.
    pub fn samples(&self) -> usize {
        (self.window_ns / self.grid_ns) as usize
    }

    /// Cells of the largest lag. Lags are searched from as many below zero to as many above.
    pub fn lags(&self) -> usize {
        (self.max_lag_ns / self.grid_ns) as usize
    }

    /// Cells by which the second feed is widened at each end.
    pub fn margin(&self) -> usize {
        match self.padding {
            Padding::Circular => 0,
            Padding::Zero => self.lags(),
        }
    }

    /// Points of a transform: the cells of the second feed, rounded up to a length that is fast
    /// ([`fast_length`]) if zeros may follow.
    pub fn transform_length(&self) -> usize {
        match self.padding {
            Padding::Circular => self.samples(),
            Padding::Zero => fast_length(self.samples() + 2 * self.margin()),
        }
    }

    /// Deviation of the Gaussian by which pairs of changes are weighed where a peak is refined:
    /// that of both sides. Without smoothing it is a cell of each side.
    pub fn kernel_ns(&self) -> f64 {
        self.smoothing_ns.max(self.grid_ns) as f64 * SQRT_2
    }

    /// Lags within which everything belongs to one peak: four deviations of the kernel.
    pub fn neighbourhood(&self) -> usize {
        (4.0 * self.kernel_ns() / self.grid_ns as f64).ceil() as usize
    }

    /// What the product of the spectra is multiplied by at so many cycles in a transform: the
    /// squared transform of the Gaussian, which is that of both sides.
    pub fn weight(&self, cycles: usize) -> f64 {
        let length_ns = self.transform_length() as f64 * self.grid_ns as f64;
        let phase = 2.0 * PI * cycles as f64 * self.smoothing_ns as f64 / length_ns;
        (-phase * phase).exp()
    }
}

/// The smallest length that is not smaller, and 16 times a product of twos and threes: transforms
/// of such a length are fast in every library, and at most a fifth more than needed.
pub fn fast_length(least: usize) -> usize {
    let mut best = least.next_power_of_two().max(16);
    for threes in 1..=4 {
        let odd = 3_usize.pow(threes);
        let twos = least.div_ceil(odd).next_power_of_two().max(16);
        best = best.min(odd * twos);
    }
    best
}

fn within(field: &'static str, value: i64, [least, most]: [i64; 2]) -> Result<(), SettingsError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = format!("from {least} to {most}");
    Err(SettingsError { field, value: value.to_string(), expected })
}

fn within_real(
    field: &'static str,
    value: f64,
    [least, most]: [f64; 2],
) -> Result<(), SettingsError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = format!("from {least} to {most}");
    Err(SettingsError { field, value: value.to_string(), expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_ones_are_good() {
        for settings in [XcorrSettings::default(), XcorrSettings::published()] {
            assert_eq!(settings.check(), Ok(()));
        }
        assert_eq!(XcorrSettings::published().transform_length(), 2_048);
        assert_eq!(XcorrSettings::default().transform_length(), 18_432);
    }

    #[test]
    fn an_error_names_its_field() {
        let good = XcorrSettings::default();
        for (field, settings) in [
            ("grid_ns", XcorrSettings { grid_ns: 99, ..good }),
            ("grid_ns", XcorrSettings { grid_ns: i64::MAX, ..good }),
            ("window_ns", XcorrSettings { window_ns: 31_999, ..good }),
            ("window_ns", XcorrSettings { window_ns: i64::MAX, ..good }),
            ("max_lag_ns", XcorrSettings { max_lag_ns: 7_999, ..good }),
            ("max_lag_ns", XcorrSettings { max_lag_ns: i64::MAX, ..good }),
            (
                "max_lag_ns",
                XcorrSettings { padding: Padding::Circular, max_lag_ns: 32_768_000, ..good },
            ),
            ("window_ns", XcorrSettings { window_ns: 1_002_000, ..XcorrSettings::published() }),
            ("smoothing_ns", XcorrSettings { smoothing_ns: -1, ..good }),
            ("smoothing_ns", XcorrSettings { smoothing_ns: 1_000_001, ..good }),
            ("least_changes", XcorrSettings { least_changes: 0, ..good }),
            ("least_ratio", XcorrSettings { least_ratio: f64::NAN, ..good }),
            ("least_correlation", XcorrSettings { least_correlation: 1.5, ..good }),
        ] {
            let error = settings.check().expect_err("out of its limits");
            assert_eq!(error.field, field, "{error}");
        }
        let error = XcorrSettings { grid_ns: 99, ..good }.check().expect_err("out of its limits");
        assert_eq!(error.to_string(), "grid_ns: 99 is not from 100 to 1000000");
    }

    #[test]
    fn fast_lengths_are_close() {
        for least in 1..20_000 {
            let length = fast_length(least);
            assert!(length >= least && length.is_multiple_of(16));
            let mut rest = length;
            for prime in [2, 3] {
                while rest.is_multiple_of(prime) {
                    rest /= prime;
                }
            }
            assert_eq!(rest, 1, "{length}");
            assert!(least < 1_296 || length * 5 <= least * 6, "{length} for {least}");
        }
    }

    #[test]
    fn weights_fall_from_one() {
        let settings = XcorrSettings { grid_ns: 1_000, ..XcorrSettings::default() };
        let near =
            |cycles: usize, expected: f64| (settings.weight(cycles) - expected).abs() < 1e-12;
        assert!(near(0, 1.0));
        // 1 / (2 pi 15 us) is 10.61 kHz: there both Gaussians together fall to exp(-1).
        let cycles = 73_728e-6 / (2.0 * PI * 15e-6);
        let between =
            [cycles.floor() as usize, cycles.ceil() as usize].map(|at| settings.weight(at));
        let expected = (-1.0_f64).exp();
        assert!(between[0] >= expected && expected >= between[1], "{between:?}");
    }
}
