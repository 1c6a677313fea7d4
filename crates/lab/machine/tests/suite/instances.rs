//! Instances of the kernel's trace that several threads make at the same time: each removes those
//! that others have left.

use std::thread;

use nanotape_clock::Clock;
use nanotape_harness::skipped;
use nanotape_host::allowed_cpus;
use nanotape_machine::KernelTrace;

#[test]
fn traces_that_begin_at_the_same_time_do_not_remove_each_other() {
    let clock = Clock::calibrate();
    let cpus = allowed_cpus();
    if let Err(why) = KernelTrace::start(&clock, &cpus) {
        return skipped(format_args!("the kernel's events: {why}"));
    }
    thread::scope(|scope| {
        let start = || {
            for _ in 0..25 {
                KernelTrace::start(&clock, &cpus).map(drop).unwrap();
            }
        };
        let threads = [(); 4].map(|()| scope.spawn(start));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
