//! The three framings on any bytes: nothing lost, nothing invented, and the same bytes when written
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::framing::{
    binary_file::{End, Records, length_prefix},
    moldudp64::{Packet, PacketWriter, end_of_session},
    soupbintcp::{Split, split},
};
use nanotape_wire::moldudp64::PacketKind;

fuzz_target!(|bytes: &[u8]| {
    binary_file(bytes);
    moldudp64(bytes);
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
    let Ok(packet) = Packet::decode(bytes) else { return };
    let (session, first) = (packet.header.session(), packet.header.sequence_number());
    let count = packet.messages().count() as u64;
    assert_eq!(first + count, packet.next_sequence_number());
    if packet.kind() == PacketKind::EndOfSession {
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
