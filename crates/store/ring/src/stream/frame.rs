//! The frame: the layout of a message in the stream ring, and the first word that commits it.
//!
//! ```text
//!  word 0   length in bytes (32 bits) | type id (16) | kind (8) | 0 (8)     the commit word
//!  word 1   sequence number
//!  word 2.. payload, the last word filled up with zeros
//! ```
//!
//! The commit word is written last. While it is zero the message does not exist yet. A frame does
//! not cross the end of the ring: a padding frame, a commit word alone, sends readers to the
//! beginning. A skip frame is a commit word and the number of the next message: those between the
//! last message and that one were never published here.

use nanotape_shm::WORD_BYTES;

use crate::Corruption;

/// Words before the payload.
pub(crate) const HEADER_WORDS: u64 = 2;

const MESSAGE: u64 = b'M' as u64;
const PADDING: u64 = b'P' as u64;
const SKIP: u64 = b'S' as u64;

/// The meaning of a commit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Commit {
    /// No frame yet.
    Nothing,
    /// A message begins here.
    Message { length: u32, type_id: u16 },
    /// No more frames up to the end of the ring.
    Padding,
    /// The next message has the number in the word after this one.
    Skip,
}

impl Commit {
    /// The commit word of a message.
    #[inline(always)]
    pub(crate) const fn message(length: u32, type_id: u16) -> u64 {
        MESSAGE << 48 | (type_id as u64) << 32 | length as u64
    }

    /// The commit word of padding.
    pub(crate) const fn padding() -> u64 {
        PADDING << 48
    }

    /// The commit word of a skip frame.
    pub(crate) const fn skip() -> u64 {
        SKIP << 48
    }

    /// Decodes a commit word; any other word is damage.
    #[inline(always)]
    pub(crate) const fn decode(word: u64) -> Result<Self, Corruption> {
        match word >> 48 {
            MESSAGE => Ok(Self::Message { length: word as u32, type_id: (word >> 32) as u16 }),
            _ if word == 0 => Ok(Self::Nothing),
            _ if word == Self::padding() => Ok(Self::Padding),
            _ if word == Self::skip() => Ok(Self::Skip),
            _ => Err(Corruption::Header(word)),
        }
    }
}

/// Words of a frame with `length` bytes of payload.
#[inline(always)]
pub(crate) const fn frame_words(length: u32) -> u64 {
    HEADER_WORDS + (length as u64).div_ceil(WORD_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_words_say_what_was_put_into_them() {
        for (length, type_id) in [(0, 0), (1, 1), (u32::MAX, u16::MAX), (73, 0x8000)] {
            let word = Commit::message(length, type_id);
            assert_ne!(word, 0, "an empty message of type 0 is not nothing");
            assert_eq!(Commit::decode(word), Ok(Commit::Message { length, type_id }));
        }
        assert_eq!(Commit::decode(0), Ok(Commit::Nothing));
        assert_eq!(Commit::decode(Commit::padding()), Ok(Commit::Padding));
        assert_eq!(Commit::decode(Commit::skip()), Ok(Commit::Skip));
        for damaged in
            [1, Commit::padding() | 1, Commit::skip() | 1, 1 << 63, u64::MAX, 0x00ff_0000_0000_0000]
        {
            assert_eq!(Commit::decode(damaged), Err(Corruption::Header(damaged)));
        }
    }

    #[test]
    fn frames_are_whole_words() {
        assert_eq!([0, 1, 8, 9, 73].map(frame_words), [2, 3, 3, 4, 12]);
        assert_eq!(frame_words(u32::MAX), 2 + (1 << 29));
    }
}
