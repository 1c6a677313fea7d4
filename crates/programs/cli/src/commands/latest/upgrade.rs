//! `nanotape latest upgrade`: replaces a map by one of a later version of its values, or for more
//! keys.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{of_region, place};
use nanotape_latest::{LatestReader, LatestSpec, Replacement, ValueLayout};
use nanotape_peers::remove_index;
use nanotape_schema::ValueSchema;

use super::{
    of_latest, open,
    shared::{node_of, of_node},
};
use crate::{
    interrupt,
    output::{Format, OutputArguments},
    progress::Progress,
    record::Record,
    status::Status,
    value_schemas,
    values::{count, counted},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest upgrade quotes --schema quote.toml
  nanotape latest upgrade quotes --schema quote.toml --entries 100000    larger, too
  nanotape latest upgrade levels --entries 100000                        the same values

Writes a new map beside the old one, with all entries, and renames it over the old one: new fields have
their defaults, and each entry has version 1. Readers of the old map end with an error or open the map
again. Needs memory for both meanwhile. If it is interrupted, the old map stays.

The map of a node of several can be made larger while its `nanotape latest share` does not run. Its entries
are all sent again once.

Exit status: 0 success; 1 the map is damaged; 2 it has a writer, its values are not of an earlier version
of the schema, or it cannot be opened.")]
pub(super) struct UpgradeCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    /// Schema of the values, of the version to upgrade to
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// Make the new map for N keys; without it, for as many as before
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..))]
    entries: Option<u64>,

    #[command(flatten)]
    output: OutputArguments,
}

/// Entries between two looks at the progress and at interrupts.
const TURN: u64 = 1 << 12;

pub(super) fn run(command: &UpgradeCommand) -> anyhow::Result<Status> {
    if command.schema.is_none() && command.entries.is_none() {
        bail!(
            "nothing to change: give --schema FILE for later values, --entries N for more keys, or both"
        );
    }
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let interrupt = interrupt::install()?;
    let schema = command.schema.as_deref().map(value_schemas::of_file).transpose()?;
    // The reason of a refusal does not depend on writers.
    let reader = open(&path)?;
    let shared = node_of(&path, &reader)?;
    if let Some(identity) = shared.filter(|_| schema.is_some()) {
        return Err(of_node(&path, identity));
    }
    let _ = planned(command, &path, &reader, schema.as_ref())?;
    drop(reader);
    let mut replacement = Replacement::of(&path).map_err(|error| of_latest(&path, error))?;
    let (old, total) = (replacement.reader().spec(), replacement.reader().len());
    let (spec, version) = planned(command, &path, replacement.reader(), schema.as_ref())?;
    if shared.is_some() {
        // The life of the node stays. Without an index, a map of either size is a whole one.
        replacement.keep_creation_time();
        remove_index(&path).map_err(|error| of_region(&error))?;
    }
    let progress = Progress::with_steps("entries", total);
    let change = |old: &[u64], new: &mut [u64]| match &schema {
        Some(schema) => schema.upgrade(version, old, new),
        None => new.copy_from_slice(old),
    };
    let each = |copied: u64| {
        if copied.is_multiple_of(TURN) {
            progress.set(copied);
            if interrupt.is_requested() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let written = replacement.write(spec, change, each);
    drop(progress);
    let name = path.display();
    let Some(entries) = written.map_err(|error| of_latest(&path, error))? else {
        bail!("{name}: not upgraded: interrupted; the map is as before");
    };
    let (from, to) = (ValueLayout(old.value_layout), ValueLayout(spec.value_layout));
    let record = Record::default()
        .with("path", name.to_string())
        .with("entries", entries)
        .with("capacity", spec.entries)
        .with("from_version", from.version())
        .with("to_version", to.version());
    let mut output = command.output.open()?;
    record.write(&mut output, format, true, || {
        let entries = counted(entries, "key");
        let versions = match (from.version(), to.version()) {
            (from, to) if from == to => String::new(),
            (from, to) => format!(", version {from} to {to}"),
        };
        format!("{name}: {entries} of {}{versions}\n", spec.entries)
    })?;
    output.finish()?;
    Ok(Status::Good)
}

/// The sizes of the new map, and the version of the values of the old one.
fn planned(
    command: &UpgradeCommand,
    path: &Path,
    reader: &LatestReader,
    schema: Option<&ValueSchema>,
) -> anyhow::Result<(LatestSpec, usize)> {
    let (old, there, name) = (reader.spec(), reader.len(), path.display());
    let entries = command.entries.unwrap_or(old.entries);
    if entries < there {
        bail!("{name}: --entries {entries} is too small: the map has {there} keys");
    }
    let Some(schema) = schema else { return Ok((LatestSpec { entries, ..old }, 0)) };
    let version = schema.version_of(old.value_layout);
    let version = version.filter(|version| schema.words_of(*version) == old.value_words);
    let Some(version) = version else {
        let (found, newest) = (ValueLayout(old.value_layout), ValueLayout(schema.layout()));
        bail!(
            "{name}: its values are {found}, expected an earlier version of {}, whose values are \
             {newest}",
            schema.path
        );
    };
    if version == schema.version && command.entries.is_none() {
        bail!(
            "{name}: its values are of version {version} of {} already; --entries makes it larger",
            schema.path
        );
    }
    let (value_words, value_layout) = (schema.words(), schema.layout());
    Ok((LatestSpec { entries, value_words, value_layout, ..old }, version))
}
