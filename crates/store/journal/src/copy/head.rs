//! The words of an active segment that are equal in every copy, but for its excerpts and index.

use nanotape_shm::{ReadWord, Word, as_read_only};

use crate::{
    Corruption, ErrorKind, JournalError,
    disk::Disk,
    names::{self, Files, Kept},
    segment::{
        header::{Activation, Header},
        layout::at,
    },
    stored,
};

/// Their places: the header, the activation, the incarnation.
const PLACES: [std::ops::RangeInclusive<usize>; 3] = [
    at::MAGIC..=at::CHECK,
    at::FIRST_SEQUENCE..=at::ACTIVATION,
    at::INCARNATION..=at::INCARNATION_CHECK,
];

/// How many there are.
const WORDS: usize = 18;

/// The identity of an active segment: its header, its activation and its incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentHead {
    pub(crate) header: Header,
    pub(crate) activation: Activation,
    /// The words of the incarnation, valid or not.
    incarnation: [u64; 3],
}

/// What tells a head from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeadDigest {
    /// The number of the segment.
    pub number: u64,
    /// Of its header and its activation.
    pub identity: u64,
    /// Of its incarnation. A recovery can store another one, if a loss of power took its words.
    pub incarnation: u64,
}

/// A digest of words. It is no CRC: each of these groups of words ends with its own, and the CRC of
/// a message that ends with its CRC is the same for all messages.
pub(super) fn mixed(bytes: &[u8]) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0x9e37_79b9_7f4a_7c15, |mixed, word| {
        (mixed ^ u64::from_le_bytes(*word)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
    })
}

/// The incarnation of the last active segment; `None` if there is none. A copy with another one
/// cannot acknowledge what the journal has.
pub fn last_incarnation<D: Disk>(disk: &D) -> Result<Option<u64>, JournalError> {
    // Only those after the last active one are read, however many segments there are.
    for kept in Files::list(disk)?.segments.values().rev() {
        if let Some(head) = SegmentHead::read(disk, kept)? {
            return Ok(Some(head.incarnation()));
        }
    }
    Ok(None)
}

impl SegmentHead {
    /// Bytes of a head as it travels.
    pub const BYTES: usize = WORDS * 8;

    /// The head of a segment; `None` while it is only prepared.
    pub(crate) fn load(words: &[ReadWord]) -> Result<Option<Self>, Corruption> {
        let header = Header::load(words)?;
        let Some(activation) = Activation::load(words)? else { return Ok(None) };
        let incarnation = [0, 1, 2].map(|word| words[at::INCARNATION + word].load());
        Ok(Some(Self { header, activation, incarnation }))
    }

    /// Reads the head of a segment; `None` while it is only prepared. A compressed one is unpacked
    /// as far as needed.
    pub(crate) fn read<D: Disk>(disk: &D, kept: &Kept) -> Result<Option<Self>, JournalError> {
        let name = kept.name();
        let damaged = |damage| JournalError::damaged(disk, &name, 0, damage);
        if !kept.is_packed {
            return Self::load(stored::open_kept(disk, kept)?.words()).map_err(damaged);
        }
        let packed = disk.read(&name).map_err(JournalError::system(disk.path(&name), "read"))?;
        let (words, end) = stored::unpack_up_to(&packed, at::INDEX);
        match end {
            Err(cause) if words.len() < at::INDEX => {
                Err(JournalError::new(disk.path(&name), ErrorKind::Packed { cause }))
            }
            _ => Self::load(as_read_only(&words)).map_err(damaged),
        }
    }

    /// The head of a segment of a journal; `None` if it has no such segment, or only a prepared
    /// one.
    pub fn of<D: Disk>(disk: &D, number: u64) -> Result<Option<Self>, JournalError> {
        let Some(stored) = stored::open(disk, number)? else { return Ok(None) };
        let damaged = |damage| JournalError::damaged(disk, &names::segment(number), 0, damage);
        Self::load(stored.words()).map_err(damaged)
    }

    /// The words, low byte first.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let words: Vec<Word> = (0..at::INDEX).map(|_| Word::new(0)).collect();
        self.header.store(&words);
        self.store(&words);
        let mut bytes = [0; Self::BYTES];
        let values = PLACES.into_iter().flatten().map(|word| words[word].as_read_only().load());
        for (chunk, value) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(values) {
            *chunk = value.to_le_bytes();
        }
        bytes
    }

    /// The same head; an error if its words are not valid.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self, Corruption> {
        let words: Vec<Word> = (0..at::INDEX).map(|_| Word::new(0)).collect();
        for (word, chunk) in PLACES.into_iter().flatten().zip(bytes.as_chunks::<8>().0) {
            words[word].store(u64::from_le_bytes(*chunk));
        }
        Self::load(as_read_only(&words))?.ok_or(Corruption::Activation)
    }

    /// The number of the segment.
    pub fn number(&self) -> u64 {
        self.header.number
    }

    /// The number that all segments of the journal share.
    pub fn journal(&self) -> u64 {
        self.header.journal
    }

    /// The number of its first excerpt, present or future.
    pub fn first_sequence(&self) -> u64 {
        self.activation.first_sequence
    }

    /// The incarnation of the journal in which it begins, whether its words are valid or not.
    pub fn incarnation(&self) -> u64 {
        self.incarnation[0]
    }

    /// Its digest.
    pub fn digest(&self) -> HeadDigest {
        let bytes = self.to_bytes();
        let (identity, incarnation) = bytes.split_at(Self::BYTES - 3 * 8);
        let (identity, incarnation) = (mixed(identity), mixed(incarnation));
        HeadDigest { number: self.number(), identity, incarnation }
    }

    /// Makes a prepared segment with this header active.
    pub(crate) fn store(&self, words: &[Word]) {
        self.store_incarnation(words);
        self.activation.store(words);
    }

    /// The words of its incarnation.
    pub(crate) fn incarnation_words(&self) -> [(usize, u64); 3] {
        [0, 1, 2].map(|word| (at::INCARNATION + word, self.incarnation[word]))
    }

    fn store_incarnation(&self, words: &[Word]) {
        for (word, value) in words[at::INCARNATION..].iter().zip(self.incarnation) {
            word.store(value);
        }
    }
}
