//! The clock of a thread, for readers: from its stamps to nanoseconds and to UTC.

use nanotape_clock::Stamp;

/// The rate of a thread's clock, and a stamp with its UTC. Any values can be in a damaged region.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timescale {
    /// Ticks of the clock in a second.
    pub ticks_per_second: f64,
    /// A stamp.
    pub anchor: Stamp,
    /// Its UTC, in ns since the UNIX epoch.
    pub anchor_utc_ns: u64,
}

impl Timescale {
    /// Nanoseconds from one stamp to a later one; 0 if the rate is damaged.
    pub fn nanos_between(&self, earlier: Stamp, later: Stamp) -> f64 {
        let ticks = later.ticks().saturating_sub(earlier.ticks()) as f64;
        let nanos = ticks * 1e9 / self.ticks_per_second;
        if nanos.is_finite() && nanos > 0.0 { nanos } else { 0.0 }
    }

    /// The UTC of a stamp, in ns since the UNIX epoch.
    pub fn utc_ns(&self, stamp: Stamp) -> u64 {
        let after = self.nanos_between(self.anchor, stamp) as u64;
        let before = self.nanos_between(stamp, self.anchor) as u64;
        self.anchor_utc_ns.saturating_add(after).saturating_sub(before)
    }
}
