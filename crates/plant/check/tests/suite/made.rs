//! Captures that are made packet by packet, and what the validator finds in one.

use std::net::{Ipv4Addr, SocketAddrV4};

use nanotape_book::DefaultBooks;
use nanotape_check::{Rule, Strength, Validator};
use nanotape_engine::BookEngine;
use nanotape_feed::DaySource;
use nanotape_wire::{
    capture::{CaptureFormat, CaptureWriter, FrameWriter, LinkType},
    framing::{
        iextp::{IexSession, SegmentWriter},
        pitch::{PitchUnit, UnitWriter},
    },
};

/// 2019-12-30 at 09:30 in New York, ns since the UNIX epoch.
pub(crate) const OPEN_NS: u64 = 1_577_716_200_000_000_000;

/// A capture that is written.
pub(crate) struct Made {
    writer: CaptureWriter,
    pub(crate) bytes: Vec<u8>,
    ts_ns: u64,
}

impl Made {
    pub(crate) fn new() -> Self {
        let writer = CaptureWriter::new(CaptureFormat::Pcap, LinkType::ETHERNET, 1);
        let mut header = [0; 64];
        let length = writer.header(&mut header).unwrap();
        Self { writer, bytes: header[..length].to_vec(), ts_ns: OPEN_NS }
    }

    pub(crate) fn datagram(&mut self, port: u16, payload: &[u8]) {
        let frames = FrameWriter {
            source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 20_000),
            destination: SocketAddrV4::new(Ipv4Addr::new(233, 1, 1, 1), port),
            source_mac: [2, 0, 0, 0, 0, 1],
            vlans: &[],
            time_to_live: 1,
        };
        let (mut frame, mut record) = ([0; 2_048], [0; 2_048]);
        let length = frames.write(1, payload, &mut frame).unwrap();
        let length = self.writer.packet(self.ts_ns, 0, &frame[..length], &mut record).unwrap();
        self.bytes.extend_from_slice(&record[..length]);
        self.ts_ns += 1_000;
    }

    /// Appends a segment of IEX-TP, and returns the stream offset after it.
    pub(crate) fn segment(
        &mut self,
        message_protocol_id: u16,
        (first, offset): (u64, u64),
        messages: &[Vec<u8>],
    ) -> u64 {
        let session = IexSession { message_protocol_id, channel_id: 1, session_id: 77 };
        let mut buffer = [0; 1_400];
        let mut segment = SegmentWriter::new(session, first, offset, 0, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| segment.push(message)));
        let payload = segment.finish();
        self.datagram(5_001, payload);
        offset + payload.len() as u64 - 40
    }

    /// Appends a unit of PITCH.
    pub(crate) fn unit(&mut self, unit: u8, first: u64, messages: &[Vec<u8>]) {
        let mut buffer = [0; 1_400];
        let mut packet = UnitWriter::new(PitchUnit(unit), first, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| packet.push(message)));
        self.datagram(30_000 + u16::from(unit), packet.finish());
    }
}

/// The violated rules of a day, each with the number of violations and of the first message.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Violated {
    pub(crate) rules: Vec<(Rule, u64, Option<u64>)>,
    pub(crate) is_valid: bool,
}

pub(crate) fn validator_of(mut source: DaySource) -> Validator {
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(1 << 12));
    let mut validator = Validator::default();
    let report = engine.run(&mut source, &mut validator, |_| ()).unwrap();
    validator.finish(&engine, &report);
    validator
}

pub(crate) fn violated(bytes: Vec<u8>) -> Violated {
    let validator = validator_of(DaySource::memory("a capture", bytes));
    let found = validator.rules().iter().filter_map(|row| {
        let finding = validator.finding(row.rule);
        let (_, number) = finding.first?;
        Some((row.rule, finding.violations, number))
    });
    let is_spec = |rule: Rule| {
        validator.rules().iter().any(|row| row.rule == rule && row.strength == Strength::Spec)
    };
    let rules: Vec<_> = found.collect();
    assert_eq!(validator.is_valid(), !rules.iter().any(|(rule, ..)| is_spec(*rule)), "{rules:?}");
    Violated { is_valid: validator.is_valid(), rules }
}
