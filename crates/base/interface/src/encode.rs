//! Writes the fields of a call into the memory of a stream.
//!
//! The words of a message are made in registers, because memory that other processes read is
//! written in whole words, each once. Then each is stored in its place.

use nanotape_clock::UtcNanos;
use nanotape_tape::{InPlaceSink, Message, MessageRoom};

use crate::{MethodShape, WriteError};

/// Adds the bytes of a field to words that are zero there. The compiler checks that they fit.
#[inline(always)]
pub fn put<const START: usize, const N: usize, const WORDS: usize>(
    words: &mut [u64; WORDS],
    bytes: [u8; N],
) {
    const { assert!(START + N <= 8 * WORDS, "the field ends after the message") };
    let mut at = START;
    for part in bytes.chunks(8) {
        let mut eight = [0; 8];
        for (byte, of) in eight.iter_mut().zip(part) {
            *byte = *of;
        }
        let (value, shift) = (u64::from_le_bytes(eight), at % 8 * 8);
        words[at / 8] |= value << shift;
        if at % 8 + part.len() > 8 {
            words[at / 8 + 1] |= value >> (64 - shift);
        }
        at += part.len();
    }
}

/// Appends a message of these words, and of a tail after them.
#[inline]
pub fn append<S: InPlaceSink, const WORDS: usize>(
    sink: &mut S,
    ts: UtcNanos,
    shape: &'static MethodShape,
    words: &[u64; WORDS],
    tail: &[u8],
) -> Result<u64, WriteError<S::Error>> {
    if let Some(expected) = shape.tail
        && u32::try_from(tail.len()).is_ok_and(|length| length > expected.most_bytes)
    {
        let most = expected.most_bytes;
        return Err(WriteError::Tail { shape, found: tail.len(), most });
    }
    let length = usize::from(shape.length_bytes) + tail.len();
    let mut room = sink.reserve(shape.number, ts, length)?;
    room.set_words(words.map(u64::to_le_bytes));
    if !tail.is_empty() {
        room.write(WORDS, tail);
    }
    Ok(room.commit()?)
}

/// Appends a message as it is: one of a later version, which this one passes on.
#[inline]
pub fn hand_on<S: InPlaceSink>(
    sink: &mut S,
    ts: UtcNanos,
    message: &Message<'_>,
) -> Result<u64, WriteError<S::Error>> {
    let ts = message.ts.unwrap_or(ts);
    let mut room = sink.reserve(message.type_id, ts, message.payload.len())?;
    room.write(0, message.payload);
    Ok(room.commit()?)
}

/// The bytes of a number in a field of `N` bytes: a constant, or the default of a field.
pub const fn number<const N: usize>(number: u64) -> [u8; N] {
    const { assert!(N <= 8, "a number has at most eight bytes") };
    let bytes = number.to_le_bytes();
    match bytes.first_chunk() {
        Some(first) => *first,
        None => unreachable!(),
    }
}

/// The bytes of a text in a field of `N` bytes, with blanks after it.
pub const fn text<const N: usize>(text: &str) -> [u8; N] {
    assert!(text.len() <= N, "the text is longer than its field");
    let mut bytes = [b' '; N];
    bytes.split_at_mut(text.len()).0.copy_from_slice(text.as_bytes());
    bytes
}

/// One message in the memory of the caller, as a sink: for bytes that go elsewhere than into a
/// stream. Each message replaces the one before.
#[derive(Debug)]
pub struct Encoded<'buffer> {
    words: &'buffer mut [[u8; 8]],
    type_id: u16,
    length: usize,
}

/// A message that is longer than the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a message of {length} bytes in a buffer of {room}")]
pub struct BufferTooShort {
    /// Bytes of the message.
    pub length: usize,
    /// Bytes of the buffer.
    pub room: usize,
}

impl<'buffer> Encoded<'buffer> {
    /// Messages in this buffer.
    pub fn new(words: &'buffer mut [[u8; 8]]) -> Self {
        Self { words, type_id: 0, length: 0 }
    }

    /// The type of the last message; 0 before the first one.
    pub fn type_id(&self) -> u16 {
        self.type_id
    }

    /// The bytes of the last message; none before the first one.
    pub fn payload(&self) -> &[u8] {
        &self.words.as_flattened()[..self.length]
    }

    /// The same, for as long as the buffer lives.
    pub fn into_payload(self) -> &'buffer [u8] {
        &self.words.as_flattened()[..self.length]
    }
}

/// Room for a message in a buffer.
#[derive(Debug)]
pub struct EncodedRoom<'encoded, 'buffer> {
    encoded: &'encoded mut Encoded<'buffer>,
    type_id: u16,
    length: usize,
}

impl<'buffer> InPlaceSink for Encoded<'buffer> {
    type Error = BufferTooShort;
    type Room<'encoded>
        = EncodedRoom<'encoded, 'buffer>
    where
        'buffer: 'encoded;

    #[inline]
    fn reserve(
        &mut self,
        type_id: u16,
        _: UtcNanos,
        length: usize,
    ) -> Result<EncodedRoom<'_, 'buffer>, BufferTooShort> {
        let room = self.words.as_flattened().len();
        if length > room {
            return Err(BufferTooShort { length, room });
        }
        Ok(EncodedRoom { encoded: self, type_id, length })
    }
}

impl MessageRoom for EncodedRoom<'_, '_> {
    type Error = BufferTooShort;

    #[inline]
    fn set_words<const N: usize>(&mut self, words: [[u8; 8]; N]) {
        self.encoded.words[..N].copy_from_slice(&words);
    }

    #[inline]
    fn write(&mut self, first_word: usize, bytes: &[u8]) {
        let payload = &mut self.encoded.words.as_flattened_mut()[..self.length];
        payload[8 * first_word..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Never fails; returns 0, because the messages of a buffer have no numbers.
    #[inline]
    fn commit(self) -> Result<u64, BufferTooShort> {
        (self.encoded.type_id, self.encoded.length) = (self.type_id, self.length);
        Ok(0)
    }
}
