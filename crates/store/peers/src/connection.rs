//! A connection between two nodes: what each states first, and what arrives from then on.
//!
//! Protocol: each side states its node and its map. A member that admits the other side sends its
//! members; each side answers the members of the other one with the number up to which it has the
//! other's changes. Then both send rounds (`round.rs`). Members are sent again whenever they
//! change, before anything else.
//! Bounds: the state of the other side comes within the patience of the link.
//! Failure: the connection ends with an error, and the next one continues after the last round that
//! was acknowledged.

use nanotape_latest::LatestSpec;
use nanotape_link::{Arrival, Now, Peer};

use crate::{
    error::{PeersError, PeersRefusal},
    index::{ChangeIndex, PeerCursor},
    membership::{MemberStore, Membership},
    message::{END_OF_NUMBERS, NodeHello, STATE_BYTES, kind, only, send_words},
    node::{Merged, PeerEvent, PeerNode},
    round::Rounds,
    write_stamp::{STAMP_WORDS, WriteStamp},
};

/// One side of a connection between two nodes.
#[derive(Debug)]
pub struct PeerConnection {
    pub(crate) peer: Peer,
    /// The name of the other side, once its hello has come.
    name: String,
    has_stated: bool,
    /// The end of the patience for the other side's hello and its state.
    state_due_ns: u64,
    pub(crate) other: Option<OtherNode>,
    pub(crate) rounds: Rounds,
    /// Words of a key and a value.
    entry: Vec<u64>,
}

/// The other side, once it has stated itself.
#[derive(Debug)]
pub(crate) struct OtherNode {
    pub(crate) hello: NodeHello,
    /// The number of this connection.
    connection: u64,
    /// The version of the members that were sent last; 0: none.
    sent_members: u64,
    /// Whether its members have come.
    has_members: bool,
    has_sent_cursor: bool,
    /// Whether its cursor has come: then rounds are sent.
    pub(crate) has_cursor: bool,
    /// Bytes of entries that came, and how many of them the last report had.
    received_bytes: u64,
    reported_bytes: u64,
    /// Whether a report is due.
    has_news: bool,
    /// Entries of this round that were refused, and of the round to report.
    refused: u64,
    refused_round: u64,
}

impl PeerConnection {
    /// The side of a new connection. The peer is new, and its service is
    /// [`SERVICE`](crate::SERVICE). Its outgoing buffer has room for a frame of
    /// [`FRAME_BYTES`](crate::FRAME_BYTES), or for all members and the longest entry.
    pub fn new(peer: Peer) -> Self {
        let (name, rounds, entry) = (String::new(), Rounds::default(), Vec::new());
        let state_due_ns = peer.due_ns();
        Self { peer, name, has_stated: false, state_due_ns, other: None, rounds, entry }
    }

    /// The link, to move its bytes.
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// The other node, once it is known.
    pub fn other(&self) -> Option<u16> {
        self.other.as_ref().map(|other| other.hello.node)
    }

    /// Works on what has arrived, and makes what is to be sent. After an error, the caller sends
    /// the bytes that wait and closes the connection.
    pub fn turn<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        now: Now,
    ) -> Result<(), PeersError> {
        self.turn_with(node, now, |_, _| Ok(()))
    }

    /// Like [`turn`](Self::turn). `check` gets the number that the other side states and the name
    /// of its hello, before the node admits it: after an error nothing has changed, and nothing but
    /// the state of this node was sent.
    pub fn turn_with<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        now: Now,
        check: impl Fn(u16, &str) -> Result<(), PeersError>,
    ) -> Result<(), PeersError> {
        let received = self.receive(node, now, &check);
        let turned = received.and_then(|()| self.send(node, now));
        if let Err(PeersError::Refuses { refusal, .. }) = &turned {
            let words = refusal.words().map(u64::to_le_bytes);
            // If there is no room, the next connection has it.
            let _ = self.peer.send(kind::REFUSAL, &[words.as_flattened()]);
        }
        if let Err(error) = &turned {
            node.end = error.of_node().or(node.end.take());
        }
        turned
    }

    /// Checks that the connection still counts and that the other side is a member.
    fn check<I: ChangeIndex, M: MemberStore>(
        &self,
        node: &PeerNode<I, M>,
    ) -> Result<(), PeersError> {
        let Some(other) = &self.other else { return Ok(()) };
        let NodeHello { node: number, life, .. } = other.hello;
        let current = node.known.get(&number).map(|known| known.connection);
        if current != Some(other.connection) {
            return Err(PeersError::Replaced { node: number });
        }
        if let Some(at_ns) = node.dropped_ns() {
            let refusal = PeersRefusal::Dropped { at_ns };
            return Err(PeersError::Refused { node: number, refusal });
        }
        let refused = |refusal| Err(PeersError::Refuses { node: number, refusal });
        if let Some(at_ns) = node.members().dropped_ns(number, life) {
            return refused(PeersRefusal::Dropped { at_ns });
        }
        if other.has_members && !node.has_joined() {
            return refused(PeersRefusal::NotYet);
        }
        if other.has_members && !node.members().has_joined(number, life) {
            return refused(PeersRefusal::Unknown);
        }
        Ok(())
    }

    fn receive<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        now: Now,
        check: &impl Fn(u16, &str) -> Result<(), PeersError>,
    ) -> Result<(), PeersError> {
        self.peer.tick(now)?;
        loop {
            self.check(node)?;
            if !self.receive_one(node, now, check)? {
                break;
            }
        }
        if self.other.is_none() && now.monotonic_ns > self.state_due_ns {
            return Err(PeersError::NoState);
        }
        Ok(())
    }

    /// Returns whether something came.
    fn receive_one<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        now: Now,
        check: &impl Fn(u16, &str) -> Result<(), PeersError>,
    ) -> Result<bool, PeersError> {
        let Self { peer, name, other, rounds, entry, .. } = self;
        let (kind, payload) = match peer.next(now)? {
            Arrival::Open(hello) => {
                rounds.most_payload = hello.most_payload as usize;
                name.clone_from(&hello.name);
                return Ok(true);
            }
            Arrival::Frame { kind, payload } => (kind, payload),
            Arrival::Nothing => return Ok(false),
        };
        let number = other.as_ref().map_or(0, |other| other.hello.node);
        let bad = || PeersError::Message { node: number, kind, length: payload.len() };
        match (kind, &mut *other) {
            (kind::STATE, None) => {
                let hello = only(payload).and_then(NodeHello::of).ok_or_else(bad)?;
                check(hello.node, name)?;
                // A node that could get nothing must not join.
                let least = STATE_BYTES.max(node.entry_bytes());
                rounds.check_room_for(least.max(node.members().encode().len()), hello.node)?;
                *other = Some(OtherNode::admit(hello, node)?);
            }
            (kind::REFUSAL, _) => {
                let refusal = only(payload).and_then(PeersRefusal::of).ok_or_else(bad)?;
                if let PeersRefusal::Dropped { at_ns } = refusal {
                    node.event(PeerEvent::Dropped { at_ns });
                }
                return Err(PeersError::Refused { node: number, refusal });
            }
            (kind::MEMBERS, Some(own)) => {
                let members = Membership::decode(payload).ok_or_else(bad)?;
                own.has_members = true;
                node.merge_members(number, &members, now)?;
            }
            (kind::CURSOR, Some(own)) if own.has_members && !own.has_cursor => {
                let [incarnation, cursor] = only(payload).ok_or_else(bad)?;
                own.has_cursor = true;
                let is_own = incarnation == node.index.incarnation();
                rounds.acknowledge(node, &own.hello, if is_own { cursor } else { 0 })?;
            }
            (kind::ENTRIES, Some(own)) if own.has_sent_cursor => {
                own.merge(node, payload, entry, now)?.ok_or_else(bad)?;
            }
            (kind::ROUND, Some(own)) if own.has_sent_cursor => {
                let [from, bound] = only(payload).ok_or_else(bad)?;
                if bound >= END_OF_NUMBERS || from > bound {
                    return Err(bad());
                }
                own.end_round(node, from, bound);
            }
            (kind::PROGRESS, Some(own)) if own.has_cursor => {
                let [incarnation, cursor, received, refused] = only(payload).ok_or_else(bad)?;
                if incarnation != node.index.incarnation() || received > rounds.sent_bytes {
                    return Err(bad());
                }
                rounds.received_bytes = received;
                rounds.acknowledge(node, &own.hello, cursor)?;
                if refused > 0 {
                    rounds.restart(cursor, now, node.options.retry_ns);
                }
            }
            _ => return Err(bad()),
        }
        Ok(true)
    }

    fn send<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        now: Now,
    ) -> Result<(), PeersError> {
        // Members of a change that came on this or another connection can exclude the other side.
        self.check(node)?;
        if !self.has_stated && self.peer.room() > 0 {
            self.has_stated = send_words(&mut self.peer, kind::STATE, node.hello().words());
        }
        let Some(other) = &mut self.other else { return Ok(()) };
        if !self.has_stated || !node.has_joined() {
            return Ok(());
        }
        if other.sent_members != node.members_version() {
            let bytes = node.members().encode();
            let least = bytes.len().max(node.entry_bytes());
            self.rounds.check_room_for(least, other.hello.node)?;
            if self.peer.send(kind::MEMBERS, &[&bytes]).is_err() {
                return Ok(());
            }
            other.sent_members = node.members_version();
        }
        if !other.has_members {
            return Ok(());
        }
        if !other.has_sent_cursor {
            let cursor = other.cursor(node);
            let words = [cursor.incarnation, cursor.number];
            other.has_sent_cursor = send_words(&mut self.peer, kind::CURSOR, words);
            if !other.has_sent_cursor {
                return Ok(());
            }
        }
        let unreported = other.received_bytes - other.reported_bytes;
        if other.has_news || unreported > other.hello.window_bytes / 4 {
            let PeerCursor { incarnation, number, .. } = other.cursor(node);
            let words = [incarnation, number, other.received_bytes, other.refused_round];
            // Entries that are copied later must not come before it.
            if !send_words(&mut self.peer, kind::PROGRESS, words) {
                return Ok(());
            }
            other.reported_bytes = other.received_bytes;
            (other.has_news, other.refused_round) = (false, 0);
        }
        if other.has_cursor {
            self.rounds.send(&mut self.peer, &other.hello, node, now)?;
        }
        Ok(())
    }
}

impl OtherNode {
    fn admit<I: ChangeIndex, M: MemberStore>(
        hello: NodeHello,
        node: &mut PeerNode<I, M>,
    ) -> Result<Self, PeersError> {
        let own = node.hello();
        let NodeHello { node: number, .. } = hello;
        for (what, found, expected) in [
            ("the cluster", hello.cluster, own.cluster),
            ("the size of keys and values", hello.sizes, own.sizes),
            ("the layout of values", hello.value_layout, own.value_layout),
        ] {
            if found != expected {
                return Err(PeersError::Differs { node: number, what, found, expected });
            }
        }
        if number == own.node {
            let refusal = PeersRefusal::OtherLife;
            return Err(PeersError::Refuses { node: number, refusal });
        }
        node.admit(&hello)?;
        Ok(Self {
            connection: node.connect(number, hello.life),
            hello,
            sent_members: 0,
            has_members: false,
            has_sent_cursor: false,
            has_cursor: false,
            received_bytes: 0,
            reported_bytes: 0,
            has_news: false,
            refused: 0,
            refused_round: 0,
        })
    }

    /// How far this node has the changes of the other one.
    fn cursor<I: ChangeIndex, M: MemberStore>(&self, node: &PeerNode<I, M>) -> PeerCursor {
        let NodeHello { node: number, life, incarnation, .. } = self.hello;
        let cursor = node.index.cursor(number);
        let is_same = (cursor.life, cursor.incarnation) == (life, incarnation);
        if is_same { cursor } else { PeerCursor { life, incarnation, number: 0 } }
    }

    /// Merges the entries of a frame; `None` if they cannot be entries.
    fn merge<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        payload: &[u8],
        entry: &mut Vec<u64>,
        now: Now,
    ) -> Result<Option<()>, PeersError> {
        let LatestSpec { key_words, value_words, .. } = node.reader.spec();
        let ([..], []) = payload.as_chunks::<8>() else { return Ok(None) };
        let entries = payload.chunks_exact(8 * (key_words + value_words));
        if !entries.remainder().is_empty() {
            return Ok(None);
        }
        for bytes in entries {
            entry.clear();
            entry.extend(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
            let (key, value) = entry.split_at(key_words);
            let stamp = WriteStamp::of(value);
            let is_valid = stamp.is_valid(&value[..value_words - STAMP_WORDS]);
            if !is_valid || node.members().member(stamp.node()).is_none() {
                return Ok(None);
            }
            match node.merge(self.hello.node, key, value, now)? {
                Merged::Whole => {}
                Merged::Refused => self.refused += 1,
            }
        }
        self.received_bytes += payload.len() as u64;
        Ok(Some(()))
    }

    /// All entries of a round have come. If they follow those that are there, and none was refused,
    /// the changes up to its bound are there.
    fn end_round<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        from: u64,
        bound: u64,
    ) {
        let cursor = self.cursor(node);
        let refused = std::mem::take(&mut self.refused);
        if refused == 0 && from <= cursor.number {
            let number = bound.max(cursor.number);
            node.index.set_cursor(self.hello.node, PeerCursor { number, ..cursor });
        } else {
            self.refused_round = refused.max(1);
        }
        self.has_news = true;
    }
}
