//! What a device does in a second: a launch, a copy and a reduction alone, and correlations.

use super::{Answer, BatchEstimator, GpuError, GpuLimits, GpuXcorr, launch::Step};
use crate::{
    Estimator as _, Job, NoEstimate, Padding, Series, Signal, Window, Xcorr, XcorrSettings,
};

/// Readings of a row, of which the median counts.
const READINGS: usize = 7;
/// Calls of a reading until it is long enough to be one.
const MOST_CALLS: usize = 1 << 16;
/// Memory for the rows whose data must not fit into the cache.
const LARGE: GpuLimits = GpuLimits { memory_bytes: 8 << 30, batch_jobs: Some(2_048) };
/// How much later the second feed of the rows is.
const DELAY_NS: i64 = 350_000;
/// Changes of a feed in the window of a row.
const CHANGES: i64 = 80;

/// One measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuRow {
    /// Its name in tables, as in `resident/16384`.
    pub name: String,
    /// What is counted: `launch`, `copy` or `window`.
    pub unit: &'static str,
    /// Nanoseconds of one, the median of the readings.
    pub nanos: f64,
    /// Bytes that one moves through the memory of the device, or over the bus; 0 if none count.
    pub bytes: f64,
}

impl GpuRow {
    /// Gigabytes a second.
    pub fn rate(&self) -> f64 {
        self.bytes / self.nanos
    }
}

/// The rows of one device.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuRows {
    /// Number and name of the device.
    pub device: String,
    /// The rows, in order.
    pub rows: Vec<GpuRow>,
}

impl GpuRows {
    /// Measures all rows. `now` is a clock in nanoseconds; a reading takes about `reading_ns`.
    /// `threads` is how many threads of the host sample and judge where the row is end to end.
    ///
    /// # Errors
    ///
    /// What is missing on this machine, the failure of the device, or [`GpuError::Differs`].
    pub fn measure(
        index: usize,
        threads: usize,
        reading_ns: u64,
        now: impl Fn() -> u64,
    ) -> Result<Self, GpuError> {
        let mut rows = Rows { rows: Vec::new(), reading_ns, now };
        let points = 16_384;
        let circular = XcorrSettings {
            grid_ns: 1_000,
            window_ns: 1_000 * points,
            max_lag_ns: 1_000 * (points / 2 - 1),
            smoothing_ns: 0,
            signal: Signal::Levels,
            padding: Padding::Circular,
            ..XcorrSettings::default()
        };
        let smoothed = XcorrSettings {
            grid_ns: 1_000,
            window_ns: 1_000 * points,
            max_lag_ns: 2_000_000,
            ..XcorrSettings::default()
        };
        let device = rows.parts(index, circular)?;
        for (settings, label) in [(circular, "circular"), (smoothed, "smoothed")] {
            rows.resident(
                index,
                settings,
                GpuLimits::default(),
                &format!("resident/{label}/cache"),
            )?;
            rows.resident(index, settings, LARGE, &format!("resident/{label}/memory"))?;
        }
        for threads in [1, threads.max(2)] {
            rows.end_to_end(index, smoothed, threads)?;
        }
        Ok(Self { device, rows: rows.rows })
    }
}

struct Rows<N> {
    rows: Vec<GpuRow>,
    reading_ns: u64,
    now: N,
}

impl<N: Fn() -> u64> Rows<N> {
    /// Times calls, of which each does so many units. `call` starts work, `wait` ends it.
    fn time<T>(
        &mut self,
        (name, unit): (&str, &'static str),
        (units, bytes): (usize, f64),
        on: &mut T,
        mut call: impl FnMut(&mut T) -> Result<(), GpuError>,
        mut wait: impl FnMut(&mut T) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let mut reading = |calls: usize| -> Result<u64, GpuError> {
            let from = (self.now)();
            for _ in 0..calls {
                call(on)?;
            }
            wait(on)?;
            Ok((self.now)().saturating_sub(from))
        };
        let mut calls = 1;
        // The first readings also warm up.
        while reading(calls)? < self.reading_ns && calls < MOST_CALLS {
            calls *= 2;
        }
        let mut readings = Vec::new();
        for _ in 0..READINGS {
            readings.push(reading(calls)? as f64 / (calls * units) as f64);
        }
        readings.sort_by(f64::total_cmp);
        let nanos = readings[READINGS / 2];
        self.rows.push(GpuRow { name: name.to_owned(), unit, nanos, bytes });
        Ok(())
    }

    /// A launch, copies, and the reduction alone. The result is the name of the device.
    fn parts(&mut self, index: usize, settings: XcorrSettings) -> Result<String, GpuError> {
        let mut xcorr = GpuXcorr::open(index, settings, LARGE)?;
        let device = xcorr.device().to_owned();
        let jobs = xcorr.batch_jobs();
        let feeds = Feeds::new(jobs, &settings);
        let of_job = 8.0 * settings.transform_length() as f64;
        let lane = xcorr.resident(&feeds.jobs())?;
        let sent = lane.sent_bytes() as f64;
        let copied = of_job * jobs as f64;
        // Each pass reads the lags that are searched; both find them in the memory.
        let searched = 2.0 * 4.0 * (2 * settings.lags() + 1) as f64;
        for (step, name, unit, units, bytes) in [
            (Step::Nothing, "launch", "launch", 1, 0.0),
            (Step::Send, "copy/to-device", "copy", 1, sent),
            (Step::Copy, "copy/on-device", "copy", 1, copied),
            (Step::Reduce, "reduce", "window", jobs, searched),
        ] {
            self.time(
                (name, unit),
                (units, bytes),
                lane,
                |lane| lane.run(step),
                |lane| lane.wait(),
            )?;
        }
        let wait = |lane: &mut super::launch::Lane| {
            lane.run(Step::Nothing)?;
            lane.wait()
        };
        self.time(("launch/waited", "launch"), (1, 0.0), lane, wait, |_| Ok(()))?;
        Ok(device)
    }

    /// Correlations of changes that are on the device already.
    fn resident(
        &mut self,
        index: usize,
        settings: XcorrSettings,
        limits: GpuLimits,
        name: &str,
    ) -> Result<(), GpuError> {
        let mut xcorr = GpuXcorr::open(index, settings, limits)?;
        let jobs = xcorr.batch_jobs();
        let feeds = Feeds::new(jobs, &settings);
        check(&mut xcorr, &settings, &feeds)?;
        let lane = xcorr.resident(&feeds.jobs())?;
        let bytes = bytes_of(&settings);
        let correlate = |lane: &mut super::launch::Lane| {
            lane.run(Step::Correlate)?;
            lane.run(Step::Reduce)
        };
        self.time((name, "window"), (jobs, bytes), lane, correlate, |lane| lane.wait())
    }

    /// Estimates from changes in host memory, on so many threads.
    fn end_to_end(
        &mut self,
        index: usize,
        settings: XcorrSettings,
        threads: usize,
    ) -> Result<(), GpuError> {
        let open = |_| GpuXcorr::open(index, settings, GpuLimits::default());
        let mut opened: Vec<GpuXcorr> = (0..threads).map(open).collect::<Result<_, _>>()?;
        let jobs = 8 * threads * opened[0].batch_jobs();
        let feeds = Feeds::new(jobs, &settings);
        let jobs = feeds.jobs();
        let mut answers = vec![unanswered(); jobs.len()];
        let name = format!("end-to-end/{threads}");
        let estimate = |opened: &mut Vec<GpuXcorr>| {
            let mut devices: Vec<&mut dyn BatchEstimator> =
                opened.iter_mut().map(|xcorr| xcorr as &mut dyn BatchEstimator).collect();
            let none: &mut [Xcorr] = &mut [];
            super::share(&jobs, &mut answers, &mut devices, none, super::Fallback::Fail).map(drop)
        };
        self.time((&name, "window"), (jobs.len(), 0.0), &mut opened, estimate, |_| Ok(()))
    }
}

/// Bytes that a window moves through memory if each transform is one pass: a sample is written (8
/// bytes a point), transformed (16), multiplied (8 read, 4 written), transformed back (8), and read
/// twice where a lag is searched.
fn bytes_of(settings: &XcorrSettings) -> f64 {
    44.0 * settings.transform_length() as f64 + 8.0 * (2 * settings.lags() + 1) as f64
}

fn unanswered() -> Answer {
    Err(NoEstimate::AtTheEdge { lag_ns: 0 })
}

/// Compares some answers with those of the CPU.
fn check(xcorr: &mut GpuXcorr, settings: &XcorrSettings, feeds: &Feeds) -> Result<(), GpuError> {
    let mut cpu = Xcorr::new(*settings)?;
    let jobs = feeds.jobs();
    let mut answers = vec![unanswered(); jobs.len()];
    xcorr.estimate_batch(&jobs, &mut answers)?;
    for (job, found) in jobs.iter().zip(&answers).take(32) {
        let expected = cpu.estimate(job.first, job.second, job.window);
        let same = match (found, &expected) {
            (Ok(found), Ok(expected)) => {
                (found.delay_ns - expected.delay_ns).abs() < 0.01 * settings.grid_ns as f64
            }
            (Err(found), Err(expected)) => {
                std::mem::discriminant(found) == std::mem::discriminant(expected)
            }
            _ => false,
        };
        if !same {
            return Err(GpuError::Differs {
                device: xcorr.device().to_owned(),
                found: format!("{found:?}"),
                expected: format!("{expected:?}"),
            });
        }
    }
    Ok(())
}

/// Pairs of feeds, each with a seed of its own.
struct Feeds {
    pairs: Vec<[Series; 2]>,
    window: Window,
}

impl Feeds {
    fn new(count: usize, settings: &XcorrSettings) -> Self {
        let pair = |seed: usize| {
            let mut state = seed as u64;
            let mut below = |end: i64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as i64 % end
            };
            let mut pair = [Series::new(), Series::new()];
            let mut time_ns = 0;
            while time_ns < settings.window_ns {
                time_ns += 1 + below(2 * settings.window_ns / CHANGES);
                let value = 100 * below(50);
                pair[0].push(time_ns, value);
                pair[1].push(time_ns + DELAY_NS + below(5_000), value);
            }
            pair
        };
        Self { pairs: (0..count).map(pair).collect(), window: Window::new(0, settings.window_ns) }
    }

    fn jobs(&self) -> Vec<Job<'_>> {
        self.pairs
            .iter()
            .map(|pair| {
                let (first, second) = (pair[0].changes(), pair[1].changes());
                Job { first, second, window: self.window }
            })
            .collect()
    }
}
