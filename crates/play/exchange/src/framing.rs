//! The packets of a line, by protocol: headers, blocks of messages, and what faults change in them.

use core::ops::Range;

use nanotape_types::Alpha;
use nanotape_wire::{
    framing::{iextp::IexSession, pitch, pitch::PitchUnit},
    iextp::{self, SegmentHeader, SegmentHeaderFields},
    moldudp64::{DownstreamHeader, DownstreamHeaderFields, END_OF_SESSION},
    pitch::{SequencedUnitHeader, SequencedUnitHeaderFields},
};

/// How a line frames its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineFraming {
    /// MoldUDP64, with the name of the session.
    MoldUdp64(Alpha<10>),
    /// Segments of IEX-TP.
    IexTp {
        /// The session.
        session: IexSession,
        /// Midnight of the day, in nanoseconds since the UNIX epoch.
        midnight_ns: u64,
    },
    /// Sequenced units of PITCH.
    Pitch(PitchUnit),
}

/// What a header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderValues {
    /// Number of the first message.
    pub(crate) first: u64,
    pub(crate) count: u16,
    pub(crate) block_bytes: usize,
    /// Bytes of blocks before the packet.
    pub(crate) stream_offset: u64,
    /// When the packet leaves, in nanoseconds since midnight.
    pub(crate) due_ns: u64,
}

impl LineFraming {
    /// Bytes of a header.
    pub(crate) fn header_bytes(self) -> usize {
        match self {
            Self::MoldUdp64(_) => DownstreamHeader::LEN,
            Self::IexTp { .. } => SegmentHeader::LEN,
            Self::Pitch(_) => SequencedUnitHeader::LEN,
        }
    }

    /// Bytes before each message.
    pub(crate) fn length_bytes(self) -> usize {
        match self {
            Self::MoldUdp64(_) | Self::IexTp { .. } => 2,
            Self::Pitch(_) => 0,
        }
    }

    /// The most messages of a packet.
    pub(crate) fn most_messages(self) -> u16 {
        match self {
            Self::MoldUdp64(_) => END_OF_SESSION - 1,
            Self::IexTp { .. } => u16::MAX,
            Self::Pitch(_) => u8::MAX.into(),
        }
    }

    /// Appends the block of a message.
    pub(crate) fn append(self, message: &[u8], buffer: &mut Vec<u8>) {
        let length = message.len() as u16;
        match self {
            Self::MoldUdp64(_) => buffer.extend_from_slice(&length.to_be_bytes()),
            Self::IexTp { .. } => buffer.extend_from_slice(&length.to_le_bytes()),
            Self::Pitch(_) => {}
        }
        buffer.extend_from_slice(message);
    }

    /// Writes a header to the beginning of a packet.
    pub(crate) fn write_header(self, values: HeaderValues, packet: &mut [u8]) {
        let HeaderValues { first, count, block_bytes, stream_offset, due_ns } = values;
        let mut put = |header: &[u8]| packet[..header.len()].copy_from_slice(header);
        match self {
            Self::MoldUdp64(session) => {
                let (sequence_number, message_count) = (first, count);
                put(&DownstreamHeaderFields { session, sequence_number, message_count }.encode());
            }
            Self::IexTp { session, midnight_ns } => {
                let IexSession { message_protocol_id, channel_id, session_id } = session;
                let header = SegmentHeaderFields {
                    version: iextp::VERSION,
                    reserved: 0,
                    message_protocol_id,
                    channel_id,
                    session_id,
                    payload_length: block_bytes as u16,
                    message_count: count,
                    stream_offset,
                    first_message_sequence_number: first,
                    send_time: midnight_ns.saturating_add(due_ns),
                };
                put(&header.encode());
            }
            Self::Pitch(unit) => {
                let header = SequencedUnitHeaderFields {
                    block_length: (SequencedUnitHeader::LEN + block_bytes) as u16,
                    message_count: count as u8,
                    unit: unit.0,
                    // After the highest number comes 1; 0 is for messages without numbers.
                    sequence_number: first
                        .checked_sub(1)
                        .map_or(0, |before| (before % u64::from(pitch::LAST)) as u32 + 1),
                };
                put(&header.encode());
            }
        }
    }

    /// The packet that ends a session; `None` if a message ends it.
    pub(crate) fn end_of_session(self, next: u64) -> Option<Vec<u8>> {
        let Self::MoldUdp64(session) = self else { return None };
        let (sequence_number, message_count) = (next, END_OF_SESSION);
        let header = DownstreamHeaderFields { session, sequence_number, message_count };
        Some(header.encode().to_vec())
    }

    /// Gives a packet to a session, or a unit, that no line has.
    pub(crate) fn rename(self, packet: &mut [u8]) {
        match self {
            Self::MoldUdp64(_) => {
                // The first byte is printable before and after.
                if let Some(first) = packet.first_mut() {
                    *first = if *first == b'#' { b'!' } else { b'#' };
                }
            }
            // The session id, little-endian.
            Self::IexTp { .. } => packet.iter_mut().skip(8).take(1).for_each(|byte| *byte ^= 0xff),
            // No exchange has 255 units.
            Self::Pitch(_) => packet.iter_mut().skip(3).take(1).for_each(|byte| *byte = u8::MAX),
        }
    }

    /// Where the message count is in a header.
    pub(crate) fn count_field(self) -> Range<usize> {
        match self {
            Self::MoldUdp64(_) => DownstreamHeader::LEN - 2..DownstreamHeader::LEN,
            Self::IexTp { .. } => 14..16,
            Self::Pitch(_) => 2..3,
        }
    }

    /// Start and length of the bytes of each message that are not its length.
    pub(crate) fn contents(self, packet: &[u8]) -> Vec<(usize, usize)> {
        let (mut found, mut at) = (Vec::new(), self.header_bytes());
        while let Some((start, length)) = self.content_at(packet, at) {
            found.push((start, length));
            at = start + length;
        }
        found
    }

    fn content_at(self, packet: &[u8], at: usize) -> Option<(usize, usize)> {
        let rest = packet.get(at..)?;
        match self {
            Self::MoldUdp64(_) => Some((at + 2, u16::from_be_bytes(*rest.first_chunk()?).into())),
            Self::IexTp { .. } => Some((at + 2, u16::from_le_bytes(*rest.first_chunk()?).into())),
            Self::Pitch(_) => Some((at + 1, usize::from(*rest.first()?).saturating_sub(1))),
        }
    }
}
