//! A line of the sender: its packets, its faults, and where it goes.

use std::{collections::VecDeque, io, net::SocketAddrV4};

use nanotape_clock::Stamp;

use crate::{
    line::{Line, LineCounts},
    packetiser::{Outgoing, Packetiser},
};

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineSummary {
    /// Packets and faults.
    pub counts: LineCounts,
    /// Packets that the system refused to send.
    pub send_errors: u64,
    /// The number of the first error.
    pub first_error: Option<i32>,
}

impl core::ops::AddAssign for LineSummary {
    fn add_assign(&mut self, other: Self) {
        self.counts += other.counts;
        self.send_errors += other.send_errors;
        self.first_error = self.first_error.or(other.first_error);
    }
}

/// A line and where it goes; without a target it keeps the schedule only.
#[derive(Debug)]
pub(crate) struct SendingLine {
    pub(crate) packetiser: Packetiser,
    pub(crate) line: Line,
    pub(crate) target: Option<SocketAddrV4>,
    /// Packets until they are due.
    pub(super) announced: VecDeque<Announced>,
    /// Number of the next message that the line sends, and the bytes of blocks before it.
    pub(super) next: u64,
    pub(super) stream_offset: u64,
    pub(super) last_sent: Stamp,
    send_errors: u64,
    first_error: Option<i32>,
}

/// When a packet is due, and where the line continues after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    pub(super) due_ns: u64,
    pub(super) next: u64,
    pub(super) stream_offset: u64,
}

impl SendingLine {
    pub(crate) fn new(
        packetiser: Packetiser,
        line: Line,
        target: Option<SocketAddrV4>,
        now: Stamp,
    ) -> Self {
        let next = packetiser.next();
        let announced = VecDeque::new();
        Self {
            packetiser,
            line,
            target,
            announced,
            next,
            stream_offset: 0,
            last_sent: now,
            send_errors: 0,
            first_error: None,
        }
    }

    /// What became of the line; nothing if it goes nowhere.
    pub(crate) fn summary(&self) -> LineSummary {
        if self.target.is_none() {
            return LineSummary::default();
        }
        let (send_errors, first_error) = (self.send_errors, self.first_error);
        LineSummary { counts: self.line.counts(), send_errors, first_error }
    }

    pub(super) fn push(&mut self, message: &[u8], time_ns: u64) {
        self.cut(|packetiser, queue| packetiser.push(message, time_ns, queue));
    }

    pub(super) fn skip(&mut self, message: &[u8]) {
        self.cut(|packetiser, queue| packetiser.skip(message, queue));
        (self.next, self.stream_offset) = (self.packetiser.next(), self.packetiser.stream_offset());
    }

    pub(super) fn flush(&mut self) {
        self.cut(|packetiser, queue| packetiser.flush(queue));
    }

    /// Begins again with number 1.
    pub(super) fn restart(&mut self) {
        self.cut(|packetiser, queue| packetiser.restart(queue));
    }

    /// Gives the packets that an operation completes to the line.
    fn cut(&mut self, operation: impl FnOnce(&mut Packetiser, &mut dyn FnMut(Outgoing<'_>))) {
        let Self { packetiser, line, announced, .. } = self;
        let header_bytes = packetiser.framing().header_bytes();
        let mut stream_offset = packetiser.stream_offset();
        operation(packetiser, &mut |packet| {
            stream_offset += (packet.bytes.len() - header_bytes) as u64;
            let (due_ns, next) = (packet.due_ns, packet.first + u64::from(packet.count));
            announced.push_back(Announced { due_ns, next, stream_offset });
            line.packet(packet);
        });
    }

    /// Number of the first message of a packet that is not due yet.
    pub(super) fn first_held_back(&self) -> u64 {
        match self.announced.front() {
            Some(_) => self.next,
            None => self.packetiser.first_unsent(),
        }
    }

    pub(super) fn count_error(&mut self, error: &io::Error) {
        self.send_errors += 1;
        self.first_error = self.first_error.or(error.raw_os_error());
    }
}
