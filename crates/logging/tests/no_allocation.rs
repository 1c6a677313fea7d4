//! Logging an event allocates nothing, once a thread has logged from its call site before.
//!
//! Counted with the `CountingAllocator` of the harness.
#![cfg(all(not(nanotape_loom), feature = "tracing", feature = "log"))]

#[path = "suite/lines.rs"]
mod lines;

use log::Log as _;
use nanotape_harness::{CountingAllocator, Scratch};
use nanotape_journal::AppenderOptions;
use nanotape_logging::{Formatter, Logger, log_options};
use tracing::{info, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const EVENTS: u64 = 100_000;

/// Logs events in all possible ways, and returns the number of allocations.
fn allocations(logger: &Logger, events: u64) -> u64 {
    let back_end = logger.log_back_end(log::LevelFilter::Info);
    let _span = info_span!("outer", day = 1).entered();
    let span = info_span!("inner", hour = 2);
    let before = nanotape_harness::allocations();
    for count in 0..events {
        info!(count, ratio = 0.5, name = "x", "an event");
        span.in_scope(|| info!(value = ?Some(count), "with {} text", count));
        let record = log::Record::builder().level(log::Level::Info).target("t").build();
        back_end.log(&record);
    }
    nanotape_harness::allocations() - before
}

#[test]
fn an_event_allocates_nothing() {
    let place = Scratch::new("none");
    // No roll, whose cost belongs to the journal.
    let options = AppenderOptions { segment_bytes: 256 << 20, ..log_options() };
    let logger = Logger::open_with(place.path(), &options).unwrap();
    let subscriber = tracing_subscriber::registry().with(logger.layer());
    tracing::subscriber::with_default(subscriber, || {
        assert!(allocations(&logger, 1) > 0, "the check can fail: call sites are numbered");
        assert_eq!(allocations(&logger, EVENTS), 0);
    });
    assert_eq!(logger.lost(), 0);
    assert_eq!(lines::log_lines(&place, &mut Formatter::new()).len() as u64, 1 + 3 * (1 + EVENTS));
}
