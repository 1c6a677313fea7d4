//! Times in every resolution, and each kind of damage.

use super::*;
use crate::capture::{CaptureDecoder, CaptureItem};

/// A block of a little-endian section.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    let mut block = [kind.to_le_bytes(), length.to_le_bytes()].concat();
    block.extend(body);
    block.resize(length as usize - 4, 0);
    block.extend(length.to_le_bytes());
    block
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A section header.
fn section() -> Vec<u8> {
    block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]))
}

/// A section with one interface of Ethernet.
fn section_with(options: &[u8]) -> Vec<u8> {
    [section(), block(1, &[words(&[1, 0]), options.to_vec()].concat())].concat()
}

/// An enhanced packet of 5 bytes at time 1.
fn packet(interface: u32) -> Vec<u8> {
    block(6, &[words(&[interface, 0, 1, 5, 9]), b"hello".to_vec()].concat())
}

/// The times of packets, the damage, and how reading ends.
fn read(file: &[u8]) -> (Vec<Option<u64>>, Vec<CaptureDamage>, Option<CaptureDamage>) {
    let (mut times, mut damages) = (Vec::new(), Vec::new());
    let (mut decoder, mut rest) = (CaptureDecoder::new(), file);
    loop {
        match decoder.next(&mut rest, true) {
            CaptureItem::Packet(packet) => {
                assert_eq!((packet.bytes, packet.original_length), (b"hello".as_slice(), 9));
                times.push(packet.ts_ns);
            }
            CaptureItem::Damage(damage) => damages.push(damage),
            CaptureItem::NeedMore => panic!("the last block needs no more"),
            CaptureItem::End(end) => return (times, damages, end),
        }
    }
}

fn nanoseconds(resolution: u8, offset_seconds: i64, units: u64) -> Option<u64> {
    let resolution = Resolution::from_option(resolution);
    let link_type = LinkType::ETHERNET;
    Interface { link_type, snapshot_length: 0, resolution, offset_seconds }.nanoseconds(units)
}

#[test]
fn times_of_every_resolution_are_nanoseconds() {
    assert_eq!(nanoseconds(6, 0, 1_699_999_999_123_456), Some(1_699_999_999_123_456_000));
    assert_eq!(nanoseconds(0, 0, 1_700_000_000), Some(1_700_000_000_000_000_000));
    assert_eq!(nanoseconds(9, 0, u64::MAX), Some(u64::MAX));
    assert_eq!(nanoseconds(12, 0, 1_999), Some(1));
    assert_eq!(nanoseconds(28, 0, u64::MAX), Some(1));
    assert_eq!(nanoseconds(29, 0, u64::MAX), Some(0));
    assert_eq!(nanoseconds(127, 5, u64::MAX), Some(5_000_000_000));
    assert_eq!(nanoseconds(0x80 | 32, 0, 3 << 31), Some(1_500_000_000));
    assert_eq!(nanoseconds(0x80, 0, 7), Some(7_000_000_000));
    assert_eq!(nanoseconds(0xff, 0, u64::MAX), Some(0));
    assert_eq!(nanoseconds(9, -1, 2_000_000_000), Some(1_000_000_000));
    // Before the epoch, and after the last time of 64 bits.
    assert_eq!(nanoseconds(9, -1, 999_999_999), None);
    assert_eq!(nanoseconds(0, 0, u64::MAX), None);
    assert_eq!(nanoseconds(6, i64::MAX, u64::MAX), None);
}

#[test]
fn options_of_an_interface_end_at_a_mark_or_with_the_block() {
    let resolution = [9, 0, 1, 0, 0, 0, 0, 0];
    let offset = [[14, 0, 8, 0].as_slice(), &7u64.to_le_bytes()].concat();
    let name = b"\x02\0\x03\0eth\0";
    let whole = [name.as_slice(), &resolution, &offset].concat();
    let file = |options: &[u8]| [section_with(options), packet(0)].concat();
    assert_eq!(read(&file(&whole)), (vec![Some(8_000_000_000)], vec![], None));
    let after_mark = [&[0; 4], whole.as_slice()].concat();
    assert_eq!(read(&file(&after_mark)), (vec![Some(1000)], vec![], None));
    // A length beyond the block ends the options.
    let beyond = [resolution.as_slice(), &[14, 0, 9, 0], &offset[4..]].concat();
    assert_eq!(read(&file(&beyond)), (vec![Some(1_000_000_000)], vec![], None));
}

#[test]
fn damage_that_leaves_the_next_block_certain_costs_one_packet() {
    let start = section_with(&[]);
    let offset = start.len() as u64;
    let after = |damaged: &[u8]| read(&[&start, damaged, &packet(0)].concat());
    let one = vec![Some(1000)];

    let interface = CaptureDamage::Interface { offset, interfaces: 1, found: 1 };
    assert_eq!(after(&packet(1)), (one.clone(), vec![interface], None));

    let mut long = packet(0);
    long[20] = 9;
    let length = CaptureDamage::PacketLength { offset, most: 8, found: 9 };
    assert_eq!(after(&long), (one.clone(), vec![length], None));

    let short = CaptureDamage::BlockLength { offset, least: 32, found: 28 };
    assert_eq!(after(&block(6, &[0; 16])), (one.clone(), vec![short], None));

    let large = block(6, &vec![0; MOST_RECORD_BYTES as usize]);
    let found = u64::from(MOST_RECORD_BYTES) + 12;
    let large_damage = CaptureDamage::TooLarge { offset, most: MOST_RECORD_BYTES, found };
    assert_eq!(after(&large), (one.clone(), vec![large_damage], None));

    let unknown = block(0xbad, &vec![1; 3 * MOST_RECORD_BYTES as usize]);
    assert_eq!(after(&unknown), (one, vec![], None));
}

#[test]
fn a_block_whose_lengths_differ_is_read_and_reported() {
    let start = section_with(&[]);
    let two = vec![Some(1000); 2];
    let after = |mut damaged: Vec<u8>| {
        let last = damaged.len() - 4;
        damaged[last] += 4;
        read(&[start.clone(), damaged, packet(0)].concat())
    };
    let offset = start.len() as u64 + 36;
    let damage = CaptureDamage::TrailingLength { offset, expected: 40, found: 44 };
    assert_eq!(after(packet(0)), (two.clone(), vec![damage], None));
    let offset = start.len() as u64 + 12;
    let damage = CaptureDamage::TrailingLength { offset, expected: 16, found: 20 };
    assert_eq!(after(block(5, &[0; 4])), (vec![Some(1000)], vec![damage], None));
    assert_eq!(
        damage.to_string(),
        "offset 60: expected the block to end with its length 16, not 20"
    );
}

#[test]
fn damage_that_leaves_no_certain_block_ends_the_capture() {
    let start = [section_with(&[]), packet(0)].concat();
    let offset = start.len() as u64;
    let after = |damaged: &[u8]| {
        let (times, damages, end) = read(&[&start, damaged].concat());
        assert_eq!((times, damages), (vec![Some(1000)], vec![]));
        end.expect("damage")
    };
    for found in [0, 8, 13] {
        let mut block = packet(0);
        block[4..8].copy_from_slice(&u32::to_le_bytes(found));
        let damage = CaptureDamage::BlockLength { offset, least: 12, found };
        assert_eq!(after(&block), damage);
    }
    let mut header = section();
    header[8] = 0;
    let damage = CaptureDamage::ByteOrder { offset: offset + 8, found: 0x003c_2b1a };
    assert_eq!(after(&header), damage);
    let mut header = section();
    header[12] = 2;
    let damage = CaptureDamage::Version { offset: offset + 12, expected: 1, found: 2 };
    assert_eq!(after(&header), damage);
    let mut header = section();
    header[4] = 24;
    let damage = CaptureDamage::BlockLength { offset, least: 28, found: 24 };
    assert_eq!(after(&header), damage);
    for length in 1..packet(0).len() {
        let present = length as u32;
        let needed = if length < 12 { 12 } else { 40 };
        assert_eq!(after(&packet(0)[..length]), CaptureDamage::Cut { offset, needed, present });
    }
    let unknown = block(5, &[0; 20]);
    for length in 1..unknown.len() {
        assert!(matches!(after(&unknown[..length]), CaptureDamage::Cut { .. }), "{length}");
    }
}

#[test]
fn a_section_has_a_limited_number_of_interfaces_of_its_own() {
    let interface = block(1, &words(&[1, 0]));
    let mut file = section();
    for _ in 0..MOST_INTERFACES {
        file.extend(&interface);
    }
    file.extend(packet(MOST_INTERFACES - 1));
    // The next section has none of them.
    let offset = (file.len() + section().len()) as u64;
    let more = [file.clone(), section(), packet(0)].concat();
    let unknown = CaptureDamage::Interface { offset, interfaces: 0, found: 0 };
    assert_eq!(read(&more), (vec![Some(1000)], vec![unknown], None));
    let damage = CaptureDamage::Interfaces { offset: file.len() as u64, most: MOST_INTERFACES };
    file.extend(&interface);
    assert_eq!(read(&file), (vec![Some(1000)], vec![], Some(damage)));
}
