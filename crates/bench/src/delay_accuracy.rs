//! Estimators of delay against delays that are known: bias, spread, coverage and cost.
//!
//! A synthetic stock changes its quote in clusters; a second feed shows it later, with jitter,
//! conflation and changes of other venues. The truth of a window is the median delay of the updates
//! that the second feed shows of it, waits behind earlier updates included.

use nanotape_clock::Clock;
use nanotape_delay::{
    Changes, Estimate, Estimator, LeadLag, LeadLagSettings, MatchSequence, MatchValue,
    MatchValueSettings, NoEstimate, Series, SettingsError, Weighting, Window, Xcorr, XcorrSettings,
};
use nanotape_lab::statistics::order::quantile_sorted;
use nanotape_synth::{
    Fate, QuoteConfig, QuoteStream, QuoteUpdate, SecondFeed, SpecError, Truth, TruthRow,
};

/// The largest lag that all estimators search.
const MAX_LAG_NS: i64 = 2_000_000;
/// An estimate that is closer than this is close, as in the published comparison.
pub const CLOSE_NS: f64 = 25_000.0;

/// A pair of feeds.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// Changes of the series in a second.
    pub changes_per_s: f64,
    /// The length of a window in ns.
    pub window_ns: u64,
    /// The second feed; the text of a [`nanotape_synth::SecondFeedSpec`].
    pub feed: &'static str,
    /// Whether the second feed shows the stock of another seed, so that no delay is true.
    pub is_unrelated: bool,
}

const NOISY: &str = "delay=350us,jitter=20us,conflate=10%,foreign=20%";

/// All scenarios.
pub const SCENARIOS: [Scenario; 6] = [
    Scenario {
        name: "clean",
        changes_per_s: 500.0,
        window_ns: 16_384_000,
        feed: "delay=350us",
        is_unrelated: false,
    },
    Scenario {
        name: "noisy",
        changes_per_s: 500.0,
        window_ns: 16_384_000,
        feed: NOISY,
        is_unrelated: false,
    },
    Scenario {
        name: "busy",
        changes_per_s: 5_000.0,
        window_ns: 16_384_000,
        feed: NOISY,
        is_unrelated: false,
    },
    Scenario {
        name: "sparse",
        changes_per_s: 100.0,
        window_ns: 65_536_000,
        feed: NOISY,
        is_unrelated: false,
    },
    Scenario {
        name: "drifting",
        changes_per_s: 500.0,
        window_ns: 65_536_000,
        feed: "delay=350us,drift=20us/s,jitter=20us,conflate=10%,foreign=20%,lost=2%",
        is_unrelated: false,
    },
    Scenario {
        name: "unrelated",
        changes_per_s: 500.0,
        window_ns: 65_536_000,
        feed: NOISY,
        is_unrelated: true,
    },
];

/// What a method answered in the windows of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct AccuracyRow {
    /// The scenario.
    pub scenario: &'static str,
    /// The method.
    pub method: &'static str,
    /// Windows with a known delay.
    pub windows: usize,
    /// Windows with an estimate.
    pub estimates: usize,
    /// Estimates within [`CLOSE_NS`] of the truth.
    pub close: usize,
    /// Estimates whose interval contains the truth.
    pub covered: usize,
    /// Quantiles of the errors in ns: 5 %, the median (the bias), 95 %. `None` without a truth.
    pub errors_ns: Option<[f64; 3]>,
    /// The median width of the intervals in ns.
    pub width_ns: Option<f64>,
    /// The median time of an estimate in ns.
    pub cost_ns: Option<f64>,
}

/// The feeds of a scenario.
struct Feeds {
    /// Sizes of the best bid.
    sizes: [Series; 2],
    /// Numbers of the updates.
    numbers: [Series; 2],
    truth: Vec<TruthRow>,
}

/// Runs every method over so many windows of each scenario. `done` gets the rows so far.
///
/// # Errors
///
/// A specification or a setting that is refused: a mistake of the table above.
pub fn accuracy(
    scenarios: &[Scenario],
    windows: u32,
    seed: u64,
    mut done: impl FnMut(AccuracyRow),
) -> anyhow::Result<()> {
    let clock = Clock::calibrate();
    for (scenario, seed) in scenarios.iter().zip(seed..) {
        let feeds = Feeds::new(scenario, windows, seed)?;
        // Numbers are related whatever the values are.
        let methods = methods(scenario)?.into_iter();
        for method in methods.filter(|(.., is_by_number)| !(scenario.is_unrelated && *is_by_number))
        {
            done(row(scenario, method, &feeds, windows, &clock));
        }
    }
    Ok(())
}

/// An estimator, and whether it compares numbers.
type Method = (&'static str, Box<dyn Estimator>, bool);

fn methods(scenario: &Scenario) -> Result<Vec<Method>, SettingsError> {
    let window_ns = scenario.window_ns as i64;
    let better = XcorrSettings { window_ns, max_lag_ns: MAX_LAG_NS, ..XcorrSettings::default() };
    let published =
        XcorrSettings { window_ns, max_lag_ns: MAX_LAG_NS, ..XcorrSettings::published() };
    let phat = XcorrSettings { weighting: Weighting::Phat, ..better };
    let xcorr = |settings| Xcorr::new(settings);
    let matching = MatchValueSettings { max_lag_ns: MAX_LAG_NS, ..MatchValueSettings::default() };
    let leading = LeadLagSettings {
        max_lag_ns: MAX_LAG_NS,
        least_changes: better.least_changes,
        ..LeadLagSettings::default()
    };
    Ok(vec![
        ("match-sequence", Box::new(MatchSequence::new(MAX_LAG_NS)), true),
        ("match-value", Box::new(MatchValue::new(matching)), false),
        ("xcorr", Box::new(xcorr(better)?), false),
        ("gcc-phat", Box::new(xcorr(phat)?), false),
        ("xcorr as published", Box::new(xcorr(published)?), false),
        ("lead-lag", Box::new(LeadLag::new(leading)), false),
    ])
}

fn row(
    scenario: &Scenario,
    (method, mut estimator, is_by_number): Method,
    feeds: &Feeds,
    windows: u32,
    clock: &Clock,
) -> AccuracyRow {
    let [first, second] = if is_by_number { &feeds.numbers } else { &feeds.sizes };
    let (first, second): (Changes<'_>, Changes<'_>) = (first.changes(), second.changes());
    let mut row = AccuracyRow {
        scenario: scenario.name,
        method,
        windows: 0,
        estimates: 0,
        close: 0,
        covered: 0,
        errors_ns: None,
        width_ns: None,
        cost_ns: None,
    };
    let (mut errors, mut widths, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    // The first window has what was before the feeds began.
    for number in 1..=u64::from(windows) {
        let from_ns = number * scenario.window_ns;
        let window = Window::new(from_ns as i64, scenario.window_ns as i64);
        let truth = feeds.truth.iter().find(|row| row.from_ns == from_ns);
        let Some(truth) = truth.and_then(|row| row.delays) else { continue };
        let began = clock.stamp();
        let found: Result<Estimate, NoEstimate> = estimator.estimate(first, second, window);
        let ended = clock.stamp();
        row.windows += 1;
        let Ok(found) = found else { continue };
        costs.push(clock.nanos_between(began, ended) as f64);
        row.estimates += 1;
        let truth_ns = truth.median_ns as f64;
        errors.push(found.delay_ns - truth_ns);
        widths.push(found.high_ns - found.low_ns);
        row.close += usize::from((found.delay_ns - truth_ns).abs() <= CLOSE_NS);
        row.covered += usize::from((found.low_ns..=found.high_ns).contains(&truth_ns));
    }
    for values in [&mut errors, &mut widths, &mut costs] {
        values.sort_by(f64::total_cmp);
    }
    if scenario.is_unrelated {
        (row.close, row.covered) = (0, 0);
    } else if !errors.is_empty() {
        let error = |share| quantile_sorted(&errors, share).unwrap_or(f64::NAN);
        row.errors_ns = Some([error(0.05), error(0.5), error(0.95)]);
    }
    row.width_ns = quantile_sorted(&widths, 0.5);
    row.cost_ns = quantile_sorted(&costs, 0.5);
    row
}

impl Feeds {
    fn new(scenario: &Scenario, windows: u32, seed: u64) -> Result<Self, SpecError> {
        // An update changes the shares of one of two sides.
        let updates_per_s = 2.0 * scenario.changes_per_s;
        let config = QuoteConfig { stocks: 1, updates_per_s, from_ns: 0, seed };
        let end_ns = u64::from(windows + 2) * scenario.window_ns;
        let before_end = |update: &QuoteUpdate| update.time_ns < end_ns;
        let updates: Vec<QuoteUpdate> = QuoteStream::new(config).take_while(before_end).collect();
        let other = QuoteConfig { seed: seed.wrapping_add(1_000), ..config };
        let other: Vec<QuoteUpdate> = match scenario.is_unrelated {
            true => QuoteStream::new(other).take_while(before_end).collect(),
            false => updates.clone(),
        };
        let spec = scenario.feed.parse()?;
        let mut feed = SecondFeed::new(spec, seed, 0);
        let (mut truth, mut rows) = (Truth::new(scenario.window_ns, false), Vec::new());
        let (mut shown, mut sizes, mut numbers) =
            (Vec::new(), [Series::new(), Series::new()], [Series::new(), Series::new()]);
        for update in &updates {
            sizes[0].push(update.time_ns as i64, update.quote.bid_shares.into());
        }
        for (update, number) in other.iter().zip(1..) {
            let fate = feed.push(update, &mut shown);
            truth.add(update.time_ns, 0, fate, &mut rows);
            numbers[0].push(update.time_ns as i64, number);
            if let Fate::Shown { delay_ns, .. } = fate {
                numbers[1].push(update.time_ns as i64 + delay_ns, number);
            }
        }
        truth.finish(&mut rows);
        feed.finish(&mut shown);
        for shown in &shown {
            sizes[1].push(shown.update.time_ns as i64, shown.update.quote.bid_shares.into());
        }
        Ok(Self { sizes, numbers, truth: rows })
    }
}
