//! Which writer may insert how many entries: never more than the map was made for, all together.
//!
//! Protocol: a writer inserts with a room of its account. If it has none, it locks the rooms of
//! the map, adds what all accounts have claimed, and grants itself a part of what is left. Nothing
//! but a grant makes a claim larger, so the sum of all can only be too large, whenever each
//! account is read. If nothing is left, it first takes the rooms that others have not used. The
//! map is full if there are none either, and no operation is unfinished.
//! Cost: a lock that all writers share, for every 63rd insertion or, near the end, for each.

use nanotape_shm::Word;

use crate::{
    account::{MOST_ROOMS, balance, claimed, is_unfinished, rooms, with_rooms},
    edges::ROOM,
    error::LatestError,
    group::{opened, owner},
    hand::{Hand, Obstacle},
    layout::{head, slot},
};

/// The result of a request for rooms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rooms {
    Some,
    /// The key is there by now, so none is needed.
    Present,
}

/// The lock of all rooms, which opens when it is dropped.
struct Locked<'a> {
    word: &'a Word,
    /// The word before.
    free: u64,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SYNC(latest.room): pairs with the exchange of the next writer.
        self.word.publish(opened(self.free, 0), ROOM);
    }
}

impl<'a> Hand<'a> {
    /// Whether the account has a room.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        rooms(self.own(slot::ACCOUNT).load()) > 0
    }

    /// Gets a room for a key that is not there, if there is one.
    #[cold]
    pub(crate) fn take_rooms(&self, key: &[u64]) -> Result<Rooms, Obstacle> {
        loop {
            if let Some(present) = self.is_full_without(key)? {
                return Ok(present);
            }
            let locked = self.lock_rooms()?;
            if self.left() <= 0 {
                self.reclaim();
            }
            let left = self.left();
            if left > 0 {
                let part = left / (2 * i64::from(self.layout.spec.writers));
                let granted = part.cast_unsigned().clamp(1, MOST_ROOMS);
                let _ = self.account(|account| Some(with_rooms(account, granted)));
                return Ok(Rooms::Some);
            }
            drop(locked);
            match (1..).zip(self.accounts()).find(|(_, account)| is_unfinished(*account)) {
                Some((other, _)) => self.wait_for_end(other)?,
                None => self.patience.wait(self.view().home(key) as u64, 0)?,
            }
        }
    }

    /// An error if the map was full at a moment when the key was not there; that the key is there;
    /// or nothing, if there are rooms, or operations that have not ended.
    pub(crate) fn is_full_without(&self, key: &[u64]) -> Result<Option<Rooms>, LatestError> {
        if self.left() > 0 {
            return Ok(None);
        }
        let first: Vec<u64> = self.accounts().collect();
        let entries = self.layout.spec.entries;
        let is_settled = |account: &u64| rooms(*account) == 0 && !is_unfinished(*account);
        if balance(first.iter().copied()) < entries || !first.iter().all(is_settled) {
            return Ok(None);
        }
        if self.view().find(key)?.is_some() {
            return Ok(Some(Rooms::Present));
        }
        // If no account has changed meanwhile, no key was inserted or removed.
        if self.accounts().eq(first) { Err(LatestError::Full { entries }) } else { Ok(None) }
    }

    /// Waits for a writer that has begun something, or ends it if the writer is dead.
    fn wait_for_end(&self, other: u32) -> Result<(), LatestError> {
        if !self.region.is_writer_alive(other) {
            self.recover(other)?;
        }
        let home = self.words()[self.layout.slot(other) + slot::HOME].load();
        self.patience.wait(home, other)
    }

    fn lock_rooms(&self) -> Result<Locked<'a>, Obstacle> {
        let word = &self.words()[head::ROOMS];
        loop {
            let free = word.load();
            if owner(free) != 0 {
                self.wait_for(owner(free), 0, head::ROOMS, free)?;
                continue;
            }
            // SYNC(latest.room): pairs with the store that opened it.
            if word.compare_exchange(free, free | u64::from(self.me), ROOM).is_ok() {
                return Ok(Locked { word, free });
            }
        }
    }

    /// The accounts of all writers.
    fn accounts(&self) -> impl Iterator<Item = u64> {
        // SYNC(latest.room): pairs with the exchange that ended an insertion: its entry is seen.
        self.account_words().map(|at| self.read()[at].observe(ROOM))
    }

    fn account_words(&self) -> impl Iterator<Item = usize> + use<'a> {
        let layout = self.layout;
        (1..=layout.spec.writers).map(move |writer| layout.slot(writer) + slot::ACCOUNT)
    }

    /// Rooms of the map that no account has claimed.
    fn left(&self) -> i64 {
        let entries = self.layout.spec.entries.cast_signed();
        self.accounts().map(claimed).fold(entries, i64::wrapping_sub)
    }

    /// Takes the rooms that other writers have not used.
    fn reclaim(&self) {
        for at in self.account_words() {
            let word = &self.words()[at];
            let mut account = word.load();
            while rooms(account) > 0 {
                // SYNC(latest.room): pairs with the load of the next writer that adds all accounts.
                match word.compare_exchange(account, with_rooms(account, 0), ROOM) {
                    Ok(_) => break,
                    Err(now) => account = now,
                }
            }
        }
    }
}
