//! `nanotape journal verify`: checks the whole contents of a journal.

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use nanotape_journal::{Severity, Verified};

use super::{text::size_text, with_bar};
use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal verify quotes
  nanotape journal verify quotes --format json

Checks headers, the checksums of all excerpts, the order of sequence numbers, end marks and the
index; compressed segments are unpacked. The journal may be appended to meanwhile: the command
checks what was there when it started. A fault stops readers; a hint does not; a note is
information. In JSON and CSV each finding is a line; JSON ends with a line of totals.

Exit status: 0 no faults and no hints; 1 faults or hints; 2 the journal cannot be read.")]
pub(super) struct VerifyCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &VerifyCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let verified = with_bar(|progress| nanotape_journal::verify(&command.path, progress))?;
    for (number, finding) in verified.findings.iter().enumerate() {
        let record = Record::default()
            .with("severity", finding.severity().to_string())
            .with("path", finding.path.display().to_string())
            .with("offset", finding.offset)
            .with("found", finding.found.to_string());
        let text = || format!("{:<5}  {finding}\n", finding.severity());
        record.write(&mut output, format, number == 0, text)?;
    }
    if format != Format::Csv {
        summary(command, &verified)
            .write(&mut output, format, true, || text(command, &verified))?;
    }
    output.finish()?;
    Ok(if verified.is_clean() { Status::Good } else { Status::Bad })
}

fn summary(command: &VerifyCommand, verified: &Verified) -> Record {
    Record::default()
        .with("path", command.path.display().to_string())
        .with("is_clean", verified.is_clean())
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

fn text(command: &VerifyCommand, verified: &Verified) -> String {
    let state = if verified.is_clean() { "OK" } else { "DAMAGED" };
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
