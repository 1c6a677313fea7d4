//! The kind of a tap's INPUT, and the options that do not apply to it.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context as _, bail};
use nanotape_feed::DaySource;
use nanotape_history::{DBN_MAGIC, DbnStream, Runs, RunsError};
use nanotape_journal::ErrorKind;
use nanotape_market::{
    Damage, EventHandler, EventSource as _, MarketEvent, Origin, Position, StockDirectory, What,
};
use nanotape_plant::{TradeDate, trade_date_of};
use nanotape_ring::Start;
use nanotape_shm::Refusal;
use nanotape_types::{StockLocate, Symbol};

use super::{TapArguments, TsRecv};
use crate::{
    input::{RunChoice, is_read_once, of_runs, open_bytes, open_dbn},
    regions::place,
    span::Moment,
};

/// An INPUT.
pub(super) enum TapInput {
    /// A ring, which might not exist yet.
    Ring(PathBuf),
    /// The folder of a journal.
    Journal(PathBuf),
    Day(Box<DaySource>, TradeDate),
    Dbn(Box<DbnStream>),
}

/// The kind of an INPUT, for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::commands) enum InputKind {
    Ring,
    Journal,
    Day,
    Dbn,
}

/// `--from`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TapStart {
    /// Never a time.
    Start(Start),
    Moment(Moment),
}

impl FromStr for TapStart {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(Start::Time(_)) | Err(_) => text.parse().map(Self::Moment).map_err(|_| {
                "expected oldest, newest, a sequence number from 1, a time of day such as 09:45, a \
                 time such as 2019-12-30T14:45:00Z, or @ and nanoseconds since 1970"
            }),
            Ok(start) => Ok(Self::Start(start)),
        }
    }
}

/// A run of a journal: its first record, and that of the next run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RunBounds {
    pub(super) first: u64,
    pub(super) next: Option<u64>,
    midnight_ns: u64,
}

impl TapInput {
    /// Opens the INPUT if it is a file.
    pub(super) fn open(command: &TapArguments) -> anyhow::Result<Self> {
        let name = &command.input;
        if !name.is_standard() {
            let ring = place(name)?;
            if ring.is_file() && (!name.contains('/') || is_region(&ring)) {
                return Ok(Self::Ring(ring));
            }
            let path = name.path();
            if path.is_dir() {
                return Ok(Self::Journal(path.to_owned()));
            }
            // A pipe is read as a file is.
            if !path.exists() {
                return Ok(Self::Ring(ring));
            }
        }
        let mut source = open_bytes(name)?;
        if source.starts_with(DBN_MAGIC)? {
            return Ok(Self::Dbn(Box::new(open_dbn(name, source, command.run)?)));
        }
        source.check_day()?;
        command.groups.choose(&mut source)?;
        let date = match command.date {
            Some(date) => Some(date),
            None => trade_date_of(&mut source, name.path())?,
        };
        let date = date.with_context(|| {
            format!(
                "{}: no trade date in the file name: give it, as in --date 2019-12-30",
                source.name()
            )
        })?;
        Ok(Self::Day(Box::new(source), date))
    }

    /// The names of the stocks of a day, which the metadata of a DBN file has before its records.
    /// Reads up to the first order if the day defines its stocks, otherwise to the end. Returns no
    /// names for an input that is read only once.
    pub(super) fn names_ahead(
        &self,
        command: &TapArguments,
    ) -> anyhow::Result<Vec<(StockLocate, Symbol)>> {
        let mut names = Names::default();
        if matches!(self, Self::Day(..)) && !is_read_once(&command.input) {
            let mut source = open_bytes(&command.input)?;
            command.groups.choose(&mut source)?;
            source.read(&mut names, |_| ())?;
        }
        Ok(names.directory.iter().collect())
    }

    /// The receive time that says most: a day file has none, so that of the exchange.
    pub(super) fn usual_ts_recv(&mut self) -> anyhow::Result<TsRecv> {
        match self {
            Self::Day(source, _) => {
                let is_capture = source.capture_began_ns()?.is_some();
                Ok(if is_capture { TsRecv::Receive } else { TsRecv::Event })
            }
            _ => Ok(TsRecv::Receive),
        }
    }

    /// Refuses the options that do not apply to this INPUT.
    pub(super) fn check(&self, command: &TapArguments) -> anyhow::Result<()> {
        let TapArguments { input, heal, rejoin, whole, wait, through_restarts, .. } = command;
        let is_newest = command.from == Some(TapStart::Start(Start::Newest));
        let is_time = matches!(command.from, Some(TapStart::Moment(_)));
        let given = [
            ("--heal", heal.is_some()),
            ("--rejoin", rejoin.is_some()),
            ("--through-restarts", *through_restarts),
            ("--wait", !wait.is_zero()),
            ("--name", command.name.is_some()),
            ("--whole", *whole),
            ("--from newest", is_newest),
            ("--from with a time", is_time),
            ("--until", command.until.is_some()),
            ("--run", command.run.is_some()),
            ("--date", command.date.is_some()),
            ("--check-digest", command.check_digest),
            ("--group", command.groups.is_any()),
        ];
        // What only an input with a writer has.
        const OF_WRITERS: [&str; 7] = [
            "--heal",
            "--rejoin",
            "--through-restarts",
            "--wait",
            "--name",
            "--whole",
            "--from newest",
        ];
        let (is, of_writers, others): (_, &[&str], &[&str]) = match self {
            Self::Ring(_) => {
                ("a ring", &[], &["--run", "--date", "--from with a time", "--until", "--group"])
            }
            Self::Journal(_) => (
                "the folder of a journal",
                &[],
                &["--heal", "--rejoin", "--name", "--date", "--group"],
            ),
            Self::Day(..) => ("a day file", &OF_WRITERS, &["--run"]),
            Self::Dbn(_) => ("a DBN file", &OF_WRITERS, &["--date", "--check-digest", "--group"]),
        };
        let is_refused = |option| of_writers.contains(option) || others.contains(option);
        if let Some((option, _)) =
            given.iter().find(|(option, is_given)| *is_given && is_refused(option))
        {
            bail!("{input}: is {is}, to which {option} does not apply");
        }
        match self {
            Self::Ring(_) if *whole && heal.is_none() => {
                bail!("--whole needs the journal of the ring: add --heal JOURNAL")
            }
            _ => Ok(()),
        }
    }

    /// The run of a journal that is read, if it is known.
    pub(super) fn run(&self, command: &TapArguments) -> anyhow::Result<Option<RunBounds>> {
        let Self::Journal(path) = self else { return Ok(None) };
        let has_moment =
            command.until.is_some() || matches!(command.from, Some(TapStart::Moment(_)));
        let runs = match command.from {
            _ if has_moment || command.run.is_some() => Runs::of_journal(path).map_err(of_runs)?,
            Some(_) => return Ok(None),
            None => match Runs::of_journal(path) {
                // A recorder that has not begun is waited for.
                Err(RunsError::Journal(error)) if *error.kind() == ErrorKind::NotFound => {
                    Runs::default()
                }
                runs => runs.map_err(of_runs)?,
            },
        };
        let choice = command.run.unwrap_or(RunChoice::Last);
        let number = RunChoice::of(Some(choice), &path.display().to_string(), runs.len() as u64)?;
        let run = usize::try_from(number)?.checked_sub(1).and_then(|index| runs.iter().nth(index));
        Ok(run.map(|run| RunBounds {
            first: run.first_sequence,
            next: runs.after(run),
            midnight_ns: run.midnight_ns,
        }))
    }

    /// The exchange's midnight of the run that is read, if it is known.
    pub(super) fn midnight_ns(&self, run: Option<RunBounds>) -> Option<u64> {
        match self {
            Self::Ring(_) => None,
            Self::Journal(_) => run.map(|run| run.midnight_ns),
            Self::Day(_, date) => Some(date.midnight_ns()),
            Self::Dbn(stream) => stream.start().map(|start| start.midnight_ns),
        }
    }

    pub(super) fn kind(&self) -> InputKind {
        match self {
            Self::Ring(_) => InputKind::Ring,
            Self::Journal(_) => InputKind::Journal,
            Self::Day(..) => InputKind::Day,
            Self::Dbn(_) => InputKind::Dbn,
        }
    }
}

/// Collects the names of stocks.
#[derive(Default)]
struct Names {
    directory: StockDirectory,
    has_definitions: bool,
}

impl EventHandler for Names {
    type Hint = ();

    fn event(&mut self, _: Position, event: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        self.directory.learn(event);
        match event.what {
            What::Definition(_) => self.has_definitions = true,
            What::Order(_) if self.has_definitions => return ControlFlow::Break(()),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    // The reading of the records reports it.
    fn damage(&mut self, _: Damage) {}
}

/// Whether a file is a region, valid or not: a damaged ring is no day file. An empty file is one
/// that is being created, if it is in the folder of rings.
fn is_region(path: &Path) -> bool {
    if path.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        return path.starts_with("/dev/shm");
    }
    let inspected = nanotape_shm::inspect(path);
    !inspected.is_err_and(|error| matches!(error.refusal(), Refusal::NotARegion { .. }))
}
