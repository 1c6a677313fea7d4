//! Prints the clock of this machine: source and reason, rate, costs, offsets between processors,
//! and its drift over N seconds (1, or the first argument).
//!
//! It prints the drift with the rate of the first 50 ms and with the rate of the whole time. The
//! bound of the second is smaller, in proportion to the time.

use std::{env, thread, time::Duration};

use nanotape_clock::{Clock, cross_core};

fn main() {
    let seconds = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    for clock in [Clock::calibrate(), Clock::monotonic()] {
        println!("{}\n", clock.report());
        for offset in cross_core::measure(&clock, cross_core::Effort::default()) {
            println!("{offset}");
        }
        thread::sleep(Duration::from_secs(seconds));
        println!("drift          {}", clock.drift());
        let longer = clock.recalibrated();
        println!("rate then      {}", longer.rate());
        thread::sleep(Duration::from_secs(seconds));
        println!("drift then     {}\n", longer.drift());
    }
}
