//! How the thread of a connection waits, and the rate of what it moves.

use std::{io, thread, time::Duration};

use nanotape_link::{Connection, Peer};

/// How the thread of a connection waits for something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkPace {
    /// It never waits: a processor of its own.
    Spin,
    /// It yields its processor whenever nothing is to be done: for more threads than processors.
    Yield,
    /// It sleeps until bytes arrive. New excerpts of a journal are found after at most this time.
    Sleep(Duration),
}

impl LinkPace {
    /// Waits after a turn in which nothing was to be done, for `most` if this thread sleeps.
    #[inline]
    pub(crate) fn pause(
        self,
        connection: &Connection,
        peer: &Peer,
        most: Duration,
    ) -> io::Result<()> {
        match self {
            Self::Spin => Ok(()),
            Self::Yield => {
                thread::yield_now();
                Ok(())
            }
            Self::Sleep(longest) => {
                connection.wait(connection.has_waiting(peer), most.min(longest))
            }
        }
    }
}

/// Bytes a second, of a count that is read now and then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    read_ns: u64,
    bytes: u64,
    per_s: u64,
}

impl Rate {
    /// Takes in the count at a monotonic time; returns the rate of the last second or more.
    pub(crate) fn at(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let passed_ns = now_ns.saturating_sub(self.read_ns);
        if passed_ns >= 1_000_000_000 {
            let moved = u128::from(bytes.saturating_sub(self.bytes)) * 1_000_000_000;
            self.per_s = u64::try_from(moved / u128::from(passed_ns)).unwrap_or(u64::MAX);
            (self.read_ns, self.bytes) = (now_ns, bytes);
        }
        self.per_s
    }
}
