//! The rows of `nanotape lab bench plant`, one line each, in the order of the table: plants, and
//! the books that they are compared with.

use nanotape_plant::{
    config::DEFAULT_CAPACITY_BYTES,
    records::{RecordKind, RecordKinds},
};

use super::Plant;
use crate::engine::{Column, Measured, Row, Run, Section, Spread, Taken, table};

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

/// The section of all rows.
const PLANTS: Section<Plant> = Section {
    name: "plant",
    is_timed: true,
    title: |_| {
        "Bytes to books, and to records on a ring: processor time for a message, in ns; millions a \
         second"
            .to_owned()
    },
    columns: &[&Column::NANOS, &[WALL], &ADDS, &RATES, &[SHARED]],
};

const WALL: Column<Plant> = Column::new("wall", 8, |row, _| table::nanos(row.wall_ns()));

const ADDS: [Column<Plant>; 4] = [
    Column::new("adds", 8, |row, run| table::nanos(adds(row, run).map(|adds| adds.median))),
    Column::new("lowest", 8, |row, run| table::nanos(adds(row, run).map(|adds| adds.lowest))),
    Column::new("highest", 8, |row, run| table::nanos(adds(row, run).map(|adds| adds.highest))),
    Column::new("ratio", 8, |row, run| {
        let ratio = row.ratio(run).filter(|_| row.row.name != BACKBONE);
        ratio.map_or("-".to_owned(), |ratio| format!("{:.3}", ratio.value))
    }),
];

const RATES: [Column<Plant>; 3] = [
    Column::new("messages", 8, |row, _| {
        table::millions(row.messages_per_second(), |rate| rate.median)
    }),
    Column::new("records", 8, |row, _| {
        table::millions(records_per_second(row), |rate| rate.median)
    }),
    Column::new("lost", 8, |row, _| {
        lost_share(row).map_or("-".to_owned(), |share| format!("{:.2}%", 100.0 * share))
    }),
];

/// Column for taps that share their processor.
const SHARED: Column<Plant> = Column::new("", 0, |row, run| {
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
});

fn adds(row: &Measured<Plant>, run: &Run<Plant>) -> Option<Spread> {
    row.added(run.find(BACKBONE)?).filter(|_| row.row.name != BACKBONE)
}

/// Number of processes that read the plant of a row.
pub(super) fn taps(row: &Row<Plant>) -> usize {
    row.work.map_or(0, |shape| shape.taps)
}

/// Records per second of wall time; None if the row publishes none.
pub(super) fn records_per_second(row: &Measured<Plant>) -> Option<Spread> {
    row.spread(|reading| Some(reading.day.per_second(reading.written.messages)))
        .filter(|_| row.row.work.is_some())
}

/// Share of the published records that taps lost, from 0 to 1; None without taps.
pub(super) fn lost_share(row: &Measured<Plant>) -> Option<f64> {
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
