//! Reads two clocks at one moment: a reading of one between two readings of the other.
//!
//! The inner reading was made somewhere between the outer ones, so half their distance bounds the
//! error of taking the middle. An interruption makes a bracket wide, not wrong; the tightest of
//! many is kept.

use crate::{scale::Scale, source::Source};

/// Brackets from which the tightest is kept. They take about 10 us if the kernel's clocks are read
/// without a system call, about 500 us otherwise.
const TRIES: u32 = 200;

/// A kernel clock's nanoseconds and the source's ticks at the same moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bracket {
    /// The middle of the two readings of the source.
    pub(crate) ticks: u64,
    /// Their distance.
    pub(crate) width_ticks: u64,
    /// The kernel clock between them.
    pub(crate) nanos: i64,
}

impl Bracket {
    /// Reads many brackets and keeps the tightest.
    pub(crate) fn tightest(source: Source, kernel_nanos: impl Fn(Source) -> i64) -> Self {
        let mut best = Self::read(source, &kernel_nanos);
        for _ in 1..TRIES {
            let next = Self::read(source, &kernel_nanos);
            if next.width_ticks < best.width_ticks {
                best = next;
            }
        }
        best
    }

    #[inline]
    fn read(source: Source, kernel_nanos: &impl Fn(Source) -> i64) -> Self {
        let before = source.start_ticks();
        let nanos = kernel_nanos(source);
        let after = source.end_ticks();
        // A move between processors whose counters disagree can reverse the two readings. Such a
        // bracket is never the tightest.
        let width_ticks = after.checked_sub(before).unwrap_or(u64::MAX);
        let middle = before.checked_add(width_ticks / 2).unwrap_or(before);
        Self { ticks: middle, width_ticks, nanos }
    }

    /// Maximum error of the pair: half the width, and one for rounding.
    pub(crate) fn bound_nanos(self, scale: Scale) -> u64 {
        scale.nanos(self.width_ticks).div_ceil(2).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    #[test]
    fn the_kept_reading_lies_in_its_bracket() {
        let earliest = Source::Monotonic.end_ticks();
        let bracket = Bracket::tightest(Source::Monotonic, Source::reference_nanos);
        let latest = Source::Monotonic.end_ticks();
        let apart = bracket.ticks.abs_diff(bracket.nanos as u64);
        assert!(apart <= bracket.bound_nanos(Scale::ONE), "{apart} ns: {bracket:?}");
        assert!((earliest..=latest).contains(&bracket.ticks));
    }

    #[test]
    fn the_tightest_is_kept() {
        // The first bracket is made slow, so it must not be kept.
        let calls = Cell::new(0);
        let bracket = Bracket::tightest(Source::Monotonic, |source| {
            calls.set(calls.get() + 1);
            if calls.get() == 1 {
                let from = source.reference_nanos();
                while source.reference_nanos() < from + 1_000_000 {}
                return -1;
            }
            source.reference_nanos()
        });
        assert_eq!(calls.get(), TRIES);
        assert_ne!(bracket.nanos, -1);
    }

    #[test]
    fn a_bound_is_half_the_width_and_the_rounding() {
        let bracket = Bracket { ticks: 100, width_ticks: 21, nanos: 0 };
        assert_eq!(bracket.bound_nanos(Scale::ONE), 12);
        let wide = Bracket { width_ticks: u64::MAX, ..bracket };
        assert_eq!(wide.bound_nanos(Scale::ONE), (1 << 63) + 1);
    }
}
