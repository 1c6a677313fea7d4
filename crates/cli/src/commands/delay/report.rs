//! What is printed: a line for each window, and at the end the trend, shifts, and tables.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write as _};

use nanotape_clock::UtcNanos;
use nanotape_console::{
    records::{Columns, RecordFormat, Records},
    values::{counted_grouped, grouped},
};
use nanotape_delay::{
    CONFIDENCE, Combined, Combiner, Estimate, NoEstimate, Shift, ShiftWatch, Trend, Window, trend,
};
use nanotape_lab::{pages, text::nanos as time_text};
use serde_json::{Value, json};

use super::{
    Attribute, DelayArguments, FeedClock,
    feed::{Doubt, Stocks},
    nanos_of,
    windows::{Outcome, Row},
};
use crate::status::{Status, tell};

/// Windows in a row that a shift lasts for.
const SHIFT_WINDOWS: usize = 5;
/// Stocks of the table as text.
const MOST_STOCKS: usize = 20;

/// Spans of the plot over time: more windows are joined.
const MOST_SPANS: usize = 2_000;
/// Single windows in a record; more are counted.
const MOST_WINDOWS: usize = 20_000;

/// Correlations of windows in a record.
const MOST_CURVES: usize = 8;

/// The columns of CSV.
const COLUMNS: Columns = &[
    ("from_ns", "/from_ns"),
    ("until_ns", "/until_ns"),
    ("symbol", "/symbol"),
    ("attribute", "/attribute"),
    ("delay_ns", "/delay_ns"),
    ("low_ns", "/low_ns"),
    ("high_ns", "/high_ns"),
    ("support", "/support"),
    ("quality", "/quality"),
    ("refused", "/refused"),
    ("left_out", "/left_out"),
];

pub(super) struct Report<'a> {
    arguments: &'a DelayArguments,
    method: &'static str,
    clock: FeedClock,
    format: RecordFormat,
    output: Records,
    /// Windows that were printed as text.
    printed: u64,
    /// By stock and attribute.
    totals: BTreeMap<(usize, Attribute), Total>,
    refusals: BTreeMap<&'static str, u64>,
    spans: Vec<Span>,
    watch: ShiftWatch,
    shifts: Vec<Shift>,
    windows: Vec<Value>,
    windows_left_out: u64,
    curves: Vec<Value>,
    /// What a kind of input adds.
    more: (String, Value),
}

/// All series of a window.
struct Span {
    window: Window,
    combined: Option<Combined>,
    refused: u64,
    left_out: u64,
}

/// Both inputs after their end.
pub(super) struct Summary<'a> {
    pub(super) names: [&'a str; 2],
    pub(super) changes: [u64; 2],
    pub(super) losses: [u64; 2],
    pub(super) stocks: &'a Stocks,
    pub(super) status: Status,
}

/// The windows of an attribute of a stock.
#[derive(Default)]
struct Total {
    times_ns: Vec<i64>,
    estimates: Vec<Estimate>,
    refused: u64,
    left_out: [u64; 2],
}

impl Total {
    fn add(&mut self, window: Window, outcome: &Outcome) {
        match outcome {
            Outcome::Estimate(estimate) => {
                self.times_ns.push(window.middle_ns());
                self.estimates.push(*estimate);
            }
            Outcome::Refused(_) => self.refused += 1,
            Outcome::LeftOut(doubt) => self.left_out[*doubt as usize] += 1,
        }
    }

    fn windows(&self) -> u64 {
        self.estimates.len() as u64 + self.refused + self.left_out.iter().sum::<u64>()
    }

    fn join(&mut self, other: &Self) {
        self.times_ns.extend_from_slice(&other.times_ns);
        self.estimates.extend_from_slice(&other.estimates);
        self.refused += other.refused;
        for (own, other) in self.left_out.iter_mut().zip(other.left_out) {
            *own += other;
        }
    }
}

impl<'a> Report<'a> {
    pub(super) fn open(
        arguments: &'a DelayArguments,
        method: &'static str,
        clock: FeedClock,
    ) -> anyhow::Result<Self> {
        let format = arguments.output.format_or(RecordFormat::Text)?;
        let mut output = arguments.output.records_or(RecordFormat::Text, COLUMNS)?;
        output.heading(&heading(arguments, method, clock))?;
        Ok(Self {
            arguments,
            method,
            clock,
            format,
            output,
            printed: 0,
            totals: BTreeMap::new(),
            refusals: BTreeMap::new(),
            spans: Vec::new(),
            watch: ShiftWatch::new(nanos_of(arguments.shift) as f64, SHIFT_WINDOWS),
            shifts: Vec::new(),
            windows: Vec::new(),
            windows_left_out: 0,
            curves: Vec::new(),
            more: (String::new(), Value::Null),
        })
    }

    /// The rows of a window, and their median.
    pub(super) fn window(
        &mut self,
        window: Window,
        rows: &[Row],
        combined: Option<Combined>,
        stocks: &Stocks,
    ) -> anyhow::Result<()> {
        let mut span = Span { window, combined, refused: 0, left_out: 0 };
        for row in rows {
            self.totals.entry((row.stock, row.attribute)).or_default().add(window, &row.outcome);
            match row.outcome {
                Outcome::Estimate(_) => {}
                Outcome::Refused(refused) => {
                    span.refused += 1;
                    *self.refusals.entry(reason(&refused)).or_default() += 1;
                }
                Outcome::LeftOut(_) => span.left_out += 1,
            }
            match self.format {
                RecordFormat::Text => {}
                RecordFormat::Csv => self.output.result("", row_record(window, row, stocks))?,
                _ if self.windows.len() < MOST_WINDOWS => {
                    self.windows.push(row_record(window, row, stocks));
                }
                _ => self.windows_left_out += 1,
            }
        }
        if let Some(combined) = combined {
            if self.printed < self.arguments.rows {
                self.printed += 1;
                self.output.heading(&window_text(&span, &combined))?;
            }
            let shift = self.watch.add(window.from_ns, combined);
            if let Some(shift) = shift {
                self.output.heading(&shift_text(&shift))?;
            }
            self.shifts.extend(shift);
        }
        if self.arguments.is_live() && self.format == RecordFormat::Json {
            let mut record = span_record(&span);
            record["kind"] = "delay-span".into();
            self.output.passing("", &record)?;
        }
        self.spans.push(span);
        Ok(())
    }

    /// Whether the correlations of windows are part of the output.
    pub(super) fn has_curves(&self) -> bool {
        matches!(self.format, RecordFormat::Json | RecordFormat::Html)
    }

    /// The correlation of a window; the last ones are kept.
    pub(super) fn curve(
        &mut self,
        window: Window,
        row: &Row,
        stocks: &Stocks,
        points: &[(f64, f64)],
    ) {
        if self.curves.len() == MOST_CURVES {
            self.curves.remove(0);
        }
        let mut record = row_record(window, row, stocks);
        record["peak_ns"] = record["delay_ns"].take();
        record["lags_ns"] = points.iter().map(|point| point.0).collect();
        record["values"] = points.iter().map(|point| point.1).collect();
        self.curves.push(record);
    }

    /// Adds lines to the text, and values to the record.
    pub(super) fn extend(&mut self, text: String, values: Value) {
        self.more = (text, values);
    }

    /// Prints the end, and returns the status of the command.
    pub(super) fn end(mut self, summary: Summary<'_>) -> anyhow::Result<Status> {
        let points: Vec<_> = self
            .spans
            .iter()
            .filter_map(|span| Some((span.window.middle_ns(), span.combined?.delay_ns)))
            .collect();
        let trend = trend(&points);
        let all = self.by(|_| ()).remove(&()).unwrap_or_default();
        let text = self.end_text(trend, &all, points.len() as u64, summary.stocks);
        if self.format != RecordFormat::Csv {
            let record = self.record(&summary, trend, &all);
            self.output.result(&text, record)?;
        }
        let fails = self.arguments.fail_on_shift && !self.shifts.is_empty();
        self.output.finish_with(pages::delay)?;
        if points.is_empty() {
            tell(
                "no window has an estimate: try a longer --window, --pool, another --method, or a larger --max-lag",
            );
            return Ok(Status::Bad);
        }
        Ok(if fails { Status::Bad } else { summary.status })
    }

    /// The totals, joined by a part of their key.
    fn by<K: Ord>(&self, key: impl Fn(&(usize, Attribute)) -> K) -> BTreeMap<K, Total> {
        let mut joined: BTreeMap<K, Total> = BTreeMap::new();
        for (place, total) in &self.totals {
            joined.entry(key(place)).or_default().join(total);
        }
        joined
    }

    /// The record of docs/formats/lab-delay.md.
    fn record(&mut self, summary: &Summary<'_>, trend: Option<Trend>, all: &Total) -> Value {
        let [first, second] = summary.names;
        let rows = self.totals.iter().map(|((stock, attribute), total)| {
            let name = attribute.is_of_a_stock().then(|| summary.stocks.name(*stock));
            let attribute = attribute.is_of_a_stock().then(|| attribute.name());
            let slope = trend_of(total).map(|trend| trend.ns_per_s);
            let left_out: u64 = total.left_out.iter().sum();
            let mut row = json!({
                "symbol": name,
                "attribute": attribute,
                "windows": total.windows(),
                "estimates": total.estimates.len(),
                "refused": total.refused,
                "left_out": left_out,
                "ns_per_s": slope,
            });
            put_combined(&mut row, combined_of(&total.estimates));
            row
        });
        let rows: Vec<Value> = rows.collect();
        let mut total = json!({});
        put_combined(&mut total, combined_of(&all.estimates));
        let mut record = json!({
            "format": "nanotape-lab",
            "version": 1,
            "kind": "delay",
            "name": format!("{second} behind {first}"),
            "clock": clock_name(self.clock),
            "first": first,
            "second": second,
            "method": self.method,
            "settings": self.arguments.settings(),
            "confidence": CONFIDENCE,
            "window_ns": self.arguments.window_ns(),
            "changes": summary.changes,
            "losses": summary.losses,
            "refusals": self.refusals,
            "total": if all.estimates.is_empty() { Value::Null } else { total },
            "trend": trend.map(|trend| json!({
                "ns_per_s": trend.ns_per_s,
                "low_ns_per_s": trend.low_ns_per_s,
                "high_ns_per_s": trend.high_ns_per_s,
            })),
            "shifts": self.shifts.iter().map(shift_record).collect::<Vec<_>>(),
            "over_time": joined(&self.spans).iter().map(span_record).collect::<Vec<_>>(),
            "rows": rows,
            "windows": std::mem::take(&mut self.windows),
            "windows_left_out": self.windows_left_out,
            "correlations": std::mem::take(&mut self.curves),
            "matrix": null,
        });
        if let (Some(record), Value::Object(more)) = (record.as_object_mut(), self.more.1.take()) {
            record.extend(more);
        }
        record
    }

    fn end_text(&self, trend: Option<Trend>, all: &Total, windows: u64, stocks: &Stocks) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        if windows > self.printed {
            let left = counted_grouped(windows - self.printed, "window");
            let _ = writeln!(text, "... and {left} more (--rows)");
        }
        let _ = writeln!(
            text,
            "\n{} with an estimate; {}, {} refused, {} left out for a gap, {} for an unreliable book",
            counted_grouped(windows, "window"),
            counted_grouped(all.estimates.len() as u64, "estimate"),
            grouped(all.refused),
            grouped(all.left_out[Doubt::Gap as usize]),
            grouped(all.left_out[Doubt::Taint as usize]),
        );
        for (reason, count) in &self.refusals {
            let _ = writeln!(text, "  {:>12}  {reason}", grouped(*count));
        }
        let _ = match trend {
            Some(trend) => writeln!(
                text,
                "trend: {} a second ({})",
                time_text(trend.ns_per_s),
                interval_text(trend.low_ns_per_s, trend.high_ns_per_s),
            ),
            None => writeln!(text, "trend: too few windows"),
        };
        let _ = writeln!(text, "shifts: {}", self.shifts.len());
        text.push_str(&self.more.0);
        if self.totals.keys().all(|(_, attribute)| !attribute.is_of_a_stock()) {
            return text;
        }
        let by_stock = self.by(|(stock, _)| *stock);
        let mut most: Vec<_> = by_stock.iter().collect();
        most.sort_by_key(|(stock, total)| (Reverse(total.estimates.len()), **stock));
        let names =
            most.iter().take(MOST_STOCKS).map(|(stock, total)| (stocks.name(**stock), *total));
        table(&mut text, "by stock", names);
        if most.len() > MOST_STOCKS {
            let _ = writeln!(text, "... and {} more (--format json)", most.len() - MOST_STOCKS);
        }
        let by_attribute = self.by(|(_, attribute)| *attribute);
        if by_attribute.len() > 1 {
            let rows =
                by_attribute.iter().map(|(attribute, total)| (attribute.name().to_owned(), total));
            table(&mut text, "by attribute", rows);
            table(&mut text, "together", std::iter::once(("all".to_owned(), all)));
        }
        text
    }
}

fn heading(arguments: &DelayArguments, method: &str, clock: FeedClock) -> String {
    let first = arguments.first.as_deref().unwrap_or("line A");
    let second = arguments.second.as_deref().unwrap_or("line B");
    format!(
        "{} behind {}: {method}, windows of {}, delays up to {}, by {}\n{:<30}{:>6}{:>9}{:>9}{:>12}  {:<26}{:>10}{:>10}\n",
        second,
        first,
        time_text(arguments.window_ns() as f64),
        time_text(arguments.method.max_lag_ns() as f64),
        match clock {
            FeedClock::Event => "the exchange's time (ts_event)",
            FeedClock::Receive => "receive time (ts_recv)",
        },
        "window",
        "used",
        "refused",
        "left out",
        "delay",
        "interval",
        "p05",
        "p95",
    )
}

fn window_text(span: &Span, combined: &Combined) -> String {
    format!(
        "{:<30}{:>6}{:>9}{:>9}{:>12}  {:<26}{:>10}{:>10}\n",
        UtcNanos::of_unix_ns(span.window.from_ns.max(0) as u64).to_string(),
        combined.estimates,
        span.refused,
        span.left_out,
        time_text(combined.delay_ns).to_string(),
        interval_text(combined.low_ns, combined.high_ns),
        time_text(combined.p05_ns).to_string(),
        time_text(combined.p95_ns).to_string(),
    )
}

fn interval_text(low_ns: f64, high_ns: f64) -> String {
    format!("{} to {}", time_text(low_ns), time_text(high_ns))
}

fn shift_text(shift: &Shift) -> String {
    format!(
        "SHIFT from {} to {} since {}\n",
        time_text(shift.before_ns),
        time_text(shift.after_ns),
        UtcNanos::of_unix_ns(shift.from_ns.max(0) as u64),
    )
}

fn table<'t>(text: &mut String, what: &str, rows: impl Iterator<Item = (String, &'t Total)>) {
    let _ = writeln!(
        text,
        "\n{what:<14}{:>10}{:>10}{:>9}{:>9}{:>12}{:>12}{:>12}  interval of one, median",
        "windows", "estimates", "refused", "left out", "delay", "p05", "p95",
    );
    for (name, total) in rows {
        let _ = write!(
            text,
            "{name:<14}{:>10}{:>10}{:>9}{:>9}",
            grouped(total.windows()),
            grouped(total.estimates.len() as u64),
            grouped(total.refused),
            grouped(total.left_out.iter().sum()),
        );
        if let Some(at) = combined_of(&total.estimates) {
            let _ = write!(
                text,
                "{:>12}{:>12}{:>12}  {}",
                time_text(at.delay_ns).to_string(),
                time_text(at.p05_ns).to_string(),
                time_text(at.p95_ns).to_string(),
                time_text(width(&total.estimates)),
            );
        }
        text.push('\n');
    }
}

/// The median width of the intervals.
fn width(estimates: &[Estimate]) -> f64 {
    let mut widths: Vec<f64> =
        estimates.iter().map(|estimate| estimate.high_ns - estimate.low_ns).collect();
    widths.sort_by(f64::total_cmp);
    widths.get(widths.len() / 2).copied().unwrap_or(0.0)
}

fn row_record(window: Window, row: &Row, stocks: &Stocks) -> Value {
    let is_of_a_stock = row.attribute.is_of_a_stock();
    let mut record = json!({
        "from_ns": window.from_ns,
        "until_ns": window.until_ns,
        "symbol": is_of_a_stock.then(|| stocks.name(row.stock)),
        "attribute": is_of_a_stock.then(|| row.attribute.name()),
    });
    match row.outcome {
        Outcome::Estimate(estimate) => {
            record["delay_ns"] = estimate.delay_ns.into();
            record["low_ns"] = estimate.low_ns.into();
            record["high_ns"] = estimate.high_ns.into();
            record["support"] = estimate.support.into();
            record["quality"] = estimate.quality.into();
        }
        Outcome::Refused(refused) => record["refused"] = refused.to_string().into(),
        Outcome::LeftOut(doubt) => record["left_out"] = doubt_name(doubt).into(),
    }
    record
}

fn span_record(span: &Span) -> Value {
    let mut record = json!({
        "from_ns": span.window.from_ns,
        "until_ns": span.window.until_ns,
        "refused": span.refused,
        "left_out": span.left_out,
    });
    put_combined(&mut record, span.combined);
    record
}

/// Adds the members of a combined delay; null without one.
fn put_combined(record: &mut Value, combined: Option<Combined>) {
    record["delay_ns"] = combined.map(|at| at.delay_ns).into();
    record["low_ns"] = combined.map(|at| at.low_ns).into();
    record["high_ns"] = combined.map(|at| at.high_ns).into();
    record["p05_ns"] = combined.map(|at| at.p05_ns).into();
    record["p95_ns"] = combined.map(|at| at.p95_ns).into();
    record["estimates"] = combined.map_or(0, |at| at.estimates).into();
}

/// At most so many spans: successive windows are joined.
fn joined(spans: &[Span]) -> Vec<Span> {
    let together = spans.len().div_ceil(MOST_SPANS).max(1);
    let joined = spans.chunks(together).map(|spans| {
        let delays: Vec<Estimate> =
            spans.iter().filter_map(|span| span.combined.map(of_combined)).collect();
        let estimates = spans.iter().filter_map(|span| span.combined).map(|at| at.estimates).sum();
        let combined = match spans {
            [only] => only.combined,
            _ => combined_of(&delays).map(|at| Combined { estimates, ..at }),
        };
        let window = Window {
            from_ns: spans[0].window.from_ns,
            until_ns: spans[spans.len() - 1].window.until_ns,
        };
        let (refused, left_out) =
            spans.iter().fold((0, 0), |sums, span| (sums.0 + span.refused, sums.1 + span.left_out));
        Span { window, combined, refused, left_out }
    });
    joined.collect()
}

fn of_combined(at: Combined) -> Estimate {
    let Combined { delay_ns, low_ns, high_ns, estimates: support, .. } = at;
    Estimate { delay_ns, low_ns, high_ns, support, quality: 1.0 }
}

fn combined_of(estimates: &[Estimate]) -> Option<Combined> {
    Combiner::default().combine(estimates)
}

fn trend_of(total: &Total) -> Option<Trend> {
    let delays = total.estimates.iter().map(|estimate| estimate.delay_ns);
    let points: Vec<_> = total.times_ns.iter().copied().zip(delays).collect();
    trend(&points)
}

fn shift_record(shift: &Shift) -> Value {
    json!({
        "from_ns": shift.from_ns,
        "before_ns": shift.before_ns,
        "after_ns": shift.after_ns,
    })
}

pub(super) fn clock_name(clock: FeedClock) -> &'static str {
    match clock {
        FeedClock::Event => "event",
        FeedClock::Receive => "receive",
    }
}

fn doubt_name(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::Gap => "gap",
        Doubt::Taint => "taint",
    }
}

/// The kind of a refusal.
fn reason(refused: &NoEstimate) -> &'static str {
    match refused {
        NoEstimate::FewChanges { .. } => "too few changes",
        NoEstimate::FewMatches { .. } => "too few matches",
        NoEstimate::WeakPeak { .. } => "the feeds do not resemble each other at any lag",
        NoEstimate::AmbiguousPeak { .. } => "another lag fits nearly as well",
        NoEstimate::AtTheEdge { .. } => {
            "the delay is at the end of the search or beyond (--max-lag)"
        }
    }
}
