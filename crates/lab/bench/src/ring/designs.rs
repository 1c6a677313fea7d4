//! The two rings behind one interface for the benchmark.

use std::path::Path;

use nanotape_ring::{Publish, RingError, Start, Subscribe, slots, stream};

/// Bytes in front of a payload, in both rings.
const HEADER_BYTES: usize = 16;

/// One of the measured rings.
pub(super) trait Design {
    type Writer: Publish;
    type Reader: Subscribe;

    /// Creates a ring for messages of `length` bytes.
    fn create(path: &Path, capacity_bytes: usize, length: usize)
    -> Result<Self::Writer, RingError>;

    /// Opens a reader at the beginning of the ring.
    fn open(path: &Path) -> Result<Self::Reader, RingError>;

    /// Number of messages that the ring holds.
    fn messages(capacity_bytes: usize, length: usize) -> u64;
}

#[derive(Debug)]
pub(super) enum Stream {}

#[derive(Debug)]
pub(super) enum Slots {}

impl Design for Stream {
    type Writer = stream::Writer;
    type Reader = stream::Reader;

    fn create(path: &Path, capacity_bytes: usize, _: usize) -> Result<Self::Writer, RingError> {
        Ok(stream::Writer::create(path, capacity_bytes, &Default::default())?.0)
    }

    fn open(path: &Path) -> Result<Self::Reader, RingError> {
        stream::Reader::open(path, Start::Oldest)
    }

    fn messages(capacity_bytes: usize, length: usize) -> u64 {
        (capacity_bytes / (HEADER_BYTES + length.next_multiple_of(8))) as u64
    }
}

impl Design for Slots {
    type Writer = slots::Writer;
    type Reader = slots::Reader;

    fn create(
        path: &Path,
        capacity_bytes: usize,
        length: usize,
    ) -> Result<Self::Writer, RingError> {
        let slots = Self::messages(capacity_bytes, length) as usize;
        Ok(slots::Writer::create(path, slots, length, &Default::default())?.0)
    }

    fn open(path: &Path) -> Result<Self::Reader, RingError> {
        slots::Reader::open(path, Start::Oldest)
    }

    /// The largest power of two of slots that fits into the size.
    fn messages(capacity_bytes: usize, length: usize) -> u64 {
        let slot_bytes = (HEADER_BYTES + length.next_multiple_of(8)).next_multiple_of(64);
        let slots = (capacity_bytes / slot_bytes) as u64;
        slots.checked_ilog2().map_or(0, |shift| 1 << shift)
    }
}

/// Number of messages that the smaller of the two rings holds.
pub(super) fn fewest_messages(capacity_bytes: usize, length: usize) -> u64 {
    Slots::messages(capacity_bytes, length).min(Stream::messages(capacity_bytes, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_eight_megabytes_holds_so_many_messages() {
        assert_eq!(Stream::messages(8 << 20, 73), 87_381);
        assert_eq!(Slots::messages(8 << 20, 73), 65_536);
        assert_eq!(fewest_messages(4_096, 4_096), 0);
    }
}
