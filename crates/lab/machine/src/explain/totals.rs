//! What all slow messages were made of, and the slowest of them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::row::{Row, Worst};

/// Counts and sums of the rows of a thread.
#[derive(Clone, Default, Debug)]
pub struct Found {
    /// Slow messages.
    pub rows: u64,
    /// The time of the slow messages.
    pub total_ns: u64,
    /// The largest difference between a row's total and the sum of its parts.
    pub largest_residual_ns: u64,
    /// By the part that most of a row's time went to.
    pub by_main: BTreeMap<String, Total>,
    /// By part and cause, whether or not it was the largest part.
    pub by_part: BTreeMap<String, Total>,
    most_worst: usize,
    worst: BinaryHeap<Worst>,
}

/// Rows and their time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Total {
    /// Rows.
    pub rows: u64,
    /// Their time, or their part of it, in nanoseconds.
    pub nanos: u64,
}

/// The totals of a map with their names, the most time first.
pub fn largest_first(totals: &BTreeMap<String, Total>) -> Vec<(&str, Total)> {
    let mut all: Vec<(&str, Total)> =
        totals.iter().map(|(name, &total)| (name.as_str(), total)).collect();
    all.sort_by_key(|(_, total)| Reverse(total.nanos));
    all
}

impl Found {
    /// Nothing yet; keeps so many of the slowest rows.
    pub fn keeping(worst: usize) -> Self {
        Self { most_worst: worst, ..Self::default() }
    }

    /// Whether the row would be among the slowest.
    pub fn is_among_worst(&self, row: &Row) -> bool {
        let is_full = self.worst.len() >= self.most_worst;
        let is_slower = self.worst.peek().is_some_and(|Worst(least)| row.total_ns > least.total_ns);
        self.most_worst > 0 && (!is_full || is_slower)
    }

    /// The slowest rows, the slowest first.
    pub fn worst(&self) -> Vec<&Row> {
        let mut worst: Vec<&Row> = self.worst.iter().map(|Worst(row)| row).collect();
        worst.sort_by_key(|row| Reverse((row.total_ns, Reverse(row.number))));
        worst
    }

    /// Adds a row.
    pub fn add(&mut self, row: Row) {
        self.rows += 1;
        self.total_ns += row.total_ns;
        self.largest_residual_ns = self.largest_residual_ns.max(row.residual_ns.unsigned_abs());
        add(&mut self.by_main, row.main().text(), row.total_ns);
        let unexplained = u64::try_from(row.unexplained_ns).unwrap_or(0);
        let parts = [
            ("earlier messages", row.waited_ns),
            ("usual work", row.usual_ns),
            ("unexplained", unexplained),
            ("not traced", row.not_traced_ns),
        ];
        for (name, nanos) in parts.into_iter().filter(|&(_, nanos)| nanos > 0) {
            add(&mut self.by_part, name.to_owned(), nanos);
        }
        let mut causes = BTreeMap::<String, u64>::new();
        for share in row.interruptions.iter().filter(|share| share.nanos > 0) {
            *causes.entry(share.cause.to_string()).or_default() += share.nanos;
        }
        for (cause, nanos) in causes {
            add(&mut self.by_part, cause, nanos);
        }
        if self.is_among_worst(&row) {
            self.worst.push(Worst(row));
            if self.worst.len() > self.most_worst {
                self.worst.pop();
            }
        }
    }
}

fn add(totals: &mut BTreeMap<String, Total>, name: String, nanos: u64) {
    let total = totals.entry(name).or_default();
    total.rows += 1;
    total.nanos += nanos;
}
