//! A node: its map, its index, its members, and what it has learned about the other nodes.
//!
//! Where: one process of a node has it, and a [`PeerConnection`](crate::PeerConnection) for each
//! other node. Other processes write the map without it.
//! Bounds: [`turn`](PeerNode::turn) reads the versions of [`PeerOptions::scan_groups`] groups, and
//! copies those that have changed. It waits at most [`PATIENCE`] for a writer that keeps an entry.
//! Failure: an entry that a stopped writer keeps is refused, and comes again; all others are merged
//! meanwhile.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use nanotape_latest::{
    GroupEntries, LatestError, LatestReader, LatestWriter, is_before, is_one_change,
};
use nanotape_link::Now;

use crate::{
    error::{PeersError, PeersRefusal},
    index::{ChangeIndex, GroupChange, PeerCursor},
    membership::{MemberState, MemberStore, Membership},
    message::NodeHello,
    write_stamp::{STAMP_WORDS, WriteStamp, wins},
};

/// How long a turn waits for writers that keep entries. A writer keeps one for less than a
/// microsecond, unless it is stopped.
const PATIENCE: Duration = Duration::from_millis(5);

/// The most events that wait.
const MOST_EVENTS: usize = 64;

/// How a node works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerOptions {
    /// The cluster: nodes of another one are refused.
    pub cluster: u64,
    /// The number of this node: 1 to 65,535.
    pub node: u16,
    /// A random number for the life of this map: another one for each creation of the map, and
    /// after a power loss that the map might not have survived whole.
    pub life: u64,
    /// The nodes that the cluster begins with, this one included; the same list on all of them.
    /// Empty if this node joins a cluster.
    pub founding: Vec<u16>,
    /// The most that clocks of nodes differ, and that one is set back, in ns: no removal is
    /// forgotten earlier.
    pub clock_bound_ns: u64,
    /// Changes that are further ahead of the own clock are refused, in ns.
    pub future_bound_ns: u64,
    /// Bytes of entries that may be on their way to a node.
    pub window_bytes: u64,
    /// Bytes of entries in a frame; at least one entry is in it.
    pub frame_bytes: usize,
    /// The pause before changes that a node refused are sent again, in ns.
    pub retry_ns: u64,
    /// Groups whose versions are read in a call of [`PeerNode::turn`].
    pub scan_groups: usize,
}

impl PeerOptions {
    /// The usual ones.
    pub fn new(cluster: u64, node: u16, life: u64, founding: Vec<u16>) -> Self {
        Self {
            cluster,
            node,
            life,
            founding,
            clock_bound_ns: 60_000_000_000,
            future_bound_ns: 86_400_000_000_000,
            window_bytes: 1 << 18,
            frame_bytes: 1 << 14,
            retry_ns: 1_000_000_000,
            scan_groups: 1 << 16,
        }
    }
}

/// What an operator might need to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PeerEvent {
    /// A node has joined.
    Joined {
        /// The node.
        node: u16,
        /// The life of its map.
        life: u64,
    },
    /// A change is too far ahead of the own clock, and was refused.
    Future {
        /// The node that wrote it.
        node: u16,
        /// The node that sent it.
        sender: u16,
        /// How far ahead it is, in ns.
        ahead_ns: u64,
    },
    /// The map has no room for keys that another node has.
    Full {
        /// The node that sent them.
        sender: u16,
    },
    /// This node was dropped: it must begin again with an empty map.
    Dropped {
        /// When, in ns since the UNIX epoch.
        at_ns: u64,
    },
}

/// What became of an entry that another node sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Merged {
    /// The map has it, or a later one.
    Whole,
    /// It is too far ahead, there is no room, or a writer keeps the entry.
    Refused,
}

/// What this process knows of another node.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownNode {
    pub(crate) life: u64,
    /// It has all changes of this node up to this number, of the incarnation of the index.
    pub(crate) acknowledged: u64,
    /// The connection that counts.
    pub(crate) connection: u64,
}

/// A node. It lives as long as its process.
#[derive(Debug)]
pub struct PeerNode<I, M> {
    pub(crate) options: PeerOptions,
    pub(crate) writer: LatestWriter,
    pub(crate) reader: LatestReader,
    pub(crate) index: I,
    pub(crate) store: M,
    members: Membership,
    /// Changes with the members: connections send them again then.
    members_version: u64,
    pub(crate) known: BTreeMap<u16, KnownNode>,
    connections: u64,
    pub(crate) copy: GroupEntries,
    /// A value of the map.
    own: Vec<u64>,
    /// A bit for each group that can have removed keys.
    pub(crate) removed: Vec<u64>,
    /// Groups that a writer keeps, and when a removal in them is tried again.
    pub(crate) held: BTreeMap<usize, u64>,
    scanned: usize,
    /// Whether every group was read once.
    has_scanned: bool,
    events: VecDeque<PeerEvent>,
    /// What a connection has found that ends the node.
    pub(crate) end: Option<PeersError>,
}

impl<I: ChangeIndex, M: MemberStore> PeerNode<I, M> {
    /// A node on its map.
    pub fn new(
        mut writer: LatestWriter,
        index: I,
        store: M,
        options: PeerOptions,
    ) -> Result<Self, PeersError> {
        writer.set_patience(PATIENCE);
        let reader = writer.reader();
        let (value_words, groups) = (reader.spec().value_words, reader.groups());
        if value_words < STAMP_WORDS {
            return Err(PeersError::NoPeerMap { value_words });
        }
        if options.node == 0 || options.founding.contains(&0) {
            return Err(PeersError::Node);
        }
        if index.groups() != groups {
            return Err(PeersError::Index { found: index.groups(), expected: groups });
        }
        let stored = match store.load() {
            Some(bytes) => Membership::decode(&bytes).ok_or(PeersError::Members)?,
            None => Membership::first(options.node, options.life, &options.founding),
        };
        let copy = reader.group_entries();
        let mut node = Self {
            options,
            writer,
            reader,
            index,
            store,
            members: Membership::default(),
            members_version: 0,
            known: BTreeMap::new(),
            connections: 0,
            copy,
            own: vec![0; value_words],
            removed: vec![0; groups.div_ceil(64)],
            held: BTreeMap::new(),
            scanned: 0,
            has_scanned: false,
            events: VecDeque::new(),
            end: None,
        };
        node.check_versions()?;
        node.adopt(stored)?;
        Ok(node)
    }

    /// Checks that no group is in an earlier state than the index has seen.
    fn check_versions(&self) -> Result<(), PeersError> {
        for group in 0..self.index.groups() {
            let GroupChange { seen: expected, number, .. } = self.index.change(group);
            if number == 0 {
                continue;
            }
            // A group that writers change now is none of an older copy.
            let Some(found) = unless_busy(self.reader.group_version(group))? else { continue };
            if is_before(found, expected) {
                return Err(PeersError::OlderMap { group, found, expected });
            }
        }
        Ok(())
    }

    /// Its index, for the next process of the node.
    pub fn into_parts(self) -> (I, M) {
        (self.index, self.store)
    }

    /// The members of the cluster, as this node knows them.
    pub fn members(&self) -> &Membership {
        &self.members
    }

    /// Whether this node belongs to the cluster. A node that is added must write nothing before.
    pub fn has_joined(&self) -> bool {
        self.members.has_joined(self.options.node, self.options.life)
    }

    /// The next event.
    pub fn take_event(&mut self) -> Option<PeerEvent> {
        self.events.pop_front()
    }

    pub(crate) fn event(&mut self, event: PeerEvent) {
        if self.events.len() < MOST_EVENTS && self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }

    /// Adds a node to the cluster, also one that was dropped; returns whether it is new.
    /// It joins with an empty map, and writes nothing before it has joined.
    pub fn add(&mut self, node: u16) -> Result<bool, PeersError> {
        if node == 0 {
            return Err(PeersError::Node);
        }
        let mut members = self.members.clone();
        let is_new = members.add(node).ok_or(PeersError::TooMany { node })?;
        if is_new {
            self.adopt(members)?;
        }
        Ok(is_new)
    }

    /// Drops a node that is lost: its life is refused from now on, on all nodes. Returns whether it
    /// was a member.
    pub fn drop_node(&mut self, node: u16, now: Now) -> Result<bool, PeersError> {
        let mut members = self.members.clone();
        let was_member = members.drop_node(node, now.utc_ns);
        let was_member = was_member.ok_or(PeersError::TooMany { node })?;
        if was_member {
            self.adopt(members)?;
        }
        Ok(was_member)
    }

    /// Finds changes of the map, and forgets removals that are due. An error ends the node, also
    /// one that a connection has found.
    pub fn turn(&mut self, now: Now) -> Result<(), PeersError> {
        if let Some(error) = self.end.take() {
            return Err(error);
        }
        self.writer.set_patience(PATIENCE);
        let (groups, acknowledged) = (self.reader.groups(), self.acknowledged_by_all());
        for _ in 0..self.options.scan_groups.min(groups) {
            let group = self.scanned;
            self.scanned += 1;
            if self.scanned == groups {
                self.scanned = 0;
            }
            self.scan(group)?;
            self.has_scanned |= self.scanned == 0;
            if self.removed[group / 64] >> (group % 64) & 1 == 1 {
                self.forget_in(group, acknowledged, now)?;
            }
        }
        Ok(())
    }

    /// Gives a group the next number if it has changed.
    fn scan(&mut self, group: usize) -> Result<(), PeersError> {
        let seen = self.index.change(group).seen;
        // A group that writers change at each attempt is read in a later turn.
        let Some(version) = unless_busy(self.reader.group_version(group))? else { return Ok(()) };
        if version == seen && self.has_scanned {
            return Ok(());
        }
        if !self.copy_group(group)? {
            self.removed[group / 64] |= 1 << (group % 64);
            return Ok(());
        }
        if self.copy.entries().any(|(_, _, value)| WriteStamp::of(value).is_removed()) {
            self.removed[group / 64] |= 1 << (group % 64);
        }
        let version = self.copy.version();
        if version != seen {
            let number = self.next_number();
            let change = GroupChange { seen: version, number, before: number, from: 0 };
            self.index.set_change(group, change);
        }
        Ok(())
    }

    /// Copies a group that goes to other nodes, and checks its stamps; returns false if writers
    /// have changed it at each attempt.
    pub(crate) fn copy_group(&mut self, group: usize) -> Result<bool, PeersError> {
        let copied = unless_busy(self.reader.copy_group(group, &mut self.copy))?;
        if copied.is_none() {
            return Ok(false);
        }
        for (_, _, value) in self.copy.entries() {
            let stamp = WriteStamp::of(value);
            if !stamp.is_valid(&value[..value.len() - STAMP_WORDS]) {
                return Err(stamp.damage(group));
            }
        }
        Ok(true)
    }

    fn next_number(&mut self) -> u64 {
        let number = self.index.last_number() + 1;
        self.index.set_last_number(number);
        number
    }

    /// Merges an entry that another node sent: a key and a value with its stamp.
    pub(crate) fn merge(
        &mut self,
        sender: u16,
        key: &[u64],
        value: &[u64],
        now: Now,
    ) -> Result<Merged, PeersError> {
        let stamp = WriteStamp::of(value);
        let ahead_ns = stamp.time_ns.saturating_sub(now.utc_ns);
        if ahead_ns > self.options.future_bound_ns {
            self.event(PeerEvent::Future { node: stamp.node(), sender, ahead_ns });
            return Ok(Merged::Refused);
        }
        // Every node has had a settled removal. This one has forgotten it if the key is not there,
        // or never needs it, as long as the times of its own writes are later.
        let is_forgotten = stamp.is_settled() && stamp.time_ns < now.utc_ns;
        // A lock is a change of the group, also if the entry stays. So a first comparison is made
        // without one.
        let Some(found) = unless_busy(self.writer.get(key, &mut self.own))? else {
            return Ok(Merged::Refused);
        };
        if if found.is_some() { !wins(value, &self.own) } else { is_forgotten } {
            return Ok(Merged::Whole);
        }
        let change = |own: &mut [u64]| {
            let is_later = wins(value, own);
            if is_later {
                own.copy_from_slice(value);
            }
            is_later
        };
        let changed = if is_forgotten {
            self.writer.update_if(key, change).map(|changed| changed == Some(true))
        } else {
            self.writer.insert_or_update(key, value, change).map(|changed| changed.is_some())
        };
        match changed {
            Ok(true) => self.note(sender, key, stamp)?,
            Ok(false) => {}
            Err(LatestError::Busy { .. }) => {
                self.stop_waiting();
                return Ok(Merged::Refused);
            }
            Err(LatestError::Full { .. }) => {
                self.event(PeerEvent::Full { sender });
                return Ok(Merged::Refused);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Merged::Whole)
    }

    /// A writer keeps an entry: this turn waits for no other one.
    pub(crate) fn stop_waiting(&mut self) {
        self.writer.set_patience(Duration::ZERO);
    }

    /// The group of a key was changed by what a node sent. If that is its only change, it is not
    /// sent back there. Otherwise the next scan finds it.
    fn note(&mut self, sender: u16, key: &[u64], stamp: WriteStamp) -> Result<(), PeersError> {
        let Some(Some(group)) = unless_busy(self.reader.group_with(key))? else { return Ok(()) };
        if stamp.is_removed() {
            self.removed[group / 64] |= 1 << (group % 64);
        }
        let Some(seen) = unless_busy(self.reader.group_version(group))? else { return Ok(()) };
        let change = self.index.change(group);
        if is_one_change(change.seen, seen) {
            let before = if change.from == sender { change.before } else { change.number };
            let number = self.next_number();
            self.index.set_change(group, GroupChange { seen, number, before, from: sender });
        }
        Ok(())
    }

    /// What this node states first on a connection.
    pub(crate) fn hello(&self) -> NodeHello {
        let spec = self.reader.spec();
        let user = spec.value_words - STAMP_WORDS;
        NodeHello {
            cluster: self.options.cluster,
            node: self.options.node,
            life: self.options.life,
            incarnation: self.index.incarnation(),
            sizes: spec.key_words as u64 | (user as u64) << 32,
            value_layout: spec.value_layout,
            entries: self.reader.len(),
            has_joined: self.has_joined(),
            window_bytes: self.options.window_bytes,
        }
    }

    /// Admits a node, or gives the cause why not.
    pub(crate) fn admit(&mut self, other: &NodeHello) -> Result<(), PeersError> {
        let NodeHello { node, life, entries, .. } = *other;
        let refused = |refusal| Err(PeersError::Refuses { node, refusal });
        if let Some(at_ns) = self.members.dropped_ns(node, life) {
            return refused(PeersRefusal::Dropped { at_ns });
        }
        if !self.has_joined() {
            // A member decides whether this node joins, and then sends its members.
            return if other.has_joined { Ok(()) } else { refused(PeersRefusal::NotYet) };
        }
        let Some(member) = self.members.member(node) else {
            return refused(PeersRefusal::Unknown);
        };
        match member.state {
            MemberState::Left => return refused(PeersRefusal::Unknown),
            MemberState::Joined(joined) if joined == life => return Ok(()),
            MemberState::Joined(_) => return refused(PeersRefusal::OtherLife),
            MemberState::Pending if member.is_founding => {}
            MemberState::Pending if entries > 0 => {
                return refused(PeersRefusal::NotEmpty { entries });
            }
            MemberState::Pending => {}
        }
        let mut members = self.members.clone();
        members.join(node, life);
        self.adopt(members)?;
        self.event(PeerEvent::Joined { node, life });
        Ok(())
    }

    /// The number of a new connection of a node, which replaces the one before.
    pub(crate) fn connect(&mut self, node: u16, life: u64) -> u64 {
        self.connections += 1;
        let known = self.known.entry(node).or_default();
        if known.life != life {
            *known = KnownNode { life, ..KnownNode::default() };
        }
        known.connection = self.connections;
        if self.index.cursor(node).life != life {
            self.forget_origin(node);
            self.index.set_cursor(node, PeerCursor { life, ..PeerCursor::default() });
        }
        self.connections
    }

    /// What came from an earlier life of a node must be sent to the next one.
    fn forget_origin(&mut self, node: u16) {
        for group in 0..self.index.groups() {
            let change = self.index.change(group);
            if change.from == node {
                let before = change.number;
                self.index.set_change(group, GroupChange { before, from: 0, ..change });
            }
        }
    }

    /// Takes in the members that a node sent.
    pub(crate) fn merge_members(
        &mut self,
        node: u16,
        members: &Membership,
        now: Now,
    ) -> Result<(), PeersError> {
        let mut merged = self.members.clone();
        if merged.merge(members, now.utc_ns).ok_or(PeersError::TooMany { node })? {
            self.adopt(merged)?;
        }
        if let Some(at_ns) = self.dropped_ns() {
            self.event(PeerEvent::Dropped { at_ns });
        }
        Ok(())
    }

    /// Stores that this node was dropped, as another one has stated.
    pub(crate) fn drop_own(&mut self, at_ns: u64) -> Result<(), PeersError> {
        let (node, mut members) = (self.options.node, self.members.clone());
        match members.drop_node(node, at_ns) {
            Some(true) => self.adopt(members),
            Some(false) => Ok(()),
            None => Err(PeersError::TooMany { node }),
        }
    }

    /// When this node was dropped.
    pub(crate) fn dropped_ns(&self) -> Option<u64> {
        self.members.dropped_ns(self.options.node, self.options.life)
    }

    /// Bytes of an entry in a frame.
    pub(crate) fn entry_bytes(&self) -> usize {
        let spec = self.reader.spec();
        8 * (spec.key_words + spec.value_words)
    }

    pub(crate) fn members_version(&self) -> u64 {
        self.members_version
    }

    /// Stores changed members before anything depends on them. If this fails, the node keeps those
    /// of before, as if the change had not come: the connection that brought it ends, and the next
    /// one brings it again.
    fn adopt(&mut self, members: Membership) -> Result<(), PeersError> {
        let stored = self.store.store(&members.encode());
        stored.map_err(|source| PeersError::Store { source })?;
        self.members = members;
        self.members_version += 1;
        Ok(())
    }

    /// A number that every other node has acknowledged: no change up to it is missing anywhere.
    pub(crate) fn acknowledged_by_all(&self) -> u64 {
        let own = self.options.node;
        let others = self.members.members().filter(|(node, _)| *node != own);
        let numbers = others.map(|(node, member)| match member.state {
            MemberState::Left => u64::MAX,
            MemberState::Pending => 0,
            MemberState::Joined(life) => {
                let known = self.known.get(&node).filter(|known| known.life == life);
                known.map_or(0, |known| known.acknowledged)
            }
        });
        // A node that has not joined knows no other one.
        if self.has_joined() { numbers.min().unwrap_or(u64::MAX) } else { 0 }
    }
}

/// What was read, or `None` if writers have changed it at each attempt.
pub(crate) fn unless_busy<T>(read: Result<T, LatestError>) -> Result<Option<T>, LatestError> {
    match read {
        Err(LatestError::Busy { .. }) => Ok(None),
        read => read.map(Some),
    }
}
