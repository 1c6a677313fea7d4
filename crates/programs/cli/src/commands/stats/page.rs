//! The record of a day's page: docs/formats/stats-page.md describes it.

use std::cmp::Reverse;

use jiff::{Span, Timestamp, tz::TimeZone};
use nanotape_answers::{
    DEEPEST, EventCounts, EventKind, Gaps, InputKind, Picture, Scale, Session, SymbolFilter,
    day_scale, symbol_or_locate,
};
use nanotape_book::DefaultBooks;
use nanotape_console::{
    status::ReportLine,
    values::{counted_grouped, grouped},
};
use nanotape_engine::{BookEngine, StockStatistics};
use nanotape_types::{StockLocate, Symbol};
use serde_json::{Value, json};

/// Stocks of the plot of activity.
const BUSIEST: usize = 25;

/// Stocks of the plot of rates: a page of all series of a market of options would have megabytes.
const MOST_RATES: usize = 12_000;

/// Ranks that are all in the curve of concentration; later ones are some percent apart.
const EVERY_RANK: usize = 100;

/// What the page says about the reading, beside its counts.
#[derive(Debug)]
pub(super) struct About<'a> {
    pub(super) kind: InputKind,
    pub(super) midnight_ns: Option<u64>,
    /// The span, in ns since midnight.
    pub(super) bounds: (u64, u64),
    pub(super) symbols: &'a [Symbol],
    /// What standard error says about the input.
    pub(super) lines: &'a [ReportLine],
}

type Stock<'p> = (StockLocate, &'p StockStatistics);

/// The record of a day.
pub(super) fn record(session: &Session, picture: &mut Picture, about: &About<'_>) -> Value {
    let Picture { figures, counts, filter } = picture;
    let engine = &session.engine;
    let mut stocks: Vec<Stock<'_>> = figures.stocks().collect();
    stocks.retain(|(locate, stock)| {
        stock.messages.count() > 0 && filter.accepts(*locate, engine.directory())
    });
    stocks.sort_by_key(|(locate, stock)| (Reverse(stock.messages.count()), *locate));
    let name = |locate| symbol_or_locate(engine.directory(), locate).to_string();
    let activity = stocks.iter().take(BUSIEST).map(|&(locate, stock)| {
        let (messages, events) = (stock.messages.count(), counts.events[locate]);
        json!({"symbol": name(locate), "messages": messages, "events": events})
    });
    let rates = stocks.iter().take(MOST_RATES).map(|&(locate, stock)| {
        let peak = |rates: &nanotape_trace::Histogram| rates.max().unwrap_or(0);
        let messages = &stock.messages;
        let peaks =
            [messages.count(), peak(messages.per_second()), peak(messages.per_millisecond())];
        json!([name(locate), peaks[0], peaks[1], peaks[2]])
    });
    let text = |is_note| -> Vec<&str> {
        let of_kind = about.lines.iter().filter(|line| line.is_note == is_note);
        of_kind.map(|line| line.text.as_str()).collect()
    };
    let changes: u64 = counts.change_seconds.iter().sum();
    let (from, until) = about.bounds;
    json!({
        "format": "nanotape-stats",
        "version": 1,
        "kind": "day",
        "name": session.name,
        "lead": lead_of(counts.messages, stocks.len(), changes),
        "date": about.midnight_ns.and_then(date_of),
        "nanotape": env!("NANOTAPE_VERSION"),
        "input": match about.kind {
            InputKind::Day => "day file or capture",
            InputKind::Journal => "journal",
            InputKind::Dbn => "DBN file",
            InputKind::Ring => "ring",
        },
        "selection": {
            "symbols": about.symbols.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "from_ns": (from > 0).then_some(from),
            "until_ns": (until < u64::MAX).then_some(until),
        },
        "damage": text(false),
        "notes": text(true),
        "has_orders": engine.has_orders(),
        "messages": counts.messages,
        "untimed": counts.untimed,
        "stocks": stocks.len(),
        "inside_changes": changes,
        "anomalies": anomalies(engine, filter, &stocks),
        "kinds": EventKind::ALL.map(EventKind::name),
        "activity": activity.collect::<Vec<_>>(),
        "concentration": concentration(&stocks),
        "rates": rates.collect::<Vec<_>>(),
        "depths": depths(&counts.depths),
        "arrivals": arrivals(counts),
        "inside": {
            "rate": day_scale(counts.arrivals.seconds(), &counts.change_seconds)
                .filter(|_| changes > 0)
                .map(|rate| scale(&rate, Some(&counts.change_seconds))),
            "gaps": {"stock": gaps(&counts.stock_gaps), "any": gaps(&counts.gaps)},
        },
    })
}

fn lead_of(messages: u64, stocks: usize, changes: u64) -> String {
    let stocks = counted_grouped(stocks as u64, "stock");
    let messages = counted_grouped(messages, "message");
    format!("{messages} of {stocks}, {} of them changed the inside.", grouped(changes))
}

/// The day of a midnight of an exchange, which is up to 12 hours from that of UTC.
fn date_of(midnight_ns: u64) -> Option<String> {
    let noon = i128::from(midnight_ns);
    let noon = Timestamp::from_nanosecond(noon).ok()?.checked_add(Span::new().hours(12)).ok()?;
    Some(noon.to_zoned(TimeZone::UTC).date().to_string())
}

/// Messages that did not fit their books, of the selected stocks, in the whole run.
fn anomalies(
    engine: &BookEngine<DefaultBooks>,
    filter: &mut SymbolFilter,
    stocks: &[Stock<'_>],
) -> u64 {
    if filter.accepts(StockLocate::new(0), engine.directory()) {
        return engine.books().anomalies().total();
    }
    stocks.iter().map(|(locate, _)| engine.books().book(*locate).anomalies().total()).sum()
}

/// Messages by rank, and how many all stocks up to it have.
fn concentration(stocks: &[Stock<'_>]) -> Vec<Value> {
    let mut cumulative = 0;
    let mut next = 1;
    let mut ranks = Vec::new();
    for (rank, (_, stock)) in (1..).zip(stocks) {
        let messages = stock.messages.count();
        cumulative += messages;
        if rank == next || rank == stocks.len() {
            ranks.push(json!({"rank": rank, "messages": messages, "cumulative": cumulative}));
            next = if rank < EVERY_RANK { rank + 1 } else { rank + rank / 32 };
        }
    }
    ranks
}

/// Events by level, up to the last one with any.
fn depths(depths: &[EventCounts]) -> &[EventCounts] {
    debug_assert_eq!(depths.len(), DEEPEST + 1);
    if depths.iter().flatten().any(|&count| count > 0) { depths } else { &[] }
}

fn arrivals(counts: &nanotape_answers::PictureCounts) -> Value {
    let arrivals = &counts.arrivals;
    let day = arrivals.day().map(|day| scale(&day, Some(arrivals.seconds())));
    let zoomed = arrivals.zoomed();
    let [minute, second, finest] =
        [0, 1, 2].map(|place| zoomed.as_ref().map(|scales| scale(&scales[place], None)));
    let late = arrivals.late();
    json!({"day": day, "minute": minute, "second": second, "finest": finest, "late": late})
}

/// A scale; that of the day has the count of the busiest second of each bin, too.
fn scale(scale: &Scale, seconds: Option<&[u64]>) -> Value {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut value =
        json!({"begins_ns": scale.begins_ns, "bin_ns": scale.bin_ns, "counts": scale.counts});
    if let Some(seconds) = seconds {
        let (first, bin) = (scale.begins_ns / SECOND_NS, scale.bin_ns / SECOND_NS);
        let largest = (0..scale.counts.len() as u64).map(|place| {
            let from = (first + place * bin) as usize;
            let of_bin = seconds.iter().skip(from).take(bin as usize);
            of_bin.max().copied().unwrap_or(0)
        });
        value["largest_second"] = largest.collect();
    }
    value
}

fn gaps(gaps: &Gaps) -> Vec<[u64; 3]> {
    gaps.bins().iter().map(|bin| [bin.low_ns, bin.high_ns, bin.count]).collect()
}
