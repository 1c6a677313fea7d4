//! How a writer locks groups and changes them, so that another process can continue after a kill.
//!
//! Protocol: a writer states in its slot which groups it is about to lock, then locks them. A
//! change of a group is complete in the slot before the first word of the group is stored; the
//! words are absolute values, so that storing them again does no harm. No change is complete in
//! the slot when a lock is taken: lock words do not name their group, and a complete change of
//! another group could have the same one.
//! Bounds: a hand holds at most two locks, the one of the smaller group first, and waits for
//! nothing while it holds one.

use std::time::Duration;

use nanotape_shm::{JoinedRegion, ReadWord, Word, as_read_only, checksum_words};

use crate::{
    edges::{LOCK, REDO},
    error::LatestError,
    group::{Place, View, opened, owner, packed, pause, taken},
    hash::is_key,
    layout::{Layout, slot},
    patience::Patience,
};

/// Turns of waiting before a process queries the kernel whether the owner of a lock is alive.
const TURNS: u32 = if cfg!(nanotape_loom) { 1 } else { 200 };

/// The hand of a writer with a number that this process has.
#[derive(Clone, Copy)]
pub(crate) struct Hand<'a> {
    pub(crate) region: &'a JoinedRegion,
    /// By value, so that its lengths are constants where they are known.
    pub(crate) layout: Layout,
    /// Its number.
    pub(crate) me: u32,
    pub(crate) patience: &'a Patience,
    /// Whether it finishes the work of a dead writer.
    pub(crate) recovers: bool,
}

/// What prevents a step of a hand.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// Another dead writer, whose work is to be finished first.
    Dead(u32),
    Error(LatestError),
}

impl Obstacle {
    /// As an error of a hand that does not recover: it finishes what dead writers left by itself.
    pub(crate) fn into_error(self) -> LatestError {
        match self {
            Self::Error(error) => error,
            Self::Dead(owner) => LatestError::Busy { group: 0, owner, waited: Duration::ZERO },
        }
    }
}

impl From<LatestError> for Obstacle {
    fn from(error: LatestError) -> Self {
        Self::Error(error)
    }
}

/// A locked group, which opens without a change if it is dropped.
pub(crate) struct Held<'a> {
    word: &'a Word,
    /// The lock word before.
    free: u64,
    pub(crate) group: usize,
    pub(crate) at: usize,
}

impl Held<'_> {
    /// Opens the group, which has these entries now.
    pub(crate) fn open(self, taken: u32) {
        // SYNC(latest.lock): pairs with the loads of readers, and with the next writer's exchange.
        self.word.publish(opened(self.free, taken), LOCK);
        std::mem::forget(self);
    }

    pub(crate) fn taken(&self) -> u32 {
        taken(self.free)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SYNC(latest.lock): pairs with the loads of readers, and with the next writer's exchange.
        self.word.publish(opened(self.free, taken(self.free)), LOCK);
    }
}

impl<'a> Hand<'a> {
    pub(crate) fn words(&self) -> &'a [Word] {
        self.region.words()
    }

    pub(crate) fn read(&self) -> &'a [ReadWord] {
        as_read_only(self.words())
    }

    pub(crate) fn view(&self) -> View<'a> {
        View { words: self.read(), layout: self.layout }
    }

    /// A word of the own slot.
    #[inline(always)]
    pub(crate) fn own(&self, word: usize) -> &'a Word {
        &self.words()[self.layout.slot(self.me) + word]
    }

    /// Locks a group, once its writer has finished or is dead. No other lock is held.
    #[inline(always)]
    pub(crate) fn lock(&self, group: usize) -> Result<Held<'a>, Obstacle> {
        // No complete change of another group can have the lock word that is taken.
        // SYNC(latest.redo): pairs with a reader's second load of the word.
        self.own(slot::VALID).publish(0, REDO);
        loop {
            match self.try_lock(group, 0) {
                Ok(held) => return Ok(held),
                Err(lock) => self.wait(group, lock)?,
            }
        }
    }

    /// Locks two groups, or one if both are the same. While one is locked by another writer, this
    /// one holds none: what a dead one left may need any group.
    pub(crate) fn lock_both(
        &self,
        one: usize,
        other: usize,
    ) -> Result<(Held<'a>, Option<Held<'a>>), Obstacle> {
        loop {
            let first = self.lock(one.min(other))?;
            if one == other {
                return Ok((first, None));
            }
            match self.try_lock(one.max(other), 1) {
                Ok(second) => return Ok((first, Some(second))),
                Err(lock) => {
                    drop(first);
                    self.wait(one.max(other), lock)?;
                }
            }
        }
    }

    /// Locks a group, which this writer states first; the lock word if another one keeps it.
    #[inline(always)]
    fn try_lock(&self, group: usize, which: usize) -> Result<Held<'a>, u64> {
        let at = self.layout.group(group);
        let word = &self.words()[at];
        self.own(slot::LOCKS[which]).store(group as u64 + 1);
        let mut turns = 0;
        loop {
            let free = word.load();
            if owner(free) == 0 {
                // SYNC(latest.lock): pairs with the store that opened the group, and with readers,
                // who then see that no change is complete in the slot.
                if word.compare_exchange(free, free | u64::from(self.me), LOCK).is_ok() {
                    return Ok(Held { word, free, group, at });
                }
                continue;
            }
            turns += 1;
            if turns == TURNS {
                return Err(free);
            }
            pause();
        }
    }

    /// Waits for the owner of a group, or finishes its work if it is dead.
    #[cold]
    fn wait(self, group: usize, lock: u64) -> Result<(), Obstacle> {
        let at = self.layout.group(group);
        self.wait_for(owner(lock), group as u64, at, lock)
    }

    /// Waits for a writer that keeps the lock in a word.
    pub(crate) fn wait_for(
        &self,
        owner: u32,
        group: u64,
        at: usize,
        lock: u64,
    ) -> Result<(), Obstacle> {
        let damaged = LatestError::Damaged { word: at as u64, found: lock };
        if owner > self.layout.spec.writers || owner == self.me {
            return Err(damaged.into());
        }
        if self.region.is_writer_alive(owner) {
            return Ok(self.patience.wait(group, owner)?);
        }
        if self.recovers {
            return Err(Obstacle::Dead(owner));
        }
        if !self.recover(owner)? {
            return Ok(self.patience.wait(group, owner)?);
        }
        // A writer states what it locks before it does, so that its lock is open after that.
        match self.words()[at].load() == lock {
            true => Err(damaged.into()),
            false => Ok(()),
        }
    }

    /// Changes words of a locked group, and what the own slot counts.
    #[inline(always)]
    pub(crate) fn change(&self, held: &Held<'_>, from: usize, values: &[u64], passed: u64) {
        let lock = held.free | u64::from(self.me);
        let words = self.words();
        // SYNC(latest.redo): pairs with the loads of one who reads the change of before.
        REDO.release_fence();
        self.own(slot::CHANGE_AT).store(packed(from, values.len()));
        self.own(slot::THEN_PASSED).store(passed);
        let redo = self.layout.slot(self.me) + slot::REDO;
        for (word, value) in words[redo..].iter().zip(values) {
            word.store(*value);
        }
        // SYNC(latest.redo): pairs with the first load of the word in a reader.
        self.own(slot::VALID).publish(lock, REDO);
        // SYNC(latest.redo): pairs with a reader's second load of the word.
        REDO.release_fence();
        for (word, value) in words[from..].iter().zip(values) {
            word.store(*value);
        }
        self.own(slot::PASSED).store(passed);
    }

    /// Changes the value of a key to what `change` makes of it; returns its stamp, or `None` if
    /// the key is not there. A value that does not have its sum is damage, unless all of it is
    /// replaced.
    #[inline(always)]
    pub(crate) fn update(
        self,
        key: &[u64],
        entry: &mut [u64],
        replaces: bool,
        change: impl FnOnce(&mut [u64], u64) -> bool,
    ) -> Result<Option<u64>, Obstacle> {
        // The usual lengths have code of their own.
        match (key.len(), entry.len()) {
            (1, 3) => self.update_fixed::<1, 1>(key, entry, replaces, change),
            (2, 4) => self.update_fixed::<2, 1>(key, entry, replaces, change),
            _ => self.update_any(key, entry, replaces, change),
        }
    }

    #[inline]
    fn update_fixed<const KEY: usize, const VALUE: usize>(
        self,
        key: &[u64],
        entry: &mut [u64],
        replaces: bool,
        change: impl FnOnce(&mut [u64], u64) -> bool,
    ) -> Result<Option<u64>, Obstacle> {
        let layout = self.layout.fixed::<KEY, VALUE>();
        let (key, entry) = (&key[..KEY], &mut entry[..1 + KEY + VALUE]);
        Self { layout, ..self }.update_any(key, entry, replaces, change)
    }

    #[inline(always)]
    fn update_any(
        self,
        key: &[u64],
        entry: &mut [u64],
        replaces: bool,
        change: impl FnOnce(&mut [u64], u64) -> bool,
    ) -> Result<Option<u64>, Obstacle> {
        loop {
            let Some(place) = self.view().find(key)? else { return Ok(None) };
            let held = self.lock(place.group)?;
            if !self.is_at(&held, place, key) {
                drop(held);
                self.patience.wait(place.group as u64, 0)?;
                continue;
            }
            let at = self.layout.entry(held.at, place.entry);
            for (value, word) in entry.iter_mut().zip(&self.words()[at..]) {
                *value = word.load();
            }
            let stamp = entry[0];
            if !replaces && stamp_of(stamp as u32, &entry[1..]) != stamp {
                return Err(LatestError::Damaged { word: at as u64, found: stamp }.into());
            }
            if !change(&mut entry[1 + key.len()..], stamp) {
                return Ok(Some(stamp));
            }
            entry[0] = stamp_of((stamp as u32).wrapping_add(1), &entry[1..]);
            self.change(&held, at, entry, self.own(slot::PASSED).load());
            let taken = held.taken();
            held.open(taken);
            return Ok(Some(entry[0]));
        }
    }

    /// Whether the entry of a locked group has this key.
    #[inline(always)]
    pub(crate) fn is_at(&self, held: &Held<'_>, place: Place, key: &[u64]) -> bool {
        let at = self.layout.entry(held.at, place.entry) + 1;
        held.taken() >> place.entry & 1 == 1 && is_key(&self.read()[at..at + key.len()], key)
    }
}

/// A stamp: a version, and the sum of it, the key and the value.
#[inline(always)]
pub(crate) fn stamp_of(version: u32, words: &[u64]) -> u64 {
    let sum = checksum_words(version, words);
    u64::from(sum) << 32 | u64::from(version)
}
