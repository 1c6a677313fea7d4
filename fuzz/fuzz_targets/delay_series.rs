//! Two series from any bytes, through all estimators: no panic, and an answer that is consistent.
#![no_main]

use std::num::NonZeroUsize;

use libfuzzer_sys::fuzz_target;
use nanotape_delay::{
    Changes, Estimate, Estimator, LeadLag, LeadLagSettings, MatchSequence, MatchValue,
    MatchValueSettings, Matrix, NoEstimate, Padding, Series, Signal, Window, Xcorr, XcorrSettings,
};

fuzz_target!(|bytes: &[u8]| through_the_estimators(bytes));

/// The first bytes choose the window and how far times are apart; each later word is a change of
/// one of the series.
fn through_the_estimators(bytes: &[u8]) {
    let Some((head, words)) = bytes.split_first_chunk::<16>() else { return };
    let number = |at: usize| {
        i64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes")) >> (head[15] % 64)
    };
    let window = Window::new(number(0), number(8));
    let (mut series, mut time_ns) = ([Series::new(), Series::new()], window.from_ns);
    for word in words.chunks_exact(4).take(4_096) {
        let [side, step, low, high] = [word[0], word[1], word[2], word[3]];
        let step_ns = i64::from(step) << (side >> 1 & 31);
        time_ns = time_ns.saturating_add(step_ns);
        let value = i64::from(i16::from_le_bytes([low, high]));
        // Few bits make values that meet, and many make those that cannot be subtracted.
        series[usize::from(side & 1)].push(time_ns, value << (side >> 6) * 16);
    }
    let [first, second] = series.each_ref().map(Series::changes);
    for mut estimator in estimators() {
        let found = estimator.estimate(first, second, window);
        check(estimator.name(), found);
        assert_eq!(same(estimator.estimate(first, second, window)), same(found), "again the same");
        let mut points = Vec::new();
        estimator.curve(&mut points);
        assert!(points.is_sorted_by(|one, other| one.0 < other.0), "{}", estimator.name());
    }
    matrix(&[first, second], window);
}

fn estimators() -> Vec<Box<dyn Estimator>> {
    let usual =
        XcorrSettings { window_ns: 1 << 20, max_lag_ns: 1 << 17, ..XcorrSettings::default() };
    let (signal, padding) = (Signal::Levels, Padding::Circular);
    let levels = XcorrSettings { signal, padding, smoothing_ns: 0, window_ns: 1_024_000, ..usual };
    let mut all: Vec<Box<dyn Estimator>> = vec![
        Box::new(MatchSequence::new(5_000_000)),
        Box::new(MatchValue::new(MatchValueSettings::default())),
        Box::new(LeadLag::new(few_draws())),
    ];
    for settings in [usual, levels] {
        all.push(Box::new(Xcorr::new(settings).expect("settings within their limits")));
    }
    all
}

fn few_draws() -> LeadLagSettings {
    LeadLagSettings { resamples: 20, permutations: 20, lags: 20, ..LeadLagSettings::default() }
}

fn check(name: &str, found: Result<Estimate, NoEstimate>) {
    let Ok(Estimate { delay_ns, low_ns, high_ns, quality, .. }) = found else { return };
    assert!(low_ns <= delay_ns && delay_ns <= high_ns, "{name}: {found:?}");
    assert!((0.0..=1.0).contains(&quality), "{name}: {found:?}");
}

/// For a comparison in which a number that is none equals itself.
fn same(found: Result<Estimate, NoEstimate>) -> String {
    format!("{found:?}")
}

fn matrix(set: &[Changes<'_>], window: Window) {
    let (settings, threads) = (few_draws(), NonZeroUsize::MIN);
    for pair in (Matrix { settings, false_discovery_rate: 0.1, threads }).all_pairs(set, window) {
        check("matrix", pair.lead.estimate);
        assert!(pair.q_value.is_none_or(|q| (0.0..=1.0).contains(&q)), "{pair:?}");
    }
}
