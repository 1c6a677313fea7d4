//! The rows of `nanotape lab bench gaps`, in the order of the table.

use super::{Gaps, work::Turn};
use crate::engine::{
    Benchmark as _, Figure, Figures, Measured, Row, Run, Section, figures,
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
    Row::new(ATTRIBUTION, &ATTRIBUTIONS, What::Attribution(Ask::Again)),
    Row::new(AFTER_A_GAP, &ATTRIBUTIONS, What::Attribution(Ask::AfterGaps)),
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
    Attribution(Ask),
    RoundTrip(Kind),
    Line,
}

/// When the accounts are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// Again and again, so that caches are warm.
    Again,
    /// After each interruption of the machine, which had the caches.
    AfterGaps,
}

/// What the messages of a round trip pass through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Cells,
    /// Both sides look for interruptions while they wait.
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

const TURNS: Section<Gaps> = Section {
    name: "turns",
    is_timed: false,
    title: |_| "Turns of a loop: ns, the median over rounds".to_owned(),
    columns: &[&["number", "number_low", "number_high", "added_ns"], END],
};

const PAUSES: Section<Gaps> = Section {
    name: "pauses",
    is_timed: false,
    title: |_| "Pauses of 100 to 150 ns in a loop: the share that the meter sees".to_owned(),
    columns: &[&["seen_share", "others"]],
};

const ATTRIBUTIONS: Section<Gaps> = Section {
    name: "attribution",
    is_timed: true,
    title: |_| "Attribution: ns of one question to the accounts of the kernel".to_owned(),
    columns: &[QUANTILES, LONGEST, &["others"]],
};

const ROUND_TRIPS: Section<Gaps> = Section {
    name: "round trip",
    is_timed: true,
    title: |_| format!("Round trip of eight bytes: ns there and back; line: {LINE}"),
    columns: &[QUANTILES, LONGEST, END],
};

const LINES: Section<Gaps> = Section {
    name: "limits",
    is_timed: true,
    title: |_| "Limit: one cache line, written by two processes in turns".to_owned(),
    columns: ROUND_TRIPS.columns,
};

/// Format: docs/formats/lab-bench-gaps.md.
pub(super) const FIGURES: Figures<Gaps> = &[
    Figure::COMMON,
    Figure::SECTION,
    Figure::BY_ROUND,
    figures! {
        /// The duration of a reading
        "seconds": "number" = |_, run| run.options.seconds;
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
