//! Makes a new map of the entries of a damaged one that have their sums, and names each key that it
//! drops. After a loss of power, pages of a map in a file can be of different moments.
//!
//! Where: `nanotape latest repair`, with no writer alive.
//! Protocol: the entries go to a new map beside the old one, with a seed of its own. So nothing of
//! the old one is needed but its entries: no lock, no count, no account and no group. The new map
//! is renamed over the old one when all of it is on the disk.
//! Bounds: each group is read once, and each entry is inserted once. The memory is that of the new
//! map.
//! Failure: the old map is never changed. A process that ends leaves it, and a part of the new one.

use std::{fmt, path::Path};

use nanotape_shm::{JoinedRegion, RegionError, RegionOptions, StillRegion};

use crate::{
    account::claimed,
    error::LatestError,
    group::{View, owner},
    layout::head,
    reader::{LatestReader, accounts},
    salvage::{Found, scan},
    verify::Passing,
    writer::{LatestWriter, initialise},
};

/// A map that no process writes, to be repaired.
#[derive(Debug)]
pub struct LatestRepair {
    still: StillRegion,
    reader: LatestReader,
}

/// An entry that is not in the new map.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Dropped<'a> {
    /// Why.
    pub reason: DropReason,
    /// The words of its key.
    pub key: &'a [u64],
    /// How often its value was set.
    pub version: u32,
    /// The words of its value.
    pub value: &'a [u64],
}

/// Why an entry is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// Version, key and value do not have their sum. One of them is wrong, also the key perhaps.
    WrongSum {
        /// The number of the first word of the entry, as errors name it.
        word: u64,
    },
    /// The key is there twice.
    Duplicate {
        /// The version that is kept: the higher one, or the first one if both are the same.
        kept: u32,
    },
    /// More keys are there than the map was made for.
    NoRoom,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongSum { word } => {
                write!(f, "wrong sum at word {word}: the key might be wrong too")
            }
            Self::Duplicate { kept } => write!(f, "there twice: version {kept} is kept"),
            Self::NoRoom => f.write_str("more keys than the map was made for"),
        }
    }
}

/// What a repair has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// Keys of the new map.
    pub kept: u64,
    /// Entries that were dropped because their sum was wrong.
    pub wrong_sums: u64,
    /// Entries that were dropped because their key was there twice.
    pub duplicates: u64,
    /// Entries that were dropped because they did not fit.
    pub no_room: u64,
    /// Keys by the counts of the writers of the old map, which can be wrong too.
    pub counted: u64,
}

impl Repaired {
    /// Entries that are not in the new map.
    pub fn dropped(&self) -> u64 {
        self.wrong_sums + self.duplicates + self.no_room
    }
}

impl LatestRepair {
    /// Opens the map at a path, and keeps writers out of it. One that is alive is an error.
    pub fn begin(path: &Path) -> Result<Self, LatestError> {
        let still = StillRegion::hold(path)?;
        let reader = LatestReader::open(still.path())?;
        Ok(Self { still, reader })
    }

    /// A reader of the map.
    pub fn reader(&self) -> &LatestReader {
        &self.reader
    }

    /// Permission bits of its file.
    pub fn mode(&self) -> Result<u32, RegionError> {
        self.still.mode()
    }

    /// Whether the map is not as its writers leave it: an entry, a count or an account is wrong, or
    /// a writer died within a change.
    pub fn is_needed(&self) -> bool {
        let view = self.reader.view();
        let View { words, layout } = view;
        let mut passing = Passing::new(layout.groups);
        let mut wrong_sums = 0;
        scan(view, |Found { group, entry, has_its_sum, .. }| {
            wrong_sums += u64::from(!has_its_sum);
            passing.count(view.home(&entry[1..=layout.spec.key_words]), group);
        });
        let passed = (0..layout.groups).map(|group| words[layout.group(group) + 1].load());
        // A search is as short as in a good map only if these counts are right.
        if wrong_sums > 0 || passing.wrong(passed) > 0 {
            return true;
        }
        let claims = accounts(view).map(claimed).fold(0, i64::wrapping_add);
        let fits = u64::try_from(claims).is_ok_and(|claims| claims <= layout.spec.entries);
        let is_open = owner(words[head::ROOMS].load()) == 0 && self.reader.unfinished() == 0;
        !(fits && is_open && self.reader.verify().is_ok_and(|found| found.is_clean()))
    }

    /// Makes a new map of the same specification at a path where nothing is, from the entries that
    /// have their sums, with their versions. Calls `dropped` with every other one.
    pub fn copy_to(
        &self,
        path: &Path,
        options: &RegionOptions,
        mut dropped: impl FnMut(Dropped<'_>),
    ) -> Result<Repaired, LatestError> {
        let spec = self.reader.spec();
        let joined = JoinedRegion::join(path, spec.region()?, options, initialise());
        let (region, is_new) = joined?;
        if !is_new {
            return Err(LatestError::Exists);
        }
        let mut writer = LatestWriter::on(region)?;
        let mut repaired = Repaired { counted: self.reader.len(), ..Repaired::default() };
        let mut value = vec![0; spec.value_words];
        let mut failed = None;
        scan(self.reader.view(), |found| {
            if failed.is_some() {
                return;
            }
            let kept = keep(&mut writer, &mut value, &found, &mut repaired, &mut dropped);
            failed = kept.err();
        });
        failed.map_or(Ok(repaired), Err)
    }

    /// Puts the new map in the place of this one. Both are of the same file system.
    pub fn replace_with(self, new: &Path) -> Result<(), RegionError> {
        self.still.replace_with(new)
    }
}

/// Inserts an entry, or drops it, or the one that is there with its key.
fn keep(
    writer: &mut LatestWriter,
    other: &mut [u64],
    found: &Found<'_>,
    repaired: &mut Repaired,
    dropped: &mut impl FnMut(Dropped<'_>),
) -> Result<(), LatestError> {
    let (key, value) = found.entry[1..].split_at(writer.spec().key_words);
    let version = found.entry[0] as u32;
    if !found.has_its_sum {
        repaired.wrong_sums += 1;
        let reason = DropReason::WrongSum { word: found.word as u64 };
        dropped(Dropped { reason, key, version, value });
        return Ok(());
    }
    if let Some(there) = writer.get(key, other)? {
        repaired.duplicates += 1;
        let reason = DropReason::Duplicate { kept: there.max(version) };
        if version <= there {
            dropped(Dropped { reason, key, version, value });
            return Ok(());
        }
        dropped(Dropped { reason, key, version: there, value: other });
        return put(writer, found.entry);
    }
    match put(writer, found.entry) {
        Ok(()) => repaired.kept += 1,
        Err(LatestError::Full { .. }) => {
            repaired.no_room += 1;
            dropped(Dropped { reason: DropReason::NoRoom, key, version, value });
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Gives a key its value, and then its stamp: no other process has the new map yet.
fn put(writer: &mut LatestWriter, entry: &[u64]) -> Result<(), LatestError> {
    let (key, value) = entry[1..].split_at(writer.spec().key_words);
    let _ = writer.insert(key, value)?;
    let View { layout, .. } = writer.view();
    if let Some(place) = writer.view().find(key)? {
        writer.words()[layout.entry(layout.group(place.group), place.entry)].store(entry[0]);
    }
    Ok(())
}
