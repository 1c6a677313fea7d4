//! `nanotape journal`: logs on disk, seen and looked after from outside.

mod compress;
mod prune;
mod repair;
mod stat;
mod text;
mod verify;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::status::Status;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal stat quotes
  nanotape journal verify quotes                what is in it, checked, also while it is written
  nanotape journal repair quotes --dry-run      what a repair would do
  nanotape journal prune quotes --older-than 30d --keep 500GiB
  nanotape journal compress quotes --keep-plain 2

JOURNAL is the folder that it is in.")]
pub(crate) struct JournalArguments {
    #[command(subcommand)]
    command: JournalCommand,
}

#[derive(Subcommand, Debug)]
enum JournalCommand {
    /// Compress closed segments, which readers do not notice
    Compress(compress::CompressCommand),
    /// Remove the oldest segments, by age, size or sequence number
    Prune(prune::PruneCommand),
    /// Mend a damaged journal without deleting anything
    Repair(repair::RepairCommand),
    /// What a journal holds, who appends to it, and who reads it
    Stat(stat::StatCommand),
    /// Check everything that a journal holds
    Verify(verify::VerifyCommand),
}

pub(crate) fn run(arguments: &JournalArguments) -> anyhow::Result<Status> {
    // A file that is cut while it is mapped is an error line then, and not the end by a signal.
    nanotape_shm::guard_against_truncation().context("cannot handle SIGBUS")?;
    match &arguments.command {
        JournalCommand::Compress(command) => compress::run(command),
        JournalCommand::Prune(command) => prune::run(command),
        JournalCommand::Repair(command) => repair::run(command),
        JournalCommand::Stat(command) => stat::run(command),
        JournalCommand::Verify(command) => verify::run(command),
    }
}
