//! Collects consecutive messages into a batch.

use nanotape_clock::UtcNanos;
use nanotape_tape::WriterState;

use crate::batch::{BATCH_HEADER_BYTES, BATCH_MAX_BYTES, BatchHeader, append_record, record_bytes};

/// The result of adding a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Packed {
    /// The batch has it.
    Added,
    /// It belongs to the next batch: this one has no room, or has other numbers.
    Full,
    /// No batch has room for it.
    TooLong {
        /// The longest payload.
        most: usize,
    },
}

/// A batch that is being filled. A message that is longer than a batch is usually gets one of its
/// own, which Aeron sends in fragments.
#[derive(Debug)]
pub struct BatchPacker {
    created_ns: u64,
    /// The length up to which messages share a batch.
    usual_bytes: usize,
    /// The longest batch.
    most_bytes: usize,
    bytes: Vec<u8>,
    first: u64,
    count: u16,
}

impl BatchPacker {
    /// An empty batch of the ring with this creation time. Messages share a batch of up to
    /// `usual_bytes`; no batch is longer than `most_bytes`.
    pub fn new(created_ns: u64, usual_bytes: usize, most_bytes: usize) -> Self {
        let most_bytes = most_bytes.clamp(BATCH_HEADER_BYTES, BATCH_MAX_BYTES);
        let usual_bytes = usual_bytes.clamp(BATCH_HEADER_BYTES, most_bytes);
        let mut bytes = Vec::with_capacity(usual_bytes);
        bytes.resize(BATCH_HEADER_BYTES, 0);
        Self { created_ns, usual_bytes, most_bytes, bytes, first: 1, count: 0 }
    }

    /// Whether it has no message.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of its first message; without messages, the one that was set.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of messages.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Adds a message.
    #[inline]
    pub fn push(
        &mut self,
        sequence: u64,
        type_id: u16,
        ts: Option<UtcNanos>,
        payload: &[u8],
    ) -> Packed {
        let most = self.most_bytes - BATCH_HEADER_BYTES;
        let Some(bytes) = record_bytes(payload.len()).filter(|bytes| *bytes <= most) else {
            let most = most.saturating_sub(crate::RECORD_HEADER_BYTES) & !7;
            return Packed::TooLong { most };
        };
        if self.count == 0 {
            self.first = sequence;
        } else if sequence != self.first + u64::from(self.count)
            || self.count == u16::MAX
            || self.bytes.len() + bytes > self.usual_bytes
        {
            return Packed::Full;
        }
        append_record(&mut self.bytes, type_id, ts, payload);
        self.count += 1;
        Packed::Added
    }

    /// The bytes of the batch, with the header.
    pub fn finish(&mut self, writer: WriterState, sent: UtcNanos) -> &[u8] {
        let Self { created_ns, first, count, .. } = *self;
        BatchHeader { created_ns, writer, first, count, sent }.encode(&mut self.bytes);
        &self.bytes
    }

    /// Empties the batch. The number is that of the next message.
    pub fn clear(&mut self, next: u64) {
        self.bytes.truncate(BATCH_HEADER_BYTES);
        (self.first, self.count) = (next, 0);
    }
}
