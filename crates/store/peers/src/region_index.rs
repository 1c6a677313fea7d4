//! The index of a map in a region beside it, so that the next process of the node continues with
//! it.
//!
//! Layout: the incarnation, the last number, a slot of four words for each cursor, four words for
//! each group. Only processes of one build of this crate read it: it is made again for any other.
//! Failure: each store is one word, in an order in which a process can end after any of them
//! (`index.rs`). The index belongs to one map and one boot of the machine: it is made again for
//! another one.

use std::path::Path;

use nanotape_latest::LatestReader;
use nanotape_shm::{OwnedRegion, Refusal, RegionError, RegionOptions, RegionSpec, Word};

use crate::{
    index::{ChangeIndex, GroupChange, PeerCursor},
    membership::MOST_MEMBERS,
};

const KIND: [u8; 8] = *b"PEERS   ";
const LAYOUT: u64 = u64::from_be_bytes(*b"peers  1");

const INCARNATION: usize = 0;
const LAST_NUMBER: usize = 1;
const CURSORS: usize = 8;
const CURSOR_WORDS: usize = 4;
const GROUPS: usize = CURSORS + MOST_MEMBERS * CURSOR_WORDS;
const GROUP_WORDS: usize = 4;

/// An index in a region.
#[derive(Debug)]
pub struct RegionIndex {
    region: OwnedRegion,
    groups: usize,
}

impl RegionIndex {
    /// Takes over the index of a map, or makes a new one with a random number of its own. `boot` is
    /// that of the machine.
    pub fn open(
        path: &Path,
        map: &LatestReader,
        boot: u64,
        random: u64,
        options: &RegionOptions,
    ) -> Result<Self, RegionError> {
        let groups = map.groups();
        let spec = RegionSpec {
            kind: KIND,
            layout: LAYOUT,
            parameters: [map.region().created_ns(), groups as u64, boot, 0],
            words: GROUPS + groups * GROUP_WORDS,
        };
        let initialise = |words: &[Word]| words[INCARNATION].store(random);
        let region = match OwnedRegion::create(path, spec, options, initialise) {
            Err(error) if matches!(error.refusal(), Refusal::Parameters { .. }) => {
                // That of another map or boot. One that a process still has is not removed.
                nanotape_shm::remove(path)?;
                OwnedRegion::create(path, spec, options, initialise)
            }
            created => created,
        };
        Ok(Self { region: region?.0, groups })
    }

    fn word(&self, at: usize) -> u64 {
        self.region.words()[at].load()
    }

    fn set(&self, at: usize, value: u64) {
        self.region.words()[at].store(value);
    }

    /// The slot of a node, or a free one.
    fn slot(&self, node: u16) -> Option<usize> {
        let slots = || (0..MOST_MEMBERS).map(|slot| CURSORS + slot * CURSOR_WORDS);
        let of = |owner: u64| slots().find(|at| self.word(*at) >> 48 == owner);
        of(node.into()).or_else(|| of(0))
    }
}

impl ChangeIndex for RegionIndex {
    fn incarnation(&self) -> u64 {
        self.word(INCARNATION)
    }

    fn groups(&self) -> usize {
        self.groups
    }

    fn last_number(&self) -> u64 {
        self.word(LAST_NUMBER)
    }

    fn set_last_number(&mut self, number: u64) {
        self.set(LAST_NUMBER, number);
    }

    fn change(&self, group: usize) -> GroupChange {
        let at = GROUPS + group * GROUP_WORDS;
        let [seen, number, before, from] = [0, 1, 2, 3].map(|word| self.word(at + word));
        GroupChange { seen, number, before, from: from as u16 }
    }

    fn set_change(&mut self, group: usize, change: GroupChange) {
        let at = GROUPS + group * GROUP_WORDS;
        let GroupChange { seen, number, before, from } = change;
        // Without a source a change is sent to everybody.
        self.set(at + 3, 0);
        self.set(at + 1, number);
        self.set(at + 2, before);
        self.set(at + 3, from.into());
        self.set(at, seen);
    }

    fn cursor(&self, node: u16) -> PeerCursor {
        let Some(at) = self.slot(node).filter(|at| self.word(*at) >> 48 == u64::from(node)) else {
            return PeerCursor::default();
        };
        let [life, incarnation, number] = [1, 2, 3].map(|word| self.word(at + word));
        PeerCursor { life, incarnation, number }
    }

    fn set_cursor(&mut self, node: u16, cursor: PeerCursor) {
        let Some(at) = self.slot(node) else { return };
        let PeerCursor { life, incarnation, number } = cursor;
        if (self.word(at + 1), self.word(at + 2)) != (life, incarnation) {
            self.set(at + 3, 0);
            self.set(at + 1, life);
            self.set(at + 2, incarnation);
            self.set(at, u64::from(node) << 48 | 1);
        }
        self.set(at + 3, number);
    }
}
