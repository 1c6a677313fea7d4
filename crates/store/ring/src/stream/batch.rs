//! Messages that readers see together or not at all.

use nanotape_shm::{WORD_BYTES, Word};

use super::{
    index::Boundary,
    writer::{Gate, Writer},
};
use crate::{Batched, PublishError};

/// A batch in progress. Dropping it discards its messages.
#[derive(Debug)]
#[must_use = "a batch that is dropped publishes nothing"]
pub struct Batch<'writer> {
    writer: &'writer mut Writer,
    /// The number of its first message.
    first: u64,
    /// The position of the next frame.
    position: u64,
    gate: Option<Gate>,
    count: u64,
}

impl<'writer> Batch<'writer> {
    #[inline(always)]
    pub(super) fn new(writer: &'writer mut Writer) -> Self {
        let Boundary { position, sequence } = writer.next();
        Self { writer, first: sequence, position, gate: None, count: 0 }
    }

    /// The position and number of the next message.
    #[inline(always)]
    fn next(&self) -> (u64, u64) {
        (self.position, self.first + self.count)
    }

    /// Counts a message, whose frame ends at a position.
    #[inline(always)]
    fn add(&mut self, (gate, end): (Gate, u64)) {
        self.gate = Some(gate);
        self.position = end;
        self.count += 1;
    }
}

impl Batched for Batch<'_> {
    #[inline(always)]
    fn push(&mut self, type_id: u16, payload: &[u8]) -> Result<(), PublishError> {
        let written = self.writer.write(self.next(), type_id, payload, self.gate)?;
        self.add(written);
        Ok(())
    }

    #[inline(always)]
    fn push_words<const N: usize>(
        &mut self,
        type_id: u16,
        payload: [u64; N],
    ) -> Result<(), PublishError> {
        let (next, message) = (self.next(), (type_id, const { N * WORD_BYTES }));
        // By index: an iterator over the values would store them to the stack first.
        let fill = |words: &[Word]| (0..N).rev().for_each(|at| words[at].store(payload[at]));
        let written = match self.writer.write_at_once(next, message, self.gate, fill) {
            Some(written) => written,
            None => {
                let bytes = payload.map(u64::to_ne_bytes);
                self.writer.write_in_pieces(next, type_id, bytes.as_flattened(), self.gate)?
            }
        };
        self.add(written);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.count
    }

    // Out of line it would take the batch by its address, so that messages are counted in memory.
    #[inline(always)]
    fn publish(self) -> u64 {
        match self.gate {
            Some(gate) => self.writer.complete(gate, self.position, self.count),
            None => self.first,
        }
    }
}
