//! The message of the comparison: 73 bytes that can be checked.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | sequence number, from 1, little-endian |
//! | 8..16 | when it was sent, in ticks |
//! | 16..24 | when it was to be sent, in ticks |
//! | 24..73 | derived from the sequence number |

/// What is sent. Of alignment 1, so that queues of slots pack it as they like.
pub(crate) type Message = [u8; 73];

const DERIVED: usize = 24;

/// Every how many messages the derived bytes are checked; sequence numbers always are.
pub(crate) const CHECKED_EVERY: u64 = 1_000;

/// Writes everything but the times.
#[inline]
pub(crate) fn fill(message: &mut Message, sequence: u64) {
    message[..8].copy_from_slice(&sequence.to_le_bytes());
    let (words, rest) = message[DERIVED..].as_chunks_mut::<8>();
    for (number, word) in words.iter_mut().enumerate() {
        *word = derived(sequence, number as u64).to_le_bytes();
    }
    rest[0] = sequence as u8;
}

#[inline]
pub(crate) fn stamp(message: &mut Message, sent: u64, intended: u64) {
    message[8..16].copy_from_slice(&sent.to_le_bytes());
    message[16..24].copy_from_slice(&intended.to_le_bytes());
}

#[inline]
pub(crate) fn sequence(message: &Message) -> u64 {
    word(message, 0)
}

#[inline]
pub(crate) fn sent(message: &Message) -> u64 {
    word(message, 8)
}

#[inline]
pub(crate) fn intended(message: &Message) -> u64 {
    word(message, 16)
}

/// Whether the derived bytes are those of the sequence number.
pub(crate) fn is_whole(message: &Message) -> bool {
    let mut expected = *message;
    fill(&mut expected, sequence(message));
    expected == *message
}

#[inline]
fn derived(sequence: u64, number: u64) -> u64 {
    sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number * 0x0101_0101_0101_0101)
}

#[inline]
fn word(message: &Message, at: usize) -> u64 {
    u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut message = [0xff; 73];
        fill(&mut message, 7);
        stamp(&mut message, 8, 9);
        assert_eq!((sequence(&message), sent(&message), intended(&message)), (7, 8, 9));
        assert!(is_whole(&message));
    }

    #[test]
    fn every_changed_byte_but_the_times_is_noticed() {
        let mut message = [0; 73];
        fill(&mut message, 123_456_789);
        for at in (0..8).chain(24..73) {
            let mut torn = message;
            torn[at] ^= 1;
            assert!(!is_whole(&torn), "byte {at}");
        }
    }
}
