//! Messages that are written where they stay, without a buffer of the caller.
//!
//! Where: implemented by the writers of rings and journals, and used by the writers of interfaces.
//! [`Sink::append`](crate::Sink::append) copies a payload that exists already; a message that is
//! made of fields needs no payload of its own.
//!
//! Protocol: reserve room, store each word of the payload once, commit. Readers see the message
//! after the commit only. Room that is dropped is discarded, and its number is used again.

use nanotape_clock::UtcNanos;

/// The writer of a stream, for messages that are written in place.
pub trait InPlaceSink {
    /// Why a message cannot be written.
    type Error;

    /// Room for one message.
    type Room<'sink>: MessageRoom<Error = Self::Error>
    where
        Self: 'sink;

    /// Reserves room for a message with `length` bytes of payload. A stream that stores no times
    /// ignores `ts`.
    fn reserve(
        &mut self,
        type_id: u16,
        ts: UtcNanos,
        length: usize,
    ) -> Result<Self::Room<'_>, Self::Error>;
}

/// Room for one message in the stream's own memory. Dropping it discards the message.
pub trait MessageRoom: Sized {
    /// Why the message cannot be committed.
    type Error;

    /// Stores the first words of the payload. Bytes after the payload must be zero.
    ///
    /// # Panics
    ///
    /// If the payload has fewer words.
    fn set_words<const N: usize>(&mut self, words: [[u8; 8]; N]);

    /// Stores bytes from the word `first_word` on; the rest of the last word becomes zero.
    ///
    /// # Panics
    ///
    /// If they extend past the payload.
    fn write(&mut self, first_word: usize, bytes: &[u8]);

    /// Shows the message to readers; returns its number.
    fn commit(self) -> Result<u64, Self::Error>;
}
