//! What a reader does on AMD's processors when it has read all messages.
//!
//! A poll of a word that the other core is about to write takes its line away from it. A message of
//! two lines costs two transfers, one after the other, unless the reader prefetches the second line
//! while it polls the first one. So a reader that waits pauses after each poll, and prefetches the
//! lines of the next message. One that is just behind a writer at full speed rests instead: then it
//! reads many messages, whose lines come together, and not each one from under the writer's stores.
//! Intel's processors gain nothing from the second line, and pause for longer (decisions 0040 and
//! 0047).

use std::hint::spin_loop;

use nanotape_shm::is_amd;

/// Pauses of a rest: half a microsecond, in which two cores exchange a line twice.
const REST: u32 = 24;

/// Pauses of a reader of batches, which get longer.
const LONG_REST: u32 = 48;

/// Messages that a rest must bring: fewer come sooner if the reader polls.
const WORTH: u64 = 8;

/// A message that comes after this many empty polls was not just behind the one before.
const FEW_POLLS: u32 = 8;

/// Logarithm of the number of chances that are left unused after several useless rests.
const MOST_FAILURES: u32 = 12;

/// A reader's polls, and whether rests bring messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    helps: bool,
    has_rested: bool,
    /// The last batch was short, and everything that was there.
    was_short: bool,
    /// The number of the next message when the reader last had read everything.
    next: u64,
    /// Empty polls for this message, after the first one.
    empty_polls: u32,
    /// Useless rests in a row.
    failures: u32,
    /// Chances to leave unused before the next rest.
    unused: u32,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        Self {
            helps: is_amd(),
            has_rested: false,
            was_short: false,
            next: 0,
            empty_polls: FEW_POLLS,
            failures: 0,
            unused: 0,
        }
    }

    /// After an empty poll for the message with this number: pauses or rests. Whether to prefetch
    /// the lines of the message.
    #[inline(always)]
    pub(crate) fn idle(&mut self, next: u64) -> bool {
        if !self.helps {
            return false;
        }
        if next != self.next {
            self.catch_up(next, REST);
            return false;
        }
        self.empty_polls = self.empty_polls.saturating_add(1);
        spin_loop();
        true
    }

    /// Before a batch that begins with the message with this number: rests if the last one was
    /// short.
    #[inline(always)]
    pub(crate) fn begin_batch(&mut self, next: u64) {
        if self.was_short {
            self.was_short = false;
            self.catch_up(next, LONG_REST);
        }
    }

    /// After a batch; `is_short`: and it was everything that was there.
    #[inline(always)]
    pub(crate) fn end_batch(&mut self, is_short: bool) {
        self.was_short = self.helps && is_short;
    }

    /// The writer lapped the reader: a rest just before was too long for this ring.
    pub(crate) fn lose(&mut self) {
        self.judge(false);
    }

    /// The reader has read everything before the message with this number. Rests if the last rest
    /// was worth it, or if this one may be.
    #[inline(never)]
    fn catch_up(&mut self, next: u64, pauses: u32) {
        if self.is_rest_due(next) {
            (0..pauses).for_each(|_| spin_loop());
        }
    }

    fn is_rest_due(&mut self, next: u64) -> bool {
        let read = next.wrapping_sub(self.next);
        let is_close = self.empty_polls < FEW_POLLS;
        (self.next, self.empty_polls) = (next, 0);
        self.judge(read >= WORTH);
        self.has_rested = self.helps && is_close && self.unused == 0;
        self.unused -= u32::from(is_close && self.unused > 0);
        self.has_rested
    }

    /// Whether the last rest, if there was one since the last judgement, was worth it.
    fn judge(&mut self, was_worth: bool) {
        if self.has_rested {
            self.failures = if was_worth { 0 } else { MOST_FAILURES.min(self.failures + 1) };
            self.unused = (1 << self.failures) - 1;
            self.has_rested = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_amd() -> Waiting {
        Waiting { helps: true, ..Waiting::new() }
    }

    #[test]
    fn a_reader_prefetches_lines_from_its_second_empty_poll_on() {
        let mut waiting = on_amd();
        assert_eq!(
            [1, 1, 1, 2, 2].map(|next| waiting.idle(next)),
            [false, true, true, false, true]
        );
        let mut other = Waiting { helps: false, ..Waiting::new() };
        assert!(!(0..100).any(|_| other.idle(1)));
    }

    /// How often a reader rests, of 4,000 times that it catches up, if it then has read `read`
    /// messages, after `polls` empty polls for the first of them.
    fn rests(read: u64, polls: usize) -> usize {
        let mut waiting = on_amd();
        let mut next = 1;
        let times = (0..4_000).filter(|_| {
            (0..polls).for_each(|_| _ = waiting.idle(next));
            next += read;
            waiting.is_rest_due(next)
        });
        times.count()
    }

    #[test]
    fn a_reader_rests_only_while_that_brings_messages() {
        assert_eq!((rests(WORTH, 2), rests(1_000_000, 4)), (4_000, 4_000));
        // Useless rests become rare, and messages that come late need none.
        assert_eq!(rests(WORTH - 1, 2), 11);
        assert_eq!((rests(1, 20), rests(100, 20)), (0, 0));
    }

    #[test]
    fn a_rest_that_ends_with_a_loss_is_useless_however_many_messages_were_passed() {
        let mut waiting = on_amd();
        _ = waiting.idle(1);
        assert!(waiting.is_rest_due(1_000));
        waiting.lose();
        assert!(!waiting.is_rest_due(2_000));
        assert!(waiting.is_rest_due(3_000), "one chance was left unused");
        assert!(waiting.is_rest_due(4_000));
    }

    #[test]
    fn only_a_short_batch_is_followed_by_a_rest() {
        let mut waiting = on_amd();
        _ = waiting.idle(1);
        for (next, is_short) in [(100, false), (200, true), (300, true)] {
            waiting.end_batch(is_short);
            waiting.begin_batch(next);
            assert_eq!(waiting.has_rested, is_short);
        }
    }

    #[test]
    fn a_reader_that_jumps_back_or_elsewhere_goes_on() {
        let mut waiting = on_amd();
        for next in [u64::MAX, 1, 7, 3, u64::MAX - 1] {
            waiting.catch_up(next, 1);
            assert!(waiting.idle(next));
        }
    }
}
