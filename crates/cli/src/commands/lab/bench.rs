//! `nanotape lab bench`: what an operation costs, and how single runs are distributed.

use clap::{Args, Subcommand};
use nanotape_lab::{
    BenchArguments, BenchError, Placement, measure, pages,
    record::{Circumstances, append},
    text,
};

use super::{
    bench_book::{self, BookCommand},
    bench_journal::{self, JournalCommand},
    bench_plant::{self, PlantCommand},
    bench_ring::{self, RingCommand},
};
use crate::status::{BadData, Status};
use nanotape_console::records::{Columns, RecordArguments, RecordFormat};

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  nanotape lab bench                          all benchmarks of the hot path
  nanotape lab bench book/hot --epochs 2000   one of them, longer
  nanotape lab bench -o hot.html              distributions, drawn
  nanotape lab bench book/one --rate 1000000  a message every microsecond; lateness counts
  nanotape lab bench decode --instructions    with instructions counted by valgrind
  nanotape lab bench book/ --perf stat        with what the perf program counts
  nanotape lab bench book day.itch50          every structure of the books on a day file
  nanotape lab bench plant day.itch50         what ring and records add to the way of a message
  nanotape lab bench ring                     the rings between processes
  nanotape lab bench journal                  the journal, and what the disk can do
  nanotape lab bench --record                 kept for `nanotape lab trend`

Two numbers for each benchmark. The cost of an operation is the median over epochs of about a
millisecond, with its 95% interval; the distribution is that of single runs, one clock stamp in each.
To find out whether something became slower, use `nanotape lab compare`: two runs of this command,
one after the other, cannot tell."
)]
pub(super) struct BenchCommand {
    #[command(subcommand)]
    table: Option<Table>,

    #[command(flatten)]
    bench: BenchArguments,

    #[command(flatten)]
    output: RecordArguments,
}

#[derive(Subcommand, Debug)]
enum Table {
    /// Measure every structure of the books on a day file, beside the limits of this machine
    Book(BookCommand),
    /// Measure what the ring and the records add to the way of a message, on a day file
    Plant(PlantCommand),
    /// Measure the rings between processes, beside the limits of this machine
    Ring(RingCommand),
    /// Measure the journal, beside the limits of this machine and its disk
    Journal(JournalCommand),
}

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("time", "/time"),
    ("median_ns", "/cost/median_ns"),
    ("low_ns", "/cost/low_ns"),
    ("high_ns", "/cost/high_ns"),
    ("confidence", "/cost/confidence"),
    ("run_p50_ns", "/latency/quantiles/p50"),
    ("run_p99_ns", "/latency/quantiles/p99"),
    ("run_p99.9_ns", "/latency/quantiles/p99.9"),
    ("run_max_ns", "/latency/quantiles/p100"),
    ("stamp_ns", "/clock/stamp_ns"),
    ("instructions", "/instructions"),
    ("revision", "/environment/revision"),
];

pub(super) fn run(command: &BenchCommand) -> anyhow::Result<Status> {
    match &command.table {
        Some(Table::Book(command)) => return bench_book::run(command),
        Some(Table::Plant(command)) => return bench_plant::run(command),
        Some(Table::Ring(command)) => return bench_ring::run(command),
        Some(Table::Journal(command)) => return bench_journal::run(command),
        None => {}
    }
    let suite = nanotape_bench::hot();
    let names = command.bench.select(&suite)?;
    let mut output = command.output.records_or(RecordFormat::Text, COLUMNS)?;
    if command.bench.list {
        for name in names {
            output.result(&format!("{name}\n"), serde_json::json!({ "name": name }))?;
        }
        output.finish()?;
        return Ok(Status::Good);
    }
    let placement = Placement::apply(&command.bench.place.wish());
    let circumstances = Circumstances::capture(&placement);
    output.heading(&format!("{}\n", text::circumstances(&circumstances)))?;
    for name in names {
        let options = command.bench.options(name);
        let measured = measure(&suite, name, &options, &circumstances).map_err(judged)?;
        if let Err(reason) = command.bench.admit(&measured) {
            anyhow::bail!("{name}: the machine was not quiet: {reason}");
        }
        output.result(&text::measured(&measured), measured.record())?;
    }
    let records = output.finish_with(pages::results)?;
    if let Some(folder) = &command.bench.record {
        let host = circumstances.environment.host.as_deref().unwrap_or("unknown");
        append(folder, host, &records)?;
    }
    Ok(Status::Good)
}

/// A wrong answer is a finding; everything else is an obstacle.
fn judged(error: BenchError) -> anyhow::Error {
    match error {
        BenchError::Answer { .. } => BadData(error.to_string()).into(),
        _ => error.into(),
    }
}
