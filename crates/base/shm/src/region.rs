//! Regions: words that one process owns and writes, and any number of processes read.
//!
//! Where: RING, JOURNAL and LATEST build their structures over [`OwnedRegion::words`] and read them
//! through [`SharedRegion::words`]. They define the meaning of the words; this module defines which
//! process may write.
//! Layout: `docs/formats/region.md`; a region on the heap has no header but its owner's words.
//! Failure: a [`RegionError`] is one sentence with the path. Every value in a file is checked
//! before use, and the next owner can take over the region of a killed one.
//! Cost: system calls when a region is created or opened, and none to read or write its words.

#[cfg(not(nanotape_loom))]
mod create;
#[cfg(not(nanotape_loom))]
mod file;
mod header;
mod joined;
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
mod still;
#[cfg(not(nanotape_loom))]
mod tools;

use std::path::Path;

use memory::Memory;

use crate::word::{ReadWord, WORD_BYTES, Word, as_read_only};

#[cfg(not(nanotape_loom))]
pub(crate) use mapping::{Access, Mapping};

#[cfg(not(nanotape_loom))]
pub use create::{Origin, RegionOptions};
pub use header::{BYTE_ORDER_MARK, FIELDS, FORMAT_VERSION, HEADER_BYTES, Header, MAGIC, field};
pub use joined::{JoinedRegion, WriterSlot};
pub use owner::{Owner, OwnerState, Started};
pub use refusal::{Refusal, RegionError, Shortage};
pub use residency::{PageLock, RegionNode, RegionPages, Residency};
#[cfg(not(nanotape_loom))]
pub use still::StillRegion;
#[cfg(not(nanotape_loom))]
pub use tools::{RegionInfo, Removed, beside, inspect, named, remove};

/// The structure of a region, as in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionSpec {
    /// The kind of structure: eight characters, like `b"RING    "`.
    pub kind: [u8; 8],
    /// Changes whenever the meaning of a word changes.
    pub layout: u64,
    /// Parameters of the structure, such as capacities, in its own order.
    pub parameters: [u64; 4],
    /// Words after the header.
    pub words: usize,
}

/// A region that this process owns: only the owner may write. Dropping it marks the region as
/// closed in the header, which a killed process does not do.
#[derive(Debug)]
pub struct OwnedRegion {
    memory: Memory,
    spec: RegionSpec,
    epoch: u64,
    residency: Residency,
    ending: Ending,
}

/// What happens when an owner is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// The region is marked as closed.
    Closed,
    /// The end of this owner reads as that of a killed one.
    Abandoned,
    /// The region goes on without an owner, and its lock belongs to those who write it.
    #[cfg(not(nanotape_loom))]
    Joined,
}

/// A region that this process reads.
#[derive(Clone, Debug)]
pub struct SharedRegion {
    memory: Memory,
    spec: RegionSpec,
}

impl RegionSpec {
    /// Bytes of a region in a file, header included; `None` if the machine cannot address them.
    pub(crate) fn region_bytes(&self) -> Option<u64> {
        let payload = self.words.checked_mul(WORD_BYTES)?;
        let all = payload.checked_add(HEADER_BYTES)?;
        // The limit of a slice, with room for rounding to whole pages.
        (all <= isize::MAX as usize / 2).then_some(all as u64)
    }
}

impl OwnedRegion {
    /// Words in private memory, all zero: for threads of one process, and for tests.
    pub fn on_heap(spec: RegionSpec) -> Self {
        let memory = Memory::on_heap(spec.words);
        Self { memory, spec, epoch: 1, residency: Residency::default(), ending: Ending::Closed }
    }

    /// The words after the header.
    #[inline(always)]
    pub fn words(&self) -> &[Word] {
        self.memory.words()
    }

    /// The specification in the header.
    pub fn spec(&self) -> &RegionSpec {
        &self.spec
    }

    /// A reader of the same memory, in this process.
    pub fn share(&self) -> SharedRegion {
        SharedRegion { memory: self.memory.clone(), spec: self.spec }
    }

    /// The number of this owner: 1 created the region, and each take-over adds one.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The absolute path of its file; `None` on the heap.
    pub fn path(&self) -> Option<&Path> {
        self.memory.path()
    }

    /// Whether it is in huge pages and locked in memory, and the cause if not.
    pub fn residency(&self) -> Residency {
        self.residency.clone()
    }

    /// Checks that no other process truncated, removed or replaced the file. Two system calls.
    pub fn check(&self) -> Result<(), RegionError> {
        self.memory.check()
    }

    /// Marks the region as closed in the header, and releases the lock, like dropping it.
    pub fn close(self) {
        drop(self);
    }

    /// Releases the lock without marking the region as closed, as the death of this process does:
    /// for the copy of a region whose owner was killed.
    pub fn abandon(mut self) {
        self.ending = Ending::Abandoned;
    }

    /// Shares its words with other processes that write them.
    #[cfg(not(nanotape_loom))]
    fn into_joined(mut self) -> Result<JoinedRegion, RegionError> {
        if let Some(mapped) = self.memory.file() {
            mapped.file.share_lock()?;
        }
        self.ending = Ending::Joined;
        Ok(JoinedRegion::of(self.memory.clone(), self.spec, self.residency.clone()))
    }
}

impl Drop for OwnedRegion {
    fn drop(&mut self) {
        match self.ending {
            Ending::Closed => self.memory.close(true),
            Ending::Abandoned => self.memory.close(false),
            #[cfg(not(nanotape_loom))]
            Ending::Joined => {}
        }
    }
}

impl SharedRegion {
    /// The words after the header.
    #[inline(always)]
    pub fn words(&self) -> &[ReadWord] {
        as_read_only(self.memory.words())
    }

    /// The specification in the header.
    pub fn spec(&self) -> &RegionSpec {
        &self.spec
    }

    /// The number of the latest owner. One load: a reader can check for a new owner with each
    /// message.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.memory.epoch()
    }

    /// Creation time of the region, in ns since the UNIX epoch; 0 if unknown: on the heap, and if
    /// an earlier version created it. A take-over does not change it, so it identifies a region
    /// among those that were created later under the same path.
    pub fn created_ns(&self) -> u64 {
        self.memory.created_ns()
    }

    /// The latest owner, and whether it is alive: queries the kernel, once or twice.
    pub fn owner(&self) -> Owner {
        self.memory.owner()
    }

    /// Whether a living writer has this number, of a region that many write. A system call.
    pub fn is_writer_alive(&self, number: u32) -> bool {
        self.memory.is_writer_alive(number)
    }

    /// Checks that no other process truncated, removed or replaced the file. Two system calls.
    pub fn check(&self) -> Result<(), RegionError> {
        self.memory.check()
    }

    /// The user of its file; `None` on the heap, or if the kernel does not report it.
    pub fn user(&self) -> Option<u32> {
        self.memory.user()
    }

    /// Whether a part of it was truncated and reads as zeros now; needs
    /// [`guard_against_truncation`](crate::guard_against_truncation). One load.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.memory.is_lost()
    }

    /// The absolute path of its file; `None` on the heap.
    pub fn path(&self) -> Option<&Path> {
        self.memory.path()
    }
}
