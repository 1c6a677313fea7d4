//! `nanotape journal repair`: makes a damaged journal readable.

use std::path::PathBuf;

use clap::Args;
use nanotape_journal::{Action, Done};

use super::with_bar;
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
    values::counted,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal repair quotes --dry-run
  nanotape journal repair quotes

Stop the appender before a repair. Nothing is deleted: bytes that fail a check move to the folder
cut of the journal, to a file named after the segment, the offset and the time. Readers get the
missing sequence numbers as a gap. A repair that was killed can be run again.

Exit status: 0 the journal is good (with --dry-run: would be good); 1 it cannot be repaired; 2 it
cannot be opened or written, or an appender is using it.")]
pub(super) struct RepairCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    /// Print what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &RepairCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let (path, dry_run) = (&command.path, command.dry_run);
    let repaired = with_bar(|progress| nanotape_journal::repair(path, dry_run, progress))?;
    for (number, action) in repaired.actions.iter().enumerate() {
        record(action).write(&mut output, format, number == 0, || format!("{action}\n"))?;
    }
    if format == Format::Text {
        use std::io::Write as _;
        let path = path.display();
        match (repaired.actions.len(), command.dry_run) {
            (0, _) => writeln!(output, "{path}: nothing to repair")?,
            (n, true) => writeln!(output, "{path}: {} needed; nothing was changed", changes(n))?,
            (n, false) => writeln!(output, "{path}: repaired with {}", changes(n))?,
        }
    }
    output.finish()?;
    Ok(Status::Good)
}

fn changes(number: usize) -> String {
    counted(number as u64, "change")
}

fn record(action: &Action) -> Record {
    let to = match &action.done {
        Done::Covered { to, .. }
        | Done::Ended { to, .. }
        | Done::Moved { to, .. }
        | Done::Unpacked { to } => to.as_ref().map(|path| path.display().to_string()),
        _ => None,
    };
    Record::default()
        .with("path", action.path.display().to_string())
        .with("offset", action.offset)
        .with("done", action.done.to_string())
        .with("kept_in", to)
}
