//! The excerpt: the layout of a record in a segment, and the first word that commits it.
//!
//! ```text
//!  word 0   length in bytes (28 bits) | kind (4) | CRC-32C (32)     the commit word
//!  word 1   sequence number (48 bits) | type id (16)
//!  word 2   time in ns
//!  word 3.. payload, the last word filled up with zeros
//! ```
//!
//! The commit word is written last. While it is zero, nothing is committed here.

use nanotape_shm::{ReadWord, WORD_BYTES, Word, as_read_only, checksum, checksum_bytes};

use crate::{Corruption, edges::COMMIT};

/// Words before the payload.
pub(crate) const HEADER_WORDS: usize = 3;

/// Words of an end mark.
pub(crate) const END_WORDS: usize = HEADER_WORDS;

/// The longest payload of an excerpt, in bytes.
pub const MAX_LENGTH: u32 = (1 << 28) - 1;

/// The largest sequence number.
pub const MAX_SEQUENCE: u64 = (1 << 48) - 1;

/// The kind of an excerpt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An excerpt of the user.
    Message = 1,
    /// The end of the segment.
    End = 2,
    /// An excerpt that covers damage.
    Lost = 3,
}

impl Kind {
    fn of(commit: u64) -> Option<Self> {
        match commit >> 28 & 0xf {
            1 => Some(Self::Message),
            2 => Some(Self::End),
            3 => Some(Self::Lost),
            _ => None,
        }
    }
}

/// The contents of the three words before a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Front {
    pub(crate) kind: Kind,
    pub(crate) length: u32,
    pub(crate) type_id: u16,
    pub(crate) sequence: u64,
    pub(crate) ts_ns: u64,
}

impl Front {
    /// The words as input to the checksum: the first one without the checksum.
    #[inline(always)]
    pub(crate) fn words(&self) -> [u64; HEADER_WORDS] {
        let commit = u64::from(self.length) | (self.kind as u64) << 28;
        [commit, self.sequence | u64::from(self.type_id) << 48, self.ts_ns]
    }

    /// Stores the words before a payload that is already written; the excerpt begins with `words`.
    #[inline(always)]
    pub(crate) fn commit(&self, words: &[Word], seed: u32) {
        let said = self.words();
        let payload = &words[HEADER_WORDS..self.total_words()];
        let sum = checksum(seed, said, as_read_only(payload));
        words[2].store(said[2]);
        words[1].store(said[1]);
        // SYNC(journal.commit): pairs with a reader's load of a commit word.
        words[0].publish(commit_word(said[0], sum), COMMIT);
    }

    /// Words of the whole excerpt.
    #[inline(always)]
    pub(crate) fn total_words(&self) -> usize {
        excerpt_words(self.length as usize)
    }
}

/// The commit word: the first word with the checksum.
#[inline(always)]
pub(crate) fn commit_word(front: u64, sum: u32) -> u64 {
    front | u64::from(sum) << 32
}

/// The start value of all excerpt checksums of a segment.
pub(crate) fn seed(journal: u64, number: u64) -> u32 {
    let both = [journal.to_le_bytes(), number.to_le_bytes()];
    checksum_bytes(0, both.as_flattened())
}

/// Words of an excerpt with `length` bytes of payload.
#[inline(always)]
pub(crate) const fn excerpt_words(length: usize) -> usize {
    HEADER_WORDS + length.div_ceil(WORD_BYTES)
}

/// Reads the excerpt whose nonzero commit word was just observed at `at`. Checks everything except
/// its order.
#[inline(always)]
pub(crate) fn read(
    words: &[ReadWord],
    at: usize,
    limit: usize,
    seed: u32,
    commit: u64,
    is_checked: bool,
) -> Result<Front, Corruption> {
    let Some(kind) = Kind::of(commit) else { return Err(Corruption::Commit(commit)) };
    let length = commit as u32 & MAX_LENGTH;
    let end = at + excerpt_words(length as usize);
    if end > limit || (kind == Kind::End && length != 0) {
        return Err(Corruption::Length(length));
    }
    let (sequence, ts_ns) = (words[at + 1].load(), words[at + 2].load());
    if is_checked {
        let front = [commit & 0xffff_ffff, sequence, ts_ns];
        let found = checksum(seed, front, &words[at + HEADER_WORDS..end]);
        let expected = (commit >> 32) as u32;
        if found != expected {
            return Err(Corruption::Checksum { expected, found });
        }
    }
    let type_id = (sequence >> 48) as u16;
    Ok(Front { kind, length, type_id, sequence: sequence & MAX_SEQUENCE, ts_ns })
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use nanotape_shm::checksum_filled;
    use nanotape_shm::copy_into;

    use super::*;

    #[test]
    fn an_excerpt_reads_as_it_was_written_and_not_with_any_bit_changed() {
        let payload = b"thirteen byte";
        let front = Front {
            kind: Kind::Message,
            length: 13,
            type_id: 0xfffe,
            sequence: MAX_SEQUENCE,
            ts_ns: 9,
        };
        let words: Vec<Word> = (0..8).map(|_| Word::new(0)).collect();
        let said = front.words();
        copy_into(&words[4..], payload);
        words[2].store(said[1]);
        words[3].store(said[2]);
        let seed = seed(7, 1);
        let commit = commit_word(said[0], checksum_filled(seed, said, payload));
        let read_all = |commit| read(as_read_only(&words), 1, 8, seed, commit, true);
        assert_eq!(read_all(commit), Ok(front));
        assert_eq!(front.total_words(), 5);
        for bit in 0..64 {
            assert!(read_all(commit ^ 1 << bit).is_err(), "bit {bit} of the commit word");
            for word in &words[2..6] {
                let before = word.as_read_only().load();
                word.store(before ^ 1 << bit);
                assert!(
                    matches!(read_all(commit), Err(Corruption::Checksum { .. })),
                    "bit {bit} of {word:?}"
                );
                word.store(before);
            }
        }
        assert!(read(as_read_only(&words), 1, 5, seed, commit, true).is_err(), "beyond the limit");
        assert!(
            read(as_read_only(&words), 1, 8, seed + 1, commit, true).is_err(),
            "of another segment"
        );
    }
}
