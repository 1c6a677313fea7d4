//! Groups of a map one by one, for a process that finds what has changed since it read them last.
//!
//! Protocol: the version of a group differs whenever its entries differ. A process keeps the
//! version of each group, reads all versions from time to time, and copies the groups whose
//! version is another one.
//! Failure: an entry that does not have its sum is an error of the copy, so that damage does not
//! spread to where the copy goes.
//! Bounds: a version comes again after 2^32 changes of a group between two reads.

use crate::{error::LatestError, group::owner, hand::stamp_of, reader::LatestReader};

/// The entries of one group, as they were at one moment. It allocates only when it is made.
#[derive(Clone, Debug)]
pub struct GroupEntries {
    version: u64,
    taken: u32,
    key_words: usize,
    entry_words: usize,
    words: Vec<u64>,
}

impl GroupEntries {
    /// The version of the group when it was copied.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The key and the value of each entry, with its number in the group. An entry keeps its number
    /// as long as it is there.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &[u64], &[u64])> {
        let of = |number| self.entry(number).map(|(key, value, _)| (number, key, value));
        (0..self.places()).filter_map(of)
    }

    /// The numbers that entries of a group can have: from 0 to below this one.
    pub fn places(&self) -> usize {
        self.words.len() / self.entry_words
    }

    /// The key, the value and the version of the entry with a number; `None` if it is not there.
    pub fn entry(&self, number: usize) -> Option<(&[u64], &[u64], u32)> {
        let entry = self.words.chunks_exact(self.entry_words).nth(number)?;
        if self.taken >> number & 1 == 0 {
            return None;
        }
        let (key, value) = entry[1..].split_at(self.key_words);
        Some((key, value, entry[0] as u32))
    }
}

impl LatestReader {
    /// How many groups the map has.
    pub fn groups(&self) -> usize {
        self.view().layout.groups
    }

    /// Space for the entries of a group of this map.
    pub fn group_entries(&self) -> GroupEntries {
        let layout = self.view().layout;
        let words = vec![0; layout.in_group * layout.entry_words];
        let (key_words, entry_words) = (layout.spec.key_words, layout.entry_words);
        GroupEntries { version: 0, taken: 0, key_words, entry_words, words }
    }

    /// The version of a group: another one whenever its entries are others.
    ///
    /// # Panics
    ///
    /// If the map does not have this group.
    pub fn group_version(&self, group: usize) -> Result<u64, LatestError> {
        assert!(group < self.groups(), "a group of another map");
        self.view().read(group, |seen| seen.version())
    }

    /// Copies the entries of a group, and checks their sums.
    ///
    /// # Panics
    ///
    /// If the map does not have this group, or the space is that of another map.
    pub fn copy_group(&self, group: usize, copy: &mut GroupEntries) -> Result<(), LatestError> {
        let layout = self.view().layout;
        let is_own = copy.words.len() == layout.in_group * layout.entry_words;
        assert!(group < layout.groups && is_own, "a group of another map");
        (copy.taken, copy.version) = self.view().read(group, |seen| {
            seen.copy(&mut copy.words);
            (seen.taken, seen.version())
        })?;
        for (number, entry) in copy.words.chunks_exact(layout.entry_words).enumerate() {
            let is_there = copy.taken >> number & 1 == 1;
            if is_there && stamp_of(entry[0] as u32, &entry[1..]) != entry[0] {
                let word = layout.entry(layout.group(group), number) as u64;
                return Err(LatestError::Damaged { word, found: entry[0] });
            }
        }
        Ok(())
    }

    /// The group that has a key now; `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    pub fn group_with(&self, key: &[u64]) -> Result<Option<usize>, LatestError> {
        assert!(key.len() == self.spec().key_words, "lengths of another map");
        Ok(self.view().find(key)?.map(|place| place.group))
    }
}

/// Versions that are this many changes before another one, or fewer, are earlier ones. The numbers
/// of versions begin again after 2^32 changes, and a group can pass all of them while no process
/// reads its version: then its version counts as an earlier one with a probability of 1 to 256 at
/// most.
const MOST_BEFORE: u64 = 1 << 24;

/// Whether a version of a group is from before another one: a group that has it is in an older copy
/// of the map than the one that had the other version.
pub fn is_before(version: u64, other: u64) -> bool {
    let changes = (other >> 32).wrapping_sub(version >> 32) & 0xffff_ffff;
    (1..=MOST_BEFORE).contains(&changes)
}

/// Whether a group was opened exactly once between two versions, and it is not locked: then
/// the change of a writer that changed it in between is the only one.
pub fn is_one_change(earlier: u64, later: u64) -> bool {
    let next = (earlier >> 32).wrapping_add(1) & 0xffff_ffff;
    owner(earlier) == 0 && owner(later) == 0 && later >> 32 == next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_before_those_of_later_changes() {
        let version = |changes: u32| u64::from(changes) << 32 | 7 << 16;
        for (version, other, expected) in [
            (version(4), version(5), true),
            (version(5), version(5), false),
            (version(6), version(5), false),
            (version(5) | 3, version(5), false),
            (version(u32::MAX), version(2), true),
            (version(2), version(u32::MAX), false),
            (version(0), version(1 << 24), true),
            (version(0), version(1 << 30), false),
        ] {
            assert_eq!(is_before(version, other), expected, "{version:#x} {other:#x}");
        }
    }
}
