//! What is done for a dead writer, or for one whose operation did not end.
//!
//! Protocol: a process that finds a lock of a dead writer takes over its number, which the kernel
//! gives to one process at a time, and continues with [`Hand::finish`], as the next writer with
//! this number does. The kernel also orders all stores of the dead writer before the loads of that
//! process, so that recovery needs no edge. What one dead writer left can need a group that another
//! one has locked: that one is finished first, and then the first one again. Each opens its locks
//! before it needs others, so that there is no circle.

use crate::{
    account::{begun, is_unfinished, work},
    edges::{LOCK, ROOM},
    error::LatestError,
    group::{opened, owner, taken, unpacked},
    hand::{Hand, Obstacle},
    layout::{head, slot},
};

impl Hand<'_> {
    /// Finishes what a dead writer has left; returns false if another process does.
    #[cold]
    pub(crate) fn recover(&self, dead: u32) -> Result<bool, LatestError> {
        let mut next = dead;
        // More than any chain of dead writers takes, if their words are not damaged.
        for _ in 0..16 + 8 * self.layout.spec.writers {
            let Some(number) = self.region.take_number(next)? else { return Ok(false) };
            let finished = Self { me: next, recovers: true, ..*self }.finish();
            drop(number);
            match finished {
                Ok(()) if next == dead => return Ok(true),
                Ok(()) => next = dead,
                Err(Obstacle::Dead(other)) => next = other,
                Err(Obstacle::Error(error)) => return Err(error),
            }
        }
        let at = self.layout.slot(dead) + slot::LOCKS[0];
        Err(LatestError::Damaged { word: at as u64, found: self.words()[at].load() })
    }

    /// Ends an operation of this writer, or of one before with its number, that did not end.
    #[inline]
    pub(crate) fn finish_own(&self) -> Result<(), LatestError> {
        if is_unfinished(self.own(slot::ACCOUNT).load()) { self.finish_left() } else { Ok(()) }
    }

    /// Ends every operation that was left under this number.
    #[cold]
    pub(crate) fn finish_left(&self) -> Result<(), LatestError> {
        self.finish().map_err(Obstacle::into_error)
    }

    /// Ends what this writer, or one before with its number, has begun: to the end if its entry is
    /// there or gone for others, and otherwise back. Can itself end at any store, and be called
    /// again.
    pub(crate) fn finish(&self) -> Result<(), Obstacle> {
        self.redo();
        let what = begun(self.own(slot::ACCOUNT).load());
        let is_done = what != work::NONE && self.is_committed();
        if !is_done {
            // Opening the group must not read as a commit.
            self.own(slot::TARGET).store(0);
        }
        self.open_all();
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

    /// Opens what this writer has locked.
    fn open_all(&self) {
        let count = || {
            let recovered = self.own(slot::RECOVERED).load();
            self.own(slot::RECOVERED).store(recovered.wrapping_add(1));
        };
        for lock in slot::LOCKS {
            let Some(group) = self.group_in(lock, 1) else { continue };
            let word = &self.words()[self.layout.group(group)];
            let found = word.load();
            if owner(found) == self.me {
                count();
                // SYNC(latest.lock): pairs with the loads of readers, and with the next exchange.
                word.publish(opened(found, taken(found)), LOCK);
            }
        }
        let rooms = &self.words()[head::ROOMS];
        let found = rooms.load();
        if owner(found) == self.me {
            count();
            // SYNC(latest.room): pairs with the exchange of the next writer.
            rooms.publish(opened(found, 0), ROOM);
        }
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
