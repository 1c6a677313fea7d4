//! Estimator `match-sequence`: for two lines of one feed, by the number of each message.
//!
//! Protocol: [`SequenceRing`] remembers when each of the last numbers came first, and on which
//! line. The copy of the other line gives a pair. A window of pairs gives the estimate.
//! Bounds: the ring has a power of two of numbers. A copy that comes after as many others is late.
//! Cost of a message: one slot of 16 bytes; no allocation.

use crate::{
    Changes, Estimate, Estimator, NoEstimate, Window,
    bursts::{BurstMedian, LEAST, Observed, near_ns},
};

/// Which of the two feeds showed something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feed {
    /// The first, against which the other is measured.
    First,
    /// The second.
    Second,
}

/// Counts of what a [`SequenceRing`] saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequenceCounts {
    /// Messages that both feeds brought.
    pub pairs: u64,
    /// Messages that came earlier on the first feed, later, and at the same nanosecond.
    pub won: [u64; 3],
    /// Messages that only this feed brought, or the other too late: first, second.
    pub alone: [u64; 2],
    /// Messages that a feed had brought before.
    pub repeated: [u64; 2],
    /// Messages whose number was no longer in the ring.
    pub late: [u64; 2],
}

/// When the last messages of two feeds came first.
#[derive(Debug)]
pub struct SequenceRing {
    slots: Box<[Slot]>,
    counts: SequenceCounts,
}

/// The number of a message and its state in the lower two bits; 0 if the slot is empty.
#[derive(Clone, Copy, Debug)]
struct Slot {
    number_and_state: u64,
    time_ns: i64,
}

/// One copy beyond the largest lag among so many is no reason to refuse a window.
const BEYOND: usize = 20;
const STATE_BITS: u32 = 2;
/// Both feeds brought the message. The states of one feed are 1 and 2.
const PAIRED: u64 = 3;

impl SequenceRing {
    /// A ring that remembers this many numbers, rounded up to a power of two from 64 to 2^26.
    pub fn with_capacity(numbers: usize) -> Self {
        let numbers = numbers.clamp(64, 1 << 26).next_power_of_two();
        let empty = Slot { number_and_state: 0, time_ns: 0 };
        Self { slots: vec![empty; numbers].into(), counts: SequenceCounts::default() }
    }

    /// A feed brought message `number` at this time. Returns the time on the second feed minus that
    /// on the first if the other feed had brought it.
    #[inline]
    pub fn note(&mut self, feed: Feed, number: u64, time_ns: i64) -> Option<i64> {
        let place = number as usize & (self.slots.len() - 1);
        let slot = &mut self.slots[place];
        let state = feed as u64 + 1;
        let known = slot.number_and_state >> STATE_BITS;
        if known == number && slot.number_and_state == number << STATE_BITS | (3 - state) {
            let earlier_ns = slot.time_ns;
            slot.number_and_state = number << STATE_BITS | PAIRED;
            let difference = match feed {
                Feed::Second => time_ns.saturating_sub(earlier_ns),
                Feed::First => earlier_ns.saturating_sub(time_ns),
            };
            self.counts.pairs += 1;
            let winner = usize::from(difference < 0) + 2 * usize::from(difference == 0);
            self.counts.won[winner] += 1;
            return Some(difference);
        }
        if known < number && number < 1 << (64 - STATE_BITS) {
            let left = slot.number_and_state & PAIRED;
            *slot = Slot { number_and_state: number << STATE_BITS | state, time_ns };
            self.leave(left);
        } else {
            self.refuse(feed, known == number && number != 0);
        }
        None
    }

    /// Counts a message that leaves the ring.
    #[inline]
    fn leave(&mut self, state: u64) {
        if state == 1 || state == 2 {
            self.counts.alone[state as usize - 1] += 1;
        }
    }

    #[cold]
    fn refuse(&mut self, feed: Feed, is_repeated: bool) {
        let counts = if is_repeated { &mut self.counts.repeated } else { &mut self.counts.late };
        counts[feed as usize] += 1;
    }

    /// Forgets all numbers, for a new session: messages without a partner count as alone.
    pub fn begin_session(&mut self) {
        for place in 0..self.slots.len() {
            let left = self.slots[place].number_and_state & PAIRED;
            self.leave(left);
            self.slots[place].number_and_state = 0;
        }
    }

    /// The counts so far. Messages in the ring without a partner are in none of them.
    pub fn counts(&self) -> SequenceCounts {
        self.counts
    }
}

/// Estimates the delay of a line from series whose values are the identities of messages: their
/// numbers, or better a hash of number and content, since two feeds may number other messages.
#[derive(Debug)]
pub struct MatchSequence {
    max_lag_ns: i64,
    /// The numbers of the second feed in the widened window, with their times.
    second: Vec<(i64, i64)>,
    differences: Vec<Observed>,
    median: BurstMedian,
}

impl MatchSequence {
    /// Its name.
    pub const NAME: &str = "match-sequence";

    /// Copies that are further apart than this are not compared.
    pub fn new(max_lag_ns: i64) -> Self {
        Self {
            max_lag_ns: max_lag_ns.max(0),
            second: Vec::new(),
            differences: Vec::new(),
            median: BurstMedian::default(),
        }
    }

    /// The estimate of the differences of a window in order of time, of which the first feed had
    /// `messages`.
    pub fn of_differences(
        &mut self,
        differences: &[Observed],
        messages: usize,
        window: Window,
    ) -> Result<Estimate, NoEstimate> {
        let matches = differences.len();
        if matches < LEAST {
            return Err(NoEstimate::FewMatches { matches, least: LEAST });
        }
        let found = self.median.of(differences, near_ns(window))?;
        Ok(Estimate {
            delay_ns: found.median,
            low_ns: found.low,
            high_ns: found.high,
            support: matches,
            quality: matches as f64 / messages.max(matches) as f64,
        })
    }
}

impl Estimator for MatchSequence {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn estimate(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<Estimate, NoEstimate> {
        let first = first.within(window);
        let second = second.within(window.widened(self.max_lag_ns));
        if first.len().min(second.len()) < LEAST {
            let (first, second) = (first.len(), second.len());
            return Err(NoEstimate::FewChanges { first, second, least: LEAST });
        }
        self.second.clear();
        let numbers = second.values.iter().copied().zip(second.times_ns.iter().copied());
        self.second.extend(numbers);
        // The first copy of each number; they are nearly in order.
        self.second.sort_unstable();
        self.second.dedup_by_key(|(number, _)| *number);
        let mut differences = std::mem::take(&mut self.differences);
        differences.clear();
        let (mut at, mut beyond) = (0, [0; 2]);
        for (&number, &time_ns) in first.values.iter().zip(first.times_ns) {
            let found = match self.second.get(at) {
                Some(&(next, _)) if next == number => Ok(at),
                _ => self.second.binary_search_by_key(&number, |(number, _)| *number),
            };
            let Ok(found) = found else { continue };
            at = found + 1;
            let difference = self.second[found].1.saturating_sub(time_ns);
            if difference.unsigned_abs() <= self.max_lag_ns.unsigned_abs() {
                differences.push(Observed { at_ns: time_ns, value: difference });
            } else {
                beyond[usize::from(difference > 0)] += 1;
            }
        }
        // Without them, the median would be that of the nearest ones.
        let [before, behind] = beyond;
        let estimate = match before.max(behind) {
            far if far * BEYOND > differences.len() => {
                let sign = if behind >= before { 1 } else { -1 };
                Err(NoEstimate::AtTheEdge { lag_ns: sign * self.max_lag_ns })
            }
            _ => self.of_differences(&differences, first.len(), window),
        };
        self.differences = differences;
        estimate
    }
}
