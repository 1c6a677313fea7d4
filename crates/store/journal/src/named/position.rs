//! The stored position of a named tailer, in words that show whether they were changed.
//!
//! Layout: `docs/formats/journal.md`, Named tailer. The sequence number changes with every excerpt,
//! so it has its checksum in its own word and one store moves the position. The journal and its
//! incarnation change rarely: they are in one of two slots, each with a checksum. The checksum of
//! the sequence number continues that of its slot.
//! Protocol: another incarnation is written to the slot that is not in use, and then the word of
//! the sequence number selects it. A process that is killed between two stores leaves the earlier
//! position. A reader in another process repeats until the words agree, so no ordering is needed.

use nanotape_shm::{ReadWord, Word, checksum_bytes};

use crate::{Bookmark, segment::excerpt::MAX_SEQUENCE};

/// The sequence number, its checksum and its slot.
pub(super) const POSITION: usize = 0;
pub(super) const MOVED: usize = 1;
pub(super) const READ: usize = 2;
pub(super) const SLOTS: usize = 3;
/// Words of a slot: journal, incarnation, first number of the incarnation, checksum.
const SLOT_WORDS: usize = 4;
pub(super) const WORDS: usize = SLOTS + 2 * SLOT_WORDS;

/// Bits of the sequence number, of its checksum, and the bit of the slot.
const SEQUENCE_BITS: u32 = 48;
const CHECK_BITS: u32 = 15;
const SLOT_BIT: u32 = 63;

/// The upper half of a slot's last word.
const MARK: u64 = (u32::from_be_bytes(*b"TAIL") as u64) << 32;

/// Attempts of a reader while the owner of the name changes the words, and those after which words
/// that stay the same are wrong.
const ATTEMPTS: usize = 10_000;
const SAME_ATTEMPTS: usize = 50;

/// The writer of the position.
#[derive(Debug)]
pub(super) struct StoredPosition {
    /// The slot in use, and its checksum.
    slot: usize,
    check: u32,
    /// Its contents, without the sequence number; `None` before the first position.
    stored: Option<Bookmark>,
}

/// The words of a position that belong to nothing that a tailer has stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WrongPosition(pub(super) u64);

/// The position in the words of a region; `None` if none was stored yet.
pub(super) fn load(words: &[ReadWord]) -> Result<Option<Bookmark>, WrongPosition> {
    let (mut wrong, mut same) = (WrongPosition(0), 0);
    for _ in 0..ATTEMPTS {
        match read(words) {
            Ok(found) => return Ok(found),
            Err(found) if found == wrong => same += 1,
            Err(found) => (wrong, same) = (found, 0),
        }
        if same == SAME_ATTEMPTS {
            break;
        }
        std::hint::spin_loop();
    }
    Err(wrong)
}

fn read(words: &[ReadWord]) -> Result<Option<Bookmark>, WrongPosition> {
    let position = words[POSITION].load();
    let slot = (position >> SLOT_BIT) as usize;
    let at = SLOTS + slot * SLOT_WORDS;
    let values: [u64; SLOT_WORDS] = std::array::from_fn(|word| words[at + word].load());
    let [journal, incarnation, incarnation_from, stated] = values;
    let found =
        Bookmark { journal, incarnation, incarnation_from, next_sequence: position & MAX_SEQUENCE };
    let check = slot_check(slot, &found);
    if stated == MARK | u64::from(check) && position == encoded(slot, check, found.next_sequence) {
        return Ok(Some(found));
    }
    let is_new = position == 0 && words[MOVED].load() == 0;
    if is_new { Ok(None) } else { Err(WrongPosition(position)) }
}

impl StoredPosition {
    /// The writer after the position that was loaded.
    pub(super) fn after(words: &[ReadWord], loaded: Option<Bookmark>) -> Self {
        let slot = (words[POSITION].load() >> SLOT_BIT) as usize;
        let check = slot_check(slot, &loaded.unwrap_or_default());
        let stored = loaded.map(|place| Bookmark { next_sequence: 0, ..place });
        Self { slot, check, stored }
    }

    /// Stores a position.
    #[inline]
    pub(super) fn store(&mut self, words: &[Word], place: Bookmark) {
        if self.stored != Some(Bookmark { next_sequence: 0, ..place }) {
            self.change(words, &place);
        }
        words[POSITION].store(encoded(self.slot, self.check, place.next_sequence));
    }

    /// Writes the slot that is not in use; the next store of the position selects it.
    #[cold]
    fn change(&mut self, words: &[Word], place: &Bookmark) {
        self.slot ^= 1;
        self.check = slot_check(self.slot, place);
        self.stored = Some(Bookmark { next_sequence: 0, ..*place });
        store_slot(words, self.slot, self.check, place);
    }
}

/// Stores a position in words without one.
pub(super) fn store_first(words: &[Word], place: &Bookmark) {
    let check = slot_check(0, place);
    store_slot(words, 0, check, place);
    words[POSITION].store(encoded(0, check, place.next_sequence));
}

fn store_slot(words: &[Word], slot: usize, check: u32, place: &Bookmark) {
    let Bookmark { journal, incarnation, incarnation_from, .. } = *place;
    let values = [journal, incarnation, incarnation_from, MARK | u64::from(check)];
    let slot = &words[SLOTS + slot * SLOT_WORDS..][..SLOT_WORDS];
    slot.iter().zip(values).for_each(|(word, value)| word.store(value));
}

/// CRC-32C of the number of a slot and its words.
fn slot_check(slot: usize, place: &Bookmark) -> u32 {
    let Bookmark { journal, incarnation, incarnation_from, .. } = *place;
    let words = [slot as u64, journal, incarnation, incarnation_from];
    words.iter().fold(0, |sum, word| checksum_bytes(sum, &word.to_le_bytes()))
}

/// The word of a sequence number in this slot.
#[inline]
fn encoded(slot: usize, check: u32, sequence: u64) -> u64 {
    let sum = checksum_bytes(check, &sequence.to_le_bytes());
    let folded = u64::from(sum ^ sum >> 16) & ((1 << CHECK_BITS) - 1);
    sequence & MAX_SEQUENCE | folded << SEQUENCE_BITS | (slot as u64) << SLOT_BIT
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Random;
    use nanotape_shm::as_read_only;

    use super::*;

    fn words() -> Vec<Word> {
        (0..WORDS).map(|_| Word::new(0)).collect()
    }

    fn place(random: &mut Random) -> Bookmark {
        Bookmark {
            journal: random.number(),
            incarnation: random.number(),
            incarnation_from: random.below(MAX_SEQUENCE),
            next_sequence: random.below(MAX_SEQUENCE),
        }
    }

    #[test]
    fn what_is_stored_is_loaded_and_no_store_leaves_another_position() {
        let (words, mut random) = (words(), Random::new(7));
        assert_eq!(load(as_read_only(&words)), Ok(None));
        let mut position = StoredPosition::after(as_read_only(&words), None);
        let mut known = Bookmark::default();
        for number in 0..1000 {
            let before = load(as_read_only(&words)).unwrap();
            if number % 3 == 0 {
                known = place(&mut random);
                // As a process that is killed between the slot and the position.
                let slot = position.slot ^ 1;
                store_slot(&words, slot, 5, &known);
                assert_eq!(load(as_read_only(&words)), Ok(before));
            }
            known.next_sequence += 1;
            position.store(&words, known);
            assert_eq!(load(as_read_only(&words)), Ok(Some(known)));
        }
        let mut again = StoredPosition::after(as_read_only(&words), Some(known));
        known.next_sequence += 1;
        again.store(&words, known);
        assert_eq!(load(as_read_only(&words)), Ok(Some(known)));
    }

    /// The checksum is linear, so what is true for one position is true for all.
    #[test]
    fn every_changed_byte_of_a_position_is_noticed() {
        let (words, mut random) = (words(), Random::new(8));
        let place = place(&mut random);
        StoredPosition::after(as_read_only(&words), None).store(&words, place);
        let slot = SLOTS + SLOT_WORDS * (words[POSITION].load() >> SLOT_BIT) as usize;
        let used = std::iter::once(POSITION).chain(slot..slot + SLOT_WORDS);
        for word in used {
            let good = words[word].load();
            for byte in 0..8 {
                for mask in 1..=255_u64 {
                    words[word].store(good ^ mask << (8 * byte));
                    assert!(load(as_read_only(&words)).is_err(), "{word} {byte} {mask}");
                }
            }
            words[word].store(good);
        }
        assert_eq!(load(as_read_only(&words)), Ok(Some(place)));
    }
}
