//! The reader's side: a numbered stream that comes out of an inlet.
//!
//! Protocol: it begins with the first message that arrives. It has no earlier ones, so that a
//! reader that needs them reads a journal.

use std::ops::ControlFlow;

use nanotape_clock::UtcNanos;
use nanotape_tape::{Item, Progress, Source, Start, Tape, Writer, WriterState};

use crate::{
    batch::BatchError,
    unpacker::{BatchOutcome, BatchUnpacker, UnpackerCounts},
};

/// Batches without a new message that one poll takes.
const BATCHES_PER_POLL: u32 = 64;

/// Gives batches: a subscription of Aeron, or a test.
pub trait Inlet {
    /// Why it no longer gives any.
    type Error;

    /// Passes the next batch on, if there is one. Never waits.
    fn poll(&mut self, take: impl FnMut(&[u8])) -> Result<bool, Self::Error>;

    /// Whether a publisher is connected.
    fn is_connected(&self) -> bool;

    /// Checks that batches can still come. Makes system calls, so call it rarely.
    fn check(&mut self) -> Result<(), Self::Error>;
}

/// Why a stream cannot be read on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AeronSourceError<E> {
    /// Another ring has taken the place of the followed one.
    #[error(
        "another ring is published on this stream: it was created at {now}, the one that was \
         followed at {then}; start again to follow it"
    )]
    NewerRing {
        /// The creation time of the followed ring.
        then: UtcNanos,
        /// The creation time of the other one.
        now: UtcNanos,
    },
    /// An Aeron stream has no earlier messages.
    #[error("an Aeron stream begins with what arrives: {start:?} needs a journal")]
    Start {
        /// Where the reader was to begin.
        start: Start,
    },
    /// The inlet has failed.
    #[error(transparent)]
    Inlet(E),
}

/// A stream that is read from an inlet.
#[derive(Debug)]
pub struct AeronSource<I> {
    inlet: I,
    unpacker: BatchUnpacker,
    /// Changes when a stream that had ended goes on.
    epoch: u64,
    refusal: Option<BatchError>,
}

impl<I: Inlet> AeronSource<I> {
    /// Begins with what arrives next.
    pub fn new(inlet: I) -> Self {
        Self { inlet, unpacker: BatchUnpacker::new(), epoch: 1, refusal: None }
    }

    /// Takes batches until one has messages, or a number at least. Returns whether the stream has
    /// begun.
    pub fn begin(&mut self) -> Result<bool, AeronSourceError<I::Error>> {
        if self.unpacker.next_sequence() == 0 {
            self.receive()?;
        }
        Ok(self.unpacker.next_sequence() > 0)
    }

    /// The creation time of the ring; `None` before the first batch.
    pub fn created_ns(&self) -> Option<u64> {
        self.unpacker.created_ns()
    }

    /// Whether a publisher is connected.
    pub fn is_connected(&self) -> bool {
        self.inlet.is_connected()
    }

    /// When the last batch was sent, by the clock of its sender.
    pub fn sent(&self) -> UtcNanos {
        self.unpacker.sent()
    }

    /// What came so far.
    pub fn counts(&self) -> UnpackerCounts {
        self.unpacker.counts()
    }

    /// Why the last of the refused batches was refused.
    pub fn refusal(&self) -> Option<BatchError> {
        self.refusal
    }

    /// Takes batches until one can be polled.
    #[inline]
    fn receive(&mut self) -> Result<(), AeronSourceError<I::Error>> {
        for _ in 0..BATCHES_PER_POLL {
            if self.unpacker.is_pending() {
                break;
            }
            let Self { inlet, unpacker, refusal, epoch } = self;
            let (then, was) = (unpacker.created_ns(), unpacker.writer());
            let mut newer = None;
            let polled = inlet.poll(|bytes| match unpacker.take(bytes) {
                BatchOutcome::Refused(error) => *refusal = Some(error),
                BatchOutcome::NewerRing { created_ns } => newer = Some(created_ns),
                _ => {}
            });
            if was != WriterState::Alive && unpacker.writer() == WriterState::Alive {
                *epoch += 1;
            }
            if let (Some(then), Some(now)) = (then, newer) {
                let [then, now] = [then, now].map(UtcNanos::of_unix_ns);
                return Err(AeronSourceError::NewerRing { then, now });
            }
            if !polled.map_err(AeronSourceError::Inlet)? {
                break;
            }
        }
        Ok(())
    }
}

impl<I: Inlet> Tape for AeronSource<I> {
    type Error = AeronSourceError<I::Error>;

    /// 1 before the first batch.
    #[inline]
    fn next_sequence(&self) -> u64 {
        self.unpacker.next_sequence().max(1)
    }

    fn end(&self) -> Result<u64, Self::Error> {
        Ok(self.unpacker.end().max(1))
    }

    fn writer(&self) -> Writer {
        Writer { epoch: self.epoch, state: self.unpacker.writer() }
    }

    fn check(&mut self) -> Result<(), Self::Error> {
        self.inlet.check().map_err(AeronSourceError::Inlet)
    }
}

impl<I: Inlet> Source for AeronSource<I> {
    #[inline]
    fn poll(
        &mut self,
        visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Self::Error> {
        if !self.unpacker.is_pending() {
            self.receive()?;
        }
        Ok(self.unpacker.poll(visit))
    }

    fn seek(&mut self, start: Start) -> Result<(), Self::Error> {
        match start {
            Start::Newest => Ok(()),
            Start::Sequence(sequence) if sequence >= self.unpacker.next_sequence() => {
                self.unpacker.continue_at(sequence);
                Ok(())
            }
            start => Err(AeronSourceError::Start { start }),
        }
    }
}
