//! How a writer inserts and removes keys.
//!
//! Protocol: an entry is inserted or removed by the one store that opens its group. What an
//! insertion needs in other groups, their counts of keys that passed them, is counted in the slot
//! with the same changes: the number of groups that were done.

use crate::{
    account::{beginning, ended, work},
    edges::{LOCK, ROOM},
    group::packed,
    hand::{Hand, Obstacle, stamp_of},
    layout::slot,
};

/// What became of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    Done,
    /// The key is there by now.
    Present,
    /// Another writer has taken the room.
    NoRoom,
    /// Every group was full when it was read: others move entries meanwhile.
    Crowded,
}

impl Hand<'_> {
    /// Inserts a key that is not there, into a room that the account has; the entry has space for
    /// its stamp first. Unless it is done, [`finish`](Self::finish) removes what was begun.
    pub(crate) fn insert(&self, key: &[u64], entry: &mut [u64]) -> Result<Inserted, Obstacle> {
        let layout = self.layout;
        let home = self.view().home(key);
        if !self.begin(work::INSERT, home, 0) {
            return Ok(Inserted::NoRoom);
        }
        entry[0] = stamp_of(1, &entry[1..]);
        let (mut target, mut distance) = (home, 0);
        loop {
            while self.view().read(target, |seen| seen.taken)? & self.full() == self.full() {
                target = layout.after(target);
                distance += 1;
                if distance == layout.groups {
                    return Ok(Inserted::Crowded);
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

    /// Counts a key as one that passed this number of groups from there on.
    fn pass(&self, home: usize, distance: usize) -> Result<(), Obstacle> {
        while (self.own(slot::PASSED).load() as usize) < distance {
            let done = self.own(slot::PASSED).load() as usize;
            self.count(home, done, done as u64 + 1, |count| count.saturating_add(1))?;
        }
        Ok(())
    }

    /// Takes that back, the furthest group first.
    pub(crate) fn unpass(&self) -> Result<(), Obstacle> {
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
    ) -> Result<(), Obstacle> {
        let group = (home + distance) % self.layout.groups;
        let held = self.lock(group)?;
        let at = held.at + 1;
        self.change(&held, at, &[change(self.words()[at].load())], then);
        let taken = held.taken();
        held.open(taken);
        Ok(())
    }

    /// Removes a key if `is_due` accepts its entry, which is copied to `entry`; returns whether it
    /// was removed. Then [`finish`](Self::finish) does the rest.
    pub(crate) fn remove(
        &self,
        key: &[u64],
        entry: &mut [u64],
        is_due: impl FnOnce(&[u64]) -> bool,
    ) -> Result<bool, Obstacle> {
        loop {
            let Some(place) = self.view().find(key)? else { return Ok(false) };
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
            if !is_due(entry) {
                return Ok(false);
            }
            let _ = self.begin(work::REMOVE, self.view().home(key), place.passed as u64);
            self.own(slot::TARGET).store(packed(place.group, place.entry) + 1);
            let taken = held.taken() & !(1 << place.entry);
            held.open(taken);
            return Ok(true);
        }
    }

    /// Returns false if it needs a room, and there is none.
    pub(crate) fn begin(&self, what: u64, home: usize, passed: u64) -> bool {
        self.own(slot::HOME).store(home as u64);
        self.own(slot::PASSED).store(passed);
        self.own(slot::TARGET).store(0);
        self.account(|account| beginning(account, what))
    }

    /// Ends what was begun, after this many more entries.
    pub(crate) fn end(&self, more: i64) {
        let _ = self.account(|account| Some(ended(account, more)));
    }

    /// Changes the own account, of which other writers take rooms, unless `change` makes nothing
    /// of it.
    pub(crate) fn account(&self, change: impl Fn(u64) -> Option<u64>) -> bool {
        let word = self.own(slot::ACCOUNT);
        let mut account = word.load();
        while let Some(changed) = change(account) {
            // SYNC(latest.room): pairs with the load of a writer that adds all accounts.
            match word.compare_exchange(account, changed, ROOM) {
                Ok(_) => return true,
                Err(found) => account = found,
            }
        }
        false
    }
}
