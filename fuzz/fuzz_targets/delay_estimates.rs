//! Any changes, windows and settings for a cross-correlation: no panic, and an estimate lies in its
//! interval.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_delay::{Estimator as _, Padding, Series, Signal, Window, Xcorr, XcorrSettings};

fuzz_target!(|input: (u8, [i64; 2], [u16; 4], Vec<(bool, i64, i64)>)| {
    let (bits, [from_ns, until_ns], [grid, window, lag, smoothing], events) = input;
    let grid_ns = 100 + i64::from(grid);
    let pick = |bit: u8| bits >> bit & 1 == 1;
    let settings = XcorrSettings {
        grid_ns,
        // At most 4,096 cells, so that an input takes little time.
        window_ns: grid_ns * i64::from(window % 4_096),
        max_lag_ns: grid_ns * i64::from(lag % 2_048),
        signal: if pick(0) { Signal::Levels } else { Signal::Differences },
        smoothing_ns: i64::from(smoothing),
        padding: if pick(1) { Padding::Circular } else { Padding::Zero },
        least_changes: 1,
        least_ratio: 1.0,
        least_correlation: 0.0,
    };
    let Ok(mut xcorr) = Xcorr::new(settings) else { return };
    let [mut first, mut second] = [Series::new(), Series::new()];
    for (is_first, time_ns, value) in events {
        if is_first { &mut first } else { &mut second }.push(time_ns, value);
    }
    let window = Window { from_ns, until_ns };
    if let Ok(found) = xcorr.estimate(first.changes(), second.changes(), window) {
        assert!(found.low_ns <= found.delay_ns && found.delay_ns <= found.high_ns, "{found:?}");
        assert!((0.0..=1.0).contains(&found.quality), "{found:?}");
    }
});
