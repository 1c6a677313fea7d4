//! What the threads that drive peers pass in: times, and random numbers for hellos.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use nanotape_clock::{Clock, Stamp, UtcNanos};

use crate::{Exchanged, Now};

/// The clocks of one thread that drives links.
#[derive(Debug)]
pub struct LinkClocks {
    clock: Clock,
    start: Stamp,
}

impl LinkClocks {
    /// Clocks that begin now.
    pub fn new(clock: &Clock) -> Self {
        Self { clock: *clock, start: clock.stamp_unfenced() }
    }

    /// The time after an exchange: bytes that came have arrived by then, and maybe not before.
    #[inline]
    pub fn after(&self, exchanged: &Exchanged, before: Now) -> Now {
        if exchanged.received > 0 { self.now() } else { before }
    }

    /// Both clocks, read one after the other.
    #[inline]
    pub fn now(&self) -> Now {
        Now {
            monotonic_ns: self.clock.nanos_between(self.start, self.clock.stamp_unfenced()),
            // That of the system: one that each process calibrates steps by itself, by more than
            // the bounds of the distance to the other clock are wide.
            utc_ns: UtcNanos::now().unix_ns(),
        }
    }
}

/// A random number: the seed that the standard library gets from the system.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
