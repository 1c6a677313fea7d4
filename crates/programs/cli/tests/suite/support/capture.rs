//! Captures that are made packet by packet.

use std::net::{Ipv4Addr, SocketAddrV4};

use nanotape_types::Alpha;
use nanotape_wire::{
    capture::{CaptureFormat, CaptureWriter, FrameWriter, LinkType},
    framing::{
        iextp::{IexSession, SegmentWriter},
        moldudp64::PacketWriter,
    },
};

/// 2019-12-30 at 03:00 in New York, ns since the UNIX epoch.
pub(crate) const BEGIN_NS: u64 = 1_577_692_800_000_000_000;

/// The time between two packets.
pub(crate) const STEP_NS: u64 = 10_000;

/// A capture that is written.
pub(crate) struct MadeCapture {
    writer: CaptureWriter,
    pub(crate) bytes: Vec<u8>,
    /// The time of the next packet.
    pub(crate) ts_ns: u64,
}

impl MadeCapture {
    pub(crate) fn new(format: CaptureFormat) -> Self {
        let writer = CaptureWriter::new(format, LinkType::ETHERNET, 1);
        let mut header = [0; 256];
        let length = writer.header(&mut header).unwrap();
        Self { writer, bytes: header[..length].to_vec(), ts_ns: BEGIN_NS }
    }

    /// Appends a packet with these bytes.
    pub(crate) fn frame(&mut self, frame: &[u8]) {
        let mut record = [0; 4_096];
        let length = self.writer.packet(self.ts_ns, 0, frame, &mut record).unwrap();
        self.bytes.extend_from_slice(&record[..length]);
        self.ts_ns += STEP_NS;
    }

    /// Appends a datagram.
    pub(crate) fn datagram(&mut self, destination: &str, vlans: &[u16], payload: &[u8]) {
        self.frame(&frame_of(destination, vlans, payload));
    }

    /// Appends a packet of MoldUDP64.
    pub(crate) fn mold(&mut self, to: &str, session: &[u8; 10], first: u64, messages: &[&[u8]]) {
        self.datagram(to, &[], &mold_packet(session, first, messages));
    }

    /// Appends a segment of IEX-TP, and returns the stream offset after it.
    pub(crate) fn iex(&mut self, to: &str, first: u64, offset: u64, messages: &[&[u8]]) -> u64 {
        let session = IexSession { message_protocol_id: 0x8004, channel_id: 1, session_id: 77 };
        let mut buffer = [0; 1_400];
        let mut segment = SegmentWriter::new(session, first, offset, 0, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| segment.push(message)));
        let payload = segment.finish().to_vec();
        self.datagram(to, &[], &payload);
        offset + payload.len() as u64 - 40
    }
}

/// A packet of MoldUDP64.
pub(crate) fn mold_packet(session: &[u8; 10], first: u64, messages: &[&[u8]]) -> Vec<u8> {
    let mut buffer = [0; 1_400];
    let mut packet = PacketWriter::new(Alpha::new(*session), first, &mut buffer).unwrap();
    assert!(messages.iter().all(|message| packet.push(message)));
    packet.finish().to_vec()
}

/// A frame with a datagram.
pub(crate) fn frame_of(destination: &str, vlans: &[u16], payload: &[u8]) -> Vec<u8> {
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
