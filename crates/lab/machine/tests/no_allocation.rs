//! A loop with a watch allocates nothing and makes no system call while it is not interrupted, and
//! an attribution allocates nothing; round trips of cells do neither.
//!
//! Every allocation of this process goes through a counter. And a process with a system call
//! filter, which ends it at any call but `write` and `exit_group`, survives: see
//! `CountingAllocator` and `without_system_calls` of the harness.

use nanotape_clock::{Clock, Stamp};
use nanotape_harness::{
    CountingAllocator, Task, allocations, check_the_counter, check_without_system_calls,
    without_system_calls,
};
use nanotape_machine::{
    Attributor, Gap, Watch, WatchOptions,
    jitter::cells::{Cells, Direction},
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TURNS: u64 = 1_000_000;

/// No real interruption is as long, so that a turn is only a comparison.
const NEVER_NS: u64 = 3_600_000_000_000;

struct Everything {
    watch: Watch,
    rings: Cells,
}

impl Everything {
    fn new(clock: &Clock) -> Self {
        let options = WatchOptions { threshold_ns: NEVER_NS, attribute_ns: NEVER_NS, most: 16 };
        Self { watch: Watch::start(clock, options), rings: Cells::on_heap(8) }
    }

    fn turn_and_exchange(&mut self, clock: &Clock) -> Result<(), &'static str> {
        let (mut there, mut at_ponger) =
            (self.rings.writer(Direction::There), self.rings.reader(Direction::There));
        for value in 0..TURNS {
            there.send(value);
            if at_ponger.try_take() != Some(value) {
                return Err("a message was lost");
            }
            if self.watch.turn(clock.stamp_unfenced()) || self.watch.settle() {
                return Err("an hour passed");
            }
            self.watch.notice(clock.stamp_unfenced());
        }
        Ok(())
    }
}

#[test]
fn a_turn_allocates_nothing() {
    check_the_counter();
    let clock = Clock::calibrate();
    let mut everything = Everything::new(&clock);
    let before = allocations();
    everything.turn_and_exchange(&clock).unwrap();
    assert_eq!(allocations() - before, 0);
}

#[test]
fn an_interruption_that_is_kept_and_attributed_allocates_nothing() {
    check_the_counter();
    let clock = Clock::calibrate();
    let options = WatchOptions { threshold_ns: 100, attribute_ns: 100, most: 1_000 };
    let mut watch = Watch::start(&clock, options);
    let mut attributor = Attributor::open(&clock);
    let before = allocations();
    for _ in 0..1_000 {
        let from = clock.stamp_start();
        watch.skip_to(Stamp::from_ticks(from.ticks().saturating_sub(1 << 20)));
        assert!(watch.turn(from));
        let found = attributor.attribute(&Gap { from, to: clock.stamp() });
        std::hint::black_box(found);
    }
    assert_eq!(allocations() - before, 0);
    assert_eq!(watch.finish().kept.len(), 1_000);
}

#[test]
fn a_turn_makes_no_system_call() {
    check_without_system_calls("child", |_| {});
}

/// The process of the test above; returns at once in a run of the tests.
#[test]
fn child() {
    let Some(task) = Task::of_this_process() else { return };
    let clock = Clock::calibrate();
    let mut everything = Everything::new(&clock);
    without_system_calls(&task, || everything.turn_and_exchange(&clock));
}
