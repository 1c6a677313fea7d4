//! Stamps and the way from them to nanoseconds.
#![expect(clippy::disallowed_methods, reason = "this is the place that reads time")]

use core::fmt;
use std::time::{Duration, Instant};

use crate::tsc;

/// A calibrated clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// The zero of the monotonic source.
    start: Instant,
    nanos_per_tick: f64,
    cost_nanos: f64,
}

/// What a clock reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The invariant time stamp counter, behind a load fence.
    TimeStampCounter,
    /// The operating system's monotonic clock.
    Monotonic,
}

/// A point in time, in the ticks of one [`Clock`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stamp(u64);

/// How long the counter is compared with the monotonic clock.
const CALIBRATION: Duration = Duration::from_millis(50);

/// Stamps in a row from which the cost of one is taken, and how often.
const COST_STAMPS: u32 = 1_000;
const COST_ROUNDS: usize = 31;

impl Clock {
    /// Chooses the best source here and measures its rate and cost, which takes about 60 ms.
    pub fn calibrate() -> Self {
        let start = Instant::now();
        let mut clock =
            Self { source: Source::Monotonic, start, nanos_per_tick: 1.0, cost_nanos: 0.0 };
        if tsc::is_invariant() {
            let (from, ticks) = (Instant::now(), tsc::read());
            std::thread::sleep(CALIBRATION);
            let (to, ticks) = (Instant::now(), tsc::read().wrapping_sub(ticks));
            if ticks > 0 {
                clock.source = Source::TimeStampCounter;
                clock.nanos_per_tick = (to - from).as_nanos() as f64 / ticks as f64;
            }
        }
        clock.cost_nanos = clock.measure_cost();
        clock
    }

    /// The time now.
    #[inline]
    pub fn stamp(&self) -> Stamp {
        match self.source {
            Source::TimeStampCounter => Stamp(tsc::read()),
            Source::Monotonic => Stamp(self.start.elapsed().as_nanos() as u64),
        }
    }

    /// Nanoseconds from `earlier` to `later`; 0 if they are the other way round.
    #[inline]
    pub fn nanos_between(&self, earlier: Stamp, later: Stamp) -> u64 {
        (later.0.saturating_sub(earlier.0) as f64 * self.nanos_per_tick) as u64
    }

    /// What one stamp costs: the median over many runs of the time between stamps in a row.
    pub fn cost_nanos(&self) -> f64 {
        self.cost_nanos
    }

    /// What is read.
    pub fn source(&self) -> Source {
        self.source
    }

    fn measure_cost(&self) -> f64 {
        let mut rounds = [0.0; COST_ROUNDS];
        for round in &mut rounds {
            let from = self.stamp();
            let mut to = from;
            for _ in 0..COST_STAMPS {
                to = core::hint::black_box(self.stamp());
            }
            let ticks = to.0.saturating_sub(from.0) as f64;
            *round = ticks * self.nanos_per_tick / f64::from(COST_STAMPS);
        }
        rounds.sort_by(f64::total_cmp);
        rounds[COST_ROUNDS / 2]
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimeStampCounter => "invariant time stamp counter",
            Self::Monotonic => "operating system's monotonic clock",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_do_not_go_back_and_agree_with_the_monotonic_clock() {
        let clock = Clock::calibrate();
        let (wall, from) = (Instant::now(), clock.stamp());
        let mut last = from;
        while wall.elapsed() < Duration::from_millis(30) {
            let now = clock.stamp();
            assert!(now >= last);
            last = now;
        }
        // A lower bound only: what interrupts the test can lengthen both, never shorten them.
        let nanos = clock.nanos_between(from, clock.stamp());
        assert!(nanos > 29_000_000, "{nanos} ns for at least 30 ms");
        assert!(clock.cost_nanos() > 0.0);
        assert_eq!(clock.nanos_between(clock.stamp(), from), 0);
    }
}
