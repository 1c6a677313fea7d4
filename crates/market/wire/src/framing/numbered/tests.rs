//! The shape of the trait: a framing that numbers packets and not messages, as CME MDP 3.0 does.

use super::*;

/// A number of four bytes and a time of eight before messages that count themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OfPackets;

impl PacketFraming for OfPackets {
    type Session = u8;

    const NAME: &'static str = "test";

    const LENGTH: LengthField = LengthField::LittleFirst;

    const NUMBERED: Numbered = Numbered::Packets;

    fn decode(bytes: &[u8]) -> Result<NumberedPacket<'_, Self>, Malformed> {
        let Some((header, blocks)) = bytes.split_first_chunk::<12>() else {
            return Err(Malformed::Short { needed: 12, present: bytes.len() as u32 });
        };
        let first = u32::from_le_bytes(*crate::codec::field::<0, 4, _>(header)).into();
        let (kind, stream_offset) = (PacketKind::Data, None);
        NumberedPacket { session: 0, kind, first, count: 1, stream_offset, blocks }
            .checked(12, u32::MAX.into())
    }

    fn encode_request(_: u8, _: u64, _: u16, _: &mut [u8]) -> Option<usize> {
        None
    }
}

fn packet(number: u32, blocks: &[u8]) -> Vec<u8> {
    [&number.to_le_bytes()[..], &[0; 8], blocks].concat()
}

#[test]
fn a_packet_with_one_number_is_one_message() {
    let blocks_bytes = b"\x04\0ab\x02\0\x03\0c";
    let bytes = packet(7, blocks_bytes);
    let decoded = OfPackets::decode(&bytes).unwrap();
    assert_eq!((decoded.count, decoded.next()), (1, 8));
    let messages: Vec<_> = decoded.messages().collect();
    assert_eq!(messages, [(7, &blocks_bytes[..])]);
    assert_eq!(decoded.messages_from(8).count(), 0);
    let inside: Vec<_> = blocks::<OfPackets>(messages[0].1).collect();
    assert_eq!(inside, [b"\x04\0ab".as_slice(), b"\x02\0", b"\x03\0c"]);
}

#[test]
fn every_block_of_such_a_packet_is_checked() {
    let refused = |blocks: &[u8]| OfPackets::decode(&packet(7, blocks)).unwrap_err();
    let cut = |block, offset, needed, present| {
        let count = block + 1;
        Malformed::Cut { block, count, offset, needed, present }
    };
    assert_eq!(refused(b""), cut(0, 12, 2, 0));
    assert_eq!(refused(b"\x02\0\x04\0a"), cut(1, 14, 4, 3));
    assert_eq!(refused(b"\x02\0\x04"), cut(1, 14, 2, 1));
    let small = Malformed::BlockLength { block: 1, count: 2, offset: 14, stated: 1, least: 2 };
    assert_eq!(refused(b"\x02\0\x01\0"), small);
    assert_eq!(OfPackets::decode(&packet(0, b"\x02\0")), Err(Malformed::NumberZero { count: 1 }));
    assert!(OfPackets::decode(&packet(u32::MAX, b"\x02\0")).is_err());
}
