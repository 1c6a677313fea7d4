//! The rows of `nanotape lab bench plant`, one line each, in the order of the table: plants, and
//! the books that they are compared with.

use nanotape_plant::{
    config::DEFAULT_CAPACITY_BYTES,
    records::{RecordKind, RecordKinds},
};

use serde_json::{Value, json};

use super::{Plant, profile::Profile};
use crate::engine::{
    Benchmark as _, Figure, Figures, Goal, Measured, Row, Run, Spread, Taken, figures, sections,
    table,
};

/// The books without records and without a ring: the base of the comparison.
pub(super) const BACKBONE: &str = "backbone";

/// The plant that the goals apply to.
pub(super) const PLANT: &str = "plant";

/// The same with one tap.
pub(super) const ONE_TAP: &str = "plant/1-tap";

/// Every row. Rows with taps are last, fewest taps first.
pub(super) const ROWS: &[Row<Plant>] = &[
    books(BACKBONE),
    // Identical to the backbone: shows the difference between equal programs on this machine.
    books("backbone/again"),
    plant(PLANT, USUAL),
    plant("plant/all", Shape { kinds: RecordKinds::USUAL, ..USUAL }),
    plant("plant/small-ring", Shape { capacity_bytes: SMALL_RING_BYTES, ..USUAL }),
    taps_row(ONE_TAP, 1),
    taps_row("plant/2-taps", 2),
    taps_row("plant/3-taps", 3),
    taps_row("plant/4-taps", 4),
    taps_row("plant/5-taps", 5),
    taps_row("plant/6-taps", 6),
    taps_row("plant/7-taps", 7),
    taps_row("plant/8-taps", 8),
];

/// A ring that fits in a second-level cache: the cost of records without that of memory.
const SMALL_RING_BYTES: usize = 256 << 10;

pub(super) const USUAL: Shape = Shape {
    kinds: RecordKinds::NONE.with(RecordKind::Mbo).with(RecordKind::Bbo),
    capacity_bytes: DEFAULT_CAPACITY_BYTES,
    taps: 0,
};

/// What a plant publishes, to which ring, and for how many taps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// The kinds of records.
    pub(super) kinds: RecordKinds,
    /// Size of the ring.
    pub(super) capacity_bytes: usize,
    /// Processes that read the ring.
    pub(super) taps: usize,
}

sections! {
    Plant:
    PLANTS = "plant" times [TIMES, RATES] |_|
        "Bytes to books, and to records on a ring: processor time for a message, in ns; millions a \
         second";
}

const TIMES: &[&str] = &["ns_per_message*", "wall_ns_per_message", "adds*", "ratio"];
const RATES: &[&str] = &["messages_per_second", "records_per_second", "lost_share", "shared"];

/// Format: docs/formats/lab-bench-plant.md.
pub(super) const FIGURES: Figures<Plant> = &[
    Figure::COMMON,
    figures! {
        /// The published kinds of records, such as `mbo,bbo`; null for `backbone` rows
        "records": "text or null" = |row, _| row.row.work.map(|shape| shape.kinds.to_string());
        /// Size of the ring; null for `backbone` rows
        "capacity_bytes": "number or null" = |row, _| {
            row.row.work.map(|shape| shape.capacity_bytes)
        };
        /// Processes that read the ring during the reading
        "taps": "number" = |row, _| taps(row.row);
        /// Whether a tap shares its processor with another tap or with the plant
        "taps_share_processors": "true or false" = |row, run| {
            run.cpus.are_short_for(taps(row.row))
        };
        /// The stock that the taps select: the one with the most messages. null without taps, and
        /// if the file names no stock; the taps then select all stocks
        "tap_symbol": "text or null" = |row, run| {
            run.options.day.busiest.as_ref().filter(|_| taps(row.row) > 0)
        };
        /// The processors: `plant` (number, or null if the system refused pinning), `taps` (list of
        /// numbers)
        "cpus": "object" = |row, run| {
            json!({ "plant": run.cpu, "taps": run.cpus.of_readers(taps(row.row)) })
        };
        /// Processor time of one message on the plant's processor, in user mode and in the kernel,
        /// from the first byte to the last record
        "ns_per_message": spread ["median" 8 nanos] = |row, _| table::number(row);
        /// The same as elapsed time; the median over rounds
        "wall_ns_per_message": "number" ["wall" 8 nanos] = |row, _| row.wall_ns();
        /// The time of the row minus that of `backbone` in the same round; null if `backbone` was
        /// not measured
        "adds_ns": spread = |row, run| row.added(run.find(BACKBONE)?);
        "adds": text_spread ["adds" 8 nanos] = |row, run| {
            row.added(run.find(BACKBONE)?).filter(|_| row.row.name != BACKBONE)
        };
        /// The time divided by that of `backbone`, computed in the same way
        "ratio_to_backbone": "number or null" = |row, run| {
            row.ratio(run).map(|ratio| ratio.value)
        };
        "ratio": text ["ratio" 8 ratio] = |row, run| {
            row.ratio(run).filter(|_| row.row.name != BACKBONE).map(|ratio| ratio.value)
        };
        /// Per second of elapsed time; the median over rounds
        "messages_per_second": "number" ["messages" 8 millions] = |row, _| {
            table::median(row.messages_per_second())
        };
        /// The same for records; null for `backbone` rows
        "records_per_second": "number or null" ["records" 8 millions] = |row, _| {
            table::median(records_per_second(row))
        };
        /// The results of one reading, see below
        "answer": "object" = |row, _| row.answer().of_plant();
        /// Sums over all rounds and taps, see below; null for `backbone` rows
        "published": "object or null" = |row, _| row.row.work.map(|_| published(row));
        /// From 0 to 1: the share of published records that taps lost, over all rounds; null
        /// without taps
        "lost_share": "number or null" ["lost" 8 percent] = |row, _| lost_share(row);
        "shared": text ["" 0 words] = |row, run| shared(row, run);
        /// For `plant`, null for all others, see below
        "goals": "list or null" = |row, run| (row.row.name == PLANT).then(|| {
            Plant::goals(row, run).iter().map(goal).collect::<Vec<_>>()
        });
        /// With `--profile` for `plant`, null for all others: the fields of
        /// [lab-bench-book.md](lab-bench-book.md). The instructions are those of a plant with a
        /// ring in private memory
        "profile": "object or null" = |row, run| {
            let profile = run.options.profiled.as_ref().filter(|_| row.row.name == PLANT);
            profile.map(Profile::to_json)
        };
    },
    Figure::OF_DAYS,
    Figure::DAY,
    Figure::ORDERS,
    Figure::ONE_BY_ONE,
];

/// The note for taps that share their processor.
fn shared(row: &Measured<Plant>, run: &Run<Plant>) -> String {
    let taps = taps(row.row);
    let processors = run.cpus.readers.len().min(taps);
    match (run.cpus.are_short_for(taps), run.cpus.are_two()) {
        (false, _) => String::new(),
        (true, false) => " shares a processor with the plant".to_owned(),
        (true, true) => {
            let noun = if processors == 1 { "processor" } else { "processors" };
            format!(" {taps} taps share {processors} {noun}")
        }
    }
}

/// The records of all rounds together.
fn published(row: &Measured<Plant>) -> Value {
    json!({
        "records": row.written(),
        "read": row.taken(|tap| tap.messages),
        "lost": row.taken(|tap| tap.lost),
        "wanted": row.taken(|tap| tap.wanted),
    })
}

fn goal(goal: &Goal) -> Value {
    json!({
        "name": goal.of,
        "at_most_ns": goal.bound.number(),
        "ns": goal.value,
        "met": goal.is_met(),
    })
}

/// Number of processes that read the plant of a row.
pub(super) fn taps(row: &Row<Plant>) -> usize {
    row.work.map_or(0, |shape| shape.taps)
}

/// Records per second of wall time; None if the row publishes none.
fn records_per_second(row: &Measured<Plant>) -> Option<Spread> {
    row.spread(|reading| Some(reading.day.per_second(reading.written.messages)))
        .filter(|_| row.row.work.is_some())
}

/// Share of the published records that taps lost, from 0 to 1; None without taps.
fn lost_share(row: &Measured<Plant>) -> Option<f64> {
    let share = row.taken(|tap| tap.lost) as f64 / row.taken(Taken::accounted).max(1) as f64;
    (taps(row.row) > 0).then_some(share)
}

/// Keeps the rows with at most one tap more than `processors`, the processors beside the plant's.
pub(super) fn limit_taps(rows: &mut Vec<&'static Row<Plant>>, processors: usize) {
    rows.retain(|row| taps(row) <= processors + 1);
}

const fn books(name: &'static str) -> Row<Plant> {
    Row { name, section: &PLANTS, work: None }
}

const fn plant(name: &'static str, shape: Shape) -> Row<Plant> {
    Row { name, section: &PLANTS, work: Some(shape) }
}

const fn taps_row(name: &'static str, taps: usize) -> Row<Plant> {
    plant(name, Shape { taps, ..USUAL })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{day_file::variants, engine::row::select};

    #[test]
    fn names_are_words_and_differ_from_all_others() {
        let books = variants::ROWS.iter().map(|row| row.name);
        let all: Vec<&str> = books.chain(ROWS.iter().map(|row| row.name)).collect();
        for (place, name) in all.iter().enumerate() {
            assert!(!name.is_empty() && !name.contains([' ', ',']) && !all[..place].contains(name));
        }
        assert_eq!((ROWS[0].name, ROWS[2].name), (BACKBONE, PLANT));
    }

    #[test]
    fn taps_are_as_many_as_processors_and_one_more_unless_they_are_named() {
        let last = |processors| {
            let mut rows = select(&[]).unwrap();
            limit_taps(&mut rows, processors);
            rows.last().map(|row| row.name)
        };
        assert_eq!(last(0), Some(ONE_TAP));
        assert_eq!(last(1), Some("plant/2-taps"));
        assert_eq!(last(63), Some("plant/8-taps"));
        let named = select::<Plant>(&["plant/4-taps".to_owned()]).unwrap();
        assert_eq!(named.last().map(|row| row.name), Some("plant/4-taps"));
        let error = select::<Plant>(&["default".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("no variant is named default; use one of backbone, "), "{error}");
    }
}
