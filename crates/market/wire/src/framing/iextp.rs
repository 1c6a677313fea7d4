//! IEX-TP segments: a header that numbers the first message and counts the bytes of the stream,
//! then the messages.
//!
//! Where: [`IexTp`] is the framing of a receiver; [`SegmentWriter`] writes segments of simulations
//! and tests. Layout:
//!
//! ```text
//! +--------------------+--------+---------+--------+---------+---
//! | header, 40 bytes   | length | message | length | message | ...  message count times
//! +--------------------+--------+---------+--------+---------+---
//!                      <------------- payload length ----------->
//! ```
//!
//! The specification types numbers and offsets as signed. They are never negative, so they are
//! unsigned here, and a number above `i64::MAX` is malformed. IEX-TP has no packet that ends a
//! session. The layout of its request for messages is not published, so there is none here.
//!
//! Failure and cost: see [`numbered`](super::numbered).

use core::fmt;

use super::numbered::{
    BlockWriter, LengthField, Malformed, NumberedPacket, PacketFraming, PacketKind,
};
use crate::iextp::{SegmentHeader, SegmentHeaderFields, VERSION};

/// The highest number, and the highest stream offset.
const MOST: u64 = i64::MAX as u64;

/// The framing of IEX-TP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IexTp;

/// The fields of a segment that identify its sequence of messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IexSession {
    /// The protocol of the messages, such as 0x8004 for DEEP 1.0.
    pub message_protocol_id: u16,
    /// The channel, one of several streams of a protocol.
    pub channel_id: u32,
    /// The session, which changes every day.
    pub session_id: u32,
}

impl fmt::Display for IexSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message_protocol_id, channel_id, session_id } = self;
        write!(f, "{message_protocol_id:#06x}/{channel_id}/{session_id}")
    }
}

impl PacketFraming for IexTp {
    type Session = IexSession;

    const NAME: &'static str = "IEX-TP";

    const LENGTH: LengthField = LengthField::LittleBefore;

    #[inline]
    fn decode(bytes: &[u8]) -> Result<NumberedPacket<'_, Self>, Malformed> {
        let Ok((header, blocks)) = SegmentHeader::wrap_first(bytes) else {
            let needed = SegmentHeader::LEN as u32;
            return Err(Malformed::Short { needed, present: bytes.len() as u32 });
        };
        if header.version() != VERSION {
            return Err(Malformed::Version { expected: VERSION, found: header.version() });
        }
        let length = header.payload_length();
        if usize::from(length) != blocks.len() {
            let (stated, present) = (u32::from(length), blocks.len() as u32);
            return Err(Malformed::LengthMismatch { stated, present });
        }
        let offset = header.stream_offset();
        if offset > MOST - u64::from(length) {
            return Err(Malformed::StreamOverflow { offset, length });
        }
        let count = header.message_count();
        NumberedPacket {
            session: IexSession {
                message_protocol_id: header.message_protocol_id(),
                channel_id: header.channel_id(),
                session_id: header.session_id(),
            },
            kind: if count == 0 { PacketKind::Heartbeat } else { PacketKind::Data },
            first: header.first_message_sequence_number(),
            count,
            stream_offset: Some(offset),
            blocks,
        }
        .checked(SegmentHeader::LEN, MOST)
    }

    fn encode_request(_: Self::Session, _: u64, _: u16, _: &mut [u8]) -> Option<usize> {
        None
    }
}

/// Checks that stream offsets advance with sequence numbers, in the segments of one line.
///
/// The offset of a segment whose number does not continue the one before cannot be checked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamOffsets {
    /// Session, number and offset that continue the last segment.
    next: Option<(IexSession, u64, u64)>,
}

/// A segment continues the numbers of the one before it, but not its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("message {number} is at stream offset {found}, expected {expected}")]
pub struct OffsetMismatch {
    /// Number of the first message of the segment.
    pub number: u64,
    /// Where the segment before it ended.
    pub expected: u64,
    /// Stream offset in the header.
    pub found: u64,
}

impl StreamOffsets {
    /// Checks the next segment, and continues after it.
    pub fn check(&mut self, segment: &NumberedPacket<'_, IexTp>) -> Result<(), OffsetMismatch> {
        let found = segment.stream_offset.unwrap_or_default();
        let after = segment.next_stream_offset().unwrap_or_default();
        let before = self.next.replace((segment.session, segment.next(), after));
        match before {
            Some((session, number, expected))
                if (session, number) == (segment.session, segment.first) && expected != found =>
            {
                Err(OffsetMismatch { number, expected, found })
            }
            _ => Ok(()),
        }
    }
}

/// Writes one segment into a buffer.
#[derive(Debug)]
pub struct SegmentWriter<'b> {
    header: SegmentHeaderFields,
    blocks: BlockWriter<'b>,
}

impl<'b> SegmentWriter<'b> {
    /// A segment whose first message will have number `first`, after `stream_offset` bytes of
    /// blocks in the session. `send_time` is in nanoseconds since the UNIX epoch. The length of
    /// `buffer` is the maximum length of the segment; `None` if the header does not fit.
    pub fn new(
        session: IexSession,
        first: u64,
        stream_offset: u64,
        send_time: u64,
        buffer: &'b mut [u8],
    ) -> Option<Self> {
        let IexSession { message_protocol_id, channel_id, session_id } = session;
        let header = SegmentHeaderFields {
            version: VERSION,
            reserved: 0,
            message_protocol_id,
            channel_id,
            session_id,
            payload_length: 0,
            message_count: 0,
            stream_offset,
            first_message_sequence_number: first,
            send_time,
        };
        let blocks = BlockWriter::new(SegmentHeader::LEN, first, buffer)?;
        Some(Self { header, blocks })
    }

    /// Appends a message; returns `false` and changes nothing if it does not fit. A segment with
    /// number 0 takes no message.
    #[must_use]
    pub fn push(&mut self, message: &[u8]) -> bool {
        let payload = self.blocks.block_bytes() + 2 + message.len();
        let Ok(payload) = u16::try_from(payload) else { return false };
        let has_room = self.header.stream_offset <= MOST - u64::from(payload);
        has_room && self.blocks.push(message, LengthField::LittleBefore, u16::MAX, MOST)
    }

    /// Messages so far.
    pub fn message_count(&self) -> u16 {
        self.blocks.count()
    }

    /// The segment; without a message it is a heartbeat.
    pub fn finish(self) -> &'b [u8] {
        let header = SegmentHeaderFields {
            // `push` has checked that it fits.
            payload_length: self.blocks.block_bytes() as u16,
            message_count: self.blocks.count(),
            ..self.header
        };
        self.blocks.finish(&header.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: IexSession =
        IexSession { message_protocol_id: 0x8004, channel_id: 1, session_id: 1_150_681_088 };

    fn segment(first: u64, stream_offset: u64, messages: &[&[u8]]) -> Vec<u8> {
        let mut buffer = [0; 1472];
        let mut writer =
            SegmentWriter::new(SESSION, first, stream_offset, 1_696_248_000, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| writer.push(message)));
        assert_eq!(usize::from(writer.message_count()), messages.len());
        writer.finish().to_vec()
    }

    #[test]
    fn messages_come_out_with_numbers_and_offsets() {
        let bytes = segment(7, 1000, &[b"a", b"", b"bcd"]);
        let decoded = IexTp::decode(&bytes).unwrap();
        assert_eq!((decoded.session, decoded.kind), (SESSION, PacketKind::Data));
        assert_eq!((decoded.next(), decoded.next_stream_offset()), (10, Some(1010)));
        let messages: Vec<_> = decoded.messages().collect();
        assert_eq!(messages, [(7, b"a".as_slice()), (8, b""), (9, b"bcd")]);
        assert_eq!(decoded.messages_from(9).count(), 1);
        let heartbeat = segment(10, 1010, &[]);
        let decoded = IexTp::decode(&heartbeat).unwrap();
        assert_eq!((decoded.kind, decoded.next()), (PacketKind::Heartbeat, 10));
        assert_eq!(decoded.session.to_string(), "0x8004/1/1150681088");
        assert_eq!(IexTp::encode_request(SESSION, 1, 1, &mut [0; 99]), None);
    }

    #[test]
    fn a_segment_that_does_not_add_up_is_refused_whole() {
        let bytes = segment(1, 0, &[b"ab", b"cd"]);
        let with = |change: fn(&mut Vec<u8>)| {
            let mut bytes = bytes.clone();
            change(&mut bytes);
            IexTp::decode(&bytes).map(|_| ()).unwrap_err()
        };
        let short = Malformed::Short { needed: 40, present: 39 };
        assert_eq!(with(|bytes| bytes.truncate(39)), short);
        assert_eq!(with(|bytes| bytes[0] = 2), Malformed::Version { expected: 1, found: 2 });
        let mismatch = Malformed::LengthMismatch { stated: 8, present: 7 };
        assert_eq!(with(|bytes| bytes.truncate(47)), mismatch);
        let cut = Malformed::Cut { block: 1, count: 2, offset: 44, needed: 5, present: 4 };
        assert_eq!(with(|bytes| bytes[44] = 3), cut);
        let trailing = Malformed::Trailing { offset: 44, following: 4 };
        assert_eq!(with(|bytes| bytes[14] = 1), trailing);
        let trailing = Malformed::Trailing { offset: 40, following: 8 };
        assert_eq!(with(|bytes| bytes[14] = 0), trailing);
        assert_eq!(with(|bytes| bytes[24] = 0), Malformed::NumberZero { count: 2 });
        let first = 1 << 63 | 1;
        assert_eq!(with(|bytes| bytes[31] = 0x80), Malformed::NumberOverflow { first, count: 2 });
        let offset = 1 << 63;
        assert_eq!(with(|bytes| bytes[23] = 0x80), Malformed::StreamOverflow { offset, length: 8 });
    }

    #[test]
    fn a_stream_offset_must_continue_where_the_numbers_do() {
        let mut offsets = StreamOffsets::default();
        let mut check = |first, offset, messages: &[&[u8]]| {
            offsets.check(&IexTp::decode(&segment(first, offset, messages)).unwrap())
        };
        assert_eq!(check(5, 100, &[b"ab"]), Ok(()));
        assert_eq!(check(6, 104, &[]), Ok(()));
        assert_eq!(check(6, 104, &[b"", b""]), Ok(()));
        assert_eq!(check(9, 999, &[b"after a gap"]), Ok(()));
        let mismatch = OffsetMismatch { number: 10, expected: 1012, found: 1011 };
        assert_eq!(check(10, 1011, &[b"a"]), Err(mismatch));
        assert_eq!(check(11, 1014, &[]), Ok(()));
    }

    #[test]
    fn a_full_segment_takes_no_more() {
        let mut buffer = [0; 46];
        let mut writer = SegmentWriter::new(SESSION, 1, 0, 0, &mut buffer).unwrap();
        assert!(writer.push(b"ab") && !writer.push(b"c") && writer.push(b""));
        assert_eq!(writer.finish().len(), 46);
        assert!(SegmentWriter::new(SESSION, 1, 0, 0, &mut [0; 39]).is_none());
        let mut large = vec![0; 70_000];
        let mut writer = SegmentWriter::new(SESSION, 1, 0, 0, &mut large).unwrap();
        assert!(!writer.push(&[0; 65_534]));
        assert!(writer.push(&[0; 65_533]) && !writer.push(b""));
        assert!(IexTp::decode(writer.finish()).is_ok());
        let mut writer = SegmentWriter::new(SESSION, MOST - 1, 0, 0, &mut large).unwrap();
        assert!(writer.push(b"") && !writer.push(b""));
    }
}
