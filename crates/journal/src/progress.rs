//! How far the appender is, for the pretoucher in its own process.
//!
//! Protocol: the appender stores the word up to which the active segment is committed, and a thread
//! syncs up to there. Before a sync it may store words again as they are. So it must load what the
//! appender stored (SYNC(journal.progress)).

use nanotape_shm::Word;

use crate::edges::PROGRESS;

/// A word on a line of its own.
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
        // SYNC(journal.progress): pairs with the look in `get`.
        self.0.publish(at as u64, PROGRESS);
    }

    /// The word before which everything is committed, and seen.
    pub(crate) fn get(&self) -> usize {
        // SYNC(journal.progress): pairs with the store in `set`.
        self.0.as_read_only().observe(PROGRESS) as usize
    }
}
