//! Times for entries that stand in an order: those of a log, a journal, or the messages of a ring.
//!
//! Where: the writer of the entries owns a timeline. If several threads write, it is behind the
//! lock that orders the entries. It must not know what an entry is.
//!
//! UTC as a [`Clock`] gives it steps back now and then. An unfenced stamp that is taken behind a
//! lock can be older than the one that the last holder of the lock took: the processor reads the
//! counter while the lock is still on its way from the other core. A new calibration corrects the
//! rate, and a new anchor follows what NTP or an operator did to the kernel's clock. A timeline
//! never goes below the last time that it gave: one comparison, where a fence costs several
//! nanoseconds and helps against the first cause only.
//!
//! Bounds: a clock that was set back by more than [`SET_BACK_NS`] is followed, because times that
//! stand still for an hour are worse than a step that is reported. [`Timeline::set_back_ns`]
//! returns that step. Cost: that of the stamp, and two comparisons with nearly always the same
//! outcome.

use crate::{Clock, Stamp};

/// A step back up to this is evened out: times stand still until the clock has caught up. A longer
/// one is followed. NTP slews what is shorter than 128 ms, and steps over what is longer.
pub const SET_BACK_NS: u64 = 1_000_000_000;

/// Seconds from one calibration to the next, if a timeline makes them.
const CALIBRATION_SECONDS: f64 = 60.0;

/// UTC in nanoseconds since the UNIX epoch that does not go back, except where the kernel's clock
/// was set back by more than [`SET_BACK_NS`]. A time before the epoch is 0.
#[derive(Clone, Debug)]
pub struct Timeline {
    clock: Clock,
    /// The last time that was given; 0 after the clock was set back.
    last_ns: u64,
    /// Ticks from which on a reading calibrates the clock first.
    calibrate_at: u64,
    /// By how much the clock was set back, until that is reported.
    set_back_ns: u64,
}

impl Timeline {
    /// Times of this clock, which is calibrated and anchored anew only by [`Timeline::follow`].
    pub fn new(clock: Clock) -> Self {
        Self { clock, last_ns: 0, calibrate_at: u64::MAX, set_back_ns: 0 }
    }

    /// Times of this clock, which is recalibrated by the first reading and by one reading a minute,
    /// each of which takes some 50 us.
    pub fn recalibrating(clock: Clock) -> Self {
        Self { calibrate_at: 0, ..Self::new(clock) }
    }

    /// The time now, at the price of an unfenced stamp.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        self.at(self.clock.stamp_unfenced())
    }

    /// The time of a stamp, or the last time that was given if that is later.
    #[inline]
    pub fn at(&mut self, stamp: Stamp) -> u64 {
        if stamp.ticks() >= self.calibrate_at {
            self.calibrate(stamp);
        }
        self.last_ns = self.last_ns.max(self.clock.utc(stamp).unix_ns());
        self.last_ns
    }

    /// Goes on with another calibration or anchor of the clock.
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

    /// The step was reported.
    pub fn forget_set_back(&mut self) {
        self.set_back_ns = 0;
    }

    /// The clock, as it was calibrated and anchored last.
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
