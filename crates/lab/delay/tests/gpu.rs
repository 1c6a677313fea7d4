//! On a GPU: the same answers as on the CPU, errors of memory, shared work, and every row.
//!
//! Without a GPU each test says so and passes, unless `NANOTAPE_REQUIRE_GPU` is set. One test then
//! runs the others again in processes of their own, with a library in place of the driver that
//! emulates a device. It is slow, so there is less work.

use std::{
    os::unix::fs::symlink,
    process::{Command, Output},
};

use nanotape_delay::{
    Answer, BatchEstimator, Estimator as _, Fallback, GpuDevice, GpuError, GpuLimits, GpuRows,
    GpuXcorr, Job, NoEstimate, Padding, Series, Signal, Window, Xcorr, XcorrSettings, share,
};
use nanotape_harness::{Bounded as _, Random, Scratch, skipped};

/// Set in the processes with an emulated device.
const EMULATED: &str = "NANOTAPE_EMULATED_GPU";

/// The work for a device, or that for an emulated one.
fn amount(of_device: usize, of_emulated: usize) -> usize {
    if std::env::var_os(EMULATED).is_some() { of_emulated } else { of_device }
}

/// The first device, if there is one.
fn open(settings: XcorrSettings, limits: GpuLimits) -> Option<GpuXcorr> {
    match GpuXcorr::open(0, settings, limits) {
        Ok(xcorr) => Some(xcorr),
        Err(error) => {
            assert!(std::env::var_os("NANOTAPE_REQUIRE_GPU").is_none(), "{error}");
            skipped(error);
            None
        }
    }
}

/// Walks, and the same later with jitter, losses and changes of its own.
fn pairs(count: usize, settings: &XcorrSettings) -> Vec<[Series; 2]> {
    let pair = |seed: usize| {
        let mut random = Random::new(seed as u64);
        let mut pair = [Series::new(), Series::new()];
        let changes = [5, 40, 400, 4_000][seed % 4];
        let mut time_ns = -settings.max_lag_ns;
        let delay_ns = random.below(settings.max_lag_ns as u64) as i64 - settings.max_lag_ns / 2;
        while time_ns < settings.window_ns + settings.max_lag_ns {
            time_ns += 1 + random.below(2 * settings.window_ns as u64 / changes) as i64;
            let value = 100 * random.below(50) as i64;
            pair[0].push(time_ns, value);
            let later_ns = time_ns + delay_ns + random.below(5_000) as i64;
            let later = match random.below(10) {
                0 => continue,
                1 => 100 * random.below(50) as i64,
                _ => value,
            };
            pair[1].push(later_ns, later);
        }
        pair
    };
    (0..count).map(pair).collect()
}

fn jobs<'a>(pairs: &'a [[Series; 2]], settings: &XcorrSettings) -> Vec<Job<'a>> {
    let lengths = [settings.window_ns, settings.window_ns / 2, 2 * settings.window_ns];
    (pairs.iter().zip(lengths.into_iter().cycle()))
        .map(|([first, second], length_ns)| Job {
            first: first.changes(),
            second: second.changes(),
            window: Window::new(0, length_ns),
        })
        .collect()
}

fn unanswered(count: usize) -> Vec<Answer> {
    vec![Err(NoEstimate::AtTheEdge { lag_ns: 0 }); count]
}

/// Compares with the CPU. Differences are solved for on the host, to a thousandth of a nanosecond,
/// wherever the peak on the grid is. Transforms of `n` points have a rounding of about
/// `log2(n) * 6e-8` of the largest correlation; the parabola through three levels divides it by the
/// share of the peak that a cell adds, which is over 1e-4 for at most 10,000 cells a change.
fn compare(settings: &XcorrSettings, jobs: &[Job<'_>], answers: &[Answer]) -> usize {
    let mut cpu = Xcorr::new(*settings).expect("the settings are good");
    let allowed_ns = match settings.signal {
        Signal::Differences => 0.01,
        Signal::Levels => 0.02 * settings.grid_ns as f64,
    };
    let mut estimates = 0;
    for (index, (job, found)) in jobs.iter().zip(answers).enumerate() {
        let expected = cpu.estimate(job.first, job.second, job.window);
        let both = format!("window {index}: {found:?}, CPU: {expected:?}");
        match (found, &expected) {
            (Ok(found), Ok(expected)) => {
                estimates += 1;
                assert!((found.delay_ns - expected.delay_ns).abs() <= allowed_ns, "{both}");
                assert!((found.low_ns - expected.low_ns).abs() <= 2.0 * allowed_ns, "{both}");
                assert!((found.quality - expected.quality).abs() <= 1e-4, "{both}");
                assert_eq!(found.support, expected.support, "{both}");
            }
            (Err(found), Err(expected)) => {
                let kinds = [found, expected].map(std::mem::discriminant);
                assert_eq!(kinds[0], kinds[1], "{both}");
            }
            _ => panic!("{both}"),
        }
    }
    estimates
}

#[test]
fn answers_are_those_of_the_cpu() {
    let default = XcorrSettings { grid_ns: 1_000, window_ns: 16_384_000, ..Default::default() };
    let levels = XcorrSettings { signal: Signal::Levels, ..default };
    for settings in [
        default,
        XcorrSettings::default(),
        XcorrSettings { smoothing_ns: 0, ..default },
        levels,
        XcorrSettings { padding: Padding::Circular, ..levels },
        XcorrSettings {
            padding: Padding::Circular,
            least_ratio: 1.0,
            least_correlation: 0.0,
            ..levels
        },
        XcorrSettings::published(),
        XcorrSettings { window_ns: 65_536_000, padding: Padding::Circular, ..default },
    ] {
        // Batches of any size, the last of them not full.
        for batch_jobs in [Some(7), None].into_iter().take(amount(2, 1)) {
            let limits = GpuLimits { batch_jobs, ..GpuLimits::default() };
            let Some(mut xcorr) = open(settings, limits) else { return };
            let pairs = pairs(amount(60, 10), &settings);
            let jobs = jobs(&pairs, &settings);
            let mut answers = unanswered(jobs.len());
            // Twice, since the second time the buffers have what the first time left there.
            for _ in 0..2 {
                xcorr.estimate_batch(&jobs, &mut answers).expect("the device works");
                let estimates = compare(&settings, &jobs, &answers);
                assert!(6 * estimates > jobs.len(), "{estimates} estimates with {settings:?}");
            }
        }
    }
}

#[test]
fn memory_is_bounded_and_too_little_is_an_error() {
    let settings = XcorrSettings::default();
    let of = |memory_bytes| GpuLimits { memory_bytes, batch_jobs: Some(1_000_000) };
    let limit = amount(256 << 20, 16 << 20);
    let Some(xcorr) = open(settings, of(limit)) else { return };
    assert!(xcorr.memory_bytes() <= limit, "{}", xcorr.memory_bytes());
    assert!(2 * xcorr.memory_bytes() > limit, "it uses what is allowed");
    let error = GpuXcorr::open(0, settings, of(1 << 20)).expect_err("a window does not fit");
    assert!(matches!(error, GpuError::Memory { .. }), "{error}");
    let count = GpuDevice::all().expect("there is one").len();
    let error = GpuXcorr::open(count, settings, of(1 << 30)).expect_err("there are fewer");
    assert_eq!(error, GpuError::NoSuchDevice { chosen: count, count });
}

#[test]
fn a_device_and_cores_share_the_work() {
    let settings = XcorrSettings { window_ns: 16_384_000, ..XcorrSettings::default() };
    let limits = GpuLimits { batch_jobs: Some(amount(16, 3)), ..GpuLimits::default() };
    let Some(first) = open(settings, limits) else { return };
    // The same device twice: two threads of the host sample and judge for it.
    let mut opened = [first, GpuXcorr::open(0, settings, limits).expect("it opens again")];
    let mut devices: Vec<&mut dyn BatchEstimator> =
        opened.iter_mut().map(|xcorr| xcorr as &mut dyn BatchEstimator).collect();
    let core = Xcorr::new(settings).expect("the settings are good");
    let pairs = pairs(amount(2_000, 60), &settings);
    let jobs = jobs(&pairs, &settings);
    let mut answers = unanswered(jobs.len());
    let mut cores = [core];
    let shares = share(&jobs, &mut answers, &mut devices, &mut cores, Fallback::Fail);
    let shares = shares.expect("the device works");
    let done: usize = shares.devices.iter().chain(&shares.cores).sum();
    assert_eq!(done, jobs.len());
    compare(&settings, &jobs, &answers);
}

/// The numbers are printed, and kept by `scripts/gpu/check`.
#[test]
fn every_row_is_measured() {
    if open(XcorrSettings::default(), GpuLimits::default()).is_none() {
        return;
    }
    // The clock of the workspace is not below this crate.
    #[allow(clippy::disallowed_methods)]
    let start = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let threads = amount(threads, 1);
    let reading_ns = amount(20_000_000, 1) as u64;
    let rows = GpuRows::measure(0, threads, reading_ns, || start.elapsed().as_nanos() as u64);
    let rows = rows.expect("every row is measured");
    assert_eq!(rows.rows.len(), 11);
    println!("{}", rows.device);
    for row in &rows.rows {
        let rate = row.rate();
        println!("{:28} {:14.1} ns a {:7} {rate:8.1} GB/s", row.name, row.nanos, row.unit);
        assert!(row.nanos > 0.0, "{row:?}");
    }
}

/// Runs tests of this program with the emulated device.
fn with_emulated(folder: &Scratch, tests: &[&str], variables: &[(&str, &str)]) -> Output {
    let program = std::env::current_exe().expect("a test program has a path");
    let ran = Command::new(program)
        .args(["--exact", "--nocapture", "--test-threads", "1"])
        .args(tests)
        .env("LD_LIBRARY_PATH", folder.path())
        .env("NANOTAPE_REQUIRE_GPU", "1")
        .env(EMULATED, "1")
        .envs(variables.iter().copied())
        .bounded_output()
        .expect("it runs again");
    let text = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(ran.status.success(), "{}\n{}", text[0], text[1]);
    let ended = format!("{} passed", tests.len());
    assert!(text[0].contains(&ended) && !text[1].contains("SKIPPED"), "{}\n{}", text[0], text[1]);
    ran
}

#[test]
fn the_same_holds_on_an_emulated_device() {
    if std::env::var_os("NANOTAPE_REQUIRE_GPU").is_some() {
        return;
    }
    let folder = Scratch::folder("emulated-gpu");
    let library = folder.path().join("libcuda.so.1");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/emulated/device.cpp");
    let options = ["-std=c++17", "-O2", "-shared", "-fPIC", "-o"];
    let compiled = Command::new("c++").args(options).arg(&library).arg(source).bounded_output();
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => return skipped(format_args!("no C++ compiler: {error}")),
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    symlink(&library, folder.path().join("libcufft.so.12")).expect("a link can be made");
    let all = [
        "answers_are_those_of_the_cpu",
        "memory_is_bounded_and_too_little_is_an_error",
        "a_device_and_cores_share_the_work",
    ];
    with_emulated(&folder, &all, &[]);
    with_emulated(&folder, &["every_row_is_measured"], &[("EMULATED_MEMORY", "6000000")]);
    with_emulated(&folder, &["a_lost_device_is_an_error"], &[(LAUNCHES, "40")]);
}

/// Launches after which the emulated device is lost: more than two openings need.
const LAUNCHES: &str = "EMULATED_LAUNCHES";

/// Needs the emulated device: no other one is lost when a test says so.
#[test]
fn a_lost_device_is_an_error() {
    if std::env::var_os(LAUNCHES).is_none() {
        return;
    }
    let settings = XcorrSettings { window_ns: 16_384_000, ..XcorrSettings::default() };
    let limits = GpuLimits { batch_jobs: Some(3), ..GpuLimits::default() };
    let mut lost = open(settings, limits).expect("it is not lost yet");
    let mut other = open(settings, limits).expect("it is not lost yet");
    let pairs = pairs(60, &settings);
    let jobs = jobs(&pairs, &settings);
    let mut answers = unanswered(jobs.len());
    let error = lost.estimate_batch(&jobs, &mut answers).expect_err("it is lost on the way");
    let text = error.to_string();
    assert!(text.starts_with("GPU 0 (emulated): ") && !text.contains('\n'), "{text}");
    assert!(text.contains("unspecified launch failure; compute without it"), "{text}");
    let mut cores = [Xcorr::new(settings).expect("the settings are good")];
    for fallback in [Fallback::Fail, Fallback::Cpu] {
        let devices: &mut [&mut dyn BatchEstimator] = &mut [&mut other];
        let mut answers = unanswered(jobs.len());
        let shares = share(&jobs, &mut answers, devices, &mut cores, fallback);
        match fallback {
            Fallback::Fail => assert!(matches!(shares, Err(GpuError::Failed { .. })), "{shares:?}"),
            Fallback::Cpu => {
                let shares = shares.expect("the core takes over");
                assert_eq!((shares.devices, shares.cores), (vec![0], vec![jobs.len()]));
                assert_eq!(shares.failures.len(), 1);
                compare(&settings, &jobs, &answers);
            }
        }
    }
    // Nothing panics where what was allocated is freed.
    drop((lost, other));
    assert!(GpuXcorr::open(0, settings, limits).is_err());
}
