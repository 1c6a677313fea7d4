//! All memory orderings between an appender and its tailers.
//!
//! `docs/formats/journal.md` explains each one. `models.rs` weakens each in turn and must then
//! observe a forbidden outcome. All other data is checked by its checksum and needs no ordering.

use nanotape_shm::Edge;

/// The commit word of an excerpt, stored last: a tailer that sees it sees the whole excerpt.
pub(crate) const COMMIT: Edge = Edge::new("journal.commit");

/// The activation of a segment, stored after the end mark of the previous one: a tailer that sees
/// it also sees that mark.
pub(crate) const ACTIVATE: Edge = Edge::new("journal.activate");

/// The appender's progress, for the pretoucher in its process: a thread that sees it sees the
/// committed words before it.
pub(crate) const PROGRESS: Edge = Edge::new("journal.progress");

/// All edges, for the models.
#[cfg(all(test, nanotape_loom))]
pub(crate) const ALL: [Edge; 3] = [COMMIT, ACTIVATE, PROGRESS];
