//! Messages whose contents can be verified without the original.
//!
//! Length and bytes are derived from a seed, the sequence number and the type, and the type from
//! the writer's epoch. A message that is partly another one, or an older writer's, does not match.

use nanotape_lab::rng::mix;
use nanotape_ring::{Message, Received};

/// Type of the last message; no other message has it.
pub(crate) const END_TYPE: u16 = u16::MAX;

/// Length of the longest message, in bytes.
pub(crate) const MAX_LENGTH: usize = 1024;

/// Most messages are at most this long, in bytes.
const SHORT: u64 = 96;

/// One message in this many may be longer.
const LONG_IN: u64 = 16;

/// Derives the messages of one writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents {
    pub(crate) seed: u64,
}

impl Contents {
    /// The type of the messages of a writer.
    pub(crate) fn type_id(epoch: u64) -> u16 {
        // A type below `END_TYPE`.
        1 + (epoch % 60_000) as u16
    }

    fn base(self, sequence: u64, type_id: u16) -> u64 {
        mix(self.seed ^ u64::from(type_id) << 48, sequence)
    }

    pub(crate) fn length(self, sequence: u64, type_id: u16) -> usize {
        if type_id == END_TYPE {
            return 0;
        }
        let drawn = mix(self.base(sequence, type_id), 1);
        let longest = if drawn.is_multiple_of(LONG_IN) { MAX_LENGTH as u64 } else { SHORT };
        ((drawn >> 32) % (longest + 1)) as usize
    }

    /// Fills in a payload of the right length.
    pub(crate) fn fill(self, sequence: u64, type_id: u16, payload: &mut [u8]) {
        let base = self.base(sequence, type_id);
        for (number, bytes) in (0..).zip(payload.chunks_mut(8)) {
            bytes.copy_from_slice(&word(base, number).to_ne_bytes()[..bytes.len()]);
        }
    }

    /// Whether the bytes match the message.
    pub(crate) fn is_whole(self, sequence: u64, type_id: u16, payload: &[u8]) -> bool {
        let base = self.base(sequence, type_id);
        let words = payload.chunks(8).zip(0..);
        payload.len() == self.length(sequence, type_id)
            && words.into_iter().all(|(b, n)| word(base, n).to_ne_bytes()[..b.len()] == *b)
    }

    /// The same for a message that is still in the ring and may be overwritten during the check.
    pub(crate) fn is_whole_in_place(self, message: &Message<'_>) -> bool {
        let Received { sequence, type_id, .. } = message.received();
        let (length, base) = (message.len(), self.base(sequence, type_id));
        // A torn message can have any length; the check reads no bytes after the expected length.
        length == self.length(sequence, type_id)
            && (0..length.div_ceil(8)).all(|number| {
                let bytes = (length - number * 8).min(8);
                word(base, number as u64).to_ne_bytes()[..bytes]
                    == message.word(number).to_ne_bytes()[..bytes]
            })
    }
}

/// Makes messages of one type, one at a time.
#[derive(Debug)]
pub(crate) struct Scribe {
    contents: Contents,
    pub(crate) type_id: u16,
    buffer: Vec<u8>,
}

impl Scribe {
    pub(crate) fn new(seed: u64, type_id: u16) -> Self {
        Self { contents: Contents { seed }, type_id, buffer: vec![0; MAX_LENGTH] }
    }

    pub(crate) fn payload(&mut self, sequence: u64) -> &[u8] {
        let length = self.contents.length(sequence, self.type_id);
        let payload = &mut self.buffer[..length];
        self.contents.fill(sequence, self.type_id, payload);
        payload
    }
}

fn word(base: u64, number: u64) -> u64 {
    base.wrapping_add(number.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_a_changed_byte_or_number_is_not_whole() {
        let contents = Contents { seed: 7 };
        let mut longest = 0;
        for sequence in 1..3_000 {
            let length = contents.length(sequence, 3);
            longest = longest.max(length);
            let mut payload = vec![0; length];
            contents.fill(sequence, 3, &mut payload);
            assert!(contents.is_whole(sequence, 3, &payload));
            if length < 8 {
                continue;
            }
            assert!(!contents.is_whole(sequence + 1, 3, &payload), "{sequence}");
            assert!(!contents.is_whole(sequence, 4, &payload));
            payload[length / 2] ^= 1;
            assert!(!contents.is_whole(sequence, 3, &payload));
        }
        assert!((512..=MAX_LENGTH).contains(&longest));
    }
}
