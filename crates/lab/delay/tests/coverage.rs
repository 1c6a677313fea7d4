//! How often intervals contain the true delay, over windows of two simulated feeds.

use std::f64::consts::{LN_2, TAU};

use nanotape_delay::{
    Combiner, Estimate, Estimator, MatchSequence, MatchValue, MatchValueSettings, NoEstimate,
    Series, Window, Xcorr, XcorrSettings,
};
use nanotape_harness::Random;

const SEED: u64 = 24;
const WINDOWS: i64 = 400;
const DELAY_NS: i64 = 350_000;

/// How the second feed differs from the first.
#[derive(Clone, Copy)]
struct Feed {
    /// Changes a second of the first feed.
    rate: f64,
    /// Median of the jitter, which is lognormal. It adds to the delay.
    jitter_ns: f64,
    /// Share of the changes that the second feed leaves out.
    conflated: f64,
    /// Changes that only the second feed has, by those of the first.
    foreign: f64,
    /// What the times of both feeds are rounded down to.
    unit_ns: i64,
}

const NOISY: Feed =
    Feed { rate: 500.0, jitter_ns: 20_000.0, conflated: 0.1, foreign: 0.2, unit_ns: 1 };

struct Draw(Random);

impl Draw {
    /// Above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        (self.0.number() >> 11).wrapping_add(1) as f64 / (1_u64 << 53) as f64
    }

    fn exponential_ns(&mut self, mean_ns: f64) -> i64 {
        (-self.uniform().ln() * mean_ns) as i64
    }

    fn lognormal(&mut self, median: f64, deviation: f64) -> f64 {
        let normal = (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos();
        median * (deviation * normal).exp()
    }

    fn size(&mut self) -> i64 {
        100 * (1 + self.0.below(20) as i64)
    }
}

/// Two feeds of so much time, and the median delay. Changes come in clusters of three on average.
fn feeds(feed: Feed, length_ns: i64) -> ([Series; 2], f64) {
    let mut draw = Draw(Random::new(SEED));
    let mut first = Vec::new();
    let mut time_ns = 0;
    while time_ns < length_ns {
        time_ns += draw.exponential_ns(3e9 / feed.rate);
        let mut at_ns = time_ns;
        while draw.uniform() < 0.75 {
            first.push((at_ns, draw.size()));
            at_ns += draw.exponential_ns(50_000.0);
        }
    }
    first.sort_unstable();
    let (mut second, mut delays) = (Vec::new(), Vec::new());
    let mut last_ns = i64::MIN;
    for &(at_ns, value) in &first {
        if draw.uniform() >= feed.conflated {
            // A feed keeps its order.
            let jitter_ns =
                if feed.jitter_ns > 0.0 { draw.lognormal(feed.jitter_ns, 0.6) } else { 0.0 };
            last_ns = last_ns.max(at_ns + DELAY_NS + jitter_ns as i64);
            second.push((last_ns, value));
            delays.push(last_ns - at_ns);
        }
    }
    for _ in 0..(first.len() as f64 * feed.foreign) as usize {
        second.push(((draw.uniform() * length_ns as f64) as i64, draw.size()));
    }
    second.sort_unstable();
    delays.sort_unstable();
    let feeds = [first, second].map(|changes| {
        let mut series = Series::new();
        for (time_ns, value) in changes {
            series.push(time_ns / feed.unit_ns * feed.unit_ns, value);
        }
        series
    });
    (feeds, delays[delays.len() / 2] as f64)
}

fn estimates(feeds: &[Series; 2], settings: XcorrSettings) -> Vec<Result<Estimate, NoEstimate>> {
    let mut xcorr = Xcorr::new(settings).expect("good settings");
    let [first, second] = feeds;
    let windows = (0..WINDOWS).map(|at| Window::new(at * settings.window_ns, settings.window_ns));
    windows.map(|window| xcorr.estimate(first.changes(), second.changes(), window)).collect()
}

/// Intervals that must contain the truth if each does with a probability of 95 %: four deviations
/// below what is expected, which happens by chance once in 30,000 runs.
fn least_covered(intervals: usize) -> f64 {
    let intervals = intervals as f64;
    0.95 * intervals - 4.0 * (0.95 * 0.05 * intervals).sqrt()
}

#[test]
fn intervals_of_correlations_contain_the_median_delay_as_often_as_they_say() {
    let jittered = Feed { conflated: 0.0, foreign: 0.0, ..NOISY };
    for (name, feed, window_ns) in [
        ("noisy", NOISY, 65_536_000),
        ("jittered", jittered, 65_536_000),
        ("fast and noisy", Feed { rate: 5_000.0, ..NOISY }, 16_384_000),
    ] {
        let settings = XcorrSettings { window_ns, ..XcorrSettings::default() };
        let (feeds, truth_ns) = feeds(feed, WINDOWS * window_ns);
        let given: Vec<Estimate> = estimates(&feeds, settings).into_iter().flatten().collect();
        assert!(given.len() as i64 > WINDOWS / 2, "{name}: {} estimates", given.len());
        let contains = |of: &&Estimate| of.low_ns <= truth_ns && truth_ns <= of.high_ns;
        let covered = given.iter().filter(contains).count();
        let counts = format!("{covered} of {} intervals", given.len());
        assert!(covered as f64 >= least_covered(given.len()), "{name}: {counts}");
        let near = given.iter().filter(|of| (of.delay_ns - truth_ns).abs() < 25_000.0).count();
        assert!(near * 100 >= given.len() * 97, "{name}: {near} near of {}", given.len());
    }
}

/// Changes with gaps of all lengths from 1 us to 200 ms, and the same later. Changes within 1 ms of
/// the one before share its jitter, which is exponential with a mean of `jitter_ns` and a median
/// of 0. The values of the second pair are numbers.
fn feeds_of_bursts(seed: u64, jitter_ns: f64, length_ns: i64) -> [[Series; 2]; 2] {
    let mut draw = Draw(Random::new(seed));
    let mut feeds = [[Series::new(), Series::new()], [Series::new(), Series::new()]];
    let (mut at_ns, mut last_ns, mut jitter, mut number) = (0, i64::MIN, 0.0, 0);
    while at_ns < length_ns {
        let gap_ns = (1e3 * 2e5_f64.powf(draw.uniform())) as i64;
        if gap_ns > 1_000_000 {
            jitter = jitter_ns * (-draw.uniform().ln() - LN_2);
        }
        at_ns += gap_ns;
        last_ns = last_ns.max(at_ns + DELAY_NS + jitter as i64);
        number += 1;
        for (pair, value) in feeds.iter_mut().zip([draw.size() * 7 + number % 5, number]) {
            pair[0].push(at_ns, value);
            pair[1].push(last_ns, value);
        }
    }
    feeds
}

/// The jitter of a burst counts once, however many changes share it; and a jitter that is wider
/// than the first bin is not cut off. Order statistics of all changes contained the delay in 35 to
/// 75 of 100 windows, and the combined delay was 8 us too small.
#[test]
fn intervals_contain_the_delay_where_bursts_share_their_jitter() {
    const WINDOW_NS: i64 = 1_000_000_000;
    let settings = XcorrSettings { window_ns: 256_000_000, ..XcorrSettings::default() };
    let mut methods: [(Box<dyn Estimator>, usize, i64); 3] = [
        (Box::new(MatchSequence::new(2_000_000)), 1, WINDOW_NS),
        (Box::new(MatchValue::new(MatchValueSettings::default())), 0, WINDOW_NS),
        (Box::new(Xcorr::new(settings).expect("good settings")), 0, settings.window_ns),
    ];
    for jitter_ns in [20_000.0, 50_000.0] {
        let feeds = feeds_of_bursts(SEED, jitter_ns, WINDOWS * WINDOW_NS);
        for (estimator, pair, window_ns) in &mut methods {
            let [first, second] = &feeds[*pair];
            let mut given = Vec::new();
            for at in 0..WINDOWS {
                let window = Window::new(at * *window_ns, *window_ns);
                let found = estimator.estimate(first.changes(), second.changes(), window);
                given.extend(found.ok().map(|found| (window.from_ns, found)));
            }
            let contains =
                |low_ns: f64, high_ns: f64| low_ns <= DELAY_NS as f64 && DELAY_NS as f64 <= high_ns;
            let covered = given.iter().filter(|(_, of)| contains(of.low_ns, of.high_ns)).count();
            let name = format!("{} with {jitter_ns} ns, seed {SEED}", estimator.name());
            let counts = format!("{name}: {covered} of {}", given.len());
            assert!(given.len() as i64 > WINDOWS / 8, "{counts}");
            assert!(covered as f64 >= least_covered(given.len()), "{counts}");
            let all = Combiner::default().combine_windows(&given).expect("many windows");
            assert!(contains(all.low_ns, all.high_ns), "{name}: {all:?}");
            assert!(all.high_ns - all.low_ns < jitter_ns / 2.0, "{name}: {all:?}");
        }
    }
}

#[test]
fn intervals_do_not_collapse_below_the_clocks() {
    let clean = Feed { jitter_ns: 0.0, conflated: 0.0, foreign: 0.0, ..NOISY };
    // Times to the nanosecond, and times that both feeds round, one third of them the other way.
    for unit_ns in [1, 3_000] {
        let settings = XcorrSettings::default();
        let (feeds, _) = feeds(Feed { unit_ns, ..clean }, WINDOWS * settings.window_ns);
        let answers = estimates(&feeds, settings);
        let given: Vec<Estimate> = answers.iter().flatten().copied().collect();
        assert!(given.len() as i64 > WINDOWS * 4 / 5, "{} estimates: {answers:?}", given.len());
        for estimate in given {
            let half_ns = (estimate.high_ns - estimate.low_ns) / 2.0;
            assert!(half_ns >= unit_ns as f64, "{estimate:?}");
            let away_ns = (estimate.delay_ns - DELAY_NS as f64).abs();
            assert!(away_ns <= half_ns, "{estimate:?}");
        }
    }
}
