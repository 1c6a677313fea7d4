//! `nanotape journal prune`: the oldest segments removed.

use std::{io::Write as _, path::PathBuf, time::Duration};

use clap::Args;
use nanotape_clock::UtcNanos;
use nanotape_journal::{PruneOptions, Pruned, PrunedSegment};

use super::text::{age, known_time_text, size_text};
use crate::{
    journals::of_journal,
    output::{Format, OutputArguments},
    record::Record,
    status::{Status, tell},
    values::bytes,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal prune quotes --older-than 30d --dry-run
  nanotape journal prune quotes --keep 500GiB
  nanotape journal prune quotes --before-sequence 1000000 --force-unread

Removed are whole closed segments, the oldest first, as long as any of the options says so of the next
one; never the one that is appended to. What a named tailer has not read stays, and is told, unless
it is forced. Ages are of the times of excerpts, by this machine's clock. The journal may be in use.

Exit status: 0; 1 the journal is damaged; 2 it cannot be opened or written.")]
pub(super) struct PruneCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    #[command(flatten)]
    limits: Limits,

    /// Remove also what named tailers have not read
    #[arg(long)]
    force_unread: bool,

    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    output: OutputArguments,
}

/// What goes; one of them at the least.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
struct Limits {
    /// Segments all of whose excerpts are older
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,

    /// The oldest segments, until files of segments have at most so many bytes together
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    keep: Option<usize>,

    /// Segments all of whose excerpts have smaller sequence numbers
    #[arg(long, value_name = "N")]
    before_sequence: Option<u64>,
}

pub(super) fn run(command: &PruneCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let Limits { older_than, keep, before_sequence } = command.limits;
    let options = PruneOptions {
        before_ns: older_than.map(before),
        keep_bytes: keep.map(|bytes| bytes as u64),
        before_sequence,
        is_forced: command.force_unread,
        is_dry_run: command.dry_run,
    };
    let mut output = command.output.open()?;
    let pruned = nanotape_journal::prune(&command.path, &options);
    let pruned = pruned.map_err(of_journal)?;
    for (number, segment) in pruned.segments.iter().enumerate() {
        let record = Record::default()
            .with("segment", segment.number)
            .with("path", segment.path.display().to_string())
            .with("file_bytes", segment.bytes)
            .with("next_sequence", segment.next_sequence)
            .with("max_ts_ns", segment.max_ts_ns)
            .with("is_removed", !command.dry_run);
        record.write(&mut output, format, number == 0, || line(segment, command.dry_run))?;
    }
    if format == Format::Text {
        let bytes: u64 = pruned.segments.iter().map(|segment| segment.bytes).sum();
        let (count, what) = (pruned.segments.len(), if command.dry_run { "would be " } else { "" });
        writeln!(
            output,
            "{}: {count} segments {what}removed, {}; {} stay",
            command.path.display(),
            size_text(bytes),
            size_text(pruned.bytes_left)
        )?;
    }
    output.finish()?;
    tell_of_holder(command, &pruned);
    Ok(Status::Good)
}

/// The time so long ago, in ns since the UNIX epoch.
fn before(age: Duration) -> u64 {
    let now = u64::try_from(UtcNanos::now().get()).unwrap_or(0);
    now.saturating_sub(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX))
}

fn line(segment: &PrunedSegment, is_dry_run: bool) -> String {
    let what = if is_dry_run { "would remove" } else { "removed" };
    format!(
        "{what} {}: {}, up to sequence number {} and {}\n",
        segment.path.display(),
        size_text(segment.bytes),
        segment.next_sequence.saturating_sub(1),
        known_time_text(Some(segment.max_ts_ns))
    )
}

/// Says on standard error that somebody needs what was to be removed.
fn tell_of_holder(command: &PruneCommand, pruned: &Pruned) {
    if let Some((name, next)) = &pruned.held_by {
        tell(format_args!(
            "{}: the tailer {} reads {next} next, so that more stays than was asked for; \
             --force-unread removes it all the same",
            command.path.display(),
            name.escape_default()
        ));
    }
}
