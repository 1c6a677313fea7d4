//! The common interface of the writers of both rings.

use nanotape_shm::{OwnedRegion, WORD_BYTES, Word, copy_into};

use crate::{PublishError, RingError, Start, Subscribe};

/// The one writer of a ring. It never waits, and is independent of its readers.
pub trait Publish {
    /// The reader of this kind of ring.
    type Reader: Subscribe;

    /// A message being written in place.
    type Claim<'writer>: Claimed
    where
        Self: 'writer;

    /// Messages that are published together.
    type Batch<'writer>: Batched
    where
        Self: 'writer;

    /// Publishes one message; returns its sequence number.
    fn publish(&mut self, type_id: u16, payload: &[u8]) -> Result<u64, PublishError>;

    /// Claims room for a message of `length` bytes, to write in place. It is invisible until
    /// published.
    fn claim(&mut self, type_id: u16, length: usize) -> Result<Self::Claim<'_>, PublishError>;

    /// Messages that readers will see together or not at all.
    fn batch(&mut self) -> Self::Batch<'_>;

    /// The sequence number of the next message.
    fn next_sequence(&self) -> u64;

    /// Gives the next message this number, which is not below that of the next one. Readers report
    /// the numbers between as missing. For messages that have numbers already, such as those of
    /// another ring.
    fn skip_to(&mut self, sequence: u64) -> Result<(), PublishError>;

    /// The position of the next message, in bytes since the ring was created, headers included. The
    /// distance to [`Subscribe::position_bytes`] shows how far a reader is behind.
    fn position_bytes(&self) -> u64;

    /// The longest payload in bytes.
    fn max_length(&self) -> usize;

    /// Whether to hold back messages and batches until [`show_held`](Self::show_held), which
    /// publishes all of them together; any change shows them. A line that readers poll then changes
    /// hands once for all of them: for a caller that already has its next messages. Less than a
    /// 64th of the ring is held back; it counts for the limit of the next batch. What is held back
    /// when the writer is dropped is discarded. A claim shows what is held back, and is never held
    /// back itself. A ring that cannot hold messages publishes at once.
    fn set_holding(&mut self, holds: bool) {
        let _ = holds;
    }

    /// Publishes the messages that are held back.
    #[inline]
    fn show_held(&mut self) {}

    /// Sets the time, in ns since the UNIX epoch, of the messages published from now on. The ring
    /// reads no clock. The call is cheap; make it after each reading of the caller's clock.
    fn set_time(&mut self, now_ns: u64);

    /// Reports to monitors that the writer is alive although it publishes nothing; also sets the
    /// time.
    fn heartbeat(&mut self, now_ns: u64);

    /// The region that contains the ring.
    fn region(&self) -> &OwnedRegion;

    /// A reader in this process.
    fn reader(&self, start: Start) -> Result<Self::Reader, RingError>;
}

/// Room for one message in the ring's own memory. Dropping it discards the message.
#[expect(clippy::len_without_is_empty, reason = "an empty message is a message")]
pub trait Claimed: Sized {
    /// Publishes the message; returns its sequence number.
    fn publish(self) -> u64;

    /// The words of the payload, the last of them zero.
    fn payload(&self) -> &[Word];

    /// Bytes of payload.
    fn len(&self) -> usize;

    /// Writes eight bytes of payload, the `index`-th such word.
    ///
    /// # Panics
    ///
    /// If the claim has fewer words.
    #[inline]
    fn set_word(&mut self, index: usize, value: u64) {
        self.payload()[index].store(value);
    }

    /// Writes bytes of payload from the word `first_word` on; the rest of the last word becomes
    /// zero.
    ///
    /// # Panics
    ///
    /// If they extend past the claim's length.
    #[inline]
    fn write(&mut self, first_word: usize, bytes: &[u8]) {
        let end = first_word * WORD_BYTES + bytes.len();
        assert!(end <= self.len(), "{end} bytes in a claim of {}", self.len());
        copy_into(&self.payload()[first_word..], bytes);
    }

    /// Publishes nothing. Dropping the claim does the same.
    fn abandon(self) {}
}

/// A batch in progress. Dropping it discards its messages.
pub trait Batched: Sized {
    /// Adds a message. On error the batch is unchanged: if it has no room, publish it and continue.
    fn push(&mut self, type_id: u16, payload: &[u8]) -> Result<(), PublishError>;

    /// Adds a message of whole words: the same as their bytes in the machine's order. Faster if the
    /// words are in registers.
    #[inline(always)]
    fn push_words<const N: usize>(
        &mut self,
        type_id: u16,
        payload: [u64; N],
    ) -> Result<(), PublishError> {
        self.push(type_id, payload.map(u64::to_ne_bytes).as_flattened())
    }

    /// Number of messages.
    fn len(&self) -> u64;

    /// Whether the batch has no messages.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Publishes the batch; returns the sequence number of its first message, or the next one if
    /// the batch is empty.
    fn publish(self) -> u64;
}
