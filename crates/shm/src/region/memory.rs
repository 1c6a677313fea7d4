//! The words of a region, wherever they are, and what keeps them there.

use std::{path::Path, ptr::NonNull, sync::Arc};

#[cfg(not(nanotape_loom))]
use super::{file::RegionFile, mapping::Mapping};
use super::{
    header, live,
    owner::{Owner, Started},
    refusal::RegionError,
};
use crate::word::{ReadWord, Word, as_read_only};

/// Mapped or allocated words, kept as long as anybody uses them.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// The first word of the payload.
    start: NonNull<Word>,
    /// How many there are.
    words: usize,
    /// The first of the [`header::live::WORDS`] words of the header that change.
    live: NonNull<Word>,
    #[cfg_attr(nanotape_loom, expect(dead_code, reason = "there is no file to ask about"))]
    keep: Keep,
}

/// What keeps the words.
#[derive(Clone, Debug)]
enum Keep {
    Heap {
        /// Words of the heap; the pointers above point into them.
        _words: Arc<[Word]>,
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
        // A model pays for every word; a processor wants counters on lines of their own, as they
        // are in a mapping.
        let spare = if cfg!(nanotape_loom) { 0 } else { LINE_WORDS };
        let all: Arc<[Word]> =
            (0..header::live::WORDS + spare + words).map(|_| Word::new(0)).collect();
        let behind_live = all[header::live::WORDS..].as_ptr().addr();
        let skip = behind_live.wrapping_neg() / size_of::<Word>() % LINE_WORDS;
        let first = header::live::WORDS + skip.min(spare);
        let start = NonNull::from(&all[first..first + words]).cast();
        let live = NonNull::from(&all[..header::live::WORDS]).cast();
        let memory = Self { start, words, live, keep: Keep::Heap { _words: all } };
        live::enter(memory.live(), 1, std::process::id(), Started::at_unix_s(0));
        memory
    }

    /// The words of a mapped file. The mapping has a header and `words` behind it.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn of_file(file: MappedFile, words: usize) -> Self {
        let (start, live) = (file.mapping.payload(), file.mapping.live());
        Self { start, words, live, keep: Keep::File(Arc::new(file)) }
    }

    /// The words of the payload.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[Word] {
        // SAFETY: so many words begin there, and `keep` keeps them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        #[cfg(not(nanotape_loom))]
        return self.file().map(|mapped| mapped.file.path.as_path());
        #[cfg(nanotape_loom)]
        None
    }

    /// What became of the file; nothing becomes of the heap.
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

    #[cfg(not(nanotape_loom))]
    fn file(&self) -> Option<&MappedFile> {
        match &self.keep {
            Keep::Heap { .. } => None,
            Keep::File(file) => Some(file),
        }
    }

    /// The words of the header from the epoch on. Those of a reader's mapping are only ever loaded.
    fn live(&self) -> &[Word] {
        // SAFETY: so many words begin there, and `keep` keeps them. Where they are mapped for
        // reading only, nothing stores: only `create`, `take` and `close` do, which readers do not
        // call.
        unsafe { std::slice::from_raw_parts(self.live.as_ptr(), header::live::WORDS) }
    }

    fn live_to_read(&self) -> &[ReadWord] {
        as_read_only(self.live())
    }

    pub(crate) fn epoch(&self) -> u64 {
        live::epoch(self.live_to_read())
    }

    /// Whether the creator was done.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn is_ready(&self) -> bool {
        live::is_ready(self.live_to_read())
    }

    /// When the region was created; 0 where it is not known. It never changes once the region is
    /// ready.
    pub(crate) fn created_ns(&self) -> u64 {
        self.live()[header::live::CREATED_NS].load()
    }

    /// Enters when a new region was created, in a mapping for writing, before its first owner.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn create(&self, now_ns: u64) {
        self.live()[header::live::CREATED_NS].store(now_ns);
    }

    /// Enters this process as the owner in a mapping for writing.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn take(&self, epoch: u64) {
        live::enter(self.live(), epoch, std::process::id(), Started::of_this_process());
    }

    /// The owner says that it is done, and lets go. Called by the owner only.
    pub(crate) fn close(&self) {
        let is_panicking = std::thread::panicking();
        #[cfg(not(nanotape_loom))]
        if let Some(mapped) = self.file() {
            // What a panic interrupted is not done: the next owner is to look at it as at the
            // region of a process that was killed.
            if !is_panicking {
                live::close(self.live());
            }
            mapped.file.lock.release();
            return;
        }
        // A model that failed has no words to store to any more.
        if !(cfg!(nanotape_loom) && is_panicking) {
            live::close(self.live());
        }
    }

    /// The latest owner, and whether it lives.
    pub(crate) fn owner(&self) -> Owner {
        live::owner(self.live_to_read(), || self.is_held())
    }

    /// What the kernel says; nothing where there is no kernel to ask.
    fn is_held(&self) -> Option<bool> {
        #[cfg(not(nanotape_loom))]
        if let Some(mapped) = self.file() {
            // A lock that cannot be asked about does not say that the owner is dead.
            return Some(mapped.file.lock.is_held().unwrap_or(true));
        }
        None
    }
}

/// Words of the stretch of memory that processors move between them, two cache lines.
const LINE_WORDS: usize = 16;
