//! Measures whether the clock still runs at its calibrated rate.
//!
//! Two differences are measured. The counter and `CLOCK_MONOTONIC_RAW` drift apart by the error of
//! the rate, and by more if different crystals drive them. Nothing adjusts either, so a difference
//! beyond the uncertainty of the rate is a reason to doubt the figures. `CLOCK_REALTIME` is
//! adjusted to follow UTC, so it drifts away from every clock that was anchored once.

use core::fmt;

use crate::{Clock, Stamp};

/// The difference between a clock and the kernel's clocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drift {
    /// Nanoseconds of `CLOCK_MONOTONIC_RAW` since the clock was calibrated.
    pub elapsed_nanos: u64,
    /// By how much the clock counted more than that; negative if less.
    pub counter_ahead_nanos: i64,
    /// Maximum error of that difference.
    pub bound_nanos: u64,
    /// The uncertainty of the clock's rate, in parts per billion.
    pub rate_uncertainty_ppb: f64,
    /// By how much the kernel's UTC is ahead of the clock's: slews and steps since the clock was
    /// anchored, and the drift.
    pub realtime_moved_nanos: i64,
    /// Maximum error of that.
    pub realtime_bound_nanos: u64,
}

impl Drift {
    /// The counter's gain over the kernel's clock, in parts per billion of the time elapsed. Over a
    /// short time this is mostly [`Drift::bound_nanos`].
    pub fn parts_per_billion(&self) -> f64 {
        if self.elapsed_nanos == 0 {
            return 0.0;
        }
        self.counter_ahead_nanos as f64 * 1e9 / self.elapsed_nanos as f64
    }

    /// Whether the counter is within `parts_per_billion` of the kernel's clock. False only if the
    /// difference exceeds that by more than its own bound.
    pub fn within(&self, parts_per_billion: f64) -> bool {
        let allowed = self.elapsed_nanos as f64 * parts_per_billion / 1e9 + self.bound_nanos as f64;
        self.counter_ahead_nanos.unsigned_abs() as f64 <= allowed
    }

    /// Whether the uncertainty of the rate explains the difference. If not, one of the two clocks
    /// changed its rate: the machine was suspended or moved to another host, or different crystals
    /// drive the clocks.
    pub fn is_explained(&self) -> bool {
        self.within(self.rate_uncertainty_ppb)
    }
}

/// `+12 ns (within 31 ns) in 10000 ms, +1.2 ppb; UTC moved by -830 ns (within 62 ns)`
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:+} ns (within {} ns) in {} ms, {:+.1} ppb; UTC moved by {:+} ns (within {} ns)",
            self.counter_ahead_nanos,
            self.bound_nanos,
            self.elapsed_nanos / 1_000_000,
            self.parts_per_billion(),
            self.realtime_moved_nanos,
            self.realtime_bound_nanos
        )
    }
}

/// Checks a clock's drift periodically, for a loop that already has a stamp.
#[derive(Clone, Copy, Debug)]
pub struct DriftWatch {
    clock: Clock,
    every_nanos: u64,
    last: Stamp,
    worst: Option<Drift>,
}

impl DriftWatch {
    /// Checks this clock at most once in `every_nanos`, for the first time when those have passed.
    pub fn new(clock: Clock, every_nanos: u64) -> Self {
        Self { clock, every_nanos, last: clock.stamp(), worst: None }
    }

    /// The drift, if a check is due; otherwise only a comparison. A check costs about 25 us, which
    /// counts into whatever the caller is timing.
    #[inline]
    pub fn poll(&mut self, now: Stamp) -> Option<Drift> {
        if self.clock.nanos_between(self.last, now) < self.every_nanos {
            return None;
        }
        Some(self.check(now))
    }

    #[cold]
    fn check(&mut self, now: Stamp) -> Drift {
        let drift = self.clock.drift();
        self.last = now;
        let size = |drift: Drift| drift.counter_ahead_nanos.unsigned_abs();
        if self.worst.is_none_or(|worst| size(drift) > size(worst)) {
            self.worst = Some(drift);
        }
        drift
    }

    /// The largest difference so far.
    pub fn worst(&self) -> Option<Drift> {
        self.worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIFT: Drift = Drift {
        elapsed_nanos: 10_000_000_000,
        counter_ahead_nanos: -500,
        bound_nanos: 100,
        rate_uncertainty_ppb: 30.0,
        realtime_moved_nanos: 830,
        realtime_bound_nanos: 62,
    };

    #[test]
    fn a_threshold_allows_for_the_bound_of_the_brackets() {
        assert_eq!(DRIFT.parts_per_billion(), -50.0);
        assert!(DRIFT.within(50.0));
        assert!(DRIFT.within(40.0));
        assert!(!DRIFT.within(39.9));
        assert!(!DRIFT.is_explained());
        assert!(Drift { rate_uncertainty_ppb: 45.0, ..DRIFT }.is_explained());
    }

    #[test]
    fn no_time_at_all_has_no_drift() {
        let none = Drift { elapsed_nanos: 0, counter_ahead_nanos: 5, ..DRIFT };
        assert_eq!(none.parts_per_billion(), 0.0);
        assert!(none.within(0.0));
    }

    #[test]
    fn a_drift_is_one_line() {
        let said = "-500 ns (within 100 ns) in 10000 ms, -50.0 ppb; UTC moved by +830 ns (within \
                    62 ns)";
        assert_eq!(DRIFT.to_string(), said);
    }

    #[test]
    fn a_watch_checks_when_it_is_due_and_keeps_the_worst() {
        let clock = Clock::monotonic();
        let mut watch = DriftWatch::new(clock, 1_000_000_000_000);
        let now = clock.stamp();
        assert_eq!(watch.poll(now), None);
        assert_eq!(watch.worst(), None);
        let later = Stamp::from_ticks(now.ticks() + 1_000_000_000_000);
        let seen = watch.poll(later);
        assert!(seen.is_some_and(|drift| drift.is_explained()), "{seen:?}");
        assert_eq!(watch.worst(), seen);
        assert_eq!(watch.poll(later), None);
    }
}
