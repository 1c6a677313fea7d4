//! Rings as numbered streams, for tools, recorders and subscribers.
//!
//! Cost: a poll copies a whole batch out of the ring, as [`read_batch`](Subscribe::read_batch)
//! does. For the lowest latency use the reader itself, which shows messages in place.

use std::{fmt, ops::ControlFlow, path::Path};

use nanotape_clock::UtcNanos;
use nanotape_shm::{OwnerState, Refusal};
use nanotape_tape::{
    InPlaceSink, Item, Message, MessageRoom, Progress, Sink, Source, Start, Tape, Writer,
    WriterState,
};

use crate::{
    AnyReader, Claimed, Publish, PublishError, Read, ReadError, Received, RingError, Subscribe,
    slots, stream,
};

/// Large enough for many messages, and small enough for the L1 cache. It grows to the longest
/// message.
const BUFFER_BYTES: usize = 16 << 10;

/// A ring as a [`Source`]: a reader with a buffer.
#[derive(Clone)]
pub struct RingSource<R = AnyReader> {
    reader: R,
    buffer: Vec<u8>,
}

impl<R: fmt::Debug> fmt::Debug for RingSource<R> {
    /// Without the messages in the buffer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingSource").field("reader", &self.reader).finish_non_exhaustive()
    }
}

impl RingSource {
    /// Joins the ring at `path`, of either kind.
    pub fn open(path: &Path, start: Start) -> Result<Self, RingError> {
        AnyReader::open(path, start).map(Self::new)
    }
}

impl<R: Subscribe> RingSource<R> {
    /// Continues at the position of a reader.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; BUFFER_BYTES] }
    }

    /// The reader.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// The reader, to change its position.
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }
}

impl<R: Subscribe + Clone> Tape for RingSource<R> {
    type Error = RingError;

    #[inline]
    fn next_sequence(&self) -> u64 {
        self.reader.next_sequence()
    }

    fn end(&self) -> Result<u64, RingError> {
        let mut newest = self.reader.clone();
        newest.seek(Start::Newest)?;
        Ok(newest.next_sequence())
    }

    fn writer(&self) -> Writer {
        let owner = self.reader.region().owner();
        Writer { epoch: owner.epoch, state: writer_state(owner.state) }
    }

    /// Fails if the ring's file was removed, replaced or truncated. A file that cannot be examined
    /// is not lost.
    fn check(&mut self) -> Result<(), RingError> {
        match self.reader.region().check() {
            Err(error) if !matches!(error.refusal(), Refusal::System { .. }) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl<R: Subscribe + Clone> Source for RingSource<R> {
    #[inline]
    fn poll(
        &mut self,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, RingError> {
        let mut flow = ControlFlow::Continue(());
        let read = loop {
            let read = self.reader.read_batch_while(&mut self.buffer, |received, payload| {
                flow = visit(Item::Message(message(received, payload)));
                flow
            });
            match read {
                Err(ReadError::BufferTooSmall { needed, .. }) => self.buffer.resize(needed, 0),
                read => break read?,
            }
        };
        Ok(match read {
            Read::Message(_) => Progress::of(flow),
            Read::Lapped(gap) => Progress::of(visit(Item::Gap(gap))),
            Read::Empty => Progress::Nothing,
        })
    }

    #[inline]
    fn poll_one(&mut self, visit: impl FnOnce(Item<'_>)) -> Result<Progress, RingError> {
        let read = loop {
            match self.reader.try_read(&mut self.buffer) {
                Err(ReadError::BufferTooSmall { needed, .. }) => self.buffer.resize(needed, 0),
                read => break read?,
            }
        };
        match read {
            Read::Message(received) => {
                let payload = &self.buffer[..received.length as usize];
                visit(Item::Message(message(received, payload)));
            }
            Read::Lapped(gap) => visit(Item::Gap(gap)),
            Read::Empty => return Ok(Progress::Nothing),
        }
        Ok(Progress::Read)
    }

    fn seek(&mut self, start: Start) -> Result<(), RingError> {
        self.reader.seek(start)
    }
}

#[inline]
fn message(received: Received, payload: &[u8]) -> Message<'_> {
    let Received { sequence, type_id, .. } = received;
    Message { sequence, type_id, ts: None, payload }
}

/// The owner of a ring's region is its writer.
pub fn writer_state(state: OwnerState) -> WriterState {
    match state {
        OwnerState::Alive => WriterState::Alive,
        OwnerState::Closed => WriterState::Closed,
        OwnerState::Dead => WriterState::Dead,
    }
}

macro_rules! sink {
    ($writer:ty, $($Claim:ident)::+) => {
        impl Sink for $writer {
            type Error = PublishError;

            /// Publishes a message. Readers do not see its time; a `RingMonitor` shows that of the
            /// last message.
            #[inline]
            fn append_at(
                &mut self,
                sequence: u64,
                type_id: u16,
                ts: UtcNanos,
                payload: &[u8],
            ) -> Result<(), PublishError> {
                if sequence != Publish::next_sequence(self) {
                    Publish::skip_to(self, sequence)?;
                }
                self.set_time(ts.unix_ns());
                self.publish(type_id, payload).map(drop)
            }

            #[inline]
            fn next_sequence(&self) -> u64 {
                Publish::next_sequence(self)
            }

            fn skip_to(&mut self, sequence: u64) -> Result<(), PublishError> {
                Publish::skip_to(self, sequence)
            }

            /// Fails: a ring uses each number once. Its readers learn of another stream if a new
            /// ring takes its name.
            fn rewind_to(&mut self, sequence: u64) -> Result<(), PublishError> {
                let next = Publish::next_sequence(self);
                match sequence == next {
                    true => Ok(()),
                    false => Err(PublishError::Sequence { sequence, next, max: next }),
                }
            }

            fn durable(&mut self) -> u64 {
                1
            }
        }

        impl InPlaceSink for $writer {
            type Error = PublishError;
            type Room<'sink> = $($Claim)::+<'sink>;

            #[inline]
            fn reserve(
                &mut self,
                type_id: u16,
                ts: UtcNanos,
                length: usize,
            ) -> Result<$($Claim)::+<'_>, PublishError> {
                self.set_time(ts.unix_ns());
                self.claim(type_id, length)
            }
        }

        impl MessageRoom for $($Claim)::+<'_> {
            type Error = PublishError;

            #[inline]
            fn set_words<const N: usize>(&mut self, words: [[u8; 8]; N]) {
                for (word, bytes) in self.payload()[..N].iter().zip(words) {
                    word.store(u64::from_ne_bytes(bytes));
                }
            }

            #[inline]
            fn write(&mut self, first_word: usize, bytes: &[u8]) {
                Claimed::write(self, first_word, bytes);
            }

            #[inline]
            fn commit(self) -> Result<u64, PublishError> {
                Ok(self.publish())
            }
        }
    };
}

sink!(stream::Writer, stream::Claim);
sink!(slots::Writer, slots::Claim);
