//! `nanotape journal repair`: a damaged journal made one that readers get through.

use std::path::PathBuf;

use clap::Args;
use nanotape_journal::{Action, Done};

use crate::{
    input::Progress,
    journals::of_journal,
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal repair quotes --dry-run
  nanotape journal repair quotes

Nobody may append meanwhile. Nothing is deleted: what does not check is moved to the folder cut of the
journal, under the number of its segment, its offset there and the time; readers are told which
sequence numbers are missing. A repair that was killed can be run again.

Exit status: 0 the journal is good now, or was, or would be; 1 it cannot be repaired; 2 it cannot be
opened or written, or somebody appends to it.")]
pub(super) struct RepairCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &RepairCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let bar = Progress::with_total(Some(0));
    let repaired = nanotape_journal::repair(&command.path, command.dry_run, |done, total| {
        bar.set_of(done, total, "");
    });
    drop(bar);
    let repaired = repaired.map_err(of_journal)?;
    for (number, action) in repaired.actions.iter().enumerate() {
        record(action).write(&mut output, format, number == 0, || format!("{action}\n"))?;
    }
    if format == Format::Text {
        use std::io::Write as _;
        let path = command.path.display();
        match (repaired.actions.len(), command.dry_run) {
            (0, _) => writeln!(output, "{path}: nothing to repair")?,
            (count, true) => writeln!(output, "{path}: {count} things to do; nothing was done")?,
            (count, false) => writeln!(output, "{path}: repaired; {count} things were done")?,
        }
    }
    output.finish()?;
    Ok(Status::Good)
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
