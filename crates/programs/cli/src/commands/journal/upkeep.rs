//! `nanotape journal upkeep`: compresses and prunes a journal, once or while it is recorded.
//!
//! Where: a plant starts it beside its recorder if its configuration has `compress`, `keep` or
//! `older_than`. It touches closed segments and older snapshots only.
//! Failure: a signal may end it at any moment. The next one continues.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use clap::Args;
use nanotape_arguments::{errors::of_journal, text::size_text};
use nanotape_history::Snapshots;
use nanotape_journal::{CompressOptions, Start, Tailer, TailerSource};
use nanotape_tape::{Deadline, Tape as _, WriterState};

use super::prune::{self, Limits};
use crate::{
    output::{Format, Output, OutputArguments},
    record::Record,
    status::Status,
};

/// Time between two checks of a journal that is followed.
const POLL: Duration = Duration::from_secs(1);

/// Segments may become too old although no segment begins.
const AT_LEAST_EVERY: Duration = Duration::from_secs(60);

/// The zstd level of snapshots, and of segments by default.
const LEVEL: i32 = 3;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal upkeep days/equities --compress
  nanotape journal upkeep days/equities --compress --keep 500GiB --follow
  nanotape journal upkeep days/equities --older-than 30d --follow --through-restarts

Does what `nanotape journal prune` and `nanotape journal compress` do, in this order. With --follow
it does so again after each roll, until the recorder closes the journal. Segments that a named
tailer has not read stay. Snapshots but the newest are compressed with their journal. Readers are
not affected. In a configuration of a plant, [journal] has compress, keep and older_than.

Exit status: 0 success; 1 the journal is damaged; 2 it cannot be opened or written.")]
pub(super) struct UpkeepCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    /// Compress closed segments and all snapshots but the newest; LEVEL of zstd is from 1 to 19
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
        default_missing_value = "3", value_parser = clap::value_parser!(i32).range(1..=19),
        required_unless_present_any = ["older_than", "keep", "before_sequence"])]
    compress: Option<i32>,

    #[command(flatten)]
    limits: Limits,

    /// Continue after each roll until the recorder closes the journal
    #[arg(long)]
    follow: bool,

    /// When the recorder closes the journal, continue with the next recorder
    #[arg(long, requires = "follow")]
    through_restarts: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &UpkeepCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let mut rows = Rows { output: &mut output, format, count: 0 };
    let mut seen: Option<(SystemTime, Deadline)> = None;
    loop {
        // Before the work: what the recorder does meanwhile is work for the next round.
        let is_over = !command.follow || is_closed(&command.path)? && !command.through_restarts;
        let changed = changed(&command.path)?;
        if is_over || seen.as_ref().is_none_or(|(at, until)| *at != changed || until.is_over()) {
            round(command, &mut rows)?;
            rows.output.flush()?;
            seen = Some((changed, Deadline::after(AT_LEAST_EVERY)));
        }
        if is_over {
            output.finish()?;
            return Ok(Status::Good);
        }
        thread::sleep(POLL);
    }
}

/// Whether the last appender has closed the journal.
fn is_closed(journal: &Path) -> anyhow::Result<bool> {
    let tailer = Tailer::open(journal, Start::Newest).map_err(of_journal)?;
    Ok(TailerSource::new(tailer).writer().state == WriterState::Closed)
}

/// Changes when the folder gets a file, or loses one.
fn changed(journal: &Path) -> anyhow::Result<SystemTime> {
    let metadata = fs::metadata(journal).and_then(|metadata| metadata.modified());
    metadata.map_err(|error| anyhow::anyhow!("cannot read {}: {error}", journal.display()))
}

/// Prunes, then compresses what is left.
fn round(command: &UpkeepCommand, rows: &mut Rows<'_>) -> anyhow::Result<()> {
    if command.limits.is_any() {
        let (pruned, snapshots) =
            prune::remove(&command.path, &command.limits.options(), &command.limits)?;
        for segment in pruned.segments {
            rows.write("removed", &segment.path, segment.bytes, 0)?;
        }
        for snapshot in snapshots {
            rows.write("removed", &snapshot.path, snapshot.bytes, 0)?;
        }
    }
    let Some(level) = command.compress else { return Ok(()) };
    let options = CompressOptions { level, ..CompressOptions::default() };
    let packed = nanotape_journal::compress(&command.path, &options, |_, _| {});
    for segment in packed.map_err(of_journal)? {
        rows.write("compressed", &segment.path, segment.plain_bytes, segment.packed_bytes)?;
    }
    for snapshot in Snapshots::list(&command.path)?.pack(LEVEL, 1)? {
        rows.write("compressed", &snapshot.path, snapshot.plain_bytes, snapshot.packed_bytes)?;
    }
    Ok(())
}

/// One row for each file that was changed.
struct Rows<'a> {
    output: &'a mut Output,
    format: Format,
    count: u64,
}

impl Rows<'_> {
    fn write(&mut self, done: &str, path: &Path, before: u64, after: u64) -> anyhow::Result<()> {
        let record = Record::default()
            .with("done", done.to_owned())
            .with("path", path.display().to_string())
            .with("bytes_before", before)
            .with("bytes_after", after);
        record.write(self.output, self.format, self.count == 0, || {
            let (path, before) = (path.display(), size_text(before));
            match after {
                0 => format!("{done} {path}: {before}\n"),
                _ => format!("{done} {path}: {before} to {}\n", size_text(after)),
            }
        })?;
        self.count += 1;
        Ok(())
    }
}
