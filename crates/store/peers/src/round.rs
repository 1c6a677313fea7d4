//! Rounds: a node sends what has changed, each group as it is when its bytes are made.
//!
//! Protocol: a round sends the groups whose numbers are above the bound of the round before, and up
//! to its own bound, which it ends with. The first round of a connection has [`FIRST_STEP`] numbers
//! and each one twice as many as that before, up to the latest number. So a connection that breaks
//! soon has some rounds acknowledged, and all numbers take few rounds. The next round begins at
//! once if there are later numbers, before this one is acknowledged. When the other node refuses
//! entries, a round begins again after the last acknowledged one, after a pause.
//! Bounds: bytes that the other node has not reported are within the window, or one group. A round
//! reads the index of all groups; a call begins no further one after
//! [`PeerOptions::scan_groups`](crate::PeerOptions::scan_groups) of them.

use nanotape_link::{Now, Peer};

use crate::{
    error::PeersError,
    index::ChangeIndex,
    membership::MemberStore,
    message::{NodeHello, kind, send_words},
    node::PeerNode,
    write_stamp::WriteStamp,
};

/// The numbers of the first round of a connection.
const FIRST_STEP: u64 = 64;

/// What is sent to a node.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// The bound of the last round that was sent, or acknowledged.
    sent: u64,
    round: Option<Round>,
    /// The most numbers of the next round.
    step: u64,
    pause_until_ns: u64,
    /// The longest payload that the other side accepts.
    pub(crate) most_payload: usize,
    /// Bytes of entries that were sent, and of those that have arrived.
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    /// The entries of a frame.
    frame: Vec<u8>,
}

/// A round that has not ended.
#[derive(Clone, Copy, Debug)]
struct Round {
    bound: u64,
    /// The next group, and its next entry.
    group: usize,
    entry: usize,
    /// Whether a group could not be read, because writers changed it at each attempt.
    is_busy: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            sent: 0,
            round: None,
            step: FIRST_STEP,
            pause_until_ns: 0,
            most_payload: 0,
            sent_bytes: 0,
            received_bytes: 0,
            frame: Vec::new(),
        }
    }
}

impl Rounds {
    /// The other node has all changes up to a number.
    pub(crate) fn acknowledge<I: ChangeIndex, M: MemberStore>(
        &mut self,
        node: &mut PeerNode<I, M>,
        other: &NodeHello,
        number: u64,
    ) -> Result<(), PeersError> {
        let last = node.index.last_number();
        if number > last {
            return Err(PeersError::Unsent { node: other.node, number, last });
        }
        if let Some(known) = node.known.get_mut(&other.node) {
            known.acknowledged = number;
        }
        self.sent = self.sent.max(number);
        Ok(())
    }

    /// Checks that the other side accepts a frame of this length.
    pub(crate) fn check_room_for(&self, expected: usize, node: u16) -> Result<(), PeersError> {
        let most = self.most_payload;
        if most < expected { Err(PeersError::Frames { node, most, expected }) } else { Ok(()) }
    }

    /// Begins again after a number.
    pub(crate) fn restart(&mut self, number: u64, now: Now, pause_ns: u64) {
        (self.sent, self.round) = (number, None);
        self.pause_until_ns = now.monotonic_ns.saturating_add(pause_ns);
    }

    /// Sends as much as there is room for.
    pub(crate) fn send<I: ChangeIndex, M: MemberStore>(
        &mut self,
        peer: &mut Peer,
        other: &NodeHello,
        node: &mut PeerNode<I, M>,
        now: Now,
    ) -> Result<(), PeersError> {
        if now.monotonic_ns < self.pause_until_ns {
            return Ok(());
        }
        let mut passed = 0;
        while passed < node.options.scan_groups {
            let last = node.index.last_number();
            if self.round.is_none() && last > self.sent {
                let bound = last.min(self.sent.saturating_add(self.step));
                self.round = Some(Round { bound, group: 0, entry: 0, is_busy: false });
            }
            let Some(mut round) = self.round else { return Ok(()) };
            let is_sent = self.send_groups(&mut round, peer, other, node)?;
            self.round = Some(round);
            if is_sent && round.is_busy {
                // It ends without its bound, which the other side must not acknowledge.
                self.restart(self.sent, now, node.options.retry_ns);
                return Ok(());
            }
            if !is_sent || !send_words(peer, kind::ROUND, [self.sent, round.bound]) {
                return Ok(());
            }
            (self.sent, self.round) = (round.bound, None);
            self.step = self.step.saturating_mul(2);
            passed += node.index.groups();
        }
        Ok(())
    }

    /// Returns whether all groups of the round were sent.
    fn send_groups<I: ChangeIndex, M: MemberStore>(
        &mut self,
        round: &mut Round,
        peer: &mut Peer,
        other: &NodeHello,
        node: &mut PeerNode<I, M>,
    ) -> Result<bool, PeersError> {
        let entry_bytes = node.entry_bytes();
        let most = node.options.frame_bytes.min(self.most_payload);
        self.frame.clear();
        // Groups and entries that are in the frame, but not sent.
        let (mut group, mut entry) = (round.group, round.entry);
        let groups = node.index.groups();
        while group < groups {
            let change = node.index.change(group);
            let number = change.number_for(other.node);
            // A later number is of a change during the round: its own round has it.
            if self.sent < number && number <= round.bound {
                let is_copied = node.copy_group(group)?;
                round.is_busy |= !is_copied;
                let entries = node.copy.entries().filter(|(at, ..)| is_copied && *at >= entry);
                for (at, key, value) in entries {
                    let stamp = WriteStamp::of(value);
                    if node.members().member(stamp.node()).is_none() {
                        return Err(stamp.damage(group));
                    }
                    let is_full = self.frame.len() + entry_bytes > most;
                    if is_full && !self.frame.is_empty() {
                        if !self.send_frame(peer, node.options.window_bytes) {
                            return Ok(false);
                        }
                        (round.group, round.entry) = (group, at);
                    }
                    for word in key.iter().chain(value) {
                        self.frame.extend_from_slice(&word.to_le_bytes());
                    }
                }
            }
            (group, entry) = (group + 1, 0);
        }
        if !self.frame.is_empty() && !self.send_frame(peer, node.options.window_bytes) {
            return Ok(false);
        }
        (round.group, round.entry) = (groups, 0);
        Ok(true)
    }

    /// Sends the entries of the frame, if the window and the link have room. Entries that wait are
    /// copied again later: they must not be older than what is acknowledged before they are sent.
    fn send_frame(&mut self, peer: &mut Peer, window_bytes: u64) -> bool {
        let is_open = self.sent_bytes - self.received_bytes < window_bytes;
        let is_sent = is_open && peer.send(kind::ENTRIES, &[&self.frame]).is_ok();
        if is_sent {
            self.sent_bytes += self.frame.len() as u64;
            self.frame.clear();
        }
        is_sent
    }
}
