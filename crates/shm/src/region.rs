//! Regions: words that one process owns and writes, and any number of processes read.
//!
//! Where: RING, JOURNAL and LATEST build their structures over [`OwnedRegion::words`] and read them
//! through [`SharedRegion::words`]. What the words mean they know; this module knows who may write.
//! Layout: `docs/formats/region.md`; a region on the heap has no header but its owner's words.
//! Failure: a [`RegionError`] is one sentence with the path. Nothing that a file states is believed
//! before it was checked, and a killed owner leaves what the next one can take over.
//! Cost: system calls when a region is created or opened, and none to read or write its words.

#[cfg(not(nanotape_loom))]
mod create;
#[cfg(not(nanotape_loom))]
mod file;
mod header;
mod live;
#[cfg(not(nanotape_loom))]
mod mapping;
mod memory;
#[cfg(all(test, nanotape_loom))]
mod models;
#[cfg(not(nanotape_loom))]
mod open;
mod owner;
mod refusal;
mod residency;
#[cfg(not(nanotape_loom))]
mod tools;

use std::path::Path;

use memory::Memory;

use crate::word::{ReadWord, WORD_BYTES, Word, as_read_only};

#[cfg(not(nanotape_loom))]
pub(crate) use mapping::{Access, Mapping};

#[cfg(not(nanotape_loom))]
pub use create::{Origin, RegionOptions};
pub use header::{BYTE_ORDER_MARK, FIELDS, FORMAT_VERSION, HEADER_BYTES, Header, MAGIC};
pub use owner::{Owner, OwnerState, Started};
pub use refusal::{Refusal, RegionError};
pub use residency::{PageLock, RegionPages, Residency};
#[cfg(not(nanotape_loom))]
pub use tools::{RegionInfo, Removed, inspect, named, remove};

/// What a region is for, as its header states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionSpec {
    /// What is built on it: eight characters, like `b"RING    "`.
    pub kind: [u8; 8],
    /// Changes whenever the meaning of any word does.
    pub layout: u64,
    /// What the builder must know to read it: capacities, in the builder's own order.
    pub parameters: [u64; 4],
    /// Words behind the header.
    pub words: usize,
}

/// A region that this process owns: the only one that may write. Dropping it says in the header
/// that it is closed; a process that is killed does not get to say so.
#[derive(Debug)]
pub struct OwnedRegion {
    memory: Memory,
    spec: RegionSpec,
    epoch: u64,
    residency: Residency,
}

/// A region that this process reads.
#[derive(Clone, Debug)]
pub struct SharedRegion {
    memory: Memory,
    spec: RegionSpec,
}

impl RegionSpec {
    /// Bytes of a region in a file, header included; none where a machine cannot address so many.
    pub(crate) fn region_bytes(&self) -> Option<u64> {
        let payload = self.words.checked_mul(WORD_BYTES)?;
        let all = payload.checked_add(HEADER_BYTES)?;
        // A slice may not be larger than this; and the rounding to whole pages must fit.
        (all <= isize::MAX as usize / 2).then_some(all as u64)
    }
}

impl OwnedRegion {
    /// Words of this process's own memory, all zero: for threads of one process, and for tests.
    pub fn on_heap(spec: RegionSpec) -> Self {
        let memory = Memory::on_heap(spec.words);
        Self { memory, spec, epoch: 1, residency: Residency::default() }
    }

    /// The words behind the header.
    #[inline(always)]
    pub fn words(&self) -> &[Word] {
        self.memory.words()
    }

    /// What the header states.
    pub fn spec(&self) -> &RegionSpec {
        &self.spec
    }

    /// A reader of the same memory, in this process.
    pub fn share(&self) -> SharedRegion {
        SharedRegion { memory: self.memory.clone(), spec: self.spec }
    }

    /// Which owner this is: 1 created the region, and each that takes it over is one more.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The absolute path of its file; none on the heap.
    pub fn path(&self) -> Option<&Path> {
        self.memory.path()
    }

    /// Whether it is in huge pages and locked in memory, and why not.
    pub fn residency(&self) -> Residency {
        self.residency.clone()
    }

    /// Whether somebody cut, removed or replaced the file behind our back. Two system calls.
    pub fn check(&self) -> Result<(), RegionError> {
        self.memory.check()
    }

    /// Says in the header that the owner is done, and lets go; so does dropping it.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for OwnedRegion {
    fn drop(&mut self) {
        self.memory.close();
    }
}

impl SharedRegion {
    /// The words behind the header.
    #[inline(always)]
    pub fn words(&self) -> &[ReadWord] {
        as_read_only(self.memory.words())
    }

    /// What the header states.
    pub fn spec(&self) -> &RegionSpec {
        &self.spec
    }

    /// Counts owners. One load: a reader may ask with each message whether a new owner came.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.memory.epoch()
    }

    /// When the region was created, in ns since the UNIX epoch; 0 where it is not known: on the
    /// heap, and where an earlier version created it. Owners that take the region over leave it as
    /// it is, so it tells a region from another one that was created later under the same path.
    pub fn created_ns(&self) -> u64 {
        self.memory.created_ns()
    }

    /// The latest owner, and whether it lives: asks the kernel, once or twice.
    pub fn owner(&self) -> Owner {
        self.memory.owner()
    }

    /// Whether somebody cut, removed or replaced the file behind our back. Two system calls.
    pub fn check(&self) -> Result<(), RegionError> {
        self.memory.check()
    }

    /// Whether a part of it was cut off and reads as zeros now; only
    /// [`guard_against_truncation`](crate::guard_against_truncation) finds out. One load.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.memory.is_lost()
    }

    /// The absolute path of its file; none on the heap.
    pub fn path(&self) -> Option<&Path> {
        self.memory.path()
    }
}
