//! A bounded set of sequence numbers, kept as ranges in order: what is missing in a session or on
//! one of its lines.
//!
//! Bounds: at most as many ranges as the constructor says. All memory is reserved there.
//! Cost: a number above all ranges costs one comparison; other calls search and move ranges.

use core::ops::Range;

/// Sequence numbers, from the first to one above the last.
pub type Numbers = Range<u64>;

/// Ranges of numbers, in order, disjoint and not empty.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    ranges: Vec<Numbers>,
    most: usize,
    numbers: u64,
}

impl Ranges {
    /// An empty set of at most `most` ranges.
    pub(super) fn with_capacity(most: usize) -> Self {
        Self { ranges: Vec::with_capacity(most), most, numbers: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many numbers it has.
    pub(super) fn count(&self) -> u64 {
        self.numbers
    }

    /// The lowest range.
    #[inline]
    pub(super) fn first(&self) -> Option<Numbers> {
        self.ranges.first().cloned()
    }

    /// Whether the set has no room for another range above.
    pub(super) fn is_full(&self) -> bool {
        self.ranges.len() == self.most
    }

    /// Whether the highest range ends there.
    pub(super) fn ends_at(&self, end: u64) -> bool {
        self.ranges.last().is_some_and(|last| last.end == end)
    }

    /// Adds numbers above all others; `false` if there is no room.
    #[must_use]
    pub(super) fn push(&mut self, added: Numbers) -> bool {
        debug_assert!(self.ranges.last().is_none_or(|last| last.end <= added.start));
        if added.is_empty() {
            return true;
        }
        let count = added.end - added.start;
        let is_full = self.is_full();
        match self.ranges.last_mut() {
            Some(last) if last.end == added.start => last.end = added.end,
            _ if is_full => return false,
            _ => self.ranges.push(added),
        }
        self.numbers += count;
        true
    }

    /// Adds numbers below all others; `false` if there is no room.
    #[must_use]
    pub(super) fn push_first(&mut self, added: Numbers) -> bool {
        debug_assert!(self.ranges.first().is_none_or(|first| added.end <= first.start));
        if self.is_full() {
            return false;
        }
        self.numbers += added.end - added.start;
        self.ranges.insert(0, added);
        true
    }

    /// Removes the lowest range.
    pub(super) fn remove_first(&mut self) -> Option<Numbers> {
        let first = self.first()?;
        self.ranges.remove(0);
        self.numbers -= first.end - first.start;
        Some(first)
    }

    /// The parts of `within` that the set has, in order.
    pub(super) fn parts(&self, within: Numbers) -> impl Iterator<Item = Numbers> + '_ {
        let from = self.ranges.partition_point(|range| range.end <= within.start);
        self.ranges[from..].iter().map_while(move |range| {
            let part = range.start.max(within.start)..range.end.min(within.end);
            (!part.is_empty()).then_some(part)
        })
    }

    /// Removes the numbers of `removed`, and returns how many the set had. If a range would have to
    /// be split and there is no room, its upper part stays in the set.
    pub(super) fn remove(&mut self, removed: Numbers) -> u64 {
        let before = self.numbers;
        let mut place = self.ranges.partition_point(|range| range.end <= removed.start);
        while let Some(range) = self.ranges.get_mut(place) {
            if range.start >= removed.end {
                break;
            }
            let (start, end) = (range.start.max(removed.start), range.end.min(removed.end));
            let (keeps_low, keeps_high) = (range.start < start, end < range.end);
            match (keeps_low, keeps_high) {
                (false, false) => {
                    self.ranges.remove(place);
                }
                (false, true) => range.start = end,
                (true, false) => {
                    range.end = start;
                    place += 1;
                }
                (true, true) => {
                    let high = end..range.end;
                    if self.ranges.len() == self.most {
                        // To request numbers that have arrived does no harm.
                        return before - self.numbers;
                    }
                    self.ranges[place].end = start;
                    self.ranges.insert(place + 1, high);
                    place += 2;
                }
            }
            self.numbers -= end - start;
        }
        before - self.numbers
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_a_set_of_numbers(
            steps in prop::collection::vec((any::<bool>(), 0..60u64, 1..20u64), 1..60)
        ) {
            let mut ranges = Ranges::with_capacity(100);
            let mut naive = BTreeSet::new();
            let mut top = 0;
            for (adds, start, count) in steps {
                if adds {
                    let start = top + start % 7;
                    top = start + count;
                    prop_assert!(ranges.push(start..top));
                    naive.extend(start..top);
                } else {
                    let removed = ranges.remove(start..start + count);
                    let before = naive.len();
                    naive.retain(|number| !(start..start + count).contains(number));
                    prop_assert_eq!(removed, (before - naive.len()) as u64);
                }
                prop_assert_eq!(ranges.count(), naive.len() as u64);
                let numbers: Vec<u64> = ranges.ranges.iter().cloned().flatten().collect();
                prop_assert!(numbers.iter().eq(naive.iter()));
                let parts: Vec<u64> = ranges.parts(10..40).flatten().collect();
                prop_assert!(parts.iter().eq(naive.range(10..40)));
                prop_assert!(ranges.ranges.iter().all(|range| !range.is_empty()));
            }
        }
    }

    #[test]
    fn a_full_set_refuses_a_range_and_keeps_what_it_cannot_split() {
        let mut ranges = Ranges::with_capacity(2);
        assert!(ranges.push(0..10) && ranges.push(20..30));
        assert!(!ranges.push(40..41));
        assert!(ranges.push(30..31), "the last range grows");
        assert_eq!(ranges.remove(3..5), 0);
        assert_eq!(ranges.count(), 21);
        assert_eq!(ranges.remove(0..5), 5);
        assert_eq!(ranges.first(), Some(5..10));
    }
}
