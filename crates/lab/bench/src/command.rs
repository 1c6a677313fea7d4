//! `nanotape lab bench`: the cost of an operation, the distribution of single runs, and the tables.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use nanotape_console::{
    records::{Columns, RecordArguments, RecordFormat},
    status::{BadData, Status, warn},
};
use nanotape_feed::SourceError;
use nanotape_lab::{
    BenchArguments, BenchError, Placement, measure, pages,
    record::{RunContext, append},
    text,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    day_file::{Book, COUNT, Feed, Plant, RecorderJob, Replay, Trace, count},
    delay::Delay,
    engine::{
        Benchmark, WORKER, columns,
        command::{TableArguments, run as table},
        work,
    },
    gaps::Gaps,
    gpu::{self, Gpu},
    hot,
    journal::Journal,
    latest::Latest,
    prove::{JournalJob, LatestJob, RingJob},
    replicate::Replicate,
    ring::Ring,
    study::ReadJob,
    suite,
};

/// The arguments of `nanotape lab bench`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  nanotape lab bench                          all benchmarks of the hot path
  nanotape lab bench book/hot --epochs 2000   one of them, longer
  nanotape lab bench -o hot.html              plots of the distributions
  nanotape lab bench book/one --rate 1000000  a message every microsecond; lateness counts
  nanotape lab bench decode --instructions    also count instructions with valgrind
  nanotape lab bench book/ --perf stat        also count events with perf
  nanotape lab bench book day.itch50          every structure of the books on a day file
  nanotape lab bench plant day.itch50         the time that ring and records add to a message
  nanotape lab bench replay day.itch50        a recorded plant, and its journal read again
  nanotape lab bench feed day.itch50          the live feed, from packets to records
  nanotape lab bench trace day.itch50         spans, off and on, and the flight recorder
  nanotape lab bench ring                     the rings between processes
  nanotape lab bench gaps                     the meter of interruptions, and round trips
  nanotape lab bench delay                    correlations of two feeds, and their parts
  nanotape lab bench gpu                      correlations on a GPU, if there is one
  nanotape lab bench journal                  the journal, and the speed of the disk
  nanotape lab bench latest                   the map that many processes update
  nanotape lab bench replicate                replicated journals, beside bare connections
  nanotape lab bench --record                 keep the results for `nanotape lab trend`

Prints two numbers for each benchmark. The cost of an operation is the median over epochs of about
a millisecond, with its 95% interval; the distribution is that of single runs, with one clock
stamp in each. Use `nanotape lab compare` to find out whether something became slower: two runs of
this command, one after the other, cannot show it."
)]
pub struct BenchCommand {
    #[command(subcommand)]
    table: Option<Table>,

    #[command(flatten)]
    bench: BenchArguments,

    #[command(flatten)]
    output: RecordArguments,
}

#[derive(Subcommand, Debug)]
enum Table {
    /// Measure every structure of the books on a day file, and the limits of this machine
    Book(TableArguments<Book>),
    /// Measure the time that the ring and the records add to a message, on a day file
    Plant(TableArguments<Plant>),
    /// Measure a plant that is recorded, and the reading of its journal, on a day file
    Replay(Box<TableArguments<Replay>>),
    /// Measure the live feed, from packets to records and from the wire to a tap, on a day file
    Feed(TableArguments<Feed>),
    /// Measure spans and the flight recorder, alone and in a plant, on a day file
    Trace(TableArguments<Trace>),
    /// Measure the rings between processes, and the limits of this machine
    Ring(TableArguments<Ring>),
    /// Measure the meter of interruptions, and round trips of eight bytes
    Gaps(TableArguments<Gaps>),
    /// Measure estimates of the delay between two feeds, and the parts of a correlation
    Delay(TableArguments<Delay>),
    /// Measure correlations on a GPU, and its launches, copies and reductions
    Gpu(Gpu),
    /// Measure the journal, and the limits of this machine and its disk
    Journal(TableArguments<Journal>),
    /// Measure the map that many processes update, and the limits of this machine
    Latest(TableArguments<Latest>),
    /// Measure journals that are replicated, a mirrored ring, and bare connections
    Replicate(TableArguments<Replicate>),
}

const COLUMNS: Columns = columns! {
    "name", "time", "median_ns" = "cost/median_ns", "low_ns" = "cost/low_ns",
    "high_ns" = "cost/high_ns", "confidence" = "cost/confidence",
    "run_p50_ns" = "latency/quantiles/p50", "run_p99_ns" = "latency/quantiles/p99",
    "run_p99.9_ns" = "latency/quantiles/p99.9", "run_max_ns" = "latency/quantiles/p100",
    "stamp_ns" = "clock/stamp_ns", "instructions", "revision" = "environment/revision",
};

/// A job for a process of this program.
#[derive(Deserialize)]
struct Hook {
    work: String,
    job: Value,
}

impl Hook {
    fn run(self) -> anyhow::Result<Value> {
        match self.work.as_str() {
            Book::NAME => work::<Book>(self.job),
            Plant::NAME => work::<Plant>(self.job),
            Replay::NAME => work::<Replay>(self.job),
            Feed::NAME => work::<Feed>(self.job),
            Trace::NAME => work::<Trace>(self.job),
            RecorderJob::WORK => serde_json::from_value::<RecorderJob>(self.job)?.run(),
            Ring::NAME => work::<Ring>(self.job),
            Gaps::NAME => work::<Gaps>(self.job),
            Delay::NAME => work::<Delay>(self.job),
            Journal::NAME => work::<Journal>(self.job),
            Latest::NAME => work::<Latest>(self.job),
            Replicate::NAME => work::<Replicate>(self.job),
            COUNT => count(self.job),
            RingJob::WORK => serde_json::from_value::<RingJob>(self.job)?.run(),
            LatestJob::WORK => serde_json::from_value::<LatestJob>(self.job)?.run(),
            JournalJob::WORK => serde_json::from_value::<JournalJob>(self.job)?.run(),
            ReadJob::WORK => serde_json::from_value::<ReadJob>(self.job)?.run(),
            other => bail!("unknown work {other:?}"),
        }
    }
}

/// Does the job in the environment of this process, if there is one. A program with
/// [`BenchCommand`] calls this before it parses its command line.
pub fn worker() -> Option<ExitCode> {
    if let Some(code) = suite().role() {
        return Some(code);
    }
    let text = std::env::var(WORKER).ok()?;
    let hook = serde_json::from_str(&text).map_err(anyhow::Error::from);
    Some(match hook.and_then(Hook::run) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            warn(format_args!("{error:#}"));
            Status::of_error(&error, SourceError::is_bad_data).into()
        }
    })
}

/// Measures and prints the results.
pub fn run(command: &BenchCommand) -> anyhow::Result<Status> {
    match &command.table {
        Some(Table::Book(arguments)) => return table(arguments),
        Some(Table::Plant(arguments)) => return table(arguments),
        Some(Table::Replay(arguments)) => return table(arguments),
        Some(Table::Feed(arguments)) => return table(arguments),
        Some(Table::Trace(arguments)) => return table(arguments),
        Some(Table::Ring(arguments)) => return table(arguments),
        Some(Table::Gaps(arguments)) => return table(arguments),
        Some(Table::Delay(arguments)) => return table(arguments),
        Some(Table::Gpu(arguments)) => return gpu::run(arguments),
        Some(Table::Journal(arguments)) => return table(arguments),
        Some(Table::Latest(arguments)) => return table(arguments),
        Some(Table::Replicate(arguments)) => return table(arguments),
        None => {}
    }
    let suite = hot();
    let names = command.bench.select(&suite)?;
    let mut output = command.output.records_or(RecordFormat::Text, COLUMNS)?;
    if command.bench.list {
        for name in names {
            output.result(&format!("{name}\n"), serde_json::json!({ "name": name }))?;
        }
        output.finish()?;
        return Ok(Status::Good);
    }
    let placement = Placement::apply(&command.bench.place.request());
    let context = RunContext::capture(&placement);
    output.heading(&format!("{}\n", text::context(&context)))?;
    for name in names {
        let options = command.bench.options(name);
        let measured = measure(&suite, name, &options, &context).map_err(judged)?;
        if let Err(reason) = command.bench.admit(&measured) {
            bail!("{name}: the machine was not quiet: {reason}");
        }
        output.result(&text::measured(&measured), measured.record())?;
    }
    let records = output.finish_with(pages::results)?;
    if let Some(folder) = &command.bench.record {
        let host = context.environment.host.as_deref().unwrap_or("unknown");
        append(folder, host, &records)?;
    }
    Ok(Status::Good)
}

/// A wrong answer is a finding; any other error is an obstacle.
fn judged(error: BenchError) -> anyhow::Error {
    match error {
        BenchError::Answer { .. } => BadData(error.to_string()).into(),
        _ => error.into(),
    }
}
