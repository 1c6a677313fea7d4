//! `nanotape journal prune`: removes the oldest segments.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use nanotape_arguments::{
    errors::of_journal,
    regions::of_region,
    text::{age, known_time_text, size_text, time_text},
};
use nanotape_clock::UtcNanos;
use nanotape_history::{Snapshots, snapshot::Listed};
use nanotape_journal::{PruneOptions, Pruned, PrunedSegment, Start, Tailer};
use nanotape_replication::{ReplicasReader, followers_need};

use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::{Status, note, warn},
    values::{bytes, counted, nanos},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal prune quotes --older-than 30d --dry-run
  nanotape journal prune quotes --keep 500GiB
  nanotape journal prune quotes --before-sequence 1000000 --force-unread

Removes whole closed segments, the oldest first, as long as at least one option selects the next
one. The active segment stays. Segments that a named tailer has not read stay, with a notice,
unless --force-unread is given. What a follower of `nanotape journal serve` needs stays too, until
the journal is longer than --for-followers; a notice states when that is, and a warning names each
follower that must begin again. Snapshots of books before the oldest remaining excerpt are removed
too. An age compares the times of excerpts with this machine's clock.

The journal may be in use. In memory, while an appender runs, the files of up to two removed
segments stay until they become its next segments.

Exit status: 0 success; 1 the journal is damaged; 2 it cannot be opened or written.")]
pub(super) struct PruneCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    #[command(flatten)]
    limits: RequiredLimits,

    /// Also remove segments that named tailers have not read and followers need
    #[arg(long)]
    force_unread: bool,

    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    output: OutputArguments,
}

/// The limits, at least one of them.
#[derive(Args, Debug)]
#[group(required = true, multiple = true, id = "required_limits", args = ["older_than", "keep", "before_sequence"])]
struct RequiredLimits {
    #[command(flatten)]
    limits: Limits,
}

/// What is to be removed. A segment is removed if any of them selects it.
#[derive(Args, Debug)]
#[group(id = "limits", multiple = true)]
pub(super) struct Limits {
    /// Remove segments whose excerpts are all older than AGE
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,

    /// Remove the oldest segments until all segment files together have at most BYTES
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    keep: Option<usize>,

    /// Remove segments whose excerpts all have sequence numbers below N
    #[arg(long, value_name = "N")]
    before_sequence: Option<u64>,

    /// Keep what followers need while all segment files together have at most BYTES
    #[arg(long, value_name = "BYTES", default_value = "1TiB", value_parser = bytes)]
    for_followers: usize,
}

impl Limits {
    /// Whether any is given.
    pub(super) fn is_any(&self) -> bool {
        self.older_than.is_some() || self.keep.is_some() || self.before_sequence.is_some()
    }

    /// What they select now.
    pub(super) fn options(&self) -> PruneOptions {
        PruneOptions {
            before_ns: self.older_than.map(before),
            keep_bytes: self.keep.map(|bytes| bytes as u64),
            before_sequence: self.before_sequence,
            ..PruneOptions::default()
        }
    }
}

/// Whether what followers need stays: until the journal has become too long for that.
fn keeps_for_followers(journal: &Path, limits: &Limits) -> anyhow::Result<bool> {
    let stat = nanotape_journal::stat(journal).map_err(of_journal)?;
    Ok(stat.file_bytes() <= limits.for_followers as u64)
}

/// Removes segments, and the snapshots before the oldest remaining excerpt.
pub(super) fn remove(
    journal: &Path,
    options: &PruneOptions,
    limits: &Limits,
) -> anyhow::Result<(Pruned, Vec<Listed>)> {
    let needed = followers_need(journal).map_err(|error| of_region(&error))?;
    let others = match needed.is_empty() || !keeps_for_followers(journal, limits)? {
        true => Vec::new(),
        false => needed.iter().map(|(name, next)| (format!("follower {name}"), *next)).collect(),
    };
    let options = PruneOptions { others, ..options.clone() };
    let pruned = nanotape_journal::prune(journal, &options).map_err(of_journal)?;
    let removed_before = pruned.segments.last().map(|last| last.next_sequence);
    for (name, next) in needed.iter().filter(|(_, next)| Some(*next) < removed_before) {
        let what = if options.is_dry_run { "would be removed" } else { "is removed" };
        warn(format_args!(
            "{}: follower {name} needs excerpt {next}, which {what}: it must replicate to a new folder",
            journal.display()
        ));
    }
    let oldest = match removed_before {
        Some(sequence) => sequence,
        // A prune that was killed may have left some snapshots.
        None => Tailer::open(journal, Start::Oldest).map_err(of_journal)?.next_sequence(),
    };
    let snapshots = Snapshots::list(journal)?.prune(oldest, options.is_dry_run)?;
    Ok((pruned, snapshots))
}

pub(super) fn run(command: &PruneCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let options = PruneOptions {
        is_forced: command.force_unread,
        is_dry_run: command.dry_run,
        ..command.limits.limits.options()
    };
    let mut output = command.output.open()?;
    let (pruned, snapshots) = remove(&command.path, &options, &command.limits.limits)?;
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
        let count = counted(pruned.segments.len() as u64, "segment");
        let what = if command.dry_run { "would be " } else { "" };
        writeln!(
            output,
            "{}: {count} {what}removed, {}; {} stay",
            command.path.display(),
            size_text(bytes),
            size_text(pruned.bytes_left)
        )?;
        if !snapshots.is_empty() {
            let bytes: u64 = snapshots.iter().map(|listed| listed.bytes).sum();
            let count = counted(snapshots.len() as u64, "snapshot");
            let path = command.path.display();
            writeln!(output, "{path}: {count} {what}removed, {}", size_text(bytes))?;
        }
    }
    output.finish()?;
    report_holder(command, &pruned);
    Ok(Status::Good)
}

/// The current time minus `age`, in ns since the UNIX epoch.
fn before(age: Duration) -> u64 {
    let now = UtcNanos::now().unix_ns();
    now.saturating_sub(nanos(age))
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

/// A follower, or a named tailer.
fn holder(name: &str) -> String {
    let name = name.escape_default();
    // No tailer has a name with a space.
    if name.to_string().contains(' ') { name.to_string() } else { format!("tailer {name}") }
}

/// Prints a notice about segments that stay because a reader has not read them.
fn report_holder(command: &PruneCommand, pruned: &Pruned) {
    if let Some((name, next)) = &pruned.held_by {
        let until = if name.contains(' ') { until(command, pruned) } else { String::new() };
        note(format_args!(
            "{}: kept segments that {} has not read: its next excerpt is {next}{until}; use \
             --force-unread to remove them",
            command.path.display(),
            holder(name)
        ));
    }
}

/// Until when segments stay for a follower, as far as that is known.
fn until(command: &PruneCommand, pruned: &Pruned) -> String {
    let most_bytes = command.limits.limits.for_followers as u64;
    let most = size_text(most_bytes);
    let reader = ReplicasReader::open(&command.path);
    let bytes_per_s = reader.map_or(0, |reader| reader.journal().1);
    let left_s = most_bytes.saturating_sub(pruned.bytes_left).checked_div(bytes_per_s);
    let now_ns = UtcNanos::now().unix_ns();
    let at = left_s.and_then(|left_s| now_ns.checked_add(left_s.checked_mul(1_000_000_000)?));
    match at {
        Some(at) => format!(
            "; they stay until the journal has {most}, at {}, as it grows by {}/s",
            time_text(at / 1_000_000_000 * 1_000_000_000),
            size_text(bytes_per_s)
        ),
        None => format!("; they stay until the journal has {most}"),
    }
}
