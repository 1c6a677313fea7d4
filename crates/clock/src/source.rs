//! What a clock can read, and the three ways of reading it.

use core::fmt;

use crate::{kernel, tsc};

/// What a clock reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Source {
    /// The invariant time stamp counter.
    TimeStampCounter,
    /// The operating system's monotonic clock, the one that nobody adjusts
    /// (`CLOCK_MONOTONIC_RAW`): the nanoseconds that the counter is calibrated against, so that
    /// figures from both sources are in one unit.
    Monotonic,
    /// The operating system's clock in steps of a timer tick (`CLOCK_MONOTONIC_COARSE`),
    /// milliseconds each. Only where the kernel forbids the counter: its finer clocks read the
    /// counter too, in the program, and would end it.
    Coarse,
}

impl Source {
    /// The ticks now, once everything before is done.
    #[inline]
    pub(crate) fn end_ticks(self) -> u64 {
        match self {
            Self::TimeStampCounter => tsc::read_end(),
            Self::Monotonic => kernel::raw_nanos() as u64,
            Self::Coarse => kernel::coarse_nanos() as u64,
        }
    }

    /// As [`Source::end_ticks`], and nothing behind begins before. The operating system's clock has
    /// the fence in front only; the work of converting its reading stands in for the one behind.
    #[inline]
    pub(crate) fn start_ticks(self) -> u64 {
        match self {
            Self::TimeStampCounter => tsc::read_start(),
            other => other.end_ticks(),
        }
    }

    /// The ticks at about now.
    #[inline]
    pub(crate) fn unfenced_ticks(self) -> u64 {
        match self {
            Self::TimeStampCounter => tsc::read_unfenced(),
            other => other.end_ticks(),
        }
    }

    /// The kernel clock that gives nanoseconds to compare with.
    pub(crate) fn reference_nanos(self) -> i64 {
        match self {
            Self::Coarse => kernel::coarse_nanos(),
            _ => kernel::raw_nanos(),
        }
    }

    /// The kernel clock that follows UTC.
    pub(crate) fn realtime_nanos(self) -> i64 {
        match self {
            Self::Coarse => kernel::coarse_realtime_nanos(),
            _ => kernel::realtime_nanos(),
        }
    }

    /// How far behind a reading of [`Source::realtime_nanos`] may be, besides being late.
    pub(crate) fn realtime_step_nanos(self) -> u64 {
        match self {
            Self::Coarse => kernel::coarse_step_nanos().unsigned_abs(),
            _ => 1,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimeStampCounter => "invariant time stamp counter",
            Self::Monotonic => "operating system's monotonic clock",
            Self::Coarse => "operating system's coarse clock",
        })
    }
}
