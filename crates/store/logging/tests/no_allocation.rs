//! Logging an event allocates nothing, once a thread has logged from its call site before, and
//! neither does a span of a ring.
//!
//! Counted with the `CountingAllocator` of the harness.
#![cfg(all(not(nanotape_loom), feature = "tracing", feature = "log"))]

#[path = "suite/lines.rs"]
mod lines;

use log::Log as _;
use nanotape_harness::{CountingAllocator, Scratch};
use nanotape_journal::{AppenderOptions, Start};
use nanotape_logging::{Formatter, Logger, SpanLayer, log_options};
use nanotape_trace::spans::{Rate, Request, SpanReader};
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

/// Makes spans, each within another one, and returns the number of allocations.
fn allocations_of_spans(spans: u64) -> u64 {
    let before = nanotape_harness::allocations();
    for sequence in 0..spans {
        let outer = info_span!("outer", sequence, text = "x").entered();
        info_span!("inner", value = 1_u64).in_scope(|| ());
        drop(outer);
    }
    nanotape_harness::allocations() - before
}

#[test]
fn a_span_of_a_ring_allocates_nothing() {
    let place = Scratch::new("none-rings");
    let layer = SpanLayer::open(place.path().to_str().unwrap()).unwrap();
    let counts = layer.counts();
    let subscriber = tracing_subscriber::registry().with(layer);
    let worker = std::thread::Builder::new().name("worker".to_owned());
    let work = move || {
        tracing::subscriber::with_default(subscriber, || {
            assert!(allocations_of_spans(1) > 0, "the check can fail: a thread is traced");
            assert_eq!(allocations_of_spans(EVENTS), 0, "off");
            let path = nanotape_shm::beside(place.path(), ".trace.worker");
            let mut reader = SpanReader::open(&path, Start::Newest).unwrap();
            let rates = vec![Rate::ALL; reader.rates().len()];
            Request::send(&reader, &rates).unwrap().wait().unwrap();
            allocations_of_spans(1);
            assert_eq!(allocations_of_spans(EVENTS), 0, "on");
            assert_eq!(reader.next_sequence(), 1);
            let lost = reader.try_next().unwrap();
            assert!(matches!(lost, nanotape_trace::spans::Polled::Lost(_)), "{lost:?}");
            let written = SpanReader::open(&path, Start::Newest).unwrap().next_sequence() - 1;
            assert_eq!(written, 2 * (1 + EVENTS));
        });
    };
    worker.spawn(work).unwrap().join().unwrap();
    assert_eq!(counts.left_out(), nanotape_logging::LeftOut::default());
}
