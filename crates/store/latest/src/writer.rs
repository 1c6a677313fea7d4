//! A process that reads and writes a map.

#[cfg(not(nanotape_loom))]
use std::path::Path;
use std::time::Duration;

use nanotape_shm::{JoinedRegion, Residency, WriterSlot, as_read_only};
#[cfg(not(nanotape_loom))]
use nanotape_shm::{Refusal, RegionError, RegionOptions};

#[cfg(not(nanotape_loom))]
use crate::spec::{KIND, LAYOUT, ValueLayout};

use crate::{
    error::LatestError,
    group::{View, ahead},
    hand::{Hand, Obstacle},
    insert::Inserted,
    layout::{Layout, head},
    patience::Patience,
    reader::LatestReader,
    rooms::Rooms,
    spec::LatestSpec,
    value::MapValue,
};

/// How long a writer waits for another one that has the same entry, if it is not set.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same for each number that a process takes when it joins: there are others.
pub(crate) const PATIENCE_AT_START: Duration = Duration::from_millis(20);

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
}

/// Gives a new map its seed.
#[cfg(not(nanotape_loom))]
pub(crate) fn initialise() -> impl FnOnce(&[nanotape_shm::Word]) {
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    move |words| words[head::SEED].store(seed)
}

impl LatestWriter {
    /// Joins the map at a path, or creates it if there is none. A map of other values is
    /// [`LatestError::Values`].
    #[cfg(not(nanotape_loom))]
    pub fn join(
        path: &Path,
        spec: LatestSpec,
        options: &RegionOptions,
    ) -> Result<Self, LatestError> {
        let joined = JoinedRegion::join(path, spec.region()?, options, initialise());
        let (region, _) = joined.map_err(|error| of_join(error, spec))?;
        Self::on(region)
    }

    /// Joins the map at a path, with the sizes that it has.
    #[cfg(not(nanotape_loom))]
    pub fn open(path: &Path, options: &RegionOptions) -> Result<Self, LatestError> {
        Self::on(JoinedRegion::open(path, KIND, LAYOUT, options)?)
    }

    /// A map in memory of this process, for threads and tests.
    pub fn on_heap(spec: LatestSpec, seed: u64) -> Result<Self, LatestError> {
        let region = JoinedRegion::on_heap(spec.region()?);
        region.words()[head::SEED].store(seed);
        Self::on(region)
    }

    /// Another writer of the same memory, for another thread.
    pub fn another(&self) -> Result<Self, LatestError> {
        Self::on(self.region.clone())
    }

    /// Becomes a writer of a region that was joined before.
    pub fn on(region: JoinedRegion) -> Result<Self, LatestError> {
        let layout = Layout::of(region.spec()).ok_or(LatestError::NoMap)?;
        let entry = vec![0; layout.entry_words];
        let slot = Self::take_slot(&region, &layout)?;
        Ok(Self { region, layout, slot, patience: PATIENCE, entry })
    }

    /// The first free number whose writer before left nothing that cannot be finished now.
    fn take_slot(region: &JoinedRegion, layout: &Layout) -> Result<WriterSlot, LatestError> {
        let most = layout.spec.writers;
        let (mut unfinished, mut obstacle) = (Vec::new(), None);
        let mut from = 1;
        while let Some(slot) = region.take_slot(from..=most)? {
            let (me, patience) = (slot.number(), Patience::new(PATIENCE_AT_START));
            let hand = Hand { region, layout: *layout, me, patience: &patience, recovers: false };
            match hand.finish_left() {
                Ok(()) => return Ok(slot),
                Err(error) => obstacle = obstacle.or(Some(error)),
            }
            from = me + 1;
            // Kept until another one is found.
            unfinished.push(slot);
        }
        Err(obstacle.unwrap_or(LatestError::Writers { most }))
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

    /// Whether the map is in huge pages and locked in memory, and the cause if not.
    pub fn residency(&self) -> Residency {
        self.region.residency()
    }

    /// What the map was made for.
    pub fn spec(&self) -> LatestSpec {
        self.layout.spec
    }

    /// Checks that the values are those of a schema, of the same version.
    pub fn expect<V: MapValue>(&self) -> Result<(), LatestError> {
        self.spec().expect::<V>()
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { words: as_read_only(self.region.words()), layout: self.layout }
    }

    /// The hand of this writer, and space for an entry.
    #[inline]
    pub(crate) fn hand<'a>(&'a mut self, patience: &'a Patience) -> (Hand<'a>, &'a mut [u64]) {
        let Self { region, layout, slot, entry, .. } = self;
        (Hand { region, layout: *layout, me: slot.number(), patience, recovers: false }, entry)
    }

    #[cfg(not(nanotape_loom))]
    pub(crate) fn words(&self) -> &[nanotape_shm::Word] {
        self.region.words()
    }

    /// Copies the value of a key; returns its version, or `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    #[inline]
    pub fn get(&self, key: &[u64], value: &mut [u64]) -> Result<Option<u32>, LatestError> {
        self.check(key, value.len());
        self.view().get(key, value)
    }

    /// Calls `each` with the number, the version and the value of each of these keys, as
    /// [`LatestReader::get_each`] does.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    pub fn get_each(
        &self,
        keys: &[u64],
        value: &mut [u64],
        each: impl FnMut(usize, Option<u32>, &[u64]),
    ) -> Result<(), LatestError> {
        self.view().get_each(keys, value, each)
    }

    /// Gives a key a value, whether it is there or not.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    pub fn insert(&mut self, key: &[u64], value: &[u64]) -> Result<Insertion, LatestError> {
        self.check(key, value.len());
        let replace = |now: &mut [u64]| {
            now.copy_from_slice(value);
            true
        };
        // The value is replaced whenever the key is there.
        Ok(self.insert_by(key, value, true, replace)?.unwrap_or(Insertion::Replaced))
    }

    /// Changes the value of a key in place, or gives it this value if the key is not there. If
    /// `change` returns false, the entry keeps its value and its version, and the result is
    /// `None`. Other writers of the entry wait meanwhile.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    pub fn insert_or_update(
        &mut self,
        key: &[u64],
        value: &[u64],
        change: impl FnMut(&mut [u64]) -> bool,
    ) -> Result<Option<Insertion>, LatestError> {
        self.check(key, value.len());
        self.insert_by(key, value, false, change)
    }

    fn insert_by(
        &mut self,
        key: &[u64],
        value: &[u64],
        replaces: bool,
        mut change: impl FnMut(&mut [u64]) -> bool,
    ) -> Result<Option<Insertion>, LatestError> {
        let patience = Patience::new(self.patience);
        let (hand, entry) = self.hand(&patience);
        loop {
            let mut is_changed = false;
            let changed = |now: &mut [u64], _| {
                is_changed = change(now);
                is_changed
            };
            let stamp = hand.update(key, entry, replaces, changed).map_err(Obstacle::into_error)?;
            if stamp.is_some() {
                return Ok(is_changed.then_some(Insertion::Replaced));
            }
            hand.finish_own()?;
            let rooms = if hand.has_room() { Ok(Rooms::Some) } else { hand.take_rooms(key) };
            if rooms.map_err(Obstacle::into_error)? == Rooms::Some {
                entry[1..=key.len()].copy_from_slice(key);
                entry[1 + key.len()..].copy_from_slice(value);
                match hand.insert(key, entry) {
                    Ok(Inserted::Done) => return Ok(Some(Insertion::New)),
                    Ok(Inserted::Present | Inserted::NoRoom | Inserted::Crowded) => {}
                    Err(obstacle) => {
                        // What cannot be undone now is undone before the next insertion or removal.
                        let _ = hand.finish_own();
                        return Err(obstacle.into_error());
                    }
                }
                hand.finish_own()?;
            }
            patience.wait(hand.view().home(key) as u64, 0)?;
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
        let patience = Patience::new(self.patience);
        let (hand, entry) = self.hand(&patience);
        let changed = |value: &mut [u64], _| {
            change(value);
            true
        };
        let stamp = hand.update(key, entry, false, changed).map_err(Obstacle::into_error)?;
        Ok(stamp.map(|stamp| stamp as u32))
    }

    /// Changes the value of a key in place if `change` returns true; returns that, or `None` if the
    /// key is not there. Otherwise the entry keeps its value and its version.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    pub fn update_if(
        &mut self,
        key: &[u64],
        change: impl FnOnce(&mut [u64]) -> bool,
    ) -> Result<Option<bool>, LatestError> {
        self.check(key, self.layout.spec.value_words);
        let patience = Patience::new(self.patience);
        let (hand, entry) = self.hand(&patience);
        let mut is_changed = false;
        let changed = |value: &mut [u64], _| {
            is_changed = change(value);
            is_changed
        };
        let stamp = hand.update(key, entry, false, changed).map_err(Obstacle::into_error)?;
        Ok(stamp.map(|_| is_changed))
    }

    /// Changes the value of each of these keys that is there, one after the other, with its number
    /// among them; returns how many are. The memory of several keys is loaded at the same time, so
    /// that many keys of a large map are changed faster than one by one. An error leaves the keys
    /// before changed.
    ///
    /// # Panics
    ///
    /// If the length of `keys` is not that of any number of keys of the map.
    pub fn update_each(
        &mut self,
        keys: &[u64],
        mut change: impl FnMut(usize, &mut [u64]),
    ) -> Result<usize, LatestError> {
        let mut found = 0;
        let words = self.layout.spec.key_words;
        let region = self.region.share();
        let view = View { words: region.words(), layout: self.layout };
        for (number, key) in ahead(keys, words, |key| view.prefetch(key)) {
            let version = self.update(key, |value| change(number, value))?;
            found += usize::from(version.is_some());
        }
        Ok(found)
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
        let patience = Patience::new(self.patience);
        let (hand, entry) = self.hand(&patience);
        let mut is_same = false;
        let stamp = hand.update(key, entry, true, |now, stamp| {
            is_same = stamp as u32 == version;
            if is_same {
                now.copy_from_slice(value);
            }
            is_same
        });
        let stamp = stamp.map_err(Obstacle::into_error)?;
        Ok(stamp.map(|stamp| if is_same { Ok(stamp as u32) } else { Err(stamp as u32) }))
    }

    /// Removes a key; returns whether it was there. An insertion or removal of before that did not
    /// end, because another writer was busy, is ended first.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    pub fn remove(&mut self, key: &[u64]) -> Result<bool, LatestError> {
        self.remove_if(key, |_| true)
    }

    /// Removes a key if `is_due` accepts its value; returns whether it was removed. Other writers
    /// of the entry wait meanwhile.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    pub fn remove_if(
        &mut self,
        key: &[u64],
        is_due: impl FnOnce(&[u64]) -> bool,
    ) -> Result<bool, LatestError> {
        self.check(key, self.layout.spec.value_words);
        let patience = Patience::new(self.patience);
        let (hand, entry) = self.hand(&patience);
        hand.finish_own()?;
        let is_due = |entry: &[u64]| is_due(&entry[1 + key.len()..]);
        let was_there = hand.remove(key, entry, is_due).map_err(Obstacle::into_error)?;
        if was_there {
            // The key is gone. What cannot be counted now is counted before the next one.
            let _ = hand.finish_own();
        }
        Ok(was_there)
    }

    #[inline]
    fn check(&self, key: &[u64], value_words: usize) {
        let LatestSpec { key_words, value_words: expected, .. } = self.layout.spec;
        assert!(key.len() == key_words && value_words == expected, "lengths of another map");
    }
}

/// Other values are an error of their own: with them, sizes differ too. A layout does not have the
/// name of the value, so that an earlier version may be of another value.
#[cfg(not(nanotape_loom))]
fn of_join(error: RegionError, spec: LatestSpec) -> LatestError {
    let Refusal::Parameters { found: [.., found], .. } = error.refusal() else {
        return error.into();
    };
    let (found, expected) = (ValueLayout(*found), ValueLayout(spec.value_layout));
    if found == expected {
        return error.into();
    }
    let is_earlier = found.0 != 0 && found.version() < expected.version();
    LatestError::Values { found, expected, is_earlier }
}
