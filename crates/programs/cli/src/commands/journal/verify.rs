//! `nanotape journal verify`: checks the whole contents of a journal.

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use nanotape_arguments::text::size_text;
use nanotape_history::{HistoryFinding, Snapshots};
use nanotape_journal::{Finding, Found, SegmentSum, Severity, Verified, segment_sums};

use super::{of_journal, snapshot::of_snapshotter, with_bar};
use crate::{
    output::{Format, Output, OutputArguments},
    progress::Progress,
    record::Record,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal verify quotes
  nanotape journal verify quotes --format json
  nanotape journal verify quotes --digest > here.txt      # on each machine; then compare the files

Checks headers, the checksums of all excerpts, the order of sequence numbers, end marks and the
index; compressed segments are unpacked. The file runs is compared with the records, snapshots and
the positions of named tailers are checked, and --books rebuilds the books of each snapshot from the
records. What follows from pruned records cannot be checked, and is a note. The journal may be
appended to meanwhile: the command checks what was there when it started. A fault stops readers; a
hint does not; a note is information. In JSON and CSV each finding is a line; JSON ends with a line
of totals.

With --digest, a line for each segment states its excerpts and a digest, instead of hints and notes. If
there are faults, the findings are printed instead of the digests, and the status is 1. A journal and its copies have the same lines, whatever is compressed or synced on each
machine. While excerpts are appended, --before leaves out those that only one side may have.
docs/formats/replication.md defines the digest.

A segment without a file between others is a fault, unless a repair moved it to the folder cut.

Exit status: 0 no faults and no hints; 1 faults or hints; 2 the journal cannot be read.")]
pub(super) struct VerifyCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    /// Rebuild the books of each snapshot from the records, and compare
    #[arg(long)]
    books: bool,

    /// Print a digest of each segment, to compare a journal with its copies
    #[arg(long, conflicts_with = "books")]
    digest: bool,

    /// Sum only the excerpts with smaller numbers
    #[arg(long, value_name = "NUMBER", requires = "digest")]
    before: Option<u64>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &VerifyCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let verified = with_bar(|progress| nanotape_journal::verify(&command.path, progress))?;
    if command.digest && verified.faults == 0 {
        return digests(command, format, output);
    }
    for (number, finding) in verified.findings.iter().enumerate() {
        let record = Record::default()
            .with("severity", finding.severity().to_string())
            .with("path", finding.path.display().to_string())
            .with("offset", finding.offset)
            .with("found", finding.found.to_string());
        let text = || format!("{:<5}  {finding}\n", finding.severity());
        record.write(&mut output, format, number == 0, text)?;
    }
    let beside = check_beside(command, &verified)?;
    for (number, finding) in beside.iter().flatten().enumerate() {
        let record = Record::default()
            .with("severity", finding.severity.to_string())
            .with("path", finding.path.display().to_string())
            .with("offset", finding.offset)
            .with("found", finding.what.clone());
        let is_first = number == 0 && verified.findings.is_empty();
        let text = || format!("{:<5}  {finding}\n", finding.severity);
        record.write(&mut output, format, is_first, text)?;
    }
    let faults = beside.iter().flatten().filter(|finding| finding.is_fault()).count();
    let is_clean = verified.is_clean() && faults == 0;
    let snapshots = Snapshots::list(&command.path)?.len();
    if format != Format::Csv {
        let summary = summary(command, &verified, is_clean)
            .with("snapshots", snapshots)
            .with("snapshot_faults", faults)
            .with("are_snapshots_checked", beside.is_some());
        let checked = match beside {
            Some(_) => format!("faults beside the segments {faults}"),
            None => "not checked, because of the faults in segments".to_owned(),
        };
        summary.write(&mut output, format, true, || {
            text(command, &verified, is_clean)
                + &format!("snapshots       {snapshots}, {checked}\n")
        })?;
    }
    output.finish()?;
    Ok(if is_clean { Status::Good } else { Status::Bad })
}

/// A line for each segment, the same for each copy.
fn digests(command: &VerifyCommand, format: Format, mut output: Output) -> anyhow::Result<Status> {
    let mut sums = Vec::new();
    let before = command.before.unwrap_or(u64::MAX);
    segment_sums(&command.path, before, |sum| sums.push(sum)).map_err(of_journal)?;
    for (number, sum) in sums.iter().enumerate() {
        let SegmentSum { number: segment, first_sequence, next_sequence, is_ended, digest } = *sum;
        let record = Record::default()
            .with("segment", segment)
            .with("first_sequence", first_sequence)
            .with("next_sequence", next_sequence)
            .with("is_ended", is_ended)
            .with("digest", format!("{digest:016x}"));
        record.write(&mut output, format, number == 0, || {
            let state = if is_ended { "ended" } else { "open" };
            format!(
                "{digest:016x}  segment {segment}, {state}, excerpts {first_sequence} up to before \
                 {next_sequence}\n"
            )
        })?;
    }
    output.finish()?;
    Ok(Status::Good)
}

/// Checks runs and snapshots; `None` if the records themselves cannot be read.
fn check_beside(
    command: &VerifyCommand,
    verified: &Verified,
) -> anyhow::Result<Option<Vec<HistoryFinding>>> {
    let is_of_tailer = |finding: &&Finding| matches!(finding.found, Found::Tailer(_));
    let of_tailers = verified.findings.iter().filter(is_of_tailer).count() as u64;
    if verified.faults > of_tailers {
        return Ok(None);
    }
    let bar = command.books.then(|| Progress::with_steps("records", 0));
    let checked = nanotape_history::verify(&command.path, command.books, |done, total| {
        if let Some(bar) = &bar {
            bar.set_of(done, total, "");
        }
    });
    checked.map(Some).map_err(of_snapshotter)
}

fn summary(command: &VerifyCommand, verified: &Verified, is_clean: bool) -> Record {
    Record::default()
        .with("path", command.path.display().to_string())
        .with("is_clean", is_clean)
        .with("segments", verified.segments)
        .with("segments_compressed", verified.segments_packed)
        .with("excerpts", verified.excerpts)
        .with("excerpt_bytes", verified.bytes)
        .with("first_sequence", verified.first_sequence)
        .with("next_sequence", verified.next_sequence)
        .with("missing", verified.missing)
        .with("faults", verified.faults)
        .with("hints", verified.hints)
        .with("notes", verified.notes)
}

fn text(command: &VerifyCommand, verified: &Verified, is_clean: bool) -> String {
    let state = if is_clean { "OK" } else { "DAMAGED" };
    let mut text = format!("{}: {state}\n", command.path.display());
    let packed = verified.segments_packed;
    let _ = writeln!(text, "segments        {}, {packed} compressed", verified.segments);
    let range = match verified.excerpts {
        0 => format!("none; the next is {}", verified.next_sequence),
        excerpts => {
            let (first, last) = (verified.first_sequence, verified.next_sequence - 1);
            format!("{excerpts}, {}: {first} to {last}", size_text(verified.bytes))
        }
    };
    let _ = writeln!(text, "excerpts        {range}");
    let _ = writeln!(text, "missing         {}", verified.missing);
    for severity in [Severity::Fault, Severity::Hint, Severity::Note] {
        let count = match severity {
            Severity::Fault => verified.faults,
            Severity::Hint => verified.hints,
            Severity::Note => verified.notes,
        };
        let _ = writeln!(text, "{:<15} {count}", format!("{severity}s"));
    }
    if !verified.is_clean() {
        let path = command.path.display();
        let _ =
            writeln!(text, "`nanotape journal repair {path} --dry-run` lists the possible repairs");
    }
    text
}
