//! Messages that arrived before an earlier one, until their turn.
//!
//! Layout: a slot for each number of a window that begins at the next number to deliver, and one
//! buffer for the bytes of all messages. The slot of number `n` is `n` modulo the window.
//! Bounds: the constructor takes the window and the bytes, and reserves them: the buffer twice.
//! Failure: a message that does not fit is refused; the caller requests it again later.
//! Cost: no allocation after the constructor. When the buffer is full of messages that have been
//! delivered, the others move to the second buffer; each byte moves at most once for each byte that
//! is stored.

use std::fmt;

use super::ranges::Numbers;

/// Messages by number.
pub(super) struct AheadBuffer {
    slots: Box<[Slot]>,
    mask: u64,
    bytes: Vec<u8>,
    spare: Vec<u8>,
    most_bytes: usize,
    /// Bytes of the messages that are held.
    held_bytes: usize,
    held: u64,
}

impl fmt::Debug for AheadBuffer {
    /// Without the messages, which can be gigabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AheadBuffer");
        shown.field("held", &self.held).field("held_bytes", &self.held_bytes);
        shown.field("most_bytes", &self.most_bytes).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    ts_recv_ns: u64,
    offset: u32,
    /// Length of the message plus one; 0 if the slot is empty.
    length: u32,
}

impl AheadBuffer {
    /// Room for `window` numbers, rounded up to a power of two, and `most_bytes` of messages.
    pub(super) fn with_capacity(window: usize, most_bytes: usize) -> Self {
        let window = window.max(2).next_power_of_two();
        let most_bytes = most_bytes.min(u32::MAX as usize);
        Self {
            slots: vec![Slot::default(); window].into_boxed_slice(),
            mask: window as u64 - 1,
            bytes: Vec::with_capacity(most_bytes),
            spare: Vec::with_capacity(most_bytes),
            most_bytes,
            held_bytes: 0,
            held: 0,
        }
    }

    /// How many numbers from the next one to deliver it can hold.
    pub(super) fn window(&self) -> u64 {
        self.mask + 1
    }

    /// Messages held.
    pub(super) fn count(&self) -> u64 {
        self.held
    }

    /// Keeps a message that it does not hold. `expected` is the next number to deliver; `false` if
    /// there is no room.
    #[must_use]
    pub(super) fn store(
        &mut self,
        expected: u64,
        number: u64,
        ts_recv_ns: u64,
        message: &[u8],
    ) -> bool {
        debug_assert!(number >= expected);
        if number - expected > self.mask {
            return false;
        }
        if self.bytes.len() + message.len() > self.most_bytes {
            if self.held_bytes + message.len() > self.most_bytes / 2 {
                return false;
            }
            self.compact(expected);
        }
        let slot = &mut self.slots[(number & self.mask) as usize];
        debug_assert_eq!(slot.length, 0);
        *slot =
            Slot { ts_recv_ns, offset: self.bytes.len() as u32, length: message.len() as u32 + 1 };
        self.bytes.extend_from_slice(message);
        self.held_bytes += message.len();
        self.held += 1;
        true
    }

    /// The messages of `numbers` up to the first that is missing or has another receive time than
    /// the first one, and that time. `None` if the first one is missing.
    pub(super) fn run(&self, numbers: Numbers) -> Option<(u64, u64, impl Messages<'_>)> {
        let first = self.slot(numbers.start)?;
        let ts_recv_ns = first.ts_recv_ns;
        let is_of_run =
            |&number: &u64| self.slot(number).is_some_and(|slot| slot.ts_recv_ns == ts_recv_ns);
        let end = numbers.start + numbers.clone().take_while(is_of_run).count() as u64;
        let messages = (numbers.start..end).filter_map(|number| self.message(number));
        Some((ts_recv_ns, end, messages))
    }

    /// Forgets the messages of `numbers`, which are the lowest.
    pub(super) fn forget(&mut self, numbers: Numbers) {
        for number in numbers {
            let slot = &mut self.slots[(number & self.mask) as usize];
            if slot.length > 0 {
                self.held_bytes -= slot.length as usize - 1;
                self.held -= 1;
                slot.length = 0;
            }
        }
        if self.held == 0 {
            self.bytes.clear();
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.bytes.clear();
        (self.held, self.held_bytes) = (0, 0);
    }

    fn slot(&self, number: u64) -> Option<&Slot> {
        let slot = &self.slots[(number & self.mask) as usize];
        (slot.length > 0).then_some(slot)
    }

    fn message(&self, number: u64) -> Option<&[u8]> {
        let slot = self.slot(number)?;
        let from = slot.offset as usize;
        self.bytes.get(from..from + slot.length as usize - 1)
    }

    /// Moves the messages that are held to the beginning of a buffer.
    fn compact(&mut self, expected: u64) {
        self.spare.clear();
        for number in expected..expected.saturating_add(self.mask + 1) {
            let slot = &mut self.slots[(number & self.mask) as usize];
            if slot.length > 0 {
                let (from, length) = (slot.offset as usize, slot.length as usize - 1);
                slot.offset = self.spare.len() as u32;
                self.spare.extend_from_slice(&self.bytes[from..from + length]);
            }
        }
        core::mem::swap(&mut self.bytes, &mut self.spare);
    }
}

/// Messages in order, which may be visited more than once.
pub trait Messages<'a>: Iterator<Item = &'a [u8]> + Clone {}

impl<'a, I: Iterator<Item = &'a [u8]> + Clone> Messages<'a> for I {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_stored_comes_out_once_and_in_order(
            steps in prop::collection::vec((0..12u64, 0..40usize, 0..3u64, any::<bool>()), 1..400)
        ) {
            let mut ahead = AheadBuffer::with_capacity(16, 256);
            let mut naive: BTreeMap<u64, (u64, Vec<u8>)> = BTreeMap::new();
            let mut expected = 100;
            for (step, (distance, length, ts, drains)) in steps.into_iter().enumerate() {
                let number = expected + distance;
                if drains {
                    let mut next = expected;
                    while let Some((ts, end, messages)) = ahead.run(next..expected + 16) {
                        for message in messages {
                            prop_assert_eq!(naive.remove(&next), Some((ts, message.to_vec())));
                            next += 1;
                        }
                        prop_assert_eq!(next, end);
                    }
                    prop_assert!(!naive.contains_key(&next));
                    naive.remove(&next);
                    ahead.forget(expected..next + 1);
                    expected = next + 1;
                } else if !naive.contains_key(&number) {
                    let message = vec![step as u8; length];
                    let held: usize = naive.values().map(|(_, message)| message.len()).sum();
                    if ahead.store(expected, number, ts, &message) {
                        naive.insert(number, (ts, message));
                    } else {
                        prop_assert!(held + length > 128, "{held} bytes held, {length} refused");
                    }
                }
                prop_assert_eq!(ahead.count(), naive.len() as u64);
            }
        }
    }

    #[test]
    fn a_number_beyond_the_window_is_refused() {
        let mut ahead = AheadBuffer::with_capacity(16, 256);
        assert!(ahead.store(5, 20, 1, b"a"));
        assert!(!ahead.store(5, 21, 1, b"b"));
        assert!(ahead.store(u64::MAX - 1, u64::MAX, 1, b""));
    }
}
