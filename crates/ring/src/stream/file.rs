//! Stream rings in files: made, taken over, replaced, opened, and looked at.
//!
//! Models know no files, and leave this module out.

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
    /// Makes a ring of so many bytes at `path`, or takes over the one that is there if its writer
    /// is gone: then the first message is the successor of the last, and readers stay where they
    /// are.
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

    /// Makes an empty ring at `path` in place of what is there, whatever its size and however
    /// damaged; but not while its writer is alive.
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
    /// Joins the ring at `path`. Needs no more than permission to read the file.
    pub fn open(path: &Path, start: Start) -> Result<Self, RingError> {
        Self::join(SharedRegion::open(path, KIND)?, start)
    }
}

/// What the words of a stream ring say of it.
pub(crate) fn look(region: &SharedRegion) -> Result<Seen, RingError> {
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
