//! `nanotape journal`: journals on disk: write, read, and maintain them.

mod append;
mod bisect;
mod compress;
mod dump;
mod join;
mod links;
mod promote;
mod prune;
mod record;
mod repair;
mod replicate;
mod serve;
mod snapshot;
mod stat;
mod tail;
mod tailers;
mod upkeep;
mod verify;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use nanotape_arguments::errors::of_journal;
use nanotape_journal::JournalError;

use crate::{companions, progress::Progress, status::Status};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  seq 1000 | nanotape journal append quotes    create a journal of 1,000 excerpts
  nanotape journal tail quotes --follow        the last ten excerpts, then new ones
  nanotape journal dump quotes --from 2026-11-20T14:30:00Z --count 20
  nanotape journal record nasdaq days/nasdaq   store what a plant publishes
  nanotape journal snapshot days/nasdaq --follow    keep books at many moments beside it
  nanotape journal tailers days/nasdaq         its readers, and how far each is behind the end
  nanotape journal verify quotes               check all of it, also while it is written
  nanotape journal repair quotes --dry-run     list what a repair would do
  nanotape journal serve quotes --listen 10.0.0.1:7000 --certificates certificates
  nanotape journal replicate 10.0.0.1:7000 quotes --name berlin --certificates certificates
  nanotape journal prune quotes --older-than 30d --keep 500GiB
  nanotape journal compress quotes --keep-plain 2
  nanotape journal upkeep quotes --compress --keep 500GiB --follow    both, after each roll

JOURNAL is the folder of a journal. Readers do not write to it, except for the stored positions of
named tailers.")]
pub(crate) struct JournalArguments {
    #[command(subcommand)]
    command: JournalCommand,
}

#[derive(Subcommand, Debug)]
enum JournalCommand {
    /// Append lines of text
    Append(append::AppendCommand),
    /// Find the first record at which two recorded runs differ
    Bisect(bisect::BisectCommand),
    /// Compress closed segments; readers are not affected
    Compress(compress::CompressCommand),
    /// Print all excerpts with their payload bytes
    Dump(dump::DumpCommand),
    /// Serve a journal or keep a copy, as a configuration of all machines says
    Join(join::JoinCommand),
    /// Make a leader of a copy whose leader is lost
    Promote(promote::PromoteCommand),
    /// Run processes against each other, kill some of them, and account for every excerpt
    Prove,
    /// Remove the oldest segments, by age, size or sequence number
    Prune(prune::PruneCommand),
    /// Record what a ring publishes, under the same sequence numbers
    Record(record::RecordCommand),
    /// Keep a copy of a journal that another machine serves
    Replicate(Box<replicate::ReplicateCommand>),
    /// Serve a journal to followers on other machines
    Serve(Box<serve::ServeCommand>),
    /// Repair a damaged journal without deleting anything
    Repair(repair::RepairCommand),
    /// Write snapshots of the books of a recorded plant
    Snapshot(snapshot::SnapshotCommand),
    /// Report a journal's contents, its appender and its readers
    Stat(stat::StatCommand),
    /// Print the last excerpts and then new ones, of one journal or of several in order of time
    Tail(tail::TailCommand),
    /// List the readers of a journal and how far each is behind the end
    Tailers(tailers::TailersCommand),
    /// Compress and prune, once or while it is recorded
    Upkeep(upkeep::UpkeepCommand),
    /// Check the whole contents of a journal
    Verify(verify::VerifyCommand),
}

/// Runs a slow operation on a journal with a progress bar.
fn with_bar<T>(
    work: impl FnOnce(&dyn Fn(u64, u64)) -> Result<T, JournalError>,
) -> anyhow::Result<T> {
    let bar = Progress::with_total(Some(0));
    work(&|done, total| bar.set_of(done, total, "")).map_err(of_journal)
}

pub(crate) fn run(arguments: &JournalArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated segment into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    match &arguments.command {
        JournalCommand::Append(command) => append::run(command),
        JournalCommand::Bisect(command) => bisect::run(command),
        JournalCommand::Compress(command) => compress::run(command),
        JournalCommand::Dump(command) => dump::run(command),
        JournalCommand::Join(command) => join::run(command),
        JournalCommand::Promote(command) => promote::run(command),
        JournalCommand::Replicate(command) => replicate::run(command),
        JournalCommand::Serve(command) => serve::run(command),
        JournalCommand::Prove => companions::run_lab(),
        JournalCommand::Prune(command) => prune::run(command),
        JournalCommand::Record(command) => record::run(command),
        JournalCommand::Repair(command) => repair::run(command),
        JournalCommand::Snapshot(command) => snapshot::run(command),
        JournalCommand::Stat(command) => stat::run(command),
        JournalCommand::Tail(command) => tail::run(command),
        JournalCommand::Tailers(command) => tailers::run(command),
        JournalCommand::Upkeep(command) => upkeep::run(command),
        JournalCommand::Verify(command) => verify::run(command),
    }
}
