//! `nanotape latest`: inspects and changes maps of the latest values in shared memory.

mod dump;
mod entries;
mod get;
mod keep;
mod list;
mod nodes;
mod remove;
mod repair;
mod set;
mod share;
mod shared;
mod stat;
mod upgrade;
mod verify;

use std::path::Path;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use nanotape_arguments::regions::{hint_among, of_region};
use nanotape_latest::{LatestError, LatestReader};
use nanotape_shm::Refusal;

use crate::{
    companions,
    status::{BadData, Status},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest set levels 7 100 --entries 1000    create a map, and give key 7 the value 100
  nanotape latest get levels 7
  nanotape latest watch levels 7 --interval 0.5
  nanotape latest dump levels -o levels.csv
  nanotape latest stat levels
  nanotape latest keep equities quotes               the newest state of every stock of a plant
  nanotape latest share levels.toml --as london      a map that several machines write
  nanotape latest prove --seconds 10 --kill-writer-every 1

NAME is a name (levels is /dev/shm/nanotape-levels), or a path if it contains a slash. A map has a fixed
number of words of 8 bytes for each key and each value; a schema gives the words of a value names
(docs/interfaces.md, Values). Readers and tools that only read never write to
a map, and writers never wait for them.")]
pub(crate) struct LatestArguments {
    #[command(subcommand)]
    command: LatestCommand,
}

#[derive(Subcommand, Debug)]
enum LatestCommand {
    /// List the maps in /dev/shm
    List(list::ListCommand),
    /// Report the size of a map and its writers
    Stat(stat::StatCommand),
    /// Print the values of keys
    Get(get::GetCommand),
    /// Print the values of keys whenever they change
    Watch(get::WatchCommand),
    /// Print all keys and values
    Dump(dump::DumpCommand),
    /// Give keys values; creates the map if there is none
    Set(set::SetCommand),
    /// Remove keys, or a whole map that has no writer
    Remove(remove::RemoveCommand),
    /// Replace a map by one of a later version of its values, or for more keys
    Upgrade(upgrade::UpgradeCommand),
    /// Share a map with other machines, all of which write it
    Share(share::ShareCommand),
    /// Print the nodes of a shared map, and add or drop some
    Nodes(nodes::NodesCommand),
    /// Keep the newest state of every stock of a plant
    Keep(keep::KeepCommand),
    /// Check every entry and every count of a map
    Verify(verify::VerifyCommand),
    /// Make a new map of the entries that a loss of power left whole, and name the others
    Repair(repair::RepairCommand),
    /// Run processes against each other, kill or stop some, and account for every change
    Prove,
}

pub(crate) fn run(arguments: &LatestArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated region into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    match &arguments.command {
        LatestCommand::List(command) => list::run(command),
        LatestCommand::Stat(command) => stat::run(command),
        LatestCommand::Get(command) => get::run(command),
        LatestCommand::Watch(command) => get::watch(command),
        LatestCommand::Dump(command) => dump::run(command),
        LatestCommand::Set(command) => set::run(command),
        LatestCommand::Remove(command) => remove::run(command),
        LatestCommand::Upgrade(command) => upgrade::run(command),
        LatestCommand::Share(command) => share::run(command),
        LatestCommand::Nodes(command) => nodes::run(command),
        LatestCommand::Keep(command) => keep::run(command),
        LatestCommand::Verify(command) => verify::run(command),
        LatestCommand::Repair(command) => repair::run(command),
        LatestCommand::Prove => companions::run_lab(),
    }
}

/// Opens a map to read it.
fn open(path: &Path) -> anyhow::Result<LatestReader> {
    LatestReader::open(path).map_err(|error| of_latest(path, error))
}

/// Damage in the map is bad data; other errors belong to the environment.
fn of_latest(path: &Path, error: LatestError) -> anyhow::Error {
    let name = path.display();
    match error {
        LatestError::Region(error) if *error.refusal() == Refusal::NotFound => {
            let hint =
                hint_among(path, &[nanotape_latest::KIND], "nanotape latest list prints the maps");
            anyhow::anyhow!("{name}: does not exist{}", hint.unwrap_or_default())
        }
        LatestError::Region(error) => of_region(&error),
        error if error.is_bad_data() => BadData(format!("{name}: {error}")).into(),
        error => anyhow::anyhow!("{name}: {error}"),
    }
}

/// An error if the file of the map was removed, replaced or truncated meanwhile: what was read of
/// it then is no value of the map.
fn check(reader: &LatestReader) -> anyhow::Result<()> {
    reader.region().check().map_err(|error| of_region(&error))
}
