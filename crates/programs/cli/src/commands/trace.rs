//! `nanotape trace`: the spans of a plant, from another process.

mod collect;
mod dump;
mod export;
mod list;
mod record;
mod stat;
mod switch;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::status::Status;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace list equities                the sites of the plant of a ring, and what is on
  nanotape trace on equities                  every message, at all sites
  nanotape trace on equities --one-in 16 --sites 'plant.b*,plant.records'
  nanotape trace dump equities --count 20     the oldest spans that are still there
  nanotape trace record equities --above 20us -o slow.pftrace   copies of slow messages for Perfetto
  nanotape trace stat equities                p50, p99, p99.9 and the largest time of each site
  nanotape trace collect equities -o spans    all spans, into a journal
  nanotape trace export spans -o spans.pftrace
  nanotape trace off equities

A span is the time that a message spent in a stage of a thread. Nothing is recorded until sites are
switched on. The spans are in memory that outlives the process, so those of a killed plant are
there too.")]
pub(crate) struct TraceArguments {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Subcommand, Debug)]
enum TraceCommand {
    /// List the traced threads and their sites
    List(list::ListCommand),
    /// Switch sites on
    On(switch::OnCommand),
    /// Switch sites off
    Off(switch::OffCommand),
    /// Print spans
    Dump(dump::DumpCommand),
    /// Copy the last spans of all threads into a file whenever a message is slow
    Record(record::RecordCommand),
    /// Copy all spans of all threads into a journal
    Collect(collect::CollectCommand),
    /// Print the quantiles of the times of each site, or write an interval log
    Stat(stat::StatCommand),
    /// Write the spans of a recording as a file for trace viewers
    Export(export::ExportCommand),
}

pub(crate) fn run(arguments: &TraceArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated region into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    match &arguments.command {
        TraceCommand::List(command) => list::run(command),
        TraceCommand::On(command) => switch::on(command),
        TraceCommand::Off(command) => switch::off(command),
        TraceCommand::Dump(command) => dump::run(command),
        TraceCommand::Record(command) => record::run(command),
        TraceCommand::Collect(command) => collect::run(command),
        TraceCommand::Stat(command) => stat::run(command),
        TraceCommand::Export(command) => export::run(command),
    }
}
