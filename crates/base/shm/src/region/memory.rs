//! The words of a region, in a mapping or on the heap, and their owner.

use std::{path::Path, ptr::NonNull, sync::Arc};

#[cfg(not(nanotape_loom))]
use super::{file::RegionFile, mapping::Mapping};
use super::{
    header,
    joined::{HeapWriters, is_alive},
    live,
    owner::{Owner, Started},
    refusal::RegionError,
};
#[cfg(not(nanotape_loom))]
use crate::owner_lock::WriterLock;
use crate::word::{ReadWord, Word, as_read_only};

/// Mapped or allocated words, kept while any clone exists.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// The first word of the payload.
    start: NonNull<Word>,
    /// Number of words.
    words: usize,
    /// The first of the [`header::live::WORDS`] words of the header that change.
    live: NonNull<Word>,
    keep: Keep,
}

/// The owner of the words.
#[derive(Clone, Debug)]
enum Keep {
    Heap {
        /// Words of the heap; the pointers above point into them.
        _words: Arc<[Word]>,
        writers: HeapWriters,
    },
    #[cfg(not(nanotape_loom))]
    File(Arc<MappedFile>),
}

/// A mapping and the file under it.
#[cfg(not(nanotape_loom))]
#[derive(Debug)]
pub(crate) struct MappedFile {
    pub(crate) mapping: Mapping,
    pub(crate) file: RegionFile,
    /// Bytes of the region, header included.
    pub(crate) region_bytes: u64,
}

// SAFETY: words are atomics, and the memory lives as long as any clone.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeros on the heap, ready, in epoch 1.
    pub(crate) fn on_heap(words: usize) -> Self {
        // Each word makes a model slower; a processor needs counters on separate lines, as in a
        // mapping.
        let spare = if cfg!(nanotape_loom) { 0 } else { LINE_WORDS };
        let all: Arc<[Word]> =
            (0..header::live::WORDS + spare + words).map(|_| Word::new(0)).collect();
        let behind_live = all[header::live::WORDS..].as_ptr().addr();
        let skip = behind_live.wrapping_neg() / size_of::<Word>() % LINE_WORDS;
        let first = header::live::WORDS + skip.min(spare);
        let start = NonNull::from(&all[first..first + words]).cast();
        let live = NonNull::from(&all[..header::live::WORDS]).cast();
        let memory = Self {
            start,
            words,
            live,
            keep: Keep::Heap { _words: all, writers: HeapWriters::default() },
        };
        live::enter(memory.live(), 1, std::process::id(), Started::at_unix_s(0));
        memory
    }

    /// The words of a mapped file. The mapping has a header followed by `words` words.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn of_file(file: MappedFile, words: usize) -> Self {
        let (start, live) = (file.mapping.payload(), file.mapping.live());
        Self { start, words, live, keep: Keep::File(Arc::new(file)) }
    }

    /// The words of the payload.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[Word] {
        // SAFETY: this many words begin there, and `keep` owns them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        #[cfg(not(nanotape_loom))]
        return self.file().map(|mapped| mapped.file.path.as_path());
        #[cfg(nanotape_loom)]
        None
    }

    /// The state of the file; the heap has none.
    pub(crate) fn check(&self) -> Result<(), RegionError> {
        #[cfg(not(nanotape_loom))]
        if let Some(mapped) = self.file() {
            return mapped.check();
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        #[cfg(not(nanotape_loom))]
        return self.file().is_some_and(|mapped| mapped.mapping.is_lost());
        #[cfg(nanotape_loom)]
        false
    }

    pub(crate) fn user(&self) -> Option<u32> {
        #[cfg(not(nanotape_loom))]
        return self.file().and_then(MappedFile::user);
        #[cfg(nanotape_loom)]
        None
    }

    #[cfg(not(nanotape_loom))]
    pub(super) fn file(&self) -> Option<&MappedFile> {
        match &self.keep {
            Keep::Heap { .. } => None,
            Keep::File(file) => Some(file),
        }
    }

    /// The living writers of a region on the heap.
    pub(super) fn heap_writers(&self) -> Option<&HeapWriters> {
        match &self.keep {
            Keep::Heap { writers, .. } => Some(writers),
            #[cfg(not(nanotape_loom))]
            Keep::File(_) => None,
        }
    }

    /// Whether a living writer has this number.
    pub(crate) fn is_writer_alive(&self, number: u32) -> bool {
        #[cfg(not(nanotape_loom))]
        if let Some(mapped) = self.file() {
            // If the query fails, the writer might still be alive.
            return WriterLock::is_held(mapped.file.file(), number).unwrap_or(true);
        }
        self.heap_writers().is_some_and(|writers| is_alive(writers, number))
    }

    /// The words of the header from the epoch on. Those of a reader's mapping are only ever loaded.
    fn live(&self) -> &[Word] {
        // SAFETY: this many words begin there, and `keep` owns them. If they are mapped read-only,
        // nothing stores: only `create`, `take` and `close` do, which readers do not call.
        unsafe { std::slice::from_raw_parts(self.live.as_ptr(), header::live::WORDS) }
    }

    fn live_to_read(&self) -> &[ReadWord] {
        as_read_only(self.live())
    }

    pub(crate) fn epoch(&self) -> u64 {
        live::epoch(self.live_to_read())
    }

    /// Whether the creator has finished.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn is_ready(&self) -> bool {
        live::is_ready(self.live_to_read())
    }

    /// Creation time of the region; 0 if unknown. It never changes once the region is ready.
    pub(crate) fn created_ns(&self) -> u64 {
        self.live()[header::live::CREATED_NS].load()
    }

    /// Stores the creation time of a new region, in a mapping for writing, before its first owner.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn create(&self, now_ns: u64) {
        self.live()[header::live::CREATED_NS].store(now_ns);
    }

    /// Enters this process as the owner in a mapping for writing.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn take(&self, epoch: u64) {
        live::enter(self.live(), epoch, std::process::id(), Started::of_this_process());
    }

    /// Marks the region as closed if it `is_marked`, and releases the lock. Called by the owner
    /// only.
    pub(crate) fn close(&self, is_marked: bool) {
        let is_panicking = std::thread::panicking();
        #[cfg(not(nanotape_loom))]
        if let Some(mapped) = self.file() {
            // A panic interrupted the owner: the next one must treat the region like that of a
            // killed process.
            if is_marked && !is_panicking {
                live::close(self.live());
            }
            mapped.file.lock.release();
            return;
        }
        // A model that failed can no longer store words.
        if is_marked && !(cfg!(nanotape_loom) && is_panicking) {
            live::close(self.live());
        }
    }

    /// The latest owner, and whether it is alive.
    pub(crate) fn owner(&self) -> Owner {
        live::owner(self.live_to_read(), || self.is_held())
    }

    /// The result of the kernel's lock query; `None` without a kernel.
    fn is_held(&self) -> Option<bool> {
        #[cfg(not(nanotape_loom))]
        if let Some(mapped) = self.file() {
            // If the query fails, the owner might still be alive.
            return Some(mapped.file.lock.is_held().unwrap_or(true));
        }
        None
    }
}

/// Words of the unit that processors transfer between each other, two cache lines.
const LINE_WORDS: usize = 16;
