//! `nanotape journal repair`: makes a damaged journal readable.

use std::path::PathBuf;

use clap::Args;
use nanotape_arguments::errors::of_journal;
use nanotape_history::HistoryAction;
use nanotape_journal::{Action, Done, Finding, Found, Severity};

use super::{snapshot::of_snapshotter, with_bar};
use crate::{
    output::{Format, OutputArguments},
    progress::Progress,
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
missing sequence numbers as a gap. Faulty snapshots move to cut too: `nanotape journal snapshot`
makes them again. The file runs is made again from its good lines and the records. A repair that was
killed can be run again.

A dry run writes nothing, so it works on a read-only file system. A snapshot that was made with
records that are damaged now stays: it cannot be checked, and it has what they had.

Exit status: 0 the journal is good (with --dry-run: would be, after the listed changes, as
far as is known before they are made); 1 something cannot be repaired, and is named; 2 the
journal cannot be opened or written, or an appender is using it.")]
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
    let mut changes = repaired.actions.len();
    // Runs and snapshots are compared with the records, which must be good before.
    let beside = match changes > 0 && dry_run {
        true => Vec::new(),
        false => repair_beside(command)?,
    };
    for action in &beside {
        let is_first = changes == 0;
        record_beside(action).write(&mut output, format, is_first, || text_beside(action))?;
        changes += 1;
    }
    // What is left after changes to segments is known when they are made, but for missing files.
    let left = match dry_run && !repaired.actions.is_empty() {
        true => missing_segments(command, &repaired.actions)?,
        false => faults_left(command, &beside)?,
    };
    for (number, (path, offset, what)) in left.iter().enumerate() {
        let record = Record::default()
            .with("path", path.clone())
            .with("offset", *offset)
            .with("done", None::<String>)
            .with("kept_in", None::<String>)
            .with("remains", what.clone());
        let text = || format!("{path}: offset {offset}: remains: {what}\n");
        record.write(&mut output, format, number == 0 && changes == 0, text)?;
    }
    if format == Format::Text {
        use std::io::Write as _;
        let path = path.display();
        let faults = counted(left.len() as u64, "fault");
        match (changes, dry_run, left.len()) {
            (0, _, 0) => writeln!(output, "{path}: nothing to repair")?,
            (n, true, 0) => {
                let runs = match repaired.actions.is_empty() {
                    true => "",
                    false => "; runs and snapshots were not checked",
                };
                writeln!(output, "{path}: {} needed{runs}; nothing was changed", changes_text(n))?;
            }
            (n, true, _) => writeln!(
                output,
                "{path}: {} needed, {faults} cannot be repaired; nothing was changed",
                changes_text(n)
            )?,
            (n, false, 0) => writeln!(output, "{path}: repaired with {}", changes_text(n))?,
            (n, false, _) => {
                writeln!(output, "{path}: {}, {faults} cannot be repaired", changes_text(n))?;
            }
        }
    }
    output.finish()?;
    Ok(if left.is_empty() { Status::Good } else { Status::Bad })
}

fn changes_text(number: usize) -> String {
    counted(number as u64, "change")
}

/// Repairs runs and snapshots, unless the segments cannot be read.
fn repair_beside(command: &RepairCommand) -> anyhow::Result<Vec<HistoryAction>> {
    let bar = Progress::with_steps("records", 0);
    let repaired = nanotape_history::repair(&command.path, command.dry_run, |done, total| {
        bar.set_of(done, total, "");
    });
    repaired.map_err(of_snapshotter)
}

/// Path, offset and text of each segment without a file, which no repair brings back. Whether a
/// segment that gets its own name again is one of them is not known before.
fn missing_segments(
    command: &RepairCommand,
    actions: &[Action],
) -> anyhow::Result<Vec<(String, u64, String)>> {
    if actions.iter().any(|action| matches!(action.done, Done::Renamed { .. })) {
        return Ok(Vec::new());
    }
    let verified = nanotape_journal::verify(&command.path, |_, _| ()).map_err(of_journal)?;
    let missing = verified.findings.iter().filter(|it| matches!(it.found, Found::Missing { .. }));
    let missing = missing.filter(|finding| finding.severity() > Severity::Note);
    Ok(missing.map(left).collect())
}

/// Path, offset and text of each fault and hint that is left. A dry run has not moved its files.
fn faults_left(
    command: &RepairCommand,
    moved: &[HistoryAction],
) -> anyhow::Result<Vec<(String, u64, String)>> {
    let is_moved =
        |path: &PathBuf| command.dry_run && moved.iter().any(|it| it.finding.path == *path);
    let verified = nanotape_journal::verify(&command.path, |_, _| ()).map_err(of_journal)?;
    let beside = nanotape_history::verify(&command.path, false, |_, _| ());
    let beside = beside.map_err(of_snapshotter)?;
    let segments =
        verified.findings.iter().filter(|finding| finding.severity() > Severity::Note).map(left);
    // Those of a file that was only made again in memory.
    let again = moved.iter().flat_map(|action| &action.remains);
    let beside = beside
        .iter()
        .filter(|finding| finding.is_fault() && !is_moved(&finding.path))
        .chain(again)
        .map(|it| (it.path.display().to_string(), it.offset, it.what.clone()));
    Ok(segments.chain(beside).collect())
}

fn left(finding: &Finding) -> (String, u64, String) {
    (finding.path.display().to_string(), finding.offset, finding.found.to_string())
}

fn record_beside(action: &HistoryAction) -> Record {
    Record::default()
        .with("path", action.finding.path.display().to_string())
        .with("offset", action.finding.offset)
        .with("done", done_beside(action))
        .with("kept_in", action.to.as_ref().map(|path| path.display().to_string()))
        .with("remains", None::<String>)
}

fn done_beside(action: &HistoryAction) -> String {
    let done = if action.is_made_again { "made the file again" } else { "moved out the file" };
    format!("{done} ({})", action.finding.what)
}

fn text_beside(action: &HistoryAction) -> String {
    let HistoryAction { finding, to, .. } = action;
    let to = to.as_ref().map(|path| format!("; the old one is {}", path.display()));
    let (path, offset) = (finding.path.display(), finding.offset);
    format!("{path}: offset {offset}: {}{}\n", done_beside(action), to.unwrap_or_default())
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
        .with("remains", None::<String>)
}
