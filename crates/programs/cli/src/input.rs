//! Reads an INPUT into books: a day file, the folder of a journal, a DBN file or standard input.
//! Shows the progress, and reports afterwards what the input lacks.

mod breaks;
mod events;
mod groups;
mod source;
mod unread;
mod verdict;

use std::{collections::BTreeMap, path::Path};

pub(crate) use breaks::Breaks;
use clap::Args;
pub(crate) use events::read_events;
pub(crate) use groups::GroupArguments;
use nanotape_book::{Books, OrderStore, PriceLevels};
pub(crate) use nanotape_console::progress::Progress;
use nanotape_engine::{BookEngine, DayReport, Observer};
use nanotape_feed::{DayEnd, DaySource};
use nanotape_history::{
    DbnError, DbnStream, JournalRun, JournalRunError, RecordedEnd, RecordedError, RecordedRun,
    RecordedSummary,
};
use nanotape_market::Position;
use nanotape_plant::{PlantConfig, TradeDate, orders_of};
use nanotape_types::{StockLocate, Symbol};
use source::Opened;
pub(crate) use source::{
    RunChoice, is_read_once, of_dbn, of_journal_run, of_runs, open, open_bytes, open_dbn,
    unlisted_run,
};
pub(crate) use unread::tell_of_unread;
pub(crate) use verdict::{conclude, require_symbols, warn_of_taint};

use crate::{
    given::Given,
    span::{Guard, Span},
    status::{BadData, Status},
};

/// An input of events.
#[derive(Args, Debug)]
pub(crate) struct InputArguments {
    /// Day file or capture (pcap, pcapng), plain, gzip or zstd; folder of a journal that recorded a
    /// plant; DBN file (plain or zstd; of tap or of Databento); or - for one of these files on
    /// standard input
    #[arg(value_name = "INPUT")]
    input: Given,

    /// Run of a plant in a journal or DBN file: a number from 1, or last [default: last]. In a DBN
    /// file of another writer, each trade date is a run
    #[arg(help_heading = "Input", long, value_name = "N")]
    run: Option<RunChoice>,

    /// Trade date of a day file whose name has none, as in 2019-12-30
    #[arg(help_heading = "Input", long, value_name = "DATE")]
    date: Option<TradeDate>,

    #[command(flatten)]
    groups: GroupArguments,

    /// If a part of the input is missing, or a book is unreliable: status 1, and no output file
    #[arg(help_heading = "Input", long)]
    strict: bool,
}

/// An input of the exchange's own messages.
#[derive(Args, Debug)]
pub(crate) struct DayArguments {
    /// ITCH 5.0 day file or capture (pcap, pcapng), plain, gzip or zstd; - is standard input
    #[arg(value_name = "FILE")]
    file: Given,

    #[command(flatten)]
    groups: GroupArguments,
}

impl InputArguments {
    /// Live orders that books have room for at the start.
    pub(crate) fn orders(&self) -> usize {
        orders_of(self.input.path())
    }

    /// The input as it was given.
    pub(crate) fn name(&self) -> &Given {
        &self.input
    }

    /// Whether a second opening would not give its bytes again.
    pub(crate) fn is_read_once(&self) -> bool {
        is_read_once(&self.input) && !self.input.path().is_dir()
    }

    /// Refuses an input of which a part is missing, if `--strict` is given.
    pub(crate) fn require_whole(&self, status: Status) -> anyhow::Result<()> {
        if self.strict && status != Status::Good {
            let line = format!("{}: refused by --strict: a part is missing", self.input);
            return Err(BadData(line).into());
        }
        Ok(())
    }

    /// The configuration of a plant of this input, which is a day file or a capture.
    pub(crate) fn plant_config(&self) -> PlantConfig {
        let mut config = PlantConfig::default();
        config.input.file = self.input.path().to_owned();
        config.input.date = self.date;
        config.input.groups.clone_from(&self.groups.groups);
        config
    }

    /// Opens a file once more; `None` for a folder, and for what is read only once: standard input
    /// and pipes.
    pub(crate) fn open_day_again(&self) -> anyhow::Result<Option<DaySource>> {
        if self.is_read_once() || self.input.path().is_dir() {
            return Ok(None);
        }
        let mut source = open_bytes(&self.input)?;
        self.groups.choose(&mut source)?;
        Ok(Some(source))
    }
}

impl DayArguments {
    /// Live orders that books have room for at the start.
    pub(crate) fn orders(&self) -> usize {
        orders_of(self.file.path())
    }

    pub(crate) fn open(&self) -> anyhow::Result<DaySource> {
        let mut source = source::open_day(&self.file)?;
        self.groups.choose(&mut source)?;
        Ok(source)
    }

    /// [`DayArguments::open`] with a second thread that reads the file, for a day that takes hours.
    pub(crate) fn open_on_thread(&self) -> anyhow::Result<DaySource> {
        let mut source = self.open()?;
        if let Some(path) = self.path().filter(|path| path.is_file()) {
            source = DaySource::open_on_thread(path)?;
            self.groups.choose(&mut source)?;
        }
        Ok(source)
    }

    /// The file as it was given.
    pub(crate) fn name(&self) -> &Given {
        &self.file
    }

    /// The path of the file; `None` for standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        (!self.file.is_standard()).then(|| self.file.path())
    }
}

/// A source of events after its run through the books, with the report.
pub(crate) struct Session<L, S> {
    name: String,
    pub(crate) engine: BookEngine<Books<L, S>>,
    pub(crate) report: Report,
    /// The first message of each stock that did not fit its book.
    misfits: BTreeMap<StockLocate, Position>,
    is_strict: bool,
}

/// An input that is open at the beginning of a span.
pub(crate) struct Opening<'a> {
    arguments: &'a InputArguments,
    source: Opened,
    /// The first nanosecond since midnight of the span, and the first one after it.
    pub(crate) bounds: (u64, u64),
    /// The exchange's midnight in ns since the UNIX epoch, if the input has a date.
    pub(crate) midnight_ns: Option<u64>,
}

/// The kinds of input that differ for a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InputKind {
    /// The exchange's own messages.
    Day,
    /// Records of a journal or of a DBN file.
    Records,
}

impl Opening<'_> {
    pub(crate) fn kind(&self) -> InputKind {
        match self.source {
            Opened::Day(_) => InputKind::Day,
            Opened::Journal(_) | Opened::Dbn(_) => InputKind::Records,
        }
    }
}

/// The report of a run, by the kind of its source.
pub(crate) enum Report {
    Day(DayReport),
    Records(Recorded),
}

impl Report {
    fn of_journal(
        name: &str,
        stream: &JournalRun,
        (summary, fault): (RecordedSummary, Option<RecordedError<JournalRunError>>),
    ) -> anyhow::Result<Self> {
        let fault = match fault {
            Some(RecordedError::Stream(error)) => {
                let error = of_journal_run(error);
                // What comes before damage is the answer, as in a file that ends early.
                if !error.is::<BadData>() {
                    return Err(error);
                }
                Some(error.to_string())
            }
            fault => fault_of(name, fault)?,
        };
        let unlisted = summary.next_run.filter(|start| !stream.knows(*start));
        let fault = fault.or(unlisted.map(|start| unlisted_run(stream.journal(), start)));
        Ok(Self::Records(Recorded { summary, fault, noun: "journal", is_only_first: false }))
    }

    fn of_dbn(
        name: &str,
        (summary, fault): (RecordedSummary, Option<RecordedError<DbnError>>),
        is_only_first: bool,
    ) -> anyhow::Result<Self> {
        let fault = match fault {
            // It has the name.
            Some(RecordedError::Stream(DbnError::Source(error))) => Some(error.to_string()),
            fault => fault_of(name, fault)?,
        };
        Ok(Self::Records(Recorded { summary, fault, noun: "file", is_only_first }))
    }

    /// Reports what the input lacks, and returns the exit status.
    pub(crate) fn status(&self, name: &str) -> Status {
        match self {
            Self::Day(report) => conclude(name, report),
            Self::Records(recorded) => verdict::conclude_records(name, recorded),
        }
    }
}

/// The report of records.
pub(crate) struct Recorded {
    summary: RecordedSummary,
    /// Why the reading ended early.
    fault: Option<String>,
    /// What stores them, for messages.
    noun: &'static str,
    /// Whether the first run was read because a stream cannot be searched for the last one.
    is_only_first: bool,
}

impl<L: PriceLevels, S: OrderStore> Session<L, S> {
    /// Opens the input, and runs its events up to the end of the span through `books`. The observer
    /// gets those of the span. Only the books of `symbols` are needed; empty: all.
    pub(crate) fn run(
        input: &InputArguments,
        span: Span,
        symbols: &[Symbol],
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        Self::run_open(source::open(input, span, symbols)?, books, observer)
    }

    /// The same for an input that is open.
    pub(crate) fn run_open(
        opening: Opening<'_>,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        let Opening { arguments: input, mut source, bounds, .. } = opening;
        // A whole day has a loop of its own, because reading the time of each message costs.
        if let (Opened::Day(day), Span::WHOLE) = (&mut source, bounds) {
            let mut guard = Guard::<_, false>::new(observer, bounds);
            let session = Self::of_day(day, books, &mut guard)?;
            return Ok(Self { misfits: guard.misfits(), is_strict: input.strict, ..session });
        }
        let mut guard = Guard::<_, true>::new(observer, bounds);
        let session = match source {
            Opened::Day(mut day) => Self::of_day(&mut day, books, &mut guard),
            Opened::Journal(run) => Self::of_journal(&input.input, run, books, &mut guard),
            Opened::Dbn(run) => Self::of_dbn(run, input.run.is_none(), books, &mut guard),
        };
        let misfits = guard.misfits();
        Ok(Self { misfits, is_strict: input.strict, ..session? })
    }

    /// The same for commands that need a day file.
    pub(crate) fn run_day(
        input: &DayArguments,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        Self::of_day(&mut input.open()?, books, observer)
    }

    fn of_day(
        source: &mut DaySource,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        let mut engine = BookEngine::new(books);
        let progress = Progress::with_total(source.progress().total_bytes);
        let report =
            engine.run(source, observer, |source| progress.set(source.progress().done_bytes))?;
        Ok(Self::new(source.name(), engine, Report::Day(report)))
    }

    fn of_journal(
        name: &str,
        mut run: Box<RecordedRun<JournalRun>>,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        let mut engine = BookEngine::new(books);
        let first = run.stream().next_sequence();
        // Damage before the end is found when it is read.
        let end = run.stream().end().unwrap_or(first);
        let progress = Progress::with_steps("messages", end.saturating_sub(first));
        let Ok(report) = engine.run(&mut *run, observer, |run| {
            progress.set(run.stream().next_sequence().saturating_sub(first));
        });
        Ok(Self::new(name, engine, Report::of_journal(name, run.stream(), report.summary)?))
    }

    fn of_dbn(
        mut run: Box<RecordedRun<DbnStream>>,
        is_only_first: bool,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        let mut engine = BookEngine::new(books);
        let progress = Progress::with_total(run.stream().source().progress().total_bytes);
        let Ok(report) = engine.run(&mut *run, observer, |run| {
            progress.set(run.stream().source().progress().done_bytes)
        });
        let name = run.stream().source().name();
        Ok(Self::new(name, engine, Report::of_dbn(name, report.summary, is_only_first)?))
    }

    /// Whether a message after the span ended the reading.
    pub(crate) fn has_passed_the_span(&self) -> bool {
        match &self.report {
            Report::Day(report) => report.summary.end == DayEnd::Stopped,
            Report::Records(recorded) => recorded.summary.end == RecordedEnd::Stopped,
        }
    }

    fn new(name: &str, engine: BookEngine<Books<L, S>>, report: Report) -> Self {
        let (name, misfits) = (name.to_owned(), BTreeMap::new());
        Self { name, engine, report, misfits, is_strict: false }
    }
}

/// The line about a run that ended early; an error if it has nothing to print.
fn fault_of<E: std::fmt::Display>(
    name: &str,
    fault: Option<RecordedError<E>>,
) -> anyhow::Result<Option<String>> {
    let Some(fault) = fault else { return Ok(None) };
    let line = format!("{name}: {fault}");
    match fault {
        RecordedError::NoOrders { .. } | RecordedError::OnlyOthers { .. } => {
            Err(BadData(line).into())
        }
        _ => Ok(Some(line)),
    }
}
