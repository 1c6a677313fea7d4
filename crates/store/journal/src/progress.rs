//! The appender's progress, for the pretoucher in its process.
//!
//! Protocol: the appender stores the word before which the active segment is committed, and a
//! thread syncs up to that word. Before a sync the thread might store words again unchanged. So it
//! must load what the appender stored (SYNC(journal.progress)).

use nanotape_shm::Word;

use crate::edges::PROGRESS;

/// A word on its own cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Progress(Word);

impl Progress {
    /// Nothing is committed yet.
    pub(crate) fn new() -> Self {
        Self(Word::new(0))
    }

    /// Everything before this word is committed.
    #[inline(always)]
    pub(crate) fn set(&self, at: usize) {
        // SYNC(journal.progress): pairs with the load in `get`.
        self.0.publish(at as u64, PROGRESS);
    }

    /// The word before which everything is committed and visible.
    pub(crate) fn get(&self) -> usize {
        // SYNC(journal.progress): pairs with the store in `set`.
        self.0.as_read_only().observe(PROGRESS) as usize
    }
}
