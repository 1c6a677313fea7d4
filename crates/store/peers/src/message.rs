//! What two nodes send each other, as payloads of frames.
//!
//! Layout: `docs/formats/peers.md`. All fields are words of eight bytes, low byte first.

use nanotape_link::Peer;

/// The service of a link between two nodes.
pub const SERVICE: [u8; 8] = *b"PEERMAP1";

/// The longest payload of a frame, in bytes: the longest entry and all members fit. Both sides
/// accept it, unless entries are shorter.
pub const FRAME_BYTES: usize = 1 << 17;

/// Numbers of changes are smaller: an index needs the upper bits.
pub(crate) const END_OF_NUMBERS: u64 = 1 << 48;

/// Kinds of frames.
pub(crate) mod kind {
    pub(crate) const STATE: u16 = 1;
    pub(crate) const MEMBERS: u16 = 2;
    pub(crate) const CURSOR: u16 = 3;
    pub(crate) const ENTRIES: u16 = 4;
    pub(crate) const ROUND: u16 = 5;
    pub(crate) const PROGRESS: u16 = 6;
    pub(crate) const REFUSAL: u16 = 7;
}

/// Bytes of a state: both sides must accept a frame of it.
pub(crate) const STATE_BYTES: usize = 9 * 8;

/// What a node states first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeHello {
    pub(crate) cluster: u64,
    pub(crate) node: u16,
    pub(crate) life: u64,
    pub(crate) incarnation: u64,
    /// Words of a key, and in the upper half those of a value of the user.
    pub(crate) sizes: u64,
    pub(crate) value_layout: u64,
    /// Entries of its map, with the removed ones.
    pub(crate) entries: u64,
    pub(crate) has_joined: bool,
    /// Bytes that it sends without a report: one is due after a quarter of them.
    pub(crate) window_bytes: u64,
}

impl NodeHello {
    pub(crate) fn words(&self) -> [u64; STATE_BYTES / 8] {
        [
            self.cluster,
            u64::from(self.node),
            self.life,
            self.incarnation,
            self.sizes,
            self.value_layout,
            self.entries,
            u64::from(self.has_joined),
            self.window_bytes,
        ]
    }

    pub(crate) fn of(words: [u64; STATE_BYTES / 8]) -> Option<Self> {
        let [cluster, node, life, incarnation, sizes, value_layout, entries, joined, window_bytes] =
            words;
        let node = u16::try_from(node).ok().filter(|node| *node != 0)?;
        let has_joined = joined != 0;
        (joined <= 1).then_some(Self {
            cluster,
            node,
            life,
            incarnation,
            sizes,
            value_layout,
            entries,
            has_joined,
            window_bytes,
        })
    }
}

/// The words of a payload that has nothing else.
pub(crate) fn only<const WORDS: usize>(payload: &[u8]) -> Option<[u64; WORDS]> {
    let (words, []) = payload.as_chunks::<8>() else { return None };
    let words: &[[u8; 8]; WORDS] = words.try_into().ok()?;
    Some(words.map(u64::from_le_bytes))
}

/// Sends a frame of words; returns whether there was room.
pub(crate) fn send_words<const WORDS: usize>(
    peer: &mut Peer,
    kind: u16,
    words: [u64; WORDS],
) -> bool {
    peer.send(kind, &[words.map(u64::to_le_bytes).as_flattened()]).is_ok()
}
