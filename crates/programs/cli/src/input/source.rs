//! The kinds of INPUT, and the run of a plant that a command reads.

use std::{path::Path, str::FromStr};

use anyhow::bail;
use nanotape_feed::DaySource;
use nanotape_history::{
    DBN_MAGIC, DbnError, DbnStream, JournalRun, JournalRunError, RecordedRun, RunSpan, Runs,
    RunsError, SnapshotError,
};
use nanotape_plant::trade_date_of;
use nanotape_types::Symbol;

use super::{InputArguments, Opening};
use crate::{
    given::Given,
    journals::of_journal,
    span::Span,
    status::{BadData, note},
    values::counted,
};

/// An open INPUT.
pub(super) enum Opened {
    Day(Box<DaySource>),
    Journal(Box<RecordedRun<JournalRun>>),
    Dbn(Box<RecordedRun<DbnStream>>),
}

/// `--run`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunChoice {
    Last,
    /// From 1.
    Number(u64),
}

impl FromStr for RunChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("last", _) => Ok(Self::Last),
            (_, Ok(number @ 1..)) => Ok(Self::Number(number)),
            _ => Err("expected a number from 1, or last"),
        }
    }
}

impl RunChoice {
    /// The number of the chosen one of `runs` runs, 0 if there are none.
    pub(crate) fn of(choice: Option<Self>, name: &str, runs: u64) -> anyhow::Result<u64> {
        match choice {
            Some(Self::Number(number)) if number > runs => {
                bail!("{name}: has {}, --run {number} is not one of them", counted(runs, "run"))
            }
            Some(Self::Number(number)) => Ok(number),
            Some(Self::Last) => Ok(runs),
            None => {
                if runs > 1 {
                    let earlier = counted(runs - 1, "earlier run");
                    note(format_args!(
                        "{name}: reading the last run; {earlier} can be read with --run N"
                    ));
                }
                Ok(runs)
            }
        }
    }
}

/// Opens an INPUT for a span of the chosen run. `symbols`: the stocks, empty for all of them.
pub(crate) fn open<'a>(
    arguments: &'a InputArguments,
    span: Span,
    symbols: &[Symbol],
) -> anyhow::Result<Opening<'a>> {
    let name = &arguments.input;
    let path = name.path();
    if !name.is_standard() && path.is_dir() {
        arguments.require_no_date_or_group("the folder of a journal")?;
        return open_journal(arguments, path, span, symbols);
    }
    let mut source = open_bytes(name)?;
    if source.starts_with(DBN_MAGIC)? {
        arguments.require_no_date_or_group("a DBN file")?;
        let stream = open_dbn(name, source, arguments.run)?;
        let midnight_ns = stream.start().map(|start| start.midnight_ns);
        let bounds = span.bounds(name, midnight_ns)?;
        let run = RecordedRun::new(stream).until(last_of(bounds, midnight_ns));
        return Ok(Opening { arguments, source: Opened::Dbn(Box::new(run)), bounds, midnight_ns });
    }
    if arguments.run.is_some() {
        source.require_bytes()?;
        bail!("{name}: --run applies to journals and DBN files, and this is neither");
    }
    source.check_day()?;
    arguments.groups.choose(&mut source)?;
    let date = match arguments.date {
        Some(date) => Some(date),
        None => trade_date_of(&mut source, path)?,
    };
    let midnight_ns = date.map(|date| date.midnight_ns());
    let bounds = span.bounds(name, midnight_ns)?;
    Ok(Opening { arguments, source: Opened::Day(Box::new(source)), bounds, midnight_ns })
}

impl InputArguments {
    /// Refuses the options of the exchange's own messages for records.
    fn require_no_date_or_group(&self, is: &str) -> anyhow::Result<()> {
        if self.date.is_some() {
            bail!("{}: --date applies to day files and captures, and this is {is}", self.input);
        }
        self.groups.require_none(&self.input, is)
    }
}

/// Whether a second opening of an input would not give its bytes again: standard input and pipes.
pub(crate) fn is_read_once(name: &Given) -> bool {
    name.is_standard() || !name.path().is_file()
}

/// The bytes of a file, or of standard input.
pub(crate) fn open_bytes(name: &Given) -> anyhow::Result<DaySource> {
    Ok(if name.is_standard() { DaySource::stdin()? } else { DaySource::open(name.path())? })
}

/// Opens a day file or a capture, for a command that needs one.
pub(super) fn open_day(name: &Given) -> anyhow::Result<DaySource> {
    const NEEDED: &str = "this command needs the messages of a day file or a capture";
    if !name.is_standard() && name.path().is_dir() {
        bail!("{name}: is a folder; {NEEDED}");
    }
    let mut source = open_bytes(name)?;
    if source.starts_with(DBN_MAGIC)? {
        bail!("{name}: is a DBN file; {NEEDED}");
    }
    source.check_day()?;
    Ok(source)
}

/// The last moment of a span, in ns since the UNIX epoch; the end of time without a trade date.
fn last_of((_, to): (u64, u64), midnight_ns: Option<u64>) -> u64 {
    midnight_ns.map_or(u64::MAX, |midnight_ns| midnight_ns.saturating_add(to.saturating_sub(1)))
}

fn open_journal<'a>(
    arguments: &'a InputArguments,
    path: &Path,
    span: Span,
    symbols: &[Symbol],
) -> anyhow::Result<Opening<'a>> {
    let name = path.display().to_string();
    let runs = Runs::of_journal(path).map_err(of_runs)?;
    let chosen = RunChoice::of(arguments.run, &name, runs.len() as u64)?;
    let run = (chosen as usize).checked_sub(1).and_then(|index| runs.iter().nth(index));
    let midnight_ns = run.map(|run| run.midnight_ns);
    let bounds = span.bounds(&name, midnight_ns)?;
    let of_day = |nanos: u64| midnight_ns.unwrap_or(0).saturating_add(nanos);
    let wanted = RunSpan {
        books_at_ns: span.books_from(bounds).map(of_day),
        until_ns: last_of(bounds, midnight_ns),
        symbols: symbols.to_vec(),
    };
    let stream = JournalRun::open(path, &runs, run, &wanted).map_err(of_journal_run)?;
    let run = RecordedRun::of_run(stream, run.cloned()).until(wanted.until_ns);
    Ok(Opening { arguments, source: Opened::Journal(Box::new(run)), bounds, midnight_ns })
}

/// Damage in the journal is bad data; other errors belong to the environment.
pub(crate) fn of_journal_run(error: JournalRunError) -> anyhow::Error {
    match error {
        JournalRunError::Journal(error) => of_journal(error),
        JournalRunError::Snapshot(error @ SnapshotError::Damaged { .. }) => {
            BadData(error.to_string()).into()
        }
        error => anyhow::anyhow!("{error}"),
    }
}

/// Damage in the journal is bad data; other errors belong to the environment.
pub(crate) fn of_runs(error: RunsError) -> anyhow::Error {
    match error {
        RunsError::Journal(error) => of_journal(error),
        error @ RunsError::Line { .. } => BadData(error.to_string()).into(),
        error => error.into(),
    }
}

/// The line about a run that the list of runs lacks.
pub(crate) fn unlisted_run(journal: &Path, start: u64) -> String {
    let journal = journal.display();
    format!(
        "{journal}/runs: lacks the run that begins with record {start}; `nanotape journal repair \
         {journal}` adds it"
    )
}

/// Opens a DBN file at the chosen run.
pub(crate) fn open_dbn(
    name: &Given,
    source: DaySource,
    choice: Option<RunChoice>,
) -> anyhow::Result<DbnStream> {
    let of_dbn = |error| of_dbn(name, error);
    let mut stream = DbnStream::new(source).map_err(of_dbn)?;
    let number = match choice {
        Some(RunChoice::Number(number)) => number,
        Some(RunChoice::Last) if is_read_once(name) => {
            let name = if name.is_standard() { "standard input" } else { name };
            bail!("{name}: is read only once: give --run a number")
        }
        None if is_read_once(name) => 1,
        _ => {
            // Damage ends the search, and the reading reports it.
            let runs = stream.skip_to_run(u64::MAX).unwrap_or_else(|_| stream.runs());
            stream = DbnStream::new(open_bytes(name)?).map_err(of_dbn)?;
            RunChoice::of(choice, name, runs)?
        }
    };
    if number > 0 {
        let before = stream.skip_to_run(number).map_err(of_dbn)?;
        RunChoice::of(Some(RunChoice::Number(number)), name, before)?;
    }
    Ok(stream)
}

/// Damage in a DBN file is bad data; other errors belong to the environment.
pub(crate) fn of_dbn(name: &str, error: DbnError) -> anyhow::Error {
    match error {
        DbnError::Source(error) => error.into(),
        error => BadData(format!("{name}: {error}")).into(),
    }
}
