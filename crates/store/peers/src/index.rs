//! The changes of a node's map, as numbers of its groups, and how far it has those of other nodes.
//!
//! Protocol: the number of a group is that of its latest change. A change that came from another
//! node as its only one is not sent back there, so a group also has the number of its latest change
//! from elsewhere.
//! Failure: whatever part of a change is stored when the process stops, the group has another
//! version than the index, and counts as changed again. A lost index has another incarnation, and
//! everything counts as changed.

use std::collections::BTreeMap;

/// What the index has of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupChange {
    /// The version of the group that was seen last.
    pub seen: u64,
    /// The number of its latest change; 0: it has never changed.
    pub number: u64,
    /// The number of its latest change that did not come from the node `from`.
    pub before: u64,
    /// The node that its changes after `before` came from; 0: none.
    pub from: u16,
}

impl GroupChange {
    /// The number of the latest change that a node might not have.
    pub(crate) fn number_for(&self, node: u16) -> u64 {
        if self.from == node { self.before } else { self.number }
    }
}

/// How far a node has the changes of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PeerCursor {
    /// The life of the other node.
    pub life: u64,
    /// The incarnation of its index.
    pub incarnation: u64,
    /// The map has all its changes up to this number.
    pub number: u64,
}

/// The index of a map. It belongs to one life of the map: a new map needs a new index.
///
/// It must not be ahead of the map: after a power loss that the map might not have survived whole,
/// all of it is to be made again.
pub trait ChangeIndex {
    /// A random number of this index, unique to its creation.
    fn incarnation(&self) -> u64;

    /// How many groups it has.
    fn groups(&self) -> usize;

    /// The latest number of a change.
    fn last_number(&self) -> u64;

    /// Stores the latest number, before the change of any group has it.
    fn set_last_number(&mut self, number: u64);

    /// What it has of a group.
    fn change(&self, group: usize) -> GroupChange;

    /// Stores what it has of a group: `seen` last.
    fn set_change(&mut self, group: usize, change: GroupChange);

    /// How far this node has the changes of another one.
    fn cursor(&self, node: u16) -> PeerCursor;

    /// Stores that.
    fn set_cursor(&mut self, node: u16, cursor: PeerCursor);
}

/// An index in memory of this process.
#[derive(Clone, Debug)]
pub struct MemoryIndex {
    incarnation: u64,
    last_number: u64,
    changes: Vec<GroupChange>,
    cursors: BTreeMap<u16, PeerCursor>,
}

impl MemoryIndex {
    /// A new index with a random number of its own, for a map of so many groups
    /// ([`LatestReader::groups`](nanotape_latest::LatestReader::groups)).
    pub fn new(incarnation: u64, groups: usize) -> Self {
        let changes = vec![GroupChange::default(); groups];
        Self { incarnation, last_number: 0, changes, cursors: BTreeMap::new() }
    }
}

impl ChangeIndex for MemoryIndex {
    fn incarnation(&self) -> u64 {
        self.incarnation
    }

    fn groups(&self) -> usize {
        self.changes.len()
    }

    fn last_number(&self) -> u64 {
        self.last_number
    }

    fn set_last_number(&mut self, number: u64) {
        self.last_number = number;
    }

    fn change(&self, group: usize) -> GroupChange {
        self.changes[group]
    }

    fn set_change(&mut self, group: usize, change: GroupChange) {
        self.changes[group] = change;
    }

    fn cursor(&self, node: u16) -> PeerCursor {
        self.cursors.get(&node).copied().unwrap_or_default()
    }

    fn set_cursor(&mut self, node: u16, cursor: PeerCursor) {
        self.cursors.insert(node, cursor);
    }
}
