//! MoldUDP64 packets: a header that numbers the first message, then the messages.
//!
//! Where: FEED passes each UDP payload to [`Packet::decode`]; [`PacketWriter`] writes packets of
//! simulations and replays. Layout:
//!
//! ```text
//! +--------------------+--------+---------+--------+---------+---
//! | header, 20 bytes   | length | message | length | message | ...  message count times
//! +--------------------+--------+---------+--------+---------+---
//! ```
//!
//! Failure: a packet is accepted or rejected as a whole. `decode` checks all blocks, so the
//! iterator over them cannot fail.
//! Cost: no allocation; work in proportion to the number of blocks.

use nanotape_types::Alpha;

use crate::{
    DecodeError,
    moldudp64::{DownstreamHeader, DownstreamHeaderFields, END_OF_SESSION, PacketKind},
};

/// A packet whose blocks have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// The header.
    pub header: DownstreamHeader<'a>,
    blocks: &'a [u8],
}

/// Why bytes are not a MoldUDP64 packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The header is incomplete or invalid.
    #[error(transparent)]
    Header(#[from] DecodeError),
    /// The packet ends before its last block.
    #[error("block {block} of {count} at byte {offset} takes {needed} bytes, {present} are left")]
    Cut {
        /// The block, from 0.
        block: u16,
        /// Blocks according to the header.
        count: u16,
        /// Offset of the block in the packet.
        offset: u32,
        /// Bytes that it needs, its length included.
        needed: u32,
        /// Bytes left.
        present: u32,
    },
    /// There are bytes after the last block.
    #[error("{following} bytes follow the last block, which ends at byte {offset}")]
    Trailing {
        /// Offset in the packet where the last block ends.
        offset: u32,
        /// Number of bytes after it.
        following: u32,
    },
    /// The number of the last message does not fit in 64 bits.
    #[error("sequence number {sequence_number} leaves no room for {count} messages")]
    Overflow {
        /// Number of the first message.
        sequence_number: u64,
        /// Messages.
        count: u16,
    },
}

const _: () = assert!(size_of::<PacketError>() <= 32);

impl<'a> Packet<'a> {
    /// Checks header and blocks of the payload of one UDP packet.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let (header, blocks) = DownstreamHeader::wrap_first(bytes)?;
        let (sequence_number, count) = (header.sequence_number(), header.block_count());
        if sequence_number.checked_add(u64::from(count)).is_none() {
            return Err(PacketError::Overflow { sequence_number, count });
        }
        let mut rest = blocks;
        for block in 0..count {
            let (_, after) = split_block(rest).map_err(|needed| PacketError::Cut {
                block,
                count,
                offset: (bytes.len() - rest.len()) as u32,
                needed: needed as u32,
                present: rest.len() as u32,
            })?;
            rest = after;
        }
        if !rest.is_empty() {
            let (offset, following) = ((bytes.len() - rest.len()) as u32, rest.len() as u32);
            return Err(PacketError::Trailing { offset, following });
        }
        Ok(Self { header, blocks })
    }

    /// The kind of packet.
    pub fn kind(self) -> PacketKind {
        self.header.kind()
    }

    /// The sequence number of the first message after this packet.
    pub fn next_sequence_number(self) -> u64 {
        // `decode` has checked that the sum fits.
        self.header.sequence_number() + u64::from(self.header.block_count())
    }

    /// The messages with their numbers.
    pub fn messages(self) -> Messages<'a> {
        Messages { sequence_number: self.header.sequence_number(), rest: self.blocks }
    }
}

/// The messages of a packet with their numbers, in order.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    sequence_number: u64,
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = (u64, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (message, rest) = split_block(self.rest).ok()?;
        let number = self.sequence_number;
        self.rest = rest;
        self.sequence_number += 1;
        Some((number, message))
    }
}

/// The first message of `bytes` and the bytes after it, or how many bytes the block needs.
#[inline]
fn split_block(bytes: &[u8]) -> Result<(&[u8], &[u8]), usize> {
    let (&length, rest) = bytes.split_first_chunk::<2>().ok_or(2usize)?;
    let length = usize::from(u16::from_be_bytes(length));
    rest.split_at_checked(length).ok_or(2 + length)
}

/// Writes one packet into a buffer.
#[derive(Debug)]
pub struct PacketWriter<'b> {
    header: DownstreamHeaderFields,
    buffer: &'b mut [u8],
    length: usize,
}

impl<'b> PacketWriter<'b> {
    /// A packet whose first message will have number `sequence_number`. The length of `buffer` is
    /// the maximum length of the packet; `None` if the header does not fit.
    pub fn new(session: Alpha<10>, sequence_number: u64, buffer: &'b mut [u8]) -> Option<Self> {
        let header = DownstreamHeaderFields { session, sequence_number, message_count: 0 };
        let length = DownstreamHeader::LEN;
        (buffer.len() >= length).then_some(Self { header, buffer, length })
    }

    /// Appends a message; returns `false` and changes nothing if it does not fit.
    #[must_use]
    pub fn push(&mut self, message: &[u8]) -> bool {
        let Ok(length) = u16::try_from(message.len()) else { return false };
        let count = self.header.message_count + 1;
        let start = self.length + 2;
        let end = start + message.len();
        let numbers = self.header.sequence_number.checked_add(u64::from(count));
        if count == END_OF_SESSION || end > self.buffer.len() || numbers.is_none() {
            return false;
        }
        self.buffer[self.length..start].copy_from_slice(&length.to_be_bytes());
        self.buffer[start..end].copy_from_slice(message);
        self.header.message_count = count;
        self.length = end;
        true
    }

    /// The packet; without a message it is a heartbeat.
    pub fn finish(self) -> &'b [u8] {
        let Self { header, buffer, length } = self;
        buffer[..DownstreamHeader::LEN].copy_from_slice(&header.encode());
        &buffer[..length]
    }
}

/// The packet that ends a session. `next` is the number that the next message would have had.
pub fn end_of_session(session: Alpha<10>, next: u64) -> [u8; DownstreamHeader::LEN] {
    DownstreamHeaderFields { session, sequence_number: next, message_count: END_OF_SESSION }
        .encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Alpha<10> = Alpha::new(*b"000001234A");

    fn packet(sequence_number: u64, messages: &[&[u8]]) -> Vec<u8> {
        let mut buffer = [0; 1472];
        let mut writer = PacketWriter::new(SESSION, sequence_number, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| writer.push(message)));
        writer.finish().to_vec()
    }

    #[test]
    fn messages_come_out_with_their_numbers() {
        let bytes = packet(7, &[b"a", b"", b"bcd"]);
        let decoded = Packet::decode(&bytes).unwrap();
        assert_eq!(decoded.kind(), PacketKind::Data);
        assert_eq!(decoded.next_sequence_number(), 10);
        let messages: Vec<_> = decoded.messages().collect();
        assert_eq!(messages, [(7, b"a".as_slice()), (8, b""), (9, b"bcd")]);
    }

    #[test]
    fn heartbeat_and_end_of_session_carry_nothing() {
        let heartbeat = packet(6, &[]);
        let decoded = Packet::decode(&heartbeat).unwrap();
        assert_eq!((decoded.kind(), decoded.next_sequence_number()), (PacketKind::Heartbeat, 6));
        let end = end_of_session(SESSION, u64::MAX);
        let decoded = Packet::decode(&end).unwrap();
        assert_eq!(decoded.kind(), PacketKind::EndOfSession);
        assert_eq!(decoded.next_sequence_number(), u64::MAX);
        assert_eq!(decoded.messages().count(), 0);
    }

    #[test]
    fn a_packet_that_does_not_add_up_is_refused_whole() {
        let bytes = packet(1, &[b"ab", b"cd"]);
        let cut = PacketError::Cut { block: 1, count: 2, offset: 24, needed: 4, present: 3 };
        assert_eq!(Packet::decode(&bytes[..27]), Err(cut));
        let long = [bytes.as_slice(), b"xyz"].concat();
        let trailing = PacketError::Trailing { offset: 28, following: 3 };
        assert_eq!(Packet::decode(&long), Err(trailing));
        let high = packet(u64::MAX - 2, &[b"ab", b"cd"]);
        assert!(Packet::decode(&high).is_ok());
        let mut overflowing = high;
        overflowing[10..18].copy_from_slice(&(u64::MAX - 1).to_be_bytes());
        let overflow = PacketError::Overflow { sequence_number: u64::MAX - 1, count: 2 };
        assert_eq!(Packet::decode(&overflowing), Err(overflow));
        assert!(matches!(Packet::decode(&bytes[..19]), Err(PacketError::Header(_))));
    }

    #[test]
    fn a_full_packet_takes_no_more() {
        let mut buffer = [0; 26];
        let mut writer = PacketWriter::new(SESSION, 1, &mut buffer).unwrap();
        assert!(writer.push(b"ab"));
        assert!(!writer.push(b"c"));
        assert!(writer.push(b""));
        assert_eq!(writer.finish().len(), 26);
        assert!(PacketWriter::new(SESSION, 1, &mut [0; 19]).is_none());
    }
}
