//! For tests that kill a writer at every store: the process ends itself, with SIGKILL, before a
//! store.
//!
//! Where: compiled only with the feature `kill-points`, which only tests enable. Every store to a
//! region goes through [`Word`](crate::Word), which calls this module first; so does a word that is
//! written to a file. A simulated disk also watches the stores of its thread: it must know about
//! stores of an unchanged value, and it can omit a store, to show that a test notices.

use std::{
    cell::{Cell, RefCell},
    panic::Location,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::Word;

use rustix::process::{Signal, getpid, kill_process};

/// Whether stores are counted. If not, a store is unchanged: no read-modify-write, whose stronger
/// order would hide mistakes of the protocol from tests.
static COUNTS: AtomicBool = AtomicBool::new(false);

/// The number of the store that is not made; 0 to make all.
static FATAL: AtomicU64 = AtomicU64::new(0);

/// Stores seen since [`arm`].
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Counts stores from now on, and kills this process before the one numbered `fatal`, from 1; with
/// 0 it only counts.
pub fn arm(fatal: u64) {
    SEEN.store(0, Ordering::Relaxed);
    FATAL.store(fatal, Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
}

/// Stops counting; returns the number of stores since [`arm`].
pub fn disarm() -> u64 {
    COUNTS.store(false, Ordering::Relaxed);
    SEEN.load(Ordering::Relaxed)
}

/// A store before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// Address of the word.
    pub address: usize,
    /// The value to store.
    pub value: u64,
    /// The line of code of the store.
    pub site: &'static Location<'static>,
}

/// Called before each store; returns whether it is made.
type Watcher = Box<dyn FnMut(Store) -> bool>;

thread_local! {
    /// Whether this thread has a watcher.
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };

    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Calls `watcher` before every store of this thread from now on, except its own. The store is made
/// if it returns true. There is no end.
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
        if !call_watcher(Store { address, value, site: Location::caller() }) {
            return false;
        }
    }
    about_to_write();
    true
}

/// Called before each store, including one through the file.
pub(crate) fn about_to_write() {
    if !COUNTS.load(Ordering::Relaxed) {
        return;
    }
    let number = SEEN.fetch_add(1, Ordering::Relaxed) + 1;
    if number == FATAL.load(Ordering::Relaxed) {
        // No code of this process runs after it: SIGKILL cannot be caught.
        let _ = kill_process(getpid(), Signal::KILL);
        unreachable!("the process outlived its SIGKILL");
    }
}

#[cold]
fn call_watcher(store: Store) -> bool {
    // Taken out while it runs, so that its own stores are not watched.
    let Some(mut watcher) = WATCHER.take() else { return true };
    let is_made = watcher(store);
    WATCHER.replace(Some(watcher));
    is_made
}
