//! Measures the cost of one event in the logging thread, for this crate and common text loggers.
//! Prints nanoseconds per event, and events per second with one and with two threads.
//!
//!     cargo run --release -p nanotape-logging --example cost [FOLDER [ROUNDS]]
//!
//! All files are written below FOLDER, by default the folder of temporary files. All loggers get
//! the same event of three fields, in a different order each round; figures are medians over the
//! rounds. Times are those of single events at 100,000 per second; rates are those of threads that
//! only log. The example checks that each logger wrote every event. It does not measure the cost of
//! reading.
//!
//! Bias: only `fmt, buffered` keeps lines in the program's memory, and loses them with it.
//! env_logger makes a message of the fields, because `log` has a text and no fields; our back end
//! does the same.

use std::{
    error::Error,
    fs::{self, File},
    hint::black_box,
    io::{BufRead as _, BufReader, BufWriter},
    path::{Path, PathBuf},
    sync::Mutex,
};

use log::Log;
use nanotape_clock::Clock;
use nanotape_journal::{Start, Tail, Tailer};
use nanotape_logging::{
    Logger,
    layout::{EVENT, TEXT},
};
use tracing::{Dispatch, dispatcher, info};
use tracing_subscriber::{fmt, layer::SubscriberExt as _, registry};

/// Events per round that are timed one by one.
const TIMED: u64 = 50_000;

/// Time from one of them to the next, in nanoseconds.
const PACE_NS: u64 = 10_000;

/// Events before them.
const WARM_UP: u64 = 1_000;

/// Events per thread in a round whose rate is measured.
const COUNTED: u64 = 200_000;

const KINDS: [Kind; 5] =
    [Kind::Layer, Kind::BackEnd, Kind::Fmt, Kind::FmtBuffered, Kind::EnvLogger];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Layer,
    BackEnd,
    Fmt,
    FmtBuffered,
    EnvLogger,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Layer => "nanotape, tracing layer",
            Self::BackEnd => "nanotape, log back end",
            Self::Fmt => "tracing-subscriber fmt, to a file",
            Self::FmtBuffered => "tracing-subscriber fmt, buffered",
            Self::EnvLogger => "env_logger, to a file",
        }
    }
}

/// A logger to measure.
enum Subject {
    Tracing(Dispatch),
    Log(Box<dyn Log>),
}

impl Subject {
    fn new(kind: Kind, path: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(match kind {
            Kind::Layer => Self::Tracing(registry().with(Logger::open(path)?.layer()).into()),
            Kind::BackEnd => {
                Self::Log(Box::new(Logger::open(path)?.log_back_end(log::LevelFilter::Info)))
            }
            Kind::Fmt => {
                let layer = fmt::layer().with_writer(Mutex::new(File::create(path)?));
                Self::Tracing(registry().with(layer).into())
            }
            Kind::FmtBuffered => {
                let writer = Mutex::new(BufWriter::with_capacity(1 << 16, File::create(path)?));
                Self::Tracing(registry().with(fmt::layer().with_writer(writer)).into())
            }
            Kind::EnvLogger => {
                let target = env_logger::Target::Pipe(Box::new(File::create(path)?));
                let mut builder = env_logger::Builder::new();
                builder.filter_level(log::LevelFilter::Info).target(target);
                Self::Log(Box::new(builder.build()))
            }
        })
    }

    /// Calls `run` with a function that logs the event of a number.
    fn with<T>(&self, run: impl FnOnce(&dyn Fn(u64)) -> T) -> T {
        match self {
            Self::Tracing(dispatch) => dispatcher::with_default(dispatch, || {
                run(&|count| {
                    let (symbol, price) = (black_box("AAPL"), black_box(182.52));
                    info!(count, symbol, price, "order executed");
                })
            }),
            Self::Log(log) => run(&|count| {
                let (symbol, price) = (black_box("AAPL"), black_box(182.52));
                log.log(
                    &log::Record::builder()
                        .args(format_args!(
                            "order executed count={count} symbol={symbol:?} price={price}"
                        ))
                        .level(log::Level::Info)
                        .target(module_path!())
                        .module_path_static(Some(module_path!()))
                        .file_static(Some(file!()))
                        .line(Some(line!()))
                        .build(),
                );
            }),
        }
    }
}

/// Results of one logger: quantiles in ns, and events per second.
#[derive(Default, Clone)]
struct Found {
    p50: Vec<f64>,
    p99: Vec<f64>,
    p999: Vec<f64>,
    one: Vec<f64>,
    two: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds: usize = arguments.next().map_or(Ok(9), |text| text.parse())?;
    let folder = folder.join(format!("nanotape-cost-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let clock = Clock::calibrate();
    let mut found = vec![Found::default(); KINDS.len()];
    for round in 0..rounds {
        for turn in 0..KINDS.len() {
            let index = (round + turn) % KINDS.len();
            measure(KINDS[index], &folder, &clock, &mut found[index])?;
        }
    }
    fs::remove_dir_all(&folder)?;
    println!(
        "{rounds} rounds; a pair of stamps is {:.0} ns, and in the times",
        clock.costs().empty_nanos
    );
    println!(
        "{:<36}{:>8}{:>8}{:>8}  {:>12}{:>12}",
        "", "p50 ns", "p99", "p99.9", "1 thread/s", "2 threads/s"
    );
    let base = found[0].clone();
    for (kind, found) in KINDS.iter().zip(&found) {
        let [p50, p99, p999, one, two] =
            [&found.p50, &found.p99, &found.p999, &found.one, &found.two].map(|all| median(all));
        println!("{:<36}{p50:>8.0}{p99:>8.0}{p999:>8.0}  {one:>12.0}{two:>12.0}", kind.name());
        let times = |all: &[f64], base: &[f64]| median(all) / median(base);
        println!(
            "{:<36}{:>7.1}x{:>7.1}x{:>7.1}x  {:>11.3}x{:>11.3}x",
            "",
            times(&found.p50, &base.p50),
            times(&found.p99, &base.p99),
            times(&found.p999, &base.p999),
            times(&found.one, &base.one),
            times(&found.two, &base.two)
        );
    }
    Ok(())
}

fn measure(
    kind: Kind,
    folder: &Path,
    clock: &Clock,
    found: &mut Found,
) -> Result<(), Box<dyn Error>> {
    let path = folder.join("log");
    let subject = Subject::new(kind, &path)?;
    let mut times: Vec<u64> = subject.with(|log| {
        let begun = clock.stamp();
        let timed = |count| {
            while clock.nanos_between(begun, clock.stamp_unfenced()) < count * PACE_NS {
                std::hint::spin_loop();
            }
            let before = clock.stamp_start();
            log(count);
            clock.nanos_between(before, clock.stamp())
        };
        (0..WARM_UP + TIMED).map(timed).skip(WARM_UP as usize).collect()
    });
    times.sort_unstable();
    for (into, part) in [(&mut found.p50, 0.5), (&mut found.p99, 0.99), (&mut found.p999, 0.999)] {
        into.push(times[(times.len() as f64 * part) as usize] as f64);
    }
    finish(subject, kind, &path, WARM_UP + TIMED)?;

    for (threads, into) in [(1, &mut found.one), (2, &mut found.two)] {
        let subject = Subject::new(kind, &path)?;
        let before = clock.stamp_start();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| subject_run(&subject));
            }
        });
        let nanos = clock.nanos_between(before, clock.stamp());
        into.push((threads * COUNTED) as f64 * 1e9 / nanos as f64);
        finish(subject, kind, &path, threads * COUNTED)?;
    }
    Ok(())
}

fn subject_run(subject: &Subject) {
    subject.with(|log| (0..COUNTED).for_each(log));
}

/// Closes a log, counts its events, and removes it.
fn finish(subject: Subject, kind: Kind, path: &Path, expected: u64) -> Result<(), Box<dyn Error>> {
    drop(subject);
    let mut count = 0;
    if matches!(kind, Kind::Layer | Kind::BackEnd) {
        let mut tailer = Tailer::open(path, Start::Oldest)?;
        while let Tail::Excerpt(excerpt) = tailer.next()? {
            count += u64::from(matches!(excerpt.type_id(), EVENT | TEXT));
        }
        fs::remove_dir_all(path)?;
    } else {
        count = BufReader::new(File::open(path)?).lines().count() as u64;
        fs::remove_file(path)?;
    }
    if count != expected {
        return Err(format!("{} wrote {count} of {expected} events", kind.name()).into());
    }
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
