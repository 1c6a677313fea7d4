//! The rows of `nanotape lab bench latest`, one line each, in the order of the table.

use nanotape_console::values::grouped;
use nanotape_lab::statistics::order::median;

use super::Latest;
use crate::engine::{
    Amount, Benchmark as _, Figure, Figures, Measured, Row, Run, Section, figures, sections,
    shared::{END, LONGEST, QUANTILES},
    table,
};

pub(super) const UPDATE: &str = "update/key-8/threads-1";
const GET: &str = "get/key-8/threads-1";
const GET_OF_TWO: &str = "get/key-8/processes-2";
const UPDATE_OF_TWO_THREADS: &str = "update/key-8/threads-2";
pub(super) const UPDATE_OF_TWO: &str = "update/key-8/processes-2";
pub(super) const LATENCY_OF_UPDATES: &str = "latency/update";
pub(super) const LOAD: &str = "limit/load";
pub(super) const LOADS: &str = "limit/threads-1/loads";
pub(super) const LOADS_OF_TWO: &str = "limit/threads-2/loads";
pub(super) const ADDS: &str = "limit/threads-1/adds";
pub(super) const ADDS_OF_TWO: &str = "limit/threads-2/adds";
pub(super) const STD_GET: &str = "limit/std/get";
pub(super) const STD_UPDATE: &str = "limit/std/update";
pub(super) const STD_INSERT: &str = "limit/std/insert";
const STD_LATENCY: &str = "limit/std/latency";
const INSERT: &str = "insert/key-8/threads-1";
const LARGER_INSERT: &str = "insert/key-16/threads-1";

/// Keys that have half of all updates in `update/ten-keys`.
pub(super) const HOT_KEYS: u64 = 10;

/// Every row.
pub(super) const ROWS: &[Row<Latest>] = &[
    map(UPDATE, &UPDATES, What::Update, 1, Sides::One),
    map(UPDATE_OF_TWO_THREADS, &UPDATES, What::Update, 1, Sides::Threads),
    map(UPDATE_OF_TWO, &UPDATES, What::Update, 1, Sides::Processes),
    map("update/key-16/threads-1", &UPDATES, What::Update, 2, Sides::One),
    map("update/key-16/threads-2", &UPDATES, What::Update, 2, Sides::Threads),
    map("update/key-16/processes-2", &UPDATES, What::Update, 2, Sides::Processes),
    map("update/key-8/many/threads-1", &UPDATES, What::UpdateEach, 1, Sides::One),
    map("update/key-8/many/threads-2", &UPDATES, What::UpdateEach, 1, Sides::Threads),
    map("update/key-8/many/processes-2", &UPDATES, What::UpdateEach, 1, Sides::Processes),
    map("update/ten-keys/processes-2", &UPDATES, What::TenKeys, 1, Sides::Processes),
    map(GET, &GETS, What::Get, 1, Sides::One),
    map("get/key-8/threads-2", &GETS, What::Get, 1, Sides::Threads),
    map(GET_OF_TWO, &GETS, What::Get, 1, Sides::Processes),
    map("get/key-16/threads-1", &GETS, What::Get, 2, Sides::One),
    map("get/key-16/threads-2", &GETS, What::Get, 2, Sides::Threads),
    map("get/key-16/processes-2", &GETS, What::Get, 2, Sides::Processes),
    map("get/key-8/many/threads-1", &GETS, What::GetEach, 1, Sides::One),
    map("get/key-8/many/processes-2", &GETS, What::GetEach, 1, Sides::Processes),
    map(INSERT, &INSERTS, What::Insert, 1, Sides::One),
    map("insert/key-8/threads-2", &INSERTS, What::Insert, 1, Sides::Threads),
    map("insert/key-8/processes-2", &INSERTS, What::Insert, 1, Sides::Processes),
    map(LARGER_INSERT, &INSERTS, What::Insert, 2, Sides::One),
    map("insert/key-16/threads-2", &INSERTS, What::Insert, 2, Sides::Threads),
    map("insert/key-16/processes-2", &INSERTS, What::Insert, 2, Sides::Processes),
    map(LATENCY_OF_UPDATES, &LATENCIES, What::Latency, 1, Sides::One),
    limit(STD_LATENCY, &LATENCIES, Table::Std, What::Latency, Sides::One),
    limit(LOAD, &LATENCIES, Table::Lines, What::Latency, Sides::One),
    limit("limit/dependent", &LIMITS, Table::Lines, What::Dependent, Sides::One),
    limit(LOADS, &LIMITS, Table::Lines, What::Get, Sides::One),
    limit(LOADS_OF_TWO, &LIMITS, Table::Lines, What::Get, Sides::Threads),
    limit(ADDS, &LIMITS, Table::Lines, What::Update, Sides::One),
    limit(ADDS_OF_TWO, &LIMITS, Table::Lines, What::Update, Sides::Threads),
    limit(STD_GET, &STD_LIMITS, Table::Std, What::Get, Sides::One),
    limit(STD_UPDATE, &STD_LIMITS, Table::Std, What::Update, Sides::One),
    limit(STD_INSERT, &STD_LIMITS, Table::Std, What::Insert, Sides::One),
];

/// The property that differs between rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Work {
    pub(super) table: Table,
    pub(super) what: What,
    pub(super) key_words: usize,
    pub(super) sides: Sides,
}

/// What has the values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Table {
    /// The map of latest values.
    Map,
    /// The map of the standard library.
    Std,
    /// A word in each line of as many bytes as a map has.
    Lines,
}

/// The operations of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Get,
    Update,
    Insert,
    /// Gets of [`TOGETHER`](super::loops::TOGETHER) keys in a call.
    GetEach,
    /// Updates of as many.
    UpdateEach,
    /// Updates, half of them on [`HOT_KEYS`] keys.
    TenKeys,
    /// Updates at a steady rate, timed one by one; loads in a table without keys.
    Latency,
    /// Loads, each of which needs the one before.
    Dependent,
}

/// Who works on the values at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sides {
    One,
    Threads,
    Processes,
}

impl Sides {
    fn threads(self) -> usize {
        if self == Self::One { 1 } else { 2 }
    }

    fn processes(self) -> usize {
        if self == Self::Processes { 2 } else { 1 }
    }
}

sections! {
    Latest:
    UPDATES = "update" rates [RATE, OF_STD, END] |_|
        "Update in place: million a second, of all sides together; std: times limit/std/update";
    GETS = "get" rates [RATE, OF_STD, END] |_|
        "Get: million a second, of all sides together; std: times limit/std/get";
    INSERTS = "insert" rates [RATE, SIZE, OF_STD, END] |run|
        format!(
            "Insert into an empty map until it has {} entries: million a second; bytes for an entry",
            grouped(run.options.entries())
        );
    LATENCIES = "latency" times [QUANTILES, P9999, LONGEST, CALLS, OF_STD, END] |run|
        format!(
            "Latency of an update from the moment at which it was due, {} a second: ns; {LOAD}: one \
            load",
            grouped(run.options.rate.into())
        );
    LIMITS = "limits" rates [RATE, END] |_|
        "Limits: million random loads or adds a second, in as many bytes as the map has";
    STD_LIMITS = "limits of one thread" rates [RATE, SIZE, END] |_|
        "Limits: std::collections::HashMap of one thread, million operations a second";
}

const RATE: &[&str] = &["median=written_per_second*"];
const OF_STD: &[&str] = &["of_std"];
const SIZE: &[&str] = &["bytes_per_entry"];
const P9999: &[&str] = &["latency/p99.99_ns"];
const CALLS: &[&str] = &["calls/p50_ns", "calls/p99_ns"];

/// Format: docs/formats/lab-bench-latest.md.
pub(super) const FIGURES: Figures<Latest> = &[
    Figure::COMMON,
    Figure::SECTION,
    figures! {
        /// Keys of a full map
        "entries": "number" = |_, run| run.options.entries();
        /// The duration of a reading; null if it has a number of operations, and for `insert`,
        /// which ends when its map is full
        "seconds": "number or null" = |row, run| match run.options.amount() {
            Amount::Seconds(seconds) if row.row.work.what != What::Insert => Some(seconds),
            _ => None,
        };
        /// The operations of each side of a reading; null if it has a duration
        "operations": "number or null" = |_, run| run.options.operations;
        /// Bytes of a key; null for limits without keys
        "key_bytes": "number or null" = |row, _| {
            (row.row.work.table != Table::Lines).then_some(8 * row.row.work.key_words)
        };
        /// Threads that work at the same time, in all processes
        "threads": "number" = |row, _| row.row.work.sides.threads();
        /// Processes that work at the same time
        "processes": "number" = |row, _| row.row.work.sides.processes();
        /// Due operations a second; only for `latency`
        "rate_per_second": "number or null" = |row, run| {
            (row.row.work.what == What::Latency).then_some(run.options.rate)
        };
        /// Bytes of the full map divided by its entries: of its file, or of a table of this
        /// capacity for `limit/std`; null for limits without keys
        "bytes_per_entry": "number or null" ["B/entry" 8 nanos] = |row, run| {
            let bytes = table::median(row.spread(|reading| reading.detail["bytes"].as_f64()));
            bytes.map(|bytes| bytes / run.options.entries() as f64)
        };
        /// The main number divided by that of the row of `limit/std` with the same operation: the
        /// median over rounds of the quotient of two readings of one round
        "of_std": "number or null" ["std" 6 nanos] = |row, run| of_std(row, run);
        /// Times of the operations of `latency` alone, without what was late before, with the
        /// members of `latency`
        "calls": "object or null" = |row, _| table::latency(row, |reading| reading.calls.as_ref());
        "calls/p50_ns": "number or null" ["call p50" 9 whole];
        "calls/p99_ns": "number or null" ["call p99" 9 whole];
    },
    Figure::CPUS,
    Figure::LATENCY,
    Figure::P9999,
    Figure::REVERSED,
    Figure::PAIR,
    Figure::GOALS,
];

/// The number of a row divided by that of the standard library's map.
pub(super) fn of_std(row: &Measured<Latest>, run: &Run<Latest>) -> Option<f64> {
    let name = match (row.row.work.table, row.row.work.what) {
        (Table::Map, What::Get | What::GetEach) => STD_GET,
        (Table::Map, What::Update | What::UpdateEach | What::TenKeys) => STD_UPDATE,
        (Table::Map, What::Insert) => STD_INSERT,
        (Table::Map, What::Latency) => STD_LATENCY,
        _ => return None,
    };
    let std = run.find(name)?;
    let pairs = row.readings.iter().zip(&std.readings);
    let quotients = pairs.filter_map(|(one, other)| {
        Some(Latest::number(row.row, one)? / Latest::number(std.row, other)?)
    });
    median(&quotients.collect::<Vec<_>>())
}

/// The row with one key in a call.
pub(super) fn one_by_one(work: Work) -> &'static str {
    match (work.what, work.sides) {
        (What::GetEach, Sides::One) => GET,
        (What::GetEach, _) => GET_OF_TWO,
        (_, Sides::One) => UPDATE,
        (_, Sides::Threads) => UPDATE_OF_TWO_THREADS,
        (_, Sides::Processes) => UPDATE_OF_TWO,
    }
}

/// The insertions of one thread into a map with keys of this length.
pub(super) fn insert_of_one(key_words: usize) -> &'static str {
    if key_words == 1 { INSERT } else { LARGER_INSERT }
}

const fn map(
    name: &'static str,
    section: &'static Section<Latest>,
    what: What,
    key_words: usize,
    sides: Sides,
) -> Row<Latest> {
    Row { name, section, work: Work { table: Table::Map, what, key_words, sides } }
}

const fn limit(
    name: &'static str,
    section: &'static Section<Latest>,
    table: Table,
    what: What,
    sides: Sides,
) -> Row<Latest> {
    Row { name, section, work: Work { table, what, key_words: 1, sides } }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_state_keys_and_sides_and_differ() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            let Work { key_words, sides, .. } = row.work;
            let name = row.name;
            assert!(!name.contains([' ', ',']), "{name}");
            assert_eq!(name.contains("/key-16"), key_words == 2, "{name}");
            assert_eq!(name.contains("/threads-2"), sides == Sides::Threads, "{name}");
            assert_eq!(name.ends_with("/processes-2"), sides == Sides::Processes, "{name}");
            let base = Latest::base(row).map(|base| base.row);
            assert!(base.is_none_or(|base| names.contains(base)), "{name}");
        }
    }
}
