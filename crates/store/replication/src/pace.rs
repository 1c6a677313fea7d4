//! The clocks of a thread, and how it waits.

use std::time::Duration;

use nanotape_clock::{Clock, Stamp, Timeline};
use nanotape_link::Now;

/// How the thread of a connection waits for something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkPace {
    /// It never waits: a processor of its own.
    Spin,
    /// It sleeps until bytes arrive. New excerpts of a journal are found after at most this time.
    Sleep(Duration),
}

/// The clocks of one thread.
#[derive(Debug)]
pub(crate) struct Clocks {
    clock: Clock,
    start: Stamp,
    timeline: Timeline,
}

impl Clocks {
    pub(crate) fn new(clock: &Clock) -> Self {
        let timeline = Timeline::recalibrating(*clock);
        Self { clock: *clock, start: clock.stamp_unfenced(), timeline }
    }

    #[inline]
    pub(crate) fn now(&mut self) -> Now {
        let stamp = self.clock.stamp_unfenced();
        Now {
            monotonic_ns: self.clock.nanos_between(self.start, stamp),
            utc_ns: self.timeline.at(stamp),
        }
    }
}

/// Bytes a second, of a count that is read now and then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    read_ns: u64,
    bytes: u64,
    per_s: u64,
}

impl Rate {
    /// Takes in the count at a monotonic time; returns the rate of the last second or more.
    pub(crate) fn at(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let passed_ns = now_ns.saturating_sub(self.read_ns);
        if passed_ns >= 1_000_000_000 {
            let moved = u128::from(bytes.saturating_sub(self.bytes)) * 1_000_000_000;
            self.per_s = u64::try_from(moved / u128::from(passed_ns)).unwrap_or(u64::MAX);
            (self.read_ns, self.bytes) = (now_ns, bytes);
        }
        self.per_s
    }
}
