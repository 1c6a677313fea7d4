//! Estimators of delay against delays that are known: bias, spread, coverage and cost.
//!
//! A second feed shows the quotes of a stock later, with jitter, conflation and changes of other
//! venues. The quotes are synthetic, in clusters or in bursts of all lengths, or those of a day.
//!
//! The truth of a window is the median delay of the updates that the second feed shows of it, over
//! many other draws of its noise (see `Feeds`): what an interval promises to contain, of which the
//! median of one draw is itself an estimate.
//!
//! A run is some windows of one draw. The delays of its windows are also combined into one.

mod feeds;
mod flow;

use nanotape_clock::Clock;
use nanotape_delay::{
    Combiner, Estimate, Estimator, LeadLag, LeadLagSettings, MatchSequence, MatchValue,
    MatchValueSettings, SettingsError, Window, Xcorr, XcorrSettings,
};
use nanotape_lab::statistics::order::quantile_sorted;
use nanotape_synth::{QuoteUpdate, SpecError};

use feeds::{Feeds, Truths};
pub use flow::Flow;

/// The largest lag that all estimators search.
const MAX_LAG_NS: i64 = 2_000_000;
/// An estimate that is closer than this is close, as in the published comparison.
pub const CLOSE_NS: f64 = 25_000.0;
/// Windows of a run of synthetic quotes.
const RUN_WINDOWS: u32 = 20;

/// A pair of feeds.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The quotes of the first feed.
    pub flow: Flow,
    /// The length of a window in ns.
    pub window_ns: u64,
    /// That of the methods of transforms.
    pub xcorr_window_ns: u64,
    /// The second feed; the text of a [`nanotape_synth::SecondFeedSpec`].
    pub feed: &'static str,
    /// Whether the second feed shows the stock of another seed, so that no delay is true.
    pub is_unrelated: bool,
}

const NOISY: &str = "delay=350us,jitter=20us,conflate=10%,foreign=20%";
const LOGNORMAL: &str = "delay=350us,jitter=20us,burst=1ms,conflate=10%,foreign=20%";
const EXPONENTIAL: &str =
    "delay=350us,jitter=50us,noise=exponential,burst=1ms,conflate=10%,foreign=20%";
const LONG: &str = "delay=350us,jitter=20us,burst=10ms,conflate=10%,foreign=20%";

/// A jitter that each burst has for itself.
const OF_BURSTS: [(&str, &str); 3] =
    [("lognormal", LOGNORMAL), ("exponential", EXPONENTIAL), ("long", LONG)];

/// All scenarios of synthetic quotes.
pub fn scenarios() -> Vec<Scenario> {
    let clustered = |name: &str, changes_per_s, window_ns, feed| Scenario {
        name: name.to_owned(),
        flow: Flow::Clusters { changes_per_s },
        window_ns,
        xcorr_window_ns: window_ns,
        feed,
        is_unrelated: false,
    };
    let drifting = "delay=350us,drift=20us/s,jitter=20us,conflate=10%,foreign=20%,lost=2%";
    let mut all = vec![
        clustered("clean", 500.0, 16_384_000, "delay=350us"),
        clustered("noisy", 500.0, 16_384_000, NOISY),
        clustered("busy", 5_000.0, 16_384_000, NOISY),
        clustered("sparse", 100.0, 65_536_000, NOISY),
        clustered("drifting", 500.0, 65_536_000, drifting),
        Scenario { is_unrelated: true, ..clustered("unrelated", 500.0, 65_536_000, NOISY) },
    ];
    all.extend(of_bursts("bursts", &Flow::Bursts { updates_per_s: 60.0 }));
    all
}

/// The scenarios of the quotes of a day, in which each burst has a jitter for itself.
pub fn scenarios_of_day(name: &str, updates: Vec<QuoteUpdate>) -> Vec<Scenario> {
    of_bursts(name, &Flow::Given(updates.into()))
}

fn of_bursts(name: &str, flow: &Flow) -> Vec<Scenario> {
    let of = |(kind, feed): (&str, &'static str)| Scenario {
        name: format!("{name}-{kind}"),
        flow: flow.clone(),
        window_ns: 1_000_000_000,
        xcorr_window_ns: 512_000_000,
        feed,
        is_unrelated: false,
    };
    OF_BURSTS.into_iter().map(of).collect()
}

/// What a method answered in the windows of a scenario.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AccuracyRow {
    /// The scenario.
    pub scenario: String,
    /// The method.
    pub method: &'static str,
    /// Windows of a series with a known delay.
    pub windows: usize,
    /// Windows with an estimate.
    pub estimates: usize,
    /// Estimates within [`CLOSE_NS`] of the truth.
    pub close: usize,
    /// Estimates whose interval contains the truth.
    pub covered: usize,
    /// Runs with estimates, whose windows were combined.
    pub runs: usize,
    /// Combined delays whose interval contains the truth.
    pub runs_covered: usize,
    /// Quantiles of the errors in ns: 5 %, the median (the bias), 95 %. `None` without a truth.
    pub errors_ns: Option<[f64; 3]>,
    /// The median width of the intervals in ns.
    pub width_ns: Option<f64>,
    /// The median time of an estimate in ns.
    pub cost_ns: Option<f64>,
}

/// The names of all methods, in the order of the rows.
pub const METHODS: [&str; 5] =
    ["match-sequence", "match-value", "xcorr", "xcorr of levels", "lead-lag"];

/// Runs these methods over so many windows of each scenario. `done` gets the rows so far.
///
/// # Errors
///
/// A specification or a setting that is refused: a mistake of the table above.
pub fn accuracy(
    scenarios: &[Scenario],
    chosen: &[&str],
    windows: u32,
    seed: u64,
    mut done: impl FnMut(AccuracyRow),
) -> anyhow::Result<()> {
    let clock = Clock::calibrate();
    for scenario in scenarios {
        let runs = runs_of(scenario, windows, seed)?;
        // Numbers are related whatever the values are.
        for mut method in methods(scenario)? {
            let is_chosen = chosen.contains(&method.name);
            if is_chosen && !(scenario.is_unrelated && method.is_by_number) {
                done(row(scenario, &mut method, &runs, &clock));
            }
        }
    }
    Ok(())
}

/// The feeds of all runs, with the truth of their windows.
fn runs_of(
    scenario: &Scenario,
    windows: u32,
    seed: u64,
) -> Result<Vec<(Feeds, Truths)>, SpecError> {
    let each = scenario.flow.windows(scenario.window_ns).unwrap_or(RUN_WINDOWS);
    let count = u64::from(windows.div_ceil(each.max(1)));
    let mut runs = Vec::new();
    let mut given = None;
    for run in 0..count {
        let seed = seed.wrapping_add(run * 1_000_003);
        let span_ns = u64::from(each + 2) * scenario.window_ns;
        let updates = scenario.flow.updates(seed, span_ns);
        let feeds = Feeds::new(scenario, &updates, seed)?;
        // The quotes of a day are the same in each run, and so is their truth.
        let truths = match &given {
            Some(truths) => Truths::clone(truths),
            None => Truths::new(scenario, &updates, seed)?,
        };
        if matches!(scenario.flow, Flow::Given(_)) {
            given = Some(truths.clone());
        }
        runs.push((feeds, truths));
    }
    Ok(runs)
}

struct Method {
    name: &'static str,
    estimator: Box<dyn Estimator>,
    /// Whether it compares numbers.
    is_by_number: bool,
    window_ns: u64,
}

fn methods(scenario: &Scenario) -> Result<Vec<Method>, SettingsError> {
    let window_ns = scenario.xcorr_window_ns as i64;
    let better = XcorrSettings { window_ns, max_lag_ns: MAX_LAG_NS, ..XcorrSettings::default() };
    let published =
        XcorrSettings { window_ns, max_lag_ns: MAX_LAG_NS, ..XcorrSettings::published() };
    let matching = MatchValueSettings { max_lag_ns: MAX_LAG_NS, ..MatchValueSettings::default() };
    let leading = LeadLagSettings {
        max_lag_ns: MAX_LAG_NS,
        least_changes: better.least_changes,
        ..LeadLagSettings::default()
    };
    let of = |name, estimator: Box<dyn Estimator>| Method {
        name,
        estimator,
        is_by_number: false,
        window_ns: scenario.window_ns,
    };
    let of_transforms = |name, estimator: Box<dyn Estimator>| Method {
        window_ns: scenario.xcorr_window_ns,
        ..of(name, estimator)
    };
    let by_number =
        Method { is_by_number: true, ..of(METHODS[0], Box::new(MatchSequence::new(MAX_LAG_NS))) };
    Ok(vec![
        by_number,
        of(METHODS[1], Box::new(MatchValue::new(matching))),
        of_transforms(METHODS[2], Box::new(Xcorr::new(better)?)),
        of_transforms(METHODS[3], Box::new(Xcorr::new(published)?)),
        of(METHODS[4], Box::new(LeadLag::new(leading))),
    ])
}

/// What was found in all windows.
#[derive(Default)]
struct Found {
    errors: Vec<f64>,
    widths: Vec<f64>,
    costs: Vec<f64>,
}

fn row(
    scenario: &Scenario,
    method: &mut Method,
    runs: &[(Feeds, Truths)],
    clock: &Clock,
) -> AccuracyRow {
    let mut row = AccuracyRow {
        scenario: scenario.name.clone(),
        method: method.name,
        ..AccuracyRow::default()
    };
    let mut found = Found::default();
    for run in runs {
        row.add(method, run, clock, &mut found);
    }
    let Found { mut errors, mut widths, mut costs } = found;
    for values in [&mut errors, &mut widths, &mut costs] {
        values.sort_by(f64::total_cmp);
    }
    if scenario.is_unrelated {
        (row.close, row.covered, row.runs_covered) = (0, 0, 0);
    } else if !errors.is_empty() {
        let error = |share| quantile_sorted(&errors, share).unwrap_or(f64::NAN);
        row.errors_ns = Some([error(0.05), error(0.5), error(0.95)]);
    }
    row.width_ns = quantile_sorted(&widths, 0.5);
    row.cost_ns = quantile_sorted(&costs, 0.5);
    row
}

impl AccuracyRow {
    /// Adds the windows of a run.
    fn add(
        &mut self,
        method: &mut Method,
        (feeds, truths): &(Feeds, Truths),
        clock: &Clock,
        found: &mut Found,
    ) {
        let truth = truths.of_windows(method.window_ns);
        let (mut estimates, mut combined_truth) = (Vec::new(), Vec::new());
        for (&from_ns, &truth_ns) in &truth {
            let window = Window::new(from_ns, method.window_ns as i64);
            for [first, second] in feeds.series(method.is_by_number) {
                let (first, second) = (first.changes(), second.changes());
                if first.within(window).is_empty() {
                    continue;
                }
                let began = clock.stamp();
                let answer = method.estimator.estimate(first, second, window);
                let ended = clock.stamp();
                self.windows += 1;
                let Ok(estimate) = answer else { continue };
                found.costs.push(clock.nanos_between(began, ended) as f64);
                found.widths.push(estimate.high_ns - estimate.low_ns);
                found.errors.push(estimate.delay_ns - truth_ns);
                let is_close = (estimate.delay_ns - truth_ns).abs() <= CLOSE_NS;
                self.estimates += 1;
                self.close += usize::from(is_close);
                self.covered += usize::from(contains(&estimate, truth_ns));
                estimates.push((from_ns, estimate));
                combined_truth.push(truth_ns);
            }
        }
        combined_truth.sort_by(f64::total_cmp);
        // The delay of several windows is the median of theirs.
        if let Some(combined) = Combiner::default().combine_windows(&estimates)
            && let Some(truth_ns) = quantile_sorted(&combined_truth, 0.5)
        {
            self.runs += 1;
            let is_covered = combined.low_ns <= truth_ns && truth_ns <= combined.high_ns;
            self.runs_covered += usize::from(is_covered);
        }
    }
}

fn contains(estimate: &Estimate, truth_ns: f64) -> bool {
    (estimate.low_ns..=estimate.high_ns).contains(&truth_ns)
}
