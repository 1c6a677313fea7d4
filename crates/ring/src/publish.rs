//! What every writer can do, whichever ring it writes.

use nanotape_shm::{OwnedRegion, WORD_BYTES, Word, copy_into};

use crate::{PublishError, RingError, Start, Subscribe};

/// The one writer of a ring. It never waits, and does not know its readers.
pub trait Publish {
    /// Who reads this kind of ring.
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

    /// A message of `length` bytes to be written in place. Nobody sees it before it is published.
    fn claim(&mut self, type_id: u16, length: usize) -> Result<Self::Claim<'_>, PublishError>;

    /// Messages that readers will see together or not at all.
    fn batch(&mut self) -> Self::Batch<'_>;

    /// The sequence number that the next message will have.
    fn next_sequence(&self) -> u64;

    /// The longest payload in bytes.
    fn max_length(&self) -> usize;

    /// Says what the time is, in ns since the UNIX epoch: messages published from now on are known
    /// to be from then. The ring reads no clock. Costs nothing; call it whenever you have read
    /// yours.
    fn set_time(&mut self, now_ns: u64);

    /// Shows monitors that the writer works although it publishes nothing; also sets the time.
    fn heartbeat(&mut self, now_ns: u64);

    /// The region that the ring is in.
    fn region(&self) -> &OwnedRegion;

    /// A reader in this process.
    fn reader(&self, start: Start) -> Result<Self::Reader, RingError>;
}

/// Room for one message in the ring's own memory. Publish it, or drop it and it was never
/// published.
#[expect(clippy::len_without_is_empty, reason = "an empty message is a message")]
pub trait Claimed: Sized {
    /// Lets readers see it; returns its sequence number.
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

    /// Writes bytes of payload from the word `first_word` on; bytes that the last of these words
    /// has besides become zero.
    ///
    /// # Panics
    ///
    /// If they reach beyond the claim's length.
    #[inline]
    fn write(&mut self, first_word: usize, bytes: &[u8]) {
        let end = first_word * WORD_BYTES + bytes.len();
        assert!(end <= self.len(), "{end} bytes in a claim of {}", self.len());
        copy_into(&self.payload()[first_word..], bytes);
    }

    /// Publishes nothing. Dropping the claim does the same.
    fn abandon(self) {}
}

/// A batch being written. Publish it, or drop it and it was never there.
pub trait Batched: Sized {
    /// Adds a message. If the batch has no room for it, it stays as it was: publish it and go on.
    fn push(&mut self, type_id: u16, payload: &[u8]) -> Result<(), PublishError>;

    /// How many messages it has.
    fn len(&self) -> u64;

    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets readers see it; returns the sequence number of its first message, or the next one to be
    /// used if the batch is empty.
    fn publish(self) -> u64;
}
