//! `nanotape lab jitter`: round trips between two processors, their interruptions, and the causes.

mod changes;
mod history;
mod sources;
mod text;

use std::{path::PathBuf, time::Duration};

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use nanotape_clock::Clock;
use nanotape_console::{
    progress::Progress,
    records::{Columns, RecordArguments, RecordFormat, Records},
    status::{Status, note},
    values::{count, seconds_in, two_cpus, whole},
};
use nanotape_host::{allowed_cpus, usable_cpus};
use nanotape_lab::{
    NoiseWatch, Pin, Placement, PlacementRequest, pages,
    record::{RunContext, append},
};
use nanotape_machine::{
    SpinOptions, WatchOptions,
    jitter::{
        RingKind, TurnOptions, Variant, Wait,
        session::{LONGEST_REAL_TIME_TURN, SessionOptions, measure},
    },
    record,
};
use serde_json::Value;

use self::sources::Sources;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab jitter                                    one variant, and each processor alone
  nanotape lab jitter --wait spin,pause --class normal,fifo --pin yes,no -o jitter.html
  nanotape lab jitter --ring cells,stream --cpus 2,3 --turns 20 -o before.json
  nanotape lab jitter --compare before.json after.json   what changed, in words
  nanotape lab jitter --record                           keep it for `nanotape lab trend`

Two threads send a number back and forth over two rings; each adds one. Variants with several
values are measured in turns in a random order. Then a thread on each processor does nothing but
check for moments in which it did not run. Each interruption is traced to its cause: an ordinary
user sees page faults, switches, time in the queue and stolen time; root also sees the events of
the kernel. What could not be used is listed with its reason.

Intervals are over turns, at 95%: a result needs six of them, a comparison seven.

Exit status: 0 success; 2 wrong usage, or a file that cannot be read or written.")]
pub(crate) struct JitterCommand {
    /// The rings between the threads
    #[arg(long, value_enum, value_name = "RINGS", value_delimiter = ',', default_value = "cells")]
    ring: Vec<Ring>,

    /// What a thread does between two polls
    #[arg(long, value_enum, value_name = "WAITS", value_delimiter = ',', default_value = "spin")]
    wait: Vec<Waiting>,

    /// Whether the threads are pinned to processors
    #[arg(long, value_enum, value_name = "YES,NO", value_delimiter = ',', default_value = "yes")]
    pin: Vec<YesNo>,

    /// The processors of the two threads [default: the last two allowed ones]
    #[arg(long, value_name = "PINGER,PONGER", value_parser = two_cpus)]
    cpus: Option<(u32, u32)>,

    /// The scheduling class: fifo is the real-time class SCHED_FIFO
    #[arg(
        long,
        value_enum,
        value_name = "CLASSES",
        value_delimiter = ',',
        default_value = "normal"
    )]
    class: Vec<Class>,

    /// The priority in the real-time class
    #[arg(long, value_name = "PRIORITY", default_value_t = 40, value_parser = clap::value_parser!(u8).range(1..=49))]
    priority: u8,

    /// The pages of the rings
    #[arg(long, value_enum, value_name = "PAGES", value_delimiter = ',', default_value = "small")]
    pages: Vec<Pages>,

    /// Milliseconds of a turn
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 800, value_parser = whole::<u32>(1_000_000, 1..=60_000))]
    turn: u32,

    /// Turns of each variant; 0 leaves the round trips out
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count::<u32>(0..=10_000))]
    turns: u32,

    /// Seconds for which each processor is watched alone; 0 leaves that out
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = alone_seconds)]
    alone: f64,

    /// Shorter interruptions are not kept; in round trips, those below 1,000 ns never are
    #[arg(long, value_name = "NANOSECONDS", default_value_t = 300, value_parser = whole::<u64>(1, 100..=1_000_000_000))]
    threshold: u64,

    /// Do not record the events of the kernel, which needs root
    #[arg(long)]
    no_trace: bool,

    /// Seed of the order of turns
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Compare two results of this command, instead of measuring
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    compare: Option<Vec<PathBuf>>,

    /// Append the main quantiles to the record of this host in DIRECTORY
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, default_missing_value = "bench/record")]
    record: Option<PathBuf>,

    #[command(flatten)]
    output: RecordArguments,
}

/// The rings, as on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Ring {
    /// Eight-byte cells: one atomic word a message
    Cells,
    /// The slot ring, with messages of eight bytes
    Slots,
    /// The stream ring, with messages of eight bytes
    Stream,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Waiting {
    /// Nothing
    Spin,
    /// A pause instruction
    Pause,
    /// A system call that lets others run
    Yield,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Class {
    Normal,
    Fifo,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Pages {
    Small,
    Huge,
}

fn alone_seconds(text: &str) -> Result<f64, String> {
    seconds_in(0.0..=3_600.0)(text)
}

/// A poll of a line that the other processor has takes some hundred nanoseconds, and is no
/// interruption.
const LEAST_IN_ROUND_TRIPS_NS: u64 = 1_000;

/// Round trips that fit into a millisecond: between two threads of one core they take 50 ns.
const MOST_PER_MILLISECOND: usize = 20_000;

const COLUMNS: Columns = &[
    ("kind", "/kind"),
    ("name", "/name"),
    ("time", "/time"),
    ("count", "/round_trips/count"),
    ("p50_ns", "/round_trips/quantiles/p50"),
    ("p90_ns", "/round_trips/quantiles/p90"),
    ("p99_ns", "/round_trips/quantiles/p99"),
    ("p99.9_ns", "/round_trips/quantiles/p99.9"),
    ("p99.99_ns", "/round_trips/quantiles/p99.99"),
    ("p99.999_ns", "/round_trips/quantiles/p99.999"),
    ("max_ns", "/round_trips/quantiles/p100"),
    ("interruptions", "/count"),
    ("lost_ns", "/lost_ns"),
    ("watched_ns", "/watched_ns"),
    ("unmatched", "/unmatched"),
    ("host", "/environment/host"),
];

pub(crate) fn run(command: &JitterCommand) -> anyhow::Result<Status> {
    if let Some([before, after]) = command.compare.as_deref() {
        return changes::run(before, after, &command.output);
    }
    let mut output = command.output.records_or(RecordFormat::Text, COLUMNS)?;
    let allowed = allowed_cpus();
    let variants = command.variants(&allowed)?;
    let placement = Placement::apply(&PlacementRequest {
        pin: Pin::Free,
        real_time_priority: None,
        lock_memory: true,
    });
    let mut context = RunContext::capture(&placement);
    placement.release();
    let clock = context.clock;
    let watch = NoiseWatch::start(clock, None);
    let hypervisor = context.environment.hypervisor.as_deref();
    let mut sources = Sources::open(&clock, &allowed, hypervisor, !command.no_trace);
    output.heading(&text::heading(&context, command))?;
    command.measure_all(&mut context, &variants, &allowed, &mut sources, watch, &mut output)?;
    let records = output.finish_with(pages::jitter)?;
    if let Some(folder) = &command.record {
        let host = context.environment.host.as_deref().unwrap_or("unknown");
        let lines = history::lines(&records);
        for sentence in history::worse(folder, host, &lines) {
            note(format_args!("{sentence}"));
        }
        append(folder, host, &lines)?;
    }
    Ok(Status::Good)
}

impl JitterCommand {
    /// Every combination of the requested values.
    fn variants(&self, allowed: &[u32]) -> anyhow::Result<Vec<Variant>> {
        let cpus = self.two_cpus(allowed)?;
        let mut variants = Vec::new();
        for ring in &self.ring {
            for wait in &self.wait {
                for pin in &self.pin {
                    for class in &self.class {
                        for pages in &self.pages {
                            variants.push(Variant {
                                ring: ring.kind(),
                                wait: wait.kind(),
                                cpus: cpus.filter(|_| *pin == YesNo::Yes),
                                real_time_priority: (*class == Class::Fifo)
                                    .then_some(self.priority),
                                huge_pages: *pages == Pages::Huge,
                            });
                        }
                    }
                }
            }
        }
        variants.dedup();
        let is_real_time = variants.iter().any(|variant| variant.real_time_priority.is_some());
        ensure!(
            !is_real_time || self.turn_duration() <= LONGEST_REAL_TIME_TURN,
            "--turn {} is too long for --class fifo: after {} ms the kernel lets other threads in, \
             whatever their class; use a shorter turn",
            self.turn,
            LONGEST_REAL_TIME_TURN.as_millis()
        );
        ensure!(
            !is_real_time
                || allowed.len() > 2
                || self.wait.iter().all(|wait| *wait != Waiting::Yield),
            "--wait yield with --class fifo never lets a normal thread run; use spin or pause"
        );
        Ok(variants)
    }

    fn two_cpus(&self, allowed: &[u32]) -> anyhow::Result<Option<(u32, u32)>> {
        if self.turns == 0 {
            return Ok(None);
        }
        if let Some((pinger, ponger)) = self.cpus {
            let usable = usable_cpus();
            for cpu in [pinger, ponger] {
                ensure!(
                    usable.contains(&cpu),
                    "processor {cpu} is not among those allowed ({})",
                    usable.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
                );
            }
            ensure!(pinger != ponger, "--cpus needs two different processors");
            return Ok(self.cpus);
        }
        match allowed {
            [.., pinger, ponger] => Ok(Some((*pinger, *ponger))),
            _ => bail!(
                "round trips need two processors, and this process may use one; use --turns 0 to \
                 watch that one alone"
            ),
        }
    }

    fn turn_duration(&self) -> Duration {
        Duration::from_millis(self.turn.into())
    }

    fn round_trip_threshold_ns(&self) -> u64 {
        self.threshold.max(LEAST_IN_ROUND_TRIPS_NS)
    }

    fn watch_options(&self) -> WatchOptions {
        WatchOptions { threshold_ns: self.threshold, ..WatchOptions::default() }
    }

    fn measure_all(
        &self,
        context: &mut RunContext,
        variants: &[Variant],
        allowed: &[u32],
        sources: &mut Sources,
        watch: NoiseWatch,
        output: &mut Records,
    ) -> anyhow::Result<()> {
        let clock = context.clock;
        let options = SessionOptions {
            turns: self.turns,
            turn: TurnOptions {
                duration: self.turn_duration(),
                most_round_trips: usize::try_from(self.turn)? * MOST_PER_MILLISECOND,
                watch: WatchOptions {
                    threshold_ns: self.round_trip_threshold_ns(),
                    ..WatchOptions::default()
                },
                counters: true,
            },
            seed: self.seed,
        };
        let steps = u64::from(self.turns) * variants.len() as u64;
        let progress = Progress::with_steps("turns", steps);
        let summaries = match self.turns {
            0 => Vec::new(),
            _ => measure(&clock, variants, &options, sources.trace(), &mut |done, variant| {
                progress.set_of(done, steps, &variant.to_string());
            })?,
        };
        drop(progress);
        let processors = self.watch_alone(&clock, allowed, sources)?;
        context.noise = watch.stop();
        let rungs = &sources.rungs()[..];
        if !summaries.is_empty() {
            output.heading(&text::variants_head())?;
        }
        for summary in &summaries {
            let record = record::jitter(context, summary, self.round_trip_threshold_ns(), rungs);
            output.result(&text::variant(summary), record)?;
        }
        for (priority, processors) in &processors {
            output.heading(&text::processors_head(*priority))?;
            for processor in processors {
                let how = (self.threshold, *priority);
                let record: Value = record::gaps(context, processor, how, rungs);
                output.result(&text::processor(&clock, processor, &record), record)?;
            }
        }
        let mut alone = processors.iter().rev().flat_map(|(_, processors)| processors);
        let events = alone.find_map(|processor| processor.events);
        let events = events.or_else(|| summaries.iter().rev().find_map(|one| one.events));
        output.heading(&text::footing(context, rungs, &summaries, events))
    }

    /// Watches each processor alone, once for each class.
    fn watch_alone(
        &self,
        clock: &Clock,
        allowed: &[u32],
        sources: &mut Sources,
    ) -> anyhow::Result<Vec<Alone>> {
        let mut found = Vec::new();
        if self.alone == 0.0 {
            return Ok(found);
        }
        for class in &self.class {
            let priority = (*class == Class::Fifo).then_some(self.priority);
            let options = SpinOptions {
                cpus: allowed.to_vec(),
                duration: Duration::from_secs_f64(self.alone),
                watch: self.watch_options(),
                real_time_priority: priority,
            };
            found.push((priority, sources.watch(clock, &options)?));
        }
        Ok(found)
    }
}

/// The processors of one class.
type Alone = (Option<u8>, Vec<nanotape_machine::ProcessorGaps>);

impl Ring {
    fn kind(self) -> RingKind {
        match self {
            Self::Cells => RingKind::Cells,
            Self::Slots => RingKind::Slots,
            Self::Stream => RingKind::Stream,
        }
    }
}

impl Waiting {
    fn kind(self) -> Wait {
        match self {
            Self::Spin => Wait::Spin,
            Self::Pause => Wait::Pause,
            Self::Yield => Wait::Yield,
        }
    }
}
