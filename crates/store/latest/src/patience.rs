//! How long one operation of a writer waits for others, all its locks together.

use std::{cell::Cell, time::Duration};

use nanotape_clock::{Clock, Stamp};

use crate::{error::LatestError, group::pause};

/// Turns before the clock is read for the first time.
const TURNS: u32 = if cfg!(nanotape_loom) { 0 } else { 64 };

/// The pause between two turns from then on.
const NAP: Duration = Duration::from_micros(20);

/// The patience of one operation.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    turns: Cell<u32>,
    began: Cell<Option<Stamp>>,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, turns: Cell::new(0), began: Cell::new(None) }
    }

    /// Waits for a moment, for the writer with this number, or for several ones if it is 0.
    #[cold]
    pub(crate) fn wait(&self, group: u64, owner: u32) -> Result<(), LatestError> {
        self.turns.set(self.turns.get().saturating_add(1));
        if self.turns.get() <= TURNS {
            pause();
            return Ok(());
        }
        let (clock, now) = (Clock::monotonic(), Clock::monotonic().stamp());
        let Some(began) = self.began.get() else {
            self.began.set(Some(now));
            pause();
            return Ok(());
        };
        let waited = Duration::from_nanos(clock.nanos_between(began, now));
        if waited > self.limit {
            return Err(LatestError::Busy { group, owner, waited });
        }
        if cfg!(nanotape_loom) {
            pause();
        } else {
            std::thread::sleep(NAP);
        }
        Ok(())
    }
}
