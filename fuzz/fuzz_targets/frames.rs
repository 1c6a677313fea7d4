//! A captured packet on any bytes: a datagram or one reason to skip it, and the same datagram after
//! writing.
//!
//! The first two bytes of the input are the link type.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::{
    capture::{FrameWriter, LinkType, SkipReason, datagram},
    framing::{iextp::IexTp, moldudp64::MoldUdp64, numbered::PacketFraming},
};

fuzz_target!(|input: &[u8]| {
    let [high, low, bytes @ ..] = input else { return };
    let found = match datagram(LinkType(u16::from_be_bytes([*high, *low])), bytes) {
        Ok(found) => found,
        Err(reason) => return assert_eq!(SkipReason::ALL[reason as usize], reason),
    };
    let (_, _) = (found.ip_checksum_is_right(), found.udp_checksum_is_right());
    numbers::<MoldUdp64>(found.payload);
    numbers::<IexTp>(found.payload);

    let frame = FrameWriter {
        source: found.source,
        destination: found.destination,
        source_mac: [2; 6],
        vlans: found.vlans.as_slice(),
        time_to_live: 1,
    };
    let mut buffer = vec![0; found.payload.len() + 60];
    let length = frame.write(0, found.payload, &mut buffer).expect("it was in a packet");
    let again = datagram(LinkType::ETHERNET, &buffer[..length]).expect("it was written");
    assert_eq!((again.source, again.destination), (found.source, found.destination));
    assert_eq!((again.vlans, again.payload), (found.vlans, found.payload));
    assert!(again.ip_checksum_is_right() && again.udp_checksum_is_right());
});

/// The payload is a packet of the protocol, or malformed.
fn numbers<F: PacketFraming>(payload: &[u8]) {
    match F::decode(payload) {
        Ok(packet) => assert_eq!(packet.messages().count(), usize::from(packet.count)),
        Err(malformed) => assert!(!malformed.to_string().is_empty()),
    }
}
