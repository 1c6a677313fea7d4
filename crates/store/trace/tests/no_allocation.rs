//! A traced thread allocates nothing and makes no system call, whatever is switched on, and the
//! flight recorder allocates nothing after its start.

use nanotape_clock::Clock;
use nanotape_harness::{
    CountingAllocator, Task, allocations, check_the_counter, check_without_system_calls,
    without_system_calls,
};
use nanotape_trace::{
    flight::{Condition, Options, Recorder},
    spans::{Rate, Site, Sites, Tracer, TracerOptions},
};

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
fn a_recorder_in_a_storm_allocates_nothing() {
    check_the_counter();
    let scratch = nanotape_harness::Scratch::new("storm");
    let options = TracerOptions { spans: 1 << 10, ..TracerOptions::default() };
    let clock = Clock::monotonic();
    let mut tracer = Tracer::create(scratch.path(), SITES, clock, &options).unwrap();
    tracer.switches().set(&[Rate::ALL; 2]);
    let site = Condition::Site { site: "work.store".to_owned(), above_ns: 0 };
    let conditions =
        vec![Condition::Message { above_ns: 1 }, Condition::Thread { above_ns: 1 }, site];
    let options = Options { conditions, spans: 256, per_minute: 60_000, ..Options::default() };
    let paths = [scratch.path().to_owned()];
    let mut recorder = Recorder::open("work", &paths, options).unwrap();
    let mut copies = 0;
    let before = allocations();
    for number in 1..=MESSAGES {
        tracer.begin(PARSE, number);
        tracer.end(PARSE, number, 0);
        tracer.end(STORE, number, 0);
        // Sometimes so late that spans are lost.
        if number % 7 == 0 && number % 10_000 > 2_000 {
            recorder.request("a test", 0);
            if let Some(snapshot) = recorder.poll(number * 100, || 0).snapshot {
                assert!(snapshot.spans() <= 256 && recorder.give_back(snapshot));
                copies += 1;
            }
        }
    }
    assert_eq!(allocations() - before, 0);
    let summary = recorder.summary();
    assert!(copies > 10 && summary.losses.fired > 10, "{summary:?}");
    assert!(summary.conditions.iter().all(|(_, count)| count.fired > MESSAGES / 2));
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
