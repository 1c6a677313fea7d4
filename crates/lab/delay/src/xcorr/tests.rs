//! Compared with sums that are written as they are defined, in doubles.

use std::f64::consts::PI;

use proptest::prelude::*;

use super::*;
use crate::Series;

const SMALL: XcorrSettings = XcorrSettings {
    grid_ns: 100,
    window_ns: 12_000,
    max_lag_ns: 3_000,
    signal: Signal::Differences,
    smoothing_ns: 0,
    padding: Padding::Zero,
    least_changes: 1,
    least_ratio: 1.0,
    least_correlation: 0.0,
};

/// Every combination that settings allow.
fn combinations() -> impl Iterator<Item = XcorrSettings> {
    let signals = [Signal::Levels, Signal::Differences];
    let paddings = [Padding::Circular, Padding::Zero];
    (0..8).map(move |bits| XcorrSettings {
        signal: signals[bits & 1],
        padding: paddings[bits >> 1 & 1],
        smoothing_ns: [0, 250][bits >> 2],
        ..SMALL
    })
}

fn series(events: &[(i64, i64)]) -> Series {
    let mut series = Series::new();
    for &(time_ns, value) in events {
        series.push(time_ns, value);
    }
    series
}

/// The samples as the settings define them, each cell on its own.
fn sampled(changes: Changes<'_>, from_ns: i64, cells: usize, settings: &XcorrSettings) -> Vec<f64> {
    let grid_ns = settings.grid_ns;
    let time = |cell: usize| from_ns + cell as i64 * grid_ns;
    let value = |at| changes.value_at(at).unwrap_or(changes.values[0]);
    match settings.signal {
        Signal::Differences => (0..cells)
            .map(|cell| (value(time(cell + 1) - 1) - value(time(cell) - 1)) as f64)
            .collect(),
        Signal::Levels => {
            let levels: Vec<f64> = (0..cells).map(|cell| value(time(cell)) as f64).collect();
            let mean = (levels.iter().sum::<f64>() / cells as f64 + 0.5).floor();
            levels.iter().map(|level| level - mean).collect()
        }
    }
}

fn transformed(samples: &[f64], length: usize) -> Vec<[f64; 2]> {
    let sum = |k: usize| {
        let mut sum = [0.0; 2];
        for (at, sample) in samples.iter().enumerate() {
            let phase = -2.0 * PI * (at * k % length) as f64 / length as f64;
            sum = [sum[0] + sample * phase.cos(), sum[1] + sample * phase.sin()];
        }
        sum
    };
    (0..length).map(sum).collect()
}

fn energy(samples: &[f64]) -> f64 {
    samples.iter().map(|sample| sample * sample).sum()
}

/// The correlation by lag: spectra by their definition, multiplied, and summed up by lag.
fn defined(first: &[f64], second: &[f64], settings: &XcorrSettings) -> Vec<f64> {
    let length = settings.transform_length();
    let (a, b) = (transformed(first, length), transformed(second, length));
    let product = |k: usize| {
        let (a, b) = (a[k], b[k]);
        let (re, im) = (a[0] * b[0] + a[1] * b[1], a[0] * b[1] - a[1] * b[0]);
        let weight = settings.weight(k.min(length - k));
        [re * weight, im * weight]
    };
    let products: Vec<[f64; 2]> = (0..length).map(product).collect();
    let lags = settings.lags() as i64;
    let at_lag = |lag: i64| {
        let shift = (lag + settings.margin() as i64).rem_euclid(length as i64) as usize;
        let terms = products.iter().enumerate().map(|(k, product)| {
            let phase = 2.0 * PI * (k * shift % length) as f64 / length as f64;
            product[0] * phase.cos() - product[1] * phase.sin()
        });
        terms.sum::<f64>() / length as f64
    };
    (-lags..=lags).map(at_lag).collect()
}

/// Scales each side as the estimator does, so that results can be compared.
fn scaled(samples: Vec<f64>, largest: f64) -> Vec<f64> {
    if largest == 0.0 {
        return samples;
    }
    let scale = 2.0_f64.powi(-(largest.log2().floor() as i32 + 1));
    samples.iter().map(|sample| sample * scale).collect()
}

fn largest_of(changes: Changes<'_>, samples: &[f64], settings: &XcorrSettings, grid: Grid) -> f64 {
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    match settings.signal {
        Signal::Levels => largest(&mut samples.iter().map(|level| level.abs())),
        Signal::Differences => {
            let within = grid.changes(changes);
            let changed = |at: usize| (changes.values[at] - changes.values[at - 1]).abs() as f64;
            largest(&mut (within.start.max(1)..within.end).map(changed))
        }
    }
}

fn events() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let event = (-4_000_i64..16_000, -500_i64..500);
    prop::collection::vec(event, 2..60).prop_map(|mut events| {
        events.sort_unstable();
        events
    })
}

/// What the correlation of doubles may differ by. The error of a transform of `n` points is below
/// `3 log2(n)` roundings of the norm (Higham, "Accuracy and Stability of Numerical Algorithms",
/// 24.2), three transforms follow one another, and a product of norms bounds the correlation.
fn tolerance(first: &[f64], second: &[f64], settings: &XcorrSettings) -> f64 {
    let stages = (settings.transform_length() as f64).log2();
    let rounding = 9.0 * stages * f64::from(f32::EPSILON);
    rounding * (energy(first) * energy(second)).sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn correlations_are_those_defined(first in events(), second in events()) {
        let (first, second) = (series(&first), series(&second));
        let (first, second) = (first.changes(), second.changes());
        let window = Window::new(0, 12_000);
        for settings in combinations() {
            let (cells, widened) = settings.grids(window);
            if cells.changes(first).is_empty() || widened.changes(second).is_empty() {
                continue;
            }
            let sides = [(first, cells), (second, widened)].map(|(changes, grid)| {
                let samples = sampled(changes, grid.origin_ns, grid.cells, &settings);
                let largest = largest_of(changes, &samples, &settings, grid);
                scaled(samples, largest)
            });
            let expected = defined(&sides[0], &sides[1], &settings);
            let mut xcorr = Xcorr::new(settings).expect("good settings");
            let peak = xcorr.peak((first, cells), (second, widened));
            let tolerance = tolerance(&sides[0], &sides[1], &settings);
            let scale = settings.transform_length() as f64 / 2.0;
            for (lag, (found, expected)) in xcorr.correlation().zip(&expected).enumerate() {
                let found = f64::from(found) / scale;
                prop_assert!(
                    (found - expected).abs() <= tolerance,
                    "lag {lag}: {found} and not {expected} within {tolerance}: {settings:?}"
                );
            }
            let largest = expected.iter().copied().fold(f64::MIN, f64::max);
            prop_assert!((f64::from(peak.value) / scale - largest).abs() <= tolerance);
        }
    }

    #[test]
    fn any_input_has_an_answer(
        first in prop::collection::vec((any::<i64>(), any::<i64>()), 0..40),
        second in prop::collection::vec((any::<i64>(), any::<i64>()), 0..40),
        from_ns in any::<i64>(),
        length_ns in any::<i64>(),
    ) {
        let (first, second) = (series(&first), series(&second));
        for settings in combinations() {
            let mut xcorr = Xcorr::new(settings).expect("good settings");
            for window in [Window::new(from_ns, length_ns), Window { from_ns, until_ns: length_ns }] {
                let answer = xcorr.estimate(first.changes(), second.changes(), window);
                if let Ok(estimate) = answer {
                    prop_assert!(estimate.low_ns <= estimate.delay_ns, "{estimate:?}");
                    prop_assert!(estimate.delay_ns <= estimate.high_ns, "{estimate:?}");
                    prop_assert!((0.0..=1.0).contains(&estimate.quality), "{estimate:?}");
                }
            }
        }
    }
}

/// Changes of a wave at every half period, shown so much later.
fn wave(period_ns: i64, steps: i64, later_ns: i64) -> Series {
    let mut series = Series::new();
    let step_ns = period_ns / (2 * steps);
    for at in -40 * steps..400 * steps {
        let phase = at.rem_euclid(2 * steps);
        let value = if phase < steps { phase } else { 2 * steps - phase };
        series.push(at * step_ns + later_ns, 1_000 + value);
    }
    series
}

#[test]
fn published_settings_find_the_delay_of_waves() {
    // As in the published tests: a square and a triangle, a whole number of periods in the window.
    for steps in [1, 64] {
        for delay_ns in [0, 20_000, 100_000, -150_000] {
            let (first, second) = (wave(512_000, steps, 0), wave(512_000, steps, delay_ns));
            let settings = XcorrSettings { max_lag_ns: 250_000, ..XcorrSettings::published() };
            let mut xcorr = Xcorr::new(settings).expect("good settings");
            let window = Window::new(0, settings.window_ns);
            let found = xcorr.estimate(first.changes(), second.changes(), window);
            let found = found.expect("a wave has a delay");
            assert!((found.delay_ns - delay_ns as f64).abs() < 1_000.0, "{delay_ns}: {found:?}");
            assert!(found.low_ns <= delay_ns as f64 && delay_ns as f64 <= found.high_ns);
            assert!(found.quality > 0.99, "{found:?}");
        }
    }
}

#[test]
fn a_burst_of_changes_does_not_take_for_ever() {
    // A pair for each change with each would be 10^10 pairs.
    let mut burst = Series::new();
    for at in 0..100_000 {
        burst.push(5_000_000 + at % 2, at % 7);
    }
    let settings = XcorrSettings { least_correlation: 0.0, ..XcorrSettings::default() };
    let mut xcorr = Xcorr::new(settings).expect("good settings");
    let window = Window::new(0, settings.window_ns);
    let none = xcorr.estimate(burst.changes(), burst.changes(), window);
    assert!(matches!(none, Err(NoEstimate::FewMatches { .. })), "{none:?}");
    let mut strict = Xcorr::new(XcorrSettings::default()).expect("good settings");
    let none = strict.estimate(burst.changes(), burst.changes(), window);
    assert!(matches!(none, Err(NoEstimate::WeakPeak { .. })), "{none:?}");
}

#[test]
fn every_reason_is_given() {
    let settings = XcorrSettings { window_ns: 16_000_000, ..XcorrSettings::default() };
    let mut xcorr = Xcorr::new(settings).expect("good settings");
    let window = Window::new(0, settings.window_ns);
    let spread = |later_ns: i64, factor: i64| {
        let mut series = Series::new();
        for at in 0_i64..200 {
            series.push(at * at * 311 + at * 30_011 + later_ns, at * factor % 1_009);
        }
        series
    };
    let (first, empty) = (spread(0, 577), Series::new());
    let mut estimate =
        |first: &Series, second: &Series| xcorr.estimate(first.changes(), second.changes(), window);
    let none = estimate(&first, &empty).expect_err("nothing there");
    assert!(matches!(none, NoEstimate::FewChanges { second: 0, least: 10, .. }), "{none:?}");
    let mut at_once = Series::new();
    for value in 0..20 {
        at_once.push(5_000_000, value);
    }
    // All at one time is one change of the sum of all: it may fit one lag, but not well.
    let weak = estimate(&first, &at_once);
    assert!(weak.is_err(), "{weak:?}");
    let edge = estimate(&first, &spread(settings.max_lag_ns, 577)).expect_err("beyond the search");
    assert_eq!(edge, NoEstimate::AtTheEdge { lag_ns: settings.max_lag_ns });
    let found = estimate(&first, &spread(777_777, 577)).expect("the same changes");
    assert!((found.delay_ns - 777_777.0).abs() < 1.0, "{found:?}");
    assert!(found.quality > 0.999, "{found:?}");
}
