//! What is printed: a line for each window, and at the end the trend, shifts, and tables.

mod record;
mod text;
mod totals;

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write as _};

use nanotape_console::{
    records::{Columns, RecordFormat, Records},
    status::{Status, warn},
    values::{counted_grouped, grouped},
};
use nanotape_delay::{CONFIDENCE, Combined, Shift, ShiftWatch, Trend, Window, trend};
use nanotape_lab::{pages, text::nanos as time_text};
pub(super) use record::clock_name;
use record::{put_combined, row_record, shift_record, span_record};
use serde_json::{Value, json};
use text::{heading, interval_text, shift_text, table, window_text};
use totals::{LEAST_OF_FEW, LEAST_SHARE, Span, Total, joined, push_span, reason, says_nothing};

use super::{
    Attribute, DelayArguments, FeedClock,
    feed::{Doubt, Stocks},
    nanos_of,
    windows::{Outcome, Row},
};

/// Windows in a row that a shift lasts for.
const SHIFT_WINDOWS: usize = 5;
/// Stocks of the table as text.
const MOST_STOCKS: usize = 20;

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

/// Why there is no delay of all windows.
fn rare_text(all: &Total) -> String {
    format!(
        "no delay of all windows: {} of {} with enough changes have an estimate, and chance gives as many (up \
         to {}%, or {} of few): the delay may be beyond --max-lag, or the feeds show different things",
        grouped(all.estimates),
        counted_grouped(all.examined(), "window"),
        LEAST_SHARE * 100.0,
        LEAST_OF_FEW,
    )
}

/// Both inputs after their end.
pub(super) struct Summary<'a> {
    pub(super) names: [&'a str; 2],
    pub(super) changes: [u64; 2],
    pub(super) losses: [u64; 2],
    pub(super) stocks: &'a Stocks,
    pub(super) status: Status,
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
                _ if self.windows.len() == MOST_WINDOWS || says_nothing(&row.outcome) => {
                    self.windows_left_out += 1;
                }
                _ => self.windows.push(row_record(window, row, stocks)),
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
        push_span(&mut self.spans, span);
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
        if let Some(record) = record.as_object_mut() {
            for name in ["delay_ns", "support", "quality", "left_out"] {
                record.remove(name);
            }
        }
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
        let mut all = self.by(|_| ()).remove(&()).unwrap_or_default();
        all.is_all = true;
        let rare = all.is_rare().then(|| rare_text(&all));
        let text = self.end_text(trend, &all, points.len() as u64, summary.stocks);
        if self.format != RecordFormat::Csv {
            let record = self.record(&summary, trend, &all);
            self.output.result(&text, record)?;
        }
        let fails = self.arguments.fail_on_shift && !self.shifts.is_empty();
        self.output.finish_with(pages::delay)?;
        if points.is_empty() {
            warn(
                "no window has an estimate: try a longer --window, --pool, another --method, or a larger --max-lag",
            );
            return Ok(Status::Bad);
        }
        if let Some(rare) = &rare {
            warn(rare);
        }
        Ok(if fails || rare.is_some() { Status::Bad } else { summary.status })
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
            let slope = total.trend().map(|trend| trend.ns_per_s);
            let left_out: u64 = total.left_out.iter().sum();
            let mut row = json!({
                "symbol": name,
                "attribute": attribute,
                "windows": total.windows(),
                "estimates": total.estimates,
                "refused": total.refused,
                "left_out": left_out,
                "ns_per_s": slope,
            });
            put_combined(&mut row, total.combined());
            row
        });
        let rows: Vec<Value> = rows.collect();
        let mut total = json!({});
        put_combined(&mut total, all.combined());
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
            "total": if all.combined().is_none() { Value::Null } else { total },
            "total_refused": all.is_rare().then(|| rare_text(all)),
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
            counted_grouped(all.estimates, "estimate"),
            grouped(all.refused),
            grouped(all.left_out[Doubt::Gap as usize]),
            grouped(all.left_out[Doubt::Taint as usize]),
        );
        for (reason, count) in &self.refusals {
            let _ = writeln!(text, "  {:>12}  {reason}", grouped(*count));
        }
        if all.is_rare() {
            let _ = writeln!(text, "{}", rare_text(all));
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
        most.sort_by_key(|(stock, total)| (Reverse(total.estimates), **stock));
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
