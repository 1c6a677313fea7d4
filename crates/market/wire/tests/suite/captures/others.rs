//! Other programs' decoders on the same bytes: `pcap-parser` for files, `etherparse` for frames.

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::{NetSlice, SlicedPacket, TransportSlice, checksum::Sum16BitWords};
use nanotape_wire::capture::{FrameWriter, LinkType, datagram};
use pcap_parser::{PcapBlockOwned, PcapError, create_reader, pcapng::Block};
use proptest::prelude::*;

use super::{naive, packets};

/// Interface, captured bytes and original length of each packet, by `pcap-parser`.
fn packets_of_pcap_parser(file: &[u8]) -> Vec<(u32, Vec<u8>, u32)> {
    let mut reader = create_reader(1 << 16, file).expect("a capture");
    let mut found = Vec::new();
    loop {
        let used = match reader.next() {
            Ok((used, block)) => {
                found.extend(packet_of(&block));
                used
            }
            Err(PcapError::Eof) => return found,
            Err(PcapError::Incomplete(_)) => {
                reader.refill().expect("memory");
                continue;
            }
            Err(error) => panic!("{error:?}"),
        };
        reader.consume(used);
    }
}

fn packet_of(block: &PcapBlockOwned<'_>) -> Option<(u32, Vec<u8>, u32)> {
    match block {
        PcapBlockOwned::Legacy(packet) => {
            Some((0, packet.data[..packet.caplen as usize].to_vec(), packet.origlen))
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let bytes = packet.data[..packet.caplen as usize].to_vec();
            Some((packet.if_id, bytes, packet.origlen))
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            let bytes = packet.data[..packet.origlen as usize].to_vec();
            Some((0, bytes, packet.origlen))
        }
        _ => None,
    }
}

/// What a datagram is compared by: addresses, VLANs, payload, and whether each checksum is right.
type Found = (SocketAddrV4, SocketAddrV4, Vec<u16>, Vec<u8>, bool, bool);

/// The datagram of a frame, by `etherparse`; `None` if there is no whole one.
fn datagram_of_etherparse(frame: &[u8]) -> Option<Found> {
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(NetSlice::Ipv4(ip)) = &sliced.net else { return None };
    let Some(TransportSlice::Udp(udp)) = &sliced.transport else { return None };
    // A length of 0 is for large packets of IPv6; an authentication header is another protocol.
    if udp.length() == 0 || !ip.extensions().is_empty() {
        return None;
    }
    let header = ip.header();
    let (source, destination) = (header.source(), header.destination());
    let address = |address: [u8; 4], port| SocketAddrV4::new(Ipv4Addr::from(address), port);
    let checksum = udp.to_header().calc_checksum_ipv4_raw(source, destination, udp.payload());
    Some((
        address(source, udp.source_port()),
        address(destination, udp.destination_port()),
        sliced.vlan_ids().iter().map(|identifier| identifier.value()).collect(),
        udp.payload().to_vec(),
        Sum16BitWords::new().add_slice(header.slice()).ones_complement() == 0,
        udp.checksum() == 0 || checksum.is_ok_and(|checksum| checksum == udp.checksum()),
    ))
}

fn datagram_of_ours(frame: &[u8]) -> Option<Found> {
    let found = datagram(LinkType::ETHERNET, frame).ok()?;
    Some((
        found.source,
        found.destination,
        found.vlans.as_slice().to_vec(),
        found.payload.to_vec(),
        found.ip_checksum_is_right(),
        found.udp_checksum_is_right(),
    ))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn etherparse_finds_the_same_datagrams(
        addresses in any::<[[u8; 4]; 2]>(),
        ports in any::<[u16; 2]>(),
        vlans in proptest::collection::vec(0..4096u16, 0..=3),
        payload in proptest::collection::vec(any::<u8>(), 0..60),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        trailer in 0..20usize,
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let [source, destination] = addresses.map(Ipv4Addr::from);
        let frame = FrameWriter {
            source: SocketAddrV4::new(source, ports[0]),
            destination: SocketAddrV4::new(destination, ports[1]),
            source_mac: [2; 6],
            vlans: &vlans,
            time_to_live: 1,
        };
        let mut bytes = vec![0xdd; 200];
        let length = frame.write(1, &payload, &mut bytes).expect("room");
        bytes.truncate(length + trailer);
        if changes.is_empty() {
            let right = (frame.source, frame.destination, vlans, payload, true, true);
            prop_assert_eq!(datagram_of_ours(&bytes), Some(right));
        }
        for (index, value) in changes {
            // In the headers, and before a fourth tag.
            let at = index.index(length.min(14 + 40));
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        prop_assert_eq!(datagram_of_ours(&bytes), datagram_of_etherparse(&bytes));
    }

    #[test]
    fn pcap_parser_finds_the_same_packets(
        file in prop_oneof![
            naive::any_pcap(),
            naive::any_pcapng(naive::any_current_kind()),
        ],
    ) {
        let ours = packets(&file.bytes).into_iter();
        let ours: Vec<_> = ours.map(|p| (p.interface, p.bytes, p.original_length)).collect();
        prop_assert_eq!(packets_of_pcap_parser(&file.bytes), ours);
    }
}
