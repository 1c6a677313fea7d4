//! The time stamp counter, which all threads and processes of a run stamp with, and its rate.
//!
//! The counters of the processors of one machine agree as long as the kernel calls them its clock
//! source; on a machine where they do not, latencies come out absurd, not subtly wrong.

use std::{
    arch::x86_64::{_mm_lfence, _rdtsc},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// The counter now. The processor may take it a little early or late; it is for stamping what is
/// about to be sent, where waiting for older instructions would be time that nobody needs.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the counter, and Linux lets programs read it.
    unsafe { _rdtsc() }
}

/// The counter after every load before it is done: for stamping what has been copied out.
#[inline(always)]
pub(crate) fn ticks_after_loads() -> u64 {
    // SAFETY: the fence is in SSE2, which every x86-64 processor has.
    unsafe { _mm_lfence() };
    ticks()
}

/// How long a tick is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) ticks_per_second: f64,
}

impl Clock {
    /// Held against the kernel's raw clock for a twentieth of a second: good to some 10 ppm.
    pub(crate) fn calibrated() -> Self {
        let (first_ticks, first) = pair();
        std::thread::sleep(Duration::from_millis(50));
        let (last_ticks, last) = pair();
        Self { ticks_per_second: (last_ticks - first_ticks) as f64 / (last - first) }
    }

    pub(crate) fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second
    }

    pub(crate) fn nanoseconds(&self, ticks: u64) -> f64 {
        self.seconds(ticks) * 1e9
    }
}

/// Both clocks at nearly one moment: the closest of some tries, because this thread may be put
/// aside between the two.
fn pair() -> (u64, f64) {
    let attempt = || {
        let before = ticks_after_loads();
        let time = clock_gettime(ClockId::MonotonicRaw);
        let after = ticks_after_loads();
        (after - before, before + (after - before) / 2, time)
    };
    let (_, ticks, time) =
        (0..100).map(|_| attempt()).min_by_key(|(width, ..)| *width).expect("100 tries");
    (ticks, time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_holds_against_the_clock_it_was_taken_from() {
        let clock = Clock::calibrated();
        let (first, start) = pair();
        std::thread::sleep(Duration::from_millis(100));
        let (last, end) = pair();
        let (measured, elapsed) = (clock.seconds(last - first), end - start);
        assert!((measured / elapsed - 1.0).abs() < 0.02, "{measured} s for {elapsed} s");
    }
}
