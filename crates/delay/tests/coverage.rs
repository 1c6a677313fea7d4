//! How often the interval of a cross-correlation contains the true delay, over windows of two
//! simulated feeds.

use std::f64::consts::TAU;

use nanotape_delay::{Estimate, Estimator as _, NoEstimate, Series, Window, Xcorr, XcorrSettings};
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

/// Two feeds of so much time. Changes come in clusters of three on average.
fn feeds(feed: Feed, length_ns: i64) -> [Series; 2] {
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
    let mut second = Vec::new();
    let mut last_ns = i64::MIN;
    for &(at_ns, value) in &first {
        if draw.uniform() >= feed.conflated {
            // A feed keeps its order.
            let jitter_ns =
                if feed.jitter_ns > 0.0 { draw.lognormal(feed.jitter_ns, 0.6) } else { 0.0 };
            last_ns = last_ns.max(at_ns + DELAY_NS + jitter_ns as i64);
            second.push((last_ns, value));
        }
    }
    for _ in 0..(first.len() as f64 * feed.foreign) as usize {
        second.push(((draw.uniform() * length_ns as f64) as i64, draw.size()));
    }
    second.sort_unstable();
    [first, second].map(|changes| {
        let mut series = Series::new();
        for (time_ns, value) in changes {
            series.push(time_ns / feed.unit_ns * feed.unit_ns, value);
        }
        series
    })
}

/// One estimate from all windows as one: what the intervals of single windows are about.
fn of_all(feeds: &[Series; 2], settings: XcorrSettings) -> f64 {
    let window_ns = WINDOWS * settings.window_ns;
    let settings = XcorrSettings { grid_ns: 10_000, window_ns, ..settings };
    let mut xcorr = Xcorr::new(settings).expect("good settings");
    let [first, second] = feeds;
    let window = Window::new(0, window_ns);
    xcorr.estimate(first.changes(), second.changes(), window).expect("much to see").delay_ns
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
fn intervals_contain_the_delay_as_often_as_they_say() {
    let jittered = Feed { conflated: 0.0, foreign: 0.0, ..NOISY };
    for (name, feed, window_ns) in [
        ("noisy", NOISY, 65_536_000),
        ("jittered", jittered, 65_536_000),
        ("fast and noisy", Feed { rate: 5_000.0, ..NOISY }, 16_384_000),
    ] {
        for base in [XcorrSettings::default(), XcorrSettings::phat()] {
            let settings = XcorrSettings { window_ns, ..base };
            let feeds = feeds(feed, WINDOWS * window_ns);
            let truth_ns = of_all(&feeds, XcorrSettings { window_ns, ..XcorrSettings::default() });
            // Between the mode of the lognormal jitter, 14 us, and its mean, 24 us.
            let jitter_ns = truth_ns - DELAY_NS as f64;
            assert!((14_000.0..24_000.0).contains(&jitter_ns), "{name}: {truth_ns}");
            let given: Vec<Estimate> = estimates(&feeds, settings).into_iter().flatten().collect();
            assert!(given.len() as i64 > WINDOWS * 4 / 5, "{name}: {} estimates", given.len());
            let contains = |of: &&Estimate| of.low_ns <= truth_ns && truth_ns <= of.high_ns;
            let covered = given.iter().filter(contains).count();
            let counts = format!("{covered} of {} intervals", given.len());
            assert!(covered as f64 >= least_covered(given.len()), "{name}: {counts}");
            let near = given.iter().filter(|of| (of.delay_ns - truth_ns).abs() < 25_000.0).count();
            assert!(near * 100 >= given.len() * 97, "{name}: {near} near of {}", given.len());
        }
    }
}

#[test]
fn intervals_do_not_collapse_below_the_clocks() {
    let clean = Feed { jitter_ns: 0.0, conflated: 0.0, foreign: 0.0, ..NOISY };
    // Times to the nanosecond, and times that both feeds round, one third of them the other way.
    for unit_ns in [1, 3_000] {
        let settings = XcorrSettings::default();
        let feeds = feeds(Feed { unit_ns, ..clean }, WINDOWS * settings.window_ns);
        let given: Vec<Estimate> = estimates(&feeds, settings).into_iter().flatten().collect();
        assert!(given.len() as i64 > WINDOWS * 4 / 5, "{} estimates", given.len());
        for estimate in given {
            let half_ns = (estimate.high_ns - estimate.low_ns) / 2.0;
            assert!(half_ns >= unit_ns as f64, "{estimate:?}");
            let away_ns = (estimate.delay_ns - DELAY_NS as f64).abs();
            assert!(away_ns <= half_ns, "{estimate:?}");
        }
    }
}
