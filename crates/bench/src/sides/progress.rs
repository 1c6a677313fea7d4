//! Where a reader says how far it is: the next sequence number that it wants, 0 before it reads.

use nanotape_shm::{OwnedRegion, RegionOptions, RegionSpec, SharedRegion};

use super::{SideError, Stage};

const PROGRESS: RegionSpec =
    RegionSpec { kind: *b"PROGRESS", layout: 1, parameters: [0; 4], words: 16 };

fn name(index: usize) -> String {
    format!("progress-{index}")
}

impl<J> Stage<J> {
    /// The region of a reader, in its own process.
    pub(crate) fn own_progress(&self, index: usize) -> Result<OwnedRegion, SideError> {
        let path = self.path(&name(index));
        Ok(OwnedRegion::create(&path, PROGRESS, &RegionOptions::default(), |_| ())?.0)
    }

    /// The regions of all readers, in the writer's process.
    pub(crate) fn join_readers(&self, readers: usize) -> Result<Vec<SharedRegion>, SideError> {
        let join = |index| {
            let name = name(index);
            let open = |stage: &Self| SharedRegion::open(&stage.path(&name), PROGRESS.kind);
            Ok(self.meet(open)?)
        };
        (0..readers).map(join).collect()
    }
}
