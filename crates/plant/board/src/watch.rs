//! Checks that the files of a plant's ring and board still exist, complete and under their paths,
//! and answers requests to switch its spans.
//!
//! Where: a plant starts it, and its publisher polls it together with the stop flag. Readers of a
//! ring have one for their spans alone.
//! Protocol: a thread compares each path and length with the open file, every [`CHECK_EVERY`]. It
//! stores the first loss and ends.
//! Failure: new readers cannot open a ring that was removed or truncated, so the plant stops.
//! Cost: one load for the publishing thread, five system calls a check for the other.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_shm::{Refusal, RegionError, SharedRegion};
use nanotape_trace::spans::Answers;

/// Period of the checks.
const CHECK_EVERY: Duration = Duration::from_millis(250);

/// Checks regions until it is dropped.
#[derive(Debug, Default)]
pub struct Watch {
    found: Arc<Found>,
    /// `None` without regions.
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Found {
    /// The first lost region, and its change. Stored once, by the checking thread.
    loss: OnceLock<RegionError>,
    /// Whether the checking thread must end. Stored once, when the watch is dropped.
    is_over: AtomicBool,
}

impl Watch {
    /// Starts to check these regions, and to answer requests.
    pub fn start(regions: Vec<SharedRegion>, mut answers: Option<Answers>) -> io::Result<Self> {
        Self::calling(regions, move || answers.iter_mut().for_each(Answers::poll))
    }

    /// Starts to check these regions, and calls `after` after each check.
    pub fn calling(
        regions: Vec<SharedRegion>,
        after: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let found = Arc::<Found>::default();
        let thread = thread::Builder::new().name("watch".to_owned()).spawn({
            let found = Arc::clone(&found);
            move || found.check_for_loss(&regions, after)
        })?;
        Ok(Self { found, thread: Some(thread) })
    }

    /// The first region that was removed, replaced or truncated. One load.
    #[inline]
    pub fn loss(&self) -> Option<&RegionError> {
        self.found.loss.get()
    }
}

impl Found {
    fn check_for_loss(&self, regions: &[SharedRegion], mut after: impl FnMut()) {
        while !self.is_over.load(Ordering::Relaxed) {
            if let Some(error) = regions.iter().find_map(loss_of) {
                // No other thread stores it.
                let _ = self.loss.set(error);
                return;
            }
            after();
            thread::park_timeout(CHECK_EVERY);
        }
    }
}

/// The change of a region's file. A file that cannot be examined is not lost.
fn loss_of(region: &SharedRegion) -> Option<RegionError> {
    let error = region.check().err()?;
    let is_lost =
        matches!(error.refusal(), Refusal::Removed | Refusal::Replaced | Refusal::Truncated { .. });
    is_lost.then_some(error)
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.found.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread cannot panic; if it did, the watch would have ended all the same.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_where_nothing_is_watched_and_on_the_heap() {
        use nanotape_shm::{OwnedRegion, RegionSpec};
        let spec = RegionSpec { kind: *b"TEST    ", layout: 1, parameters: [0; 4], words: 1 };
        let heap = OwnedRegion::on_heap(spec);
        for watch in [Watch::default(), Watch::start(vec![heap.share()], None).unwrap()] {
            assert!(watch.loss().is_none());
        }
    }
}
