//! What a journal is to reach, beside what it reached.

use super::{
    rows::{Row, Section},
    session::Measured,
};

/// A number that is to be reached, or not to be exceeded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// The row that it is about.
    pub row: &'static str,
    /// Which of its numbers.
    pub of: Of,
    /// What is wanted.
    pub bound: Bound,
    /// What it is.
    pub value: f64,
}

/// A number of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// Messages appended in a second.
    PerSecond,
    /// The median, in ns.
    P50,
    /// The 99th percentile, in ns.
    P99,
    /// Times the row's limit.
    Ratio,
}

/// What is wanted of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// What is wanted of the rows of a section.
const WANTED: [(Section, Of, Bound); 5] = [
    (Section::Append, Of::PerSecond, Bound::AtLeast(20e6)),
    (Section::Call, Of::P50, Bound::AtMost(40.0)),
    (Section::Call, Of::P99, Bound::AtMost(250.0)),
    (Section::WriteToRead, Of::P50, Bound::AtMost(230.0)),
    (Section::Sync, Of::Ratio, Bound::AtMost(1.3)),
];

impl Goal {
    /// Whether it was reached.
    pub fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least) => self.value >= least,
            Bound::AtMost(most) => self.value <= most,
        }
    }

    /// How far the number is from it, on either side, as a share of it.
    pub fn distance(&self) -> f64 {
        (self.value / self.bound.number() - 1.0).abs()
    }
}

impl Of {
    /// As it stands in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "messages/s",
            Self::P50 => "p50_ns",
            Self::P99 => "p99_ns",
            Self::Ratio => "ratio",
        }
    }
}

impl Bound {
    /// The number itself.
    pub fn number(self) -> f64 {
        match self {
            Self::AtLeast(number) | Self::AtMost(number) => number,
        }
    }
}

/// The goals of a row, as far as they were measured.
pub fn goals(measured: &Measured, all: &[Measured]) -> Vec<Goal> {
    let number = |of| match of {
        Of::PerSecond => measured.written_per_second().map(|rate| rate.median),
        Of::P50 => measured.time_ns(|times| Some(times.p50_ns)).map(|time| time.median),
        Of::P99 => measured.time_ns(|times| Some(times.p99_ns)).map(|time| time.median),
        Of::Ratio => measured.ratio(all).map(|ratio| ratio.value),
    };
    let Row { name: row, section, .. } = *measured.row;
    let wanted = WANTED.iter().filter(|(of_section, ..)| *of_section == section);
    wanted.filter_map(|&(_, of, bound)| Some(Goal { row, of, bound, value: number(of)? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::{ROWS, Reading, Times},
        sides::Written,
    };

    fn measured(name: &str, times: Option<Times>, messages: u64) -> Measured {
        let written = Written { messages, nanos: 1_000_000 };
        let row = ROWS.iter().find(|row| row.name == name).unwrap();
        Measured { row, readings: vec![Reading { times, written, ..Reading::default() }] }
    }

    #[test]
    fn goals_are_met_on_one_side_and_missed_on_the_other() {
        let times = |p50_ns, p99_ns| Some(Times { count: 1, p50_ns, p99_ns, ..Times::default() });
        let all = [
            measured("append/73/throughput", None, 25_000),
            measured("append/256/throughput", None, 15_000),
            measured("append/73/call", times(30, 500), 1),
            measured("sync/73/each", times(130, 300), 1),
            measured("limit/fdatasync", times(100, 200), 1),
        ];
        let found: Vec<_> = all
            .iter()
            .flat_map(|one| goals(one, &all))
            .map(|goal| (goal.row, goal.of, goal.is_met(), (goal.distance() * 100.0).round()))
            .collect();
        let expected = [
            ("append/73/throughput", Of::PerSecond, true, 25.0),
            ("append/256/throughput", Of::PerSecond, false, 25.0),
            ("append/73/call", Of::P50, true, 25.0),
            ("append/73/call", Of::P99, false, 100.0),
            ("sync/73/each", Of::Ratio, true, 0.0),
        ];
        assert_eq!(found, expected);
        assert!(goals(&all[3], &all[..4]).is_empty(), "without its limit");
    }
}
