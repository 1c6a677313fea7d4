//! Stream rings in files: created, taken over, replaced, opened, and inspected.
//!
//! Models have no files, and leave this module out.

use std::path::Path;

use nanotape_shm::{Origin, OwnedRegion, RegionOptions, SharedRegion, WORD_BYTES, Word};

use super::{
    join,
    layout::{HEARTBEAT, KIND, Layout, TS_PUBLISH},
    reader::Reader,
    writer::{Writer, initialise},
};
use crate::{RingError, Start, stat::Seen};

impl Writer {
    /// Creates a ring of `capacity_bytes` at `path`, or takes over the existing ring if its writer
    /// exited. Then the first message follows the last one, and readers keep their positions.
    pub fn create(
        path: &Path,
        capacity_bytes: usize,
        options: &RegionOptions,
    ) -> Result<(Self, Origin), RingError> {
        let layout = Layout::new(capacity_bytes)?;
        let begin = |words: &[Word]| initialise(layout, words);
        let (region, origin) = OwnedRegion::create(path, layout.spec(), options, begin)?;
        Ok((Self::resume(region)?, origin))
    }

    /// Creates an empty ring at `path` that replaces the existing file, even if it is damaged or of
    /// another size; fails while its writer is alive.
    pub fn replace(
        path: &Path,
        capacity_bytes: usize,
        options: &RegionOptions,
    ) -> Result<(Self, Origin), RingError> {
        let layout = Layout::new(capacity_bytes)?;
        let begin = |words: &[Word]| initialise(layout, words);
        let (region, origin) = OwnedRegion::replace(path, layout.spec(), options, begin)?;
        Ok((Self::resume(region)?, origin))
    }
}

impl Reader {
    /// Joins the ring at `path`. Needs only permission to read the file.
    pub fn open(path: &Path, start: Start) -> Result<Self, RingError> {
        Self::join(SharedRegion::open(path, KIND)?, start)
    }
}

/// Statistics from the words of a stream ring.
pub(crate) fn sample(region: &SharedRegion) -> Result<Seen, RingError> {
    let layout = Layout::of(region.spec())?;
    let words = region.words();
    let oldest_sequence = join::find(layout, words, Start::Oldest)?.sequence;
    let end = join::find(layout, words, Start::Newest)?;
    Ok(Seen {
        oldest_sequence,
        next_sequence: end.sequence,
        used_bytes: end.position.min(layout.capacity) * WORD_BYTES as u64,
        ts_publish_ns: words[TS_PUBLISH].load(),
        heartbeat_ns: words[HEARTBEAT].load(),
    })
}
