//! The limits: a table of as many bytes without keys, and a map that one thread has alone.

use core::hint::black_box;
use std::{collections::HashMap, fs::File, path::Path, sync::Arc};

use nanotape_shm::{WORD_BYTES, WritableWords};

use super::{
    keys::{Picks, below, first_value, key},
    loops::Values,
};
use crate::{
    engine::{Written, pace::Until},
    error::Error,
};

/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// A word in each line of a mapped file, in the same kind of memory as a map.
#[derive(Clone)]
pub(super) struct Lines {
    words: Arc<WritableWords>,
    lines: u64,
    /// The position of the word in its line.
    side: usize,
    /// An entry times this, divided by 2^32, is its line.
    scale: u64,
}

impl Lines {
    /// A file of about this size, all of it in memory.
    pub(super) fn new(path: &Path, bytes: u64, entries: u64) -> Result<Self, Error> {
        let lines = (bytes / (LINE_WORDS * WORD_BYTES) as u64).max(1);
        let words = lines as usize * LINE_WORDS;
        let map = || {
            let mut options = File::options();
            let file = options.read(true).write(true).create_new(true).open(path)?;
            file.set_len((words * WORD_BYTES) as u64)?;
            WritableWords::map(&file, words)
        };
        let words = map().map_err(Error::system("map a table without keys"))?;
        words.words().iter().step_by(LINE_WORDS).for_each(|word| word.store(0));
        Ok(Self { words: Arc::new(words), lines, side: 0, scale: (lines << 32) / entries.max(1) })
    }

    /// The same lines for a second side, which changes other words of them: a word that both add to
    /// would lose some.
    pub(super) fn another(&self) -> Self {
        Self { side: 1, ..self.clone() }
    }

    /// The word in the line of an entry. `entry` is below 2^30 and there are less lines than
    /// four for each, so nothing overflows.
    #[inline(always)]
    fn word(&self, entry: u64) -> &nanotape_shm::Word {
        &self.words.words()[((entry * self.scale) >> 32) as usize * LINE_WORDS + self.side]
    }

    /// Loads of random lines, each of which needs the word before: no two overlap.
    #[inline(never)]
    pub(super) fn dependent(&self, picks: &mut Picks, until: &Until) -> Written {
        let (words, lines) = (self.words.words(), self.lines);
        let (mut done, mut found) = (0, 0);
        while let block @ 1.. = until.next_block(done) {
            for _ in 0..block {
                // All words are 0, which the processor does not know before it has loaded them.
                let line = below(lines, picks.random().wrapping_add(found));
                found = words[line as usize * LINE_WORDS].load();
            }
            done += block;
        }
        black_box(found);
        Written { messages: done, nanos: until.nanos() }
    }
}

impl Values for Lines {
    #[inline(always)]
    fn is_first(&mut self, entry: u64) -> Result<bool, Error> {
        Ok(self.word(entry).load() == 0)
    }

    #[inline(always)]
    fn add(&mut self, entry: u64) -> Result<(), Error> {
        let word = self.word(entry);
        word.store(word.load() + 1);
        Ok(())
    }

    fn insert(&mut self, _: u64) -> Result<(), Error> {
        Ok(())
    }

    fn sum(&mut self) -> Result<u64, Error> {
        Ok(self.words.words().iter().fold(0, |sum, word| sum + word.load()))
    }
}

/// The map of the standard library, with its default hash.
pub(super) struct Std<const WORDS: usize>(HashMap<[u64; WORDS], u64>);

impl<const WORDS: usize> Std<WORDS> {
    /// With room for all entries, so that it never grows.
    pub(super) fn new(entries: u64) -> Self {
        Self(HashMap::with_capacity(entries as usize))
    }

    /// Bytes of its table, by its capacity.
    pub(super) fn bytes(&self) -> u64 {
        std_bytes(self.0.capacity() as u64, WORDS)
    }
}

/// Bytes of a table of the standard library with this capacity: of a power of two of positions it
/// uses seven eighths, each with an entry and one byte more.
pub(super) fn std_bytes(capacity: u64, key_words: usize) -> u64 {
    let positions = (capacity * 8).div_ceil(7).next_power_of_two();
    positions * ((key_words + 1) * WORD_BYTES + 1) as u64
}

impl<const WORDS: usize> Values for Std<WORDS> {
    #[inline(always)]
    fn is_first(&mut self, entry: u64) -> Result<bool, Error> {
        Ok(self.0.get(&key(entry)).copied() == Some(first_value(entry)))
    }

    #[inline(always)]
    fn add(&mut self, entry: u64) -> Result<(), Error> {
        match self.0.get_mut(&key(entry)) {
            Some(value) => *value += 1,
            None => return Err(Error::found("a map", "a key is missing")),
        }
        Ok(())
    }

    #[inline(always)]
    fn insert(&mut self, entry: u64) -> Result<(), Error> {
        self.0.insert(key(entry), first_value(entry));
        Ok(())
    }

    fn sum(&mut self) -> Result<u64, Error> {
        Ok(self.0.values().fold(0, |sum, value| sum.wrapping_add(*value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Folder, pace::Amount};

    #[test]
    fn every_line_of_a_table_belongs_to_entries() {
        let folder = Folder::new("lines").unwrap();
        let path = folder.path().join("lines");
        let mut lines = Lines::new(&path, 64 * 300, 1_000).unwrap();
        (0..1_000).for_each(|entry| lines.add(entry).unwrap());
        let words = lines.words.words().iter().step_by(LINE_WORDS);
        let counts: Vec<u64> = words.map(|word| word.load()).collect();
        lines.another().add(7).unwrap();
        assert_eq!(lines.sum().unwrap(), 1_001);
        assert!(counts.len() == 300 && counts.iter().all(|&count| count == 3 || count == 4));
        let until = Until::new(nanotape_clock::Clock::monotonic(), Amount::Messages(1_000));
        assert_eq!(lines.dependent(&mut Picks::new(0, 1_000), &until).messages, 1_000);
    }

    #[test]
    fn the_bytes_of_a_map_follow_from_its_capacity() {
        let map = Std::<1>::new(1_000_000);
        assert_eq!(map.0.capacity(), (1 << 21) / 8 * 7);
        assert_eq!(map.bytes(), (1 << 21) * 17);
        assert_eq!(std_bytes(1_000_000, 1), map.bytes());
    }
}
