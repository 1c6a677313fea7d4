//! Estimators that match changes: against delays that are known, and against hostile series.

use nanotape_delay::{
    Changes, Estimator, Feed, MatchSequence, MatchValue, MatchValueSettings, NoEstimate,
    SequenceRing, Series, Window,
};
use nanotape_harness::Random;
use proptest::prelude::*;

const DELAY_NS: i64 = 350_000;

/// A number of the exponential distribution with this mean.
fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * ((random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64).ln()
}

/// Sizes of one feed at 500 a second, and of a second one that is about 350 us later: jitter,
/// changes that it leaves out, and changes of others.
fn feeds(seed: u64, is_noisy: bool) -> (Series, Series) {
    let mut random = Random::new(seed);
    let (mut first, mut later) = (Vec::new(), Vec::new());
    let mut at = 0.0;
    while at < 64e6 {
        // Half of the changes come close after the one before.
        let mean_ns = if random.below(2) == 0 { 3_900_000.0 } else { 100_000.0 };
        at += exponential(&mut random, mean_ns);
        let size = 100 * (1 + random.below(12) as i64);
        first.push((at as i64, size));
        if !is_noisy {
            later.push((at as i64 + DELAY_NS, size));
        } else if random.below(10) != 0 {
            // Uniform from 0 to 40 us: the median is 20 us.
            later.push((at as i64 + DELAY_NS - 20_000 + random.below(40_001) as i64, size));
        }
    }
    for _ in 0..if is_noisy { 7 } else { 0 } {
        later.push((random.below(64_000_000) as i64, 100 * (1 + random.below(12) as i64)));
    }
    later.sort_unstable_by_key(|(time_ns, _)| *time_ns);
    let series = |updates: &[(i64, i64)]| {
        let mut series = Series::new();
        for &(time_ns, value) in updates {
            series.push(time_ns, value);
        }
        series
    };
    (series(&first), series(&later))
}

const WINDOW: Window = Window { from_ns: 0, until_ns: 64_000_000 };

#[test]
fn equal_values_give_the_exact_delay_of_a_clean_feed() {
    let mut matcher = MatchValue::new(MatchValueSettings::default());
    let mut estimates = 0;
    for seed in 0..200 {
        let (first, second) = feeds(seed, false);
        let Ok(found) = matcher.estimate(first.changes(), second.changes(), WINDOW) else {
            continue;
        };
        estimates += 1;
        assert!(found.low_ns <= found.delay_ns && found.delay_ns <= found.high_ns, "{found:?}");
        assert!((found.delay_ns - DELAY_NS as f64).abs() < 1.0, "seed {seed}: {found:?}");
        // The other way round, the sign changes.
        let back = matcher.estimate(second.changes(), first.changes(), WINDOW).unwrap();
        assert!((back.delay_ns + DELAY_NS as f64).abs() < 1.0, "seed {seed}: {back:?}");
    }
    assert!(estimates > 190, "{estimates} of 200");
}

/// The median of 300 noisy windows is close, and 95 % of the intervals contain the delay: the
/// standard error of that share is 1.3 %.
#[test]
fn intervals_of_noisy_feeds_contain_the_delay() {
    let mut matcher = MatchValue::new(MatchValueSettings::default());
    let (mut errors, mut covered) = (Vec::new(), 0);
    for seed in 0..300 {
        let (first, second) = feeds(seed, true);
        if let Ok(found) = matcher.estimate(first.changes(), second.changes(), WINDOW) {
            errors.push(found.delay_ns - DELAY_NS as f64);
            let ends = found.low_ns..=found.high_ns;
            covered += usize::from(ends.contains(&(DELAY_NS as f64)));
        }
    }
    errors.sort_by(f64::total_cmp);
    let (count, median) = (errors.len(), errors[errors.len() / 2]);
    assert!(count > 270, "{count} estimates");
    assert!(median.abs() < 1_000.0, "{median}");
    assert!(errors[0] > -15_000.0 && errors[count - 1] < 15_000.0, "{errors:?}");
    assert!(covered as f64 / count as f64 > 0.91, "{covered} of {count}");
}

#[test]
fn feeds_that_have_nothing_in_common_are_refused() {
    let mut matcher = MatchValue::new(MatchValueSettings::default());
    let accepted = (0..300).filter(|&seed| {
        let (first, _) = feeds(seed, true);
        let (other, _) = feeds(seed + 1_000, true);
        matcher.estimate(first.changes(), other.changes(), WINDOW).is_ok()
    });
    let accepted = accepted.count();
    assert!(accepted <= 3, "{accepted} of 300");
}

#[test]
fn a_delay_at_or_beyond_the_largest_lag_is_refused() {
    let settings = MatchValueSettings { max_lag_ns: 350_000, ..MatchValueSettings::default() };
    let (first, second) = feeds(1, false);
    let (first, second) = (first.changes(), second.changes());
    let found = MatchValue::new(settings).estimate(first, second, WINDOW);
    assert_eq!(found, Err(NoEstimate::AtTheEdge { lag_ns: 350_000 }));
    let settings = MatchValueSettings { max_lag_ns: 200_000, ..settings };
    assert!(MatchValue::new(settings).estimate(first, second, WINDOW).is_err());
}

#[test]
fn a_period_within_the_lags_is_ambiguous() {
    let (mut first, mut second) = (Series::new(), Series::new());
    for at in 0..64 {
        first.push(at * 1_000_000, 100 + at % 2);
        second.push(at * 1_000_000 + DELAY_NS, 100 + at % 2);
    }
    let mut matcher = MatchValue::new(MatchValueSettings::default());
    let found = matcher.estimate(first.changes(), second.changes(), WINDOW);
    assert!(matches!(found, Err(NoEstimate::AmbiguousPeak { .. })), "{found:?}");
}

/// Two values that alternate have two million pairs. Values that occur less often are enough.
#[test]
fn values_that_occur_too_often_are_left_out() {
    let (mut first, mut second) = (Series::new(), Series::new());
    for at in 0..2_000 {
        let value = if at % 50 == 0 { 1_000 + at } else { at % 2 };
        first.push(at * 100, value);
        second.push(at * 100 + 7, value);
    }
    let settings = MatchValueSettings {
        max_lag_ns: 1 << 40,
        bin_ns: 10,
        max_pairs: 1 << 12,
        ..Default::default()
    };
    let window = Window { from_ns: 0, until_ns: 200_000 };
    let mut matcher = MatchValue::new(settings);
    let found = matcher.estimate(first.changes(), second.changes(), window).unwrap();
    assert_eq!((found.delay_ns, found.support), (7.0, 40));
}

#[test]
fn copies_are_matched_by_their_numbers() {
    let mut ring = SequenceRing::with_capacity(64);
    assert_eq!(ring.note(Feed::First, 1, 100), None);
    assert_eq!(ring.note(Feed::Second, 1, 130), Some(30));
    assert_eq!(ring.note(Feed::Second, 2, 140), None);
    assert_eq!(ring.note(Feed::First, 2, 150), Some(-10));
    assert_eq!(ring.note(Feed::First, 2, 160), None, "a third copy");
    assert_eq!(ring.note(Feed::First, 3, 170), None);
    assert_eq!(ring.note(Feed::First, 3, 171), None, "the same feed again");
    assert_eq!(ring.note(Feed::Second, 67, 180), None, "it takes the place of 3");
    assert_eq!(ring.note(Feed::Second, 3, 190), None, "too late");
    let counts = ring.counts();
    assert_eq!((counts.pairs, counts.won), (2, [1, 1, 0]));
    assert_eq!((counts.alone, counts.repeated, counts.late), ([1, 0], [2, 0], [0, 1]));
    ring.begin_session();
    assert_eq!(ring.counts().alone, [1, 1]);
    assert_eq!(ring.note(Feed::First, 1, 200), None);
    assert_eq!(ring.note(Feed::Second, 1, 200), Some(0));
}

#[test]
fn numbers_give_the_exact_delays_whatever_is_lost() {
    let mut random = Random::new(7);
    let (mut first, mut second) = (Series::new(), Series::new());
    for number in 1..2_000_i64 {
        if random.below(10) != 0 {
            first.push(number * 1_000, number);
        }
        if random.below(10) != 0 {
            second.push(number * 1_000 + 5_000 + random.below(101) as i64, number);
        }
    }
    let window = Window { from_ns: 0, until_ns: 2_000_000 };
    let mut matcher = MatchSequence::new(1_000_000);
    let found = matcher.estimate(first.changes(), second.changes(), window).unwrap();
    assert!((5_030.0..5_070.0).contains(&found.delay_ns), "{found:?}");
    assert!(found.low_ns <= 5_050.0 && 5_050.0 <= found.high_ns, "{found:?}");
    assert!((0.85..0.95).contains(&found.quality), "{found:?}");
}

fn any_changes() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let time = prop_oneof![0..200_i64, any::<i64>()];
    let value = prop_oneof![0..4_i64, any::<i64>()];
    prop::collection::vec((time, value), 0..60).prop_map(|mut changes| {
        changes.sort_unstable_by_key(|(time_ns, _)| *time_ns);
        changes
    })
}

proptest! {
    /// No series makes an estimator panic, and no estimate leaves its interval or the lags.
    #[test]
    fn hostile_series_give_an_answer(
        first in any_changes(),
        second in any_changes(),
        from_ns in any::<i64>(),
        length_ns in prop_oneof![0..300_i64, any::<i64>()],
        max_lag_ns in prop_oneof![0..300_i64, any::<i64>()],
        bin_ns in prop_oneof![0..300_i64, any::<i64>()],
    ) {
        let (times_ns, values): (Vec<_>, Vec<_>) = first.into_iter().unzip();
        let first = Changes { times_ns: &times_ns, values: &values, marks: &[] };
        let (times_ns, values): (Vec<_>, Vec<_>) = second.into_iter().unzip();
        let second = Changes { times_ns: &times_ns, values: &values, marks: &[] };
        let settings = MatchValueSettings {
            max_lag_ns, bin_ns, least_matches: 1, least_ratio: 0.0, ..Default::default()
        };
        for window in [Window::new(from_ns, length_ns), Window::new(0, i64::MAX)] {
            let value = MatchValue::new(settings).estimate(first, second, window);
            let sequence = MatchSequence::new(max_lag_ns).estimate(first, second, window);
            for found in [value, sequence].into_iter().flatten() {
                prop_assert!(found.low_ns <= found.delay_ns && found.delay_ns <= found.high_ns);
                prop_assert!(found.delay_ns.abs() <= max_lag_ns.max(1) as f64);
                prop_assert!((0.0..=1.0).contains(&found.quality));
            }
        }
    }
}
