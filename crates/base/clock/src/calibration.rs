//! The rate of the source and its uncertainty.
//!
//! Two brackets some time apart give two counts of ticks and two of nanoseconds. Each bracket is
//! uncertain by its bound, so the rate is uncertain by both bounds divided by the time between: 60
//! ns in 50 ms are 1,200 parts per billion, in 10 s six. [`crate::Clock::recalibrated`] uses the
//! longer interval at no cost.

use core::fmt;

use crate::{bracket::Bracket, scale::Scale};

/// How fast a source ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
    /// Ticks in a second of `CLOCK_MONOTONIC_RAW`.
    pub ticks_per_second: f64,
    /// Maximum error of the rate, in parts per billion; 0 if a tick is a nanosecond by definition.
    pub uncertainty_ppb: f64,
    /// The interval it was measured over, in nanoseconds; 0 if nothing was measured.
    pub interval_nanos: u64,
}

/// The conversion from ticks to nanoseconds, and the two brackets it was measured with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    pub(crate) first: Bracket,
    pub(crate) last: Bracket,
    pub(crate) scale: Scale,
    pub(crate) rate: Rate,
}

impl Calibration {
    /// The rate between two brackets; `None` if one of the clocks did not move forward.
    pub(crate) fn between(first: Bracket, last: Bracket) -> Option<Self> {
        let interval_nanos = u64::try_from(last.nanos.checked_sub(first.nanos)?).ok()?;
        let ticks = last.ticks.checked_sub(first.ticks)?;
        let scale = Scale::of(interval_nanos, ticks)?;
        let bound = first.bound_nanos(scale).saturating_add(last.bound_nanos(scale));
        let rate = Rate {
            ticks_per_second: ticks as f64 * 1e9 / interval_nanos as f64,
            uncertainty_ppb: bound as f64 * 1e9 / interval_nanos as f64,
            interval_nanos,
        };
        Some(Self { first, last, scale, rate })
    }

    /// A source that counts nanoseconds.
    pub(crate) fn of_nanoseconds(now: Bracket) -> Self {
        let rate = Rate { ticks_per_second: 1e9, uncertainty_ppb: 0.0, interval_nanos: 0 };
        Self { first: now, last: now, scale: Scale::ONE, rate }
    }
}

/// `2299.999871 MHz, within 880 ppb, over 50 ms`
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megahertz = self.ticks_per_second / 1e6;
        if self.interval_nanos == 0 {
            return write!(f, "{megahertz:.6} MHz by definition");
        }
        write!(
            f,
            "{megahertz:.6} MHz, within {:.0} ppb, over {} ms",
            self.uncertainty_ppb,
            self.interval_nanos / 1_000_000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracket(ticks: u64, width_ticks: u64, nanos: i64) -> Bracket {
        Bracket { ticks, width_ticks, nanos }
    }

    #[test]
    fn the_rate_is_ticks_over_nanoseconds() {
        let first = bracket(1_000, 100, 5_000);
        let last = bracket(1_000 + 100_000_000, 200, 5_000 + 50_000_000);
        let found = Calibration::between(first, last).expect("both moved");
        assert_eq!(found.rate.ticks_per_second, 2e9);
        assert_eq!(found.rate.interval_nanos, 50_000_000);
        // Widths of 50 and 100 ns: bounds of 26 and 51 ns in 50 ms.
        assert_eq!(found.rate.uncertainty_ppb, 77.0 * 20.0);
        assert_eq!(found.scale.nanos(2_000), 1_000);
    }

    #[test]
    fn a_true_rate_lies_within_the_uncertainty() {
        // A counter of exactly 2.3 GHz, whose brackets have the maximum error for their width.
        for (early, late) in [(-50, 50), (50, -50), (50, 50)] {
            let first = bracket(1_000_000, 230, early);
            let last = bracket(1_000_000 + 115_000_000, 230, 50_000_000 + late);
            let rate = Calibration::between(first, last).expect("both moved").rate;
            let off_ppb = (rate.ticks_per_second / 2.3e9 - 1.0).abs() * 1e9;
            assert!(off_ppb <= rate.uncertainty_ppb, "{off_ppb} of {rate:?}");
        }
    }

    #[test]
    fn a_clock_that_does_not_move_forward_has_no_rate() {
        let first = bracket(1_000, 10, 5_000);
        assert!(Calibration::between(first, bracket(1_000, 10, 9_000)).is_none());
        assert!(Calibration::between(first, bracket(999, 10, 9_000)).is_none());
        assert!(Calibration::between(first, bracket(2_000, 10, 5_000)).is_none());
        assert!(Calibration::between(first, bracket(2_000, 10, 4_000)).is_none());
    }

    #[test]
    fn a_rate_says_its_uncertainty() {
        let rate = Rate {
            ticks_per_second: 2_299_999_871.0,
            uncertainty_ppb: 880.4,
            interval_nanos: 50_123_456,
        };
        assert_eq!(rate.to_string(), "2299.999871 MHz, within 880 ppb, over 50 ms");
        let nanoseconds = Calibration::of_nanoseconds(bracket(0, 0, 0)).rate;
        assert_eq!(nanoseconds.to_string(), "1000.000000 MHz by definition");
    }
}
