//! The header of a segment: its identity, its size, and its predecessors' numbers and times.
//!
//! Protocol: the constant part is stored when the segment is created, before it has its name. The
//! activation is stored at the roll, after the end mark of the previous segment; until then the
//! segment is only prepared. Words after it are hints.
//! Failure: words are hostile. [`Header::load`] rejects every value that is not valid.

use nanotape_shm::{BYTE_ORDER_MARK, ReadWord, Word, checksum_bytes};

use super::{
    excerpt::MAX_SEQUENCE,
    layout::{FORMAT_VERSION, LAYOUT, Layout, MAGIC, at, position_bytes},
};
use crate::{Corruption, edges::ACTIVATE};

/// The upper half of `check`.
const HEAD: u64 = u32::from_be_bytes(*b"HEAD") as u64;

/// The upper half of `activation`.
const LIVE: u64 = u32::from_be_bytes(*b"LIVE") as u64;

/// The constant part of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// The number that all segments of a journal share.
    pub(crate) journal: u64,
    pub(crate) number: u64,
    pub(crate) layout: Layout,
    /// 0: the journal does not roll by time.
    pub(crate) cycle_ns: u64,
    pub(crate) created_ns: u64,
}

/// Values that are known once the first excerpt comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Activation {
    pub(crate) first_sequence: u64,
    pub(crate) max_ts_before: u64,
    pub(crate) cycle: u64,
}

/// The upper half of `incarnation_check`.
const INCARNATION: u64 = u32::from_be_bytes(*b"INCA") as u64;

/// A run of the journal that a segment belongs to. A recovery in another boot cannot know which
/// excerpts the power took. So it begins a new incarnation: sequence numbers from `from` on might
/// have been used before. Within an incarnation each number is used once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Incarnation {
    /// Unique within the journal; 0 for the first one.
    pub(crate) id: u64,
    /// The first sequence number of this incarnation; 0 for the first one.
    pub(crate) from: u64,
}

/// The checksum of header words as bytes, low byte first. It equals the checksum of the words.
fn sum(before: u32, words: impl Iterator<Item = u64>) -> u32 {
    words.fold(before, |sum, word| checksum_bytes(sum, &word.to_le_bytes()))
}

impl Header {
    /// All words before `check`.
    fn values(&self) -> [u64; at::CHECK] {
        [
            u64::from_ne_bytes(MAGIC),
            BYTE_ORDER_MARK,
            FORMAT_VERSION,
            LAYOUT,
            self.journal,
            self.number,
            self.layout.segment_bytes(),
            self.layout.block_bytes(),
            self.cycle_ns,
            self.created_ns,
        ]
    }

    /// The word that makes the others valid.
    pub(crate) fn check(&self) -> u64 {
        HEAD << 32 | u64::from(sum(0, self.values().into_iter()))
    }

    /// Stores the header into words that are zero.
    pub(crate) fn store(&self, words: &[Word]) {
        for (word, value) in words.iter().zip(self.values()) {
            word.store(value);
        }
        words[at::CHECK].store(self.check());
    }

    /// Loads the header, if all of it is valid.
    pub(crate) fn load(words: &[ReadWord]) -> Result<Self, Corruption> {
        if words.len() < at::INDEX {
            return Err(Corruption::Short);
        }
        let value = |at: usize| words[at].load();
        if value(at::MAGIC) != u64::from_ne_bytes(MAGIC) {
            return Err(Corruption::Magic(value(at::MAGIC)));
        }
        if value(at::BYTE_ORDER_MARK) == BYTE_ORDER_MARK.swap_bytes() {
            return Err(Corruption::ByteOrder);
        }
        if value(at::FORMAT_VERSION) != FORMAT_VERSION || value(at::LAYOUT) != LAYOUT {
            let (version, layout) = (value(at::FORMAT_VERSION), value(at::LAYOUT));
            return Err(Corruption::Version { version, layout });
        }
        let expected = HEAD << 32 | u64::from(sum(0, (0..at::CHECK).map(value)));
        let layout = Layout::new(value(at::SEGMENT_BYTES), value(at::BLOCK_BYTES));
        Ok(Self {
            journal: value(at::JOURNAL),
            number: value(at::NUMBER),
            layout: layout.filter(|_| value(at::CHECK) == expected).ok_or(Corruption::Header)?,
            cycle_ns: value(at::CYCLE),
            created_ns: value(at::CREATED),
        })
    }

    /// The last time of the cycle that begins with this activation.
    pub(crate) fn last_ns(&self, activation: &Activation) -> u64 {
        match self.cycle_ns {
            0 => u64::MAX,
            // A cycle that contains the largest time has no end.
            length => {
                let next =
                    activation.cycle.checked_add(1).and_then(|next| next.checked_mul(length));
                next.map_or(u64::MAX, |next| next - 1)
            }
        }
    }

    /// The cycle of a time.
    pub(crate) fn cycle_of(&self, ts_ns: u64) -> u64 {
        ts_ns.checked_div(self.cycle_ns).unwrap_or(0)
    }
}

impl Activation {
    /// Makes a prepared segment the active one.
    pub(crate) fn store(&self, words: &[Word]) {
        let values = [self.first_sequence, self.max_ts_before, self.cycle];
        for (word, value) in words[at::FIRST_SEQUENCE..].iter().zip(values) {
            word.store(value);
        }
        let check = words[at::CHECK].as_read_only().load() as u32;
        let value = LIVE << 32 | u64::from(sum(check, values.into_iter()));
        // SYNC(journal.activate): pairs with the load in `load`.
        words[at::ACTIVATION].publish(value, ACTIVATE);
    }

    /// Loads the activation; `None` while the segment is only prepared.
    #[inline]
    pub(crate) fn load(words: &[ReadWord]) -> Result<Option<Self>, Corruption> {
        // SYNC(journal.activate): pairs with the store in `store`.
        match words[at::ACTIVATION].observe(ACTIVATE) {
            0 => Ok(None),
            found => Self::checked(words, found).map(Some),
        }
    }

    fn checked(words: &[ReadWord], found: u64) -> Result<Self, Corruption> {
        let value = |at: usize| words[at].load();
        let values = [value(at::FIRST_SEQUENCE), value(at::MAX_TS_BEFORE), value(at::CYCLE_NUMBER)];
        let check = value(at::CHECK) as u32;
        let [first_sequence, max_ts_before, cycle] = values;
        let is_valid = found == LIVE << 32 | u64::from(sum(check, values.into_iter()));
        if !is_valid || first_sequence > MAX_SEQUENCE {
            return Err(Corruption::Activation);
        }
        Ok(Self { first_sequence, max_ts_before, cycle })
    }
}

impl Incarnation {
    /// An incarnation that begins now, with this sequence number.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn begin(from: u64) -> Self {
        Self::default().then(from)
    }

    /// The incarnation after this one. Its id is larger even if the clock was set back.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn then(self, from: u64) -> Self {
        Self { id: crate::appender::prepare::now_ns().max(self.id.saturating_add(1)), from }
    }

    /// Stores it in a prepared segment, before the activation.
    pub(crate) fn store(&self, header: &Header, words: &[Word]) {
        self.stored(header).iter().for_each(|(at, value)| words[*at].store(*value));
    }

    /// Its words in the segment with this header, and their values.
    pub(crate) fn stored(&self, header: &Header) -> [(usize, u64); 3] {
        [
            (at::INCARNATION, self.id),
            (at::INCARNATION_FROM, self.from),
            (at::INCARNATION_CHECK, self.check(header.check())),
        ]
    }

    /// The incarnation of an active segment; `None` if its words are not valid. This is so in
    /// segments of earlier versions of this crate, and after a loss of power until the next
    /// recovery.
    pub(crate) fn load(words: &[ReadWord]) -> Option<Self> {
        let value = |at: usize| words[at].load();
        let found = Self { id: value(at::INCARNATION), from: value(at::INCARNATION_FROM) };
        (value(at::INCARNATION_CHECK) == found.check(value(at::CHECK))).then_some(found)
    }

    fn check(&self, header_check: u64) -> u64 {
        let sum = sum(header_check as u32, [self.id, self.from].into_iter());
        INCARNATION << 32 | u64::from(sum)
    }
}

/// The words after the activation: what an appender knows about syncs.
///
/// Stores are `track_caller`, so that tests can leave out one of them by the line of its caller.
pub(crate) mod hints {
    use super::*;

    #[track_caller]
    pub(crate) fn store_boot(words: &[Word], boot: u64) {
        words[at::BOOT].store(boot);
    }

    pub(crate) fn boot(words: &[ReadWord]) -> u64 {
        words[at::BOOT].load()
    }

    /// Stores that everything before this word is on disk.
    #[track_caller]
    pub(crate) fn store_synced(words: &[Word], word: usize) {
        words[at::SYNCED].store(position_bytes(word));
    }

    /// The word before which everything is on disk; 0 if nothing is known.
    pub(crate) fn synced(words: &[ReadWord]) -> usize {
        let bytes = words[at::SYNCED].load();
        usize::try_from(bytes / 8).unwrap_or(0).min(words.len())
    }

    /// Stores that a sync of everything from `synced` to this word is in progress; 0: none is.
    #[track_caller]
    pub(crate) fn store_sync_pending(words: &[Word], word: usize) {
        words[at::SYNC_PENDING].store(position_bytes(word));
    }

    /// The word before which the kernel might count words as written that are not, because a sync
    /// failed or was interrupted; 0 if there are none.
    pub(crate) fn sync_pending(words: &[ReadWord]) -> usize {
        usize::try_from(words[at::SYNC_PENDING].load() / 8).unwrap_or(0).min(words.len())
    }

    pub(crate) fn is_sealed(words: &[ReadWord]) -> bool {
        words[at::SEALED].load() != 0
    }
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use nanotape_shm::as_read_only;

    use super::*;

    fn example() -> (Header, Vec<Word>) {
        let layout = Layout::new(1 << 16, 4096).unwrap();
        let header =
            Header { journal: 5, number: 3, layout, cycle_ns: 60_000_000_000, created_ns: 77 };
        let words: Vec<Word> = (0..layout.words).map(|_| Word::new(0)).collect();
        header.store(&words);
        (header, words)
    }

    #[test]
    fn a_header_reads_as_it_was_written_and_not_with_any_bit_changed() {
        let (header, words) = example();
        let readable = as_read_only(&words);
        assert_eq!(Header::load(readable), Ok(header));
        for word in 0..=at::CHECK {
            // Miri checks accesses, and they are the same for every bit.
            for bit in (0..64).step_by(if cfg!(miri) { 63 } else { 1 }) {
                let before = readable[word].load();
                words[word].store(before ^ 1 << bit);
                assert!(Header::load(readable).is_err(), "bit {bit} of word {word}");
                words[word].store(before);
            }
        }
        assert_eq!(Header::load(&readable[..at::INDEX - 1]), Err(Corruption::Short));
    }

    #[test]
    fn an_incarnation_with_any_word_missing_is_unknown() {
        let (header, words) = example();
        let readable = as_read_only(&words);
        assert_eq!(Incarnation::load(readable), None);
        let incarnation = Incarnation { id: 7, from: 120 };
        incarnation.store(&header, &words);
        assert_eq!(Incarnation::load(readable), Some(incarnation));
        for word in at::INCARNATION..=at::INCARNATION_CHECK {
            let before = readable[word].load();
            words[word].store(0);
            assert_eq!(Incarnation::load(readable), None);
            words[word].store(before);
        }
    }

    #[test]
    fn a_segment_is_active_from_the_last_store_on() {
        let (header, words) = example();
        let readable = as_read_only(&words);
        assert_eq!(Activation::load(readable), Ok(None));
        let activation = Activation { first_sequence: 9, max_ts_before: 120, cycle: 2 };
        activation.store(&words);
        assert_eq!(Activation::load(readable), Ok(Some(activation)));
        assert_eq!(header.last_ns(&activation), 179_999_999_999);
        assert_eq!(header.cycle_of(179_999_999_999), 2);
        for word in at::FIRST_SEQUENCE..=at::ACTIVATION {
            let before = readable[word].load();
            words[word].store(before ^ 4);
            assert_eq!(Activation::load(readable), Err(Corruption::Activation));
            words[word].store(before);
        }
        Activation { first_sequence: MAX_SEQUENCE + 1, ..activation }.store(&words);
        assert_eq!(Activation::load(readable), Err(Corruption::Activation));
    }
}
