//! Tests that kill a writer at every store: the process ends itself, with SIGKILL, before a store.
//!
//! Where: compiled only with the feature `kill-points`, which only tests turn on. Every store to a
//! region goes through [`Word`](crate::Word), which calls this first. A simulated disk is told of the stores
//! of its thread too: it must know what is stored again although it stays the same.

use std::{
    cell::{Cell, RefCell},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::Word;

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

/// Who is told of stores, by the address of the word.
type Watcher = Box<dyn FnMut(usize)>;

thread_local! {
    /// Whether anybody is told of the stores of this thread.
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };

    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Calls this before every store of this thread from now on, with the address of the word; not for stores
/// that it makes itself. Nothing ends it.
pub fn watch(watcher: Option<Watcher>) {
    IS_WATCHED.set(watcher.is_some());
    WATCHER.replace(watcher);
}

#[inline]
pub(crate) fn about_to_store(word: &Word) {
    if IS_WATCHED.get() {
        tell(std::ptr::from_ref(word).addr());
    }
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

#[cold]
fn tell(address: usize) {
    // Taken out while it runs, so that its own stores do not come here again.
    let Some(mut watcher) = WATCHER.take() else { return };
    watcher(address);
    WATCHER.replace(Some(watcher));
}
