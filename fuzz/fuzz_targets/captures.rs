//! A capture of either format on any bytes: no panic, the split into blocks makes no difference,
//! and every packet is in the file and survives writing.
//!
//! The first two bytes of the input choose how the rest is cut into blocks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::capture::{
    CaptureDamage, CaptureDecoder, CaptureFormat, CaptureItem, CaptureWriter, CapturedPacket,
    MOST_RECORD_BYTES,
};

#[derive(PartialEq, Debug)]
struct Capture<'b> {
    packets: Vec<CapturedPacket<'b>>,
    damages: Vec<CaptureDamage>,
    end: Option<CaptureDamage>,
}

fuzz_target!(|input: &[u8]| {
    let [first, second, file @ ..] = input else { return };
    let whole = read(file, &[usize::MAX]);
    let sizes = [1 + usize::from(*first) * 7, 1 + usize::from(*second)];
    assert_eq!(read(file, &sizes), whole);
    for damage in whole.damages.iter().chain(&whole.end) {
        assert!(damage.offset() <= file.len() as u64);
    }
    let mut last = 0;
    for packet in &whole.packets {
        assert!(packet.offset >= last);
        last = packet.offset + packet.bytes.len() as u64;
        assert!(last <= file.len() as u64);
        survives(packet);
    }
});

fn read<'b>(file: &'b [u8], sizes: &[usize]) -> Capture<'b> {
    let (mut packets, mut damages) = (Vec::new(), Vec::new());
    let mut decoder = CaptureDecoder::new();
    let (mut start, mut end) = (0, 0usize);
    for &size in sizes.iter().cycle() {
        end = end.saturating_add(size).min(file.len());
        let is_last = end == file.len();
        let mut rest = &file[start..end];
        loop {
            match decoder.next(&mut rest, is_last) {
                CaptureItem::Packet(packet) => packets.push(packet),
                CaptureItem::Damage(damage) => damages.push(damage),
                CaptureItem::NeedMore => break,
                CaptureItem::End(end) => return Capture { packets, damages, end },
            }
        }
        assert!(!is_last, "the last block ends the capture");
        assert!(rest.len() < MOST_RECORD_BYTES as usize);
        start = end - rest.len();
    }
    unreachable!("there are sizes")
}

/// A packet that was read is the same after it was written, if it has a time.
fn survives(packet: &CapturedPacket<'_>) {
    let Some(ts_ns) = packet.ts_ns else { return };
    let writer = CaptureWriter::new(CaptureFormat::Pcapng, packet.link_type, 1);
    let mut file = vec![0; packet.bytes.len() + 200];
    let header = writer.header(&mut file).expect("room");
    let Some(record) = writer.packet(ts_ns, 0, packet.bytes, &mut file[header..]) else {
        return assert!(packet.bytes.len() > MOST_RECORD_BYTES as usize - 64);
    };
    let again = read(&file[..header + record], &[usize::MAX]);
    assert_eq!((again.damages.len(), again.end), (0, None));
    let [again] = again.packets.as_slice() else { panic!("one packet") };
    assert_eq!(
        (again.ts_ns, again.link_type, again.bytes),
        (Some(ts_ns), packet.link_type, packet.bytes)
    );
}
