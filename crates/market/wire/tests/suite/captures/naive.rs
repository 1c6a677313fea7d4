//! A writer of every variant of both formats, to be obvious, not fast.

use nanotape_wire::capture::LinkType;
use proptest::{collection::vec, option, prelude::*};

use super::Packet;

/// A file and its packets.
#[derive(Debug)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) packets: Vec<Packet>,
}

/// What a record is written from: seconds, fraction, bytes, and bytes that were not captured.
type Draw = (u32, u32, Vec<u8>, u32);

fn any_draw() -> impl Strategy<Value = Draw> {
    (any::<u32>(), 0..1_000_000u32, vec(any::<u8>(), 0..90), 0..100u32)
}

#[derive(Clone, Copy, Debug)]
struct Order {
    is_big: bool,
}

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u64(self, value: u64) -> [u8; 8] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// A pcap file in either byte order and unit.
pub(super) fn any_pcap() -> impl Strategy<Value = File> {
    let link_type = prop_oneof![Just(1u16), any::<u16>()];
    (any::<bool>(), any::<bool>(), link_type, any::<u16>(), vec(any_draw(), 0..12)).prop_map(
        |(is_big, is_nanos, link_type, upper, draws)| {
            let order = Order { is_big };
            let magic = if is_nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
            let mut bytes = order.u32(magic).to_vec();
            bytes.extend([order.u16(2), order.u16(4)].concat());
            let link = u32::from(upper) << 16 | u32::from(link_type);
            bytes.extend([0, 0, 65_535, link].map(|word| order.u32(word)).concat());
            let mut packets = Vec::new();
            for (seconds, fraction, packet, lost) in draws {
                let length = packet.len() as u32;
                let words = [seconds, fraction, length, length + lost];
                bytes.extend(words.map(|word| order.u32(word)).concat());
                bytes.extend(&packet);
                let nanos = u64::from(fraction) * if is_nanos { 1 } else { 1000 };
                packets.push(Packet {
                    ts_ns: Some(u64::from(seconds) * 1_000_000_000 + nanos),
                    interface: 0,
                    link_type: LinkType(link_type),
                    bytes: packet,
                    original_length: length + lost,
                });
            }
            File { bytes, packets }
        },
    )
}

/// An interface: link type, snapshot length, and the values of its options.
type Interface = (u16, u32, Option<u8>, Option<i64>);

fn any_interface() -> impl Strategy<Value = Interface> {
    let resolution = prop_oneof![0..20u8, 128..192u8];
    let offset = -2_000_000_000..2_000_000_000i64;
    (any::<u16>(), 90..100_000u32, option::of(resolution), option::of(offset))
}

/// The time in nanoseconds, by division of large numbers.
fn nanoseconds((_, _, resolution, offset): Interface, units: u64) -> Option<u64> {
    let resolution = resolution.unwrap_or(6);
    let units_per_second = match resolution {
        0..128 => 10i128.pow(resolution.into()),
        _ => 1i128 << (resolution - 128),
    };
    let nanos = i128::from(units) * 1_000_000_000 / units_per_second;
    u64::try_from(nanos + i128::from(offset.unwrap_or(0)) * 1_000_000_000).ok()
}

/// What a block is: one of the three packets, or a type that is skipped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Enhanced,
    Obsolete,
    Simple,
    Other(u32),
}

/// The kinds that another decoder reads too.
pub(super) fn any_current_kind() -> impl Strategy<Value = Kind> + Clone {
    prop_oneof![4 => Just(Kind::Enhanced), 1 => Just(Kind::Simple)]
}

pub(super) fn any_kind() -> impl Strategy<Value = Kind> + Clone {
    prop_oneof![
        5 => any_current_kind(),
        1 => Just(Kind::Obsolete),
        1 => prop_oneof![Just(4), Just(5), Just(10), Just(0xbad), Just(0x4000_0bad)]
            .prop_map(Kind::Other),
    ]
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = 12 + body.len().next_multiple_of(4);
    let mut block = [order.u32(kind), order.u32(length as u32)].concat();
    block.extend(body);
    block.resize(length - 4, 0xaa);
    block.extend(order.u32(length as u32));
    block
}

fn option_of(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [order.u16(code), order.u16(value.len() as u16)].concat();
    option.extend(value);
    option.resize(4 + value.len().next_multiple_of(4), 0);
    option
}

type Section = (bool, bool, Vec<Interface>, Vec<(Kind, prop::sample::Index, bool, Draw)>);

fn any_section(kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = Section> {
    let blocks = vec((kind, any::<prop::sample::Index>(), any::<bool>(), any_draw()), 0..10);
    (any::<bool>(), any::<bool>(), vec(any_interface(), 1..4), blocks)
}

/// A pcapng file of several sections in either byte order, with these blocks and all options.
pub(super) fn any_pcapng(kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = File> {
    vec(any_section(kind), 1..4).prop_map(|sections| {
        let mut file = File { bytes: Vec::new(), packets: Vec::new() };
        for section in sections {
            write_section(&mut file, section);
        }
        file
    })
}

fn write_section(file: &mut File, (is_big, has_comment, interfaces, blocks): Section) {
    let order = Order { is_big };
    let mut header = order.u32(0x1a2b_3c4d).to_vec();
    header.extend([order.u16(1), order.u16(0)].concat());
    header.extend(order.u64(u64::MAX));
    let comment = option_of(order, 1, b"a comment");
    let end = option_of(order, 0, &[]);
    if has_comment {
        header.extend([comment.as_slice(), &end].concat());
    }
    file.bytes.extend(block(order, 0x0a0d_0d0a, &header));
    for &(link_type, snapshot_length, resolution, offset) in &interfaces {
        let mut body = [order.u16(link_type), [0; 2]].concat();
        body.extend(order.u32(snapshot_length));
        if has_comment {
            body.extend(&comment);
        }
        body.extend(resolution.map(|value| option_of(order, 9, &[value])).unwrap_or_default());
        let offset = offset.map(i64::cast_unsigned);
        body.extend(offset.map(|v| option_of(order, 14, &order.u64(v))).unwrap_or_default());
        body.extend(if has_comment { end.clone() } else { Vec::new() });
        file.bytes.extend(block(order, 1, &body));
    }
    for (kind, index, has_options, (high, low, packet, lost)) in blocks {
        let number = match kind {
            Kind::Simple => 0,
            _ => index.index(interfaces.len()),
        };
        let interface = interfaces[number];
        let captured = packet.len() as u32;
        // The captured length of a simple packet is the lesser of two lengths.
        let original = match kind {
            Kind::Simple => captured,
            _ => captured + lost,
        };
        let times = [order.u32(high), order.u32(low)].concat();
        let lengths = [order.u32(captured), order.u32(original)].concat();
        let mut padded = packet.clone();
        padded.resize(packet.len().next_multiple_of(4), 0xbb);
        let options = if has_options { [comment.as_slice(), &end].concat() } else { Vec::new() };
        let (kind, body, units) = match kind {
            Kind::Enhanced => {
                let front = [order.u32(number as u32).to_vec(), times, lengths].concat();
                (6, [front, padded, options].concat(), Some(()))
            }
            Kind::Obsolete => {
                let front = [order.u16(number as u16), [0xcc; 2]].concat();
                (2, [front, times, lengths, padded, options].concat(), Some(()))
            }
            Kind::Simple => (3, [order.u32(original).to_vec(), padded].concat(), None),
            Kind::Other(kind) => {
                file.bytes.extend(block(order, kind, &packet));
                continue;
            }
        };
        file.bytes.extend(block(order, kind, &body));
        let units = units.map(|()| u64::from(high) << 32 | u64::from(low));
        file.packets.push(Packet {
            ts_ns: units.and_then(|units| nanoseconds(interface, units)),
            interface: number as u32,
            link_type: LinkType(interface.0),
            bytes: packet,
            original_length: original,
        });
    }
}
