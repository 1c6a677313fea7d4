//! Copies of a journal on other machines: the same segments, word for word.
//!
//! Where: below replication. [`Copier`] reads the words of a journal in order, and [`Replica`]
//! writes them to another one. How they travel is not known here.
//! Layout: `docs/formats/journal.md`, Copies. Equal in both: the header, the activation and the
//! incarnation of each segment, its excerpts at the same positions, and its index. The words about
//! syncs and the compression are each machine's own.
//! Failure: an excerpt keeps the checksum that its appender computed, and is checked by both sides.

mod ahead;
mod copier;
mod digest;
mod head;
mod replica;
mod state;
mod sums;

pub use copier::{Copied, Copier, Resume};
pub use digest::ContentDigest;
pub use head::{HeadDigest, SegmentHead, last_incarnation};
pub use replica::Replica;
pub use state::CopyState;
pub use sums::{SegmentSum, segment_sums};
