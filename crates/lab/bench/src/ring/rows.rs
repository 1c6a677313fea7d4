//! The rows of `nanotape lab bench ring`, one line each, in the order of the table.

use nanotape_console::values::grouped;

use serde_json::{Value, json};

use super::Ring;
use crate::engine::{
    Amount, Benchmark as _, Figure, Figures, Measured, Row, Run, Section, Spread, Taken, figures,
    sections,
    shared::{DUE, LONGEST, QUANTILES, READER, WRITER},
    table,
};

/// Every row.
pub(super) const ROWS: &[Row<Ring>] = &[
    stream("stream/latency", &ONE_WAY, What::OneWay),
    slots("slots/latency", &ONE_WAY, What::OneWay),
    stream("stream/round-trip", &ROUND_TRIP, What::RoundTrip),
    slots("slots/round-trip", &ROUND_TRIP, What::RoundTrip),
    stream("stream/throughput/lossless-single", &THROUGHPUT, LOSSLESS_SINGLE),
    stream("stream/throughput/lossless-batch-read", &THROUGHPUT, LOSSLESS_BATCH_READ),
    stream("stream/throughput/single", &THROUGHPUT, SINGLE),
    stream("stream/throughput/batch-read", &THROUGHPUT, BATCH_READ),
    stream("stream/throughput/batch", &THROUGHPUT, BATCH),
    slots("slots/throughput/lossless-single", &THROUGHPUT, LOSSLESS_SINGLE),
    slots("slots/throughput/lossless-batch-read", &THROUGHPUT, LOSSLESS_BATCH_READ),
    slots("slots/throughput/single", &THROUGHPUT, SINGLE),
    slots("slots/throughput/batch-read", &THROUGHPUT, BATCH_READ),
    slots("slots/throughput/batch", &THROUGHPUT, BATCH),
    stream("stream/throughput/readers-1", &READERS, What::Readers(1)),
    stream("stream/throughput/readers-2", &READERS, What::Readers(2)),
    stream("stream/throughput/readers-3", &READERS, What::Readers(3)),
    stream("stream/throughput/readers-4", &READERS, What::Readers(4)),
    slots("slots/throughput/readers-1", &READERS, What::Readers(1)),
    slots("slots/throughput/readers-2", &READERS, What::Readers(2)),
    slots("slots/throughput/readers-3", &READERS, What::Readers(3)),
    slots("slots/throughput/readers-4", &READERS, What::Readers(4)),
    row(LINE, &LINES, None, What::Line { pause: false }),
    row("limit/line-pause", &LINES, None, What::Line { pause: true }),
    row(MEMCPY, &LIMITS, None, What::Copy),
    row("limit/store-stream", &LIMITS, Some("stream"), What::Store),
    row("limit/store-slots", &LIMITS, Some("slots"), What::Store),
];

/// The row of the bounced line, a base for others.
pub(super) const LINE: &str = "limit/line";

/// The row of the copies, a base for others.
pub(super) const MEMCPY: &str = "limit/memcpy";

const SINGLE: What = What::Flow { paced: false, write_batches: false, read_batches: false };
const BATCH_READ: What = What::Flow { paced: false, write_batches: false, read_batches: true };
const BATCH: What = What::Flow { paced: false, write_batches: true, read_batches: true };
const LOSSLESS_SINGLE: What = What::Flow { paced: true, write_batches: false, read_batches: false };
const LOSSLESS_BATCH_READ: What =
    What::Flow { paced: true, write_batches: false, read_batches: true };

/// The property that differs between rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Work {
    /// The ring, if the row has one: `stream` or `slots`.
    pub(super) design: Option<&'static str>,
    pub(super) what: What,
}

/// The work of the processes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    OneWay,
    RoundTrip,
    Flow { paced: bool, write_batches: bool, read_batches: bool },
    Readers(usize),
    Line { pause: bool },
    Copy,
    Store,
}

sections! {
    Ring:
    ONE_WAY = "one way" times [QUANTILES, LONGEST, DUE, &["lost_of_timed"], END] |run|
        format!(
            "One way: ns from the stamp before publishing to the end of the copy, {} messages a \
            second; line: half a round trip of {LINE}",
            grouped(run.options.rate.into())
        );
    ROUND_TRIP = "round trip" times [QUANTILES, LONGEST, &["latency/half_p50_ns"], END] |_|
        format!("Round trip: ns there and back, one message at a time; line: {LINE}");
    THROUGHPUT = "throughput" rates [WRITER, READER, &["lost_share", "batch_p50"], END] |_|
        "Throughput: million messages a second, by writer and reader";
    READERS = "readers" rates [WRITER, READER, &["lost_share", "batch_p50"], END] |_|
        "Readers: million messages a second, by the writer and by the slowest of its readers";
    LINES = "limits" times [QUANTILES, LONGEST, &["latency/half_p50_ns"], END] |_|
        "Limits: one cache line, written by two processes in turns, ns there and back";
    LIMITS = "limits" rates [WRITER, END] |_|
        "Limits: million messages a second, copied in and out by one processor, or published \
         without readers";
}

const END: &[&str] = &["others", "ratio_or_shares"];

/// Format: docs/formats/lab-bench-ring.md.
pub(super) const FIGURES: Figures<Ring> = &[
    Figure::COMMON,
    Figure::SECTION,
    figures! {
        /// `stream`, `slots`; null for limits of the machine alone
        "design": "text or null" = |row, _| row.row.work.design;
        /// The duration of a reading; null if it has a number of messages
        "seconds": "number or null" = |_, run| match run.options.amount() {
            Amount::Seconds(seconds) => Some(seconds),
            Amount::Messages(_) => None,
        };
        /// The messages of a reading; null if it has a duration
        "messages": "number or null" = |_, run| run.options.messages;
        /// Due messages a second; only for `one way`
        "rate_per_second": "number or null" = |row, run| {
            (row.row.work.what == What::OneWay).then_some(run.options.rate)
        };
        /// Payload of a message
        "message_bytes": "number" = |_, run| run.options.length;
        /// Size of a ring; a `slots` ring has the largest power of two of slots that fits into it
        "capacity_bytes": "number" = |_, run| run.options.capacity;
        /// `writer` (number), `readers` (list of numbers, one for each reader): processors
        "cpus": "object" = |row, run| {
            json!({ "writer": run.cpus.writer, "readers": run.cpus.of_readers(readers(row)) })
        };
        /// Reading processes
        "readers": "number" = |row, _| readers(row);
        /// Whether a reader has no processor of its own; such readers yield
        "readers_share_processors": "true or false" = |row, run| {
            run.cpus.are_short_for(readers(row))
        };
        /// Sums over all rounds and readers: `published`, and `read`, `lost` and `accounted` (the
        /// sum of both), which are null without a reader. In a round, every reader must account for
        /// everything that was published. Otherwise the command ends with status 1 and writes no
        /// list
        "answer": "object" = |row, _| answer(row);
        /// From 0 to 1: the share of published messages that readers lost; the median over rounds
        "lost_share": "number or null" ["lost" 8 lost] = |row, _| {
            table::median(lost_share(row))
        };
        "lost_of_timed": text ["lost" 9 lost] = |row, _| table::median(lost_share(row));
        /// Messages in the median batch, if messages are read in batches; the median over rounds
        "batch_p50": "number or null" ["batch" 8 plain] = |row, _| batch_p50(row);
        "ratio_or_shares": text [" ratio" 0 words] = |row, run| ratio(row, run);
        /// Half of `p50_ns`; null one way
        "latency/half_p50_ns": "number or null" ["half" 9 whole];
    },
    Figure::LATENCY,
    Figure::REVERSED,
    Figure::DUE,
    Figure::PAIR,
];

fn readers(row: &Measured<Ring>) -> usize {
    Ring::readers(row.row)
}

/// Counts of messages over all rounds and readers.
fn answer(row: &Measured<Ring>) -> Value {
    let sum = |number| (readers(row) > 0).then(|| row.taken(number));
    json!({
        "published": row.written(),
        "read": sum(|taken| taken.messages),
        "lost": sum(|taken| taken.lost),
        "accounted": sum(Taken::accounted),
    })
}

/// The ratio to the base, and whether readers share processors.
fn ratio(row: &Measured<Ring>, run: &Run<Ring>) -> String {
    let mut text = format!(" {}", table::ratio_text(row.ratio(run)));
    let readers = readers(row);
    if readers > 1 && run.cpus.are_short_for(readers) {
        let processors = run.cpus.readers.len().min(readers);
        let noun = if processors == 1 { "processor" } else { "processors" };
        text += &format!("; {readers} readers share {processors} {noun}");
    }
    text
}

/// Share of the messages that readers lost.
pub(super) fn lost_share(row: &Measured<Ring>) -> Option<Spread> {
    let may_be_of_interest = Ring::may_lose(row.row) || !row.row.section.is_timed;
    row.spread(|reading| reading.lost_share()).filter(|_| may_be_of_interest)
}

/// Size of the median batch.
pub(super) fn batch_p50(row: &Measured<Ring>) -> Option<f64> {
    let size = row.spread(|reading| Some(reading.taken.first()?.batch_p50? as f64));
    table::median(size)
}

const fn stream(name: &'static str, section: &'static Section<Ring>, what: What) -> Row<Ring> {
    row(name, section, Some("stream"), what)
}

const fn slots(name: &'static str, section: &'static Section<Ring>, what: What) -> Row<Ring> {
    row(name, section, Some("slots"), what)
}

const fn row(
    name: &'static str,
    section: &'static Section<Ring>,
    design: Option<&'static str>,
    what: What,
) -> Row<Ring> {
    Row { name, section, work: Work { design, what } }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::row::select;

    #[test]
    fn names_are_words_and_differ() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        assert!(names.iter().all(|name| !name.contains([' ', ','])));
        assert!(names.contains(LINE) && names.contains(MEMCPY));
    }

    #[test]
    fn names_select_rows_and_those_below_them() {
        let select = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            select::<Ring>(&names)
        };
        assert_eq!(select(&[]).unwrap().len(), ROWS.len());
        let rows = select(&["limit/line", "stream/throughput/lossless-single"]).unwrap();
        let rows: Vec<&str> = rows.iter().map(|row| row.name).collect();
        assert_eq!(rows, ["stream/throughput/lossless-single", "limit/line"]);
        assert_eq!(select(&["slots"]).unwrap().len(), 11);
        let error = select(&["stre"]).unwrap_err().to_string();
        assert!(error.starts_with("no row is named stre or starts with it; use one of "));
    }
}
