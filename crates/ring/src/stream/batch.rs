//! Messages that readers see together or not at all.

use nanotape_shm::{WORD_BYTES, Word, copy_into};

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

    /// Adds a message whose payload `fill` writes, in the usual case; whether it is one.
    #[inline(always)]
    fn add(&mut self, message: (u16, usize), fill: impl FnOnce(&[Word])) -> bool {
        let next = (self.position, self.first + self.count);
        let Some((gate, end)) = self.writer.write_at_once(next, message, self.gate, fill) else {
            return false;
        };
        self.gate = Some(gate);
        self.position = end;
        self.count += 1;
        true
    }

    /// Adds a message at the end of a lap or of the reserved range, or finds that there is no room.
    #[cold]
    #[inline(never)]
    fn add_otherwise(&mut self, type_id: u16, payload: &[u8]) -> Result<(), PublishError> {
        let frame = self.writer.frame(self.position, type_id, payload.len())?;
        copy_into(self.writer.payload(&frame), payload);
        let sequence = self.first + self.count;
        self.gate = Some(self.writer.finish(&frame, sequence, self.gate));
        self.position = frame.end;
        self.count += 1;
        Ok(())
    }
}

impl Batched for Batch<'_> {
    #[inline(always)]
    fn push(&mut self, type_id: u16, payload: &[u8]) -> Result<(), PublishError> {
        if self.add((type_id, payload.len()), |words| copy_into(words, payload)) {
            return Ok(());
        }
        self.add_otherwise(type_id, payload)
    }

    #[inline(always)]
    fn push_words<const N: usize>(
        &mut self,
        type_id: u16,
        payload: [u64; N],
    ) -> Result<(), PublishError> {
        let fill = |words: &[Word]| {
            words.iter().zip(payload).rev().for_each(|(word, value)| word.store(value));
        };
        if self.add((type_id, const { N * WORD_BYTES }), fill) {
            return Ok(());
        }
        self.add_otherwise(type_id, payload.map(u64::to_ne_bytes).as_flattened())
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
