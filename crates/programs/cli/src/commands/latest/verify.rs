//! `nanotape latest verify`: checks every entry and every count of a map.

use std::fmt::Write as _;

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::place;

use super::{check, of_latest, open};
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest verify levels
  nanotape latest verify /dev/shm/nanotape-levels --format json

Checks the sum of every entry, that a search finds it, and the counts of the groups and of the writers.
The counts are exact only while no writer inserts or removes keys: with writers that are alive, they are
printed and not judged. An entry that a dead writer has locked is finished by the next writer that needs
it, and is no damage.

Exit status: 0 no damage; 1 the map is damaged; 2 it cannot be opened.")]
pub(super) struct VerifyCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &VerifyCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let reader = open(&path)?;
    let writers = reader.writers().len();
    let found = reader.verify().map_err(|error| of_latest(&path, error))?;
    check(&reader)?;
    let is_quiet = writers == 0 && found.locked == 0 && reader.unfinished() == 0;
    let is_good = found.wrong_sums == 0 && (!is_quiet || found.is_clean());
    let record = Record::default()
        .with("path", path.display().to_string())
        .with("good", is_good)
        .with("entries", found.entries)
        .with("counted", found.counted)
        .with("wrong_sums", found.wrong_sums)
        .with("unreachable", found.unreachable)
        .with("wrong_counts", found.wrong_counts)
        .with("locked", found.locked)
        .with("unfinished", reader.unfinished())
        .with("writers", writers);
    let mut output = command.output.open()?;
    record.write(&mut output, format, true, || {
        let judged = match (is_good, is_quiet) {
            (false, _) => "DAMAGED",
            (true, true) => "OK",
            (true, false) => "OK, but it changes or has unfinished changes: counts are not judged",
        };
        let mut text = format!("{}: {judged}\n", path.display());
        for (name, number) in [
            ("entries", found.entries),
            ("counted", found.counted),
            ("wrong sums", found.wrong_sums),
            ("unreachable", found.unreachable),
            ("wrong counts", found.wrong_counts),
            ("locked groups", found.locked),
            ("unfinished", reader.unfinished()),
            ("writers alive", writers as u64),
        ] {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<15} {number}");
        }
        text
    })?;
    output.finish()?;
    Ok(if is_good { Status::Good } else { Status::Bad })
}
