//! The message: sequence number, send stamp, and filler that follows from the sequence number.
//!
//! The reader checks all of it but the stamp, so that a torn, old or misplaced message cannot
//! count.

/// Types of messages.
pub(crate) const MESSAGE: u16 = 1;
/// The last one, which does not count.
pub(crate) const END: u16 = 2;
/// Says in its stamp when the schedule begins.
pub(crate) const BEGIN: u16 = 3;
/// Says in its stamp how many ticks there are from message to message.
pub(crate) const PERIOD: u16 = 4;

/// The shortest message: the two words that every one has.
pub(crate) const SHORTEST: usize = 16;

/// How long messages are. The usual length is a type of its own, so that copies of it are made by
/// instructions and not by loops, as in a program that publishes records.
pub(crate) trait Length: Copy {
    fn bytes(self) -> usize;
}

/// 73 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual;

/// 256 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Larger;

/// As many as were asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Any(pub(crate) usize);

/// What records of a quote with its sizes take.
pub(crate) const USUAL_BYTES: usize = 73;

/// What wider records take.
pub(crate) const LARGER_BYTES: usize = 256;

impl Length for Usual {
    #[inline(always)]
    fn bytes(self) -> usize {
        USUAL_BYTES
    }
}

impl Length for Larger {
    #[inline(always)]
    fn bytes(self) -> usize {
        LARGER_BYTES
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
pub(crate) fn fill(message: &mut [u8], sequence: u64) {
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
pub(crate) fn set_stamp(message: &mut [u8], ticks: u64) {
    message[8..SHORTEST].copy_from_slice(&ticks.to_ne_bytes());
}

/// The stamp.
#[inline(always)]
pub(crate) fn stamp(message: &[u8]) -> u64 {
    word(message, 8)
}

/// The sequence number that the writer put into the payload.
#[inline(always)]
pub(crate) fn sequence(message: &[u8]) -> u64 {
    word(message, 0)
}

#[inline(always)]
fn word(message: &[u8], at: usize) -> u64 {
    message[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Whether all of a message but its stamp is what was written under this number. Compares
/// everything and decides once: there is no branch for each word.
#[inline(always)]
pub(crate) fn is_sound(message: &[u8], expected: u64) -> bool {
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

    #[test]
    fn every_byte_but_the_stamp_is_checked() {
        for bytes in [16, 17, 24, 73, 256] {
            let mut message = vec![0xaa; bytes];
            fill(&mut message, 7);
            set_stamp(&mut message, 1_234);
            assert_eq!((sequence(&message), stamp(&message)), (7, 1_234));
            assert!(is_sound(&message, 7) && !is_sound(&message, 8));
            for at in (0..8).chain(SHORTEST..bytes) {
                let mut corrupted = message.clone();
                corrupted[at] ^= 0x10;
                assert!(!is_sound(&corrupted, 7), "byte {at} of {bytes}");
            }
        }
    }
}
