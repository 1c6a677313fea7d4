//! Packets that number what they carry, of any exchange: a session, the number of the first
//! message, and blocks of a length and a message.
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
//! Exchanges differ in four ways, each a constant of the trait:
//!
//! | | MoldUDP64 | IEX-TP | PITCH | NYSE XDP | CME MDP 3.0 |
//! |---|---|---|---|---|---|
//! | length of a message | before it | before it | its first byte | its first two | its first two |
//! | what has a number | messages | messages | messages | messages | packets |
//! | messages without numbers | no | no | number 0 | refresh, retransmission | no |
//! | highest number | 64 bits | 63 bits | 32 bits, then 1 | 32 bits | 32 bits |
//!
//! Where a packet has the number, it is passed on as one message: all its blocks, which
//! [`blocks`] splits.
//!
//! Each framing has the code of its own constants only: `if const` leaves out the rest before code
//! is generated. More code in the generic functions moves what the compiler inlines elsewhere
//! (bench: book/hot).
//!
//! Failure: a packet is accepted or refused as a whole. `decode` checks all blocks, so the iterator
//! over them cannot fail.
//! Cost: no allocation; work in proportion to the number of blocks.

mod block_writer;
mod length_field;
mod malformed;

use core::{fmt, hash::Hash, marker::PhantomData};

pub(super) use block_writer::BlockWriter;
pub use length_field::LengthField;
pub use malformed::{Malformed, MalformedKind};

/// How an exchange numbers the messages of its packets.
pub trait PacketFraming: Copy + fmt::Debug + Send + 'static {
    /// Identifies one sequence of messages. Packets of other sessions have other numbers.
    type Session: Copy + Eq + Hash + fmt::Debug + fmt::Display + Send;

    /// Name of the protocol.
    const NAME: &'static str;

    /// Checks a whole packet: the header, and every block to the exact end.
    fn decode(bytes: &[u8]) -> Result<NumberedPacket<'_, Self>, Malformed>;

    /// How the length of a message is written.
    const LENGTH: LengthField;

    /// What has a number.
    const NUMBERED: Numbered = Numbered::Messages;

    /// Whether packets of the kind [`PacketKind::Unsequenced`] exist.
    const HAS_UNSEQUENCED: bool = false;

    /// The highest number if numbers come again: 1 follows it. Without one, no number comes twice
    /// in a session.
    const LAST: Option<u64> = None;

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

/// What has a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbered {
    /// Each message.
    Messages,
    /// Each packet. What it carries counts as one message.
    Packets,
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
    /// Messages without numbers, such as those of an image. They have no place among the others:
    /// [`NumberedPacket::unsequenced`] has them.
    Unsequenced,
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
    /// Messages in the packet that have a number.
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
        if const { matches!(F::NUMBERED, Numbered::Packets) } {
            check_all_blocks::<F>(blocks, header_length)?;
            return Ok(self);
        }
        let mut rest = blocks;
        for block in 0..count {
            match split_block::<F>(rest) {
                Ok((_, after)) => rest = after,
                Err(needed) => {
                    let offset = header_length + blocks.len() - rest.len();
                    return Err(cut(F::LENGTH, (block, count), offset, needed, rest.len()));
                }
            }
        }
        if !rest.is_empty() {
            let offset = (header_length + blocks.len() - rest.len()) as u32;
            return Err(Malformed::Trailing { offset, following: rest.len() as u32 });
        }
        Ok(self)
    }

    /// The same for `count` messages without numbers, for which `count` of the packet is 0.
    pub(super) fn checked_unsequenced(
        self,
        header_length: usize,
        count: u16,
    ) -> Result<Self, Malformed> {
        let first = 1;
        Self { first, count, ..self }.checked(header_length, u64::MAX)?;
        Ok(self)
    }

    /// The packet with the number nearest to `expected` of those that it can have. Different only
    /// where numbers come again: a receiver counts on after the highest one.
    #[inline]
    pub fn nearest(mut self, expected: u64) -> Self {
        if const { F::LAST.is_some() } {
            self.first = nearest_number(self.first, expected, F::LAST.unwrap_or_default());
        }
        self
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

    /// The messages without numbers.
    #[inline]
    pub fn unsequenced(&self) -> Blocks<'a, F> {
        blocks(if self.kind == PacketKind::Unsequenced { self.blocks } else { &[] })
    }

    /// The messages with their numbers.
    #[inline]
    pub fn messages(&self) -> Messages<'a, F> {
        if const { F::HAS_UNSEQUENCED } && self.kind == PacketKind::Unsequenced {
            return Messages { number: self.first, rest: &[], framing: PhantomData };
        }
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
        let (message, rest) = split_numbered::<F>(self.rest).ok()?;
        let number = self.number;
        self.rest = rest;
        self.number += 1;
        Some((number, message))
    }
}

/// Messages without their numbers, in order.
#[derive(Clone, Debug)]
pub struct Blocks<'a, F> {
    rest: &'a [u8],
    framing: PhantomData<F>,
}

/// The messages in some blocks: in what a packet with one number carries, or in messages without
/// numbers. They end where the bytes do, or where a block does not fit.
#[inline]
pub fn blocks<F: PacketFraming>(bytes: &[u8]) -> Blocks<'_, F> {
    Blocks { rest: bytes, framing: PhantomData }
}

impl<'a, F: PacketFraming> Iterator for Blocks<'a, F> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (message, rest) = split_block::<F>(self.rest).ok()?;
        self.rest = rest;
        Some(message)
    }
}

/// The first message of `bytes` that has a number, and the bytes after it.
#[inline]
fn split_numbered<F: PacketFraming>(bytes: &[u8]) -> Result<(&[u8], &[u8]), usize> {
    if const { matches!(F::NUMBERED, Numbered::Packets) } {
        // `checked` has found at least one block.
        return if bytes.is_empty() { Err(0) } else { Ok((bytes, &[])) };
    }
    split_block::<F>(bytes)
}

/// The first message of `bytes` and the bytes after it, or how many bytes the block needs. Fewer
/// than those of a length are what it states.
#[inline]
fn split_block<F: PacketFraming>(bytes: &[u8]) -> Result<(&[u8], &[u8]), usize> {
    if const { F::LENGTH.is_in_message() } {
        return F::LENGTH.split_counted(bytes);
    }
    let (&length, rest) = bytes.split_first_chunk::<2>().ok_or(2usize)?;
    let length = usize::from(F::LENGTH.of_bytes(length));
    rest.split_at_checked(length).ok_or(2 + length)
}

/// Checks blocks up to the end of the bytes. There must be one.
fn check_all_blocks<F: PacketFraming>(
    blocks: &[u8],
    header_length: usize,
) -> Result<(), Malformed> {
    let (mut rest, mut block) = (blocks, 0u16);
    while !rest.is_empty() || block == 0 {
        match split_block::<F>(rest) {
            Ok((_, after)) => (rest, block) = (after, block.saturating_add(1)),
            Err(needed) => {
                let offset = header_length + blocks.len() - rest.len();
                let of = (block, block.saturating_add(1));
                return Err(cut(F::LENGTH, of, offset, needed, rest.len()));
            }
        }
    }
    Ok(())
}

/// The number nearest to `expected` that is written as `number`, where 1 follows `last`.
pub(super) fn nearest_number(number: u64, expected: u64, last: u64) -> u64 {
    if number == 0 || last == 0 {
        return number;
    }
    let lap = expected.saturating_sub(1) / last;
    let candidates = [lap.saturating_sub(1), lap, lap.saturating_add(1)];
    let numbers = candidates.map(|lap| lap.saturating_mul(last).saturating_add(number));
    let nearest = numbers.into_iter().min_by_key(|number| number.abs_diff(expected));
    nearest.unwrap_or(number)
}

#[cold]
fn cut(
    field: LengthField,
    (block, count): (u16, u16),
    offset: usize,
    needed: usize,
    present: usize,
) -> Malformed {
    let (offset, present) = (offset as u32, present as u32);
    if needed < field.width() {
        let (stated, least) = (needed as u16, field.width() as u16);
        return Malformed::BlockLength { block, count, offset, stated, least };
    }
    Malformed::Cut { block, count, offset, needed: needed as u32, present }
}

#[cfg(test)]
mod tests;
