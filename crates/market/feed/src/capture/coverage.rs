//! The message numbers that one group of a capture carried, as ranges.
//!
//! Bounds: numbers are added to at most [`MOST_RANGES`] ranges, 512 KiB, or as many as the
//! constructor says. With more, the two lowest become one: its numbers are then more than those
//! that were carried, and [`Coverage::is_exact`] is false. The count and the holes stay exact.
//! Cost: numbers that continue the highest range cost one comparison; others search and move
//! ranges.

use core::ops::Range;

/// Ranges that are kept.
const MOST_RANGES: usize = 1 << 15;

/// A set of message numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Coverage {
    /// In order, disjoint, not adjacent and not empty.
    ranges: Vec<Range<u64>>,
    /// Ranges that are kept.
    most: usize,
    count: u64,
    /// Ranges that were made one with the next one.
    merged: u64,
}

impl Default for Coverage {
    fn default() -> Self {
        Self::with_most(MOST_RANGES)
    }
}

impl Coverage {
    /// A set without numbers, of at most this many ranges.
    pub(super) const fn with_most(most: usize) -> Self {
        Self { ranges: Vec::new(), most, count: 0, merged: 0 }
    }

    /// Adds numbers, and returns how many of them are new.
    pub(super) fn add(&mut self, added: Range<u64>) -> u64 {
        if added.is_empty() {
            return 0;
        }
        if let Some(last) = self.ranges.last_mut()
            && last.end == added.start
        {
            let new = added.end - added.start;
            (last.end, self.count) = (added.end, self.count + new);
            return new;
        }
        let new = self.insert(added);
        self.count += new;
        if self.ranges.len() > self.most
            && let [first, second, ..] = self.ranges.as_mut_slice()
        {
            second.start = first.start;
            self.ranges.remove(0);
            self.merged += 1;
        }
        new
    }

    fn insert(&mut self, added: Range<u64>) -> u64 {
        // The ranges that overlap or touch the new one become one with it.
        let from = self.ranges.partition_point(|range| range.end < added.start);
        let to = from + self.ranges[from..].partition_point(|range| range.start <= added.end);
        let touched = &self.ranges[from..to];
        let (Some(first), Some(last)) = (touched.first(), touched.last()) else {
            let new = added.end - added.start;
            self.ranges.insert(from, added);
            return new;
        };
        let all = first.start.min(added.start)..last.end.max(added.end);
        let before: u64 = touched.iter().map(|range| range.end - range.start).sum();
        let new = all.end - all.start - before;
        self.ranges.splice(from..to, [all]);
        new
    }

    /// How many numbers were added.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The numbers from the lowest to one above the highest; `None` without a number.
    pub(super) fn span(&self) -> Option<Range<u64>> {
        Some(self.ranges.first()?.start..self.ranges.last()?.end)
    }

    /// The lowest number of the set that is `number` or higher.
    pub(super) fn next_from(&self, number: u64) -> Option<u64> {
        let place = self.ranges.partition_point(|range| range.end <= number);
        self.ranges.get(place).map(|range| range.start.max(number))
    }

    /// How many holes there are between the lowest and the highest number.
    pub(super) fn holes(&self) -> u64 {
        self.merged + self.ranges.len().saturating_sub(1) as u64
    }

    /// Whether the ranges are exactly the numbers that were added.
    pub(super) fn is_exact(&self) -> bool {
        self.merged == 0
    }

    /// The numbers of both sets.
    pub(super) fn union(&self, other: &Self) -> Self {
        let mut ranges: Vec<Range<u64>> = Vec::with_capacity(self.ranges.len());
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        loop {
            let is_left = match (left.peek(), right.peek()) {
                (Some(one), Some(two)) => one.start <= two.start,
                (one, _) => one.is_some(),
            };
            let Some(range) = (if is_left { left.next() } else { right.next() }) else { break };
            match ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range.clone()),
            }
        }
        Self::of(ranges, self.merged + other.merged)
    }

    /// The numbers that both sets have.
    pub(super) fn common(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        let (mut left, mut right) = (self.ranges.iter(), other.ranges.iter());
        let (mut of_left, mut of_right) = (left.next(), right.next());
        while let (Some(one), Some(two)) = (of_left, of_right) {
            let both = one.start.max(two.start)..one.end.min(two.end);
            if !both.is_empty() {
                ranges.push(both);
            }
            match one.end <= two.end {
                true => of_left = left.next(),
                false => of_right = right.next(),
            }
        }
        Self::of(ranges, self.merged + other.merged)
    }

    fn of(ranges: Vec<Range<u64>>, merged: u64) -> Self {
        let count = ranges.iter().map(|range| range.end - range.start).sum();
        Self { ranges, count, merged, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set_of(ranges: &[(u64, u64)]) -> (Coverage, BTreeSet<u64>) {
        let (mut coverage, mut naive) = (Coverage::default(), BTreeSet::new());
        for &(start, count) in ranges {
            let before = naive.len();
            naive.extend(start..start + count);
            assert_eq!(coverage.add(start..start + count), (naive.len() - before) as u64);
        }
        (coverage, naive)
    }

    proptest! {
        #[test]
        fn coverage_is_a_set_of_numbers(
            left in prop::collection::vec((0..60u64, 0..9u64), 0..40),
            right in prop::collection::vec((0..60u64, 0..9u64), 0..40),
        ) {
            let ((mut left, mut naive), (right, other)) = (set_of(&left), set_of(&right));
            let common = left.common(&right);
            prop_assert!(common.ranges.iter().cloned().flatten().eq(naive.intersection(&other).copied()));
            prop_assert_eq!(common.count(), naive.intersection(&other).count() as u64);
            prop_assert!(left.ranges.iter().cloned().flatten().eq(naive.iter().copied()));
            left = left.union(&right);
            naive.extend(&other);
            prop_assert!(left.ranges.iter().cloned().flatten().eq(naive.iter().copied()));
            prop_assert_eq!(left.count(), naive.len() as u64);
            let span = naive.first().map(|&first| first..naive.last().unwrap() + 1);
            prop_assert_eq!(left.span(), span);
            let sorted: Vec<u64> = naive.into_iter().collect();
            let holes = sorted.windows(2).filter(|pair| pair[0] + 1 < pair[1]).count();
            prop_assert_eq!((left.holes(), left.is_exact()), (holes as u64, true));
            for number in 0..70 {
                let next = sorted.iter().copied().find(|&of| of >= number);
                prop_assert_eq!(left.next_from(number), next);
            }
        }
    }

    #[test]
    fn too_many_ranges_keep_the_count_and_the_holes() {
        let mut coverage = Coverage::default();
        let all = MOST_RANGES as u64 + 10;
        for number in 0..all {
            assert_eq!(coverage.add(2 * number..2 * number + 1), 1);
        }
        assert_eq!(
            (coverage.count(), coverage.holes(), coverage.is_exact()),
            (all, all - 1, false)
        );
        assert_eq!((coverage.ranges.len(), coverage.span()), (MOST_RANGES, Some(0..2 * all - 1)));
    }
}
