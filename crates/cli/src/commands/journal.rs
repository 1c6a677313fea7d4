//! `nanotape journal`: journals on disk, written, read and looked after.

mod append;
mod compress;
mod dump;
mod print;
mod prove;
mod prune;
mod record;
mod repair;
mod stat;
mod tail;
mod tailers;
mod text;
mod verify;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::status::Status;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  seq 1000 | nanotape journal append quotes    a journal, and a thousand excerpts
  nanotape journal tail quotes --follow        the last ten, and what comes
  nanotape journal dump quotes --from 2026-11-20T14:30:00Z --count 20
  nanotape journal record nasdaq days/nasdaq   what a plant publishes, kept
  nanotape journal tailers days/nasdaq         who reads it, and how far behind
  nanotape journal verify quotes               what is in it, checked, also while it is written
  nanotape journal repair quotes --dry-run     what a repair would do
  nanotape journal prune quotes --older-than 30d --keep 500GiB
  nanotape journal compress quotes --keep-plain 2

JOURNAL is the folder of a journal. Readers write nothing into it, but for the place of those that have
a name.")]
pub(crate) struct JournalArguments {
    #[command(subcommand)]
    command: JournalCommand,
}

#[derive(Subcommand, Debug)]
enum JournalCommand {
    /// Append lines of text
    Append(append::AppendCommand),
    /// Compress closed segments, which readers do not notice
    Compress(compress::CompressCommand),
    /// Print everything that is there, in bytes
    Dump(dump::DumpCommand),
    /// Processes against each other, some of them killed: is every excerpt accounted for?
    Prove(prove::ProveCommand),
    /// Remove the oldest segments, by age, size or sequence number
    Prune(prune::PruneCommand),
    /// Keep what a ring publishes, under the same sequence numbers
    Record(record::RecordCommand),
    /// Mend a damaged journal without deleting anything
    Repair(repair::RepairCommand),
    /// What a journal holds, who appends to it, and who reads it
    Stat(stat::StatCommand),
    /// Print the last excerpts and those that come, of one journal or several by time
    Tail(tail::TailCommand),
    /// Who reads, and how far behind
    Tailers(tailers::TailersCommand),
    /// Check everything that a journal holds
    Verify(verify::VerifyCommand),
}

/// Appends or reads for `journal prove`, if the environment says so.
pub(crate) fn role() -> Option<std::process::ExitCode> {
    prove::worker::role()
}

pub(crate) fn run(arguments: &JournalArguments) -> anyhow::Result<Status> {
    // A segment that is cut while it is mapped is an error line then, and not the end by a signal.
    nanotape_shm::guard_against_truncation().context("cannot handle SIGBUS")?;
    match &arguments.command {
        JournalCommand::Append(command) => append::run(command),
        JournalCommand::Compress(command) => compress::run(command),
        JournalCommand::Dump(command) => dump::run(command),
        JournalCommand::Prove(command) => prove::run(command),
        JournalCommand::Prune(command) => prune::run(command),
        JournalCommand::Record(command) => record::run(command),
        JournalCommand::Repair(command) => repair::run(command),
        JournalCommand::Stat(command) => stat::run(command),
        JournalCommand::Tail(command) => tail::run(command),
        JournalCommand::Tailers(command) => tailers::run(command),
        JournalCommand::Verify(command) => verify::run(command),
    }
}
