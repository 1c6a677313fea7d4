//! The rows of `nanotape lab bench replay`, in the order of the table, and its columns.

use serde_json::{Value, json};

use super::{super::plant_variants, Replay, goals};
use crate::engine::{
    Benchmark as _, Column, Goal, Measured, Reading, Row, Run, Section, Spread, is_memory, table,
};

/// The plant without a reader: the base of most comparisons.
pub(super) const PLANT: &str = "plant";

/// The plant beside a tap: the base of the recorder.
pub(super) const TAP: &str = "plant-tap";

/// The plant beside a recorder.
pub(super) const RECORDER: &str = "plant-recorder";

/// Every row.
pub(super) const ROWS: &[Row<Replay>] = &[
    Row { name: PLANT, section: &PLANTS, work: Work::Plant },
    Row { name: TAP, section: &PLANTS, work: Work::Tap },
    Row { name: RECORDER, section: &PLANTS, work: Work::Recorder },
    Row { name: "read-back", section: &READERS, work: Work::ReadBack },
    Row { name: "heal", section: &READERS, work: Work::Heal },
    Row { name: "snapshot", section: &READERS, work: Work::Snapshot },
    Row { name: "book-at", section: &BOOKS, work: Work::BookAt },
    Row { name: "books-at", section: &BOOKS, work: Work::BooksAt },
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

const PLANTS: Section<Replay> = Section {
    name: "plant",
    is_timed: true,
    title: |_| {
        "Bytes to records on a ring: processor time for a message, in ns; millions a second"
            .to_owned()
    },
    columns: &[
        &Column::NANOS,
        &[Column::new("wall", 8, |row, _| table::nanos(row.wall_ns()))],
        &[
            Column::new("adds", 8, |row, run| table::nanos(adds(row, run).map(|one| one.median))),
            Column::new("lowest", 8, |row, run| table::nanos(adds(row, run).map(|one| one.lowest))),
            Column::new("highest", 8, |row, run| {
                table::nanos(adds(row, run).map(|one| one.highest))
            }),
            Column::new("waited", 8, |row, _| table::nanos(waited_ns(row))),
            Column::new("records", 8, |row, _| table::millions(rate(row), |rate| rate.median)),
            RATIO,
        ],
    ],
};

const READERS: Section<Replay> = Section {
    name: "reader",
    is_timed: false,
    title: |_| "The journal from its first record: millions of records a second".to_owned(),
    columns: &[&[
        Column::new("median", 8, |row, _| table::millions(rate(row), |rate| rate.median)),
        Column::new("lowest", 8, |row, _| table::millions(rate(row), |rate| rate.lowest)),
        Column::new("highest", 8, |row, _| table::millions(rate(row), |rate| rate.highest)),
        RATIO,
    ]],
};

const BOOKS: Section<Replay> = Section {
    name: "moment",
    is_timed: true,
    title: |_| "From opening the journal to the finished book at a moment: ms".to_owned(),
    columns: &[&[
        Column::new("moments", 8, |row, _| {
            count(row).map_or("-".to_owned(), |count| count.to_string())
        }),
        Column::new("median", 8, |row, _| {
            table::nanos(Times::of(row).map(|one| one.median.median))
        }),
        Column::new("lowest", 8, |row, _| {
            table::nanos(Times::of(row).map(|one| one.median.lowest))
        }),
        Column::new("highest", 8, |row, _| {
            table::nanos(Times::of(row).map(|one| one.median.highest))
        }),
        Column::new("p90", 8, |row, _| table::nanos(Times::of(row).map(|one| one.p90))),
        Column::new("worst", 8, |row, _| table::nanos(Times::of(row).map(|one| one.worst))),
        Column::new("", 0, |row, _| slowest_text(row)),
    ]],
};

const RATIO: Column<Replay> = Column::new(" ratio", 0, |row, run| {
    ratio(row, run).map_or(String::new(), |(spread, to)| {
        format!("  {:.2} ({:.2} to {:.2}) x {to}", spread.median, spread.lowest, spread.highest)
    })
});

/// Times of moments in ms.
pub(super) struct Times {
    /// The median of a round.
    pub(super) median: Spread,
    /// The median over rounds.
    pub(super) p90: f64,
    /// The longest time of all rounds.
    pub(super) worst: f64,
}

impl Times {
    pub(super) fn of(row: &Measured<Replay>) -> Option<Self> {
        let is_timed = row.row.work.is_of_moments();
        let of = |time: fn(&crate::engine::Times) -> u64| {
            let times = |reading: &Reading| reading.times.filter(|_| is_timed);
            row.spread(|reading| Some(time(&times(reading)?) as f64 / 1e6))
        };
        Some(Self {
            median: of(|times| times.p50_ns)?,
            p90: of(|times| times.p90_ns)?.median,
            worst: of(|times| times.max_ns)?.highest,
        })
    }
}

/// Moments of a reading.
fn count(row: &Measured<Replay>) -> Option<u64> {
    row.readings.first().and_then(|reading| Some(reading.times?.count))
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

/// Records a second.
pub(super) fn rate(row: &Measured<Replay>) -> Option<Spread> {
    row.spread(Reading::written_per_second)
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

/// The quotient of a row and its base, round by round: of times for a plant, of rates for a reader.
pub(super) fn ratio(row: &Measured<Replay>, run: &Run<Replay>) -> Option<(Spread, &'static str)> {
    let base = run.find(Replay::base(row.row)?.row)?;
    let number = |reading: &Reading| match row.row.work.is_plant() {
        true => Some(reading.day.processor_ns()),
        false => reading.written_per_second(),
    };
    let pairs = row.readings.iter().zip(&base.readings);
    let quotients = pairs.filter_map(|(own, base)| Some(number(own)? / number(base)?));
    Some((Spread::of(&quotients.collect::<Vec<_>>())?, base.row.name))
}

/// Format: docs/formats/lab-bench-replay.md.
pub(super) fn record(row: &Measured<Replay>, run: &Run<Replay>) -> Value {
    let (options, work) = (&run.options, row.row.work);
    let (adds, ratio, rate) = (adds(row, run), ratio(row, run), rate(row));
    let time = table::number(row).filter(|_| work.is_plant());
    // Other rows have no day, and their quotient would be undefined.
    let wall_ns = work.is_plant().then(|| row.wall_ns()).flatten();
    let drain_ms = |reading: &Reading| Some(reading.detail["drain_ns"].as_f64()? / 1e6);
    let has_journal = options.kept.is_some() || row.row.name == RECORDER;
    let folder = options.folder();
    let kept = options.kept.as_ref();
    let answer = row.answer();
    let goals = goals::goals(row, run).into_iter().map(Goal::to_json);
    json!({
        "section": row.row.section.name,
        "file": {
            "path": options.day.path().display().to_string(),
            "bytes": options.day.bytes,
            "messages": options.day.messages,
        },
        "orders": options.day.orders(),
        "records": plant_variants::USUAL.kinds.to_string(),
        "capacity_bytes": work.is_plant().then_some(plant_variants::USUAL.capacity_bytes),
        "cpus": {
            "plant": run.cpu,
            "reader": (work == Work::Tap || work == Work::Recorder).then_some(run.cpus.readers[0]),
        },
        "by_round": row.by_round(),
        "ns_per_message": table::median(time),
        "ns_per_message_low": time.map(|spread| spread.lowest),
        "ns_per_message_high": time.map(|spread| spread.highest),
        "wall_ns_per_message": wall_ns,
        "adds_ns": table::median(adds),
        "adds_ns_low": adds.map(|spread| spread.lowest),
        "adds_ns_high": adds.map(|spread| spread.highest),
        "waited_ns_per_message": waited_ns(row),
        "drain_ms": table::median(row.spread(drain_ms)),
        "records_per_second": table::median(rate),
        "records_per_second_low": rate.map(|spread| spread.lowest),
        "records_per_second_high": rate.map(|spread| spread.highest),
        "ratio": ratio.map(|(spread, _)| spread.median),
        "ratio_low": ratio.map(|(spread, _)| spread.lowest),
        "ratio_high": ratio.map(|(spread, _)| spread.highest),
        "ratio_to": ratio.map(|(_, to)| to),
        "times": times(row),
        "answer": work.is_plant().then(|| {
            let mut answers = answer.to_json();
            answers["order_records"] = json!(answer.order_records);
            answers
        }),
        "read": row.readings.first().map(|one| one.written.messages).filter(|&read| read > 0),
        "journal": has_journal.then(|| json!({
            "folder": folder.to_string_lossy(),
            "in_memory": is_memory(folder),
            "segment_bytes": options.segment_bytes,
            "records": kept.map(|kept| kept.records),
            "bytes": kept.map(|kept| kept.bytes),
            "snapshots": kept.map(|kept| kept.snapshots),
            "snapshot_bytes": kept.map(|kept| kept.snapshot_bytes),
            "snapshot_percent": kept.map(|kept| kept.snapshot_percent()),
        })),
        "goals": goals.collect::<Vec<_>>(),
    })
}

/// The times of moments; null for other rows.
fn times(row: &Measured<Replay>) -> Value {
    let Some(Times { median, p90, worst }) = Times::of(row) else { return Value::Null };
    let detail = slowest(row).map_or(Value::Null, |reading| reading.detail.clone());
    json!({
        "moments": count(row),
        "median_ms": median.median,
        "median_ms_low": median.lowest,
        "median_ms_high": median.highest,
        "p90_ms": p90,
        "worst_ms": worst,
        "slowest": detail["slowest"],
        "from_snapshot": detail["from_snapshot"],
    })
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
        let (spread, to) = ratio(&all.measured[1], &all).unwrap();
        assert_eq!((spread.lowest, spread.median, spread.highest, to), (2.0, 2.5, 3.0, PLANT));
        assert!(ratio(&all.measured[0], &all).is_none());
        let alone = run(vec![all.measured[1].clone()]);
        assert!(ratio(&alone.measured[0], &alone).is_none());
    }
}
