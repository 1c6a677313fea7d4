//! Opening a day, showing how far reading has come, and saying afterwards what was wrong with it.

use std::path::Path;

use clap::Args;
use nanotape_book::{AnomalyCounts, Books, OrderStore, PriceLevels};
pub(crate) use nanotape_console::progress::Progress;
use nanotape_feed::{DayEnd, DaySource};
use nanotape_market::StockDirectory;
use nanotape_plant::{BookEngine, DayReport, Observer, orders_of};
use nanotape_types::StockLocate;

use crate::{
    status::{BadData, Status, tell},
    symbols::SymbolFilter,
    values::counted,
};

#[derive(Args, Debug)]
pub(crate) struct InputArguments {
    /// ITCH 5.0 day file (plain, gzip or zstd), or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
}

impl InputArguments {
    /// Live orders that books make room for at the start.
    pub(crate) fn orders(&self) -> usize {
        orders_of(Path::new(&self.file))
    }

    pub(crate) fn open(&self) -> anyhow::Result<DaySource> {
        Ok(match self.file.as_str() {
            "-" => DaySource::stdin()?,
            path => DaySource::open(Path::new(path))?,
        })
    }
}

/// A day that was run through the books, and how that went.
pub(crate) struct Session<L, S> {
    pub(crate) source: DaySource,
    pub(crate) plant: BookEngine<Books<L, S>>,
    pub(crate) report: DayReport,
}

impl<L: PriceLevels, S: OrderStore> Session<L, S> {
    /// Opens the day and runs it through `books`, telling `observer`.
    pub(crate) fn run(
        input: &InputArguments,
        books: Books<L, S>,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> anyhow::Result<Self> {
        let mut source = input.open()?;
        let mut plant = BookEngine::new(books);
        let progress = Progress::of(&source);
        let report = plant.run(&mut source, observer, |source| progress.update(source))?;
        Ok(Self { source, plant, report })
    }

    /// Says what was wrong with the bytes, and what that makes of the exit status.
    pub(crate) fn conclude(&self) -> Status {
        conclude(&self.source, &self.report)
    }

    /// Says which books cannot be trusted.
    pub(crate) fn warn_of_taint(&self) {
        let books = self.plant.books();
        warn_of_taint(&self.source, books.anomalies(), books.tainted().count());
    }

    /// Says if the book of this stock cannot be trusted.
    pub(crate) fn warn_of_taint_in(&self, locate: StockLocate) {
        let anomalies = self.plant.books().book(locate).anomalies();
        warn_of_taint(&self.source, anomalies, usize::from(anomalies.any()));
    }

    /// An error if a symbol that was asked for is not in the day.
    pub(crate) fn require_symbols(&self, filter: &SymbolFilter) -> anyhow::Result<()> {
        require_symbols(&self.source, filter, self.plant.directory())
    }
}

/// Lines of damage that are printed one by one.
const DAMAGE_LINES: usize = 10;

/// Says on standard error what was wrong with the bytes, and what that makes of the exit status.
pub(crate) fn conclude(source: &DaySource, report: &DayReport) -> Status {
    let name = source.name();
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

/// Says on standard error which books cannot be trusted. Not an error of the command's: a file
/// joined in mid-session is legal.
pub(crate) fn warn_of_taint(source: &DaySource, totals: AnomalyCounts, tainted_stocks: usize) {
    if !totals.any() {
        return;
    }
    let kinds: Vec<_> = totals.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    tell(format_args!(
        "{}: {} could not be applied to the book ({}); {} marked unreliable (tainted)",
        source.name(),
        counted(totals.total(), "message"),
        kinds.join(", "),
        counted(tainted_stocks as u64, "book"),
    ));
}

/// An error if a symbol that was asked for is not in the day.
pub(crate) fn require_symbols(
    source: &DaySource,
    filter: &SymbolFilter,
    directory: &StockDirectory,
) -> anyhow::Result<()> {
    let missing: Vec<_> = filter.missing(directory).iter().map(ToString::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("{}: symbols not found: {}", source.name(), missing.join(", "));
    Err(BadData(message).into())
}
