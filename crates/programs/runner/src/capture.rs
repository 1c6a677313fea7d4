//! Captures that are made packet by packet.

use std::net::{Ipv4Addr, SocketAddrV4};

use nanotape_types::Alpha;
use nanotape_wire::{
    capture::{CaptureFormat, CaptureWriter, FrameWriter, LinkType},
    framing::{
        binary_file::Records,
        iextp::{IexSession, SegmentWriter},
        moldudp64::PacketWriter,
    },
};

/// 2019-12-30 at 03:00 in New York, ns since the UNIX epoch.
pub const BEGIN_NS: u64 = 1_577_692_800_000_000_000;

/// The time between two packets.
pub const STEP_NS: u64 = 10_000;

/// A capture that is written.
#[derive(Debug)]
pub struct MadeCapture {
    writer: CaptureWriter,
    /// Everything so far.
    pub bytes: Vec<u8>,
    /// The time of the next packet.
    pub ts_ns: u64,
}

impl MadeCapture {
    /// A capture without packets.
    pub fn new(format: CaptureFormat) -> Self {
        let writer = CaptureWriter::new(format, LinkType::ETHERNET, 1);
        let mut header = [0; 256];
        let length = writer.header(&mut header).unwrap();
        Self { writer, bytes: header[..length].to_vec(), ts_ns: BEGIN_NS }
    }

    /// Appends a packet with these bytes.
    pub fn frame(&mut self, frame: &[u8]) {
        let mut record = [0; 4_096];
        let length = self.writer.packet(self.ts_ns, 0, frame, &mut record).unwrap();
        self.bytes.extend_from_slice(&record[..length]);
        self.ts_ns += STEP_NS;
    }

    /// Appends a datagram.
    pub fn datagram(&mut self, destination: &str, vlans: &[u16], payload: &[u8]) {
        self.frame(&frame_of(destination, vlans, payload));
    }

    /// Appends a packet of MoldUDP64.
    pub fn mold(&mut self, to: &str, session: &[u8; 10], first: u64, messages: &[&[u8]]) {
        self.datagram(to, &[], &mold_packet(session, first, messages));
    }

    /// Appends a segment of IEX-TP, and returns the stream offset after it.
    pub fn iex(&mut self, to: &str, first: u64, offset: u64, messages: &[&[u8]]) -> u64 {
        let session = IexSession { message_protocol_id: 0x8004, channel_id: 1, session_id: 77 };
        let mut buffer = [0; 1_400];
        let mut segment = SegmentWriter::new(session, first, offset, 0, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| segment.push(message)));
        let payload = segment.finish().to_vec();
        self.datagram(to, &[], &payload);
        offset + payload.len() as u64 - 40
    }
}

/// Writes the messages of a day as a capture of two lines. Line A loses one packet in ten, line B
/// another one in ten, and both lose the messages of `missing`.
pub fn capture_of(day: &[u8], missing: std::ops::Range<u64>) -> Vec<u8> {
    let messages: Vec<&[u8]> = Records::new(day, 0).map(|record| record.bytes).collect();
    let writer = CaptureWriter::new(CaptureFormat::Pcapng, LinkType(1), 1);
    let mut buffer = vec![0; 4_096];
    let length = writer.header(&mut buffer).unwrap();
    let mut capture = buffer[..length].to_vec();
    let (mut number, mut packets) = (1, 0u64);
    while number <= messages.len() as u64 {
        let count = (1 + packets % 7).min(messages.len() as u64 + 1 - number);
        let mut payload = [0; 1_400];
        let mut packet =
            PacketWriter::new(Alpha::new(*b"MONDAY    "), number, &mut payload).unwrap();
        for message in &messages[number as usize - 1..(number + count - 1) as usize] {
            assert!(packet.push(message));
        }
        let payload = packet.finish();
        for line in 0..2u64 {
            let is_lost = packets % 10 == line * 5 || missing.contains(&number);
            if is_lost {
                continue;
            }
            let frames = FrameWriter {
                source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 20_000),
                destination: SocketAddrV4::new(
                    Ipv4Addr::new(233, 54, 12, 111 + line as u8),
                    26_477,
                ),
                source_mac: [2, 0, 0, 0, 0, 1],
                vlans: &[],
                time_to_live: 1,
            };
            let mut frame = [0; 2_048];
            let length = frames.write(packets as u16, payload, &mut frame).unwrap();
            let ts_ns = BEGIN_NS + packets * 10_000 + line * 900;
            let length = writer.packet(ts_ns, 0, &frame[..length], &mut buffer).unwrap();
            capture.extend_from_slice(&buffer[..length]);
        }
        number += count;
        packets += 1;
    }
    capture
}

/// A packet of MoldUDP64.
pub fn mold_packet(session: &[u8; 10], first: u64, messages: &[&[u8]]) -> Vec<u8> {
    let mut buffer = [0; 1_400];
    let mut packet = PacketWriter::new(Alpha::new(*session), first, &mut buffer).unwrap();
    assert!(messages.iter().all(|message| packet.push(message)));
    packet.finish().to_vec()
}

/// A frame with a datagram.
pub fn frame_of(destination: &str, vlans: &[u16], payload: &[u8]) -> Vec<u8> {
    let frames = FrameWriter {
        source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 20_000),
        destination: destination.parse().unwrap(),
        source_mac: [2, 0, 0, 0, 0, 1],
        vlans,
        time_to_live: 1,
    };
    let mut frame = [0; 2_048];
    let length = frames.write(1, payload, &mut frame).unwrap();
    frame[..length].to_vec()
}
