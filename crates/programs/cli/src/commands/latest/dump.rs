//! `nanotape latest dump`: all keys and values of a map.

use std::ops::ControlFlow;

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::place;

use super::{check, entries::EntryArguments, of_latest, shared::MapReader};
use crate::{
    output::{Format, OutputArguments},
    rows::Rows,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest dump levels
  nanotape latest dump quotes --keys text -o quotes.csv
  nanotape latest dump quotes --schema quote.toml        a column for each field

An entry that is there all the time is printed once, as it was at one moment; one that is inserted or
removed meanwhile is printed or not. The order is that of the memory.

Exit status: 0 success; 1 the map is damaged; 2 it cannot be opened, or
has other values than the schema.")]
pub(super) struct DumpCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    #[command(flatten)]
    entries: EntryArguments,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &DumpCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let reader = MapReader::open(&path)?;
    let entries = command.entries.of(&path, reader.spec())?;
    let mut rows = Rows::new(command.output.open()?, format, entries.columns(reader.spec()));
    let mut failed = None;
    let read = reader.for_each_while(|key, value, version| {
        match entries.row(&mut rows, key, Some(version), value) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    read.map_err(|error| of_latest(&path, error))?;
    rows.finish()?;
    check(reader.latest())?;
    Ok(Status::Good)
}
