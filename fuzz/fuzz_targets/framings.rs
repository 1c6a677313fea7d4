//! The framings on any bytes: nothing lost, nothing invented, and the same bytes when written
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::framing::{
    binary_file::{End, Records, length_prefix},
    iextp::{IexTp, SegmentWriter},
    moldudp64::{MoldUdp64, PacketWriter, end_of_session},
    numbered::{NumberedPacket, PacketFraming, PacketKind},
    soupbintcp::{Split, split},
};
use nanotape_wire::iextp::SegmentHeader;

fuzz_target!(|bytes: &[u8]| {
    binary_file(bytes);
    moldudp64(bytes);
    iextp(bytes);
    soupbintcp(bytes);
});

fn binary_file(bytes: &[u8]) {
    let mut records = Records::new(bytes, 0);
    let mut written = Vec::new();
    for record in records.by_ref() {
        assert_eq!(record.offset, written.len() as u64);
        written.extend(length_prefix(record.bytes).expect("a record has a length"));
        written.extend(record.bytes);
    }
    assert!(bytes.starts_with(&written));
    let left = (bytes.len() - written.len()) as u64;
    let at = written.len() as u64;
    match records.end().expect("the walk is over") {
        End::Exact { offset } => assert_eq!((offset, left), (at, 0)),
        End::EndOfSession { offset, following } => assert_eq!((offset, following + 2), (at, left)),
        End::Cut { offset, needed, present } => {
            assert_eq!((offset, present), (at, left));
            assert!(needed > present);
        }
    }
}

fn moldudp64(bytes: &[u8]) {
    let Ok(packet) = MoldUdp64::decode(bytes) else { return };
    numbers(&packet);
    let NumberedPacket { session, first, .. } = packet;
    if packet.kind == PacketKind::EndOfSession {
        assert_eq!(end_of_session(session, first), bytes);
        return;
    }
    let mut buffer = vec![0; bytes.len()];
    let mut writer = PacketWriter::new(session, first, &mut buffer).expect("room for a header");
    for (_, message) in packet.messages() {
        assert!(writer.push(message));
    }
    assert_eq!(writer.finish(), bytes);
}

fn iextp(bytes: &[u8]) {
    let Ok(packet) = IexTp::decode(bytes) else { return };
    numbers(&packet);
    let (header, _) = SegmentHeader::wrap_first(bytes).expect("it was decoded");
    let (offset, time) = (header.stream_offset(), header.send_time());
    let mut buffer = vec![0; bytes.len()];
    let mut writer = SegmentWriter::new(packet.session, packet.first, offset, time, &mut buffer)
        .expect("room for a header");
    for (_, message) in packet.messages() {
        assert!(writer.push(message));
    }
    let written = writer.finish();
    assert_eq!((written[0], &written[2..]), (bytes[0], &bytes[2..]));
}

/// Every message has its number, and skipping gives the same messages.
fn numbers<F: PacketFraming>(packet: &NumberedPacket<'_, F>) {
    let all: Vec<_> = packet.messages().collect();
    assert_eq!(all.len(), usize::from(packet.count));
    assert_eq!(packet.first + all.len() as u64, packet.next());
    for (index, (number, _)) in all.iter().enumerate().take(100) {
        assert_eq!(*number, packet.first + index as u64);
        assert!(packet.messages_from(*number).eq(all[index..].iter().copied()));
    }
}

fn soupbintcp(bytes: &[u8]) {
    let mut left = bytes;
    loop {
        match split(left) {
            Split::Packet { packet, rest } => {
                assert!(packet.len() >= 3);
                assert_eq!(packet.len() + rest.len(), left.len());
                left = rest;
            }
            Split::NeedMore { bytes: more } => break assert!(more > 0),
            Split::Invalid => break assert!(left.starts_with(&[0, 0])),
        }
    }
}
