//! `nanotape ring`: broadcast rings in shared memory, seen and tried from outside.

mod dump;
mod list;
mod prove;
mod publish;
mod remove;
mod stat;
mod verify;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::status::Status;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  seq 1000 | nanotape ring publish quotes     a ring, and a thousand messages
  nanotape ring dump quotes --from newest --follow
  nanotape ring stat quotes
  nanotape ring prove --seconds 10 --kill-writer-every 1

NAME is a name (quotes is /dev/shm/nanotape-quotes) or a path, told by a slash. Readers and tools
never write to a ring, so that nobody notices them.")]
pub(crate) struct RingArguments {
    #[command(subcommand)]
    command: RingCommand,
}

#[derive(Subcommand, Debug)]
enum RingCommand {
    /// What a ring holds, who writes it, and how fast
    Stat(stat::StatCommand),
    /// The regions in /dev/shm
    List(list::ListCommand),
    /// Print messages
    Dump(dump::DumpCommand),
    /// Check everything that a ring holds
    Verify(verify::VerifyCommand),
    /// Remove a ring whose writer is gone
    Remove(remove::RemoveCommand),
    /// Publish lines of text, to try a ring out
    Publish(publish::PublishCommand),
    /// Processes against each other, some of them killed or stopped: is every message accounted for?
    Prove(prove::ProveCommand),
}

/// Publishes or reads for `ring prove`, if the environment says so.
pub(crate) fn role() -> Option<ExitCode> {
    prove::worker::role()
}

pub(crate) fn run(arguments: &RingArguments) -> anyhow::Result<Status> {
    // A region that is cut while it is mapped is an error line then, and not the end by a signal.
    nanotape_shm::guard_against_truncation().context("cannot handle SIGBUS")?;
    match &arguments.command {
        RingCommand::Stat(command) => stat::run(command),
        RingCommand::List(command) => list::run(command),
        RingCommand::Dump(command) => dump::run(command),
        RingCommand::Verify(command) => verify::run(command),
        RingCommand::Remove(command) => remove::run(command),
        RingCommand::Publish(command) => publish::run(command),
        RingCommand::Prove(command) => prove::run(command),
    }
}
