//! Each link type, each reason to skip, and checksums.

use super::*;
use crate::capture::FrameWriter;

const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 1, 2, 3), 33_000);
const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(233, 54, 12, 111), 26_477);

/// A frame with VLAN tags and the payload "hello".
fn frame(vlans: &[u16]) -> Vec<u8> {
    let writer = FrameWriter {
        source: SOURCE,
        destination: GROUP,
        source_mac: [2, 0, 0, 0, 0, 1],
        vlans,
        time_to_live: 16,
    };
    let mut buffer = [0; 200];
    let length = writer.write(7, b"hello", &mut buffer).expect("room");
    buffer[..length].to_vec()
}

/// The bytes of the IPv4 packet in an untagged frame.
fn packet() -> Vec<u8> {
    frame(&[])[14..].to_vec()
}

fn ethernet(bytes: &[u8]) -> Result<Datagram<'_>, SkipReason> {
    datagram(LinkType::ETHERNET, bytes)
}

/// The reason to skip the untagged frame after `change`.
#[track_caller]
fn skipped(change: impl FnOnce(&mut Vec<u8>)) -> SkipReason {
    let mut bytes = frame(&[]);
    change(&mut bytes);
    ethernet(&bytes).expect_err("it is skipped")
}

#[test]
fn up_to_four_tags_precede_the_packet() {
    let all = [100, 4095, 0, 1];
    for count in 0..=4 {
        let mut bytes = frame(&all[..count]);
        // A trailer that is no part of the datagram.
        bytes.extend([0xee; 12]);
        let found = ethernet(&bytes).unwrap();
        assert_eq!((found.source, found.destination), (SOURCE, GROUP));
        assert_eq!((found.vlans.as_slice(), found.payload), (&all[..count], b"hello".as_slice()));
        assert!(found.ip_checksum_is_right() && found.udp_checksum_is_right());
    }
    let fifth = [&frame(&all)[..12], &[0x91, 0, 0, 5], &frame(&all)[12..]].concat();
    assert_eq!(ethernet(&fifth), Err(SkipReason::Malformed));
    let writer = FrameWriter {
        source: SOURCE,
        destination: GROUP,
        source_mac: [2; 6],
        vlans: &[1, 2, 3, 4, 5],
        time_to_live: 1,
    };
    assert_eq!(writer.write(0, b"", &mut [0; 200]), None);
}

#[test]
fn every_link_type_leads_to_the_packet() {
    let packet = packet();
    let with = |link_type, header: &[u8]| {
        let bytes = [header, &packet].concat();
        datagram(LinkType(link_type), &bytes).map(|found| found.payload.len())
    };
    for raw in [12, 14, 101, 228] {
        assert_eq!(with(raw, &[]), Ok(5), "{raw}");
    }
    for family in [[2, 0, 0, 0], [0, 0, 0, 2]] {
        assert_eq!(with(0, &family), Ok(5));
    }
    assert_eq!(with(108, &[0, 0, 0, 2]), Ok(5));
    assert_eq!(with(108, &[2, 0, 0, 0]), Err(SkipReason::NotIp));
    assert_eq!(with(0, &[30, 0, 0, 0]), Err(SkipReason::Ipv6));
    let mut cooked = [0; 16];
    cooked[14] = 8;
    assert_eq!(with(113, &cooked), Ok(5));
    let mut cooked = [0; 24];
    (cooked[0], cooked[21], cooked[22]) = (0x81, 100, 8);
    assert_eq!(with(276, &cooked), Ok(5));
    assert_eq!(with(229, &[]), Err(SkipReason::Ipv6));
    assert_eq!(datagram(LinkType(101), &[0x60; 60]), Err(SkipReason::Ipv6));
    assert_eq!(with(105, &[]), Err(SkipReason::UnknownLinkType));
}

#[test]
fn each_frame_that_is_skipped_has_its_reason() {
    use SkipReason::*;
    assert_eq!(skipped(|b| b[12..14].copy_from_slice(&[0x86, 0xdd])), Ipv6);
    assert_eq!(skipped(|b| b[12..14].copy_from_slice(&[0x08, 0x06])), NotIp);
    // A length of IEEE 802.3.
    assert_eq!(skipped(|b| b[12..14].copy_from_slice(&[0x05, 0xdc])), NotIp);
    assert_eq!(skipped(|b| b[23] = 6), NotUdp);
    assert_eq!(skipped(|b| b[20] |= 0x20), Fragment);
    assert_eq!(skipped(|b| b[21] = 1), Fragment);
    assert_eq!(skipped(|b| b[14] = 0x65), Malformed);
    assert_eq!(skipped(|b| b[14] = 0x44), Malformed);
    assert_eq!(skipped(|b| b[17] = 19), Malformed);
    assert_eq!(skipped(|b| b[17] = 27), Malformed);
    assert_eq!(skipped(|b| b[39] = 7), Malformed);
    assert_eq!(skipped(|b| b[39] = 14), Malformed);
    for length in 0..frame(&[]).len() {
        assert_eq!(skipped(|b| b.truncate(length)), Truncated, "{length} bytes");
    }
    assert_eq!(datagram(LinkType::RAW, b""), Err(Truncated));
    for (index, reason) in SkipReason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, index, "{}", reason.name());
    }
}

#[test]
fn the_length_of_udp_cuts_the_payload_after_options_of_ip() {
    let mut bytes = frame(&[]);
    bytes.splice(34..34, [1; 8]);
    (bytes[14], bytes[17]) = (0x47, 28 + 8 + 5);
    bytes[38 + 8 + 1] = 8 + 3;
    // The packet of IP has two bytes after the datagram.
    bytes[34 + 8 + 5] = 8 + 3;
    let found = ethernet(&bytes).unwrap();
    assert_eq!((found.source, found.payload), (SOURCE, b"hel".as_slice()));
}

#[test]
fn a_checksum_is_right_wrong_or_absent() {
    let mut bytes = frame(&[]);
    bytes[24] ^= 1;
    let found = ethernet(&bytes).unwrap();
    assert!(!found.ip_checksum_is_right() && found.udp_checksum_is_right());
    let mut bytes = frame(&[]);
    *bytes.last_mut().unwrap() ^= 1;
    let found = ethernet(&bytes).unwrap();
    assert!(found.ip_checksum_is_right() && !found.udp_checksum_is_right());
    bytes[40..42].fill(0);
    assert!(ethernet(&bytes).unwrap().udp_checksum_is_right());
}

#[test]
fn a_checksum_of_zero_is_written_as_the_other_zero() {
    let writer = FrameWriter {
        source: SOURCE,
        destination: GROUP,
        source_mac: [2; 6],
        vlans: &[],
        time_to_live: 1,
    };
    let mut buffer = [0; 60];
    let mut checksum_of = |payload: u16| {
        writer.write(0, &payload.to_be_bytes(), &mut buffer).expect("room");
        assert!(ethernet(&buffer[..44]).unwrap().udp_checksum_is_right());
        [buffer[40], buffer[41]]
    };
    // With the checksum of an empty word as payload, the sum is all ones.
    let payload = u16::from_be_bytes(checksum_of(0));
    assert_eq!(checksum_of(payload), [0xff, 0xff]);
}
