//! Regions that any number of processes write: LATEST. Each writer has a number, and the kernel
//! knows which of them are alive.
//!
//! Protocol: the process that creates the region has the owner's lock alone until the words are
//! initialised, and shares it from then on; every process that joins shares it too. So a region is
//! initialised once, however many processes create it at the same time and whichever of them are
//! killed, and none is removed or replaced while a process can write to it. A writer also has the
//! lock of the byte with its number. The structure in the words defines who may store what.
//! Failure: a joining process waits for a creator for ten seconds, and reports that it is not done.

use std::{
    collections::BTreeSet,
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
};
#[cfg(not(nanotape_loom))]
use std::{path::Path, time::Duration};

use super::{RegionSpec, Residency, SharedRegion, memory::Memory, refusal::RegionError};
#[cfg(not(nanotape_loom))]
use super::{
    create::{Existing, RegionOptions, create, same_meaning, same_spec},
    file::RegionFile,
    mapping::{Access, Mapping},
    memory::MappedFile,
    refusal::Refusal,
};
#[cfg(not(nanotape_loom))]
use crate::owner_lock::WriterLock;
use crate::word::Word;

/// Attempts while another process creates the region, with a [`PAUSE`] between them.
#[cfg(not(nanotape_loom))]
const ATTEMPTS: u32 = 10_000;

#[cfg(not(nanotape_loom))]
const PAUSE: Duration = Duration::from_millis(1);

/// A region that this process writes together with others.
#[derive(Clone, Debug)]
pub struct JoinedRegion {
    memory: Memory,
    spec: RegionSpec,
    residency: Residency,
}

/// The number of a writer, which no other living writer of the region has. Dropping it gives the
/// number back, as the death of the process does.
#[derive(Debug)]
pub struct WriterSlot {
    number: u32,
    _lock: SlotLock,
}

#[derive(Debug)]
#[expect(dead_code, reason = "they are dropped, which releases the lock")]
enum SlotLock {
    Heap(HeapSlot),
    #[cfg(not(nanotape_loom))]
    File(WriterLock),
}

/// The numbers of the living writers of a region on the heap.
pub(super) type HeapWriters = Arc<Mutex<BTreeSet<u32>>>;

#[derive(Debug)]
struct HeapSlot {
    writers: HeapWriters,
    number: u32,
}

impl Drop for HeapSlot {
    fn drop(&mut self) {
        numbers(&self.writers).remove(&self.number);
    }
}

fn numbers(writers: &HeapWriters) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
    writers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a writer of a region on the heap is alive.
pub(super) fn is_alive(writers: &HeapWriters, number: u32) -> bool {
    numbers(writers).contains(&number)
}

impl WriterSlot {
    /// From 1 on.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl JoinedRegion {
    /// Words in private memory, all zero: for threads of one process, and for tests.
    pub fn on_heap(spec: RegionSpec) -> Self {
        Self { memory: Memory::on_heap(spec.words), spec, residency: Residency::default() }
    }

    /// Joins the region of this spec and user, or creates it if there is none. `initialise` gets
    /// the words of a new region, all zero, before any other process. Returns whether it is new.
    #[cfg(not(nanotape_loom))]
    pub fn join(
        path: &Path,
        spec: RegionSpec,
        options: &RegionOptions,
        initialise: impl FnOnce(&[Word]),
    ) -> Result<(Self, bool), RegionError> {
        let mut initialise = Some(initialise);
        let mut attempts = 0;
        loop {
            let refused = match Self::open_if(path, options, |found| same_spec(found, &spec)) {
                Ok(region) => return Ok((region, false)),
                Err(error) => error,
            };
            if matches!(refused.refusal(), Refusal::NotFound | Refusal::HalfCreated) {
                // Called at most once: by the attempt that succeeds.
                let first = |words: &[Word]| {
                    if let Some(initialise) = initialise.take() {
                        initialise(words);
                    }
                };
                match create(path, spec, options, Existing::Keep, first) {
                    Ok((owned, _)) => return Ok((owned.into_joined()?, true)),
                    Err(error) if is_of_others(error.refusal()) => {}
                    Err(error) => return Err(error),
                }
            } else if !is_of_others(refused.refusal()) {
                return Err(refused);
            }
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(refused);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Joins the region at a path, if it has this kind and layout.
    #[cfg(not(nanotape_loom))]
    pub fn open(
        path: &Path,
        kind: [u8; 8],
        layout: u64,
        options: &RegionOptions,
    ) -> Result<Self, RegionError> {
        Self::open_if(path, options, |found| same_meaning(found, kind, layout))
    }

    #[cfg(not(nanotape_loom))]
    fn open_if(
        path: &Path,
        options: &RegionOptions,
        check: impl FnOnce(&RegionSpec) -> Result<(), Refusal>,
    ) -> Result<Self, RegionError> {
        let file = RegionFile::open(path, Access::Write)?;
        file.require_own(options.mode)?;
        // Not shared: what is left of a killed creator would seem to be in use.
        file.header()?.map_err(|refusal| file.refuse(refusal))?;
        file.share_lock()?;
        if !file.is_at_its_path()? {
            return Err(file.refuse(Refusal::Replaced));
        }
        let header = file.header()?.map_err(|refusal| file.refuse(refusal))?;
        let spec = header.spec;
        check(&spec).map_err(|refusal| file.refuse(refusal))?;
        let region_bytes = spec.region_bytes().unwrap_or(u64::MAX);
        let mapped = Mapping::new(file.file(), region_bytes, Access::Write, options);
        let (mapping, residency) = mapped.map_err(|refusal| file.refuse(refusal))?;
        let memory = Memory::of_file(MappedFile { mapping, file, region_bytes }, spec.words);
        // This load in the mapping orders the creator's stores before all loads of this process.
        if memory.is_ready() {
            return Ok(Self { memory, spec, residency });
        }
        Err(RegionError::new(path, Refusal::HalfCreated))
    }

    /// The region of its creator.
    #[cfg(not(nanotape_loom))]
    pub(super) fn of(memory: Memory, spec: RegionSpec, residency: Residency) -> Self {
        Self { memory, spec, residency }
    }

    /// Takes the first of these numbers, from 1 on, that no living writer has; `None` if all have
    /// one. What the writer before left unfinished under this number is to be finished first.
    pub fn take_slot(&self, range: RangeInclusive<u32>) -> Result<Option<WriterSlot>, RegionError> {
        #[cfg(not(nanotape_loom))]
        if let Some(mapped) = self.memory.file() {
            let lock = WriterLock::first_free(mapped.file.file(), range);
            let lock = lock.map_err(|e| mapped.file.refuse(Refusal::system("lock")(e)))?;
            return Ok(
                lock.map(|lock| WriterSlot { number: lock.number(), _lock: SlotLock::File(lock) })
            );
        }
        let Some(writers) = self.memory.heap_writers() else { return Ok(None) };
        let mut taken = numbers(writers);
        let free = range.into_iter().find(|number| taken.insert(*number));
        let Some(number) = free else { return Ok(None) };
        let lock = SlotLock::Heap(HeapSlot { writers: Arc::clone(writers), number });
        Ok(Some(WriterSlot { number, _lock: lock }))
    }

    /// Takes this number, of a writer that is dead, to finish what it began; `None` if a living
    /// writer has it.
    pub fn take_number(&self, number: u32) -> Result<Option<WriterSlot>, RegionError> {
        self.take_slot(number..=number)
    }

    /// Whether a living writer has this number. A system call.
    pub fn is_writer_alive(&self, number: u32) -> bool {
        self.memory.is_writer_alive(number)
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

    /// Whether it is in huge pages and locked in memory, and the cause if not.
    pub fn residency(&self) -> Residency {
        self.residency.clone()
    }
}

/// Whether the file changes because other processes create it at the same time.
#[cfg(not(nanotape_loom))]
fn is_of_others(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::NotFound
            | Refusal::HalfCreated
            | Refusal::BeingCreated
            | Refusal::Replaced
            | Refusal::LockedByReader
            | Refusal::OwnerAlive { .. }
            | Refusal::Contended
    )
}
