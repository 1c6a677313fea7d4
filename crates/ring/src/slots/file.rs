//! Slot rings in files: made, taken over, replaced, opened, and looked at.
//!
//! Models know no files, and leave this module out.

use std::path::Path;

use nanotape_shm::{Origin, OwnedRegion, RegionOptions, SharedRegion, WORD_BYTES};

use super::{
    layout::{HEARTBEAT, KIND, Layout, TS_PUBLISH},
    reader::Reader,
    writer::Writer,
};
use crate::{RingError, Start, Subscribe as _, stat::Seen};

impl Writer {
    /// Makes a ring of so many slots, for payloads up to `max_length` bytes, at `path`, or takes
    /// over the one that is there if its writer is gone: then the first message is the successor of
    /// the last, and readers stay where they are.
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

    /// Makes an empty ring at `path` in place of what is there, whatever its size and however
    /// damaged; but not while its writer is alive.
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
    /// Joins the ring at `path`. Needs no more than permission to read the file.
    pub fn open(path: &Path, start: Start) -> Result<Self, RingError> {
        Self::join(SharedRegion::open(path, KIND)?, start)
    }
}

/// What the words of a slot ring say of it.
pub(crate) fn look(region: &SharedRegion) -> Result<Seen, RingError> {
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
