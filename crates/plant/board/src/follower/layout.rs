//! The meaning of each word of a follower's region.

use nanotape_shm::field;

/// The kind of region.
pub const KIND: [u8; 8] = *b"FOLLOWER";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"follow 1");

// Parameters in the header, constant for a follower.
/// Creation time of the ring's region.
pub(super) const RING_CREATED_NS: usize = 0;
/// The writer of the ring that is followed; 0: every writer.
pub(super) const WRITER_EPOCH: usize = 1;
/// The first message to read.
pub(super) const FIRST_SEQUENCE: usize = 2;

/// The number of the next message to read.
pub(super) const NEXT_SEQUENCE: usize = 0;
/// Its position in the ring.
pub(super) const POSITION: usize = 1;
pub(super) const LOST: usize = 2;
/// The number of the last message that was overwritten before it was read; 0: none.
pub(super) const LAST_LOST: usize = 3;
pub(super) const WORDS: usize = 4;

/// Offset and size in bytes and the name of each word, as in `docs/formats/follower.md`.
pub const FIELDS: [(usize, usize, &str); 4] = [
    field(NEXT_SEQUENCE, 1, "next_sequence"),
    field(POSITION, 1, "position_bytes"),
    field(LOST, 1, "lost"),
    field(LAST_LOST, 1, "last_lost_sequence"),
];
