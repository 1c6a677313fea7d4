//! What an input lacks, on standard error, and the exit status that follows from it.

use nanotape_book::{AnomalyCounts, OrderStore, PriceLevels};
use nanotape_engine::DayReport;
use nanotape_feed::DayEnd;
use nanotape_history::RecordedEnd;
use nanotape_market::StockDirectory;
use nanotape_types::StockLocate;

use super::{Recorded, Report, Session, tell_of_unread};
use crate::{
    status::{BadData, Status, note, tell},
    symbols::{SymbolFilter, symbol_or_locate, with_suggestions},
    values::counted,
};

/// Losses that get a line each.
const LOSS_LINES: usize = 10;

impl<L: PriceLevels, S: OrderStore> Session<L, S> {
    /// Reports what the input lacks, and which books of the selected stocks are unreliable. Returns
    /// the exit status, or an error if symbols are missing or `--strict` refuses the answer: call
    /// it before the output is finished.
    pub(crate) fn conclude(&self, selected: &mut SymbolFilter) -> anyhow::Result<Status> {
        let status = self.status();
        let is_tainted = self.warn_of_taint(selected);
        self.require_symbols(selected)?;
        if self.is_strict && (status != Status::Good || is_tainted) {
            let line = "refused by --strict: a part is missing or a book is unreliable";
            return Err(BadData(format!("{}: {line}", self.name)).into());
        }
        Ok(status)
    }

    /// Returns an error if no message of the span, or before it, named a selected stock.
    fn require_symbols(&self, selected: &SymbolFilter) -> anyhow::Result<()> {
        match require_symbols(&self.name, selected, self.engine.directory()) {
            Err(error) if self.has_passed_the_span() => {
                let line = "up to the end of the span; later messages were not read";
                Err(BadData(format!("{error} {line}")).into())
            }
            result => result,
        }
    }

    /// Reports what the input lacks, and returns the exit status.
    pub(crate) fn status(&self) -> Status {
        self.report.status(&self.name)
    }

    /// Reports what records lack, if the input has records. The line is for statistics.
    pub(crate) fn tell_limits_of_records(&self) {
        if let Report::Records(Recorded { noun, .. }) = &self.report {
            note(format_args!(
                "{}: the {noun} has records: they have no match numbers, so broken trades are not \
                 subtracted, and messages of types B J K L N O V have no record",
                self.name
            ));
        }
    }

    /// Reports which books of the selected stocks are unreliable, and returns whether any is.
    fn warn_of_taint(&self, selected: &mut SymbolFilter) -> bool {
        let directory = self.engine.directory();
        let mut is_selected = |locate: StockLocate| selected.accepts(locate, directory);
        let books = self.engine.books();
        let tainted = books.tainted().filter(|(locate, _)| is_selected(*locate));
        let (totals, count) = tainted
            .fold((AnomalyCounts::default(), 0), |(sum, count), of| (sum.plus(&of.1), count + 1));
        let misfits = self.misfits.iter().filter(|(locate, _)| is_selected(**locate));
        let first =
            misfits.min_by_key(|(_, at)| at.number).map(|(locate, at)| (*locate, at.number));
        warn_of_taint(&self.name, totals, count, first.map(|first| self.first_of(first)));
        let Report::Records(recorded) = &self.report else { return totals.any() };
        let taints = recorded.summary.taints.iter().filter(|(locate, _)| is_selected(**locate));
        let taints: Vec<_> = taints.map(|(&locate, &sequence)| (locate, sequence)).collect();
        if let Some(&first) = taints.iter().min_by_key(|(_, sequence)| *sequence) {
            tell(format_args!(
                "{}: {} marked unreliable (tainted) in the records, the first one {}",
                self.name,
                counted(taints.len() as u64, "book"),
                self.first_of(first),
            ));
        }
        totals.any() || !taints.is_empty()
    }

    fn first_of(&self, (locate, message): (StockLocate, u64)) -> String {
        let stock = symbol_or_locate(self.engine.directory(), locate);
        format!("of {stock} by message {message}")
    }
}

/// Reports what records lack, and returns the exit status.
pub(super) fn conclude_records(name: &str, recorded: &Recorded) -> Status {
    let Recorded { summary, fault, noun, is_only_first } = recorded;
    if summary.start.is_none() && summary.messages > 0 {
        tell(format_args!(
            "{name}: the {noun} lacks the start of the run: earlier orders are missing"
        ));
    }
    for loss in summary.losses.iter().take(LOSS_LINES) {
        tell(format_args!("{name}: {loss}"));
    }
    let more = summary.total_losses.saturating_sub(LOSS_LINES as u64);
    if more > 0 {
        tell(format_args!("{name}: and {more} more losses"));
    }
    if let Some(fault) = fault {
        tell(fault);
    } else if summary.end == RecordedEnd::NoStop {
        tell(format_args!("{name}: the {noun} lacks the stop record of the run"));
    }
    if let Some(next) = summary.next_run.filter(|_| *is_only_first) {
        tell(format_args!(
            "{name}: message {next}: another run starts; only the first one was read (--run N)"
        ));
        return Status::Bad;
    }
    if summary.is_good() && fault.is_none() { Status::Good } else { Status::Bad }
}

/// Reports the damage of a day, and returns the exit status.
pub(crate) fn conclude(name: &str, report: &DayReport) -> Status {
    for damage in report.damage.first().iter().take(LOSS_LINES) {
        tell(format_args!("{name}: {damage}"));
    }
    let more = report.damage.total().saturating_sub(LOSS_LINES as u64);
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
    let is_whole = match &report.summary.session {
        // What a reading that stopped early did not come to is unknown.
        Some(session) if report.summary.end != DayEnd::Stopped => {
            let is_without_session = session.session.is_none() && session.packets > 0;
            tell_of_unread(
                name,
                (&session.absent, is_without_session),
                &session.others,
                &session.skipped,
            )
        }
        _ => true,
    };
    if report.is_good() && is_whole { Status::Good } else { Status::Bad }
}

/// Prints the number of unreliable books, and the first message. The command still succeeds: a file
/// that begins in mid-session is legal.
pub(crate) fn warn_of_taint(
    name: &str,
    totals: AnomalyCounts,
    tainted_stocks: usize,
    first: Option<String>,
) {
    if !totals.any() {
        return;
    }
    let kinds: Vec<_> = totals.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let first = first.map_or_else(String::new, |first| format!(", the first one {first}"));
    tell(format_args!(
        "{name}: {} could not be applied to the book ({}); {} marked unreliable (tainted){first}",
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
    let missing = filter.missing(directory);
    if missing.is_empty() {
        return Ok(());
    }
    let known: Vec<_> = directory.iter().map(|(_, symbol)| symbol).collect();
    let missing = with_suggestions(&missing, &known);
    let message = format!("{name}: symbols not found: {missing}");
    Err(BadData(message).into())
}
