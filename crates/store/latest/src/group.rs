//! A group of entries as a reader sees it: a copy of one moment, also while a writer changes it.
//!
//! Protocol: the lock word of a group has the number of the writer that changes it, a bit for each
//! entry that is there, and a number that grows with each change. A reader loads what it needs
//! between two loads of the lock word, and accepts it if both are the same. While a writer has the
//! lock, the entries are those of before, until its change is complete in its slot. From then on
//! they are what the slot has, so that a reader never waits for a writer that is stopped or dead.
//! Bounds: [`TRIES`] attempts, while writers change the group between each two loads.

use std::time::Duration;

use nanotape_shm::{ReadWord, prefetch};

use crate::{
    edges::{LOCK, REDO},
    error::LatestError,
    hash::{group_of, hash, is_key},
    layout::{LINE_WORDS, Layout, head, slot},
};

/// Attempts of a reader.
pub(crate) const TRIES: u32 = 100_000;

/// The bit of a version for a complete change of a group that is still locked. A group has too few
/// entries for this bit of the lock word.
const COMPLETE: u64 = 1 << 31;

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
    /// By value, so that its lengths are constants where they are known.
    pub(crate) layout: Layout,
}

/// A group while it is read.
pub(crate) struct Group<'a> {
    /// Its own words.
    words: &'a [ReadWord],
    layout: Layout,
    pub(crate) taken: u32,
    /// The words that a change replaces, from this one on, and what by.
    change: Option<(usize, &'a [ReadWord])>,
    lock: u64,
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
    /// A word of the group.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        match self.change {
            Some((from, words)) => changed(self.words, from, words, at),
            None => self.words[at].load(),
        }
    }

    /// A word that differs whenever the contents differ: the lock word, and a bit that no entry has
    /// if a change is complete whose writer has not opened the group yet.
    pub(crate) fn version(&self) -> u64 {
        self.lock | if self.change.is_some() { COMPLETE } else { 0 }
    }

    /// How many keys passed it.
    #[inline(always)]
    pub(crate) fn passed(&self) -> u64 {
        self.word(1)
    }

    /// The number of the entry with this key.
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64]) -> Option<usize> {
        // Which entry it is cannot be predicted: without a branch for each, the processor goes on
        // to the next operation while it waits for this line. No change alters a key.
        let mut found = 0;
        for entry in 0..self.layout.in_group {
            let at = self.layout.entry(0, entry) + 1;
            found |= u32::from(is_key(&self.words[at..at + key.len()], key)) << entry;
        }
        found &= self.taken;
        (found != 0).then(|| found.trailing_zeros() as usize)
    }

    /// Copies the value of an entry; returns its stamp.
    #[inline(always)]
    pub(crate) fn value(&self, entry: usize, value: &mut [u64]) -> u64 {
        let at = self.layout.entry(0, entry);
        let first = at + 1 + self.layout.spec.key_words;
        for (word, value) in value.iter_mut().enumerate() {
            *value = self.word(first + word);
        }
        self.word(at)
    }

    /// Copies all entries; those that are not there are left as they were.
    pub(crate) fn copy(&self, entries: &mut [u64]) {
        for (number, entry) in entries.chunks_exact_mut(self.layout.entry_words).enumerate() {
            if self.taken >> number & 1 == 1 {
                let at = self.layout.entry(0, number);
                entry.iter_mut().zip(at..).for_each(|(word, at)| *word = self.word(at));
            }
        }
    }
}

/// A word of a group that changes.
#[cold]
fn changed(group: &[ReadWord], from: usize, words: &[ReadWord], at: usize) -> u64 {
    let changed = at.checked_sub(from).and_then(|at| words.get(at));
    changed.unwrap_or(&group[at]).load()
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
        let Self { words: all, layout } = *self;
        let at = layout.group(group);
        let words = &all[at..at + layout.group_words];
        let mut tries = 0;
        loop {
            // SYNC(latest.lock): pairs with the store that opens the group.
            let lock = words[0].observe(LOCK);
            let (valid, change) = match owner(lock) {
                0 => (None, None),
                owner => self.owned(at, owner, lock)?,
            };
            let seen = Group { words, layout, taken: taken(lock), change, lock };
            let result = read(&seen);
            // SYNC(latest.lock): keeps the loads above before the second load of the lock; pairs
            // with the fence of the writer that has it.
            LOCK.acquire_fence();
            // SYNC(latest.redo): pairs with both stores of the word. It can have the same value
            // again in a later change, and then the lock is another one.
            let is_same =
                valid.is_none_or(|(word, found): (&ReadWord, u64)| word.observe(REDO) == found);
            if is_same && words[0].load() == lock {
                return Ok(result);
            }
            tries += 1;
            if tries == TRIES {
                return Err(busy(group, owner(lock)));
            }
            pause();
        }
    }

    /// What the slot of a writer has, which has locked the group that begins there: the word that
    /// says whether its change is complete, and the change, if it is.
    #[cold]
    fn owned(self, group_at: usize, owner: u32, lock: u64) -> Result<Owned<'a>, LatestError> {
        if owner > self.layout.spec.writers {
            return Err(LatestError::Damaged { word: group_at as u64, found: lock });
        }
        let slot_at = self.layout.slot(owner);
        let word = &self.words[slot_at + slot::VALID];
        // SYNC(latest.redo): pairs with the store that makes the change complete.
        let found = word.observe(REDO);
        let change = if found == lock { self.change(slot_at, group_at) } else { None };
        Ok((Some((word, found)), change))
    }

    /// The change in the slot of a writer, if it is one of the group that begins there.
    pub(crate) fn change(
        &self,
        slot_at: usize,
        group_at: usize,
    ) -> Option<(usize, &'a [ReadWord])> {
        let (from, count) = unpacked(self.words[slot_at + slot::CHANGE_AT].load());
        let end = from.checked_add(count)?;
        let is_own = from > group_at && end <= group_at + self.layout.group_words;
        let first = slot_at + slot::REDO;
        (is_own && count <= self.layout.entry_words)
            .then(|| (from - group_at, &self.words[first..first + count]))
    }

    /// Begins to load the group of a key's hash, without waiting.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: &[u64]) {
        let at = self.layout.group(self.home(key));
        for line in (0..self.layout.group_words).step_by(LINE_WORDS) {
            prefetch(self.words, at + line);
        }
    }

    /// Calls `each` with the number, the version and the value of each of these keys.
    pub(crate) fn get_each(
        self,
        keys: &[u64],
        value: &mut [u64],
        mut each: impl FnMut(usize, Option<u32>, &[u64]),
    ) -> Result<(), LatestError> {
        let key_words = self.layout.spec.key_words;
        assert!(value.len() == self.layout.spec.value_words, "lengths of another map");
        for (number, key) in ahead(keys, key_words, |key| self.prefetch(key)) {
            let version = self.get(key, value)?;
            each(number, version, value);
        }
        Ok(())
    }

    /// Space for the entries of one group.
    pub(crate) fn copy(self) -> Copied<'a> {
        let entries = vec![0; self.layout.in_group * self.layout.entry_words];
        Copied { view: self, taken: 0, entries }
    }

    /// Copies the value of a key; returns its version. The usual lengths have code of their own.
    #[inline]
    pub(crate) fn get(self, key: &[u64], value: &mut [u64]) -> Result<Option<u32>, LatestError> {
        match (key.len(), value.len()) {
            (1, 1) => self.get_fixed::<1, 1>(key, value),
            (2, 1) => self.get_fixed::<2, 1>(key, value),
            _ => self.get_any(key, value),
        }
    }

    #[inline(always)]
    fn get_fixed<const KEY: usize, const VALUE: usize>(
        self,
        key: &[u64],
        value: &mut [u64],
    ) -> Result<Option<u32>, LatestError> {
        let (key, value) = (&key[..KEY], &mut value[..VALUE]);
        Self { layout: self.layout.fixed::<KEY, VALUE>(), ..self }.get_any(key, value)
    }

    #[inline(always)]
    fn get_any(self, key: &[u64], value: &mut [u64]) -> Result<Option<u32>, LatestError> {
        let found = self.find_and(key, |seen, entry| seen.value(entry, value))?;
        Ok(found.map(|(_, stamp)| stamp as u32))
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

/// All entries of one group after the other, each group as it was at one moment.
pub(crate) struct Copied<'a> {
    view: View<'a>,
    taken: u32,
    entries: Vec<u64>,
}

impl Copied<'_> {
    /// Copies a group; returns how many keys passed it.
    pub(crate) fn read(&mut self, group: usize) -> Result<u64, LatestError> {
        let Self { view, taken, entries } = self;
        let passed;
        (*taken, passed) = view.read(group, |seen| {
            seen.copy(entries);
            (seen.taken, seen.passed())
        })?;
        Ok(passed)
    }

    /// The entries that are there, with their numbers: the stamp, the key, the value.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, &[u64])> {
        let all = self.entries.chunks_exact(self.view.layout.entry_words).enumerate();
        all.filter(|(number, _)| self.taken >> number & 1 == 1)
    }
}

/// A word with its value, and the words of a group that a change replaces.
type Owned<'a> = (Option<(&'a ReadWord, u64)>, Option<(usize, &'a [ReadWord])>);

#[cold]
fn busy(group: usize, owner: u32) -> LatestError {
    LatestError::Busy { group: group as u64, owner, waited: Duration::ZERO }
}

/// Keys whose memory is loaded at the same time.
const AHEAD: usize = 12;

/// The keys with their numbers, each after `prefetch` had the [`AHEAD`] keys that follow.
pub(crate) fn ahead(
    keys: &[u64],
    key_words: usize,
    mut prefetch: impl FnMut(&[u64]),
) -> impl Iterator<Item = (usize, &[u64])> {
    assert!(keys.len().is_multiple_of(key_words), "lengths of another map");
    let mut coming = keys.chunks_exact(key_words);
    coming.by_ref().take(AHEAD).for_each(&mut prefetch);
    keys.chunks_exact(key_words).enumerate().inspect(move |_| {
        if let Some(key) = coming.next() {
            prefetch(key);
        }
    })
}

/// Waits for a moment.
#[inline(always)]
pub(crate) fn pause() {
    #[cfg(not(nanotape_loom))]
    std::hint::spin_loop();
    #[cfg(nanotape_loom)]
    loom::thread::yield_now();
}
