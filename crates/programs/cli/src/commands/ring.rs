//! `nanotape ring`: inspects and tests broadcast rings in shared memory.

mod dump;
mod following;
mod list;
mod mirror;
mod publish;
mod publish_aeron;
mod remove;
mod stat;
mod verify;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::{companions, status::Status};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  seq 1000 | nanotape ring publish quotes     create a ring and publish 1,000 messages
  nanotape ring dump quotes --from newest --follow
  nanotape ring stat quotes
  nanotape ring mirror quotes quotes-1 --node 1
  nanotape ring publish-aeron quotes --channel aeron:ipc --stream 7
  nanotape ring prove --seconds 10 --kill-writer-every 1

NAME is a name (quotes is /dev/shm/nanotape-quotes), or a path if it contains a slash. Readers and
tools never write to a ring, so its writer and its other readers are not affected.")]
pub(crate) struct RingArguments {
    #[command(subcommand)]
    command: RingCommand,
}

#[derive(Subcommand, Debug)]
enum RingCommand {
    /// Report a ring's contents, its writer and its rate
    Stat(stat::StatCommand),
    /// List the regions in /dev/shm
    List(list::ListCommand),
    /// Print messages
    Dump(dump::DumpCommand),
    /// Check the whole contents of a ring
    Verify(verify::VerifyCommand),
    /// Remove a ring whose writer is gone
    Remove(remove::RemoveCommand),
    /// Publish lines of text, to test a ring
    Publish(publish::PublishCommand),
    /// Write the messages of a ring or a journal to another ring, for its readers there
    Mirror(mirror::MirrorCommand),
    /// Publish a ring on an Aeron stream, for readers on many hosts
    PublishAeron(publish_aeron::PublishAeronCommand),
    /// Run processes against each other, kill or stop some, and account for every message
    Prove,
}

pub(crate) fn run(arguments: &RingArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated region into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    match &arguments.command {
        RingCommand::Stat(command) => stat::run(command),
        RingCommand::List(command) => list::run(command),
        RingCommand::Dump(command) => dump::run(command),
        RingCommand::Verify(command) => verify::run(command),
        RingCommand::Remove(command) => remove::run(command),
        RingCommand::Publish(command) => publish::run(command),
        RingCommand::Mirror(command) => mirror::run(command),
        RingCommand::PublishAeron(command) => publish_aeron::run(command),
        RingCommand::Prove => companions::run_lab(),
    }
}
