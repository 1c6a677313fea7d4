//! The orderings between writers and readers of a map; `docs/formats/latest.md` lists them.

use nanotape_shm::Edge;

/// Who sees a group open, or takes its lock, sees all changes before; a reader that sees a change
/// of a group sees that its lock was taken.
pub(crate) const LOCK: Edge = Edge::new("latest.lock");

/// Who sees that the change in a slot is complete sees all of it; who sees a changed word in a
/// group sees that the change was complete, and who sees a word of the next change sees that the
/// one before is no longer valid.
pub(crate) const REDO: Edge = Edge::new("latest.redo");
