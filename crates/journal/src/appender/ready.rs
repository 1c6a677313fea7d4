//! For callers that must not wait for the disk: whether the next excerpt can be appended at once.
//!
//! Protocol: an append waits for the disk where its segment is full and the helper has no next one
//! yet. The caller asks before it appends. What it waits for here is a condition that the helper
//! signals, and for no longer than it says.
//! Failure: the reason why the helper could not make a segment is returned, and the helper tries
//! again soon.

use std::time::Duration;

use super::Appender;
use crate::{JournalError, disk::Disk, names};

impl<D: Disk> Appender<D> {
    /// Waits until so many bytes of excerpts, as [`excerpt_bytes`](crate::excerpt_bytes) counts
    /// them, can be appended without waiting for the disk, but no longer than `patience`. The error
    /// says why they cannot; nothing is changed by it. An append that follows at once does not
    /// wait, if the policy is not to sync with it.
    ///
    /// Without a helper it returns at once: the append makes the next segment itself.
    #[inline]
    pub fn wait_until_ready(
        &mut self,
        ts_ns: u64,
        bytes: usize,
        patience: Duration,
    ) -> Result<(), JournalError> {
        let words = bytes.div_ceil(8);
        // Where a thread has an error the append returns it.
        if self.is_ready(words, ts_ns) || self.running.is_none() || self.exchange.has_alarm() {
            return Ok(());
        }
        self.wait_for_segment(patience)
    }

    #[cold]
    fn wait_for_segment(&self, patience: Duration) -> Result<(), JournalError> {
        self.exchange.wait_until_prepared(patience).map_err(|(number, problem)| {
            JournalError::new(self.disk.path(&names::segment(number)), problem)
        })
    }
}
