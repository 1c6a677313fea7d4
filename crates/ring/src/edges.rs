//! The promises of order between a writer and its readers: all there are.
//!
//! `docs/formats/ring.md` says what each one is for; `tests/loom` weakens each in turn and must
//! then see an outcome that is not allowed.

use nanotape_shm::Edge;

/// A frame's commit word, stored last: who sees it sees the frame, and the zero behind it.
pub const PUBLISH: Edge = Edge::new("ring.publish");

/// The count of what is reserved, stored before anything there is overwritten: who sees an
/// overwritten word sees the count that covers it.
pub const RESERVE: Edge = Edge::new("ring.reserve");

/// The count of what is reserved, stored after everything that was published before it grew: who
/// sees it in a search for a place also sees a boundary that it leaves in the ring.
pub const GROW: Edge = Edge::new("ring.grow");

/// The position up to which everything is published: who sees it sees all frames before it.
pub const COMMIT: Edge = Edge::new("ring.commit");

/// The position of an index entry: who sees it sees the sequence number beside it, and the frame or
/// the zero that it leads to.
pub const INDEX: Edge = Edge::new("ring.index");

/// A slot's version, stored last: who sees it sees the slot's message.
pub const SLOT_PUBLISH: Edge = Edge::new("slots.publish");

/// A slot's odd version, stored before its message is overwritten: who sees an overwritten word
/// sees that the version changed.
pub const SLOT_CHANGE: Edge = Edge::new("slots.change");

/// The number of the last message: who sees it sees the message's slot.
pub const SLOT_COMMIT: Edge = Edge::new("slots.commit");

/// All of them, for the models.
pub const ALL: [Edge; 8] =
    [PUBLISH, RESERVE, GROW, COMMIT, INDEX, SLOT_PUBLISH, SLOT_CHANGE, SLOT_COMMIT];
