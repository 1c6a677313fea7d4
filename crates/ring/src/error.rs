//! Why a ring cannot be made, taken over or joined, and why a message cannot be published.

use crate::{ReadError, StartError, slots, stream};

/// Why a ring cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// Not a size that a ring can have.
    #[error(
        "invalid ring capacity {capacity_bytes}: use a power of two from {} to {}",
        stream::MIN_CAPACITY_BYTES,
        stream::MAX_CAPACITY_BYTES
    )]
    Capacity {
        /// What was asked for, or found in a region's header.
        capacity_bytes: usize,
    },
    /// Not what a slot ring can have.
    #[error(
        "invalid slots, {slots} of {max_length} bytes: use a power of two from {} to {}, \
         of at most {} bytes each",
        slots::MIN_SLOTS,
        slots::MAX_SLOTS,
        slots::MAX_SLOT_BYTES
    )]
    Slots {
        /// How many were asked for, or found in a region's header.
        slots: usize,
        /// Their longest payload in bytes.
        max_length: usize,
    },
    /// The ring was made by another version of nanotape.
    #[error(
        "ring layout `{}`, but this program supports `{}`: use the version that created the ring, \
         or replace it",
        known_as(*found),
        known_as(*known)
    )]
    Layout {
        /// What the region's header states.
        found: u64,
        /// What this program reads and writes.
        known: u64,
    },
    /// The region under the ring cannot be used.
    #[cfg(not(nanotape_loom))]
    #[error(transparent)]
    Region(#[from] nanotape_shm::RegionError),
    /// A region's header states a capacity that its words cannot hold.
    #[error("the region has {words} words, but its capacity needs {needed}")]
    Words {
        /// Words that there are.
        words: usize,
        /// Words that there should be.
        needed: usize,
    },
    /// The reader cannot begin there.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The ring's content is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
}

#[cfg(not(nanotape_loom))]
impl RingError {
    /// Whether the writer may be about to create the ring: then a retry may succeed.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Region(error) if error.refusal().is_pending())
    }
}

/// Why a message was not published. The ring is as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// No message may be so long.
    #[error("a message of {length} bytes is too long: this ring takes at most {max}")]
    TooLong {
        /// Its bytes of payload.
        length: usize,
        /// The most there may be.
        max: usize,
    },
    /// The batch is as long as a batch may be: publish it, and push the message to the next one.
    #[error("the batch has no space for a message of {length} bytes: publish it first")]
    BatchFull {
        /// The message's bytes of payload.
        length: usize,
    },
}

/// A layout as text: it is eight letters, or damaged.
fn known_as(layout: u64) -> String {
    layout.to_be_bytes().escape_ascii().to_string()
}
