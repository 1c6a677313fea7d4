//! The message: sequence number, send stamp, and filler that follows from the sequence number.
//!
//! The reader checks all of it but the stamp, so that a torn, old or misplaced message cannot count.

use nanotape_ring::Received;

use super::error::RingBenchError;

/// Types of messages.
pub(super) const MESSAGE: u16 = 1;
/// The last one, which does not count.
pub(super) const END: u16 = 2;
/// Says in its stamp when the schedule begins.
pub(super) const BEGIN: u16 = 3;
/// Says in its stamp how many ticks there are from message to message.
pub(super) const PERIOD: u16 = 4;

/// The shortest message: the two words that every one has.
pub(super) const SHORTEST: usize = 16;

/// How long messages are. The usual length is a type of its own, so that copies of it are made by
/// instructions and not by loops, as in a program that publishes records.
pub(super) trait Length: Copy {
    fn bytes(self) -> usize;
}

/// 73 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual;

/// As many as were asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Any(pub(super) usize);

/// What records of a quote with its sizes take.
pub(super) const USUAL_BYTES: usize = 73;

impl Length for Usual {
    #[inline(always)]
    fn bytes(self) -> usize {
        USUAL_BYTES
    }
}

impl Length for Any {
    #[inline(always)]
    fn bytes(self) -> usize {
        self.0
    }
}

/// Different in about half of its bits from message to message.
#[inline(always)]
fn filler(sequence: u64) -> u64 {
    sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Writes all of a message but its stamp.
#[inline(always)]
pub(super) fn fill(message: &mut [u8], sequence: u64) {
    let (head, rest) = message.split_at_mut(SHORTEST);
    head[..8].copy_from_slice(&sequence.to_ne_bytes());
    let filler = filler(sequence);
    let (words, tail) = rest.as_chunks_mut::<8>();
    for (place, word) in words.iter_mut().enumerate() {
        *word = (filler ^ place as u64).to_ne_bytes();
    }
    tail.copy_from_slice(&filler.to_ne_bytes()[..tail.len()]);
}

/// Writes the stamp.
#[inline(always)]
pub(super) fn set_stamp(message: &mut [u8], ticks: u64) {
    message[8..SHORTEST].copy_from_slice(&ticks.to_ne_bytes());
}

/// The stamp.
#[inline(always)]
pub(super) fn stamp(message: &[u8]) -> u64 {
    word(message, 8)
}

/// The sequence number that the writer put into the payload.
#[inline(always)]
pub(super) fn sequence(message: &[u8]) -> u64 {
    word(message, 0)
}

#[inline(always)]
fn word(message: &[u8], at: usize) -> u64 {
    message[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Checks what was read: its length, and all of its payload but the stamp.
#[inline(always)]
pub(super) fn check(
    message: &[u8],
    length: impl Length,
    received: Received,
) -> Result<(), RingBenchError> {
    if received.length as usize == length.bytes() && is_sound(message, received.sequence) {
        return Ok(());
    }
    Err(wrong(received))
}

#[cold]
pub(super) fn wrong(received: Received) -> RingBenchError {
    RingBenchError::Wrong { sequence: received.sequence, length: received.length }
}

/// Compares everything and decides once: there is no branch for each word.
#[inline(always)]
fn is_sound(message: &[u8], expected: u64) -> bool {
    let filler = filler(expected);
    let (words, tail) = message[SHORTEST..].as_chunks::<8>();
    let mut differs = sequence(message) ^ expected;
    for (place, word) in words.iter().enumerate() {
        differs |= u64::from_ne_bytes(*word) ^ filler ^ place as u64;
    }
    differs == 0 && tail == &filler.to_ne_bytes()[..tail.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(sequence: u64, length: u32) -> Received {
        Received { sequence, type_id: MESSAGE, length }
    }

    #[test]
    fn every_byte_but_the_stamp_is_checked() {
        for bytes in [16, 17, 24, 73, 256] {
            let mut message = vec![0xaa; bytes];
            fill(&mut message, 7);
            set_stamp(&mut message, 1_234);
            assert_eq!((sequence(&message), stamp(&message)), (7, 1_234));
            let received = received(7, bytes as u32);
            assert!(check(&message, Any(bytes), received).is_ok());
            for at in (0..8).chain(SHORTEST..bytes) {
                let mut corrupted = message.clone();
                corrupted[at] ^= 0x10;
                let error = check(&corrupted, Any(bytes), received).unwrap_err();
                assert!(error.is_finding(), "byte {at} of {bytes}");
            }
        }
    }

    #[test]
    fn a_message_in_the_place_of_another_is_noticed() {
        let mut message = [0; USUAL_BYTES];
        fill(&mut message, 7);
        assert!(check(&message, Usual, received(7, 73)).is_ok());
        assert!(check(&message, Usual, received(8, 73)).is_err());
        assert!(check(&message, Usual, received(7, 72)).is_err());
    }
}
