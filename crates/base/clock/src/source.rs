//! The sources of a clock, and the three ways to read them.

use core::fmt;

use crate::{kernel, tsc};

/// A source of ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Source {
    /// The invariant time stamp counter.
    TimeStampCounter,
    /// The operating system's monotonic clock that is never adjusted (`CLOCK_MONOTONIC_RAW`). The
    /// counter is calibrated against it, so figures from both sources have the same unit.
    Monotonic,
    /// The operating system's clock in steps of a timer tick (`CLOCK_MONOTONIC_COARSE`),
    /// milliseconds each. Used only if the kernel forbids the counter: its finer clocks read the
    /// counter inside the program too, and would end it.
    Coarse,
}

impl Source {
    /// The ticks after everything before is done.
    #[inline]
    pub(crate) fn end_ticks(self) -> u64 {
        match self {
            Self::TimeStampCounter => tsc::read_end(),
            Self::Monotonic => kernel::raw_nanos() as u64,
            Self::Coarse => kernel::coarse_nanos() as u64,
        }
    }

    /// [`Source::end_ticks`], and nothing later begins before. The operating system's clock has
    /// only the fence before; the conversion of its reading replaces the one after.
    #[inline]
    pub(crate) fn start_ticks(self) -> u64 {
        match self {
            Self::TimeStampCounter => tsc::read_start(),
            other => other.end_ticks(),
        }
    }

    /// The approximate ticks.
    #[inline]
    pub(crate) fn unfenced_ticks(self) -> u64 {
        match self {
            Self::TimeStampCounter => tsc::read_unfenced(),
            other => other.end_ticks(),
        }
    }

    /// The kernel clock whose nanoseconds are compared.
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

    /// How old a reading of [`Source::realtime_nanos`] can be.
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
