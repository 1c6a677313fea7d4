//! The rows of `nanotape lab bench replay`, in the order of the table, and its columns.

use serde_json::{Value, json};

use super::{super::plant_variants::USUAL, Kept, Replay};
use crate::engine::{
    Benchmark as _, Figure, Figures, Measured, Reading, Row, Run, Spread, Times, figures,
    is_memory, sections, table,
};

/// The plant without a reader: the base of most comparisons.
pub(super) const PLANT: &str = "plant";

/// The plant beside a tap: the base of the recorder.
pub(super) const TAP: &str = "plant-tap";

/// The plant beside a recorder.
pub(super) const RECORDER: &str = "plant-recorder";

/// Every row.
pub(super) const ROWS: &[Row<Replay>] = &[
    Row::new(PLANT, &PLANTS, Work::Plant),
    Row::new(TAP, &PLANTS, Work::Tap),
    Row::new(RECORDER, &PLANTS, Work::Recorder),
    Row::new("read-back", &READERS, Work::ReadBack),
    Row::new("heal", &READERS, Work::Heal),
    Row::new("snapshot", &READERS, Work::Snapshot),
    Row::new("book-at", &BOOKS, Work::BookAt),
    Row::new("books-at", &BOOKS, Work::BooksAt),
];

/// What a row measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A plant without a reader.
    Plant,
    /// A plant and a process that polls its ring.
    Tap,
    /// A plant that waits for the process that records it.
    Recorder,
    /// A tailer.
    ReadBack,
    /// A subscriber from record 1 to the ring.
    Heal,
    /// The snapshots of the journal.
    Snapshot,
    /// The book of one stock at a moment.
    BookAt,
    /// All books at a moment.
    BooksAt,
}

impl Work {
    pub(super) fn is_plant(self) -> bool {
        matches!(self, Self::Plant | Self::Tap | Self::Recorder)
    }

    /// Whether it reads the shared journal.
    pub(super) fn reads_journal(self) -> bool {
        !self.is_plant()
    }

    pub(super) fn is_of_moments(self) -> bool {
        matches!(self, Self::BookAt | Self::BooksAt)
    }
}

sections! {
    Replay:
    PLANTS = "plant" times [
        &["ns_per_message*", "wall_ns_per_message", "adds_ns*", "waited_ns_per_message"],
        &["records_per_second", "ratio_text"],
    ] |_|
        "Bytes to records on a ring: processor time for a message, in ns; millions a second";
    READERS = "reader" rates [&["median=records_per_second*", "ratio_text"]] |_|
        "The journal from its first record: millions of records a second";
    BOOKS = "moment" times [
        &["times/moments", "times/median_ms", "times/median_ms_low", "times/median_ms_high"],
        &["times/p90_ms", "times/worst_ms", "slowest"],
    ] |_|
        "From opening the journal to the finished book at a moment: ms";
}

/// Format: docs/formats/lab-bench-replay.md.
pub(super) const FIGURES: Figures<Replay> = &[
    Figure::COMMON,
    Figure::SECTION,
    Figure::DAY,
    Figure::ORDERS,
    figures! {
        /// The published kinds of records, such as `mbo,bbo`
        "records": "text" = |_, _| USUAL.kinds.to_string();
        /// Size of the ring; null for rows without a plant
        "capacity_bytes": "number or null" = |row, _| {
            row.row.work.is_plant().then_some(USUAL.capacity_bytes)
        };
        /// The processors: `plant` (number, or null if the system refused pinning; all other
        /// processes run here too), `reader` (of the tap or the recorder; null for rows without
        /// one)
        "cpus": "object" = |row, run| {
            let is_read = matches!(row.row.work, Work::Tap | Work::Recorder);
            json!({ "plant": run.cpu, "reader": is_read.then_some(run.cpus.readers[0]) })
        };
        /// Plants: processor time of one message in the plant's process, in user mode and in the
        /// kernel, from the first byte to the last record
        "ns_per_message": spread ["median" 8 nanos] = |row, _| {
            table::number(row).filter(|_| row.row.work.is_plant())
        };
        /// The same as elapsed time, waits for the recorder included; the median over rounds
        "wall_ns_per_message": "number or null" ["wall" 8 nanos] = |row, _| {
            // Other rows have no day, and their quotient would be undefined.
            row.row.work.is_plant().then(|| row.wall_ns()).flatten()
        };
        /// The time of the row minus that of `plant` in the same round; null if `plant` was not
        /// measured
        "adds_ns": spread ["adds" 8 nanos] = |row, run| adds(row, run);
        /// `plant-recorder`: elapsed time that the plant waited for its recorder, per message; the
        /// median over rounds. It is a part of `wall_ns_per_message`
        "waited_ns_per_message": "number or null" ["waited" 8 nanos] = |row, _| waited_ns(row);
        /// `plant-recorder`: time from the plant's last record to the end of the recorder, in ms;
        /// the median over rounds. It is not in any other number
        "drain_ms": "number or null" = |row, _| table::median(row.spread(|reading| {
            Some(reading.detail["drain_ns"].as_f64()? / 1e6)
        }));
        /// Records per second of elapsed time: published by a plant, or read by a reader. null for
        /// moments
        "records_per_second": spread ["records" 8 millions] = |row, _| {
            row.spread(Reading::written_per_second)
        };
        /// Plants: the time divided by that of `ratio_to`. Readers: the rate divided by that of
        /// `ratio_to`
        "ratio": spread = |row, run| ratio(row, run);
        /// The row of comparison: `plant-tap` for `plant-recorder`, `plant` for `plant-tap` and
        /// readers
        "ratio_to": "text or null" = |row, run| ratio(row, run).and_then(|_| base(row));
        "ratio_text": text [" ratio" 0 words] = |row, run| {
            ratio(row, run).zip(base(row)).map(|(Spread { median, lowest, highest }, to)| {
                format!("  {median:.2} ({lowest:.2} to {highest:.2}) x {to}")
            })
        };
        /// Plants: the results of one reading, with the fields of
        /// [lab-bench-plant.md](lab-bench-plant.md)
        "answer": "object or null" = |row, _| {
            row.row.work.is_plant().then(|| row.answer().of_plant())
        };
        /// Plants: published records, start and stop included. Readers: records that were read in
        /// the measured time. null for moments
        "read": "number or null" = |row, _| {
            row.readings.first().map(|one| one.written.messages).filter(|&read| read > 0)
        };
        /// Moments. Percentiles are measured times, by nearest rank: nothing is interpolated
        "times": "object or null" = |row, _| times(row);
        /// Moments of a reading. They are the same in each round
        "times/moments": "number" ["moments" 8 plain];
        /// Time from opening the journal to the finished book, in ms: the median over rounds of the
        /// median of a round
        "times/median_ms": "number" ["median" 8 nanos];
        /// The lowest median of a round
        "times/median_ms_low": "number" ["lowest" 8 nanos];
        /// The highest median of a round
        "times/median_ms_high": "number" ["highest" 8 nanos];
        /// The 90th percentile of a round; the median over rounds
        "times/p90_ms": "number" ["p90" 8 nanos];
        /// The longest time of all rounds
        "times/worst_ms": "number" ["worst" 8 nanos];
        /// The moment of the longest time: `symbol` (text; null for all books), `time` (text, time
        /// of day)
        "times/slowest": "object";
        /// Moments whose reading began with a snapshot, and not with the first record of the day
        "times/from_snapshot": "number";
        "slowest": text ["" 0 words] = |row, _| slowest_text(row);
        /// The journal; null for `plant` and `plant-tap` if no row needs the shared journal
        "journal": "object or null" = |row, run| journal(row, run);
        /// The folder in which journals are made
        "journal/folder": "text";
        /// Whether it is on a file system without a disk, such as tmpfs
        "journal/in_memory": "true or false";
        /// Length of a segment
        "journal/segment_bytes": "number";
        /// Records of the shared journal; null, as all that follows, if no row needs it
        "journal/records": "number or null";
        /// Bytes of its segments up to the end of their excerpts
        "journal/bytes": "number or null";
        /// Number of its snapshots
        "journal/snapshots": "number or null";
        /// Bytes of all snapshots
        "journal/snapshot_bytes": "number or null";
        /// `snapshot_bytes` in percent of `bytes`
        "journal/snapshot_percent": "number or null";
    },
    Figure::GOALS,
];

/// The times of moments; null for other rows.
fn times(row: &Measured<Replay>) -> Value {
    let is_timed = row.row.work.is_of_moments();
    let of = |time: fn(&Times) -> u64| {
        let times = |reading: &Reading| reading.times.filter(|_| is_timed);
        row.spread(|reading| Some(time(&times(reading)?) as f64 / 1e6))
    };
    let Some(median) = of(|times| times.p50_ns) else { return Value::Null };
    let detail = slowest(row).map_or(Value::Null, |reading| reading.detail.clone());
    json!({
        "moments": row.readings.first().and_then(|reading| Some(reading.times?.count)),
        "median_ms": median.median,
        "median_ms_low": median.lowest,
        "median_ms_high": median.highest,
        "p90_ms": table::median(of(|times| times.p90_ns)),
        "worst_ms": of(|times| times.max_ns).map(|worst| worst.highest),
        "slowest": detail["slowest"],
        "from_snapshot": detail["from_snapshot"],
    })
}

/// The journal of a row that has one.
fn journal(row: &Measured<Replay>, run: &Run<Replay>) -> Option<Value> {
    let (options, kept) = (&run.options, run.options.kept.as_ref());
    let folder = options.folder();
    (kept.is_some() || row.row.name == RECORDER).then(|| {
        json!({
            "folder": folder.to_string_lossy(),
            "in_memory": is_memory(folder),
            "segment_bytes": options.segment_bytes,
            "records": kept.map(|kept| kept.records),
            "bytes": kept.map(|kept| kept.bytes),
            "snapshots": kept.map(|kept| kept.snapshots),
            "snapshot_bytes": kept.map(|kept| kept.snapshot_bytes),
            "snapshot_percent": kept.map(Kept::snapshot_percent),
        })
    })
}

/// The reading of the round with the longest time.
fn slowest(row: &Measured<Replay>) -> Option<&Reading> {
    row.readings.iter().max_by_key(|reading| reading.times.map(|times| times.max_ns))
}

fn slowest_text(row: &Measured<Replay>) -> String {
    let Some(reading) = slowest(row) else { return String::new() };
    let text = |name: &str| reading.detail["slowest"][name].as_str().unwrap_or("all stocks");
    format!("  {} at {}", text("symbol"), text("time"))
}

/// What the row adds to the time of the plant.
fn adds(row: &Measured<Replay>, run: &Run<Replay>) -> Option<Spread> {
    let is_compared = row.row.work.is_plant() && row.row.name != PLANT;
    row.added(run.find(PLANT)?).filter(|_| is_compared)
}

/// Elapsed time of a message during which the plant waited for its recorder, in ns.
fn waited_ns(row: &Measured<Replay>) -> Option<f64> {
    let waited = |reading: &Reading| {
        let nanos = reading.detail["waited_ns"].as_f64()?;
        Some(nanos / reading.day.operations as f64)
    };
    table::median(row.spread(waited))
}

/// The row of comparison.
fn base(row: &Measured<Replay>) -> Option<&'static str> {
    Replay::base(row.row).map(|base| base.row)
}

/// The quotient of a row and its base, round by round: of times for a plant, of rates for a reader.
fn ratio(row: &Measured<Replay>, run: &Run<Replay>) -> Option<Spread> {
    let base = run.find(base(row)?)?;
    let number = |reading: &Reading| match row.row.work.is_plant() {
        true => Some(reading.day.processor_ns()),
        false => reading.written_per_second(),
    };
    let pairs = row.readings.iter().zip(&base.readings);
    let quotients = pairs.filter_map(|(own, base)| Some(number(own)? / number(base)?));
    Spread::of(&quotients.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Written,
        row::{find, select},
        test::{measured, run},
    };

    #[test]
    fn names_are_words_and_every_base_is_a_row() {
        for (place, row) in ROWS.iter().enumerate() {
            let is_new = ROWS[..place].iter().all(|other| other.name != row.name);
            assert!(is_new && !row.name.contains([' ', ',', '/']), "{}", row.name);
            let base = Replay::base(row).map(|base| base.row);
            assert!(base.is_none_or(|base| find::<Replay>(base).is_some()), "{}", row.name);
        }
        let selected = select::<Replay>(&["plant".to_owned()]).unwrap();
        assert_eq!(selected.len(), 1, "a name selects one row");
    }

    #[test]
    fn a_reader_is_compared_with_the_records_of_the_plant_of_its_round() {
        let of = |name: &str, rates: [u64; 2]| {
            measured(
                name,
                rates.map(|messages| Reading {
                    written: Written { messages, nanos: 1_000 },
                    ..Reading::default()
                }),
            )
        };
        let all = run(vec![of(PLANT, [10, 20]), of("heal", [30, 40])]);
        let spread = ratio(&all.measured[1], &all).unwrap();
        assert_eq!((spread.lowest, spread.median, spread.highest), (2.0, 2.5, 3.0));
        assert!(ratio(&all.measured[0], &all).is_none());
        let alone = run(vec![all.measured[1].clone()]);
        assert!(ratio(&alone.measured[0], &alone).is_none());
    }
}
