//! `nanotape latest repair`: a damaged map without its damaged entries, each of which is named.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{of_region, place};
use nanotape_latest::{LatestError, LatestRepair, Repaired};
use nanotape_shm::{Refusal, RegionOptions, beside};

use super::{
    entries::{Entries, EntryArguments},
    of_latest,
    shared::refuse_node,
};
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    rows::{Column, Kind, Rows},
    status::{Status, note},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest repair ./levels
  nanotape latest repair ./levels --into ./levels-repaired -o dropped.csv --format csv

After a loss of power, pages of a map in a file can be older than others. Makes a new map of all entries
whose sums are right, with their versions, and puts it in the place of the old one. Prints each entry that
is dropped: its sum is wrong, and then its key might be wrong too; or its key is there twice, and the other
one has a higher version. A key without its entry is not named: nothing of it is left.

A map that is not damaged stays as it is. Stop all writers before.

Exit status: 0 nothing was dropped; 1 something was dropped; 2 the map cannot be opened, or has a writer.")]
pub(super) struct RepairCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    /// Write the new map here, and leave the old one as it is
    #[arg(long, value_name = "NAME")]
    into: Option<Given>,

    #[command(flatten)]
    entries: EntryArguments,

    #[command(flatten)]
    output: OutputArguments,
}

/// What became of the map.
struct Outcome<'a> {
    path: &'a Path,
    into: Option<&'a Path>,
    is_damaged: bool,
    repaired: Repaired,
}

pub(super) fn run(command: &RepairCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let into = command.into.as_ref().map(place).transpose()?;
    if into.as_ref() == Some(&path) {
        bail!(
            "{}: --into needs another name than that of the map; without it, the map is replaced",
            path.display()
        );
    }
    let format = command.output.format_or(Format::Text)?;
    let repair = LatestRepair::begin(&path).map_err(|error| of_begin(&path, error))?;
    let is_damaged = repair.is_needed();
    let is_copied = is_damaged || into.is_some();
    if into.is_none() {
        refuse_node(&path, repair.reader())?;
    }
    let entries = command.entries.of(&path, repair.reader().spec())?;
    let columns = match (is_copied, format) {
        // No table, not even its head.
        (false, Format::Text) => Vec::new(),
        _ => columns(&entries, &repair),
    };
    let mut rows = Rows::new(command.output.open()?, format, columns);
    let mut outcome =
        Outcome { path: &path, into: into.as_deref(), is_damaged, repaired: Repaired::default() };
    if is_copied {
        let new = match &into {
            Some(into) => into.clone(),
            None => free_place(&path)?,
        };
        outcome.repaired = copy(&entries, &repair, &new, &mut rows)?;
        // Every key is named before the old map is gone.
        rows.flush()?;
        if into.is_none() {
            repair.replace_with(&new).map_err(|error| of_region(&error))?;
        }
    } else {
        let there = repair.reader().len();
        (outcome.repaired.kept, outcome.repaired.counted) = (there, there);
    }
    outcome.write(&mut rows, format)?;
    rows.finish()?;
    Ok(if outcome.repaired.dropped() == 0 { Status::Good } else { Status::Bad })
}

/// A map that cannot be opened is never status 1: nothing is known to be dropped.
fn of_begin(path: &Path, error: LatestError) -> anyhow::Error {
    if let LatestError::Region(error) = &error
        && *error.refusal() == Refusal::LockedByReader
    {
        return anyhow::anyhow!(
            "{}: not repaired: it has a writer; nanotape latest stat counts them",
            path.display()
        );
    }
    anyhow::anyhow!("{}", of_latest(path, error))
}

/// The path beside a map for the new one. A repair that was killed can have left a part there.
fn free_place(path: &Path) -> anyhow::Result<PathBuf> {
    let new = beside(path, ".repair");
    match nanotape_shm::remove(&new) {
        Err(error) if *error.refusal() != Refusal::NotFound => Err(of_region(&error)),
        _ => Ok(new),
    }
}

fn columns(entries: &Entries, repair: &LatestRepair) -> Vec<Column> {
    let reason = "Why the entry was dropped. If its sum is wrong, its key might be wrong too.";
    let mut columns = vec![Column::new("reason", Kind::Text, 50, reason)];
    columns.extend(entries.columns(repair.reader().spec()));
    columns
}

/// Makes the new map, with a row for each entry that is dropped.
fn copy(
    entries: &Entries,
    repair: &LatestRepair,
    new: &Path,
    rows: &mut Rows,
) -> anyhow::Result<Repaired> {
    let mode = repair.mode().map_err(|error| of_region(&error))?;
    let mut failed = None;
    let copied = repair.copy_to(new, &RegionOptions { mode, ..Default::default() }, |dropped| {
        if failed.is_none() {
            rows.text(dropped.reason);
            let row = entries.row(rows, dropped.key, Some(dropped.version), dropped.value);
            failed = row.err();
        }
    });
    let failed = match (copied, failed) {
        (Ok(repaired), None) => return Ok(repaired),
        (Err(LatestError::Exists), _) => return Err(of_latest(new, LatestError::Exists)),
        (Err(error), _) => of_latest(new, error),
        (Ok(_), Some(error)) => error.into(),
    };
    // Half of a map must not be taken for one.
    let _ = nanotape_shm::remove(new);
    Err(failed)
}

impl Outcome<'_> {
    /// Writes the counts after the rows; beside the output if that is a table of CSV.
    fn write(&self, rows: &mut Rows, format: Format) -> anyhow::Result<()> {
        let Self { path, into, is_damaged, repaired } = *self;
        if format == Format::Csv {
            note(self.sentence());
            return Ok(());
        }
        let record = Record::default()
            .with("path", path.display().to_string())
            .with("into", into.map(|into| into.display().to_string()))
            .with("damaged", is_damaged)
            .with("kept", repaired.kept)
            .with("dropped", repaired.dropped())
            .with("wrong_sums", repaired.wrong_sums)
            .with("duplicates", repaired.duplicates)
            .with("no_room", repaired.no_room)
            .with("counted", repaired.counted);
        record.write(rows.buffer(), format, true, || {
            let mut text = format!("{}\n", self.sentence());
            for (name, number) in [
                ("kept", repaired.kept),
                ("wrong sums", repaired.wrong_sums),
                ("duplicates", repaired.duplicates),
                ("no room", repaired.no_room),
                ("counted", repaired.counted),
            ] {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name:<15} {number}");
            }
            text
        })?;
        Ok(())
    }

    fn sentence(&self) -> String {
        let path = self.path.display();
        let dropped = match self.repaired.dropped() {
            0 => "nothing was dropped".to_owned(),
            1 => "1 entry was dropped".to_owned(),
            many => format!("{many} entries were dropped"),
        };
        match (self.into, self.is_damaged) {
            (Some(into), _) => format!("{path}: {dropped}; the new map is {}", into.display()),
            (None, true) => format!("{path}: {dropped}; repaired"),
            (None, false) => format!("{path}: {dropped}; not damaged, left as it is"),
        }
    }
}
