//! MoldUDP64 packets: a header that numbers the first message, then the messages.
//!
//! Where: [`MoldUdp64`] is the framing of a receiver; [`PacketWriter`] writes packets of
//! simulations and replays. Layout:
//!
//! ```text
//! +--------------------+--------+---------+--------+---------+---
//! | header, 20 bytes   | length | message | length | message | ...  message count times
//! +--------------------+--------+---------+--------+---------+---
//! ```
//!
//! Failure and cost: see [`numbered`](super::numbered).

use nanotape_types::Alpha;

use super::numbered::{
    BlockWriter, LengthField, Malformed, NumberedPacket, PacketFraming, PacketKind,
};
use crate::moldudp64::{
    DownstreamHeader, DownstreamHeaderFields, END_OF_SESSION, RequestPacket, RequestPacketFields,
};

/// The framing of MoldUDP64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MoldUdp64;

impl PacketFraming for MoldUdp64 {
    type Session = Alpha<10>;

    const NAME: &'static str = "MoldUDP64";

    const LENGTH: LengthField = LengthField::BigBefore;

    #[inline]
    fn decode(bytes: &[u8]) -> Result<NumberedPacket<'_, Self>, Malformed> {
        let Ok((header, blocks)) = DownstreamHeader::wrap_first(bytes) else {
            let needed = DownstreamHeader::LEN as u32;
            return Err(Malformed::Short { needed, present: bytes.len() as u32 });
        };
        let (kind, count) = match header.message_count() {
            0 => (PacketKind::Heartbeat, 0),
            END_OF_SESSION => (PacketKind::EndOfSession, 0),
            count => (PacketKind::Data, count),
        };
        let (session, first) = (header.session(), header.sequence_number());
        NumberedPacket { session, kind, first, count, stream_offset: None, blocks }
            .checked(DownstreamHeader::LEN, u64::MAX)
    }

    /// A count of 0 or 65,535 cannot be requested.
    fn encode_request(
        session: Self::Session,
        first: u64,
        count: u16,
        buffer: &mut [u8],
    ) -> Option<usize> {
        if count == 0 || count == END_OF_SESSION {
            return None;
        }
        let fields =
            RequestPacketFields { session, sequence_number: first, requested_message_count: count };
        *buffer.first_chunk_mut()? = fields.encode();
        Some(RequestPacket::LEN)
    }
}

/// Writes one packet into a buffer.
#[derive(Debug)]
pub struct PacketWriter<'b> {
    header: DownstreamHeaderFields,
    blocks: BlockWriter<'b>,
}

impl<'b> PacketWriter<'b> {
    /// A packet whose first message will have number `sequence_number`. The length of `buffer` is
    /// the maximum length of the packet; `None` if the header does not fit.
    pub fn new(session: Alpha<10>, sequence_number: u64, buffer: &'b mut [u8]) -> Option<Self> {
        let header = DownstreamHeaderFields { session, sequence_number, message_count: 0 };
        let blocks = BlockWriter::new(DownstreamHeader::LEN, sequence_number, buffer)?;
        Some(Self { header, blocks })
    }

    /// Appends a message; returns `false` and changes nothing if it does not fit. A packet with
    /// number 0 takes no message.
    #[must_use]
    pub fn push(&mut self, message: &[u8]) -> bool {
        self.blocks.push(message, LengthField::BigBefore, END_OF_SESSION - 1, u64::MAX)
    }

    /// Messages so far.
    pub fn message_count(&self) -> u16 {
        self.blocks.count()
    }

    /// The packet; without a message it is a heartbeat.
    pub fn finish(self) -> &'b [u8] {
        let header = DownstreamHeaderFields { message_count: self.blocks.count(), ..self.header };
        self.blocks.finish(&header.encode())
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
    use crate::framing::numbered::MalformedKind;

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
        let decoded = MoldUdp64::decode(&bytes).unwrap();
        assert_eq!((decoded.kind, decoded.count), (PacketKind::Data, 3));
        assert_eq!((decoded.next(), decoded.next_stream_offset()), (10, None));
        let messages: Vec<_> = decoded.messages().collect();
        assert_eq!(messages, [(7, b"a".as_slice()), (8, b""), (9, b"bcd")]);
        for (number, left) in [(0, 3), (7, 3), (8, 2), (9, 1), (10, 0), (u64::MAX, 0)] {
            let rest: Vec<_> = decoded.messages_from(number).collect();
            assert_eq!(rest, messages[3 - left..], "from {number}");
        }
    }

    #[test]
    fn heartbeat_and_end_of_session_carry_nothing() {
        for number in [0, 6] {
            let heartbeat = packet(number, &[]);
            let decoded = MoldUdp64::decode(&heartbeat).unwrap();
            assert_eq!((decoded.kind, decoded.next()), (PacketKind::Heartbeat, number));
        }
        let end = end_of_session(SESSION, u64::MAX);
        let decoded = MoldUdp64::decode(&end).unwrap();
        assert_eq!((decoded.kind, decoded.next()), (PacketKind::EndOfSession, u64::MAX));
        assert_eq!((decoded.count, decoded.messages().count()), (0, 0));
    }

    #[test]
    fn a_packet_that_does_not_add_up_is_refused_whole() {
        let bytes = packet(1, &[b"ab", b"cd"]);
        let cut = Malformed::Cut { block: 1, count: 2, offset: 24, needed: 4, present: 3 };
        assert_eq!(MoldUdp64::decode(&bytes[..27]), Err(cut));
        let long = [bytes.as_slice(), b"xyz"].concat();
        let trailing = Malformed::Trailing { offset: 28, following: 3 };
        assert_eq!(MoldUdp64::decode(&long), Err(trailing));
        let high = packet(u64::MAX - 2, &[b"ab", b"cd"]);
        assert!(MoldUdp64::decode(&high).is_ok());
        let mut overflowing = high;
        overflowing[10..18].copy_from_slice(&(u64::MAX - 1).to_be_bytes());
        let overflow = Malformed::NumberOverflow { first: u64::MAX - 1, count: 2 };
        assert_eq!(MoldUdp64::decode(&overflowing), Err(overflow));
        let mut zero = bytes.clone();
        zero[10..18].fill(0);
        assert_eq!(MoldUdp64::decode(&zero), Err(Malformed::NumberZero { count: 2 }));
        let short = Malformed::Short { needed: 20, present: 19 };
        assert_eq!(MoldUdp64::decode(&bytes[..19]), Err(short));
        assert_eq!(short.to_string(), "a packet header takes 20 bytes, 19 are present");
        for (index, kind) in MalformedKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index, "{}", kind.name());
        }
    }

    #[test]
    fn a_full_packet_takes_no_more() {
        let mut buffer = [0; 26];
        let mut writer = PacketWriter::new(SESSION, 1, &mut buffer).unwrap();
        assert!(writer.push(b"ab"));
        assert!(!writer.push(b"c"));
        assert!(writer.push(b""));
        assert_eq!(writer.message_count(), 2);
        assert_eq!(writer.finish().len(), 26);
        assert!(PacketWriter::new(SESSION, 1, &mut [0; 19]).is_none());
        assert!(!PacketWriter::new(SESSION, 0, &mut [0; 99]).unwrap().push(b"a"));
    }

    #[test]
    fn a_request_names_what_a_server_can_send() {
        let mut buffer = [0; 24];
        assert_eq!(MoldUdp64::encode_request(SESSION, 2, 3, &mut buffer), Some(20));
        let request = RequestPacket::wrap(&buffer[..20]).unwrap();
        assert_eq!((request.session(), request.sequence_number()), (SESSION, 2));
        assert_eq!(request.requested_message_count(), 3);
        for count in [0, END_OF_SESSION] {
            assert_eq!(MoldUdp64::encode_request(SESSION, 2, count, &mut buffer), None);
        }
        assert_eq!(MoldUdp64::encode_request(SESSION, 2, 3, &mut [0; 19]), None);
    }
}
