//! The steps of a writer, each of which another process can continue after a kill.
//!
//! Protocol: a writer states in its slot which groups it is about to lock, then locks them. A
//! change of a group is complete in the slot before the first word of the group is stored; the
//! words are absolute values, so that storing them again does no harm. An entry is inserted or
//! removed by the one store that opens its group. What an insertion needs in other groups, their
//! counts of keys that passed them, is counted in the slot with the same changes: a number that
//! says which groups were done. A process that finds a lock of a dead writer takes over its
//! number, which the kernel gives to one process at a time, and continues with [`Hand::finish`],
//! as the next writer with this number does. The kernel also orders all stores of the dead writer
//! before the loads of that process, so that recovery needs no edge.
//! Bounds: a hand holds at most two locks, the one of the smaller group first.

use std::time::Duration;

use nanotape_clock::{Clock, Stamp};
use nanotape_shm::{JoinedRegion, ReadWord, Word, as_read_only, checksum};

use crate::{
    account::{beginning, begun, ended, is_unfinished, work},
    edges::{LOCK, REDO},
    error::LatestError,
    group::{Place, View, opened, owner, packed, pause, taken, unpacked},
    hash::is_key,
    layout::{Layout, slot},
};

/// Turns of waiting before a process queries the kernel whether the owner of a lock is alive.
const TURNS: u32 = if cfg!(nanotape_loom) { 1 } else { 200 };

/// The pause between two more of them.
const NAP: Duration = Duration::from_micros(20);

/// The hand of a writer with a number that this process has.
#[derive(Clone, Copy)]
pub(crate) struct Hand<'a> {
    pub(crate) region: &'a JoinedRegion,
    pub(crate) layout: &'a Layout,
    /// Its number.
    pub(crate) me: u32,
    /// How long it waits for a living writer.
    pub(crate) patience: Duration,
}

/// A locked group, which opens without a change if it is dropped.
pub(crate) struct Held<'a> {
    word: &'a Word,
    /// The lock word before.
    free: u64,
    group: usize,
    at: usize,
}

impl Held<'_> {
    /// Opens the group, which has these entries now.
    fn open(self, taken: u32) {
        // SYNC(latest.lock): pairs with the loads of readers, and with the next writer's exchange.
        self.word.publish(opened(self.free, taken), LOCK);
        std::mem::forget(self);
    }

    fn taken(&self) -> u32 {
        taken(self.free)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SYNC(latest.lock): pairs with the loads of readers, and with the next writer's exchange.
        self.word.publish(opened(self.free, taken(self.free)), LOCK);
    }
}

/// What became of an insertion.
pub(crate) enum Inserted {
    Done,
    /// The key is there by now.
    Present,
}

impl<'a> Hand<'a> {
    fn words(&self) -> &'a [Word] {
        self.region.words()
    }

    fn read(&self) -> &'a [ReadWord] {
        as_read_only(self.words())
    }

    pub(crate) fn view(&self) -> View<'a> {
        View { words: self.read(), layout: self.layout }
    }

    /// A word of the own slot.
    fn own(&self, word: usize) -> &'a Word {
        &self.words()[self.layout.slot(self.me) + word]
    }

    /// Locks a group, once its writer has finished or is dead.
    #[inline]
    fn lock(&self, group: usize, which: usize) -> Result<Held<'a>, LatestError> {
        let at = self.layout.group(group);
        let word = &self.words()[at];
        self.own(slot::LOCKS[which]).store(group as u64 + 1);
        let (mut turns, mut began) = (0, None);
        loop {
            let free = word.load();
            if owner(free) == 0 {
                // SYNC(latest.lock): pairs with the store that opened the group.
                if word.compare_exchange(free, free | u64::from(self.me), LOCK).is_ok() {
                    return Ok(Held { word, free, group, at });
                }
                continue;
            }
            turns += 1;
            if turns < TURNS {
                pause();
                continue;
            }
            self.wait(group, free, &mut began)?;
        }
    }

    /// Waits for the owner of a lock, or finishes its work if it is dead.
    #[cold]
    fn wait(&self, group: usize, lock: u64, began: &mut Option<Stamp>) -> Result<(), LatestError> {
        let (owner, at) = (owner(lock), self.layout.group(group));
        if owner > self.layout.spec.writers || owner == self.me {
            return Err(LatestError::Damaged { word: at as u64, found: lock });
        }
        if !self.region.is_writer_alive(owner)
            && let Some(number) = self.region.take_number(owner)?
        {
            let finished = Self { me: owner, ..*self }.finish();
            drop(number);
            // A writer states what it locks before it does.
            if self.words()[at].load() == lock {
                return Err(LatestError::Damaged { word: at as u64, found: lock });
            }
            return finished;
        }
        let (clock, now) = (Clock::monotonic(), Clock::monotonic().stamp());
        let began = *began.get_or_insert(now);
        let waited = Duration::from_nanos(clock.nanos_between(began, now));
        if waited > self.patience {
            return Err(LatestError::Busy { group: group as u64, owner, waited });
        }
        if cfg!(nanotape_loom) {
            pause();
        } else {
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// Changes words of a locked group, and what the own slot counts.
    #[inline]
    fn change(&self, held: &Held<'_>, from: usize, values: &[u64], passed: u64) {
        let lock = held.free | u64::from(self.me);
        let words = self.words();
        // SYNC(latest.redo): pairs with a reader's second load of the word.
        self.own(slot::VALID).publish(0, REDO);
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

    /// Changes the value of a key to what `change` makes of it; returns its stamp, or `None` if the
    /// key is not there.
    #[inline]
    pub(crate) fn update(
        &self,
        key: &[u64],
        entry: &mut [u64],
        change: impl FnOnce(&mut [u64], u64) -> bool,
    ) -> Result<Option<u64>, LatestError> {
        loop {
            let Some(place) = self.view().find(key)? else { return Ok(None) };
            let held = self.lock(place.group, 0)?;
            if !self.is_at(&held, place, key) {
                continue;
            }
            let at = self.layout.entry(held.at, place.entry);
            for (value, word) in entry.iter_mut().zip(&self.words()[at..]) {
                *value = word.load();
            }
            let stamp = entry[0];
            if !change(&mut entry[1 + key.len()..], stamp) {
                return Ok(Some(stamp));
            }
            entry[0] = stamped(stamp as u32, &entry[1..]);
            self.change(&held, at, entry, self.own(slot::PASSED).load());
            let taken = held.taken();
            held.open(taken);
            return Ok(Some(entry[0]));
        }
    }

    /// Whether the entry of a locked group has this key.
    fn is_at(&self, held: &Held<'_>, place: Place, key: &[u64]) -> bool {
        let at = self.layout.entry(held.at, place.entry) + 1;
        held.taken() >> place.entry & 1 == 1 && is_key(&self.read()[at..at + key.len()], key)
    }

    /// Inserts a key that is not there; the entry has room for its stamp first. After an error, and
    /// if it is there by now, [`finish`](Self::finish) removes what was done.
    pub(crate) fn insert(&self, key: &[u64], entry: &mut [u64]) -> Result<Inserted, LatestError> {
        let layout = self.layout;
        let home = self.view().home(key);
        self.begin(work::INSERT, home, 0);
        entry[0] = stamped(0, &entry[1..]);
        let (mut target, mut distance) = (home, 0);
        loop {
            while self.view().read(target, |seen| seen.taken)? & self.full() == self.full() {
                target = layout.after(target);
                distance += 1;
                if distance == layout.groups {
                    return Err(LatestError::Full { entries: layout.spec.entries });
                }
            }
            self.pass(home, distance)?;
            let (first, second) = self.lock_both(home, target)?;
            // No other process inserts the key, because the group of its hash is locked.
            if self.view().find(key)?.is_some() {
                return Ok(Inserted::Present);
            }
            let held = second.as_ref().filter(|held| held.group == target).unwrap_or(&first);
            let free = !held.taken() & self.full();
            if free == 0 {
                continue;
            }
            let number = free.trailing_zeros() as usize;
            self.own(slot::TARGET).store(packed(target, number) + 1);
            // SYNC(latest.lock): pairs with a reader's second load of the lock.
            LOCK.release_fence();
            let at = layout.entry(held.at, number);
            for (word, value) in self.words()[at..].iter().zip(&*entry) {
                word.store(*value);
            }
            let is_first = first.group == target;
            let (held, other) = match (second, is_first) {
                (Some(second), false) => (second, Some(first)),
                (second, _) => (first, second),
            };
            let taken = held.taken() | 1 << number;
            held.open(taken);
            self.end(1);
            drop(other);
            return Ok(Inserted::Done);
        }
    }

    /// All entries of a group.
    fn full(&self) -> u32 {
        (1 << self.layout.in_group) - 1
    }

    /// Counts a key as one that passed so many groups from there on.
    fn pass(&self, home: usize, distance: usize) -> Result<(), LatestError> {
        while (self.own(slot::PASSED).load() as usize) < distance {
            let done = self.own(slot::PASSED).load() as usize;
            self.count(home, done, done as u64 + 1, |count| count + 1)?;
        }
        Ok(())
    }

    /// Takes that back, the furthest group first.
    fn unpass(&self) -> Result<(), LatestError> {
        loop {
            let home = self.own(slot::HOME).load() as usize % self.layout.groups;
            let done = self.own(slot::PASSED).load().min(self.layout.groups as u64);
            let Some(left) = done.checked_sub(1) else { return Ok(()) };
            self.count(home, left as usize, left, |count| count.saturating_sub(1))?;
        }
    }

    fn count(
        &self,
        home: usize,
        distance: usize,
        then: u64,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<(), LatestError> {
        let group = (home + distance) % self.layout.groups;
        let held = self.lock(group, 0)?;
        let at = held.at + 1;
        self.change(&held, at, &[change(self.words()[at].load())], then);
        let taken = held.taken();
        held.open(taken);
        Ok(())
    }

    fn lock_both(
        &self,
        one: usize,
        other: usize,
    ) -> Result<(Held<'a>, Option<Held<'a>>), LatestError> {
        let first = self.lock(one.min(other), 0)?;
        let second = if one == other { None } else { Some(self.lock(one.max(other), 1)?) };
        Ok((first, second))
    }

    /// Removes a key; returns whether it was there. After an error [`finish`](Self::finish) does
    /// the rest.
    pub(crate) fn remove(&self, key: &[u64]) -> Result<bool, LatestError> {
        loop {
            let Some(place) = self.view().find(key)? else { return Ok(false) };
            let held = self.lock(place.group, 0)?;
            if !self.is_at(&held, place, key) {
                continue;
            }
            self.begin(work::REMOVE, self.view().home(key), place.passed as u64);
            self.own(slot::TARGET).store(packed(place.group, place.entry) + 1);
            let taken = held.taken() & !(1 << place.entry);
            held.open(taken);
            self.finish()?;
            return Ok(true);
        }
    }

    fn begin(&self, what: u64, home: usize, passed: u64) {
        self.own(slot::HOME).store(home as u64);
        self.own(slot::PASSED).store(passed);
        self.own(slot::TARGET).store(0);
        self.own(slot::ACCOUNT).store(beginning(self.own(slot::ACCOUNT).load(), what));
    }

    /// Ends what was begun, after so many more entries.
    fn end(&self, more: i64) {
        self.own(slot::ACCOUNT).store(ended(self.own(slot::ACCOUNT).load(), more));
    }

    /// Whether something was begun and has not ended.
    #[inline]
    pub(crate) fn is_unfinished(&self) -> bool {
        is_unfinished(self.own(slot::ACCOUNT).load())
    }

    /// Ends what this writer, or one before with its number, has begun: to the end if its entry is
    /// there or gone for others, and otherwise back. Can itself end at any store, and be called
    /// again.
    pub(crate) fn finish(&self) -> Result<(), LatestError> {
        self.redo();
        let what = begun(self.own(slot::ACCOUNT).load());
        let is_done = what != work::NONE && self.is_committed();
        if !is_done {
            // Opening the group must not read as a commit.
            self.own(slot::TARGET).store(0);
        }
        for lock in slot::LOCKS {
            let Some(group) = self.group_in(lock, 1) else { continue };
            let word = &self.words()[self.layout.group(group)];
            let found = word.load();
            if owner(found) == self.me {
                let recovered = self.own(slot::RECOVERED).load();
                self.own(slot::RECOVERED).store(recovered.wrapping_add(1));
                // SYNC(latest.lock): pairs with the loads of readers, and with the next exchange.
                word.publish(opened(found, taken(found)), LOCK);
            }
        }
        let more = match (what, is_done) {
            (work::INSERT, true) => 1,
            (work::REMOVE, true) => -1,
            _ => 0,
        };
        if (what, is_done) == (work::INSERT, false) || (what, is_done) == (work::REMOVE, true) {
            self.unpass()?;
        }
        if what != work::NONE {
            self.end(more);
        }
        Ok(())
    }

    /// Stores the words of a complete change again, if its group is still locked.
    fn redo(&self) {
        let valid = self.own(slot::VALID).load();
        if owner(valid) != self.me {
            return;
        }
        let (from, count) = unpacked(self.own(slot::CHANGE_AT).load());
        let Some(group) = from.checked_sub(self.layout.group(0)) else { return };
        let group_at = self.layout.group(group / self.layout.group_words);
        let end = group_at + self.layout.group_words;
        if group / self.layout.group_words >= self.layout.groups
            || from == group_at
            || from + count > end
            || count > self.layout.entry_words
            || self.words()[group_at].load() != valid
        {
            return;
        }
        let redo = self.layout.slot(self.me) + slot::REDO;
        for offset in 0..count {
            let value = self.words()[redo + offset].load();
            self.words()[from + offset].store(value);
        }
        self.own(slot::PASSED).store(self.own(slot::THEN_PASSED).load());
    }

    /// Whether the group of the entry was opened: the entry is there, or gone.
    fn is_committed(&self) -> bool {
        let target = self.own(slot::TARGET).load();
        let Some((group, _)) = target.checked_sub(1).map(unpacked) else { return false };
        group < self.layout.groups
            && owner(self.words()[self.layout.group(group)].load()) != self.me
    }

    /// The group in a word of the own slot, which is stored with `more`.
    fn group_in(&self, word: usize, more: u64) -> Option<usize> {
        let group = usize::try_from(self.own(word).load().checked_sub(more)?).ok()?;
        (group < self.layout.groups).then_some(group)
    }
}

/// A stamp: the version after this one, and the sum of the key and the value.
#[inline]
pub(crate) fn stamped(version: u32, words: &[u64]) -> u64 {
    let version = version.wrapping_add(1);
    let sum = words.iter().fold(version, |sum, word| checksum(sum, [*word, 0, 0], &[]));
    u64::from(sum) << 32 | u64::from(version)
}
