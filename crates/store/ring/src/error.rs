//! Why a ring cannot be created, taken over or joined, and why a message cannot be published.

use crate::{ReadError, StartError, slots, stream};

/// Why a ring cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// Invalid size of a stream ring.
    #[error(
        "invalid ring capacity {capacity_bytes}: use a power of two from {} to {}{}",
        stream::MIN_CAPACITY_BYTES,
        stream::MAX_CAPACITY_BYTES,
        such_as(*capacity_bytes, stream::MIN_CAPACITY_BYTES, stream::MAX_CAPACITY_BYTES, bytes)
    )]
    Capacity {
        /// The requested size, or that of a region's header.
        capacity_bytes: usize,
    },
    /// Invalid sizes of a slot ring.
    #[error(
        "invalid slots, {slots} of {max_length} bytes: use a power of two from {} to {}{}, \
         of at most {} bytes each",
        slots::MIN_SLOTS,
        slots::MAX_SLOTS,
        such_as(*slots, slots::MIN_SLOTS, slots::MAX_SLOTS, |slots| slots.to_string()),
        slots::MAX_SLOT_BYTES
    )]
    Slots {
        /// The requested number, or that of a region's header.
        slots: usize,
        /// Their longest payload in bytes.
        max_length: usize,
    },
    /// The ring was created by another version of nanotape.
    #[error(
        "ring layout `{}`, but this program supports `{}`: use the version that created the ring, \
         or replace it",
        known_as(*found),
        known_as(*known)
    )]
    Layout {
        /// The layout in the region's header.
        found: u64,
        /// The layout of this program.
        known: u64,
    },
    /// The region under the ring cannot be used.
    #[cfg(not(nanotape_loom))]
    #[error(transparent)]
    Region(#[from] nanotape_shm::RegionError),
    /// The region is too small for the capacity in its header.
    #[error("the region has {words} words, but its capacity needs {needed}")]
    Words {
        /// Words of the region.
        words: usize,
        /// Words of a ring with this capacity.
        needed: usize,
    },
    /// The reader cannot begin at the requested position.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The ring's content is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The nearest powers of two within the limits, as the end of an advice; nothing for a number that
/// is one of them.
fn such_as(value: usize, least: usize, most: usize, text: fn(usize) -> String) -> String {
    let near = value.clamp(least, most);
    let (below, above) = (1 << near.ilog2(), near.next_power_of_two());
    match value {
        _ if value == below => String::new(),
        _ if below == above => format!(", such as {}", text(above)),
        _ => format!(", such as {} or {}", text(below), text(above)),
    }
}

/// A power of two of bytes, as the command line reads it: `64MiB`.
fn bytes(bytes: usize) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| bytes >= 1 << shift);
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(not(nanotape_loom))]
impl RingError {
    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Region(error) => error.is_bad_data(),
            Self::Read(_) | Self::Start(StartError::Damaged(_)) | Self::Words { .. } => true,
            _ => false,
        }
    }

    /// Whether the writer may be about to create the ring, so that a retry might succeed.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Region(error) if error.refusal().is_pending())
    }
}

/// Why a message was not published. The ring is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The message is longer than the limit.
    #[error("a message of {length} bytes is too long: this ring takes at most {max}")]
    TooLong {
        /// Bytes of its payload.
        length: usize,
        /// The limit.
        max: usize,
    },
    /// The batch is full: publish it, and push the message to the next one.
    #[error("the batch has no space for a message of {length} bytes: publish it first")]
    BatchFull {
        /// Bytes of the message's payload.
        length: usize,
    },
    /// The next message cannot have this number.
    #[error("the next message cannot have number {sequence}: use {next} to {max}")]
    Sequence {
        /// The requested number.
        sequence: u64,
        /// The number of the next message: a ring uses each number once.
        next: u64,
        /// The largest number of a message.
        max: u64,
    },
}

/// A layout as text: eight letters, unless damaged.
fn known_as(layout: u64) -> String {
    layout.to_be_bytes().escape_ascii().to_string()
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_size_is_refused_with_the_nearest_ones() {
        for (capacity_bytes, near) in [
            (104_857_600, ", such as 64MiB or 128MiB"),
            (4_097, ", such as 4KiB or 8KiB"),
            (1, ", such as 4KiB"),
            (usize::MAX, ", such as 1TiB"),
        ] {
            let text = RingError::Capacity { capacity_bytes }.to_string();
            let limits = "use a power of two from 4096 to 1099511627776";
            assert_eq!(text, format!("invalid ring capacity {capacity_bytes}: {limits}{near}"));
        }
        let text = RingError::Slots { slots: 100, max_length: 32 }.to_string();
        assert!(text.contains(" from 8 to 4294967296, such as 64 or 128, of at most "), "{text}");
        // The size is valid, and the length is not.
        let text = RingError::Slots { slots: 64, max_length: 1 << 30 }.to_string();
        assert!(text.contains(" from 8 to 4294967296, of at most 1048576 bytes each"), "{text}");
    }
}
