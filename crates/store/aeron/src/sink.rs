//! The writer's side: messages into batches, and batches to an outlet.
//!
//! Failure: an outlet that is held back is an error that leaves the message with the caller, who
//! appends it again later. Nothing waits here.

use nanotape_clock::{Clock, Timeline, UtcNanos};
use nanotape_tape::{Sink, WriterState};

use crate::packer::{BatchPacker, Packed};

/// What became of a batch that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Offered {
    /// It is on its way.
    Sent,
    /// Flow control holds it back: a subscriber is slow, or the network is.
    HeldBack,
    /// No subscriber is connected.
    NoSubscriber,
}

/// Takes batches: a publication of Aeron, or a test.
pub trait Outlet {
    /// Why it no longer takes any.
    type Error;

    /// Offers a batch. Never waits.
    fn offer(&mut self, batch: &[u8]) -> Result<Offered, Self::Error>;

    /// The length of a batch that leaves in one packet.
    fn usual_bytes(&self) -> usize;

    /// The length of the longest batch.
    fn most_bytes(&self) -> usize;
}

/// Why a message was not appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AeronSinkError<E> {
    /// The batch before it could not be sent yet.
    #[error("the batch before message {sequence} is held back")]
    HeldBack {
        /// Its number.
        sequence: u64,
    },
    /// No batch has room for it.
    #[error("message {sequence} of {length} bytes: at most {most} fit into a term of the channel")]
    TooLong {
        /// Its number.
        sequence: u64,
        /// Bytes of its payload.
        length: usize,
        /// The longest payload.
        most: usize,
    },
    /// Its number was given before.
    #[error("message {sequence}: the next number is {next}")]
    Number {
        /// Its number.
        sequence: u64,
        /// The next number.
        next: u64,
    },
    /// What was sent cannot be taken back.
    #[error("a stream cannot take back what it has sent")]
    Sent,
    /// The outlet has failed.
    #[error(transparent)]
    Outlet(E),
}

/// A stream that is written to an outlet.
#[derive(Debug)]
pub struct AeronSink<O> {
    outlet: O,
    packer: BatchPacker,
    timeline: Timeline,
    next: u64,
    /// When the last batch was sent; 0 before.
    sent_ns: u64,
    /// The last answer of the outlet.
    offered: Offered,
    batches: u64,
    held_back: u64,
}

impl<O: Outlet> AeronSink<O> {
    /// Writes messages of the ring with this creation time, from this number on.
    pub fn new(outlet: O, created_ns: u64, next: u64) -> Self {
        let mut packer = BatchPacker::new(created_ns, outlet.usual_bytes(), outlet.most_bytes());
        packer.clear(next);
        let timeline = Timeline::recalibrating(Clock::monotonic());
        let offered = Offered::Sent;
        Self { outlet, packer, timeline, next, sent_ns: 0, offered, batches: 0, held_back: 0 }
    }

    /// Sends what was appended; `false` if it is held back.
    #[inline]
    pub fn flush(&mut self) -> Result<bool, O::Error> {
        if self.packer.is_empty() {
            return Ok(true);
        }
        self.offer(WriterState::Alive)
    }

    /// Sends the next number and the state of the ring's writer, in a batch without messages.
    /// Returns `false` if something is held back.
    pub fn announce(&mut self, next: u64, writer: WriterState) -> Result<bool, O::Error> {
        if !self.flush()? {
            return Ok(false);
        }
        self.next = self.next.max(next);
        self.packer.clear(self.next);
        self.offer(writer)
    }

    fn offer(&mut self, writer: WriterState) -> Result<bool, O::Error> {
        let now_ns = self.timeline.now_ns();
        let batch = self.packer.finish(writer, UtcNanos::of_unix_ns(now_ns));
        self.offered = self.outlet.offer(batch)?;
        self.held_back += u64::from(self.offered == Offered::HeldBack);
        if self.offered != Offered::Sent {
            return Ok(false);
        }
        self.batches += 1;
        self.sent_ns = now_ns;
        self.packer.clear(self.next);
        Ok(true)
    }

    /// The number of the first message that was not sent.
    pub fn unsent_from(&self) -> u64 {
        if self.packer.is_empty() { self.next } else { self.packer.first() }
    }

    /// Number of messages that were appended and not sent.
    pub fn unsent(&self) -> u64 {
        self.packer.count().into()
    }

    /// How long nothing was sent.
    pub fn silent_ns(&mut self) -> u64 {
        self.timeline.now_ns().saturating_sub(self.sent_ns)
    }

    /// The last answer of the outlet.
    pub fn offered(&self) -> Offered {
        self.offered
    }

    /// Number of batches that were sent, also those without messages.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// How many times flow control held a batch back.
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// The outlet.
    pub fn into_outlet(self) -> O {
        self.outlet
    }
}

impl<O: Outlet> Sink for AeronSink<O> {
    type Error = AeronSinkError<O::Error>;

    fn next_sequence(&self) -> u64 {
        self.next
    }

    /// A time of 0 stands for a message without one.
    #[inline]
    fn append_at(
        &mut self,
        sequence: u64,
        type_id: u16,
        ts: UtcNanos,
        payload: &[u8],
    ) -> Result<(), Self::Error> {
        if sequence < self.next {
            return Err(AeronSinkError::Number { sequence, next: self.next });
        }
        let ts = Some(ts).filter(|ts| ts.unix_ns() != 0);
        let mut packed = self.packer.push(sequence, type_id, ts, payload);
        if packed == Packed::Full {
            if !self.flush().map_err(AeronSinkError::Outlet)? {
                return Err(AeronSinkError::HeldBack { sequence });
            }
            packed = self.packer.push(sequence, type_id, ts, payload);
        }
        if let Packed::TooLong { most } = packed {
            let length = payload.len();
            return Err(AeronSinkError::TooLong { sequence, length, most });
        }
        self.next = sequence + 1;
        Ok(())
    }

    fn skip_to(&mut self, sequence: u64) -> Result<(), Self::Error> {
        if sequence < self.next {
            return Err(AeronSinkError::Number { sequence, next: self.next });
        }
        self.next = sequence;
        Ok(())
    }

    fn rewind_to(&mut self, sequence: u64) -> Result<(), Self::Error> {
        if sequence == self.next { Ok(()) } else { Err(AeronSinkError::Sent) }
    }

    fn durable(&mut self) -> u64 {
        1
    }
}
