//! Both sides of a numbered stream, independent of its storage.

use std::{fmt, ops::ControlFlow};

use nanotape_clock::UtcNanos;

use crate::{Item, Start};

/// A reader's position in a stream, and the writer of that stream.
pub trait Tape {
    /// Why the stream cannot be read.
    type Error;

    /// The number of the next message. A reader that continues later starts at [`Start::Sequence`]
    /// with this number.
    fn next_sequence(&self) -> u64;

    /// The number after the current newest message.
    fn end(&self) -> Result<u64, Self::Error>;

    /// The writer. Makes a system call, so call it rarely.
    fn writer(&self) -> Writer;

    /// Checks that the stream still exists, and makes the next poll check for changes that a cheap
    /// poll skips. Makes a system call, so call it rarely.
    fn check(&mut self) -> Result<(), Self::Error>;
}

/// A reader of a stream. No method waits; [`Follow`](crate::Follow) does.
pub trait Source: Tape {
    /// Visits items in order, as many as one poll finds; `Break` stops after the item. A visited
    /// item is read; the first one that was not visited is next.
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

    /// Continues at another position. After an error the position is unchanged.
    fn seek(&mut self, start: Start) -> Result<(), Self::Error>;
}

/// The writer of a stream: of its own messages, or of those of another stream under their numbers.
pub trait Sink {
    /// Why a message cannot be appended.
    type Error;

    /// The number of the next message.
    fn next_sequence(&self) -> u64;

    /// Appends a message; returns its number.
    #[inline]
    fn append(&mut self, type_id: u16, ts: UtcNanos, payload: &[u8]) -> Result<u64, Self::Error> {
        let sequence = self.next_sequence();
        self.append_at(sequence, type_id, ts, payload)?;
        Ok(sequence)
    }

    /// Appends a message under a number, which is not below the next one. Readers get the numbers
    /// between as a [`Gap`](crate::Gap).
    fn append_at(
        &mut self,
        sequence: u64,
        type_id: u16,
        ts: UtcNanos,
        payload: &[u8],
    ) -> Result<(), Self::Error>;

    /// Gives the next message this number, which is not below the next one.
    fn skip_to(&mut self, sequence: u64) -> Result<(), Self::Error>;

    /// Takes back the messages from this number on, which is not above the next one: the next
    /// message gets it. Readers that passed it get [`Reused`](crate::Reused). A stream that cannot
    /// take messages back returns an error and is unchanged.
    fn rewind_to(&mut self, sequence: u64) -> Result<(), Self::Error>;

    /// Every message with a smaller number outlives a loss of power, as far as the writer knows; 1
    /// in a stream in memory.
    fn durable(&mut self) -> u64;
}

/// The result of a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Progress {
    /// No item is available.
    Nothing,
    /// It visited at least one item.
    Read,
    /// It visited at least one item, and the visitor stopped it.
    Stopped,
}

impl Progress {
    /// The result of a poll whose first visit returned `flow`.
    #[inline]
    pub fn of(flow: ControlFlow<()>) -> Self {
        if flow.is_break() { Self::Stopped } else { Self::Read }
    }
}

/// The writer of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writer {
    /// Changes with each writer.
    pub epoch: u64,
    /// Whether it is writing.
    pub state: WriterState,
}

/// The state of a stream's writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriterState {
    /// Its process is alive.
    Alive,
    /// It closed the stream, or no process has written yet.
    Closed,
    /// Its process ended without closing: killed, crashed, or panicked.
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
