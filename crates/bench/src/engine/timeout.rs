//! Waiting for another process: how, and for how long at most.

use core::hint;
use std::thread;

use nanotape_clock::{Clock, Stamp};

/// What to do while there is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Poll again at once, for what is timed message by message.
    Busy,
    /// The same with a pause instruction.
    Pause,
    /// Offer the processor to others: for processes that share one.
    Yield,
}

/// A process that saw nothing of the other for so long gives up.
const LIMIT_NANOS: u64 = 30_000_000_000;

/// Polls between two readings of the clock.
const POLLS: u64 = 1 << 16;

/// The other process did nothing for too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no message from the other process for 30 s, after {so_far} messages")]
pub(crate) struct TimedOut {
    /// How far it was.
    pub(crate) so_far: u64,
}

/// Waits, and gives up when nothing happened for too long, so that no process polls for ever.
#[derive(Debug)]
pub(crate) struct Timeout {
    clock: Clock,
    wait: Wait,
    idles: u64,
    /// How far the caller was, and when that was first seen.
    last: Option<(u64, Stamp)>,
}

impl Timeout {
    pub(crate) fn new(clock: Clock, wait: Wait) -> Self {
        Self { clock, wait, idles: 0, last: None }
    }

    /// There was nothing; the caller has come so far.
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
