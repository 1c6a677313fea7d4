//! Opens a day file or a journal, shows the progress of reading, and reports its damage afterwards.

use std::path::Path;

use anyhow::bail;
use clap::Args;
use nanotape_book::{AnomalyCounts, Books, OrderStore, PriceLevels};
pub(crate) use nanotape_console::progress::Progress;
use nanotape_feed::{DayEnd, DaySource};
use nanotape_history::{RecordedEnd, RecordedError, RecordedRun, RecordedSummary};
use nanotape_journal::{Start, Tailer, TailerSource};
use nanotape_market::StockDirectory;
use nanotape_plant::{BookEngine, DayReport, Observer, RunReport, orders_of};
use nanotape_types::StockLocate;

use crate::{
    journals::of_journal,
    status::{BadData, Status, tell},
    symbols::SymbolFilter,
    values::counted,
};

#[derive(Args, Debug)]
pub(crate) struct InputArguments {
    /// ITCH 5.0 day file (plain, gzip or zstd), or - for standard input. inside, book and depth
    /// also take the folder of a journal that recorded a plant
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
}

impl InputArguments {
    /// Live orders that books have room for at the start.
    pub(crate) fn orders(&self) -> usize {
        orders_of(Path::new(&self.file))
    }

    pub(crate) fn open(&self) -> anyhow::Result<DaySource> {
        Ok(match self.file.as_str() {
            "-" => DaySource::stdin()?,
            path if Path::new(path).is_dir() => {
                bail!("{path}: is a folder; this command needs a day file")
            }
            path => DaySource::open(Path::new(path))?,
        })
    }
}

/// A source of events after its run through the books, with the report.
pub(crate) struct Session<L, S> {
    name: String,
    pub(crate) engine: BookEngine<Books<L, S>>,
    pub(crate) report: Report,
}

/// The report of a run, by the kind of its source.
pub(crate) enum Report {
    Day(DayReport),
    Journal(RunReport<RecordedSummary>),
}

impl<L: PriceLevels, S: OrderStore> Session<L, S> {
    /// Opens the input, a day file or the folder of a journal, and runs its events through `books`.
    pub(crate) fn run(
        input: &InputArguments,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        let path = Path::new(&input.file);
        if input.file == "-" || !path.is_dir() {
            return Self::run_day(input, books, observer);
        }
        let mut engine = BookEngine::new(books);
        let tailer = Tailer::open(path, Start::Oldest).map_err(of_journal)?;
        let mut run = RecordedRun::new(TailerSource::new(tailer));
        let (first, end) = (run.next_sequence(), run.end().map_err(of_journal)?);
        let progress = Progress::with_steps("messages", end.saturating_sub(first));
        let report = engine.run(&mut run, observer, |run| {
            progress.set(run.next_sequence().saturating_sub(first));
        });
        let report = report.map_err(|error| match error {
            RecordedError::Stream(error) => of_journal(error),
            error => BadData(format!("{}: {error}", path.display())).into(),
        })?;
        Ok(Self { name: input.file.clone(), engine, report: Report::Journal(report) })
    }

    /// The same for commands that need a day file.
    pub(crate) fn run_day(
        input: &InputArguments,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        let mut engine = BookEngine::new(books);
        let mut source = input.open()?;
        let progress = Progress::of(&source);
        let report = engine.run(&mut source, observer, |source| progress.update(source))?;
        let name = source.name().to_owned();
        Ok(Self { name, engine, report: Report::Day(report) })
    }

    /// Messages read from the day, or records of the journal.
    pub(crate) fn messages(&self) -> u64 {
        match &self.report {
            Report::Day(report) => report.summary.records,
            Report::Journal(report) => report.summary.messages,
        }
    }

    /// Reports the damage of the input, and returns the exit status.
    pub(crate) fn conclude(&self) -> Status {
        match &self.report {
            Report::Day(report) => conclude(&self.name, report),
            Report::Journal(report) => conclude_recorded(&self.name, &report.summary),
        }
    }

    /// Prints the number of unreliable books.
    pub(crate) fn warn_of_taint(&self) {
        match &self.report {
            Report::Day(_) => {
                let books = self.engine.books();
                warn_of_taint(&self.name, books.anomalies(), books.tainted().count());
            }
            Report::Journal(report) => match report.summary.tainted_stocks {
                0 => {}
                count => tell(format_args!(
                    "{}: {} marked unreliable (tainted) by the plant",
                    self.name,
                    counted(count as u64, "book"),
                )),
            },
        }
    }

    /// The same for the book of one stock; a journal reports all of its tainted books.
    pub(crate) fn warn_of_taint_in(&self, locate: StockLocate) {
        if let Report::Journal(_) = self.report {
            return self.warn_of_taint();
        }
        let anomalies = self.engine.books().book(locate).anomalies();
        warn_of_taint(&self.name, anomalies, usize::from(anomalies.any()));
    }

    /// Returns an error if a requested symbol is not in the day.
    pub(crate) fn require_symbols(&self, filter: &SymbolFilter) -> anyhow::Result<()> {
        require_symbols(&self.name, filter, self.engine.directory())
    }
}

/// Reports what a journal lacks, and returns the exit status.
fn conclude_recorded(name: &str, summary: &RecordedSummary) -> Status {
    for loss in summary.losses.iter().take(DAMAGE_LINES) {
        tell(format_args!("{name}: {loss}"));
    }
    let more = summary.total_losses.saturating_sub(DAMAGE_LINES as u64);
    if more > 0 {
        tell(format_args!("{name}: and {more} more losses"));
    }
    match summary.end {
        RecordedEnd::Stop | RecordedEnd::Stopped => {}
        RecordedEnd::NoStop => {
            tell(format_args!("{name}: the journal ends before the plant's stop record"));
        }
        RecordedEnd::AnotherRun(sequence) => tell(format_args!(
            "{name}: message {sequence}: another run of a plant starts; only the first run was read"
        )),
    }
    if summary.is_good() { Status::Good } else { Status::Bad }
}

/// Damaged ranges that get a line each.
const DAMAGE_LINES: usize = 10;

/// Reports the damage of a day, and returns the exit status.
pub(crate) fn conclude(name: &str, report: &DayReport) -> Status {
    for damage in report.damage.first().iter().take(DAMAGE_LINES) {
        tell(format_args!("{name}: {damage}"));
    }
    let more = report.damage.total().saturating_sub(DAMAGE_LINES as u64);
    if more > 0 {
        tell(format_args!("{name}: and {more} more damaged places"));
    }
    match (&report.summary.fault, report.summary.end) {
        (Some(fault), end @ DayEnd::Cut { .. }) => tell(format_args!("{fault}; {end}")),
        (Some(fault), _) => tell(format_args!("{fault}")),
        (None, end @ (DayEnd::Cut { .. } | DayEnd::EndOfSession { bytes_follow: true, .. })) => {
            tell(format_args!("{name}: {end}"));
        }
        (None, _) => {}
    }
    if report.is_good() { Status::Good } else { Status::Bad }
}

/// Prints the number of unreliable books. The command still succeeds: a file that begins in
/// mid-session is legal.
pub(crate) fn warn_of_taint(name: &str, totals: AnomalyCounts, tainted_stocks: usize) {
    if !totals.any() {
        return;
    }
    let kinds: Vec<_> = totals.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    tell(format_args!(
        "{name}: {} could not be applied to the book ({}); {} marked unreliable (tainted)",
        counted(totals.total(), "message"),
        kinds.join(", "),
        counted(tainted_stocks as u64, "book"),
    ));
}

/// Returns an error if a requested symbol is not in the day.
pub(crate) fn require_symbols(
    name: &str,
    filter: &SymbolFilter,
    directory: &StockDirectory,
) -> anyhow::Result<()> {
    let missing: Vec<_> = filter.missing(directory).iter().map(ToString::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("{name}: symbols not found: {}", missing.join(", "));
    Err(BadData(message).into())
}
