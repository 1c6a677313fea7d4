//! What keeps a plant from overwriting messages that its recorder still needs.

use std::{path::Path, path::PathBuf, sync::Arc};

use super::process::Supervised;
use crate::RecorderReader;

/// The distance that a plant keeps from its recorder.
#[derive(Debug)]
pub(crate) struct Gate {
    ring: PathBuf,
    reader: RecorderReader,
    /// The distance at which the plant waits.
    limit_bytes: u64,
    supervised: Arc<Supervised>,
    waited_ns: u64,
}

impl Gate {
    pub(super) fn new(
        ring: &Path,
        reader: RecorderReader,
        limit_bytes: u64,
        supervised: Arc<Supervised>,
    ) -> Self {
        Self { ring: ring.to_owned(), reader, limit_bytes, supervised, waited_ns: 0 }
    }

    /// Whether a plant at this position of its ring has to wait. One load.
    #[inline]
    pub(crate) fn is_closed(&self, position_bytes: u64) -> bool {
        // No order is needed: a reader checks for itself whether it was lapped. The region is
        // untrusted: a position beyond that of the plant closes nothing.
        position_bytes.saturating_sub(self.reader.position_bytes()) > self.limit_bytes
    }

    /// Opens the region again if its file was replaced. Two system calls.
    pub(crate) fn refresh(&mut self) {
        reopen(&self.ring, &mut self.reader);
    }

    /// Whether the recorder has failed for good.
    pub(crate) fn has_failed(&self) -> bool {
        self.supervised.has_failed()
    }

    pub(crate) fn add_wait(&mut self, nanos: u64) {
        self.waited_ns = self.waited_ns.saturating_add(nanos);
    }

    /// How long the plant waited.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.waited_ns
    }
}

/// Opens the region of a ring's recorder again if its file was replaced.
pub(super) fn reopen(ring: &Path, reader: &mut RecorderReader) {
    if reader.region().check().is_err()
        && let Ok(current) = RecorderReader::open(ring)
    {
        *reader = current;
    }
}
