//! Logging an event allocates nothing, once a thread has logged from its call site before.
//!
//! Counted, not assumed: every allocation of this thread goes through a counter.
#![cfg(all(not(nanotape_loom), feature = "tracing", feature = "log"))]

mod place;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use log::Log as _;
use nanotape_journal::AppenderOptions;
use nanotape_logging::{Formatter, Logger, log_options};
use place::Place;
use tracing::{info, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

struct Counting;

thread_local! {
    /// Of this thread: the one that prepares segments allocates whenever it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const EVENTS: u64 = 100_000;

/// Logs events in all ways that there are, and returns how often that allocated.
fn allocations(logger: &Logger, events: u64) -> u64 {
    let back_end = logger.log_back_end(log::LevelFilter::Info);
    let _span = info_span!("outer", day = 1).entered();
    let span = info_span!("inner", hour = 2);
    let before = ALLOCATIONS.get();
    for count in 0..events {
        info!(count, ratio = 0.5, name = "x", "an event");
        span.in_scope(|| info!(value = ?Some(count), "with {} text", count));
        let record = log::Record::builder().level(log::Level::Info).target("t").build();
        back_end.log(&record);
    }
    ALLOCATIONS.get() - before
}

#[test]
fn an_event_allocates_nothing() {
    let place = Place::new("none");
    // No roll: what that costs is the journal's.
    let options = AppenderOptions { segment_bytes: 256 << 20, ..log_options() };
    let logger = Logger::open_with(place.path(), &options).unwrap();
    let subscriber = tracing_subscriber::registry().with(logger.layer());
    tracing::subscriber::with_default(subscriber, || {
        assert!(allocations(&logger, 1) > 0, "the check can fail: call sites are numbered");
        assert_eq!(allocations(&logger, EVENTS), 0);
    });
    assert_eq!(logger.lost(), 0);
    assert_eq!(place.lines(&mut Formatter::new()).len() as u64, 1 + 3 * (1 + EVENTS));
}
