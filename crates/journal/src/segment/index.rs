//! The index of a segment: for each block, where its first excerpt begins. Only a hint.
//!
//! Who follows an entry checks the excerpt that it leads to. The largest time in it cannot be
//! checked there, so an entry has a sum of its own.

use nanotape_shm::{ReadWord, Word};

use super::layout::{ENTRY_WORDS, Layout, position_bytes};
use crate::checksum::checksum;

/// In the upper half of an entry's last word.
const MARK: u64 = u32::from_be_bytes(*b"INDX") as u64;

/// Where the first excerpt of a block begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The excerpt's first word.
    pub(crate) at: usize,
    pub(crate) sequence: u64,
    /// The largest time of all excerpts before it.
    pub(crate) max_ts: u64,
}

impl Entry {
    /// Stores it as that of its block.
    pub(crate) fn store(&self, layout: Layout, seed: u32, words: &[Word]) {
        let entry = &words[layout.entry(layout.block(self.at))..][..ENTRY_WORDS];
        let values = [position_bytes(self.at), self.sequence, self.max_ts];
        // Nobody takes the old check for that of the new values, or what is half of each for an
        // entry.
        entry[3].store(0);
        for (word, value) in entry.iter().zip(values) {
            word.store(value);
        }
        let check = MARK << 32 | u64::from(checksum(seed, values, &[]));
        // No order is promised: an entry of which only a part is seen does not check, and the
        // excerpt that it leads to is looked at on its own.
        entry[3].store(check);
    }

    /// The entry of a block, if it is there and checks and is about this block.
    pub(crate) fn load(
        layout: Layout,
        seed: u32,
        words: &[ReadWord],
        block: usize,
    ) -> Option<Self> {
        let entry = words.get(layout.entry(block)..)?.get(..ENTRY_WORDS)?;
        let check = entry[3].load();
        let values = [entry[0].load(), entry[1].load(), entry[2].load()];
        if check != MARK << 32 | u64::from(checksum(seed, values, &[])) {
            return None;
        }
        let at = usize::try_from(values[0] / 8).ok()?;
        let is_here = values[0].is_multiple_of(8)
            && (layout.data..layout.limit()).contains(&at)
            && layout.block(at) == block;
        is_here.then_some(Self { at, sequence: values[1], max_ts: values[2] })
    }
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use nanotape_shm::as_read_only;

    use super::*;

    #[test]
    fn an_entry_is_of_its_block_and_checks_or_is_not_there() {
        let layout = Layout::new(1 << 16, 4096).unwrap();
        let words: Vec<Word> = (0..layout.words).map(|_| Word::new(0)).collect();
        let entry = Entry { at: 1100, sequence: 5, max_ts: 6 };
        entry.store(layout, 1, &words);
        let load = |seed, block| Entry::load(layout, seed, as_read_only(&words), block);
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
        // A sum that is right over a place that is not in this block.
        Entry { at: 1600, ..entry }.store(layout, 1, &words);
        for word in 0..4 {
            words[layout.entry(2) + word]
                .store(words[layout.entry(3) + word].as_read_only().load());
        }
        assert_eq!(load(1, 2), None);
    }
}
