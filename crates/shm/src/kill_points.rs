//! Tests that kill a writer at every store: the process ends itself, with SIGKILL, before a store.
//!
//! Where: compiled only with the feature `kill-points`, which only tests turn on. Every store to a
//! region goes through [`Word`](crate::Word), which calls this first; so does a word that is
//! written to a file. A simulated disk is told of the stores of its thread too: it must know what
//! is stored again although it stays the same, and it can leave a store out, to show that a test
//! notices.

use std::{
    cell::{Cell, RefCell},
    panic::Location,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::Word;

use rustix::process::{Signal, getpid, kill_process};

/// Whether anybody counts. Where nobody does a store is as it always is: no read-modify-write,
/// which would order more than the protocol does and hide its mistakes from tests.
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

/// A store that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// Address of the word.
    pub address: usize,
    /// The value that it gets.
    pub value: u64,
    /// The line of code that makes it.
    pub site: &'static Location<'static>,
}

/// Called before each store; returns whether it is made.
type Watcher = Box<dyn FnMut(Store) -> bool>;

thread_local! {
    /// Whether anybody is told of the stores of this thread.
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };

    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Calls this before every store of this thread from now on; not for stores that it makes itself.
/// The store is made if it returns true. Nothing ends it.
pub fn watch(watcher: Option<Watcher>) {
    IS_WATCHED.set(watcher.is_some());
    WATCHER.replace(watcher);
}

/// Returns whether the store is made.
#[inline]
#[track_caller]
pub(crate) fn about_to_store(word: &Word, value: u64) -> bool {
    if IS_WATCHED.get() {
        let address = std::ptr::from_ref(word).addr();
        if !tell(Store { address, value, site: Location::caller() }) {
            return false;
        }
    }
    about_to_write();
    true
}

/// Called before each store, also one that goes through the file.
pub(crate) fn about_to_write() {
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
fn tell(store: Store) -> bool {
    // Taken out while it runs, so that its own stores do not come here again.
    let Some(mut watcher) = WATCHER.take() else { return true };
    let is_made = watcher(store);
    WATCHER.replace(Some(watcher));
    is_made
}
