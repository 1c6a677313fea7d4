//! A process that reads and writes a map.

#[cfg(not(nanotape_loom))]
use std::path::Path;
use std::time::Duration;

#[cfg(not(nanotape_loom))]
use nanotape_shm::RegionOptions;
use nanotape_shm::{JoinedRegion, WriterSlot, as_read_only};

#[cfg(not(nanotape_loom))]
use crate::spec::{KIND, LAYOUT};

use crate::{
    account::{balance, is_unfinished},
    error::LatestError,
    group::View,
    hand::{Hand, Inserted},
    layout::{Layout, head},
    reader::{LatestReader, accounts},
    spec::LatestSpec,
};

/// How long a writer waits for another one that has the same entry, if it is not set.
const PATIENCE: Duration = Duration::from_secs(1);

/// What [`LatestWriter::insert`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insertion {
    /// The key is new.
    New,
    /// The key had another value.
    Replaced,
}

/// A writer of a map. Each thread has its own, and so a number of its own.
#[derive(Debug)]
pub struct LatestWriter {
    region: JoinedRegion,
    layout: Layout,
    slot: WriterSlot,
    patience: Duration,
    /// A stamp, a key and a value.
    entry: Vec<u64>,
    /// Entries that fit at least before the balances of all writers are added again.
    room: u64,
}

impl LatestWriter {
    /// Joins the map at a path, or creates it if there is none.
    #[cfg(not(nanotape_loom))]
    pub fn join(
        path: &Path,
        spec: LatestSpec,
        options: &RegionOptions,
    ) -> Result<Self, LatestError> {
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
        let initialise = |words: &[nanotape_shm::Word]| words[head::SEED].store(seed);
        let (region, _) = JoinedRegion::join(path, spec.region()?, options, initialise)?;
        Self::of(region)
    }

    /// Joins the map at a path, whatever it was made for.
    #[cfg(not(nanotape_loom))]
    pub fn open(path: &Path, options: &RegionOptions) -> Result<Self, LatestError> {
        Self::of(JoinedRegion::open(path, KIND, LAYOUT, options)?)
    }

    /// A map in memory of this process, for threads and tests.
    pub fn on_heap(spec: LatestSpec, seed: u64) -> Result<Self, LatestError> {
        let region = JoinedRegion::on_heap(spec.region()?);
        region.words()[head::SEED].store(seed);
        Self::of(region)
    }

    /// Another writer of the same memory, for another thread.
    pub fn another(&self) -> Result<Self, LatestError> {
        Self::of(self.region.clone())
    }

    fn of(region: JoinedRegion) -> Result<Self, LatestError> {
        let layout = Layout::of(region.spec()).ok_or(LatestError::NoMap)?;
        let most = layout.spec.writers;
        let slot = region.take_slot(most)?.ok_or(LatestError::Writers { most })?;
        let entry = vec![0; layout.entry_words];
        let mut writer = Self { region, layout, slot, patience: PATIENCE, entry, room: 0 };
        // What was left of a writer before with this number.
        writer.hand().finish()?;
        writer.room = 0;
        Ok(writer)
    }

    /// How long an operation waits for a writer that has the same entry and is alive.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// A reader of the same memory.
    pub fn reader(&self) -> LatestReader {
        LatestReader::of(self.region.share(), self.layout)
    }

    /// The number of this writer.
    pub fn number(&self) -> u32 {
        self.slot.number()
    }

    /// What the map was made for.
    pub fn spec(&self) -> LatestSpec {
        self.layout.spec
    }

    fn hand(&self) -> Hand<'_> {
        let Self { region, layout, slot, patience, .. } = self;
        Hand { region, layout, me: slot.number(), patience: *patience }
    }

    fn view(&self) -> View<'_> {
        View { words: as_read_only(self.region.words()), layout: &self.layout }
    }

    /// Ends an operation of before that did not end because another writer was busy.
    #[inline]
    fn ready(&self) -> Result<(), LatestError> {
        let hand = self.hand();
        if hand.is_unfinished() { hand.finish() } else { Ok(()) }
    }

    /// Copies the value of a key; returns its version, or `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    #[inline]
    pub fn get(&self, key: &[u64], value: &mut [u64]) -> Result<Option<u32>, LatestError> {
        self.check(key, value.len());
        let found = self.view().find_and(key, |seen, entry| seen.value(entry, value))?;
        Ok(found.map(|(_, stamp)| stamp as u32))
    }

    /// Gives a key a value, whether it is there or not.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    pub fn insert(&mut self, key: &[u64], value: &[u64]) -> Result<Insertion, LatestError> {
        self.check(key, value.len());
        loop {
            if self.update(key, |now| now.copy_from_slice(value))?.is_some() {
                return Ok(Insertion::Replaced);
            }
            self.check_room()?;
            let mut entry = std::mem::take(&mut self.entry);
            entry[1..=key.len()].copy_from_slice(key);
            entry[1 + key.len()..].copy_from_slice(value);
            let hand = self.hand();
            let inserted = hand.insert(key, &mut entry);
            if !matches!(inserted, Ok(Inserted::Done)) {
                hand.finish()?;
            }
            self.entry = entry;
            match inserted? {
                Inserted::Done => {
                    self.room = self.room.saturating_sub(1);
                    return Ok(Insertion::New);
                }
                Inserted::Present => {}
            }
        }
    }

    /// Changes the value of a key in place; returns its new version, or `None` if the key is not
    /// there. Other writers of the entry wait meanwhile, and readers see the value of before.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    #[inline]
    pub fn update(
        &mut self,
        key: &[u64],
        change: impl FnOnce(&mut [u64]),
    ) -> Result<Option<u32>, LatestError> {
        self.check(key, self.layout.spec.value_words);
        self.ready()?;
        let Self { region, layout, slot, patience, entry, .. } = self;
        let hand = Hand { region, layout, me: slot.number(), patience: *patience };
        let changed = |value: &mut [u64], _| {
            change(value);
            true
        };
        Ok(hand.update(key, entry, changed)?.map(|stamp| stamp as u32))
    }

    /// Changes the value of a key if it has this version; returns the new version, or the one that
    /// it has instead as an error; `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    pub fn compare_and_update(
        &mut self,
        key: &[u64],
        version: u32,
        value: &[u64],
    ) -> Result<Option<Result<u32, u32>>, LatestError> {
        self.check(key, value.len());
        self.ready()?;
        let Self { region, layout, slot, patience, entry, .. } = self;
        let hand = Hand { region, layout, me: slot.number(), patience: *patience };
        let mut is_same = false;
        let stamp = hand.update(key, entry, |now, stamp| {
            is_same = stamp as u32 == version;
            if is_same {
                now.copy_from_slice(value);
            }
            is_same
        })?;
        Ok(stamp.map(|stamp| if is_same { Ok(stamp as u32) } else { Err(stamp as u32) }))
    }

    /// Removes a key; returns whether it was there.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    pub fn remove(&mut self, key: &[u64]) -> Result<bool, LatestError> {
        self.check(key, self.layout.spec.value_words);
        self.ready()?;
        self.hand().remove(key)
    }

    /// The map is full at its number of entries, and not where its groups end. The balances of all
    /// writers are added again when as many were inserted as might fit, if all writers insert.
    /// While they change, or one has begun something, the sum is of no moment: then the key may
    /// fit, and if the groups have no room for it, that is an error too.
    fn check_room(&mut self) -> Result<(), LatestError> {
        if self.room > 0 {
            return Ok(());
        }
        let entries = self.layout.spec.entries;
        let mut there = balance(accounts(self.view()));
        if there >= entries {
            self.finish_dead()?;
            let [first, second] = [(); 2].map(|()| accounts(self.view()).collect::<Vec<u64>>());
            there = balance(first.iter().copied());
            if there >= entries && first == second && !first.iter().copied().any(is_unfinished) {
                return Err(LatestError::Full { entries });
            }
        }
        let left = entries.saturating_sub(there);
        self.room = (left / (2 * u64::from(self.layout.spec.writers))).max(1);
        Ok(())
    }

    /// Ends what dead writers have begun, which their balances do not have yet.
    #[cold]
    fn finish_dead(&self) -> Result<(), LatestError> {
        for (writer, account) in (1..).zip(accounts(self.view())) {
            if is_unfinished(account)
                && !self.region.is_writer_alive(writer)
                && writer != self.slot.number()
                && let Some(number) = self.region.take_number(writer)?
            {
                Hand { me: writer, ..self.hand() }.finish()?;
                drop(number);
            }
        }
        Ok(())
    }

    #[inline]
    fn check(&self, key: &[u64], value_words: usize) {
        let LatestSpec { key_words, value_words: expected, .. } = self.layout.spec;
        assert!(key.len() == key_words && value_words == expected, "lengths of another map");
    }
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    /// Keys of one group.
    fn chosen(writer: &LatestWriter, count: usize) -> Vec<u64> {
        (0..).filter(|key| writer.view().home(&[*key]) == 0).take(count).collect()
    }

    #[test]
    fn keys_that_were_chosen_for_one_group_fit_too() {
        let spec = LatestSpec { entries: 200, key_words: 1, value_words: 1, writers: 2 };
        let mut writer = LatestWriter::on_heap(spec, 9).unwrap();
        let keys = chosen(&writer, 201);
        for key in &keys[..200] {
            assert_eq!(writer.insert(&[*key], &[key + 1]).unwrap(), Insertion::New);
        }
        let full = writer.insert(&[keys[200]], &[0]).unwrap_err();
        assert_eq!(full, LatestError::Full { entries: 200 });
        let mut value = [0];
        for key in &keys[..200] {
            assert_eq!(writer.get(&[*key], &mut value).unwrap(), Some(1));
            assert_eq!(value, [key + 1]);
        }
        assert!(writer.reader().verify().unwrap().is_clean());
        for key in &keys[..200] {
            assert!(writer.remove(&[*key]).unwrap());
        }
        assert!(writer.reader().verify().unwrap().is_clean());
    }
}
