//! Until when a command waits for a ring that a writer is about to make.

use std::{thread, time::Duration};

use nanotape_clock::{Clock, Stamp};
use nanotape_shm::{Refusal, RegionError};

/// From one look for the ring to the next.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The end of a wait that began when the value was made.
#[derive(Debug)]
pub(crate) struct Deadline {
    clock: Clock,
    began: Stamp,
    wait: Duration,
}

impl Deadline {
    pub(crate) fn after(wait: Duration) -> Self {
        let clock = Clock::monotonic();
        Self { began: clock.stamp(), clock, wait }
    }

    pub(crate) fn is_over(&self) -> bool {
        u128::from(self.clock.nanos_between(self.began, self.clock.stamp())) >= self.wait.as_nanos()
    }

    /// Sleeps until the next look.
    pub(crate) fn sleep(&self) {
        thread::sleep(LOOK_EVERY);
    }

    /// ` within 10 s`, and nothing where there was no wait.
    pub(crate) fn within(&self) -> String {
        match self.wait {
            Duration::ZERO => String::new(),
            wait => format!(" within {} s", wait.as_secs_f64()),
        }
    }
}

/// Whether a region is missing, or not complete yet: its writer may be about to make it.
pub(crate) fn is_not_there(error: &RegionError) -> bool {
    matches!(error.refusal(), Refusal::NotFound | Refusal::BeingCreated | Refusal::HalfCreated)
}
