//! All memory orderings between a writer and its readers.
//!
//! `docs/formats/ring.md` explains the purpose of each. `tests/loom` weakens each in turn and must
//! then find a forbidden outcome.

use nanotape_shm::Edge;

/// A frame's commit word, stored last: a reader that sees it also sees the frame and the zero after
/// it.
pub const PUBLISH: Edge = Edge::new("ring.publish");

/// The count of reserved words, stored before any of them is overwritten: a reader that sees an
/// overwritten word also sees a count that includes it.
pub const RESERVE: Edge = Edge::new("ring.reserve");

/// The count of reserved words, stored after everything that was published before it grew: a search
/// that sees it also sees a boundary that it leaves in the ring.
pub const GROW: Edge = Edge::new("ring.grow");

/// The position up to which everything is published: a reader that sees it also sees all frames
/// before it.
pub const COMMIT: Edge = Edge::new("ring.commit");

/// The position of an index entry: a reader that sees it also sees the sequence number of the
/// entry, and the frame or the zero at the position.
pub const INDEX: Edge = Edge::new("ring.index");

/// A slot's version, stored last: a reader that sees it also sees the slot's message.
pub const SLOT_PUBLISH: Edge = Edge::new("slots.publish");

/// A slot's odd version, stored before its message is overwritten: a reader that sees an
/// overwritten word also sees the changed version.
pub const SLOT_CHANGE: Edge = Edge::new("slots.change");

/// The number of the last message: a reader that sees it also sees the message's slot.
pub const SLOT_COMMIT: Edge = Edge::new("slots.commit");

/// All edges, for the models.
pub const ALL: [Edge; 8] =
    [PUBLISH, RESERVE, GROW, COMMIT, INDEX, SLOT_PUBLISH, SLOT_CHANGE, SLOT_COMMIT];
