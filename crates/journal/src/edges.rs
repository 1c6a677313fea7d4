//! The promises of order between an appender and its tailers: all there are.
//!
//! `docs/formats/journal.md` says what each one is for; `tests/loom` weakens each in turn and must then
//! see an outcome that is not allowed.

use nanotape_shm::Edge;

/// An excerpt's commit word, stored last: who sees it sees the excerpt.
pub const COMMIT: Edge = Edge::new("journal.commit");

/// The check of an index entry, stored last: who sees it sees the entry and the excerpt it leads to.
pub const INDEX: Edge = Edge::new("journal.index");

/// The activation of a segment, stored behind the end mark of the one before.
pub const ACTIVATE: Edge = Edge::new("journal.activate");

/// The position up to which a segment is on the disk: who sees it sees the excerpts before it.
pub const SYNCED: Edge = Edge::new("journal.synced");

/// How far the appender is, for the helper in its own process: who sees it sees what is committed there.
pub(crate) const PROGRESS: Edge = Edge::new("journal.progress");

/// Those between processes, for the models.
pub const ALL: [Edge; 4] = [COMMIT, INDEX, ACTIVATE, SYNCED];
