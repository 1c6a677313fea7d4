//! A process that reads a map, and can write nothing of it.

use std::ops::ControlFlow;
#[cfg(not(nanotape_loom))]
use std::path::Path;

use nanotape_shm::SharedRegion;

#[cfg(not(nanotape_loom))]
use crate::spec::{KIND, LAYOUT};

use crate::{
    account::{balance, is_unfinished},
    error::LatestError,
    group::View,
    layout::{Layout, slot},
    spec::LatestSpec,
    value::MapValue,
};

/// A reader of a map. It keeps nothing from writers, whenever it stops or ends.
#[derive(Clone, Debug)]
pub struct LatestReader {
    region: SharedRegion,
    layout: Layout,
}

impl LatestReader {
    /// Opens the map at a path.
    #[cfg(not(nanotape_loom))]
    pub fn open(path: &Path) -> Result<Self, LatestError> {
        let region = SharedRegion::open_meaning(path, KIND, LAYOUT)?;
        let layout = Layout::of(region.spec()).ok_or(LatestError::NoMap)?;
        Ok(Self::of(region, layout))
    }

    pub(crate) fn of(region: SharedRegion, layout: Layout) -> Self {
        Self { region, layout }
    }

    /// The region. [`SharedRegion::check`] finds out whether its file was removed, replaced or
    /// truncated: operations do not.
    pub fn region(&self) -> &SharedRegion {
        &self.region
    }

    /// The numbers of the writers that are alive: a system call for each number.
    pub fn writers(&self) -> Vec<u32> {
        let all = 1..=self.layout.spec.writers;
        all.filter(|number| self.region.is_writer_alive(*number)).collect()
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
        View { words: self.region.words(), layout: self.layout }
    }

    /// Copies the value of a key; returns its version, or `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    #[inline]
    pub fn get(&self, key: &[u64], value: &mut [u64]) -> Result<Option<u32>, LatestError> {
        let LatestSpec { key_words, value_words, .. } = self.layout.spec;
        assert!(key.len() == key_words && value.len() == value_words, "lengths of another map");
        self.view().get(key, value)
    }

    /// Calls `each` with the number, the version and the value of each of these keys, one after
    /// the other; the version is `None` if the key is not there. The memory of several keys is
    /// loaded at the same time, so that many keys of a large map are read faster than one by one.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map: `keys` has any number of keys, `value` has room for
    /// one value.
    pub fn get_each(
        &self,
        keys: &[u64],
        value: &mut [u64],
        each: impl FnMut(usize, Option<u32>, &[u64]),
    ) -> Result<(), LatestError> {
        self.view().get_each(keys, value, each)
    }

    /// The number of entries, while no writer inserts or removes any.
    pub fn len(&self) -> u64 {
        balance(accounts(self.view()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Locks of dead writers that others have opened.
    pub fn recovered(&self) -> u64 {
        let View { words, layout } = self.view();
        let counts = (1..=layout.spec.writers)
            .map(|writer| words[layout.slot(writer) + slot::RECOVERED].load());
        counts.fold(0, u64::wrapping_add)
    }

    /// Writers that have begun to insert or remove a key and have not ended, alive or dead.
    pub fn unfinished(&self) -> u64 {
        accounts(self.view()).filter(|account| is_unfinished(*account)).count() as u64
    }

    /// Calls `each` with the key, the value and the version of every entry. An entry that is there
    /// all the time comes once; one that is inserted or removed meanwhile comes once or not.
    /// Entries of a group are of one moment.
    pub fn for_each(&self, mut each: impl FnMut(&[u64], &[u64], u32)) -> Result<(), LatestError> {
        self.for_each_while(|key, value, version| {
            each(key, value, version);
            ControlFlow::Continue(())
        })
    }

    /// The same until `each` breaks off.
    pub fn for_each_while(
        &self,
        mut each: impl FnMut(&[u64], &[u64], u32) -> ControlFlow<()>,
    ) -> Result<(), LatestError> {
        let key_words = self.layout.spec.key_words;
        let mut copy = self.view().copy();
        for group in 0..self.layout.groups {
            let _ = copy.read(group)?;
            for (_, entry) in copy.entries() {
                let (key, value) = entry[1..].split_at(key_words);
                if each(key, value, entry[0] as u32).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The accounts of all writers.
pub(crate) fn accounts(view: View<'_>) -> impl Iterator<Item = u64> {
    let View { words, layout } = view;
    (1..=layout.spec.writers).map(move |writer| words[layout.slot(writer) + slot::ACCOUNT].load())
}
