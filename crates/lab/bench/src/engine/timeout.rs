//! How to wait for another process, and for how long at most.

use core::hint;
use std::thread;

use nanotape_clock::{Clock, Stamp};

/// What to do between two polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Poll again at once, for messages that are timed one by one.
    Busy,
    /// Poll again after a pause instruction.
    Pause,
    /// Yield the processor, for processes that share one.
    Yield,
}

/// A process gives up after no progress of the other one for this long.
const LIMIT_NANOS: u64 = 30_000_000_000;

/// Polls between two readings of the clock.
const POLLS: u64 = 1 << 16;

/// The other process made no progress for too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no message from the other process for 30 s, after {so_far} messages")]
pub(crate) struct TimedOut {
    /// Position of the caller.
    pub(crate) so_far: u64,
}

/// Waits, and gives up after no progress for too long, so that no process polls forever.
#[derive(Debug)]
pub(crate) struct Timeout {
    clock: Clock,
    wait: Wait,
    idles: u64,
    /// Position of the caller, and when it was first observed.
    last: Option<(u64, Stamp)>,
}

impl Timeout {
    pub(crate) fn new(clock: Clock, wait: Wait) -> Self {
        Self { clock, wait, idles: 0, last: None }
    }

    /// Records a poll without result, at this position of the caller.
    #[inline(always)]
    pub(crate) fn idle(&mut self, so_far: u64) -> Result<(), TimedOut> {
        self.idles += 1;
        if self.idles.is_multiple_of(POLLS) {
            self.check(so_far)?;
        }
        match self.wait {
            Wait::Busy => {}
            Wait::Pause => hint::spin_loop(),
            Wait::Yield => thread::yield_now(),
        }
        Ok(())
    }

    #[cold]
    fn check(&mut self, so_far: u64) -> Result<(), TimedOut> {
        let now = self.clock.stamp();
        match self.last {
            Some((before, since)) if before == so_far => {
                if self.clock.nanos_between(since, now) > LIMIT_NANOS {
                    return Err(TimedOut { so_far });
                }
            }
            _ => self.last = Some((so_far, now)),
        }
        Ok(())
    }
}
