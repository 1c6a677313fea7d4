//! Measures one benchmark: the cost of an operation, and the distribution of single runs.

use std::{error::Error, path::Path};

use nanotape_clock::Clock;
use serde_json::{Value, json};

use crate::{
    callgrind::{self, CallgrindError, Request},
    counters::Counters,
    environment::NoiseWatch,
    fixture::WrongAnswer,
    latency::Latency,
    perf_program::{self, Findings, PerfProgram},
    placement::Burst,
    record::RunContext,
    sampler::{Cut, Extent, Running},
    statistics::{Estimate, bootstrap, order::median},
    suite::{BenchError, Suite},
    text::in_full,
    worker::{COUNT, ROLE},
};

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// Epochs whose medians give the cost.
    pub epochs: usize,
    /// Time that a fixture runs before it is measured.
    pub warm_up_nanos: u64,
    /// Time during which single runs are timed.
    pub latency_nanos: u64,
    /// The most single runs.
    pub most_latencies: usize,
    /// Runs a second on an absolute schedule, instead of one after the other.
    pub arrivals_per_second: Option<f64>,
    /// Whether to count instructions in a second process, under valgrind.
    pub instructions: bool,
    /// The mode of the `perf` program, if it is to be attached.
    pub perf: Option<perf_program::Mode>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            epochs: 500,
            warm_up_nanos: 100_000_000,
            latency_nanos: 1_000_000_000,
            most_latencies: 200_000,
            arrivals_per_second: None,
            instructions: false,
            perf: None,
        }
    }
}

/// The measurement of one benchmark.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The benchmark.
    pub name: String,
    /// Operations of one run.
    pub operations_per_run: u64,
    /// The cut of time into samples.
    pub cut: Cut,
    /// The median sample of each epoch, in ns for one operation.
    pub epoch_ns: Vec<f64>,
    /// The median epoch and its interval.
    pub cost_ns: Option<Estimate>,
    /// Single runs; `None` if one is too short for the clock.
    pub latency: Option<Latency>,
    /// Counters for one operation, as in the record.
    pub counters: Option<Value>,
    /// Instructions for one operation.
    pub instructions: Option<f64>,
    /// What `perf stat` printed, or where `perf record` wrote.
    pub perf: Option<String>,
    /// Requested values that were not available.
    pub notes: Vec<String>,
    /// The machine, its noise and the clock.
    pub context: RunContext,
}

/// Measures the benchmark `name` of `suite` on this thread, which should already be placed.
pub fn measure(
    suite: &Suite,
    name: &str,
    options: &Options,
    context: &RunContext,
) -> Result<Measured, BenchError> {
    let clock = context.clock;
    let mut running = suite.open(name)?;
    let wrong = |source| BenchError::Answer { name: name.to_owned(), source };
    let mut notes = Vec::new();
    let watch = NoiseWatch::start(clock, context.environment.cpu_pinned);
    let cut = running.calibrate(&clock, options.warm_up_nanos).map_err(wrong)?;
    let operations = running.operations();
    let per_sample = operations as f64 * f64::from(cut.runs_per_sample);

    let mut perf = attach(options, &mut notes);
    let mut counters = count(&mut notes);

    // The timed part.
    signal(&mut perf, &mut notes, PerfProgram::enable);
    signal(&mut counters, &mut notes, Counters::start);
    let epochs = epochs(running.as_mut(), &clock, cut, options.epochs).map_err(wrong)?;
    signal(&mut counters, &mut notes, Counters::stop);
    signal(&mut perf, &mut notes, PerfProgram::disable);

    let counted =
        rates(counters, cut.runs_per_epoch() * epochs.len() as u64 * operations, &mut notes);
    let latency = latency(running.as_mut(), &clock, options, &mut notes).map_err(wrong)?;
    let noise = watch.stop();
    drop(running);

    let instructions = if options.instructions {
        instructions(suite, name).map_err(|reason| notes.push(reason)).ok()
    } else {
        None
    };
    let epoch_ns: Vec<f64> = epochs.iter().map(|nanos| nanos / per_sample).collect();
    Ok(Measured {
        name: name.to_owned(),
        operations_per_run: operations,
        cut,
        cost_ns: cost(&epoch_ns),
        epoch_ns,
        latency,
        counters: counted,
        instructions,
        perf: finish(perf, &mut notes),
        notes,
        context: RunContext { noise, ..context.clone() },
    })
}

impl Measured {
    /// The line for the record; see docs/formats/lab-record.md.
    pub fn record(&self) -> Value {
        let fields = json!({
            "operations_per_run": self.operations_per_run,
            "runs_per_sample": self.cut.runs_per_sample,
            "samples_per_epoch": self.cut.samples_per_epoch,
            "epochs": self.epoch_ns.len(),
            "cost": self.cost_ns.map(|cost| json!({
                "median_ns": cost.value,
                "low_ns": cost.interval.low,
                "high_ns": cost.interval.high,
                "confidence": cost.interval.confidence,
            })),
            "epoch_ns": self.epoch_ns,
            "latency": self.latency.as_ref().map(Latency::record),
            "counters": self.counters,
            "instructions": self.instructions,
        });
        self.context.line("bench", &self.name, fields)
    }
}

/// The median sample of each epoch, in ns.
fn epochs(
    running: &mut dyn Running,
    clock: &Clock,
    cut: Cut,
    count: usize,
) -> Result<Vec<f64>, WrongAnswer> {
    // Allocates and touches all memory for samples before the first one.
    let per_epoch = cut.samples_per_epoch as usize;
    let mut samples = vec![0; per_epoch];
    let mut medians = Vec::with_capacity(count);
    let mut burst = Burst::start(clock);
    for _ in 0..count {
        samples.clear();
        running.epoch(clock, cut, &mut samples)?;
        let nanos: Vec<f64> = samples.iter().map(|&nanos| nanos as f64).collect();
        medians.extend(median(&nanos));
        burst.rest_if_due(clock);
    }
    Ok(medians)
}

/// The median epoch. Its interval resamples blocks of neighbours, which are correlated.
fn cost(epoch_ns: &[f64]) -> Option<Estimate> {
    const EPOCHS_PER_BLOCK: usize = 4;
    const REPETITIONS: usize = 1_000;
    const CONFIDENCE: f64 = 0.95;
    const SEED: u64 = 1;
    let blocks: Vec<&[f64]> = epoch_ns.chunks(EPOCHS_PER_BLOCK).collect();
    let estimates =
        bootstrap::block_quantile_intervals(&blocks, &[0.5], REPETITIONS, CONFIDENCE, SEED);
    estimates?.into_iter().next()
}

fn latency(
    running: &mut dyn Running,
    clock: &Clock,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Option<Latency>, WrongAnswer> {
    const SEED: u64 = 2;
    // Touched before use: a page fault in the middle would count as latency.
    let mut nanos = vec![u64::MAX; options.most_latencies];
    nanos.clear();
    let mut extent = Extent { runs: options.most_latencies, nanos: options.latency_nanos };
    match options.arrivals_per_second {
        None => running.single_runs(clock, extent, &mut nanos)?,
        Some(rate) => {
            let due = (rate * options.latency_nanos as f64 / 1e9).ceil() as usize;
            extent.runs = due.clamp(1, options.most_latencies);
            // A fixture that cannot keep up with the schedule can run late, but not without end.
            extent.nanos = extent.nanos.saturating_mul(2);
            running.scheduled_runs(clock, 1e9 / rate, extent, &mut nanos)?;
            if nanos.len() < extent.runs {
                let (done, due) = (nanos.len(), extent.runs);
                notes.push(format!(
                    "it cannot keep up with {rate} runs a second: of {due} that were due, {done} were \
                     done in twice the time"
                ));
            }
        }
    }
    let latency = Latency::of(&nanos, options.arrivals_per_second, SEED);
    let shortest = clock.cost_nanos() + clock.resolution_nanos();
    if options.arrivals_per_second.is_none() && latency.quantile_ns("p50") <= Some(shortest) {
        notes.push("a single run is too short for the clock: no distribution".to_owned());
        return Ok(None);
    }
    Ok(Some(latency))
}

/// Counts instructions in a second process of this program, which creates the fixture again.
fn instructions(suite: &Suite, name: &str) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    count_instructions(&program, suite, name).map_err(|error| in_full(&error))
}

/// The instructions of one operation of the benchmark `name` of `suite` in `program`: counted by
/// valgrind over two runs, and over more if runs are short.
pub fn count_instructions(program: &Path, suite: &Suite, name: &str) -> Result<f64, CountError> {
    /// Enough to count all kinds of runs of a fixture whose runs differ.
    const OPERATIONS: u64 = 40_000;
    let operations = suite.open(name)?.operations();
    let runs = OPERATIONS.div_ceil(operations).max(2);
    let role = format!("{COUNT} {runs} {name}");
    let mut request = Request::new(program);
    request.variables.push((ROLE.into(), role.into()));
    let instructions = callgrind::count_instructions(&request)?;
    Ok(instructions.count as f64 / (runs * operations) as f64)
}

/// The reason why instructions could not be counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountError {
    /// The benchmark itself cannot be run.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// valgrind is missing or failed.
    #[error(transparent)]
    Callgrind(#[from] CallgrindError),
}

/// Opens the available counters. Missing hardware counters are reported once, with the context.
fn count(notes: &mut Vec<String>) -> Option<Counters> {
    noted(Counters::open(), notes)
}

/// Signals the start or end of the timed part to the counters or the perf program. If this fails,
/// the companion is dropped and the reason noted.
fn signal<T, E: Error>(
    companion: &mut Option<T>,
    notes: &mut Vec<String>,
    what: impl FnOnce(&mut T) -> Result<(), E>,
) {
    if let Some(Err(reason)) = companion.as_mut().map(what) {
        notes.push(in_full(&reason));
        *companion = None;
    }
}

/// The value, or `None` with a note of the reason.
fn noted<T, E: Error>(result: Result<T, E>, notes: &mut Vec<String>) -> Option<T> {
    result.map_err(|reason| notes.push(in_full(&reason))).ok()
}

/// The counts of one operation.
fn rates(counters: Option<Counters>, operations: u64, notes: &mut Vec<String>) -> Option<Value> {
    noted(counters?.per_operation(operations), notes).map(|rates| rates.to_json())
}

/// Attaches the perf program, if requested.
fn attach(options: &Options, notes: &mut Vec<String>) -> Option<PerfProgram> {
    noted(PerfProgram::attach(options.perf.clone()?, &[]), notes)
}

/// The findings of the perf program.
fn finish(perf: Option<PerfProgram>, notes: &mut Vec<String>) -> Option<String> {
    Some(match noted(perf?.finish(), notes)? {
        Findings::Counts(text) => text,
        Findings::Samples(path) => format!("perf report -i {}", path.display()),
    })
}
