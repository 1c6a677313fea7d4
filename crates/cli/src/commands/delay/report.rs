//! What is printed: a line for each window, and at the end the trend, shifts, and tables.

use std::{collections::BTreeMap, fmt::Write as _};

use nanotape_clock::UtcNanos;
use nanotape_console::{
    records::{Columns, RecordFormat, Records},
    values::{counted_grouped, grouped},
};
use nanotape_delay::{
    CONFIDENCE, Combined, Combiner, Estimate, NoEstimate, Shift, ShiftWatch, Trend, Window, trend,
};
use nanotape_lab::text::nanos as time_text;
use serde_json::{Value, json};

use super::{
    Attribute, DelayArguments, FeedClock,
    feed::{Doubt, Feed, Stocks},
    nanos_of,
    windows::{Outcome, Row},
};
use crate::status::{Status, tell};

/// Windows in a row that a shift lasts for.
const SHIFT_WINDOWS: usize = 5;
/// Stocks of the table as text.
const MOST_STOCKS: usize = 20;

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
    /// Windows with an estimate.
    windows: u64,
    /// By stock and attribute.
    totals: BTreeMap<(usize, Attribute), Total>,
    refusals: BTreeMap<&'static str, u64>,
    points: Vec<(Window, Combined)>,
    watch: ShiftWatch,
    shifts: Vec<Shift>,
    /// The rows of a page.
    rows: Vec<Value>,
}

/// The windows of an attribute of a stock.
#[derive(Default)]
struct Total {
    estimates: Vec<Estimate>,
    refused: u64,
    left_out: [u64; 2],
}

impl Total {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Estimate(estimate) => self.estimates.push(*estimate),
            Outcome::Refused(_) => self.refused += 1,
            Outcome::LeftOut(doubt) => self.left_out[*doubt as usize] += 1,
        }
    }

    fn windows(&self) -> u64 {
        self.estimates.len() as u64 + self.refused + self.left_out.iter().sum::<u64>()
    }

    fn join(&mut self, other: &Self) {
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
            windows: 0,
            totals: BTreeMap::new(),
            refusals: BTreeMap::new(),
            points: Vec::new(),
            watch: ShiftWatch::new(nanos_of(arguments.shift) as f64, SHIFT_WINDOWS),
            shifts: Vec::new(),
            rows: Vec::new(),
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
        for row in rows {
            self.totals.entry((row.stock, row.attribute)).or_default().add(&row.outcome);
            if let Outcome::Refused(refused) = row.outcome {
                *self.refusals.entry(reason(&refused)).or_default() += 1;
            }
            match self.format {
                RecordFormat::Text => {}
                RecordFormat::Html => self.rows.push(row_record(window, row, stocks)),
                RecordFormat::Csv | RecordFormat::Json => {
                    self.output.result("", row_record(window, row, stocks))?;
                }
            }
        }
        let Some(combined) = combined else { return Ok(()) };
        self.windows += 1;
        self.points.push((window, combined));
        let shift = self.watch.add(window.from_ns, combined);
        if self.format == RecordFormat::Text {
            if self.printed < self.arguments.rows {
                self.printed += 1;
                self.output.heading(&window_text(window, &combined, rows))?;
            }
            if let Some(shift) = shift {
                self.output.heading(&shift_text(&shift))?;
            }
        }
        self.shifts.extend(shift);
        Ok(())
    }

    /// Prints the end, and returns the status of both inputs.
    pub(super) fn end(
        mut self,
        (first, second, stocks): (&mut Feed, &mut Feed, &Stocks),
    ) -> anyhow::Result<Status> {
        let points: Vec<_> =
            self.points.iter().map(|(window, at)| (window.middle_ns(), at.delay_ns)).collect();
        let trend = trend(&points);
        let by_stock = self.by(|(stock, _)| *stock);
        let by_attribute = self.by(|(_, attribute)| *attribute);
        let all = self.by(|_| ()).remove(&()).unwrap_or_default();
        let mut record = self.record(first, second, trend, &all);
        let names = |stock: &usize| stocks.name(*stock);
        record["by_stock"] =
            by_stock.iter().map(|(stock, total)| total_record(&names(stock), total)).collect();
        record["by_attribute"] = by_attribute
            .iter()
            .map(|(attribute, total)| total_record(attribute.name(), total))
            .collect();
        record["table"] = self
            .totals
            .iter()
            .map(|((stock, attribute), total)| {
                let mut record = total_record(&names(stock), total);
                record["symbol"] = names(stock).into();
                record["attribute"] = attribute.name().into();
                record
            })
            .collect();
        record["windows"] = std::mem::take(&mut self.rows).into();
        let text = self.end_text(trend, &all, &by_stock, &by_attribute, names);
        match self.format {
            RecordFormat::Csv => {}
            _ => self.output.result(&text, record)?,
        }
        let (windows, has_shifted) = (self.windows, !self.shifts.is_empty());
        let fails = self.arguments.fail_on_shift && has_shifted;
        self.output.finish_with(|_| String::new())?;
        let symbols = &self.arguments.symbols;
        let statuses = [first.conclude(symbols)?, second.conclude(symbols)?];
        let is_bad = fails || statuses.contains(&Status::Bad);
        if windows == 0 {
            tell(
                "no window had an estimate: try a longer --window, another --method, or --max-lag",
            );
            return Ok(Status::Bad);
        }
        Ok(if is_bad { Status::Bad } else { Status::Good })
    }

    /// The totals, joined by a part of their key.
    fn by<K: Ord>(&self, key: impl Fn(&(usize, Attribute)) -> K) -> BTreeMap<K, Total> {
        let mut joined: BTreeMap<K, Total> = BTreeMap::new();
        for (place, total) in &self.totals {
            joined.entry(key(place)).or_default().join(total);
        }
        joined
    }

    fn record(&self, first: &Feed, second: &Feed, trend: Option<Trend>, all: &Total) -> Value {
        let over_time: Vec<Value> =
            self.points.iter().map(|(window, at)| combined_record(*window, at)).collect();
        let shifts: Vec<Value> = self.shifts.iter().map(shift_record).collect();
        let mut record = total_record("all", all);
        let head = json!({
            "format": "nanotape-lab",
            "version": 1,
            "kind": "delay",
            "first": first.name,
            "second": second.name,
            "clock": clock_name(self.clock),
            "method": self.method,
            "settings": {
                "window_ns": nanos_of(self.arguments.window),
                "every_ns": nanos_of(self.arguments.every.unwrap_or(self.arguments.window)),
                "max_lag_ns": self.arguments.max_lag_ns(),
                "bin_ns": nanos_of(self.arguments.bin),
                "shift_ns": nanos_of(self.arguments.shift),
                "confidence": CONFIDENCE,
            },
            "changes": [first.content.changes, second.content.changes],
            "losses": [first.content.losses, second.content.losses],
            "refusals": self.refusals,
            "over_time": over_time,
            "shifts": shifts,
            "trend": trend.map(|trend| json!({
                "ns_per_s": trend.ns_per_s,
                "low_ns_per_s": trend.low_ns_per_s,
                "high_ns_per_s": trend.high_ns_per_s,
            })),
        });
        if let (Some(record), Value::Object(head)) = (record.as_object_mut(), head) {
            record.extend(head);
        }
        record
    }

    fn end_text(
        &self,
        trend: Option<Trend>,
        all: &Total,
        by_stock: &BTreeMap<usize, Total>,
        by_attribute: &BTreeMap<Attribute, Total>,
        names: impl Fn(&usize) -> String,
    ) -> String {
        let mut text = String::new();
        let left = self.windows - self.printed;
        // Writing to a string cannot fail.
        if left > 0 {
            let _ = writeln!(text, "... and {} more (--rows)", counted_grouped(left, "window"));
        }
        let _ = writeln!(
            text,
            "\n{} with an estimate; {}, {} refused, {} left out for a gap, {} for an unreliable book",
            counted_grouped(self.windows, "window"),
            counted_grouped(all.estimates.len() as u64, "estimate"),
            grouped(all.refused),
            grouped(all.left_out[Doubt::Gap as usize]),
            grouped(all.left_out[Doubt::Taint as usize]),
        );
        for (reason, count) in &self.refusals {
            let _ = writeln!(text, "  {:>12}  {reason}", grouped(*count));
        }
        match trend {
            Some(trend) => {
                let _ = writeln!(
                    text,
                    "trend: {} a second ({} to {})",
                    time_text(trend.ns_per_s),
                    time_text(trend.low_ns_per_s),
                    time_text(trend.high_ns_per_s),
                );
            }
            None => text.push_str("trend: too few windows\n"),
        }
        let _ = writeln!(text, "shifts: {}", self.shifts.len());
        let mut stocks: Vec<_> = by_stock.iter().collect();
        stocks.sort_by_key(|(stock, total)| (std::cmp::Reverse(total.estimates.len()), **stock));
        table(
            &mut text,
            "by stock",
            stocks.iter().take(MOST_STOCKS).map(|(stock, total)| (names(stock), *total)),
        );
        if stocks.len() > MOST_STOCKS {
            let _ = writeln!(text, "... and {} more (json, csv)", stocks.len() - MOST_STOCKS);
        }
        table(
            &mut text,
            "by attribute",
            by_attribute.iter().map(|(attribute, total)| (attribute.name().to_owned(), total)),
        );
        table(&mut text, "together", std::iter::once(("all".to_owned(), all)));
        text
    }
}

fn heading(arguments: &DelayArguments, method: &str, clock: FeedClock) -> String {
    format!(
        "{} behind {}: {method}, windows of {}, delays up to {}, by {}\n{:<30}{:>8}{:>6}{:>9}{:>9}{:>12}  {:<24}{:>10}{:>10}\n",
        arguments.second,
        arguments.first,
        time_text(nanos_of(arguments.window) as f64),
        time_text(arguments.max_lag_ns() as f64),
        match clock {
            FeedClock::Event => "the exchange's time (ts_event)",
            FeedClock::Receive => "receive time (ts_recv)",
        },
        "window",
        "series",
        "used",
        "refused",
        "left out",
        "delay",
        "interval",
        "p05",
        "p95",
    )
}

fn window_text(window: Window, combined: &Combined, rows: &[Row]) -> String {
    let count = |is: fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    format!(
        "{:<30}{:>8}{:>6}{:>9}{:>9}{:>12}  {:<24}{:>10}{:>10}\n",
        UtcNanos::of_unix_ns(window.from_ns.max(0) as u64).to_string(),
        rows.len(),
        combined.estimates,
        count(|outcome| matches!(outcome, Outcome::Refused(_))),
        count(|outcome| matches!(outcome, Outcome::LeftOut(_))),
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
    let mut combiner = Combiner::default();
    for (name, total) in rows {
        let _ = write!(
            text,
            "{name:<14}{:>10}{:>10}{:>9}{:>9}",
            grouped(total.windows()),
            grouped(total.estimates.len() as u64),
            grouped(total.refused),
            grouped(total.left_out.iter().sum()),
        );
        if let Some(at) = combiner.combine(&total.estimates) {
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
    let mut record = json!({
        "kind": "delay-window",
        "from_ns": window.from_ns,
        "until_ns": window.until_ns,
        "symbol": stocks.name(row.stock),
        "attribute": row.attribute.name(),
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

fn combined_record(window: Window, combined: &Combined) -> Value {
    json!({
        "from_ns": window.from_ns,
        "until_ns": window.until_ns,
        "delay_ns": combined.delay_ns,
        "low_ns": combined.low_ns,
        "high_ns": combined.high_ns,
        "p05_ns": combined.p05_ns,
        "p95_ns": combined.p95_ns,
        "estimates": combined.estimates,
    })
}

fn total_record(name: &str, total: &Total) -> Value {
    let combined = Combiner::default().combine(&total.estimates);
    json!({
        "name": name,
        "windows_total": total.windows(),
        "estimates": total.estimates.len(),
        "refused": total.refused,
        "left_out_gap": total.left_out[Doubt::Gap as usize],
        "left_out_taint": total.left_out[Doubt::Taint as usize],
        "delay_ns": combined.map(|at| at.delay_ns),
        "low_ns": combined.map(|at| at.low_ns),
        "high_ns": combined.map(|at| at.high_ns),
        "p05_ns": combined.map(|at| at.p05_ns),
        "p95_ns": combined.map(|at| at.p95_ns),
        "interval_width_ns": combined.map(|_| width(&total.estimates)),
    })
}

fn shift_record(shift: &Shift) -> Value {
    json!({
        "from_ns": shift.from_ns,
        "before_ns": shift.before_ns,
        "after_ns": shift.after_ns,
    })
}

fn clock_name(clock: FeedClock) -> &'static str {
    match clock {
        FeedClock::Event => "ts_event",
        FeedClock::Receive => "ts_recv",
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
