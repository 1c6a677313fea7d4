//! Watches whether the files of a plant's ring and board are still there, whole and under their
//! paths.
//!
//! Where: [`PlantRun`](crate::PlantRun) starts one; the [`Publisher`](crate::Publisher) asks it
//! wherever it asks whether it is to stop.
//! Protocol: a thread compares each path and length with the file that is open, every
//! [`LOOK_EVERY`]. It keeps the first loss and ends.
//! Failure: a plant whose ring was removed or cut publishes what no new reader can open. It stops
//! instead. Cost: one load for the thread that publishes. The watching thread makes four system
//! calls a look.

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

/// From one look to the next.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Watches regions until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    found: Arc<Found>,
    /// `None` if there is nothing to watch.
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Found {
    /// The first region that was lost, and how. Stored once, by the watching thread.
    loss: OnceLock<RegionError>,
    /// Whether the watching thread is to end. Stored once, when the watch is dropped.
    is_over: AtomicBool,
}

impl Watch {
    /// Watches these regions.
    pub(crate) fn start(regions: Vec<SharedRegion>) -> io::Result<Self> {
        let found = Arc::<Found>::default();
        let thread = thread::Builder::new().name("watch".to_owned()).spawn({
            let found = Arc::clone(&found);
            move || found.look_for_loss(&regions)
        })?;
        Ok(Self { found, thread: Some(thread) })
    }

    /// The first region that was removed, replaced or cut. One load.
    #[inline]
    pub(crate) fn loss(&self) -> Option<&RegionError> {
        self.found.loss.get()
    }
}

impl Found {
    fn look_for_loss(&self, regions: &[SharedRegion]) {
        while !self.is_over.load(Ordering::Relaxed) {
            if let Some(error) = regions.iter().find_map(loss_of) {
                // Nothing else stores it.
                let _ = self.loss.set(error);
                return;
            }
            thread::park_timeout(LOOK_EVERY);
        }
    }
}

/// What became of a region's file. A file that cannot be asked about is not lost.
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
            // It cannot have panicked; if it had, the watch would be over all the same.
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
        for watch in [Watch::default(), Watch::start(vec![heap.share()]).unwrap()] {
            assert!(watch.loss().is_none());
        }
    }
}
