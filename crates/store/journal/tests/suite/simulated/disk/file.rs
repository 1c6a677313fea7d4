//! A file of the simulated disk: the contents that processes see, and the part that outlives a loss
//! of power.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use nanotape_shm::Word;

use crate::simulated::dice::Dice;

pub(super) const PAGE_WORDS: usize = 512;

/// Units of an atomic write: the words outside of a unit can be lost separately.
pub(super) const UNIT_WORDS: [usize; 3] = [PAGE_WORDS, 64, 1];

#[derive(Debug)]
pub(super) struct File {
    pub(super) words: Arc<[Word]>,
    pub(super) bytes: u64,
    pub(super) durable: Vec<u64>,
    pub(super) durable_bytes: u64,
    /// Pages that a failed sync did not write, but that the kernel counts as written.
    pub(super) taken_clean: BTreeSet<usize>,
}

/// The words of one file.
pub(super) type Words = Arc<[Word]>;

pub(super) fn words_of(values: &[u64]) -> Words {
    values.iter().map(|&value| Word::new(value)).collect()
}

impl File {
    pub(super) fn new(bytes: u64) -> Self {
        let words = usize::try_from(bytes.div_ceil(8)).unwrap();
        let zeros = vec![0; words];
        let words = words_of(&zeros);
        Self { words, bytes, durable: zeros, durable_bytes: 0, taken_clean: BTreeSet::new() }
    }

    pub(super) fn copied(&self) -> Self {
        let values: Vec<u64> = (0..self.words.len()).map(|at| self.live(at)).collect();
        Self {
            words: words_of(&values),
            bytes: self.bytes,
            durable: self.durable.clone(),
            durable_bytes: self.durable_bytes,
            taken_clean: self.taken_clean.clone(),
        }
    }

    pub(super) fn live(&self, at: usize) -> u64 {
        self.words[at].as_read_only().load()
    }

    /// The bytes that processes see.
    pub(super) fn contents(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.words.len() * 8];
        for (to, word) in bytes.chunks_exact_mut(8).zip(&*self.words) {
            to.copy_from_slice(&word.as_read_only().load().to_ne_bytes());
        }
        bytes.truncate(usize::try_from(self.bytes).unwrap());
        bytes
    }

    /// Resizes the file to `bytes` bytes; words that were cut off are zero.
    pub(super) fn resize(&mut self, bytes: u64) {
        let words = usize::try_from(bytes.div_ceil(8)).unwrap();
        if words > self.words.len() {
            let mut values: Vec<u64> = (0..self.words.len()).map(|at| self.live(at)).collect();
            values.resize(words, 0);
            self.durable.resize(words, 0);
            self.words = words_of(&values);
        }
        for at in words..self.words.len() {
            self.words[at].store(0);
        }
        self.bytes = bytes;
    }

    /// Writes a page, or the part of it that exists.
    pub(super) fn write_back(&mut self, page: usize) {
        if self.taken_clean.contains(&page) {
            return;
        }
        for at in page * PAGE_WORDS..((page + 1) * PAGE_WORDS).min(self.words.len()) {
            self.durable[at] = self.live(at);
        }
    }

    pub(super) fn sync(&mut self, words: Range<usize>) {
        for page in words.start / PAGE_WORDS..words.end.div_ceil(PAGE_WORDS) {
            self.write_back(page);
        }
        self.durable_bytes = self.bytes;
    }

    /// Writes some pages, and marks the others as clean without writing them.
    pub(super) fn fail_to_sync(&mut self, words: Range<usize>, dice: &mut Dice) {
        for page in words.start / PAGE_WORDS..words.end.div_ceil(PAGE_WORDS) {
            if dice.one_in(2) {
                self.write_back(page);
            } else {
                self.taken_clean.insert(page);
            }
        }
    }

    /// Writes a random part of the stored words.
    pub(super) fn write_back_some(&mut self, dice: &mut Dice) {
        let unit = UNIT_WORDS[dice.index(3)];
        let pages = self.durable.chunks_mut(PAGE_WORDS).zip(self.words.chunks(PAGE_WORDS));
        for (page, (durable, words)) in pages.enumerate() {
            // Most pages are as on the disk, and every few stores come here.
            if !differ(durable, words) || self.taken_clean.contains(&page) {
                continue;
            }
            for (durable, words) in durable.chunks_mut(unit).zip(words.chunks(unit)) {
                if differ(durable, words) && dice.one_in(2) {
                    for (old, word) in durable.iter_mut().zip(words) {
                        *old = word.as_read_only().load();
                    }
                }
            }
        }
    }
}

fn differ(durable: &[u64], words: &[Word]) -> bool {
    durable.iter().zip(words).any(|(old, word)| *old != word.as_read_only().load())
}
