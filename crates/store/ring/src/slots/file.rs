//! Slot rings in files: created, taken over, replaced, opened, and inspected.
//!
//! Models have no files, and leave this module out.

use std::path::Path;

use nanotape_shm::{Origin, OwnedRegion, RegionOptions, SharedRegion, WORD_BYTES};

use super::{
    layout::{HEARTBEAT, KIND, Layout, TS_PUBLISH},
    reader::Reader,
    writer::Writer,
};
use crate::{RingError, Start, Subscribe as _, stat::Seen};

impl Writer {
    /// Creates a ring of `slots` slots, for payloads up to `max_length` bytes, at `path`, or takes
    /// over the existing ring if its writer exited. Then the first message follows the last one,
    /// and readers keep their positions.
    pub fn create(
        path: &Path,
        slots: usize,
        max_length: usize,
        options: &RegionOptions,
    ) -> Result<(Self, Origin), RingError> {
        let layout = Layout::new(slots, max_length)?;
        let (region, origin) = OwnedRegion::create(path, layout.spec(), options, |_| ())?;
        Ok((Self::resume(region)?, origin))
    }

    /// Creates an empty ring at `path` that replaces the existing file, even if it is damaged or of
    /// another size; fails while its writer is alive.
    pub fn replace(
        path: &Path,
        slots: usize,
        max_length: usize,
        options: &RegionOptions,
    ) -> Result<(Self, Origin), RingError> {
        let layout = Layout::new(slots, max_length)?;
        let (region, origin) = OwnedRegion::replace(path, layout.spec(), options, |_| ())?;
        Ok((Self::resume(region)?, origin))
    }
}

impl Reader {
    /// Joins the ring at `path`. Needs only permission to read the file.
    pub fn open(path: &Path, start: Start) -> Result<Self, RingError> {
        Self::join(SharedRegion::open(path, KIND)?, start)
    }
}

/// Statistics from the words of a slot ring.
pub(crate) fn sample(region: &SharedRegion) -> Result<Seen, RingError> {
    let mut reader = Reader::join(region.clone(), Start::Oldest)?;
    let oldest_sequence = reader.next_sequence();
    reader.seek(Start::Newest)?;
    let next_sequence = reader.next_sequence();
    let layout = Layout::of(region.spec())?;
    let slots = (next_sequence - 1).min(layout.slots);
    Ok(Seen {
        oldest_sequence,
        next_sequence,
        used_bytes: slots * (layout.slot_words * WORD_BYTES) as u64,
        ts_publish_ns: region.words()[TS_PUBLISH].load(),
        heartbeat_ns: region.words()[HEARTBEAT].load(),
    })
}
