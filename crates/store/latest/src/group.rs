//! A group of entries as a reader sees it: a copy of one moment, also while a writer changes it.
//!
//! Protocol: the lock word of a group has the number of the writer that changes it, a bit for each
//! entry that is there, and a number that grows with each change. A reader loads what it needs
//! between two loads of the lock word, and accepts it if both are the same. While a writer has the
//! lock, the entries are those of before, until its change is complete in its slot. From then on
//! they are what the slot has, so that a reader never waits for a writer that is stopped or dead.
//! Bounds: [`TRIES`] attempts, while writers change the group between each two loads.

use nanotape_shm::ReadWord;

use crate::{
    edges::{LOCK, REDO},
    error::LatestError,
    hash::{group_of, hash, is_key},
    layout::{Layout, head, slot},
};

/// Attempts of a reader.
pub(crate) const TRIES: u32 = 100_000;

/// The number of the lock word's owner; 0: none.
pub(crate) const fn owner(lock: u64) -> u32 {
    (lock & 0xffff) as u32
}

/// The lock word after a change, which has these entries.
pub(crate) const fn opened(lock: u64, taken: u32) -> u64 {
    ((lock >> 32).wrapping_add(1) & 0xffff_ffff) << 32 | (taken as u64) << 16
}

/// A bit for each entry that is there.
pub(crate) const fn taken(lock: u64) -> u32 {
    (lock >> 16 & 0xffff) as u32
}

/// A position and a count in one word.
pub(crate) const fn packed(at: usize, count: usize) -> u64 {
    at as u64 | (count as u64) << 48
}

/// The same again.
pub(crate) const fn unpacked(word: u64) -> (usize, usize) {
    ((word & 0xffff_ffff_ffff) as usize, (word >> 48) as usize)
}

/// The words of a map, to read.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) words: &'a [ReadWord],
    pub(crate) layout: &'a Layout,
}

/// A group while it is read.
pub(crate) struct Group<'a> {
    words: &'a [ReadWord],
    layout: &'a Layout,
    /// Its number, and its first word.
    at: usize,
    pub(crate) taken: u32,
    /// The range of words that a change replaces, and what by.
    change: Option<(usize, &'a [ReadWord])>,
}

/// Where a key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) group: usize,
    pub(crate) entry: usize,
    /// How many groups are before it.
    pub(crate) passed: usize,
}

impl Group<'_> {
    /// A word of the map, which is of this group.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> u64 {
        if let Some((from, words)) = self.change
            && let Some(word) = at.checked_sub(from).and_then(|at| words.get(at))
        {
            return word.load();
        }
        self.words[at].load()
    }

    /// How many keys passed it.
    #[inline(always)]
    pub(crate) fn passed(&self) -> u64 {
        self.word(self.at + 1)
    }

    /// The number of the entry with this key.
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64]) -> Option<usize> {
        let mut left = self.taken;
        while left != 0 {
            let entry = left.trailing_zeros() as usize;
            if entry >= self.layout.in_group {
                return None;
            }
            // No change alters a key.
            let at = self.layout.entry(self.at, entry) + 1;
            if is_key(&self.words[at..at + key.len()], key) {
                return Some(entry);
            }
            left &= left - 1;
        }
        None
    }

    /// Copies the value of an entry; returns its stamp.
    #[inline(always)]
    pub(crate) fn value(&self, entry: usize, value: &mut [u64]) -> u64 {
        let at = self.layout.entry(self.at, entry);
        let first = at + 1 + self.layout.spec.key_words;
        for (value, at) in value.iter_mut().zip(first..) {
            *value = self.word(at);
        }
        self.word(at)
    }

    /// Copies the key of an entry.
    pub(crate) fn key(&self, entry: usize, key: &mut [u64]) {
        let at = self.layout.entry(self.at, entry) + 1;
        for (key, at) in key.iter_mut().zip(at..) {
            *key = self.word(at);
        }
    }
}

impl<'a> View<'a> {
    /// The group of a key's hash.
    #[inline(always)]
    pub(crate) fn home(&self, key: &[u64]) -> usize {
        group_of(hash(self.words[head::SEED].load(), key), self.layout.groups)
    }

    /// What `read` makes of a group at one moment. It is called again if that was none.
    #[inline(always)]
    pub(crate) fn read<R>(
        &self,
        group: usize,
        mut read: impl FnMut(&Group<'a>) -> R,
    ) -> Result<R, LatestError> {
        let Self { words, layout } = *self;
        let at = layout.group(group);
        let mut last = 0;
        for _ in 0..TRIES {
            // SYNC(latest.lock): pairs with the store that opens the group.
            let lock = words[at].observe(LOCK);
            let mut seen = Group { words, layout, at, taken: taken(lock), change: None };
            let mut valid = None;
            last = owner(lock);
            if last != 0 {
                if last > layout.spec.writers {
                    return Err(LatestError::Damaged { word: at as u64, found: lock });
                }
                let slot_at = layout.slot(last);
                // SYNC(latest.redo): pairs with the store that makes the change complete.
                let found = words[slot_at + slot::VALID].observe(REDO);
                valid = Some((slot_at + slot::VALID, found));
                if found == lock {
                    seen.change = self.change(slot_at, at);
                }
            }
            let result = read(&seen);
            // SYNC(latest.lock): keeps the loads above before the second load of the lock; pairs
            // with the fence of the writer that has it.
            LOCK.acquire_fence();
            // SYNC(latest.redo): pairs with both stores of the word. It can have the same value
            // again in a later change, and then the lock is another one.
            let is_same = valid.is_none_or(|(at, found)| words[at].observe(REDO) == found);
            if is_same && words[at].load() == lock {
                return Ok(result);
            }
            pause();
        }
        let waited = std::time::Duration::ZERO;
        Err(LatestError::Busy { group: group as u64, owner: last, waited })
    }

    /// The change in the slot of a writer, if it is one of the group that begins there.
    fn change(&self, slot_at: usize, group_at: usize) -> Option<(usize, &'a [ReadWord])> {
        let (from, count) = unpacked(self.words[slot_at + slot::CHANGE_AT].load());
        let end = from.checked_add(count)?;
        let is_own = from > group_at && end <= group_at + self.layout.group_words;
        let first = slot_at + slot::REDO;
        (is_own && count <= self.layout.entry_words)
            .then(|| (from, &self.words[first..first + count]))
    }

    /// Where a key is; `None` if it is not there.
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64]) -> Result<Option<Place>, LatestError> {
        self.find_and(key, |_, _| ()).map(|found| found.map(|(place, ())| place))
    }

    /// The same, with what `take` makes of the entry at the same moment.
    #[inline(always)]
    pub(crate) fn find_and<R>(
        &self,
        key: &[u64],
        mut take: impl FnMut(&Group<'a>, usize) -> R,
    ) -> Result<Option<(Place, R)>, LatestError> {
        let mut group = self.home(key);
        for passed in 0..self.layout.groups {
            let (found, is_last) = self.read(group, |seen| match seen.find(key) {
                Some(entry) => (Some((entry, take(seen, entry))), false),
                None => (None, seen.passed() == 0),
            })?;
            if let Some((entry, taken)) = found {
                return Ok(Some((Place { group, entry, passed }, taken)));
            }
            if is_last {
                break;
            }
            group = self.layout.after(group);
        }
        Ok(None)
    }
}

/// Waits for a moment.
#[inline(always)]
pub(crate) fn pause() {
    #[cfg(not(nanotape_loom))]
    std::hint::spin_loop();
    #[cfg(nanotape_loom)]
    loom::thread::yield_now();
}
