//! Pauses that keep a real-time thread from being throttled by the kernel.
//!
//! Since Linux 6.12 a server for normal tasks takes 50 ms of every second from a real-time thread
//! that starves them, whatever the limit on real-time running. A thread that sleeps in time gives
//! them more than that, at moments when nothing is measured.

use std::{thread, time::Duration};

use nanotape_clock::{Clock, Stamp};

/// Schedules rests: measure for less than 0.9 s, then sleep 100 ms.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    since: Stamp,
    rested_ns: u64,
}

impl Burst {
    /// The longest time between two rests; a step that began earlier must end before 0.9 s.
    pub const LONGEST: Duration = Duration::from_millis(850);

    /// The length of a rest.
    pub const REST: Duration = Duration::from_millis(100);

    /// Begins a burst.
    pub fn start(clock: &Clock) -> Self {
        Self { since: clock.stamp(), rested_ns: 0 }
    }

    /// Whether a step of this length would end too late.
    pub fn is_due(&self, clock: &Clock, next_step: Duration) -> bool {
        let busy = clock.nanos_between(self.since, clock.stamp());
        let step = u64::try_from(next_step.as_nanos()).unwrap_or(u64::MAX);
        is_due_after(busy, step)
    }

    /// Sleeps if a rest is due; returns whether it did. Call it between measured steps, never
    /// inside one. For steps of more than 50 ms, call [`is_due`](Self::is_due) with their length
    /// and then [`rest`](Self::rest).
    pub fn rest_if_due(&mut self, clock: &Clock) -> bool {
        let due = self.is_due(clock, Duration::ZERO);
        if due {
            self.rest(clock);
        }
        due
    }

    /// Sleeps, and begins a new burst.
    pub fn rest(&mut self, clock: &Clock) {
        let before = clock.stamp();
        thread::sleep(Self::REST);
        self.since = clock.stamp();
        self.rested_ns = self.rested_ns.saturating_add(clock.nanos_between(before, self.since));
    }

    /// Time slept so far, in nanoseconds.
    pub fn rested_ns(&self) -> u64 {
        self.rested_ns
    }
}

/// A step that is longer than a burst can never end in time; it gets a fresh burst.
fn is_due_after(busy_ns: u64, step_ns: u64) -> bool {
    const LONGEST_NS: u64 = Burst::LONGEST.as_nanos() as u64;
    busy_ns > 0 && busy_ns.saturating_add(step_ns) >= LONGEST_NS.max(step_ns.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn a_rest_is_due_before_the_kernel_takes_one() {
        assert!(!is_due_after(0, 0));
        assert!(!is_due_after(849 * MILLISECOND, 0));
        assert!(is_due_after(850 * MILLISECOND, 0));
        assert!(is_due_after(700 * MILLISECOND, 200 * MILLISECOND));
        assert!(!is_due_after(700 * MILLISECOND, 100 * MILLISECOND));
    }

    #[test]
    fn a_step_longer_than_a_burst_rests_first_and_does_not_overflow() {
        assert!(is_due_after(MILLISECOND, 2_000 * MILLISECOND));
        assert!(!is_due_after(0, 2_000 * MILLISECOND));
        assert!(is_due_after(u64::MAX, u64::MAX));
    }

    #[test]
    fn resting_is_counted() {
        let clock = Clock::calibrate();
        let mut burst = Burst::start(&clock);
        assert!(!burst.rest_if_due(&clock));
        assert_eq!(burst.rested_ns(), 0);
        burst.rest(&clock);
        assert!(burst.rested_ns() >= 99 * MILLISECOND);
    }
}
