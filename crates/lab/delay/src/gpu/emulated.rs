//! The kernels on the CPU: `tests/emulated` runs them with every thread and barrier, and this
//! compares with samples of the CPU, and correlations that are summed up in double precision.

use std::{
    f64::consts::TAU,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use nanotape_harness::{Bounded as _, BoundedChild as _, Random, Scratch, skipped};

use super::{
    cells::{Sampler, of_cpu},
    launch::{Found, PTX},
    shape::{GpuLimits, PEAK_WORDS, Room, Shape},
    share::Answer,
    words::Words,
    xcorr::in_unit_of_cpu,
};
use crate::{Estimator as _, Padding, Series, Signal, Window, Xcorr, XcorrSettings, xcorr::Sides};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gpu");

/// Compiles the emulator. Additions to an array of fixed size that are out of bounds end it.
fn emulator(program: &Path) -> Result<(), String> {
    let ran = Command::new("c++")
        .args([
            "-std=c++17",
            "-O2",
            "-fsanitize=bounds",
            "-fsanitize-undefined-trap-on-error",
            "-o",
        ])
        .arg(program)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/emulated/kernels.cpp"))
        .bounded_output();
    let ran = ran.map_err(|error| format!("no C++ compiler: {error}"))?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(())
}

/// A batch's samples, job after job; its peaks; and the product of the energies of each job.
fn emulate(
    program: &Path,
    settings: &XcorrSettings,
    shape: Shape,
    jobs: &[Sides<'_>],
) -> (Vec<f32>, Vec<Found>, Vec<f64>) {
    let mut buffer = vec![0; shape.words()];
    let mut words = Words::new(shape, &mut buffer);
    let mut sampler = Sampler::new(*settings);
    let mut energies = Vec::new();
    for job in jobs {
        sampler.sample(job);
        assert!(words.has_room(sampler.room()), "the batch of the test is too small");
        energies.push(sampler.write(&mut words));
    }
    let filled = words.finish();
    let (starts, floors) = buffer[..shape.floors_at() + shape.jobs()].split_at(shape.floors_at());
    let numbers = [
        shape.jobs() as u32,
        shape.points(),
        shape.lags(),
        shape.origin(),
        shape.apart(),
        u32::from(shape.is_level()),
    ];
    let weights = (0..shape.frequencies() as usize).map(|k| (settings.weight(k) as f32).to_bits());
    let all: Vec<u8> = (numbers.into_iter().chain(weights))
        .chain(floors.iter().chain(starts).copied())
        .chain(buffer[shape.head()..filled].iter().copied())
        .flat_map(u32::to_le_bytes)
        .collect();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the emulator starts");
    child.stdin.take().expect("it is piped").write_all(&all).expect("it reads all");
    let ran = child.bounded_wait_with_output("the emulator");
    assert!(ran.status.success(), "the emulator: {}", ran.status);
    let (out, _) = ran.stdout.as_chunks::<4>();
    let out: Vec<u32> = out.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    let (samples, peaks) = out.split_at(2 * shape.jobs() * shape.points() as usize);
    let peaks: Vec<Found> = peaks.chunks_exact(PEAK_WORDS).map(Found::of).collect();
    (samples.iter().map(|&bits| f32::from_bits(bits)).collect(), peaks, energies)
}

/// The correlation at every place, times the points, and the largest error that rounding to `f32`
/// can add.
struct Reference {
    correlation: Vec<f64>,
    error: f64,
}

fn reference(job: &Sides<'_>, settings: &XcorrSettings, shape: Shape) -> Reference {
    let points = shape.points() as usize;
    let sides = of_cpu(job, settings);
    let turns: Vec<(f64, f64)> =
        (0..points).map(|k| (TAU * k as f64 / points as f64).sin_cos()).collect();
    let at = |side: &[f32], k: usize| {
        side.iter().enumerate().fold((0.0, 0.0), |(real, imaginary), (index, &value)| {
            let (sin, cos) = turns[k * index % points];
            (real + f64::from(value) * cos, imaginary - f64::from(value) * sin)
        })
    };
    let mut products = Vec::new();
    let mut error = 0.0;
    for k in 0..points {
        let [a, b] = [at(&sides[0], k), at(&sides[1], k)];
        let mut product = (a.0 * b.0 + a.1 * b.1, a.0 * b.1 - a.1 * b.0);
        let weight = settings.weight(k.min(points - k));
        product = (product.0 * weight, product.1 * weight);
        products.push(product);
        // Both spectra come out of one transform, so either has the rounding of both, and their
        // product has it twice.
        let both = a.0.hypot(a.1) + b.0.hypot(b.1);
        error += 4.0 * f64::from(f32::EPSILON) * both * both * weight;
    }
    let correlation = (0..=2 * shape.lags() as usize).map(|place| {
        let lag = place + shape.origin() as usize;
        (0..points)
            .map(|k| {
                let (sin, cos) = turns[k * lag % points];
                products[k].0 * cos - products[k].1 * sin
            })
            .sum()
    });
    Reference { correlation: correlation.collect(), error }
}

/// Random changes, and the same ones later with jitter and losses.
fn feeds(random: &mut Random, changes: usize, span_ns: u64, delay_ns: i64) -> [Series; 2] {
    let mut times: Vec<i64> = (0..changes).map(|_| random.below(span_ns) as i64).collect();
    times.sort_unstable();
    let mut feeds = [Series::new(), Series::new()];
    for at in times {
        let value = 100 * random.below(50) as i64;
        feeds[0].push(at, value);
        if random.below(10) > 0 {
            feeds[1].push(at + delay_ns + random.below(2_000) as i64, value);
        }
    }
    feeds
}

/// Checks a batch, and gives the number of its estimates.
fn check(program: &Path, settings: XcorrSettings, seed: u64) -> usize {
    settings.check().expect("the test has good settings");
    let mut random = Random::new(seed);
    let limits = GpuLimits { batch_jobs: Some(4), ..GpuLimits::default() };
    let room = Room { name: String::new(), free_bytes: 1 << 30, cache_bytes: 0 };
    let shape = Shape::new(&settings, settings.neighbourhood(), limits, &room).expect("it fits");
    let span_ns = 2 * settings.window_ns as u64;
    let pairs: Vec<[Series; 2]> = [60, 700, 3]
        .into_iter()
        .map(|changes| feeds(&mut random, changes, span_ns, settings.max_lag_ns / 3))
        .collect();
    let lengths = [settings.window_ns, settings.window_ns * 3 / 4, 2 * settings.window_ns];
    let jobs: Vec<Sides<'_>> = (pairs.iter().zip(lengths))
        .map(|([first, second], length_ns)| {
            let window = Window::new(settings.window_ns / 3, length_ns);
            settings.sides(first.changes(), second.changes(), window).expect("enough changes")
        })
        .collect();
    let (samples, peaks, energies) = emulate(program, &settings, shape, &jobs);
    let mut cpu = Xcorr::new(settings).expect("the settings are good");
    let points = shape.points() as usize;
    assert_eq!(samples.len(), 8 * points);
    assert!(
        samples[6 * points..].iter().all(|&sample| sample == 0.0),
        "jobs that are not used are zeros"
    );
    // All places are equal there, and the first one is taken.
    assert_eq!((peaks[3].place, peaks[3].around), (0, [0.0; 3]));
    let (mut estimates, mut matcher) = (0, crate::matcher::Matcher::new());
    for (index, (job, peak)) in jobs.iter().zip(&peaks).enumerate() {
        let expected = of_cpu(job, &settings);
        let sampled = &samples[2 * index * points..2 * (index + 1) * points];
        for (point, both) in sampled.chunks_exact(2).enumerate() {
            assert_eq!(
                both,
                [expected[0][point], expected[1][point]],
                "job {index}, point {point}"
            );
        }
        compare(&reference(job, &settings, shape), peak, shape);
        let (found, around) = in_unit_of_cpu(*peak);
        let answer = settings.judge(&mut matcher, job, found, || around, || energies[index]);
        estimates += usize::from(answer.is_ok());
        same_answer(answer, cpu.estimate(job.first.0, job.second.0, job.window), &settings);
    }
    estimates
}

/// The device gives what the CPU gives. Differences are solved for to a thousandth of a nanosecond
/// on either; the parabola through three levels moves by their rounding.
fn same_answer(found: Answer, expected: Answer, settings: &XcorrSettings) {
    let (Ok(found), Ok(expected)) = (found, expected) else {
        let same = std::mem::discriminant(&found) == std::mem::discriminant(&expected);
        assert!(same && found.is_err() == expected.is_err(), "{found:?}, CPU: {expected:?}");
        return;
    };
    let allowed_ns = match settings.signal {
        Signal::Differences => 0.01,
        Signal::Levels => 0.01 * settings.grid_ns as f64,
    };
    for (found, expected) in [
        (found.delay_ns, expected.delay_ns),
        (found.low_ns, expected.low_ns),
        (found.high_ns, expected.high_ns),
    ] {
        assert!((found - expected).abs() <= allowed_ns, "{found}, CPU: {expected}");
    }
    assert!((found.quality - expected.quality).abs() < 1e-4);
    assert_eq!(found.support, expected.support);
}

fn compare(expected: &Reference, peak: &Found, shape: Shape) {
    let Reference { correlation, error } = expected;
    let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() <= *error;
    let largest = correlation.iter().copied().fold(f64::MIN, f64::max);
    let place = peak.place as usize;
    assert!(correlation[place] >= largest - 2.0 * error, "place {place} is not the largest");
    assert!(near(peak.around[1], largest), "{peak:?}, {largest}");
    for (found, place) in [(peak.around[0], place.wrapping_sub(1)), (peak.around[2], place + 1)] {
        // Beyond the search the reference has no value.
        let expected = correlation.get(place);
        assert!(expected.is_none_or(|&expected| near(found, expected)), "{peak:?}");
    }
    let apart = shape.apart() as usize;
    let others = correlation.iter().enumerate().filter(|(at, _)| at.abs_diff(place) > apart);
    let next = others.map(|(_, &value)| value).fold(f64::MIN, f64::max);
    assert!(near(peak.next, next), "{peak:?}, next {next}");
}

#[test]
fn the_kernels_do_as_the_settings_say() {
    let scratch = Scratch::new("emulate");
    if let Err(why) = emulator(scratch.path()) {
        return skipped(why);
    }
    let small = XcorrSettings {
        grid_ns: 1_000,
        window_ns: 300_000,
        max_lag_ns: 50_000,
        smoothing_ns: 3_000,
        least_changes: 1,
        ..XcorrSettings::default()
    };
    let circular = XcorrSettings { padding: Padding::Circular, ..small };
    let mut estimates = 0;
    for (seed, settings) in [
        (0, small),
        (1, XcorrSettings { smoothing_ns: 0, ..small }),
        (3, XcorrSettings { signal: Signal::Levels, ..small }),
        (5, XcorrSettings { signal: Signal::Levels, ..circular }),
        // Several blocks of samples, and of frequencies.
        (6, XcorrSettings { window_ns: 4_800_000, max_lag_ns: 100_000, ..small }),
        (7, XcorrSettings { window_ns: 4_800_000, signal: Signal::Levels, ..circular }),
    ] {
        estimates += check(scratch.path(), settings, seed);
    }
    assert!(estimates >= 2, "{estimates} of 18 windows have an estimate");
}

#[test]
fn the_compiled_kernels_are_those_of_the_source() {
    let source = std::fs::read(format!("{FOLDER}/kernels.cu")).expect("the source is there");
    let hash = source.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let line = format!("// kernels.cu has the FNV-1a hash {hash:016x}.");
    assert!(PTX.contains(&line), "kernels.ptx is stale; run: scripts/gpu/kernels");
}

#[test]
fn the_compiler_writes_the_same_kernels_again() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/gpu/kernels");
    for argument in ["--check", "--architectures"] {
        let ran = match Command::new("python3").args([script, argument]).bounded_output() {
            Ok(ran) => ran,
            Err(error) => return skipped(format_args!("no python3: {error}")),
        };
        let text = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        match ran.status.code() {
            Some(0) => {}
            Some(2) => return skipped(text.concat().trim()),
            _ => panic!("{}", text.concat()),
        }
    }
}
