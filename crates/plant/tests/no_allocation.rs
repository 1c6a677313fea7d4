//! From bytes to books nothing allocates per message once the tables have grown to the day's size.
//!
//! Counted, not assumed: every allocation of this process goes through a counter. One test in a
//! process of its own, so that no other thread allocates meanwhile.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use nanotape_book::{Books, DefaultBooks, OrderStore, Outcome, PlainBooks, PriceLevels};
use nanotape_feed::DaySource;
use nanotape_market::{MarketEvent, Position};
use nanotape_plant::{BookEngine, Observer};
use nanotape_synth::{Market, MarketConfig};
use nanotape_testkit::structures::{NamedBooks, every_structure};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts the messages of a day and the allocations between its first message and its last.
#[derive(Default)]
struct Allocations {
    messages: u64,
    at_first: u64,
    at_last: u64,
}

impl<B> Observer<B> for Allocations {
    fn after(
        &mut self,
        _: &BookEngine<B>,
        _: Position,
        _: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.at_last = ALLOCATIONS.load(Ordering::Relaxed);
        if self.messages == 0 {
            self.at_first = self.at_last;
        }
        self.messages += 1;
        ControlFlow::Continue(())
    }
}

fn allocations_in_second_run<L: PriceLevels, S: OrderStore>(
    books: Books<L, S>,
    day: &Arc<Vec<u8>>,
) -> Allocations {
    let mut engine = BookEngine::new(books);
    run(&mut engine, day, &mut ());
    let mut counted = Allocations::default();
    run(&mut engine, day, &mut counted);
    counted
}

fn run<L: PriceLevels, S: OrderStore>(
    engine: &mut BookEngine<Books<L, S>>,
    day: &Arc<Vec<u8>>,
    observer: &mut impl Observer<Books<L, S>>,
) {
    let mut source = DaySource::memory("a synthetic day", Arc::clone(day));
    let report = engine.run(&mut source, observer, |_| ()).unwrap();
    assert!(report.is_good());
}

#[test]
fn a_million_messages_allocate_nothing_once_warm() {
    let config = MarketConfig { messages: 1_000_000, symbols: 2_000, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();
    let day = Arc::new(day);

    let default = allocations_in_second_run(DefaultBooks::with_capacity(ORDERS), &day);
    assert_eq!(default.messages, 1_000_000);
    let allocations = default.at_last - default.at_first;
    println!("{allocations} allocations in {} messages", default.messages);
    assert_eq!(allocations, 0);

    for NamedBooks { name, books } in every_structure(ORDERS) {
        // Standard maps come and go in nodes, or grow when they like.
        let has_map =
            ["sorted-map", "tick-indexed", "hash-map"].iter().any(|map| name.contains(map));
        let counted = allocations_in_second_run(books, &day);
        let allocations = counted.at_last - counted.at_first;
        println!("{allocations} allocations in {} messages: {name}", counted.messages);
        assert!(has_map || allocations == 0, "{allocations} allocations: {name}");
    }

    // The counter counts: a sorted map allocates nodes as levels come and go.
    let plain = allocations_in_second_run(PlainBooks::with_capacity(ORDERS), &day);
    assert!(plain.at_last - plain.at_first > 1_000, "the check can fail");
}

/// Room for live orders at the start: more than the day has.
const ORDERS: usize = 1 << 16;
