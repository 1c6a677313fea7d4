//! Ordered times for entries that have an order: those of a log, a journal, or the messages of a
//! ring.
//!
//! Where: the writer of the entries owns a timeline. If several threads write, the lock that orders
//! the entries guards it. It does not depend on the entries.
//!
//! The UTC of a [`Clock`] sometimes steps back. An unfenced stamp that is taken under a lock can be
//! older than that of the last holder of the lock: the processor reads the counter while the lock
//! is still in transit from the other core. A new calibration corrects the rate, and a new anchor
//! follows what NTP or an operator did to the kernel's clock. A timeline never returns less than
//! its last time. That takes one comparison; a fence takes several nanoseconds and only prevents
//! the first cause.
//!
//! Bounds: a clock that was set back by more than [`SET_BACK_NS`] is followed, because times that
//! stand still for an hour are worse than a reported step. [`Timeline::set_back_ns`] returns that
//! step. Cost: the stamp, and two comparisons with nearly always the same outcome.

use crate::{Clock, Stamp};

/// Steps back up to this are hidden: times stand still until the clock has caught up. Longer steps
/// are followed. NTP slews offsets below 128 ms, and steps larger ones.
pub const SET_BACK_NS: u64 = 1_000_000_000;

/// Seconds from one calibration to the next, if the timeline calibrates.
const CALIBRATION_SECONDS: f64 = 60.0;

/// UTC in nanoseconds since the UNIX epoch. It never goes back, except if the kernel's clock was
/// set back by more than [`SET_BACK_NS`]. A time before the epoch is 0.
#[derive(Clone, Debug)]
pub struct Timeline {
    clock: Clock,
    /// The last time returned; 0 after the clock was set back.
    last_ns: u64,
    /// Ticks after which a reading first calibrates the clock.
    calibrate_at: u64,
    /// By how much the clock was set back, until that is reported.
    set_back_ns: u64,
}

impl Timeline {
    /// Times of this clock, which only [`Timeline::follow`] calibrates or anchors again.
    pub fn new(clock: Clock) -> Self {
        Self { clock, last_ns: 0, calibrate_at: u64::MAX, set_back_ns: 0 }
    }

    /// Times of this clock, which the first reading and then one reading a minute recalibrate, at
    /// about 50 us each.
    pub fn recalibrating(clock: Clock) -> Self {
        Self { calibrate_at: 0, ..Self::new(clock) }
    }

    /// The time now, at the cost of an unfenced stamp.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        self.at(self.clock.stamp_unfenced())
    }

    /// The time of a stamp, or the last time returned if that is later.
    #[inline]
    pub fn at(&mut self, stamp: Stamp) -> u64 {
        if stamp.ticks() >= self.calibrate_at {
            self.calibrate(stamp);
        }
        self.last_ns = self.last_ns.max(self.clock.utc(stamp).unix_ns());
        self.last_ns
    }

    /// Continues with another calibration or anchor of the clock.
    #[cold]
    pub fn follow(&mut self, clock: Clock) {
        self.clock = clock;
        let behind_ns = self.last_ns.saturating_sub(self.clock.utc_ns());
        if behind_ns > SET_BACK_NS {
            self.set_back_ns = self.set_back_ns.saturating_add(behind_ns);
            self.last_ns = 0;
        }
    }

    /// By how many nanoseconds the times stepped back because the clock was set back, since
    /// [`Timeline::forget_set_back`]; 0 if they did not.
    #[inline]
    pub fn set_back_ns(&self) -> u64 {
        self.set_back_ns
    }

    /// Marks the step as reported.
    pub fn forget_set_back(&mut self) {
        self.set_back_ns = 0;
    }

    /// The clock with its latest calibration and anchor.
    #[inline]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    #[cold]
    fn calibrate(&mut self, now: Stamp) {
        self.follow(self.clock.recalibrated());
        let ticks = self.clock.rate().ticks_per_second * CALIBRATION_SECONDS;
        self.calibrate_at = now.ticks().saturating_add(ticks as u64);
    }
}

#[cfg(test)]
mod tests;
