//! Sends requested messages again, on the answer group of their unit.

use std::net::{Ipv4Addr, SocketAddrV4};

use nanotape_wire::framing::pitch::PitchUnit;

use super::{GapProxy, GapRange};
use crate::{
    Cut, Faults, Line, LineFraming, Packetiser,
    line::LineCounts,
    server::further,
    transport::{Departure, SocketTransport, Transport as _},
};

/// Packets of answers that wait; while there are more, no further request is answered.
const MOST_WAITING: usize = 4_096;

/// Requests that are answered between two turns of the connections.
const MOST_AT_ONCE: usize = 64;

/// The answers of all units.
#[derive(Debug)]
pub(in crate::feeds) struct GapAnswers {
    transport: SocketTransport,
    interface: Ipv4Addr,
    /// Where the answers of the first unit go.
    target: SocketAddrV4,
    cut: Cut,
    /// The packets of each unit, with its faults.
    lines: Vec<Line>,
    send_errors: u64,
}

impl GapAnswers {
    pub(in crate::feeds) fn new(
        (transport, interface): (SocketTransport, Ipv4Addr),
        target: SocketAddrV4,
        units: usize,
        faults: &Faults,
        (cut, seed): (Cut, u64),
    ) -> Self {
        let lines = (0..units).map(|stream| {
            let (none, number) = (Faults::default(), 100 + stream as u64);
            Line::framed(framing(stream), faults.clone(), &none, seed, number)
        });
        let cut = Cut { seed: None, share_ns: u64::MAX, ..cut };
        Self { transport, interface, target, cut, lines: lines.collect(), send_errors: 0 }
    }

    /// Answers requests, and sends what is due. Returns whether there was anything.
    pub(in crate::feeds) fn turn(&mut self, proxy: &mut GapProxy, now_ns: u64) -> bool {
        let mut is_busy = false;
        for _ in 0..MOST_AT_ONCE {
            if self.lines.iter().map(Line::waiting).sum::<usize>() >= MOST_WAITING {
                break;
            }
            let Some(range) = proxy.next() else { break };
            self.answer(range, proxy, now_ns);
            is_busy = true;
        }
        for stream in 0..self.lines.len() {
            while let Some((_, bytes)) = self.lines[stream].take(now_ns) {
                self.send(stream, &bytes);
                self.lines[stream].recycle(bytes);
                is_busy = true;
            }
        }
        is_busy
    }

    /// Makes the packets of a range.
    fn answer(&mut self, range: GapRange, proxy: &mut GapProxy, now_ns: u64) {
        let GapRange { stream, first, count } = range;
        let line = &mut self.lines[stream];
        let mut packetiser = Packetiser::framed(framing(stream), first, self.cut);
        for number in first..first + u64::from(count) {
            let Some(message) = proxy.read(stream, number) else { break };
            packetiser.push(message, now_ns, |packet| line.packet(packet));
        }
        packetiser.flush(|packet| line.packet(packet));
    }

    fn send(&mut self, stream: usize, payload: &[u8]) {
        let destination = further(self.target, stream as u16);
        let source = SocketAddrV4::new(self.interface, destination.port());
        let departure = Departure { ts_ns: 0, source, destination, vlans: &[], payload };
        self.send_errors += u64::from(self.transport.send(departure).is_err());
    }

    /// The packets of all units, and those that the system refused to send.
    pub(in crate::feeds) fn counts(&self) -> (LineCounts, u64) {
        let mut counts = LineCounts::default();
        self.lines.iter().for_each(|line| counts += line.counts());
        (counts, self.send_errors)
    }
}

fn framing(stream: usize) -> LineFraming {
    LineFraming::Pitch(PitchUnit(stream as u8 + 1))
}
