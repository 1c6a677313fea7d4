//! Find out why some turns of your own loop were slow: you will see each slow turn with its cause,
//! as far as the kernel's accounts of the thread show it to an ordinary user.
//!
//!     cargo run --release -p nanotape-examples --example 10_why_was_it_slow
//!
//! The loop reads memory that it has not touched, and sleeps once, so that there are causes.

use std::{error::Error, hint::black_box, time::Duration};

use nanotape::{
    clock::Clock,
    machine::{Attributor, Cause, Gap},
};

/// Slower turns are attributed. A question costs about a microsecond.
const SLOW_NS: u64 = 2_000;

/// Bytes between two places of the loop: a page.
const STRIDE: usize = 4 << 10;

/// Slow turns of the most usual cause that are printed.
const MOST_FAULTS: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let clock = Clock::calibrate();
    let mut memory = vec![0_u8; 64 << 20];
    let mut attributor = Attributor::open(&clock);
    let (mut turns, mut slow, mut faults) = (0_u64, 0_u64, 0_u64);
    for place in (0..memory.len()).step_by(STRIDE) {
        let from = clock.stamp_start();
        memory[place] = 1;
        if place == 32 << 20 {
            std::thread::sleep(Duration::from_millis(2));
        }
        let turn = Gap { from, to: clock.stamp() };
        turns += 1;
        if turn.nanos(&clock) >= SLOW_NS {
            let found = attributor.attribute(&turn);
            slow += 1;
            faults += u64::from(found.cause == Cause::PageFault);
            if found.cause != Cause::PageFault || faults <= MOST_FAULTS {
                println!("turn {turns}: {} ns, {}", turn.nanos(&clock), found.cause);
                // What happened while it was printed belongs to no turn.
                attributor.mark();
            }
        }
    }
    black_box(&memory);
    println!("{slow} of {turns} turns took {SLOW_NS} ns or more, {faults} for a page fault");
    for rung in attributor.rungs() {
        if let Some(why) = rung.unused {
            println!("not used: {}: {why}", rung.name);
        }
    }
    Ok(())
}
