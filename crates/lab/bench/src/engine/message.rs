//! The message: sequence number, send stamp, and filler derived from the sequence number.
//!
//! The reader checks everything except the stamp, so that a torn, old or misplaced message does not
//! count.

/// Type of a message.
pub(crate) const MESSAGE: u16 = 1;
/// Type of the last message, which does not count.
pub(crate) const END: u16 = 2;
/// The stamp of this message is the begin of the schedule.
pub(crate) const BEGIN: u16 = 3;
/// The stamp of this message is the number of ticks between messages.
pub(crate) const PERIOD: u16 = 4;

/// The shortest message: the two words of every message.
pub(crate) const SHORTEST: usize = 16;

/// The length of messages. The usual lengths are types of their own, so that the compiler copies
/// them with instructions and not with loops, as in a program that publishes records.
pub(crate) trait Length: Copy {
    fn bytes(self) -> usize;
}

/// The usual length, 73 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual;

/// The larger length, 256 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Larger;

/// The requested length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Any(pub(crate) usize);

/// Length of a record of a quote with its sizes.
pub(crate) const USUAL_BYTES: usize = 73;

/// Length of wider records.
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

/// Differs in about half of its bits between messages.
#[inline(always)]
fn filler(sequence: u64) -> u64 {
    sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Writes all of a message except its stamp.
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

/// Reads the stamp.
#[inline(always)]
pub(crate) fn stamp(message: &[u8]) -> u64 {
    word(message, 8)
}

/// Reads the sequence number that the writer stored in the payload.
#[inline(always)]
pub(crate) fn sequence(message: &[u8]) -> u64 {
    word(message, 0)
}

#[inline(always)]
fn word(message: &[u8], at: usize) -> u64 {
    message[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Whether everything except the stamp is what was written under this number. Compares all words
/// and then decides once, without a branch per word.
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
