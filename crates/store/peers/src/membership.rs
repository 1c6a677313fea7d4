//! The nodes of a cluster: which lives have joined, which nodes are still expected, and which lives
//! were dropped.
//!
//! Protocol: each node has its own copy, and all copies become equal, because merging two only
//! adds: a member goes from pending to joined to left, and begins again with the next generation.
//! Bounds: [`MOST_MEMBERS`] and [`MOST_DROPPED`].

use std::collections::BTreeMap;

/// The most nodes.
pub const MOST_MEMBERS: usize = 256;

/// The most lives that were dropped.
pub const MOST_DROPPED: usize = 1_024;

/// A node that belongs to the cluster, or did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// How often this number was added again after a drop.
    pub generation: u32,
    /// Whether it is a node of the cluster's first list. Only such a node may bring entries along.
    pub is_founding: bool,
    /// What it is now.
    pub state: MemberState,
}

/// What a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberState {
    /// It was configured, and has not connected yet. No removal is forgotten until it has.
    Pending,
    /// The life of its map that joined.
    Joined(u64),
    /// It was dropped.
    Left,
}

/// A life that was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DroppedLife {
    /// The node.
    pub node: u16,
    /// The life of its map.
    pub life: u64,
    /// When, in ns since the UNIX epoch, by the clock of the node that dropped it.
    pub at_ns: u64,
}

/// All of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Membership {
    members: BTreeMap<u16, Member>,
    dropped: BTreeMap<(u16, u64), u64>,
}

/// Where a node keeps its members: beside the map, and at least as durable. A node whose members
/// are lost begins a new life.
pub trait MemberStore {
    /// The members that were stored last, as bytes; `None`: never.
    fn load(&self) -> Option<Vec<u8>>;

    /// Stores them. If this fails, the node keeps the members of before, and the change is tried
    /// again with the next connection that brings it.
    fn store(&mut self, members: &[u8]) -> std::io::Result<()>;
}

/// Members in memory of this process.
#[derive(Clone, Debug, Default)]
pub struct MemoryMembers(Option<Vec<u8>>);

impl MemberStore for MemoryMembers {
    fn load(&self) -> Option<Vec<u8>> {
        self.0.clone()
    }

    fn store(&mut self, members: &[u8]) -> std::io::Result<()> {
        self.0 = Some(members.to_vec());
        Ok(())
    }
}

const FOUNDING: u64 = 1 << 48;
const STATE_SHIFT: u32 = 56;

impl Membership {
    /// The members that a node begins with. If `founding` has its number, the cluster begins with
    /// these nodes. Otherwise the node joins a cluster, and learns its members there.
    pub(crate) fn first(node: u16, life: u64, founding: &[u16]) -> Self {
        let is_founding = founding.contains(&node);
        let mut members = BTreeMap::new();
        if is_founding {
            for other in founding {
                let pending = MemberState::Pending;
                let state = if *other == node { MemberState::Joined(life) } else { pending };
                members.insert(*other, Member { generation: 0, is_founding, state });
            }
        }
        Self { members, dropped: BTreeMap::new() }
    }

    /// The members, with their numbers.
    pub fn members(&self) -> impl Iterator<Item = (u16, Member)> {
        self.members.iter().map(|(node, member)| (*node, *member))
    }

    /// The lives that were dropped.
    pub fn dropped(&self) -> impl Iterator<Item = DroppedLife> {
        let all = self.dropped.iter();
        all.map(|((node, life), at_ns)| DroppedLife { node: *node, life: *life, at_ns: *at_ns })
    }

    /// A member.
    pub fn member(&self, node: u16) -> Option<Member> {
        self.members.get(&node).copied()
    }

    /// Whether this life of a node has joined and was not dropped.
    pub fn has_joined(&self, node: u16, life: u64) -> bool {
        self.member(node).is_some_and(|member| member.state == MemberState::Joined(life))
    }

    /// When a life was dropped.
    pub fn dropped_ns(&self, node: u16, life: u64) -> Option<u64> {
        self.dropped.get(&(node, life)).copied()
    }

    /// Adds a node; returns whether it is new, or `None` if there would be too many.
    pub(crate) fn add(&mut self, node: u16) -> Option<bool> {
        let generation = match self.member(node) {
            None => 0,
            // The last generation can only come from a damaged or wrong side.
            Some(Member { generation, state: MemberState::Left, .. }) => {
                generation.checked_add(1)?
            }
            Some(_) => return Some(false),
        };
        if self.members.len() == MOST_MEMBERS && !self.members.contains_key(&node) {
            return None;
        }
        let added = Member { generation, is_founding: false, state: MemberState::Pending };
        self.members.insert(node, added);
        Some(true)
    }

    /// The life of a pending node has joined.
    pub(crate) fn join(&mut self, node: u16, life: u64) {
        if let Some(member) = self.members.get_mut(&node) {
            member.state = MemberState::Joined(life);
        }
    }

    /// Drops a node; returns whether it was a member, or `None` if there would be too many.
    pub(crate) fn drop_node(&mut self, node: u16, now_ns: u64) -> Option<bool> {
        let Some(member) = self.members.get_mut(&node) else { return Some(false) };
        match member.state {
            MemberState::Left => return Some(false),
            MemberState::Pending => {}
            MemberState::Joined(_) if self.dropped.len() == MOST_DROPPED => return None,
            MemberState::Joined(life) => {
                self.dropped.insert((node, life), now_ns);
            }
        }
        member.state = MemberState::Left;
        Some(true)
    }

    /// Adds what another copy has; returns whether anything is new, or `None` if there would be too
    /// many.
    pub(crate) fn merge(&mut self, other: &Self, now_ns: u64) -> Option<bool> {
        let before = self.clone();
        for (node, found) in &other.members {
            let Some(own) = self.members.get_mut(node) else {
                self.members.insert(*node, *found);
                continue;
            };
            let (earlier, later) =
                if found.generation < own.generation { (*found, *own) } else { (*own, *found) };
            let mut merged = later;
            if earlier.generation == later.generation {
                merged.is_founding &= earlier.is_founding;
                merged.state = merged_state(earlier.state, later.state);
            }
            for lost in [earlier.state, later.state] {
                if let MemberState::Joined(life) = lost
                    && merged.state != lost
                {
                    self.dropped.entry((*node, life)).or_insert(now_ns);
                }
            }
            *own = merged;
        }
        for (life, at_ns) in &other.dropped {
            let own = self.dropped.entry(*life).or_insert(*at_ns);
            *own = (*own).min(*at_ns);
        }
        for (node, member) in &mut self.members {
            if let MemberState::Joined(life) = member.state
                && self.dropped.contains_key(&(*node, life))
            {
                member.state = MemberState::Left;
            }
        }
        let fits = self.members.len() <= MOST_MEMBERS && self.dropped.len() <= MOST_DROPPED;
        if !fits {
            *self = before;
            return None;
        }
        Some(*self != before)
    }

    /// As bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut words = vec![self.members.len() as u64, self.dropped.len() as u64];
        for (node, member) in &self.members {
            let (state, life) = match member.state {
                MemberState::Pending => (0, 0),
                MemberState::Joined(life) => (1, life),
                MemberState::Left => (2, 0),
            };
            let founding = if member.is_founding { FOUNDING } else { 0 };
            let generation = u64::from(member.generation) << 16;
            words.extend([u64::from(*node) | generation | founding | state << STATE_SHIFT, life]);
        }
        for ((node, life), at_ns) in &self.dropped {
            words.extend([u64::from(*node), *life, *at_ns]);
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Of bytes; `None` if they are not those of one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let ([members, dropped], rest) = words.split_first_chunk::<2>()?;
        let members = usize::try_from(*members).ok().filter(|count| *count <= MOST_MEMBERS)?;
        let dropped = usize::try_from(*dropped).ok().filter(|count| *count <= MOST_DROPPED)?;
        let (member_words, dropped_words) = rest.split_at_checked(2 * members)?;
        if dropped_words.len() != 3 * dropped {
            return None;
        }
        let mut decoded = Self::default();
        for [word, life] in member_words.as_chunks::<2>().0 {
            let state = match (word >> STATE_SHIFT, life) {
                (0, 0) => MemberState::Pending,
                (1, life) => MemberState::Joined(*life),
                (2, 0) => MemberState::Left,
                _ => return None,
            };
            let is_reserved = word >> 49 & 0x7f != 0;
            let (node, generation) = (*word as u16, (*word >> 16) as u32);
            let member = Member { generation, is_founding: word & FOUNDING != 0, state };
            if is_reserved || node == 0 || decoded.members.insert(node, member).is_some() {
                return None;
            }
        }
        for [node, life, at_ns] in dropped_words.as_chunks::<3>().0 {
            let node = u16::try_from(*node).ok().filter(|node| *node != 0)?;
            if decoded.dropped.insert((node, *life), *at_ns).is_some() {
                return None;
            }
        }
        Some(decoded)
    }
}

/// The later one of two states of a generation. If two lives have joined under one number, the
/// smaller one stays on every node.
fn merged_state(one: MemberState, other: MemberState) -> MemberState {
    match (one, other) {
        (MemberState::Left, _) | (_, MemberState::Left) => MemberState::Left,
        (MemberState::Joined(one), MemberState::Joined(other)) => {
            MemberState::Joined(one.min(other))
        }
        (MemberState::Pending, state) | (state, MemberState::Pending) => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(members: &Membership) -> Vec<(u16, u32, MemberState)> {
        members.members().map(|(node, it)| (node, it.generation, it.state)).collect()
    }

    #[test]
    fn copies_become_equal_in_any_order() {
        use MemberState::{Joined, Left, Pending};
        let first = Membership::first(1, 10, &[1, 2, 3]);
        let mut copies = [first.clone(), first.clone(), first];
        copies[0].join(2, 20);
        assert_eq!(copies[0].drop_node(2, 5), Some(true));
        assert_eq!(copies[0].add(2), Some(true));
        copies[1].join(2, 20);
        copies[1].join(3, 31);
        copies[2].join(3, 30);
        assert_eq!((copies[2].add(4), copies[2].add(4)), (Some(true), Some(false)));
        let mut merged = Vec::new();
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let mut all = Membership::first(1, 10, &[1, 2, 3]);
            for copy in order {
                all.merge(&copies[copy], 5).unwrap();
            }
            assert_eq!(Membership::decode(&all.encode()).as_ref(), Some(&all));
            merged.push(all);
        }
        assert!(merged.windows(2).all(|pair| pair[0] == pair[1]), "{merged:?}");
        let expected = [(1, 0, Joined(10)), (2, 1, Pending), (3, 0, Joined(30)), (4, 0, Pending)];
        assert_eq!(states(&merged[0]), expected);
        assert_eq!(merged[0].dropped_ns(2, 20), Some(5));
        assert_eq!(merged[0].dropped_ns(3, 31), Some(5));
        assert_eq!(merged[0].drop_node(4, 6), Some(true));
        assert_eq!(states(&merged[0])[3], (4, 0, Left));
    }

    #[test]
    fn there_are_at_most_as_many_as_a_frame_has_room_for() {
        let mut members = Membership::first(1, 10, &[1]);
        for node in 2..=MOST_MEMBERS as u16 {
            assert_eq!(members.add(node), Some(true));
        }
        assert_eq!(members.add(1_000), None);
        for life in 0..MOST_DROPPED as u64 {
            members.join(2, life);
            assert_eq!(members.drop_node(2, 1), Some(true));
            assert_eq!(members.add(2), Some(true));
        }
        members.join(2, 1 << 40);
        assert_eq!(members.drop_node(2, 1), None);
        assert!(members.encode().len() < crate::message::FRAME_BYTES);
        let mut other = Membership::first(1_000, 1, &[1_000]);
        assert_eq!(other.merge(&members, 1), None);
        assert_eq!(states(&other).len(), 1);
    }

    #[test]
    fn the_last_generation_of_a_number_is_not_followed_by_another_one() {
        let mut members = Membership::first(1, 10, &[1]);
        let last = Member { generation: u32::MAX, is_founding: false, state: MemberState::Left };
        members.members.insert(9, last);
        assert_eq!(members.add(9), None);
        assert_eq!(members.member(9), Some(last));
    }

    #[test]
    fn bytes_of_other_lengths_and_numbers_are_not_members() {
        let mut members = Membership::first(1, 10, &[1, 2]);
        members.join(2, 3);
        assert_eq!(members.drop_node(2, 4), Some(true));
        let bytes = members.encode();
        for cut in 0..bytes.len() {
            assert_eq!(Membership::decode(&bytes[..cut]), None);
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let decoded = Membership::decode(&changed);
            assert!(decoded.is_none_or(|decoded| decoded.encode() != bytes), "bit {bit}");
        }
    }
}
