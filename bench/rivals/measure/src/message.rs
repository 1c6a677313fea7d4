//! The message of a comparison: bytes that the reader can check.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | sequence number, from 1, little-endian |
//! | 8..16 | when it was sent, in ticks |
//! | 16..24 | when it was due, in ticks |
//! | 24.. | derived from the sequence number |

const DERIVED: usize = 24;

/// The derived bytes of one in this many messages are checked; sequence numbers always are.
pub const CHECKED_EVERY: u64 = 1_000;

/// Writes everything except the times. The message has 24 bytes or more.
#[inline]
pub fn fill(message: &mut [u8], sequence: u64) {
    message[..8].copy_from_slice(&sequence.to_le_bytes());
    let (words, rest) = message[DERIVED..].as_chunks_mut::<8>();
    for (number, word) in words.iter_mut().enumerate() {
        *word = derived(sequence, number as u64).to_le_bytes();
    }
    rest.fill(sequence as u8);
}

#[inline]
pub fn stamp(message: &mut [u8], sent: u64, intended: u64) {
    message[8..16].copy_from_slice(&sent.to_le_bytes());
    message[16..24].copy_from_slice(&intended.to_le_bytes());
}

/// The sequence number, when the message was sent, and when it was due.
#[inline]
pub fn head(message: &[u8]) -> [u64; 3] {
    [0, 8, 16].map(|at| u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes")))
}

/// Whether the derived bytes match the sequence number.
pub fn is_whole<const LENGTH: usize>(message: &[u8; LENGTH]) -> bool {
    let mut expected = *message;
    fill(&mut expected, head(message)[0]);
    expected == *message
}

#[inline]
fn derived(sequence: u64, number: u64) -> u64 {
    sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number * 0x0101_0101_0101_0101)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_back() {
        let mut message = [0xff; 73];
        fill(&mut message, 7);
        stamp(&mut message, 8, 9);
        assert_eq!(head(&message), [7, 8, 9]);
        assert!(is_whole(&message));
    }

    #[test]
    fn every_changed_byte_except_the_times_is_noticed() {
        let mut message = [0; 73];
        fill(&mut message, 123_456_789);
        for at in (0..8).chain(24..73) {
            let mut torn = message;
            torn[at] ^= 1;
            assert!(!is_whole(&torn), "byte {at}");
        }
    }
}
