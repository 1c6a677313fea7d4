//! A receiver and its owner, step by step.

use nanotape_feed::session::{
    Line, PacketOrigin, Receiver, RequestSettings, SessionSettings, SnapshotSettings,
};
use nanotape_types::Alpha;
use nanotape_wire::framing::moldudp64::{MoldUdp64, PacketWriter};

use super::owner::{Owner, Task, message_of};

pub(super) const SESSION: Alpha<10> = Alpha::new(*b"DAY       ");
pub(super) const MS: u64 = 1_000_000;
pub(super) const A: PacketOrigin = PacketOrigin::Line(Line::A);
pub(super) const B: PacketOrigin = PacketOrigin::Line(Line::B);
pub(super) const ANSWER: PacketOrigin = PacketOrigin::Retransmission;

/// A receiver, its owner and the time.
pub(super) struct Session {
    pub(super) receiver: Receiver<MoldUdp64>,
    pub(super) owner: Owner,
    pub(super) now_ns: u64,
}

impl Session {
    pub(super) fn new(settings: SessionSettings) -> Self {
        let settings = SessionSettings {
            join_ns: 0,
            ahead_messages: 1 << 10,
            ahead_bytes: 1 << 16,
            ..settings
        };
        Self { receiver: Receiver::new(settings), owner: Owner::default(), now_ns: 1_000 * MS }
    }

    /// A packet of `count` messages from `first`.
    pub(super) fn packet(&mut self, origin: PacketOrigin, first: u64, count: u64) {
        self.packet_of(SESSION, origin, first, count);
    }

    pub(super) fn packet_of(
        &mut self,
        session: Alpha<10>,
        origin: PacketOrigin,
        first: u64,
        count: u64,
    ) {
        self.bytes(origin, bytes_of(session, first, count));
    }

    pub(super) fn bytes(&mut self, origin: PacketOrigin, bytes: Vec<u8>) {
        let times = (self.now_ns, self.now_ns);
        self.receiver.packet(origin, times, &bytes, &mut self.owner);
        if self.receiver.deadline_ns() <= self.now_ns {
            self.receiver.tick(self.now_ns, &mut self.owner);
        }
    }

    /// The same packet on both lines.
    pub(super) fn both(&mut self, first: u64, count: u64) {
        self.packet(A, first, count);
        self.packet(B, first, count);
    }

    pub(super) fn after(&mut self, ms: u64) {
        self.now_ns += ms * MS;
        self.receiver.tick(self.now_ns, &mut self.owner);
    }

    pub(super) fn snapshot(&mut self, next: u64) -> bool {
        self.receiver.snapshot(next, self.now_ns, &mut self.owner)
    }

    pub(super) fn tasks(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.owner.tasks)
    }
}

/// The bytes of a packet of `count` messages from `first`.
pub(super) fn bytes_of(session: Alpha<10>, first: u64, count: u64) -> Vec<u8> {
    let mut buffer = [0; 4_096];
    let mut writer = PacketWriter::new(session, first, &mut buffer).unwrap();
    for number in first..first + count {
        assert!(writer.push(&message_of(number)));
    }
    writer.finish().to_vec()
}

pub(super) fn with_requests() -> SessionSettings {
    let requests = RequestSettings {
        timeout_ns: 10 * MS,
        retries: 2,
        messages: 8,
        in_flight: 2,
        budget_ns: 0,
        ..RequestSettings::default()
    };
    SessionSettings { requests: Some(requests), ..SessionSettings::default() }
}

pub(super) fn with_snapshots() -> SessionSettings {
    let snapshots =
        SnapshotSettings { timeout_ns: 500 * MS, attempts: 2, retry_after_ns: 5_000 * MS };
    SessionSettings { snapshots: Some(snapshots), ..SessionSettings::default() }
}
