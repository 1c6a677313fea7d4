//! `nanotape latest get` and `watch`: the values of keys, once or whenever they change.

use std::time::Duration;

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::place;

use super::{
    check,
    entries::{EntryArguments, KeyArguments},
    of_latest,
    shared::MapReader,
};
use crate::{
    interrupt,
    output::{Format, OutputArguments},
    rows::Rows,
    status::{BadData, Status},
    values::{count, some_duration},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest get levels 7 8
  nanotape latest get pairs 7,8                 a key of two words
  nanotape latest get quotes AAPL --keys text --format json
  nanotape latest get quotes 7 --schema quote.toml       a column for each field

A value is copied as it was at one moment, also while others write it.

Exit status: 0 every key is there; 1 a key is not there, or the map is damaged; 2 it cannot be opened, or
has other values than the schema.")]
pub(super) struct GetCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    /// Keys
    #[arg(value_name = "KEY", required = true)]
    key: Vec<String>,

    #[command(flatten)]
    entries: EntryArguments,

    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest watch levels 7
  nanotape latest watch quotes AAPL MSFT --keys text --interval 1s --format csv
  nanotape latest watch levels 7 --count 1      end after the first change

Prints each value at the beginning, and again when it has changed: by one read of each key in an
interval, so that several changes within it are one row. A key that is not there has a row without a
value. Ends at Ctrl-C.

Exit status: 0 success; 1 the map is damaged; 2 it cannot be opened, has other values than the schema, or
was removed meanwhile.")]
pub(super) struct WatchCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    /// Keys
    #[arg(value_name = "KEY", required = true)]
    key: Vec<String>,

    /// Time between two reads
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = some_duration)]
    interval: Duration,

    /// End after N changes
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..))]
    count: Option<u64>,

    #[command(flatten)]
    entries: EntryArguments,

    #[command(flatten)]
    output: OutputArguments,
}

/// The words of keys.
fn parsed(
    keys: &KeyArguments,
    texts: &[String],
    reader: &MapReader,
) -> anyhow::Result<Vec<Vec<u64>>> {
    texts.iter().map(|text| keys.parse(text, reader.spec())).collect()
}

pub(super) fn run(command: &GetCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let reader = MapReader::open(&path)?;
    let keys = parsed(&command.entries.keys, &command.key, &reader)?;
    let entries = command.entries.of(&path, reader.spec())?;
    let mut rows = Rows::new(command.output.open()?, format, entries.columns(reader.spec()));
    let mut value = reader.value();
    let mut missing = None;
    for (key, text) in keys.iter().zip(&command.key) {
        match reader.get(key, &mut value).map_err(|error| of_latest(&path, error))? {
            None => missing = missing.or(Some(text)),
            Some((version, value)) => entries.row(&mut rows, key, Some(version), value)?,
        }
    }
    rows.finish()?;
    check(reader.latest())?;
    match missing {
        None => Ok(Status::Good),
        Some(key) => Err(BadData(format!("{}: key {key} is not there", path.display())).into()),
    }
}

pub(super) fn watch(command: &WatchCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let interrupt = interrupt::install()?;
    let reader = MapReader::open(&path)?;
    let keys = parsed(&command.entries.keys, &command.key, &reader)?;
    let entries = command.entries.of(&path, reader.spec())?;
    let mut rows = Rows::new(command.output.open()?, format, entries.columns(reader.spec()));
    let mut value = reader.value();
    let none = vec![0; reader.spec().value_words];
    // Removed and inserted again, a key can have the version that it had: values are compared too.
    let mut before: Vec<Option<(Option<u32>, Vec<u64>)>> = vec![None; keys.len()];
    let mut changes = 0;
    while !interrupt.is_requested() {
        for (key, before) in keys.iter().zip(&mut before) {
            let found = reader.get(key, &mut value).map_err(|error| of_latest(&path, error))?;
            let (version, value) =
                found.map_or((None, &none[..]), |(version, value)| (Some(version), value));
            let is_same = before.as_ref().is_some_and(|(last, known)| {
                *last == version && (version.is_none() || known == value)
            });
            if is_same {
                continue;
            }
            changes += u64::from(before.is_some());
            entries.row(&mut rows, key, version, value)?;
            *before = Some((version, value.to_vec()));
            if command.count == Some(changes) {
                break;
            }
        }
        rows.flush()?;
        check(reader.latest())?;
        if command.count == Some(changes) {
            break;
        }
        interrupt.sleep(command.interval);
    }
    rows.finish()?;
    Ok(Status::Good)
}
