//! For callers that must not wait for the disk: whether the next excerpt can be appended at once.
//!
//! Protocol: an append waits for the disk if its segment is full and the pretoucher has no next one
//! yet. The caller checks that before it appends, and waits for a signal of the pretoucher, with a
//! limit.
//! Failure: if the pretoucher could not make a segment the reason is returned, and it retries soon.

use std::time::Duration;

use super::Appender;
use crate::{JournalError, disk::Disk, names};

impl<D: Disk> Appender<D> {
    /// Waits until so many bytes of excerpts, as [`excerpt_bytes`](crate::excerpt_bytes) counts
    /// them, can be appended without waiting for the disk, but no longer than `patience`. The error
    /// says why they cannot; nothing is changed by it. An append that follows at once does not
    /// wait, if the policy is not to sync with it.
    ///
    /// Without a pretoucher it returns at once: the append makes the next segment itself.
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
