//! The goals of the plant on its journal, and the numbers it reached.

use super::{
    Replay,
    rows::{RECORDER, Times, rate, ratio},
};
use crate::engine::{Bound, Goal, Measured, Run, Unit, goals_text};

const RATIO: &str = "ratio";
const PER_SECOND: &str = "records_per_second";
const MEDIAN: &str = "median_ms";
const WORST: &str = "worst_ms";
const SNAPSHOTS: &str = "snapshot_percent";

/// The goal of a number in a row.
const WANTED: [(&str, &str, Bound); 7] = [
    // Recording costs the plant no more than a tap does.
    (RECORDER, RATIO, Bound::AtMost(1.0)),
    ("read-back", PER_SECOND, Bound::AtLeast(20e6)),
    // Faster than the plant publishes.
    ("heal", RATIO, Bound::AtLeast(1.0)),
    ("snapshot", SNAPSHOTS, Bound::AtMost(15.0)),
    ("book-at", MEDIAN, Bound::AtMost(100.0)),
    ("book-at", WORST, Bound::AtMost(250.0)),
    ("books-at", WORST, Bound::AtMost(1_500.0)),
];

/// The goals of a row that were measured.
pub(super) fn goals(row: &Measured<Replay>, run: &Run<Replay>) -> Vec<Goal> {
    let number = |of| match of {
        RATIO => ratio(row, run).map(|(spread, _)| spread.median),
        PER_SECOND => rate(row).map(|rate| rate.median),
        MEDIAN => Times::of(row).map(|times| times.median.median),
        WORST => Times::of(row).map(|times| times.worst),
        _ => run.options.kept.as_ref().map(super::Kept::snapshot_percent),
    };
    let wanted = WANTED.iter().filter(|(name, ..)| *name == row.row.name);
    wanted.filter_map(|&(_, of, bound)| Some(Goal { of, bound, value: number(of)? })).collect()
}

/// The goals that were reached, and the distance to the others.
pub(super) fn text(run: &Run<Replay>) -> String {
    let unit = |row: &Measured<Replay>, goal: &Goal| match goal.of {
        RATIO => {
            let to = ratio(row, run).map_or(String::new(), |(_, to)| format!("times {to}"));
            Unit::new(1.0, to, 2)
        }
        PER_SECOND => Unit::new(1e-6, "million records a second", 1),
        MEDIAN => Unit::new(1.0, "ms, median", 1),
        WORST => Unit::new(1.0, "ms, worst", 1),
        _ => Unit::new(1.0, "% of the journal's bytes", 1),
    };
    let of_row =
        |row| goals(row, run).into_iter().map(move |goal| (row.row.name, goal, unit(row, &goal)));
    goals_text(&run.measured.iter().flat_map(of_row).collect::<Vec<_>>(), 18)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            super::DayReading,
            kept::Kept,
            rows::{PLANT, TAP},
        },
        *,
    };
    use crate::engine::{
        Reading, Times as Engine, Written,
        test::{measured, run},
    };

    #[test]
    fn goals_are_met_on_one_side_and_missed_on_the_other() {
        let plant = |name: &str, processor_nanos| -> Measured<Replay> {
            let day = DayReading { processor_nanos, operations: 10, ..DayReading::default() };
            let written = Written { messages: 20, nanos: 1_000 };
            measured(name, [Reading { day, written, ..Reading::default() }])
        };
        let reader = |name: &str, messages| {
            let written = Written { messages, nanos: 1_000 };
            measured(name, [Reading { written, ..Reading::default() }])
        };
        let books = |name: &str, p50_ns, max_ns| {
            let times = Some(Engine { count: 1, p50_ns, max_ns, ..Engine::default() });
            measured(name, [Reading { times, ..Reading::default() }])
        };
        let mut all = run(vec![
            plant(PLANT, 400),
            plant(TAP, 500),
            plant(RECORDER, 550),
            reader("read-back", 25),
            reader("heal", 10),
            reader("snapshot", 10),
            books("book-at", 90_000_000, 300_000_000),
            books("books-at", 1_000_000_000, 1_200_000_000),
        ]);
        all.options.kept = Some(Kept { bytes: 1_000, snapshot_bytes: 120, ..Kept::default() });
        let of_row = |row| goals(row, &all).into_iter().map(|goal| (row.row.name, goal));
        let found = all.measured.iter().flat_map(of_row);
        let found = found.map(|(row, goal)| (row, goal.of, (goal.share() * 100.0).round()));
        let expected = [
            (RECORDER, RATIO, 10.0),
            ("read-back", PER_SECOND, 25.0),
            ("heal", RATIO, 50.0),
            ("snapshot", SNAPSHOTS, 20.0),
            ("book-at", MEDIAN, 10.0),
            ("book-at", WORST, 20.0),
            ("books-at", WORST, 20.0),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let printed = text(&all);
        assert!(printed.starts_with("\nGoals: 4 of 7 met\n"), "{printed}");
        assert!(printed.contains("missed at most 1.00 times plant-tap: 1.10, by 10%"), "{printed}");
        assert!(printed.contains("missed at least 1.00 times plant: 0.50, by 50%"), "{printed}");
        let alone = run(vec![plant(RECORDER, 550)]);
        assert_eq!(text(&alone), "");
    }
}
