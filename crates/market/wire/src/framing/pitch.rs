//! Sequenced units of PITCH: a header that numbers the first message, then messages that begin with
//! their length.
//!
//! Where: [`Pitch`] is the framing of a receiver; [`UnitWriter`] writes units of simulations and
//! tests; [`split`] splits a stream of TCP into units. Layout:
//!
//! ```text
//! +-----------------+-------------------+-------------------+---
//! | header, 8 bytes | length .. message | length .. message | ...  message count times
//! +-----------------+-------------------+-------------------+---
//! <----------------------- block length ----------------------->
//! ```
//!
//! Each matching unit numbers its messages, so a unit is a session here. Numbers begin with 1 every
//! day, which no header shows. Messages of number 0 have no numbers, as those of an image. After
//! 4,294,967,295 comes 1: [`NumberedPacket::nearest`] finds the number that a receiver counts with.
//! The end of a session is a message, not a packet. Missed messages are requested on TCP, with
//! [`gap_request`].
//!
//! Failure and cost: see [`numbered`](super::numbered).

use core::fmt;

use super::numbered::{
    BlockWriter, LengthField, Malformed, NumberedPacket, PacketFraming, PacketKind, nearest_number,
};
use crate::{
    pitch::{SequencedUnitHeader, SequencedUnitHeaderFields},
    pitch_tcp::{GapRequest, GapRequestFields},
};

/// The highest number of a message; 1 follows it.
pub const LAST: u32 = u32::MAX;

/// The framing of PITCH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pitch;

/// A matching unit, which numbers its messages; 0 is for no unit in particular.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PitchUnit(pub u8);

impl fmt::Display for PitchUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unit {}", self.0)
    }
}

impl PacketFraming for Pitch {
    type Session = PitchUnit;

    const NAME: &'static str = "PITCH";

    const LENGTH: LengthField = LengthField::FirstByte;

    const HAS_UNSEQUENCED: bool = true;

    const LAST: Option<u64> = Some(LAST as u64);

    #[inline]
    fn decode(bytes: &[u8]) -> Result<NumberedPacket<'_, Self>, Malformed> {
        let Ok((header, blocks)) = SequencedUnitHeader::wrap_first(bytes) else {
            let needed = SequencedUnitHeader::LEN as u32;
            return Err(Malformed::Short { needed, present: bytes.len() as u32 });
        };
        let length = usize::from(header.block_length());
        if length != bytes.len() {
            let stated = length.saturating_sub(SequencedUnitHeader::LEN) as u32;
            return Err(Malformed::LengthMismatch { stated, present: blocks.len() as u32 });
        }
        let (count, first) = (header.message_count().into(), header.sequence_number().into());
        let packet = NumberedPacket {
            session: PitchUnit(header.unit()),
            kind: if count == 0 { PacketKind::Heartbeat } else { PacketKind::Data },
            first,
            count,
            stream_offset: None,
            blocks,
        };
        if first == 0 && count > 0 {
            let packet = NumberedPacket { kind: PacketKind::Unsequenced, count: 0, ..packet };
            return packet.checked_unsequenced(SequencedUnitHeader::LEN, count);
        }
        packet.checked(SequencedUnitHeader::LEN, u64::MAX)
    }

    /// Missed messages are requested on TCP: see [`gap_request`].
    fn encode_request(_: Self::Session, _: u64, _: u16, _: &mut [u8]) -> Option<usize> {
        None
    }
}

/// Bytes of a unit with a request for missed messages.
pub const GAP_REQUEST_BYTES: usize = SequencedUnitHeader::LEN + GapRequest::LEN;

/// A unit with a request for `count` missed messages, from `first` on as a receiver counts them.
/// `None` if there is no message 0.
pub fn gap_request(unit: PitchUnit, first: u64, count: u16) -> Option<[u8; GAP_REQUEST_BYTES]> {
    let sequence_number = written(first)?;
    let request = GapRequestFields { unit: unit.0, sequence_number, message_count: count };
    let mut buffer = [0; GAP_REQUEST_BYTES];
    let mut writer = UnitWriter::new(PitchUnit(0), 0, &mut buffer)?;
    let is_written = writer.push(&request.encode());
    writer.finish();
    is_written.then_some(buffer)
}

/// The number on the wire of message `number`, as a receiver counts; `None` for 0.
fn written(number: u64) -> Option<u32> {
    let before = number.checked_sub(1)? % u64::from(LAST);
    Some(before as u32 + 1)
}

/// The number that a receiver counts with of a message that is `number` on the wire: the nearest
/// one to `expected`.
pub fn counted(number: u32, expected: u64) -> u64 {
    nearest_number(number.into(), expected, LAST.into())
}

/// The first unit of the bytes of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitUnit<'a> {
    /// A whole unit, ready for [`Pitch::decode`].
    Unit {
        /// The unit.
        unit: &'a [u8],
        /// The bytes after it.
        rest: &'a [u8],
    },
    /// The unit is incomplete.
    NeedMore {
        /// Minimum number of missing bytes: of the header, or, once that is known, of the unit.
        bytes: usize,
    },
    /// The length is below that of a header, so the rest of the stream cannot be split.
    Invalid,
}

/// Splits off the first unit of `bytes`, which must begin with one.
#[inline]
pub fn split(bytes: &[u8]) -> SplitUnit<'_> {
    let Ok((header, _)) = SequencedUnitHeader::wrap_first(bytes) else {
        return SplitUnit::NeedMore { bytes: SequencedUnitHeader::LEN - bytes.len() };
    };
    let length = usize::from(header.block_length());
    match bytes.split_at_checked(length) {
        _ if length < SequencedUnitHeader::LEN => SplitUnit::Invalid,
        Some((unit, rest)) => SplitUnit::Unit { unit, rest },
        None => SplitUnit::NeedMore { bytes: length - bytes.len() },
    }
}

/// Writes one unit into a buffer.
#[derive(Debug)]
pub struct UnitWriter<'b> {
    header: SequencedUnitHeaderFields,
    blocks: BlockWriter<'b>,
}

impl<'b> UnitWriter<'b> {
    /// A unit whose first message will have number `first`, as a receiver counts; the messages of
    /// number 0 have no numbers. The length of `buffer` is the maximum length of the unit; `None`
    /// if the header does not fit.
    pub fn new(unit: PitchUnit, first: u64, buffer: &'b mut [u8]) -> Option<Self> {
        let header = SequencedUnitHeaderFields {
            block_length: 0,
            message_count: 0,
            unit: unit.0,
            sequence_number: written(first).unwrap_or(0),
        };
        let blocks = BlockWriter::new(SequencedUnitHeader::LEN, first, buffer)?;
        Some(Self { header, blocks })
    }

    /// Appends a message, which begins with its length; returns `false` and changes nothing if it
    /// does not fit.
    #[must_use]
    pub fn push(&mut self, message: &[u8]) -> bool {
        let length = SequencedUnitHeader::LEN + self.blocks.block_bytes() + message.len();
        u16::try_from(length).is_ok()
            && self.blocks.push_unnumbered(message, LengthField::FirstByte, u8::MAX.into())
    }

    /// Messages so far.
    pub fn message_count(&self) -> u16 {
        self.blocks.count()
    }

    /// The unit; without a message it is a heartbeat.
    pub fn finish(self) -> &'b [u8] {
        let header = SequencedUnitHeaderFields {
            // `push` has checked that both fit.
            block_length: (SequencedUnitHeader::LEN + self.blocks.block_bytes()) as u16,
            message_count: self.blocks.count() as u8,
            ..self.header
        };
        self.blocks.finish(&header.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(first: u64, messages: &[&[u8]]) -> Vec<u8> {
        let mut buffer = [0; 1472];
        let mut writer = UnitWriter::new(PitchUnit(3), first, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| writer.push(message)));
        writer.finish().to_vec()
    }

    #[test]
    fn messages_come_out_with_their_numbers() {
        let bytes = unit(7, &[b"\x02a", b"\x01", b"\x04bcd"]);
        assert_eq!(bytes[..8], [15, 0, 3, 3, 7, 0, 0, 0]);
        let packet = Pitch::decode(&bytes).unwrap();
        assert_eq!((packet.kind, packet.session), (PacketKind::Data, PitchUnit(3)));
        assert_eq!((packet.count, packet.next()), (3, 10));
        let messages: Vec<_> = packet.messages().collect();
        assert_eq!(messages, [(7, b"\x02a".as_slice()), (8, b"\x01"), (9, b"\x04bcd")]);
        assert_eq!(packet.unsequenced().count(), 0);
        let bytes = unit(7, &[]);
        let heartbeat = Pitch::decode(&bytes).unwrap();
        assert_eq!((heartbeat.kind, heartbeat.next()), (PacketKind::Heartbeat, 7));
    }

    #[test]
    fn messages_of_number_0_have_no_numbers() {
        let bytes = unit(0, &[b"\x02a", b"\x04bcd"]);
        let packet = Pitch::decode(&bytes).unwrap();
        assert_eq!((packet.kind, packet.first, packet.count), (PacketKind::Unsequenced, 0, 0));
        assert_eq!((packet.messages().count(), packet.next()), (0, 0));
        let messages: Vec<_> = packet.unsequenced().collect();
        assert_eq!(messages, [b"\x02a".as_slice(), b"\x04bcd"]);
    }

    #[test]
    fn numbers_go_on_after_the_highest_one() {
        let last = u64::from(LAST);
        let bytes = unit(last, &[b"\x01", b"\x01", b"\x01"]);
        assert_eq!(bytes[4..8], [0xff; 4]);
        let packet = Pitch::decode(&bytes).unwrap();
        let numbers: Vec<_> = packet.messages().map(|(number, _)| number).collect();
        assert_eq!(numbers, [last, last + 1, last + 2]);
        // The next packet has number 3 on the wire.
        let bytes = unit(packet.next(), &[b"\x01"]);
        assert_eq!(bytes[4..8], [3, 0, 0, 0]);
        let next = Pitch::decode(&bytes).unwrap();
        assert_eq!((next.first, next.nearest(packet.next()).first), (3, packet.next()));
        for (expected, first) in [
            (0, 3),
            (1, 3),
            (1000, 3),
            (last / 2, 3),
            (last, last + 3),
            (last + 1000, last + 3),
            (2 * last, 2 * last + 3),
            (5 * last + 9, 5 * last + 3),
        ] {
            assert_eq!(next.nearest(expected).first, first, "near {expected}");
        }
        let heartbeat = unit(0, &[]);
        assert_eq!(Pitch::decode(&heartbeat).unwrap().nearest(9 * last).first, 0);
    }

    #[test]
    fn a_unit_that_does_not_add_up_is_refused_whole() {
        let bytes = unit(1, &[b"\x02a", b"\x03bc"]);
        let with = |change: fn(&mut Vec<u8>)| {
            let mut bytes = bytes.clone();
            change(&mut bytes);
            Pitch::decode(&bytes).unwrap_err()
        };
        let mismatch = Malformed::LengthMismatch { stated: 5, present: 4 };
        assert_eq!(with(|bytes| bytes.truncate(12)), mismatch);
        let cut = Malformed::Cut { block: 1, count: 2, offset: 10, needed: 4, present: 3 };
        assert_eq!(with(|bytes| bytes[10] = 4), cut);
        let trailing = Malformed::Trailing { offset: 10, following: 3 };
        assert_eq!(with(|bytes| bytes[2] = 1), trailing);
        let cut = Malformed::Cut { block: 2, count: 3, offset: 13, needed: 1, present: 0 };
        assert_eq!(with(|bytes| bytes[2] = 3), cut);
        let small = Malformed::BlockLength { block: 1, count: 2, offset: 10, stated: 0, least: 1 };
        assert_eq!(with(|bytes| bytes[10] = 0), small);
        let text = "block 1 of 2 at byte 10 states 0 bytes, expected at least 1";
        assert_eq!(small.to_string(), text);
        assert_eq!(with(|bytes| bytes.truncate(7)), Malformed::Short { needed: 8, present: 7 });
        // The same without numbers.
        let small = |bytes: &mut Vec<u8>| (bytes[4], bytes[10]) = (0, 0);
        assert!(matches!(with(small), Malformed::BlockLength { block: 1, .. }));
        assert!(matches!(with(|b| (b[0], b[2]) = (5, 0)), Malformed::LengthMismatch { .. }));
    }

    #[test]
    fn a_full_unit_takes_no_more() {
        let mut buffer = [0; 11];
        let mut writer = UnitWriter::new(PitchUnit(1), 1, &mut buffer).unwrap();
        assert!(!writer.push(b"\x03a") && !writer.push(b"") && !writer.push(b"\0"));
        assert!(writer.push(b"\x02a") && !writer.push(b"\x02b") && writer.push(b"\x01"));
        assert_eq!((writer.message_count(), writer.finish().len()), (2, 11));
        assert!(UnitWriter::new(PitchUnit(1), 1, &mut [0; 7]).is_none());
        let mut large = vec![0; 70_000];
        let mut writer = UnitWriter::new(PitchUnit(1), 1, &mut large).unwrap();
        assert!((0..255).all(|_| writer.push(&[255; 255])) && !writer.push(b"\x01"));
        assert_eq!(Pitch::decode(writer.finish()).unwrap().count, 255);
    }

    #[test]
    fn a_stream_cut_anywhere_gives_the_same_units() {
        let stream = [unit(1, &[b"\x02a"]), unit(0, &[]), unit(0, &[b"\x01"])].concat();
        for cut in 0..=stream.len() {
            let (mut found, mut rest) = (Vec::new(), &stream[..cut]);
            while let SplitUnit::Unit { unit, rest: after } = split(rest) {
                found.push(unit.len());
                rest = after;
            }
            let SplitUnit::NeedMore { bytes } = split(rest) else { panic!("cut at {cut}") };
            assert!(bytes > 0 && bytes <= 10);
            let mut rest = &stream[cut - rest.len()..];
            while let SplitUnit::Unit { unit, rest: after } = split(rest) {
                found.push(unit.len());
                rest = after;
            }
            assert_eq!((found, rest), (vec![10, 8, 9], &[][..]), "cut at {cut}");
        }
        assert_eq!(split(&[7, 0, 0, 0, 0, 0, 0, 0]), SplitUnit::Invalid);
    }

    #[test]
    fn a_gap_request_is_a_unit_without_a_number() {
        let bytes = gap_request(PitchUnit(5), u64::from(LAST) + 2, 7).unwrap();
        assert_eq!(bytes, [17, 0, 1, 0, 0, 0, 0, 0, 9, 3, 5, 2, 0, 0, 0, 7, 0]);
        let packet = Pitch::decode(&bytes).unwrap();
        assert_eq!(packet.kind, PacketKind::Unsequenced);
        assert_eq!(gap_request(PitchUnit(5), 0, 7), None);
    }
}
