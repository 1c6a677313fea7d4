//! What an input lacks, on standard error, and the exit status that follows from it.

use nanotape_answers::{
    Breaks, InputReport, Recorded, Session, SymbolFilter, VenueSession, is_whole, symbol_or_locate,
    with_suggestions,
};
use nanotape_book::AnomalyCounts;
use nanotape_console::{
    status::{BadData, Status, note, warn},
    values::counted,
};
use nanotape_engine::DayReport;
use nanotape_feed::DayEnd;
use nanotape_history::RecordedEnd;
use nanotape_market::StockDirectory;
use nanotape_types::{StockLocate, Symbol};

use crate::unread::report_capture;

/// Match numbers that a line lists.
const LISTED: usize = 10;

/// Losses that get a line each.
const LOSS_LINES: usize = 10;

/// A session that is over, with the option `--strict`.
pub(crate) fn conclude_session(
    session: &Session,
    selected: &mut SymbolFilter,
    is_strict: bool,
) -> anyhow::Result<Status> {
    let status = status_of(&session.name, &session.report);
    let is_tainted = warn_of_tainted(session, selected);
    match require_symbols(&session.name, selected, session.engine.directory()) {
        Err(error) if session.has_passed_the_span() => {
            let line = "up to the end of the span; later messages were not read";
            return Err(BadData(format!("{error} {line}")).into());
        }
        result => result?,
    }
    refuse_parts(&session.name, status != Status::Good || is_tainted, is_strict)?;
    Ok(status)
}

/// Refuses an answer from an input that lacks a part, with `--strict`.
fn refuse_parts(name: &str, is_bad: bool, is_strict: bool) -> anyhow::Result<()> {
    if is_strict && is_bad {
        let line = "refused by --strict: a part is missing or a book is unreliable";
        return Err(BadData(format!("{name}: {line}")).into());
    }
    Ok(())
}

/// The same for sessions that were read together. A symbol is missing if all of them lack it.
pub(crate) fn conclude_venues(
    venues: &mut [VenueSession],
    is_strict: bool,
) -> anyhow::Result<Status> {
    let (mut all, mut missing, mut has_passed) = (Status::Good, None::<Vec<Symbol>>, false);
    for VenueSession { session, filter, unnamed } in &mut *venues {
        let status = status_of(&session.name, &session.report);
        let is_tainted = warn_of_tainted(session, filter);
        refuse_parts(&session.name, status != Status::Good || is_tainted, is_strict)?;
        if *unnamed > 0 {
            warn(format_args!(
                "{}: {} of stocks that no message has named: they count for no best price",
                session.name,
                counted(*unnamed, "change")
            ));
        }
        if status != Status::Good {
            all = status;
        }
        let here = filter.missing(session.engine.directory());
        missing.get_or_insert_with(|| here.clone()).retain(|symbol| here.contains(symbol));
        has_passed |= session.has_passed_the_span();
    }
    let missing = missing.unwrap_or_default();
    let known = venues.iter().flat_map(|venue| venue.session.engine.directory().iter());
    let place = if has_passed { "all inputs, up to the end of the span" } else { "all inputs" };
    require_none_missing(place, &missing, known)?;
    Ok(all)
}

/// Reports what the input lacks, and returns the exit status.
pub fn status_of(name: &str, report: &InputReport) -> Status {
    match report {
        InputReport::Day(report) => conclude(name, report),
        InputReport::Records(recorded) => {
            conclude_records(name, recorded);
            if report.is_whole() { Status::Good } else { Status::Bad }
        }
    }
}

/// Reports what records lack, if the input has records. The line is for statistics.
pub fn report_limits_of_records(name: &str, report: &InputReport) {
    if let InputReport::Records(Recorded { noun, .. }) = report {
        note(format_args!(
            "{name}: the {noun} has records: they have no match numbers, so broken trades are not \
             subtracted, and messages of types B J K L N O V have no record"
        ));
    }
}

/// Reports which books of the selected stocks are unreliable, and returns whether any is.
fn warn_of_tainted(session: &Session, selected: &mut SymbolFilter) -> bool {
    let Session { name, engine, report, misfits } = session;
    let directory = engine.directory();
    let first_of = |(locate, message): (StockLocate, u64)| {
        format!("of {} by message {message}", symbol_or_locate(directory, locate))
    };
    let mut is_selected = |locate: StockLocate| selected.accepts(locate, directory);
    let tainted = engine.books().tainted().filter(|(locate, _)| is_selected(*locate));
    let (totals, count) = tainted.fold((AnomalyCounts::default(), 0), |(sum, count), of| {
        (sum.plus(&of.1), count + usize::from(of.0.is_of_a_stock()))
    });
    let misfits = misfits.iter().filter(|(locate, _)| is_selected(**locate));
    let first = misfits.min_by_key(|(_, at)| at.number).map(|(locate, at)| (*locate, at.number));
    warn_of_taint(name, totals, count, first.map(first_of));
    let InputReport::Records(recorded) = report else { return totals.any() };
    let taints = recorded.summary.taints.iter().filter(|(locate, _)| is_selected(**locate));
    let taints: Vec<_> = taints.map(|(&locate, &sequence)| (locate, sequence)).collect();
    if let Some(&first) = taints.iter().min_by_key(|(_, sequence)| *sequence) {
        warn(format_args!(
            "{name}: {} marked unreliable (tainted) in the records, the first one {}",
            counted(taints.len() as u64, "book"),
            first_of(first),
        ));
    }
    totals.any() || !taints.is_empty()
}

/// Reports what records lack.
fn conclude_records(name: &str, recorded: &Recorded) {
    let Recorded { summary, fault, noun, is_only_first } = recorded;
    if summary.start.is_none() && summary.messages > 0 {
        warn(format_args!(
            "{name}: the {noun} lacks the start of the run: earlier orders are missing"
        ));
    }
    for loss in summary.losses.iter().take(LOSS_LINES) {
        warn(format_args!("{name}: {loss}"));
    }
    let more = summary.total_losses.saturating_sub(LOSS_LINES as u64);
    if more > 0 {
        warn(format_args!("{name}: and {more} more losses"));
    }
    if let Some(fault) = fault {
        warn(fault);
    } else if summary.end == RecordedEnd::NoStop {
        warn(format_args!("{name}: the {noun} lacks the stop record of the run"));
    }
    if let Some(next) = summary.next_run.filter(|_| *is_only_first) {
        warn(format_args!(
            "{name}: message {next}: another run starts; only the first one was read (--run N)"
        ));
    }
}

/// Reports the damage of a day, and returns the exit status.
pub fn conclude(name: &str, report: &DayReport) -> Status {
    conclude_of(name, report, "--session")
}

/// The same for a command whose `option` chooses the session of a capture.
pub fn conclude_of(name: &str, report: &DayReport, option: &str) -> Status {
    for damage in report.damage.first().iter().take(LOSS_LINES) {
        warn(format_args!("{name}: {damage}"));
    }
    let more = report.damage.total().saturating_sub(LOSS_LINES as u64);
    if more > 0 {
        warn(format_args!("{name}: and {more} more damaged places"));
    }
    match (&report.summary.fault, report.summary.end) {
        (Some(fault), end @ DayEnd::Cut { .. }) => warn(format_args!("{fault}; {end}")),
        (Some(fault), _) => warn(format_args!("{fault}")),
        (None, end @ (DayEnd::Cut { .. } | DayEnd::EndOfSession { bytes_follow: true, .. })) => {
            warn(format_args!("{name}: {end}"));
        }
        (None, _) => {}
    }
    // What a reading that stopped early did not come to is unknown.
    if let Some(session) = &report.summary.session
        && report.summary.end != DayEnd::Stopped
    {
        report_capture(name, session, option);
    }
    if is_whole(report) { Status::Good } else { Status::Bad }
}

/// Prints the number of unreliable books, and the first message. The command still succeeds: a file
/// that begins in mid-session is legal.
pub fn warn_of_taint(
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
    warn(format_args!(
        "{name}: {} could not be applied to the book ({}); {} marked unreliable (tainted){first}",
        counted(totals.total(), "message"),
        kinds.join(", "),
        counted(tainted_stocks as u64, "book"),
    ));
}

/// Returns an error if a requested symbol is not in the day.
pub fn require_symbols(
    name: &str,
    filter: &SymbolFilter,
    directory: &StockDirectory,
) -> anyhow::Result<()> {
    require_none_missing(name, &filter.missing(directory), directory.iter())
}

/// Returns an error if a symbol is missing, with those that may be meant.
pub(crate) fn require_none_missing(
    name: &str,
    missing: &[Symbol],
    known: impl IntoIterator<Item = (StockLocate, Symbol)>,
) -> anyhow::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let known: Vec<_> = known.into_iter().map(|(_, symbol)| symbol).collect();
    let missing = with_suggestions(missing, &known);
    Err(BadData(format!("{name}: symbols not found: {missing}")).into())
}

/// Reports the broken trades whose rows were written before the break was read.
pub fn report_unmarked(name: &str, unmarked: &Breaks) {
    if unmarked.is_empty() {
        return;
    }
    let listed: Vec<_> =
        unmarked.iter().take(LISTED).map(|number| number.get().to_string()).collect();
    let more = if unmarked.len() > LISTED { ", ..." } else { "" };
    warn(format_args!(
        "{name}: {} broken and not marked, because the input is read only once: match numbers \
         {}{more}",
        counted(unmarked.len() as u64, "trade"),
        listed.join(", ")
    ));
}
