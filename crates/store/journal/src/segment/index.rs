//! The index of a segment: the position of the first excerpt of each block. Only a hint.
//!
//! A reader that follows an entry checks its excerpt. The largest time cannot be checked there, so
//! an entry has its own checksum.

use nanotape_shm::{ReadWord, Word};

use super::{
    layout::{ENTRY_WORDS, Layout, position_bytes},
    view::Place,
};
use nanotape_shm::checksum;

/// The upper half of an entry's last word.
const MARK: u64 = u32::from_be_bytes(*b"INDX") as u64;

/// Stores the position of the first excerpt of a block as the entry of the block.
pub(crate) fn store(first: &Place, layout: Layout, seed: u32, words: &[Word]) {
    let entry = &words[layout.entry(layout.block(first.at))..][..ENTRY_WORDS];
    let values = [position_bytes(first.at), first.sequence, first.max_ts];
    // The old checksum must not match the new values, or a mix of both.
    entry[3].store(0);
    for (word, value) in entry.iter().zip(values) {
        word.store(value);
    }
    // No ordering is needed: an entry of which only a part is visible is not valid, and its excerpt
    // is checked separately.
    entry[3].store(check(seed, values));
}

/// The entry of a block, if it exists, is valid, and is about this block.
pub(crate) fn load(layout: Layout, seed: u32, words: &[ReadWord], block: usize) -> Option<Place> {
    let entry = words.get(layout.entry(block)..)?.get(..ENTRY_WORDS)?;
    let stored = entry[3].load();
    let values @ [position, sequence, max_ts] = [0, 1, 2].map(|word: usize| entry[word].load());
    let at = usize::try_from(position / 8).ok()?;
    let is_here = stored == check(seed, values)
        && position.is_multiple_of(8)
        && (layout.data..layout.limit()).contains(&at)
        && layout.block(at) == block;
    is_here.then_some(Place { at, sequence, max_ts })
}

fn check(seed: u32, values: [u64; 3]) -> u64 {
    MARK << 32 | u64::from(checksum(seed, values, &[]))
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use nanotape_shm::as_read_only;

    use super::*;

    #[test]
    fn an_entry_is_of_its_block_and_checks_or_is_not_there() {
        let layout = Layout::new(1 << 16, 4096).unwrap();
        let words: Vec<Word> = (0..layout.words).map(|_| Word::new(0)).collect();
        let entry = Place { at: 1100, sequence: 5, max_ts: 6 };
        store(&entry, layout, 1, &words);
        let load = |seed, block| load(layout, seed, as_read_only(&words), block);
        assert_eq!(load(1, 2), Some(entry));
        assert_eq!(
            (load(2, 2), load(1, 1), load(1, 3), load(1, usize::MAX / 8)),
            (None, None, None, None)
        );
        for word in 0..4 {
            let word = &words[layout.entry(2) + word];
            word.store(word.as_read_only().load() ^ 8);
            assert_eq!(load(1, 2), None);
            word.store(word.as_read_only().load() ^ 8);
        }
        // A valid checksum over a position that is not in this block.
        store(&Place { at: 1600, ..entry }, layout, 1, &words);
        for word in 0..4 {
            words[layout.entry(2) + word]
                .store(words[layout.entry(3) + word].as_read_only().load());
        }
        assert_eq!(load(1, 2), None);
    }
}
