//! The loops of each row. Every answer is checked.

use std::thread::{self, ThreadId};

use nanotape_delay::{
    Changes, Correlator, Estimate, Estimator, Feed, Job, MatchValue, MatchValueSettings,
    NoEstimate, Padding, Peak, SequenceRing, Series, SettingsError, Signal, Window, Xcorr,
    XcorrSettings, estimate_all,
};
use nanotape_lab::Rng;

use super::{
    Delay,
    rows::{MESSAGES, Part, SERIES, STOCKS, What},
};
use crate::{
    engine::{Reading, Worker, run_on, sample::repeat},
    error::Error,
};

/// Lags by which the samples of the second side are later.
const LATER: usize = 100;

/// The delay of the second feed, without its jitter.
const DELAY_NS: i64 = 350_000;

/// The largest jitter: all are alike up to it.
const JITTER_NS: usize = 40_000;

pub(super) fn work(worker: &mut Worker<Delay>) -> Result<Reading, Error> {
    match worker.row.work {
        What::Part(part, points) => parts(worker, part, points),
        What::Estimate(rate) => estimates(worker, rate),
        What::Batch { is_spread } => batches(worker, is_spread),
        What::Values => values(worker),
        What::Numbers => numbers(worker),
    }
}

/// Times an operation again and again. Its check is not timed.
fn timed<T>(
    worker: &mut Worker<Delay>,
    mut operation: impl FnMut() -> T,
    check: impl Fn(&T) -> Result<(), Error>,
) -> Result<Reading, Error> {
    worker.begin(&[])?;
    let clock = worker.clock;
    let until = worker.until(worker.job.options.timed.amount());
    let (written, times) = repeat(clock, &until, |_| {
        let from = clock.stamp_start();
        let answer = operation();
        let to = clock.stamp();
        check(&answer)?;
        Ok::<_, Error>((from, to))
    })?;
    Ok(Reading { times: Some(times), ..written.into() })
}

fn settings_error(error: SettingsError) -> Error {
    Error::found("the settings", error.to_string())
}

/// A number from -1/2 to 1/2.
fn sample(random: &mut Rng) -> f32 {
    random.below(1 << 20) as f32 / (1 << 20) as f32 - 0.5
}

fn parts(worker: &mut Worker<Delay>, part: Part, points: usize) -> Result<Reading, Error> {
    let grid_ns = 1_000;
    let cells = points as i64;
    let circular = XcorrSettings {
        grid_ns,
        window_ns: cells * grid_ns,
        max_lag_ns: (cells / 2 - 1) * grid_ns,
        signal: Signal::Levels,
        smoothing_ns: 0,
        padding: Padding::Circular,
        ..XcorrSettings::default()
    };
    let smoothed = XcorrSettings {
        grid_ns,
        window_ns: (cells - cells / 8) * grid_ns,
        max_lag_ns: cells / 16 * grid_ns,
        ..XcorrSettings::default()
    };
    let settings = if part == Part::Smoothed { smoothed } else { circular };
    let mut random = Rng::new(points as u64);
    let first: Vec<f32> = (0..settings.samples()).map(|_| sample(&mut random)).collect();
    let margin = settings.margin();
    let second: Vec<f32> = (0..first.len() + 2 * margin)
        .map(|at| {
            let from = (at + 2 * first.len() - margin - LATER) % first.len();
            first[from] + sample(&mut random)
        })
        .collect();
    let mut correlator = Correlator::new(settings).map_err(settings_error)?;
    let expected = settings.lags() + LATER;
    let check = |peak: &Peak| match peak.at {
        at if at == expected => Ok(()),
        at => Err(Error::found("a peak", format!("it is at lag {at}, expected {expected}"))),
    };
    let samples = |values: &[f32]| {
        let mut samples = correlator.samples();
        values.iter().enumerate().for_each(|(cell, &value)| samples.add(cell, value));
        samples
    };
    let (first, second) = (&samples(&first), &samples(&second));
    match part {
        Part::Whole => timed(worker, || correlator.correlate(first, second), check),
        Part::Smoothed => {
            // Smoothing moves the peak of noise by some cells.
            let near = |peak: &Peak| match peak.at.abs_diff(expected) {
                0..=10 => Ok(()),
                _ => check(peak),
            };
            timed(worker, || correlator.correlate(first, second), near)
        }
        Part::Transforms => {
            let transforms = || {
                correlator.transform(first, second);
                correlator.transform_back();
            };
            timed(worker, transforms, |()| Ok(()))
        }
        Part::Peak => {
            correlator.correlate(first, second);
            timed(worker, || correlator.peak(), check)
        }
    }
}

/// Two feeds of a window and its surroundings: every tenth change is missing in the second, and
/// every fifth is followed by one that the first does not have.
fn feeds(seed: u64, rate: u32, settings: &XcorrSettings) -> [Series; 2] {
    let mut random = Rng::new(seed);
    let [mut first, mut second] = [Series::new(), Series::new()];
    let mean_ns = 1_000_000_000 / rate as usize;
    let mut time_ns = -settings.max_lag_ns;
    while time_ns < settings.window_ns + settings.max_lag_ns {
        time_ns += 1 + random.below(2 * mean_ns) as i64;
        let value = 100 * (1 + random.below(20)) as i64;
        first.push(time_ns, value);
        let later_ns = DELAY_NS + random.below(JITTER_NS) as i64;
        if random.below(10) > 0 {
            second.push(time_ns + later_ns, value);
        }
        if random.below(5) == 0 {
            second.push(time_ns + later_ns + 100_000, 100 * (1 + random.below(20)) as i64);
        }
    }
    [first, second]
}

/// Fails if a delay is not one of those of the feeds.
fn check_delay(delay_ns: f64) -> Result<(), Error> {
    let reach_ns = JITTER_NS as f64;
    let least_ns = DELAY_NS as f64 - reach_ns / 2.0;
    if (least_ns..least_ns + 2.0 * reach_ns).contains(&delay_ns) {
        return Ok(());
    }
    let expected = format!("{delay_ns:.0} ns, expected about {DELAY_NS} ns");
    Err(Error::found("a delay", expected))
}

fn estimates(worker: &mut Worker<Delay>, rate: u32) -> Result<Reading, Error> {
    let settings = XcorrSettings::default();
    let mut xcorr = Xcorr::new(settings).map_err(settings_error)?;
    let window = Window::new(0, settings.window_ns);
    let stocks: Vec<[Series; 2]> = (0..16).map(|seed| feeds(seed, rate, &settings)).collect();
    let mut next = stocks.iter().cycle();
    let estimate = || {
        let [first, second] = next.next()?;
        Some(xcorr.estimate(first.changes(), second.changes(), window))
    };
    timed(worker, estimate, |answer| match answer {
        Some(Ok(estimate)) => check_delay(estimate.delay_ns),
        Some(Err(reason)) => Err(Error::found("a window without an estimate", reason.to_string())),
        None => Err(Error::found("the stocks", "there are none".to_owned())),
    })
}

fn batches(worker: &mut Worker<Delay>, is_spread: bool) -> Result<Reading, Error> {
    let settings = XcorrSettings::default();
    let window = Window::new(0, settings.window_ns);
    let stocks: Vec<_> = (0..STOCKS).map(|seed| feeds(seed, 500, &settings)).collect();
    let jobs: Vec<Job<'_>> = stocks
        .iter()
        .map(|[first, second]| Job { first: first.changes(), second: second.changes(), window })
        .collect();
    let estimator = Xcorr::new(settings).map_err(settings_error)?;
    let mut cpus: Vec<u32> = worker.job.cpu.into_iter().collect();
    if is_spread {
        cpus.extend(worker.other_cpus().last());
    }
    let mut estimators: Vec<Placed> =
        cpus.iter().map(|&cpu| Placed { estimator: estimator.clone(), cpu, moved: None }).collect();
    timed(
        worker,
        || estimate_all(&jobs, &mut estimators),
        |answers| {
            let found = answers.iter().flatten();
            let good = found.filter(|estimate| check_delay(estimate.delay_ns).is_ok()).count();
            // Some windows have no estimate, as in a market.
            if good * 10 >= answers.len() * 9 {
                return Ok(());
            }
            Err(Error::found("a batch", format!("{good} of {} delays are right", answers.len())))
        },
    )
}

fn values(worker: &mut Worker<Delay>) -> Result<Reading, Error> {
    let span = XcorrSettings { window_ns: 100_000_000, ..XcorrSettings::default() };
    let window = Window::new(0, span.window_ns);
    let series: Vec<_> = (0..STOCKS * SERIES).map(|seed| feeds(seed, 500, &span)).collect();
    let mut matcher = MatchValue::new(MatchValueSettings {
        max_lag_ns: span.max_lag_ns,
        ..MatchValueSettings::default()
    });
    let estimate_each = || {
        let right = series.iter().filter(|[first, second]| {
            let found = matcher.estimate(first.changes(), second.changes(), window);
            found.is_ok_and(|found| check_delay(found.delay_ns).is_ok())
        });
        right.count()
    };
    timed(worker, estimate_each, |&right| match right * 10 >= series.len() * 9 {
        true => Ok(()),
        false => Err(Error::found("delays", format!("{right} of {} are right", series.len()))),
    })
}

/// Both lines bring packets of five messages, in turns, one of them later.
fn numbers(worker: &mut Worker<Delay>) -> Result<Reading, Error> {
    let mut ring = SequenceRing::with_capacity(1 << 16);
    let mut next = 1;
    let match_all = || {
        let mut pairs = 0;
        for _ in 0..MESSAGES / 5 {
            for (feed, later_ns) in [(Feed::First, 0), (Feed::Second, DELAY_NS)] {
                for number in next..next + 5 {
                    let found = ring.note(feed, number, next as i64 + later_ns);
                    pairs += u64::from(found == Some(DELAY_NS));
                }
            }
            next += 5;
        }
        pairs
    };
    timed(worker, match_all, |&pairs| match pairs {
        MESSAGES => Ok(()),
        pairs => Err(Error::found("pairs", format!("{pairs} of {MESSAGES}"))),
    })
}

/// An estimator that moves each thread that it works on to a processor first.
#[derive(Debug)]
struct Placed {
    estimator: Xcorr,
    cpu: u32,
    /// The thread that was moved.
    moved: Option<ThreadId>,
}

impl Estimator for Placed {
    fn name(&self) -> &'static str {
        self.estimator.name()
    }

    fn estimate(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<Estimate, NoEstimate> {
        let thread = Some(thread::current().id());
        if self.moved != thread {
            self.moved = thread;
            run_on(&[self.cpu]);
        }
        self.estimator.estimate(first, second, window)
    }
}
