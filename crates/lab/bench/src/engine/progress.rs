//! The position of a reader: its next sequence number, 0 before it reads.

use nanotape_shm::{OwnedRegion, RegionOptions, RegionSpec, SharedRegion};

use super::{Benchmark, Worker};
use crate::error::Error;

const PROGRESS: RegionSpec =
    RegionSpec { kind: *b"PROGRESS", layout: 1, parameters: [0; 4], words: 16 };

fn name(index: usize) -> String {
    format!("progress-{index}")
}

impl<B: Benchmark> Worker<B> {
    /// Creates the region of a reader, in the reader's process.
    pub(crate) fn own_progress(&self, index: usize) -> Result<OwnedRegion, Error> {
        let path = self.path(&name(index));
        Ok(OwnedRegion::create(&path, PROGRESS, &RegionOptions::default(), |_| ())?.0)
    }

    /// Opens the regions of all readers, in the writer's process.
    pub(crate) fn join_readers(&self, readers: usize) -> Result<Vec<SharedRegion>, Error> {
        let join = |index| {
            let name = name(index);
            let open = |worker: &Self| SharedRegion::open(&worker.path(&name), PROGRESS.kind);
            Ok(self.meet(open)?)
        };
        (0..readers).map(join).collect()
    }
}
