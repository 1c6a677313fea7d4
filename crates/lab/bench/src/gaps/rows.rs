//! The rows of `nanotape lab bench gaps`, in the order of the table.

use super::{Gaps, added, seen_share, work::Turn};
use crate::engine::{Column, Row, Section, table};

pub(super) const STAMP: &str = "turn/stamp";
pub(super) const METER: &str = "turn/meter";
pub(super) const ATTRIBUTION: &str = "attribution/accounts";
pub(super) const AFTER_A_GAP: &str = "attribution/after-a-gap";
pub(super) const SEEN: &str = "seen/100ns";
pub(super) const CELLS: &str = "cells/round-trip";
pub(super) const STREAM: &str = "stream/round-trip";
pub(super) const LINE: &str = "limit/line";

pub(super) const ROWS: &[Row<Gaps>] = &[
    row(STAMP, &TURNS, What::Turn(Turn::Stamp)),
    row(METER, &TURNS, What::Turn(Turn::Meter)),
    row("turn/watch", &TURNS, What::Turn(Turn::Watch)),
    row(SEEN, &PAUSES, What::Seen),
    row(ATTRIBUTION, &ATTRIBUTIONS, What::Attribution(Ask::Again)),
    row(AFTER_A_GAP, &ATTRIBUTIONS, What::Attribution(Ask::AfterGaps)),
    row(CELLS, &ROUND_TRIPS, What::RoundTrip(Kind::Cells)),
    row("cells/watched", &ROUND_TRIPS, What::RoundTrip(Kind::WatchedCells)),
    row("slots/round-trip", &ROUND_TRIPS, What::RoundTrip(Kind::Slots)),
    row(STREAM, &ROUND_TRIPS, What::RoundTrip(Kind::Stream)),
    row(LINE, &LINES, What::Line),
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
    columns: &[&Column::NANOS, &[ADDED, Column::OTHERS, Column::RATIO]],
};

const PAUSES: Section<Gaps> = Section {
    name: "pauses",
    is_timed: false,
    title: |_| "Pauses of 100 to 150 ns in a loop: the share that the meter sees".to_owned(),
    columns: &[&[SEEN_SHARE, Column::OTHERS]],
};

const ATTRIBUTIONS: Section<Gaps> = Section {
    name: "attribution",
    is_timed: true,
    title: |_| "Attribution: ns of one question to the accounts of the kernel".to_owned(),
    columns: &[&Column::QUANTILES, &Column::LONGEST, &[Column::OTHERS]],
};

const ROUND_TRIPS: Section<Gaps> = Section {
    name: "round trip",
    is_timed: true,
    title: |_| format!("Round trip of eight bytes: ns there and back; line: {LINE}"),
    columns: &[&Column::QUANTILES, &Column::LONGEST, &[Column::OTHERS, Column::RATIO]],
};

const LINES: Section<Gaps> = Section {
    name: "limits",
    is_timed: true,
    title: |_| "Limit: one cache line, written by two processes in turns".to_owned(),
    columns: ROUND_TRIPS.columns,
};

const ADDED: Column<Gaps> = Column::new("added", 8, |row, run| table::nanos(added(row, run)));
const SEEN_SHARE: Column<Gaps> = Column::new("seen", 9, |row, _| {
    seen_share(row).map_or("-".to_owned(), |share| format!("{:.2}%", 100.0 * share))
});

const fn row(name: &'static str, section: &'static Section<Gaps>, work: What) -> Row<Gaps> {
    Row { name, section, work }
}
