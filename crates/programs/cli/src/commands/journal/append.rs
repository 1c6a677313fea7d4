//! `nanotape journal append`: appends lines of text, or other payloads, as excerpts.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use nanotape_arguments::errors::of_journal;
use nanotape_clock::{Clock, Timeline};
use nanotape_journal::{Appender, ErrorKind, JournalError, RECORDED_FROM, read_beside};
use nanotape_replication::{CommitPolicy, Committer, Quorum};
use nanotape_tape::ShutdownFlag;

use crate::{
    framing::Framing,
    interrupt,
    journals::{AppenderArguments, make_parents, report_recovery},
    lines::{Line, Lines},
    output::{Format, OutputArguments},
    record::Record,
    status::{BadData, Status, note, warn},
    values::some_duration,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  seq 1000 | nanotape journal append quotes
  nanotape journal append quotes trades.txt --roll hour --sync batch
  nanotape journal dump quotes --payloads length | nanotape journal append copy --framing length
  nanotape journal append orders orders.txt --commit one --commit-on disk
  journalctl -f | nanotape journal append log --segment 16MiB --sync 100ms

Each line, without its line ending, or each payload of another --framing becomes an excerpt with the time at which it was read. If the
disk is full, the command reports it and retries until there is space; with --fail-when-full it
ends.

With --commit the next line is appended only after followers have the one before. The process
`nanotape journal serve --commits` must run. A line that they do not get in time ends the command: it
stays in the journal, and may still reach them.

Exit status: 0 success; 1 a line is too long, the journal is damaged, or a commit failed; 2 the journal cannot be
created or is recorded from a ring, the file cannot be read, or the disk is full.")]
pub(super) struct AppendCommand {
    #[command(flatten)]
    appender: AppenderArguments,

    /// Lines to append; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// What ends a payload: those with line feeds need nul or length
    #[arg(long, value_enum, default_value_t = Framing::Lines)]
    framing: Framing,

    /// Type number of the excerpts
    #[arg(long = "type", value_name = "N", default_value_t = 1)]
    type_id: u16,

    /// End when the disk is full instead of retrying
    #[arg(long)]
    fail_when_full: bool,

    /// Followers that must have an excerpt before the next one is appended
    #[arg(long, value_enum, value_name = "WHICH", default_value = "none")]
    commit: Wanted,

    /// Where they must have it
    #[arg(long, value_enum, value_name = "WHERE", default_value = "memory")]
    commit_on: Held,

    /// The longest wait for followers
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = some_duration)]
    commit_within: Duration,

    /// The longest wait in which none of them progresses
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = some_duration)]
    commit_stall: Duration,

    #[command(flatten)]
    output: OutputArguments,
}

/// Which followers a commit waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Wanted {
    /// None
    None,
    /// Any one
    One,
    /// All that the serving process knows
    All,
}

/// Where a follower has an excerpt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Held {
    /// In memory: a loss of its power can lose it
    Memory,
    /// On its disk: it replicates with --sync
    Disk,
}

impl AppendCommand {
    fn committer(&self) -> Option<Committer> {
        let quorum = match self.commit {
            Wanted::None => return None,
            Wanted::One => Quorum::One,
            Wanted::All => Quorum::All,
        };
        let policy = CommitPolicy {
            quorum,
            on_disk: self.commit_on == Held::Disk,
            at_most: self.commit_within,
            without_progress: self.commit_stall,
            spins: false,
        };
        Some(Committer::new(&self.appender.journal, policy))
    }
}

/// Time between two attempts while the disk is full.
const RETRY: Duration = Duration::from_millis(500);

pub(super) fn run(command: &AppendCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let interrupt = interrupt::install()?;
    refuse_recorded(&command.appender.journal)?;
    let mut lines = Lines::read(&command.file, command.framing)?;
    let options = command.appender.options();
    make_parents(&command.appender.journal);
    let mut appender = Appender::open(&command.appender.journal, &options).map_err(of_journal)?;
    report_recovery(&command.appender.journal, appender.recovery());
    let mut output = command.output.open()?;
    let first = appender.next_sequence();
    let outcome = append_all(command, &mut lines, &mut appender, &interrupt);
    let next = appender.next_sequence();
    let closed = appender.close().map_err(of_journal);
    let record = Record::default()
        .with("path", command.appender.journal.display().to_string())
        .with("appended", next - first)
        .with("next_sequence", next);
    record.write(&mut output, format, true, || match next - first {
        0 => "appended nothing\n".to_owned(),
        count => format!("appended {count} excerpts, {first} to {}\n", next - 1),
    })?;
    output.finish()?;
    outcome.and(closed)?;
    Ok(Status::Good)
}

/// The excerpts of a recorded journal have the numbers of its ring.
fn refuse_recorded(journal: &Path) -> anyhow::Result<()> {
    let path = journal.join(RECORDED_FROM);
    let bytes = match read_beside(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.with_context(|| path.display().to_string())?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let ring = text.lines().find_map(|line| line.strip_prefix("ring ")).unwrap_or("a ring");
    bail!(
        "{}: the journal is recorded from {}, and its recorder would refuse other excerpts; append to \
         another journal",
        journal.display(),
        ring.escape_debug()
    )
}

fn append_all(
    command: &AppendCommand,
    lines: &mut Lines,
    appender: &mut Appender,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<()> {
    let mut committer = command.committer();
    let mut timeline = Timeline::recalibrating(Clock::monotonic());
    while !interrupt.is_requested() {
        let line = match lines.next(Duration::from_millis(100)) {
            Line::Some(line) => line.with_context(|| format!("cannot read {}", lines.name()))?,
            Line::NotYet => continue,
            Line::End => break,
        };
        let mut is_reported = false;
        loop {
            let appended = appender.append(command.type_id, timeline.now_ns(), &line);
            let error = match appended {
                Ok(sequence) => {
                    if is_reported {
                        note("space is available again");
                    }
                    if let Some(committer) = &mut committer {
                        let committed = committer.wait(appender.incarnation(), sequence);
                        committed.map_err(|error| BadData(error.to_string()))?;
                    }
                    break;
                }
                Err(error) => error,
            };
            if !error.is_full() || command.fail_when_full {
                return Err(refused(error, lines));
            }
            if !is_reported {
                warn(&error);
                is_reported = true;
            }
            if interrupt.is_requested() {
                return Err(refused(error, lines));
            }
            interrupt.sleep(RETRY);
        }
    }
    Ok(())
}

fn refused(error: JournalError, lines: &Lines) -> anyhow::Error {
    match error.kind() {
        ErrorKind::TooLong { .. } => {
            let place = format!("{}, line {}", lines.name(), lines.number());
            BadData(format!("{place}: {error}; use a larger --segment for longer lines")).into()
        }
        _ => of_journal(error),
    }
}
