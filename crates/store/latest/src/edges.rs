//! The orderings between writers and readers of a map; `docs/formats/latest.md` lists them.

use nanotape_shm::Edge;

/// Who has the lock of the rooms sees what was granted before; who sees that an insertion has ended
/// sees its entry.
pub(crate) const ROOM: Edge = Edge::new("latest.room");

/// Who sees a group open, or takes its lock, sees all changes before; a reader that sees a change
/// of a group sees that its lock was taken.
pub(crate) const LOCK: Edge = Edge::new("latest.lock");

/// Who sees that the change in a slot is complete sees all of it; who sees a changed word in a
/// group sees that the change was complete, and who sees a word of the next change sees that the
/// one before is no longer valid.
pub(crate) const REDO: Edge = Edge::new("latest.redo");
