//! A view of a message in the ring's memory, while the writer may be overwriting it.

use nanotape_shm::{ReadWord, WORD_BYTES, copy_out};

use crate::Received;

/// A view of a message in place, without a copy.
///
/// The writer does not wait for readers, so the values that this view returns may be torn. They are
/// valid only if the read then returns [`Read::Message`](crate::Read::Message). So a visitor must
/// compute a value without side effects, and must not fail, loop or trust a length because of what
/// it reads.
#[derive(Clone, Copy, Debug)]
pub struct Message<'ring> {
    pub(crate) payload: &'ring [ReadWord],
    pub(crate) received: Received,
}

impl Message<'_> {
    /// Sequence number, type and length.
    #[inline]
    pub fn received(&self) -> Received {
        self.received
    }

    /// Bytes of payload.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty message is a message")]
    pub fn len(&self) -> usize {
        self.received.length as usize
    }

    /// Eight bytes of payload, the `index`-th such word, zero after the end.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.payload.get(index).map_or(0, ReadWord::load)
    }

    /// Copies as much of the payload as fits; returns the number of bytes.
    #[inline]
    pub fn copy_to(&self, buffer: &mut [u8]) -> usize {
        let length = self.len().min(buffer.len()).min(self.payload.len() * WORD_BYTES);
        copy_out(self.payload, &mut buffer[..length]);
        length
    }
}
