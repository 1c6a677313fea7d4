//! Checks the whole contents of a map that no process writes meanwhile.

use crate::{
    account::balance,
    error::LatestError,
    group::{Place, View, owner},
    hand::stamp_of,
    reader::{LatestReader, accounts},
    spec::LatestSpec,
};

/// What a verification has found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Integrity {
    /// Entries that are there.
    pub entries: u64,
    /// What the writers count.
    pub counted: u64,
    /// Groups that a writer has locked, alive or not.
    pub locked: u64,
    /// Entries whose key or value does not have its sum.
    pub wrong_sums: u64,
    /// Entries that no search finds: a key that is there twice, or in a group it does not reach.
    pub unreachable: u64,
    /// Groups whose count of keys that passed them is wrong.
    pub wrong_counts: u64,
}

impl Integrity {
    /// Whether the map is as its writers leave it, when none of them died.
    pub fn is_clean(&self) -> bool {
        let Self { entries, counted, locked, wrong_sums, unreachable, wrong_counts } = *self;
        entries == counted && [locked, wrong_sums, unreachable, wrong_counts] == [0; 4]
    }
}

impl LatestReader {
    /// Checks every entry and every count.
    pub fn verify(&self) -> Result<Integrity, LatestError> {
        let view = self.view();
        let View { words, layout } = view;
        let LatestSpec { key_words, .. } = layout.spec;
        let mut integrity = Integrity { counted: balance(accounts(view)), ..Integrity::default() };
        let mut passing = Passing::new(layout.groups);
        let mut passed = vec![0; layout.groups];
        let mut copy = view.copy();
        for group in 0..layout.groups {
            passed[group] = copy.read(group)?;
            integrity.locked += u64::from(owner(words[layout.group(group)].load()) != 0);
            for (number, entry) in copy.entries() {
                integrity.entries += 1;
                let is_right = stamp_of(entry[0] as u32, &entry[1..]) == entry[0];
                integrity.wrong_sums += u64::from(!is_right);
                let key = &entry[1..=key_words];
                let found = view.find(key)?;
                let is_here = |place: Place| (place.group, place.entry) == (group, number);
                integrity.unreachable += u64::from(!found.is_some_and(is_here));
                passing.count(view.home(key), group);
            }
        }
        integrity.wrong_counts = passing.wrong(passed.into_iter());
        Ok(integrity)
    }
}

/// How many keys pass each group, by the groups of their hashes and of their entries.
pub(crate) struct Passing {
    /// For each group, how many more than pass the one before.
    more: Vec<i64>,
}

impl Passing {
    pub(crate) fn new(groups: usize) -> Self {
        Self { more: vec![0; groups + 1] }
    }

    /// A key whose hash is of the group `home`, and whose entry is in another one.
    pub(crate) fn count(&mut self, home: usize, group: usize) {
        self.more[home] += 1;
        self.more[group] -= 1;
        if home > group {
            self.more[0] += 1;
            if let Some(last) = self.more.last_mut() {
                *last -= 1;
            }
        }
    }

    /// Groups that count another number of keys.
    pub(crate) fn wrong(self, passed: impl Iterator<Item = u64>) -> u64 {
        let mut expected = 0;
        let is_wrong = |(found, more): (u64, i64)| {
            expected += more;
            u64::from(found != expected.cast_unsigned())
        };
        passed.zip(self.more).map(is_wrong).sum()
    }
}
