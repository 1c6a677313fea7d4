//! Packets that number their messages, of any exchange: a session, the number of the first message,
//! and blocks of a length and a message.
//!
//! Where: FEED passes each UDP payload to [`PacketFraming::decode`], and sequences what it returns
//! without knowledge of the exchange. An implementation reads its own header; the walk over the
//! blocks is here, once for all of them.
//!
//! ```text
//! +--------+--------+---------+--------+---------+---
//! | header | length | message | length | message | ...   count times, to the exact end
//! +--------+--------+---------+--------+---------+---
//!            number = first     number = first + 1
//! ```
//!
//! A block of length 0 is legal and takes a number. Numbers start at 1: a message with number 0
//! would count as a duplicate in every receiver and disappear, so its packet is malformed. A packet
//! without messages can have number 0.
//!
//! Failure: a packet is accepted or refused as a whole. `decode` checks all blocks, so the iterator
//! over them cannot fail.
//! Cost: no allocation; work in proportion to the number of blocks.

mod malformed;

use core::{fmt, hash::Hash, marker::PhantomData};

pub use malformed::{Malformed, MalformedKind};

/// How an exchange numbers the messages of its packets.
pub trait PacketFraming: Copy + fmt::Debug + Send + 'static {
    /// Identifies one sequence of messages. Packets of other sessions have other numbers.
    type Session: Copy + Eq + Hash + fmt::Debug + fmt::Display + Send;

    /// Name of the protocol.
    const NAME: &'static str;

    /// Checks a whole packet: the header, and every block to the exact end.
    fn decode(bytes: &[u8]) -> Result<NumberedPacket<'_, Self>, Malformed>;

    /// The length field of a message block.
    fn block_length(bytes: [u8; 2]) -> u16;

    /// Writes a request to send `count` messages again, from number `first`, and returns its
    /// length. `None` if the protocol has no such packet, the count cannot be requested, or the
    /// buffer is too small.
    fn encode_request(
        session: Self::Session,
        first: u64,
        count: u16,
        buffer: &mut [u8],
    ) -> Option<usize>;
}

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketKind {
    /// At least one message.
    Data,
    /// No message; the number is that of the next one.
    Heartbeat,
    /// No message, and no later one.
    EndOfSession,
}

/// A packet whose blocks have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NumberedPacket<'a, F: PacketFraming> {
    /// The sequence of messages that the numbers belong to.
    pub session: F::Session,
    /// The kind of packet.
    pub kind: PacketKind,
    /// Number of the first message; without messages, of the next one.
    pub first: u64,
    /// Messages in the packet.
    pub count: u16,
    /// Bytes of blocks in the session before this packet, if the protocol counts them.
    pub stream_offset: Option<u64>,
    pub(super) blocks: &'a [u8],
}

impl<'a, F: PacketFraming> NumberedPacket<'a, F> {
    /// Checks numbers and blocks. The header before the blocks has `header_length` bytes, and the
    /// protocol has no number above `most`.
    #[inline]
    pub(super) fn checked(self, header_length: usize, most: u64) -> Result<Self, Malformed> {
        let Self { first, count, blocks, .. } = self;
        match first.checked_add(u64::from(count)) {
            Some(next) if next <= most => {}
            _ => return Err(Malformed::NumberOverflow { first, count }),
        }
        if first == 0 && count > 0 {
            return Err(Malformed::NumberZero { count });
        }
        let mut rest = blocks;
        for block in 0..count {
            match split_block::<F>(rest) {
                Ok((_, after)) => rest = after,
                Err(needed) => {
                    let offset = header_length + blocks.len() - rest.len();
                    return Err(cut(block, count, offset, needed, rest.len()));
                }
            }
        }
        if !rest.is_empty() {
            let offset = (header_length + blocks.len() - rest.len()) as u32;
            return Err(Malformed::Trailing { offset, following: rest.len() as u32 });
        }
        Ok(self)
    }

    /// The number of the first message after this packet.
    #[inline]
    pub fn next(&self) -> u64 {
        // `checked` has found that the sum fits.
        self.first + u64::from(self.count)
    }

    /// The offset in the stream after this packet, if the protocol counts bytes.
    #[inline]
    pub fn next_stream_offset(&self) -> Option<u64> {
        self.stream_offset.map(|offset| offset.saturating_add(self.blocks.len() as u64))
    }

    /// The messages with their numbers.
    #[inline]
    pub fn messages(&self) -> Messages<'a, F> {
        Messages { number: self.first, rest: self.blocks, framing: PhantomData }
    }

    /// The messages from `number` on; all of them if the first has a higher number.
    #[inline]
    pub fn messages_from(&self, number: u64) -> Messages<'a, F> {
        let mut messages = self.messages();
        while messages.number < number && messages.next().is_some() {}
        messages
    }
}

/// The messages of a packet with their numbers, in order.
#[derive(Clone, Debug)]
pub struct Messages<'a, F> {
    number: u64,
    rest: &'a [u8],
    framing: PhantomData<F>,
}

impl<'a, F: PacketFraming> Iterator for Messages<'a, F> {
    type Item = (u64, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (message, rest) = split_block::<F>(self.rest).ok()?;
        let number = self.number;
        self.rest = rest;
        self.number += 1;
        Some((number, message))
    }
}

/// The first message of `bytes` and the bytes after it, or how many bytes the block needs.
#[inline]
fn split_block<F: PacketFraming>(bytes: &[u8]) -> Result<(&[u8], &[u8]), usize> {
    let (&length, rest) = bytes.split_first_chunk::<2>().ok_or(2usize)?;
    let length = usize::from(F::block_length(length));
    rest.split_at_checked(length).ok_or(2 + length)
}

#[cold]
fn cut(block: u16, count: u16, offset: usize, needed: usize, present: usize) -> Malformed {
    let (offset, needed, present) = (offset as u32, needed as u32, present as u32);
    Malformed::Cut { block, count, offset, needed, present }
}

/// Writes blocks after a header of a packet, in a buffer of the caller.
#[derive(Debug)]
pub(super) struct BlockWriter<'b> {
    buffer: &'b mut [u8],
    length: usize,
    header_length: usize,
    first: u64,
    count: u16,
}

impl<'b> BlockWriter<'b> {
    /// `None` if the header does not fit.
    pub(super) fn new(header_length: usize, first: u64, buffer: &'b mut [u8]) -> Option<Self> {
        (buffer.len() >= header_length).then_some(Self {
            buffer,
            length: header_length,
            header_length,
            first,
            count: 0,
        })
    }

    /// Appends a message after its length, which `encode` makes. Returns `false` and changes
    /// nothing if it does not fit, or if the packet would exceed `most_count` messages or a number
    /// `most`.
    pub(super) fn push(
        &mut self,
        message: &[u8],
        encode: fn(u16) -> [u8; 2],
        most_count: u16,
        most: u64,
    ) -> bool {
        let Ok(length) = u16::try_from(message.len()) else { return false };
        let next = self.first.checked_add(u64::from(self.count) + 1);
        if self.first == 0 || self.count == most_count || next.is_none_or(|next| next > most) {
            return false;
        }
        let end = self.length + 2 + message.len();
        let Some(block) = self.buffer.get_mut(self.length..end) else { return false };
        let (front, back) = block.split_at_mut(2);
        front.copy_from_slice(&encode(length));
        back.copy_from_slice(message);
        self.length = end;
        self.count += 1;
        true
    }

    /// Messages so far.
    pub(super) fn count(&self) -> u16 {
        self.count
    }

    /// Bytes of the blocks so far.
    pub(super) fn block_bytes(&self) -> usize {
        self.length - self.header_length
    }

    /// The packet, with `header` at its front.
    pub(super) fn finish(self, header: &[u8]) -> &'b [u8] {
        let (packet, _) = self.buffer.split_at_mut(self.length);
        packet[..self.header_length].copy_from_slice(header);
        packet
    }
}
