//! The moments of a replay in which its thread did not run, or a message took long.
//!
//! Bounds: [`MOST`] of them, in memory that is touched at the start; later ones are counted.

use nanotape_clock::{Clock, Stamp};
use nanotape_machine::{Attributor, Cause, Gap};
use nanotape_queue::Interruption;

/// Moments that are kept.
const MOST: usize = 1 << 17;

/// Two readings of the clock in a wait take 10 to 20 ns; a longer time is an interruption.
const WAIT_NS: u64 = 300;

/// A message that takes longer is attributed. Attribution costs about 1 us, so that 2 us are worth
/// it.
const MESSAGE_NS: u64 = 2_000;

/// The accounts are read again after this time without a question, so that they cover little else.
const MARK_NS: u64 = 2_000_000;

/// Time that a question needs, with caches that others had.
pub(super) const QUESTION_NS: u64 = 8_000;

pub(super) struct Interruptions {
    clock: Clock,
    attributor: Attributor,
    marked: Stamp,
    wait_ticks: u64,
    message_ticks: u64,
    mark_ticks: u64,
    found: Vec<(Gap, Option<usize>, Cause)>,
    not_kept: u64,
    /// The first one since the last question.
    queried: usize,
}

impl Interruptions {
    /// Opens the accounts of the calling thread.
    pub(super) fn open(clock: &Clock) -> Self {
        let ticks = |ns: u64| (ns as f64 * clock.rate().ticks_per_second / 1e9) as u64;
        let nothing = Gap { from: Stamp::from_ticks(1), to: Stamp::from_ticks(1) };
        // Filled and cleared, so that a later push is no page fault.
        let mut found = vec![(nothing, None, Cause::NotAttributed); MOST];
        found.clear();
        Self {
            clock: *clock,
            attributor: Attributor::open(clock),
            marked: clock.stamp(),
            wait_ticks: ticks(WAIT_NS),
            message_ticks: ticks(MESSAGE_NS),
            mark_ticks: ticks(MARK_NS),
            found,
            not_kept: 0,
            queried: 0,
        }
    }

    /// Two consecutive readings in a wait.
    #[inline(always)]
    pub(super) fn waited(&mut self, from: Stamp, to: Stamp) {
        if to.ticks().wrapping_sub(from.ticks()) > self.wait_ticks && to > from {
            self.keep(Gap { from, to }, None);
        }
    }

    /// A message was processed between two readings.
    #[inline(always)]
    pub(super) fn processed(&mut self, index: usize, from: Stamp, to: Stamp) {
        if to.ticks().wrapping_sub(from.ticks()) > self.message_ticks && to > from {
            self.keep(Gap { from, to }, Some(index));
        }
    }

    /// Reads the cause of what was found, if anything was. The thread has time for it. Returns
    /// whether it took some.
    #[inline(always)]
    pub(super) fn settle(&mut self, now: Stamp) -> bool {
        if self.queried == self.found.len()
            && now.ticks().wrapping_sub(self.marked.ticks()) < self.mark_ticks
        {
            return false;
        }
        self.query();
        true
    }

    #[cold]
    #[inline(never)]
    fn query(&mut self) {
        let pending = self.found.get_mut(self.queried..).unwrap_or(&mut []);
        let ticks = |gap: &Gap| gap.to.ticks().saturating_sub(gap.from.ticks());
        let is_long = |gap: &Gap| ticks(gap) > self.message_ticks;
        let long = || pending.iter().map(|(gap, ..)| gap).filter(|gap| is_long(gap));
        let sum: u64 = long().map(ticks).sum();
        match long().next().copied() {
            None => self.attributor.mark(),
            // The accounts cover all of them. None stays without an answer.
            Some(Gap { from, .. }) => {
                let to = Stamp::from_ticks(from.ticks().saturating_add(sum));
                let all = self.attributor.attribute(&Gap { from, to });
                for (gap, _, cause) in pending.iter_mut().filter(|(gap, ..)| is_long(gap)) {
                    *cause = all.cause_of_part(gap.nanos(&self.clock));
                }
            }
        }
        self.queried = self.found.len();
        self.marked = self.clock.stamp();
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, gap: Gap, message: Option<usize>) {
        if self.found.len() == MOST {
            self.not_kept += 1;
            return;
        }
        self.found.push((gap, message, Cause::NotAttributed));
    }

    /// Everything that was found, in nanoseconds since `base`, and how much was not kept.
    pub(super) fn finish(mut self, base: Stamp) -> (Vec<Interruption>, u64) {
        self.settle(self.clock.stamp());
        let since = |stamp| self.clock.nanos_between(base, stamp);
        let found = self.found.iter().map(|(gap, message, cause)| Interruption {
            from_ns: since(gap.from),
            to_ns: since(gap.to),
            message: *message,
            cause: cause.kind(),
        });
        (found.collect(), self.not_kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_long_interruption_is_too_short_to_attribute() {
        let clock = Clock::calibrate();
        let mut interruptions = Interruptions::open(&clock);
        let per_us = (clock.rate().ticks_per_second / 1e6) as u64;
        let begin = clock.stamp().ticks();
        let gap = |from_us: u64, length_us: u64| {
            let at = |us: u64| Stamp::from_ticks(begin + us * per_us);
            (at(from_us), at(from_us + length_us))
        };
        // Three before the thread has time for a question: the longest one is not the only one.
        for (from, to) in [gap(0, 1_550), gap(2_000, 5_000), gap(8_000, 10)] {
            interruptions.processed(0, from, to);
        }
        let (from, to) = gap(9_000, 1);
        interruptions.waited(from, to);
        interruptions.settle(Stamp::from_ticks(begin + 10_000 * per_us));
        let (found, not_kept) = interruptions.finish(Stamp::from_ticks(begin));
        let too_short = Cause::NotAttributed.kind();
        let causes: Vec<bool> = found.iter().map(|one| one.cause == too_short).collect();
        assert_eq!((causes, not_kept), (vec![false, false, false, true], 0), "{found:?}");
    }
}
