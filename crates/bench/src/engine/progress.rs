//! How far a reader is: the next sequence number that it wants, 0 before it reads.

use nanotape_shm::{OwnedRegion, RegionOptions, RegionSpec, SharedRegion};

use super::{Benchmark, Worker};
use crate::error::Error;

const PROGRESS: RegionSpec =
    RegionSpec { kind: *b"PROGRESS", layout: 1, parameters: [0; 4], words: 16 };

fn name(index: usize) -> String {
    format!("progress-{index}")
}

impl<B: Benchmark> Worker<B> {
    /// The region of a reader, in its own process.
    pub(crate) fn own_progress(&self, index: usize) -> Result<OwnedRegion, Error> {
        let path = self.path(&name(index));
        Ok(OwnedRegion::create(&path, PROGRESS, &RegionOptions::default(), |_| ())?.0)
    }

    /// The regions of all readers, in the writer's process.
    pub(crate) fn join_readers(&self, readers: usize) -> Result<Vec<SharedRegion>, Error> {
        let join = |index| {
            let name = name(index);
            let open = |worker: &Self| SharedRegion::open(&worker.path(&name), PROGRESS.kind);
            Ok(self.meet(open)?)
        };
        (0..readers).map(join).collect()
    }
}
