//! A day one message at a time, as a live feed delivers it: nothing is prefetched, since the next
//! messages are unknown.
//!
//! Cost: two stamps a message, both fenced, so that a message begins when the previous one is done.
//! Every sample contains the time of an empty pair. It is reported too, and never subtracted.

use core::fmt::Write as _;

use nanotape_clock::Clock;
use nanotape_console::values::grouped;
use nanotape_feed::{DaySource, SourceError, handle_message};
use nanotape_lab::statistics::order::median;
use nanotape_market::{EventHandler, Position};
use nanotape_trace::Histogram;
use nanotape_wire::itch50::Message;
use serde_json::{Value, json};

use super::{
    limits::for_each_record,
    reading::{Answer, DayReading},
};
use crate::engine::{Benchmark, Figure, Measured, Reading, Run, Times, figures};

/// Runs one day. `add` gets the type of each message and its time from bytes to a handled event.
pub(super) fn run(
    source: &mut DaySource,
    clock: &Clock,
    handler: &mut impl EventHandler,
    mut add: impl FnMut(u8, u64),
) -> Result<(), SourceError> {
    let mut number = 0;
    for_each_record(source, |record| {
        number += 1;
        let position = Position { number, offset: record.offset };
        let began = clock.stamp_start();
        let applied = Message::decode(record.bytes)
            .map(|message| handle_message(position, &message, &mut *handler));
        let ended = clock.stamp();
        // Every message of a valid day decodes. If one does not, the answer lacks it.
        if let (Ok(_), Some(&tag)) = (applied, record.bytes.first()) {
            add(tag, clock.nanos_between(began, ended));
        }
    })
}

/// A named quantile.
type Quantile = (&'static str, fn(&Times) -> f64);

const QUANTILES: [Quantile; 5] = [
    ("p50", |times| times.p50_ns as f64),
    ("p90", |times| times.p90_ns as f64),
    ("p99", |times| times.p99_ns as f64),
    ("p99.9", |times| times.p999_ns as f64),
    ("p99.99", |times| times.p9999_ns as f64),
];

/// The report of a process.
pub(super) fn report(histogram: &Histogram, clock: &Clock, answer: Answer) -> Reading {
    let day = DayReading { answer, ..DayReading::default() };
    Reading { times: Some(Times::of(histogram, clock)), day, ..Reading::default() }
}

/// The JSON of single messages; null if they were not timed.
fn to_json<B: Benchmark>(row: &Measured<B>, run: &Run<B>) -> Value {
    let times: Vec<Times> = row.others.iter().filter_map(|reading| reading.times).collect();
    let Some(first) = times.first() else { return Value::Null };
    let over = |number: fn(&Times) -> f64| median(&times.iter().map(number).collect::<Vec<_>>());
    let mut object = json!({
        "count": first.count,
        "max_ns": times.iter().map(|times| times.max_ns).max(),
        "clock_ns": over(|times| times.clock_ns),
        "clock": run.context.clock.source().to_string(),
    });
    for (name, quantile) in QUANTILES {
        object[format!("{name}_ns")] = json!(over(quantile));
    }
    object
}

impl<B: Benchmark> Figure<Measured<B>, Run<B>> {
    /// The times of single messages.
    pub(super) const ONE_BY_ONE: &'static [Self] = figures! {
        /// Times of single messages, one at a time without prefetching: from their bytes to the
        /// books, or to the published records of a plant. They include the time of the clock. null
        /// for rows without these times
        "latency": "object or null" = |row, run| to_json(row, run);
        /// Messages of one run
        "latency/count": "number";
        /// Quantiles; the median over rounds of each
        "latency/p50_ns": "number";
        /// As `p50_ns`
        "latency/p90_ns": "number";
        /// As `p50_ns`
        "latency/p99_ns": "number";
        /// As `p50_ns`
        "latency/p99.9_ns": "number";
        /// As `p50_ns`
        "latency/p99.99_ns": "number";
        /// The longest time of all rounds
        "latency/max_ns": "number";
        /// The time of an empty pair of stamps, which is in every time
        "latency/clock_ns": "number";
        /// The name of the clock
        "latency/clock": "text";
    };
}

/// The table of single messages; empty if none were timed.
pub(super) fn table<B: Benchmark>(run: &Run<B>) -> String {
    let mut text = String::new();
    for row in &run.measured {
        let times = to_json(row, run);
        if times.is_null() {
            continue;
        }
        if text.is_empty() {
            let _ = write!(
                text,
                "\nSingle messages, one at a time, nothing loaded ahead: ns, each includes {:.0} ns \
                 for reading the clock ({})\n  {:<28}",
                times["clock_ns"].as_f64().unwrap_or(f64::NAN),
                run.context.clock.source(),
                ""
            );
            QUANTILES.iter().for_each(|(name, _)| _ = write!(text, " {name:>8}"));
            let _ = writeln!(text, " {:>10}", "max");
        }
        let _ = write!(text, "  {:<28}", row.row.name);
        for (name, _) in QUANTILES {
            let nanos = times[format!("{name}_ns")].as_f64().unwrap_or(f64::NAN);
            let _ = write!(text, " {:>8}", grouped(nanos as u64));
        }
        let _ = writeln!(text, " {:>10}", grouped(times["max_ns"].as_u64().unwrap_or(0)));
    }
    text
}
