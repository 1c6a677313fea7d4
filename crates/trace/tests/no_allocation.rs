//! A traced thread allocates nothing and makes no system call, whatever is switched on.

use nanotape_clock::Clock;
use nanotape_harness::{
    CountingAllocator, Task, allocations, check_the_counter, check_without_system_calls,
    without_system_calls,
};
use nanotape_trace::spans::{Rate, Site, Sites, Tracer};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SITES: Sites = Sites::new(&["work.parse", "work.store"]);
const PARSE: Site = SITES.site("work.parse");
const STORE: Site = SITES.site("work.store");

const MESSAGES: u64 = 1_000_000;

/// Passes messages through both stages, with each kind of switch.
fn trace(tracer: &mut Tracer) -> Result<(), &'static str> {
    let switches = tracer.switches();
    for rates in [[Rate::Off; 2], [Rate::Off, Rate::OneIn { exponent: 4 }], [Rate::ALL; 2]] {
        switches.set(&rates);
        for number in 1..=MESSAGES {
            tracer.begin(PARSE, number);
            tracer.end(PARSE, number, 0);
            tracer.end(STORE, number, 0);
        }
    }
    let expected = MESSAGES / 16 + 2 * MESSAGES;
    if tracer.written() == expected { Ok(()) } else { Err("spans are missing") }
}

#[test]
fn a_span_allocates_nothing() {
    check_the_counter();
    let mut tracer = Tracer::on_heap(SITES, Clock::calibrate(), 1 << 10);
    let before = allocations();
    trace(&mut tracer).unwrap();
    assert_eq!(allocations() - before, 0);
}

#[test]
fn a_span_makes_no_system_call() {
    check_without_system_calls("child", |_| {});
}

/// The process of the test above; returns at once in a run of the tests.
#[test]
fn child() {
    let Some(task) = Task::of_this_process() else { return };
    let mut tracer = Tracer::on_heap(SITES, Clock::calibrate(), 1 << 10);
    without_system_calls(&task, || trace(&mut tracer));
}
