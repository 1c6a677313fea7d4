//! `nanotape journal tail`: the last excerpts, and new ones as they arrive.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use nanotape_arguments::errors::of_journal;
use nanotape_clock::{Clock, Timeline};
use nanotape_journal::{Excerpt, Merge, Merged, NamedTailer, Resumed, Start, Tail, Tailer};
use nanotape_logging::Formatter;
use nanotape_tape::{Follow, Progress, Step, Tape, Writer, WriterState};

use crate::{
    commands::messages::{Printer, Shown},
    interrupt,
    output::OutputArguments,
    status::{Status, warn},
    values::{duration, nanos},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal tail quotes                the last ten excerpts
  nanotape journal tail quotes --follow       then new ones, until Ctrl-C
  nanotape journal tail quotes --from 2026-11-20T14:30:00Z --follow
  nanotape journal tail quotes --name audit --follow
  nanotape journal tail feed-a feed-b -n 100  two journals merged in order of time
  nanotape journal tail log --text --follow   the log of a program, as lines

With --name the journal stores the position: the next reader of that name resumes where this one
stopped. A new name begins with the oldest excerpt, whatever -n says; --from overrides the stored
position. Every excerpt is delivered at least once. The position moves when the output was written:
in batches of 256 KiB, when there is nothing more to read, and at the end. With -o FILE it moves when
the file is complete. After a kill, a closed pipe or a full disk, the next reader begins with the
last batch again, and journal prune keeps it. A program behind a pipe that takes rows and ignores
them, such as head, has them nevertheless: use --count. So has /dev/null, which a closed standard
output (>&-) is too.

Several journals are merged: the earliest excerpt comes first. With --follow an excerpt is held back
for a while, in which the other journals may deliver an earlier one.

Exit status: 0 success; 1 a journal is damaged; 2 it cannot be opened.")]
pub(super) struct TailCommand {
    /// Folders of journals
    #[arg(value_name = "JOURNAL", required = true)]
    journals: Vec<PathBuf>,

    /// Start N excerpts before the end of each journal
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, conflicts_with = "from")]
    last: u64,

    /// Start elsewhere: oldest (or beginning), newest (or end), a sequence number, or a time
    #[arg(long, value_name = "START")]
    from: Option<Start>,

    /// Wait for new excerpts
    #[arg(short, long)]
    follow: bool,

    /// Stop after N excerpts, counted from where it begins
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(..))]
    count: Option<u64>,

    /// Store the position under a name, for the next reader of that name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Print log excerpts as lines of text; print other excerpts unchanged
    #[arg(long)]
    text: bool,

    /// Only excerpts that are known to be on disk
    #[arg(long)]
    durable: bool,

    /// With --follow, how long to wait for an earlier excerpt of another journal
    #[arg(long, value_name = "DURATION", default_value = "10ms", value_parser = duration)]
    slack: Duration,

    #[command(flatten)]
    output: OutputArguments,
}

/// Bytes of rows between two stores of a named position: more than a pipe holds, so that a reader
/// that exits early ends the command before the position moves.
const BATCH_BYTES: usize = 256 << 10;

pub(super) fn run(command: &TailCommand) -> anyhow::Result<Status> {
    let interrupt = interrupt::install()?;
    let mut formatters = Formatters::new(command);
    let source = Source::open(command, &mut formatters)?;
    let names = command.journals.iter().map(|path| path.display().to_string()).collect();
    let printer = Printer::new(&command.output, Shown::Line, names)?;
    let left = command.count.unwrap_or(u64::MAX);
    let mut following = Following { command, printer, formatters, left, damage: None };
    let mut follow = Follow::new(source).shutdown(&interrupt);
    let outcome = following.run(&mut follow);
    let damage = following.damage.take();
    let finished = following.printer.finish();
    outcome?;
    finished?;
    if let Source::Named(named) = follow.tape_mut() {
        named.done();
    }
    damage.map_or(Ok(Status::Good), Err)
}

/// The source of the excerpts.
enum Source {
    Named(Box<NamedTailer>),
    Several(Merge),
}

/// A tail continues with the next appender, so this source never ends.
impl Tape for Source {
    type Error = anyhow::Error;

    fn next_sequence(&self) -> u64 {
        0
    }

    fn end(&self) -> anyhow::Result<u64> {
        Ok(u64::MAX)
    }

    fn writer(&self) -> Writer {
        Writer { epoch: 0, state: WriterState::Alive }
    }

    fn check(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Named(named) => named.recheck(),
            Self::Several(merge) => merge.recheck(),
        }
        Ok(())
    }
}

impl Source {
    fn open(command: &TailCommand, formatters: &mut Formatters) -> anyhow::Result<Self> {
        let Some(name) = &command.name else {
            let mut tailers = Vec::new();
            for (source, path) in command.journals.iter().enumerate() {
                tailers.push(tailer(command, path)?);
                formatters.learn(source, path, &tailers[source])?;
            }
            return Ok(Self::Several(Merge::new(tailers)));
        };
        let [path] = &command.journals[..] else {
            anyhow::bail!("--name needs exactly one journal");
        };
        let start = command.from.unwrap_or(Start::Oldest);
        let (mut named, resumed) = NamedTailer::open(path, name, start).map_err(of_journal)?;
        match (resumed, command.from) {
            (Resumed::At(_), Some(start)) => named.seek(start).map_err(of_journal)?,
            (Resumed::Beyond { sequence, next }, _) => warn(format_args!(
                "{}: {name} was at {sequence}, but excerpts from {next} on, which were not synced, were \
                 lost in a crash of the machine; resuming at {next}",
                path.display()
            )),
            (Resumed::Reused { from, sequence }, _) => warn(format_args!(
                "{}: {name} was at {sequence}, but sequence numbers from {from} on now belong to other \
                 excerpts; resuming at {from}",
                path.display()
            )),
            _ => {}
        }
        named.set_durable(command.durable);
        named.set_stops_at_end(!command.follow);
        let sequence = named.next_sequence().max(1);
        if let Ok(there) = Tailer::open(path, Start::Sequence(sequence)) {
            formatters.learn(0, path, &there)?;
        }
        Ok(Self::Named(Box::new(named)))
    }
}

/// A tailer at its start position.
fn tailer(command: &TailCommand, path: &Path) -> anyhow::Result<Tailer> {
    let mut tailer =
        Tailer::open(path, command.from.unwrap_or(Start::Newest)).map_err(of_journal)?;
    if command.from.is_none() {
        let mut left = command.last;
        while left > 0 {
            match tailer.previous().map_err(of_journal)? {
                // Counts lines only, and passes other log excerpts between them.
                Tail::Excerpt(excerpt) => {
                    let is_shown = !command.text || is_line_or_other(excerpt.type_id());
                    left -= u64::from(is_shown);
                }
                Tail::Gap(_) | Tail::Reused(_) => {}
                Tail::Nothing => break,
            }
        }
    }
    tailer.set_durable(command.durable);
    tailer.set_stops_at_end(!command.follow);
    Ok(tailer)
}

/// Whether an excerpt is printed with --text: a line, or anything that is not of a log.
fn is_line_or_other(type_id: u16) -> bool {
    nanotape_logging::is_line(type_id) || !nanotape_logging::is_log(type_id)
}

/// A formatter of log excerpts per journal; empty without --text.
struct Formatters(Vec<Formatter>);

impl Formatters {
    fn new(command: &TailCommand) -> Self {
        let count = if command.text { command.journals.len() } else { 0 };
        Self((0..count).map(|_| Formatter::new()).collect())
    }

    /// Reads the announcements in front of a position that later lines need. Each segment repeats
    /// them.
    fn learn(&mut self, source: usize, path: &Path, place: &Tailer) -> anyhow::Result<()> {
        let (Some(formatter), (segment, _)) = (self.0.get_mut(source), place.position()) else {
            return Ok(());
        };
        let end = place.next_sequence();
        if segment == 0 || end <= 1 {
            return Ok(());
        }
        let mut tailer = Tailer::open(path, Start::Sequence(end)).map_err(of_journal)?;
        // Goes back to the beginning of the segment.
        let mut begin = end;
        while let Tail::Excerpt(excerpt) = tailer.previous().map_err(of_journal)? {
            if excerpt.segment() != segment {
                break;
            }
            begin = excerpt.sequence();
        }
        tailer.seek(Start::Sequence(begin)).map_err(of_journal)?;
        while tailer.next_sequence() < end {
            match tailer.next().map_err(of_journal)? {
                Tail::Excerpt(excerpt) => formatter.learn(&excerpt),
                Tail::Gap(_) | Tail::Reused(_) => {}
                Tail::Nothing => break,
            }
        }
        Ok(())
    }
}

struct Following<'a> {
    command: &'a TailCommand,
    printer: Printer,
    formatters: Formatters,
    left: u64,
    /// Why the journal cannot be read further.
    damage: Option<anyhow::Error>,
}

impl Following<'_> {
    fn run(&mut self, follow: &mut Follow<Source>) -> anyhow::Result<()> {
        let mut timeline = Timeline::recalibrating(Clock::monotonic());
        let slack_ns = nanos(self.command.slack);
        while self.left > 0 {
            let step = follow.step_by(|source| {
                let settled_ns = match self.command.follow {
                    true => timeline.now_ns().saturating_sub(slack_ns),
                    false => u64::MAX,
                };
                self.read(source, settled_ns)
            });
            match step? {
                Step::Idle if self.command.follow => self.deliver(follow.tape_mut())?,
                Step::Idle | Step::Stopped | Step::Shutdown => break,
                _ if self.printer.unflushed() < BATCH_BYTES || self.printer.is_file() => {}
                _ => self.deliver(follow.tape_mut())?,
            }
        }
        self.deliver(follow.tape_mut())
    }

    /// Writes all rows. A named position moves after that; a file has its rows when it is complete.
    fn deliver(&mut self, source: &mut Source) -> anyhow::Result<()> {
        let Source::Named(named) = source else { return Ok(self.printer.flush()?) };
        self.printer.deliver()?;
        if !self.printer.is_file() {
            named.done();
        }
        Ok(())
    }

    fn read(&mut self, source: &mut Source, settled_ns: u64) -> anyhow::Result<Progress> {
        match source {
            Source::Named(named) => match named.next() {
                Ok(Tail::Excerpt(excerpt)) => self.excerpt(0, &excerpt)?,
                Ok(Tail::Gap(gap)) => self.printer.gap(0, gap)?,
                Ok(Tail::Reused(reused)) => self.printer.reused(0, reused)?,
                Ok(Tail::Nothing) => return Ok(Progress::Nothing),
                Err(error) => {
                    self.damage = Some(of_journal(error));
                    return Ok(Progress::Stopped);
                }
            },
            Source::Several(merge) => match merge.next(settled_ns).map_err(of_journal)? {
                Merged::Excerpt { source, excerpt } => self.excerpt(source, &excerpt)?,
                Merged::Gap { source, gap } => self.printer.gap(source, gap)?,
                Merged::Reused { source, reused } => self.printer.reused(source, reused)?,
                Merged::Nothing => return Ok(Progress::Nothing),
            },
        }
        Ok(Progress::Read)
    }

    fn excerpt(&mut self, source: usize, excerpt: &Excerpt<'_>) -> anyhow::Result<()> {
        let line = self.formatters.0.get_mut(source).map(|formatter| formatter.line(excerpt));
        match line {
            Some(Some(line)) => self.printer.line(source, &line)?,
            // This excerpt only announces data of later lines.
            Some(None) if nanotape_logging::is_log(excerpt.type_id()) => return Ok(()),
            _ => self.printer.excerpt(source, excerpt)?,
        }
        self.left -= 1;
        Ok(())
    }
}
