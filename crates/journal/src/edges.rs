//! The promises of order between an appender and its tailers: all there are.
//!
//! `docs/formats/journal.md` says what each one is for; `models.rs` weakens each in turn and must
//! then see an outcome that is not allowed. Everything else is checked by its sum, and needs no
//! order.

use nanotape_shm::Edge;

/// An excerpt's commit word, stored last: who sees it sees the excerpt.
pub(crate) const COMMIT: Edge = Edge::new("journal.commit");

/// The activation of a segment, stored behind the end mark of the one before: who sees it sees
/// that.
pub(crate) const ACTIVATE: Edge = Edge::new("journal.activate");

/// How far the appender is, for the pretoucher in its own process: who sees it sees what is
/// committed there.
pub(crate) const PROGRESS: Edge = Edge::new("journal.progress");

/// All of them, for the models.
#[cfg(all(test, nanotape_loom))]
pub(crate) const ALL: [Edge; 3] = [COMMIT, ACTIVATE, PROGRESS];
