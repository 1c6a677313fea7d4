//! The rows of `nanotape lab bench gaps`, in the order of the table.

use super::{Gaps, work::Turn};
use crate::engine::{
    Benchmark as _, Figure, Figures, Measured, Row, Run, figures, sections,
    shared::{END, LONGEST, QUANTILES},
    table,
};

pub(super) const STAMP: &str = "turn/stamp";
pub(super) const METER: &str = "turn/meter";
pub(super) const ATTRIBUTION: &str = "attribution/accounts";
pub(super) const AFTER_A_GAP: &str = "attribution/after-a-gap";
pub(super) const SEEN: &str = "seen/100ns";
pub(super) const CELLS: &str = "cells/round-trip";
pub(super) const STREAM: &str = "stream/round-trip";
pub(super) const LINE: &str = "limit/line";

pub(super) const ROWS: &[Row<Gaps>] = &[
    Row::new(STAMP, &TURNS, What::Turn(Turn::Stamp)),
    Row::new(METER, &TURNS, What::Turn(Turn::Meter)),
    Row::new("turn/watch", &TURNS, What::Turn(Turn::Watch)),
    Row::new(SEEN, &PAUSES, What::Seen),
    Row::new(ATTRIBUTION, &ATTRIBUTIONS, What::Attribution(Query::Again)),
    Row::new(AFTER_A_GAP, &ATTRIBUTIONS, What::Attribution(Query::AfterGaps)),
    Row::new(CELLS, &ROUND_TRIPS, What::RoundTrip(Kind::Cells)),
    Row::new("cells/watched", &ROUND_TRIPS, What::RoundTrip(Kind::WatchedCells)),
    Row::new("slots/round-trip", &ROUND_TRIPS, What::RoundTrip(Kind::Slots)),
    Row::new(STREAM, &ROUND_TRIPS, What::RoundTrip(Kind::Stream)),
    Row::new(LINE, &LINES, What::Line),
];

/// The work of the processes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Turn(Turn),
    Seen,
    Attribution(Query),
    RoundTrip(Kind),
    Line,
}

/// When the accounts are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Query {
    /// Again and again, so that caches are warm.
    Again,
    /// After each interruption of the machine, which had the caches.
    AfterGaps,
}

/// What the messages of a round trip pass through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Cells,
    /// Both sides check for interruptions while they wait.
    WatchedCells,
    Slots,
    Stream,
}

impl What {
    /// Whether two processes work.
    pub(super) fn is_pair(self) -> bool {
        matches!(self, Self::RoundTrip(_) | Self::Line)
    }
}

sections! {
    Gaps:
    TURNS = "turns" rates [&["number*", "added_ns"], END] |_|
        "Turns of a loop: ns, the median over rounds";
    PAUSES = "pauses" rates [&["seen_share", "others"]] |_|
        "Pauses of 100 to 150 ns in a loop: the share that the meter sees";
    ATTRIBUTIONS = "attribution" times [QUANTILES, LONGEST, &["others"]] |_|
        "Attribution: ns of one question to the accounts of the kernel";
    ROUND_TRIPS = "round trip" times [QUANTILES, LONGEST, END] |_|
        format!("Round trip of eight bytes: ns there and back; line: {LINE}");
    LINES = "limits" times [QUANTILES, LONGEST, END] |_|
        "Limit: one cache line, written by two processes in turns";
}

/// Format: docs/formats/lab-bench-gaps.md.
pub(super) const FIGURES: Figures<Gaps> = &[
    Figure::COMMON,
    Figure::SECTION,
    figures! {
        /// The duration of a reading
        "seconds": "number" = |_, run| run.options.timed.seconds;
        "number": text_spread ["median" 8 nanos] = |row, _| table::number(row);
        /// For `turn/meter` and `turn/watch`: the difference to `turn/stamp` in ns of a turn; the
        /// median over rounds
        "added_ns": "number or null" ["added" 8 nanos] = |row, run| added(row, run);
        /// For `seen/100ns`: pauses that the meter saw, divided by pauses, over all rounds
        "seen_share": "number or null" ["seen" 9 percent] = |row, _| seen_share(row);
    },
    Figure::CPUS,
    Figure::LATENCY,
    Figure::REVERSED,
    Figure::PAIR,
    Figure::GOALS,
];

/// What a loop adds to the one that only reads the clock, in nanoseconds a turn.
pub(super) fn added(measured: &Measured<Gaps>, run: &Run<Gaps>) -> Option<f64> {
    let base = run.find(Gaps::base(measured.row).filter(|base| base.row == STAMP)?.row)?;
    measured.added(base).map(|added| added.median)
}

/// The share of the pauses that the meter saw, over all rounds.
pub(super) fn seen_share(measured: &Measured<Gaps>) -> Option<f64> {
    let sum = |name: &str| -> u64 {
        measured.readings.iter().filter_map(|reading| reading.detail[name].as_u64()).sum()
    };
    let made = sum("made");
    (made > 0).then(|| sum("seen") as f64 / made as f64)
}
