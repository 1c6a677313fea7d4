//! Makes a numbered stream of batches, in any order and from any number of publishers.
//!
//! Protocol: the first batch decides the ring, and the first number. Messages with a smaller number
//! than the next one are skipped: a publisher that was started again sends some twice, and several
//! publishers of one ring send all of them. A larger number is a gap.
//! A batch of another ring is skipped if that ring is older. A newer one has taken the place of the
//! followed ring, and its numbers begin again, so that the stream ends.
//! Bounds: one batch. Its memory grows to the longest one, at most 16 MiB.

use std::ops::ControlFlow;

use nanotape_clock::UtcNanos;
use nanotape_tape::{Gap, Item, Progress, WriterState};

use crate::batch::{AeronBatch, BatchError, BatchHeader};

/// What became of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchOutcome {
    /// It can be polled, or has moved the stream without messages.
    Taken,
    /// All of its messages came before.
    Repeated,
    /// It is not a valid batch.
    Refused(BatchError),
    /// It is of an earlier ring.
    OlderRing {
        /// The creation time of that ring.
        created_ns: u64,
    },
    /// It is of a later ring, which has taken the place of the followed one.
    NewerRing {
        /// The creation time of that ring.
        created_ns: u64,
    },
}

/// Numbers of batches and messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnpackerCounts {
    /// Batches that were taken, also those without messages.
    pub batches: u64,
    /// Messages that were skipped because they came before.
    pub repeated: u64,
    /// Batches that are not valid.
    pub refused: u64,
    /// Batches of other rings.
    pub other_rings: u64,
}

/// The receiving side of a stream.
#[derive(Debug)]
pub struct BatchUnpacker {
    /// The ring that is followed; `None` before the first batch.
    created_ns: Option<u64>,
    writer: Option<WriterState>,
    /// The number of the next message; 0 before it is known.
    next: u64,
    /// The end of the numbers that a batch has shown.
    end: u64,
    /// When the last batch was sent.
    sent: UtcNanos,
    /// The batch that is polled.
    bytes: Vec<u8>,
    /// Whether it has messages left.
    is_pending: bool,
    counts: UnpackerCounts,
}

impl Default for BatchUnpacker {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchUnpacker {
    /// Waits for a first batch.
    pub fn new() -> Self {
        Self {
            created_ns: None,
            writer: None,
            next: 0,
            end: 0,
            sent: UtcNanos::of_unix_ns(0),
            bytes: Vec::new(),
            is_pending: false,
            counts: UnpackerCounts::default(),
        }
    }

    /// Makes this the number of the next message: smaller ones are skipped.
    pub fn continue_at(&mut self, sequence: u64) {
        self.next = sequence;
    }

    /// The creation time of the ring; `None` before the first batch.
    pub fn created_ns(&self) -> Option<u64> {
        self.created_ns
    }

    /// The writer of the ring, as the last batch has it; alive before.
    pub fn writer(&self) -> WriterState {
        self.writer.unwrap_or(WriterState::Alive)
    }

    /// The number of the next message; 0 before it is known.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The number after the newest message that is known; at least the next one.
    pub fn end(&self) -> u64 {
        self.end.max(self.next)
    }

    /// When the last batch was sent, by the clock of its sender.
    pub fn sent(&self) -> UtcNanos {
        self.sent
    }

    /// What came so far.
    pub fn counts(&self) -> UnpackerCounts {
        self.counts
    }

    /// Whether a batch has messages that were not polled. The next one must not be given before.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Takes a batch.
    pub fn take(&mut self, bytes: &[u8]) -> BatchOutcome {
        let header = match AeronBatch::decode(bytes) {
            Ok(batch) => batch.header(),
            Err(error) => {
                self.counts.refused += 1;
                return BatchOutcome::Refused(error);
            }
        };
        let BatchHeader { created_ns, first, count, writer, .. } = header;
        if let Some(followed) = self.created_ns
            && followed != created_ns
        {
            self.counts.other_rings += 1;
            return match created_ns < followed {
                true => BatchOutcome::OlderRing { created_ns },
                false => BatchOutcome::NewerRing { created_ns },
            };
        }
        self.created_ns = Some(created_ns);
        self.counts.batches += 1;
        if self.next == 0 {
            self.next = first;
        }
        let end = first + u64::from(count);
        let is_repeated = end <= self.next && count > 0;
        let skipped = self.next.saturating_sub(first).min(count.into());
        self.counts.repeated += skipped;
        if is_repeated {
            return BatchOutcome::Repeated;
        }
        self.sent = header.sent;
        // A late copy of an earlier batch must not take back an end.
        if end >= self.end {
            (self.writer, self.end) = (Some(writer), end);
        }
        self.is_pending = end > self.next;
        if self.is_pending {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
        }
        BatchOutcome::Taken
    }

    /// Visits the gap before the batch and its messages; `Break` stops after the item.
    #[inline]
    pub fn poll(&mut self, mut visit: impl FnMut(Item<'_>) -> ControlFlow<()>) -> Progress {
        if !self.is_pending {
            return Progress::Nothing;
        }
        self.is_pending = false;
        // It was valid when it was taken.
        let Ok(batch) = AeronBatch::decode(&self.bytes) else { return Progress::Nothing };
        let BatchHeader { first, count, .. } = batch.header();
        let end = first + u64::from(count);
        if self.next < first {
            let gap = Gap { from: self.next, to: first - 1 };
            self.next = first;
            if visit(Item::Gap(gap)).is_break() {
                self.is_pending = self.next < end;
                return Progress::Stopped;
            }
        }
        let next = self.next;
        for message in batch.messages().filter(|message| message.sequence >= next) {
            self.next = message.sequence + 1;
            if visit(Item::Message(message)).is_break() {
                self.is_pending = self.next < end;
                return Progress::Stopped;
            }
        }
        Progress::Read
    }
}
