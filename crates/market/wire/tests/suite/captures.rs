//! Captures: vectors byte for byte, real days, every variant of the formats, other decoders, and
//! any bytes.

mod exchanges;
mod naive;
mod others;

use std::{
    io::Read as _,
    net::{Ipv4Addr, SocketAddrV4},
    path::Path,
};

use nanotape_harness::skipped;

use nanotape_wire::{
    capture::{
        CaptureDamage, CaptureDecoder, CaptureFormat, CaptureItem, CaptureWriter, CapturedPacket,
        Datagram, FrameWriter, LinkType, MOST_RECORD_BYTES, datagram,
    },
    framing::{
        iextp::{IexTp, SegmentWriter, StreamOffsets},
        moldudp64::{MoldUdp64, PacketWriter},
        numbered::{NumberedPacket, PacketFraming, PacketKind},
    },
    iextp::SegmentHeader,
};
use proptest::prelude::*;

/// A MoldUDP64 heartbeat with a VLAN tag, as pcap.
const PCAP_VECTOR: &str = "
    4d 3c b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 ff ff 00 00 01 00 00 00 00 f1 53 65 15 cd 5b 07
    42 00 00 00 42 00 00 00 01 00 5e 36 0c 6f 02 00 00 00 00 02 81 00 00 64 08 00 45 00 00 30 00 07
    40 00 10 11 69 0d 0a 01 02 03 e9 36 0c 6f 80 e8 67 6d 00 1c 1e ab 30 30 30 30 30 31 32 33 34 41
    00 00 00 00 00 00 00 06 00 00";

/// The same frame as pcapng.
const PCAPNG_VECTOR: &str = "
    0a 0d 0d 0a 1c 00 00 00 4d 3c 2b 1a 01 00 00 00 ff ff ff ff ff ff ff ff 1c 00 00 00 01 00 00 00
    20 00 00 00 01 00 00 00 ff ff 00 00 09 00 01 00 09 00 00 00 00 00 00 00 20 00 00 00 06 00 00 00
    64 00 00 00 00 00 00 00 fe 9c 97 17 15 cd 85 3d 42 00 00 00 42 00 00 00 01 00 5e 36 0c 6f 02 00
    00 00 00 02 81 00 00 64 08 00 45 00 00 30 00 07 40 00 10 11 69 0d 0a 01 02 03 e9 36 0c 6f 80 e8
    67 6d 00 1c 1e ab 30 30 30 30 30 31 32 33 34 41 00 00 00 00 00 00 00 06 00 00 00 00 64 00 00 00";

fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    let bytes = hexadecimal.split_ascii_whitespace();
    bytes.map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal")).collect()
}

/// A packet, apart from the file that it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Packet {
    ts_ns: Option<u64>,
    interface: u32,
    link_type: LinkType,
    bytes: Vec<u8>,
    original_length: u32,
}

/// Everything that a capture contains.
#[derive(PartialEq, Eq, Debug)]
struct Capture {
    packets: Vec<Packet>,
    offsets: Vec<u64>,
    damages: Vec<CaptureDamage>,
    end: Option<CaptureDamage>,
}

/// Reads `file` in blocks of these sizes, and checks that the decoder leaves few bytes unused.
fn read(file: &[u8], sizes: &[usize]) -> Capture {
    let (mut packets, mut offsets, mut damages) = (Vec::new(), Vec::new(), Vec::new());
    let mut decoder = CaptureDecoder::new();
    let (mut start, mut end) = (0, 0usize);
    for &size in sizes.iter().cycle() {
        end = end.saturating_add(size).min(file.len());
        let is_last = end == file.len();
        let mut rest = &file[start..end];
        loop {
            let item = decoder.next(&mut rest, is_last);
            assert_eq!(decoder.offset(), (end - rest.len()) as u64);
            match item {
                CaptureItem::Packet(packet) => {
                    let CapturedPacket { ts_ns, interface, link_type, original_length, .. } =
                        packet;
                    let bytes = packet.bytes.to_vec();
                    offsets.push(packet.offset);
                    packets.push(Packet { ts_ns, interface, link_type, bytes, original_length });
                }
                CaptureItem::Damage(damage) => damages.push(damage),
                CaptureItem::NeedMore => break,
                CaptureItem::End(end) => return Capture { packets, offsets, damages, end },
            }
        }
        assert!(!is_last, "the last block ends the capture");
        assert!(rest.len() < MOST_RECORD_BYTES as usize);
        start = end - rest.len();
    }
    unreachable!("there are sizes")
}

fn packets(file: &[u8]) -> Vec<Packet> {
    let capture = read(file, &[usize::MAX]);
    assert_eq!((capture.damages.as_slice(), capture.end), ([].as_slice(), None));
    capture.packets
}

#[test]
fn the_vectors_are_read_and_written_byte_for_byte() {
    for (format, vector) in
        [(CaptureFormat::Pcap, PCAP_VECTOR), (CaptureFormat::Pcapng, PCAPNG_VECTOR)]
    {
        let file = bytes_of(vector);
        assert_eq!(CaptureFormat::detect(&file), Some(format));
        let packets = packets(&file);
        let [packet] = packets.as_slice() else { panic!("one packet") };
        assert_eq!(packet.ts_ns, Some(1_700_000_000_123_456_789));
        assert_eq!((packet.link_type, packet.original_length), (LinkType::ETHERNET, 66));
        let found = datagram(packet.link_type, &packet.bytes).expect("a datagram");
        let (source, group) = (Ipv4Addr::new(10, 1, 2, 3), Ipv4Addr::new(233, 54, 12, 111));
        assert_eq!(found.source, SocketAddrV4::new(source, 33_000));
        assert_eq!(found.destination, SocketAddrV4::new(group, 26_477));
        assert_eq!(found.vlans.as_slice(), [100]);
        assert!(found.ip_checksum_is_right() && found.udp_checksum_is_right());
        let heartbeat = MoldUdp64::decode(found.payload).expect("a packet");
        assert_eq!((heartbeat.kind, heartbeat.first), (PacketKind::Heartbeat, 6));

        let frame = FrameWriter {
            source: found.source,
            destination: found.destination,
            source_mac: [2, 0, 0, 0, 0, 2],
            vlans: found.vlans.as_slice(),
            time_to_live: 16,
        };
        let mut buffer = [0; 66];
        assert_eq!(frame.write(7, found.payload, &mut buffer), Some(66));
        let writer = CaptureWriter::new(format, LinkType::ETHERNET, 1);
        let mut written = vec![0; file.len()];
        let header = writer.header(&mut written).expect("room");
        let record = writer
            .packet(1_700_000_000_123_456_789, 0, &buffer, &mut written[header..])
            .expect("room");
        assert_eq!((header + record, written), (file.len(), file));
    }
}

/// A file of real market data, decompressed; `None` with a notice if it is missing.
fn real_capture(name: &str) -> Option<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data").join(name);
    let Ok(bytes) = std::fs::read(path) else {
        skipped(format_args!("no {name} in ../shared/data (real market data)"));
        return None;
    };
    if !name.ends_with(".gz") {
        return Some(bytes);
    }
    let mut file = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut file).expect("gzip");
    Some(file)
}

/// Passes each packet of the capture to `each`, checks checksums and that numbers have no gap, and
/// returns the packets and messages.
fn without_a_gap<F: PacketFraming>(
    file: &[u8],
    mut each: impl FnMut(&Packet, &Datagram<'_>, &NumberedPacket<'_, F>),
) -> (usize, u64) {
    let packets = packets(file);
    let mut next = None;
    let mut messages = 0;
    for packet in &packets {
        assert_eq!(packet.original_length as usize, packet.bytes.len());
        let datagram = datagram(packet.link_type, &packet.bytes).expect("a datagram");
        assert!(datagram.ip_checksum_is_right() && datagram.udp_checksum_is_right());
        let numbered = F::decode(datagram.payload).expect("a packet");
        assert_eq!(numbered.first, next.unwrap_or(numbered.first));
        assert_eq!(numbered.messages().count(), usize::from(numbered.count));
        each(packet, &datagram, &numbered);
        messages += u64::from(numbered.count);
        next = Some(numbered.next());
    }
    (packets.len(), messages)
}

#[test]
fn a_nasdaq_capture_is_numbered_without_a_gap() {
    let Some(file) = real_capture("totalview_20230822_100packets.pcap") else { return };
    let group = SocketAddrV4::new(Ipv4Addr::new(233, 54, 12, 111), 26_477);
    let (mut first, mut next) = (u64::MAX, 0);
    let counts = without_a_gap::<MoldUdp64>(&file, |_, datagram, packet| {
        assert_eq!((datagram.destination, datagram.vlans.as_slice()), (group, [141].as_slice()));
        (first, next) = (first.min(packet.first), packet.next());
        let mut buffer = [0; 1472];
        let mut writer = PacketWriter::new(packet.session, packet.first, &mut buffer).unwrap();
        assert!(packet.messages().all(|(_, message)| writer.push(message)));
        assert_eq!(writer.finish(), datagram.payload);
    });
    assert_eq!((counts, first, next), ((100, 269), 14_757_701, 14_757_970));
}

#[test]
fn an_iex_capture_has_no_gap_in_numbers_or_offsets() {
    let Some(file) = real_capture("iex_deep10_20231002.pcap.gz") else { return };
    let mut offsets = StreamOffsets::default();
    let counts = without_a_gap::<IexTp>(&file, |captured, datagram, packet| {
        assert_eq!(offsets.check(packet), Ok(()));
        let (header, _) = SegmentHeader::wrap_first(datagram.payload).expect("a segment");
        assert_eq!(packet.session.to_string(), "0x8004/1/1286602752");
        // The clocks of the exchange and of the capture differ.
        let delay = captured.ts_ns.expect("a time").abs_diff(header.send_time());
        assert!(delay < 60_000_000_000, "{header:?}");
        let mut buffer = [0; 1472];
        let (offset, time) = (header.stream_offset(), header.send_time());
        let mut writer =
            SegmentWriter::new(packet.session, packet.first, offset, time, &mut buffer).unwrap();
        assert!(packet.messages().all(|(_, message)| writer.push(message)));
        assert_eq!(writer.finish(), datagram.payload);
    });
    assert_eq!(counts, (5_000, 48_325));
}

/// Sizes of blocks, from a few bytes to a few packets.
fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1..300usize, 1..5)
}

proptest! {
    #[test]
    fn every_variant_of_pcap_is_read(file in naive::any_pcap(), sizes in any_sizes()) {
        prop_assert_eq!(&packets(&file.bytes), &file.packets);
        prop_assert_eq!(read(&file.bytes, &sizes), read(&file.bytes, &[usize::MAX]));
    }

    #[test]
    fn every_variant_of_pcapng_is_read(file in naive::any_pcapng(naive::any_kind()), sizes in any_sizes()) {
        prop_assert_eq!(&packets(&file.bytes), &file.packets);
        prop_assert_eq!(read(&file.bytes, &sizes), read(&file.bytes, &[usize::MAX]));
    }

    /// As `cat` joins them.
    #[test]
    fn captures_that_follow_each_other_are_all_read(
        files in proptest::collection::vec(
            prop_oneof![naive::any_pcap(), naive::any_pcapng(naive::any_kind())], 1..5
        ),
        sizes in any_sizes(),
    ) {
        let bytes: Vec<u8> = files.iter().flat_map(|file| file.bytes.clone()).collect();
        let expected: Vec<Packet> = files.into_iter().flat_map(|file| file.packets).collect();
        prop_assert_eq!(packets(&bytes), expected);
        prop_assert_eq!(read(&bytes, &sizes), read(&bytes, &[usize::MAX]));
    }

    #[test]
    fn what_is_written_is_read(
        is_pcap in any::<bool>(),
        link_type in any::<u16>(),
        drawn in proptest::collection::vec(
            (0..4_294_967_296_000_000_000u64, 0..3u32, proptest::collection::vec(any::<u8>(), 0..2000)),
            0..10,
        ),
    ) {
        let format = if is_pcap { CaptureFormat::Pcap } else { CaptureFormat::Pcapng };
        let link_type = LinkType(link_type);
        let writer = CaptureWriter::new(format, link_type, if is_pcap { 1 } else { 3 });
        let mut file = vec![0; 30_000];
        let mut length = writer.header(&mut file).expect("room");
        let mut expected = Vec::new();
        for (ts_ns, interface, bytes) in drawn {
            let interface = if is_pcap { 0 } else { interface };
            let out = &mut file[length..];
            let used = writer.packet(ts_ns, interface, &bytes, out).expect("room");
            prop_assert!(writer.packet(ts_ns, interface, &bytes, &mut out[..used - 1]).is_none());
            length += used;
            let (ts_ns, original_length) = (Some(ts_ns), bytes.len() as u32);
            expected.push(Packet { ts_ns, interface, link_type, bytes, original_length });
        }
        prop_assert_eq!(packets(&file[..length]), expected);
    }

    #[test]
    fn any_damage_is_survived_and_the_split_makes_no_difference(
        file in prop_oneof![naive::any_pcap(), naive::any_pcapng(naive::any_kind())],
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        sizes in any_sizes(),
    ) {
        let mut bytes = file.bytes;
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let whole = read(&bytes, &[usize::MAX]);
        prop_assert_eq!(&read(&bytes, &sizes), &whole);
        prop_assert!(whole.offsets.is_sorted_by(|a, b| a < b));
        let damages = whole.damages.iter().chain(&whole.end);
        for damage in damages {
            prop_assert!(damage.offset() <= bytes.len() as u64);
            let start = format!("offset {}: ", damage.offset());
            prop_assert!(damage.to_string().starts_with(&start), "{}", damage);
        }
    }
}

#[test]
fn what_cannot_be_read_again_is_not_written() {
    let mut buffer = vec![0; 500_000];
    for (format, most_interfaces) in [(CaptureFormat::Pcap, 1), (CaptureFormat::Pcapng, 4096)] {
        let writer = CaptureWriter::new(format, LinkType::ETHERNET, u32::MAX);
        let header = writer.header(&mut buffer).expect("room");
        assert!(writer.header(&mut buffer[..header - 1]).is_none());
        let out = &mut buffer[header..];
        assert!(writer.packet(0, most_interfaces, b"", out).is_none());
        assert!(writer.packet(0, most_interfaces - 1, b"", out).is_some());
        let longest = vec![7; MOST_RECORD_BYTES as usize - 64];
        let used = writer.packet(0, 0, &longest, &mut buffer[header..]).expect("room");
        assert_eq!(packets(&buffer[..header + used])[0].bytes, longest);
        assert!(writer.packet(0, 0, &[&longest[..], &[0]].concat(), &mut buffer).is_none());
    }
    let pcap = CaptureWriter::new(CaptureFormat::Pcap, LinkType::ETHERNET, 1);
    let after_2106 = (1 << 32) * 1_000_000_000;
    assert!(pcap.packet(after_2106 - 1, 0, b"", &mut buffer).is_some());
    assert!(pcap.packet(after_2106, 0, b"", &mut buffer).is_none());
}

#[test]
fn a_file_that_is_no_capture_is_refused() {
    let end = |file: &[u8]| read(file, &[1]).end.expect("damage").to_string();
    assert_eq!(end(b""), "offset 0: expected 4 bytes, the file ends after 0");
    assert_eq!(
        end(b"\x1f\x8b\x08\0"),
        "offset 0: expected the magic number of pcap or pcapng, not 1f8b0800"
    );
    assert_eq!(CaptureFormat::detect(b"\x1f\x8b\x08\0"), None);
    for magic in [
        [0x0a, 0x0d, 0x0d, 0x0a],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
    ] {
        assert!(CaptureFormat::detect(&magic).is_some(), "{magic:02x?}");
    }
    let mut file = bytes_of(PCAP_VECTOR);
    file[4] = 3;
    assert_eq!(end(&file), "offset 4: expected format version 2, not 3");
    let mut file = bytes_of(PCAP_VECTOR);
    file[34] = 4;
    assert_eq!(end(&file), "offset 24: expected a record of at most 262144 bytes, not 262226");
    let file = bytes_of(PCAP_VECTOR);
    assert_eq!(end(&file[..105]), "offset 24: expected 82 bytes, the file ends after 81");
    assert_eq!(end(&file[..30]), "offset 24: expected 16 bytes, the file ends after 6");
}
