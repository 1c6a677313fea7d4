//! Both sides of a numbered stream, whatever it is stored in.

use std::{fmt, ops::ControlFlow};

use nanotape_clock::UtcNanos;

use crate::{Item, Start};

/// A reader's position in a stream, and the writer of that stream.
pub trait Tape {
    /// Why the stream cannot be read.
    type Error;

    /// The number of the next message to be read. A reader that continues another time starts at
    /// [`Start::Sequence`] of it.
    fn next_sequence(&self) -> u64;

    /// The number after the newest message that exists now.
    fn end(&self) -> Result<u64, Self::Error>;

    /// The writer. Asks the system, so call it rarely.
    fn writer(&self) -> Writer;

    /// Checks that what is read still exists, and makes the next poll look for what a cheap poll
    /// does not see. Asks the system, so call it rarely.
    fn check(&mut self) -> Result<(), Self::Error>;
}

/// A reader of a stream. No method waits; [`Follow`](crate::Follow) does.
pub trait Source: Tape {
    /// Visits items in order, as many as one look finds; `Break` stops after the item. An item that
    /// was visited is read, one that was not is next.
    fn poll(
        &mut self,
        visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Self::Error>;

    /// Visits the next item only.
    #[inline]
    fn poll_one(&mut self, visit: impl FnOnce(Item<'_>)) -> Result<Progress, Self::Error> {
        let mut visit = Some(visit);
        self.poll(|item| {
            if let Some(visit) = visit.take() {
                visit(item);
            }
            ControlFlow::Break(())
        })
    }

    /// Continues at another position. After an error the position is the old one.
    fn seek(&mut self, start: Start) -> Result<(), Self::Error>;
}

/// The writer of a stream.
pub trait Sink {
    /// Why a message cannot be appended.
    type Error;

    /// Appends a message; returns its number.
    fn append(&mut self, type_id: u16, ts: UtcNanos, payload: &[u8]) -> Result<u64, Self::Error>;
}

/// What a poll did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Progress {
    /// Nothing is there yet.
    Nothing,
    /// It visited at least one item.
    Read,
    /// It visited at least one item, and the visitor stopped it.
    Stopped,
}

impl Progress {
    /// What a visit means for a poll that made no progress before it.
    #[inline]
    pub fn of(flow: ControlFlow<()>) -> Self {
        if flow.is_break() { Self::Stopped } else { Self::Read }
    }
}

/// Who writes a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writer {
    /// Changes with each writer.
    pub epoch: u64,
    /// Whether it writes.
    pub state: WriterState,
}

/// Whether a stream is being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriterState {
    /// Its process lives.
    Alive,
    /// It said that it was done, or no process has written yet.
    Closed,
    /// Its process ended and did not say so: killed, crashed, or panicked.
    Dead,
}

impl fmt::Display for WriterState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alive => "alive",
            Self::Closed => "closed",
            Self::Dead => "dead",
        })
    }
}
