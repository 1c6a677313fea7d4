//! The goals of the journal, and the numbers it reached.

use super::Journal;
use crate::engine::{Bound, Goal, Measured, Run, Unit, goals_text, table};

/// The goal of a number in the rows of a section.
const WANTED: [(&str, &str, Bound); 5] = [
    ("append", PER_SECOND, Bound::AtLeast(20e6)),
    ("append call", "p50_ns", Bound::AtMost(40.0)),
    ("append call", "p99_ns", Bound::AtMost(250.0)),
    ("write to read", "p50_ns", Bound::AtMost(230.0)),
    ("sync", "ratio", Bound::AtMost(1.3)),
];

const PER_SECOND: &str = "messages/s";

/// The goals of a row that were measured.
pub(super) fn goals(measured: &Measured<Journal>, run: &Run<Journal>) -> Vec<Goal> {
    let number = |of| match of {
        PER_SECOND => table::median(measured.written_per_second()),
        "p50_ns" => table::median(measured.time_ns(|times| Some(times.p50_ns))),
        "p99_ns" => table::median(measured.time_ns(|times| Some(times.p99_ns))),
        _ => measured.ratio(run).map(|ratio| ratio.value),
    };
    let section = measured.row.section.name;
    let wanted = WANTED.iter().filter(|(of_section, ..)| *of_section == section);
    wanted.filter_map(|&(_, of, bound)| Some(Goal { of, bound, value: number(of)? })).collect()
}

/// The goals that were reached, and the distance to the others.
pub(super) fn text(run: &Run<Journal>) -> String {
    let unit = |goal: &Goal| match goal.of {
        PER_SECOND => Unit::new(1e-6, "million messages a second", 2),
        "p50_ns" => Unit::new(1.0, "ns p50", 0),
        "p99_ns" => Unit::new(1.0, "ns p99", 0),
        _ => Unit::new(1.0, "times fdatasync", 2),
    };
    let of_row =
        |row| goals(row, run).into_iter().map(move |goal| (row.row.name, goal, unit(&goal)));
    goals_text(&run.measured.iter().flat_map(of_row).collect::<Vec<_>>(), 28)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::{
        Reading, Times, Written,
        test::{measured, run},
    };

    pub(in super::super) fn timed(p50_ns: u64, p99_ns: u64) -> Reading {
        let times = Some(Times { count: 1, p50_ns, p99_ns, ..Times::default() });
        Reading { times, ..Reading::default() }
    }

    pub(in super::super) fn rate(messages: u64, nanos: u64) -> Reading {
        Reading { written: Written { messages, nanos }, ..Reading::default() }
    }

    #[test]
    fn goals_are_met_on_one_side_and_missed_on_the_other() {
        let all = run::<Journal>(vec![
            measured("append/73/throughput", [rate(25_000, 1_000_000)]),
            measured("append/256/throughput", [rate(15_000, 1_000_000)]),
            measured("append/73/call", [timed(30, 500)]),
            measured("sync/73/each", [timed(130, 300)]),
            measured("limit/fdatasync", [timed(100, 200)]),
        ]);
        let of_row = |row| goals(row, &all).into_iter().map(|goal| (row.row.name, goal));
        let found = all
            .measured
            .iter()
            .flat_map(of_row)
            .map(|(row, goal)| (row, goal.of, goal.is_met(), (goal.share() * 100.0).round()));
        let expected = [
            ("append/73/throughput", PER_SECOND, true, 25.0),
            ("append/256/throughput", PER_SECOND, false, 25.0),
            ("append/73/call", "p50_ns", true, 25.0),
            ("append/73/call", "p99_ns", false, 100.0),
            ("sync/73/each", "ratio", true, 0.0),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let without = run(all.measured[..4].to_vec());
        assert!(goals(&without.measured[3], &without).is_empty(), "without its limit");
    }
}
