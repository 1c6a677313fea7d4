//! Tests that kill a writer at every store: the process ends itself, with SIGKILL, before a store.
//!
//! Where: compiled only with the feature `kill-points`, which only tests turn on. Every store to a
//! region goes through [`Word`](crate::Word), which calls this first.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// Whether anybody counts. Where nobody does a store is as it always is: no read-modify-write, which
/// would order more than the protocol does and hide its mistakes from tests.
static COUNTS: AtomicBool = AtomicBool::new(false);

/// The number of the store that is not made; 0 for none.
static FATAL: AtomicU64 = AtomicU64::new(0);

/// Stores seen since [`arm`].
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Counts stores from now on, and kills this process before the one numbered `fatal`, from 1; 0
/// only counts.
pub fn arm(fatal: u64) {
    SEEN.store(0, Ordering::Relaxed);
    FATAL.store(fatal, Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
}

/// Ends it; tells how many stores there were since [`arm`].
pub fn disarm() -> u64 {
    COUNTS.store(false, Ordering::Relaxed);
    SEEN.load(Ordering::Relaxed)
}

#[inline]
pub(crate) fn about_to_store() {
    if !COUNTS.load(Ordering::Relaxed) {
        return;
    }
    let number = SEEN.fetch_add(1, Ordering::Relaxed) + 1;
    if number == FATAL.load(Ordering::Relaxed) {
        // Nothing of this process runs behind it: SIGKILL cannot be caught or waited for.
        let _ = kill_process(getpid(), Signal::KILL);
        unreachable!("the process outlived its SIGKILL");
    }
}
