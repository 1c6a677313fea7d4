//! The framings on any bytes: nothing lost, nothing invented, and the same bytes when written
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::framing::{
    binary_file::{End, Records, length_prefix},
    iextp::{IexTp, SegmentWriter},
    moldudp64::{MoldUdp64, PacketWriter, end_of_session},
    numbered::{NumberedPacket, PacketFraming, PacketKind},
    pitch::{self, Pitch, SplitUnit, UnitWriter},
    soupbintcp::{Split, split},
};
use nanotape_wire::iextp::SegmentHeader;

fuzz_target!(|bytes: &[u8]| {
    binary_file(bytes);
    moldudp64(bytes);
    iextp(bytes);
    pitch(bytes);
    pitch_stream(bytes);
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

fn pitch(bytes: &[u8]) {
    let Ok(packet) = Pitch::decode(bytes) else { return };
    numbers(&packet);
    let mut buffer = vec![0; bytes.len()];
    let mut writer =
        UnitWriter::new(packet.session, packet.first, &mut buffer).expect("room for a header");
    let messages = packet.messages().map(|(_, message)| message);
    for message in messages.chain(packet.unsequenced()) {
        assert!(writer.push(message));
    }
    assert_eq!(writer.finish(), bytes);
    for expected in [0, 1 << 31, 1 << 32, u64::MAX - (1 << 33)] {
        let near = packet.nearest(expected);
        let is_first_lap = near.first == packet.first;
        assert!(is_first_lap || near.first.abs_diff(expected) <= 1 << 31);
        assert_eq!(near.first % u64::from(pitch::LAST), packet.first % u64::from(pitch::LAST));
    }
}

fn pitch_stream(bytes: &[u8]) {
    let mut left = bytes;
    loop {
        match pitch::split(left) {
            SplitUnit::Unit { unit, rest } => {
                assert!(unit.len() >= 8);
                assert_eq!(unit.len() + rest.len(), left.len());
                left = rest;
            }
            SplitUnit::NeedMore { bytes: more } => break assert!(more > 0),
            SplitUnit::Invalid => break assert!(left[1] == 0 && left[0] < 8),
        }
    }
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
