//! The messages of a session that are missing, gap by gap.
//!
//! A gap begins as a suspicion: a later message came. It is declared when the hold time is over, or
//! when all lines have passed it. From then on it is reported, and its messages are requested.
//! Bounds: at most [`MOST_GAPS`] gaps, and [`MOST_RANGES`] ranges of missing numbers. A packet that
//! would open another one is dropped: its messages count as missing when a later one is accepted.

use std::collections::VecDeque;

use super::{
    event::{Fill, Fills, Gap, GapReport},
    ranges::{Numbers, Ranges},
};

/// Gaps at a time.
const MOST_GAPS: usize = 1024;

/// Ranges of missing numbers at a time.
const MOST_RANGES: usize = 4096;

/// The gaps of a session.
#[derive(Debug)]
pub(super) struct Gaps {
    missing: Ranges,
    /// In order of their numbers; the declared ones first.
    open: VecDeque<Open>,
    declared: usize,
}

#[derive(Debug)]
struct Open {
    gap: Gap,
    fills: Fills,
    missing: u64,
    requests: u32,
    is_declared: bool,
}

impl Gaps {
    pub(super) fn new() -> Self {
        Self {
            missing: Ranges::with_capacity(MOST_RANGES),
            open: VecDeque::with_capacity(MOST_GAPS),
            declared: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// Messages that are missing.
    pub(super) fn missing(&self) -> u64 {
        self.missing.count()
    }

    /// The first number that is missing.
    #[inline]
    pub(super) fn first_missing(&self) -> Option<u64> {
        self.missing.first().map(|range| range.start)
    }

    /// The parts of `within` that are missing.
    pub(super) fn parts(&self, within: Numbers) -> impl Iterator<Item = Numbers> + '_ {
        self.missing.parts(within)
    }

    /// The first part of `within` that is missing.
    pub(super) fn first_part(&self, within: Numbers) -> Option<Numbers> {
        self.missing.parts(within).next()
    }

    /// Opens a gap above all others; `false` if there is no room.
    #[must_use]
    pub(super) fn open(&mut self, gap: Gap) -> bool {
        // Messages without room follow each other: they are one gap until it is declared.
        if let Some(last) = self.open.back_mut()
            && !last.is_declared
            && last.gap.numbers.end == gap.numbers.start
            && self.missing.ends_at(gap.numbers.start)
        {
            last.missing += gap.numbers.end - gap.numbers.start;
            last.gap.numbers.end = gap.numbers.end;
            return self.missing.push(gap.numbers);
        }
        if self.open.len() == MOST_GAPS || !self.missing.push(gap.numbers.clone()) {
            return false;
        }
        let missing = gap.numbers.end - gap.numbers.start;
        let (fills, requests, is_declared) = (Fills::default(), 0, false);
        self.open.push_back(Open { gap, fills, missing, requests, is_declared });
        true
    }

    /// Opens a gap below all others, declared; `false` if there is no room.
    #[must_use]
    pub(super) fn open_below(&mut self, gap: Gap) -> bool {
        if self.open.len() == MOST_GAPS || !self.missing.push_first(gap.numbers.clone()) {
            return false;
        }
        let missing = gap.numbers.end - gap.numbers.start;
        let (fills, requests, is_declared) = (Fills::default(), 0, true);
        self.open.push_front(Open { gap, fills, missing, requests, is_declared });
        self.declared += 1;
        true
    }

    /// These numbers are not missing any more. Calls `closed` with each declared gap that has none
    /// left. Returns how many messages came for gaps that were not declared.
    pub(super) fn fill(
        &mut self,
        numbers: Numbers,
        how: Fill,
        now_ns: u64,
        mut closed: impl FnMut(GapReport),
    ) -> u64 {
        let mut in_time = 0;
        for open in &mut self.open {
            let Numbers { start, end } = open.gap.numbers;
            if start >= numbers.end {
                break;
            }
            let within = start.max(numbers.start)..end.min(numbers.end);
            let count: u64 = self.missing.parts(within).map(|part| part.end - part.start).sum();
            open.missing -= count;
            in_time += if open.is_declared { 0 } else { count };
            *open.fills.of(how) += count;
        }
        self.missing.remove(numbers);
        while let Some(place) = self.open.iter().position(|open| open.missing == 0) {
            let Some(Open { gap, fills, requests, is_declared, .. }) = self.open.remove(place)
            else {
                break;
            };
            if is_declared {
                self.declared -= 1;
                closed(GapReport { gap, closed_ns: now_ns, fills, requests });
            }
        }
        in_time
    }

    /// The next gap to declare.
    pub(super) fn undeclared(&self) -> Option<&Gap> {
        self.open.get(self.declared).map(|open| &open.gap)
    }

    /// Declares the next gap.
    pub(super) fn declare(&mut self) {
        if let Some(open) = self.open.get_mut(self.declared) {
            open.is_declared = true;
            self.declared += 1;
        }
    }

    /// One above the last number of a declared gap; 0 without one.
    pub(super) fn declared_to(&self) -> u64 {
        let last = self.declared.checked_sub(1).and_then(|last| self.open.get(last));
        last.map_or(0, |open| open.gap.numbers.end)
    }

    /// Declared gaps.
    pub(super) fn declared(&self) -> usize {
        self.declared
    }

    /// The declared gap with this number.
    pub(super) fn gap_of(&self, number: u64) -> Option<&Gap> {
        let gap = self.open.iter().find(|open| open.gap.numbers.contains(&number))?;
        gap.is_declared.then_some(&gap.gap)
    }

    /// A request was sent for the gap with this number.
    pub(super) fn count_request(&mut self, number: u64) {
        let gap = self.open.iter_mut().find(|open| open.gap.numbers.contains(&number));
        gap.into_iter().for_each(|open| open.requests += 1);
    }
}
