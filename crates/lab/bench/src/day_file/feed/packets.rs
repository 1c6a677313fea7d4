//! The packets of a day on two lines, in the order of their arrival.
//!
//! The lines cut at different messages, as the two senders of an exchange do. A packet arrives up
//! to [`MOST_JITTER_NS`] after it left, by chance, so either line may be first. No line loses a
//! packet.
//! Bounds: a batch of packets is in memory, not the day.

use core::ops::ControlFlow;

use nanotape_exchange::{Cut, Outgoing, Packetiser};
use nanotape_feed::{
    DaySource, SourceError,
    session::{Line, PacketOrigin},
};
use nanotape_lab::Rng;
use nanotape_types::Alpha;
use nanotape_wire::{
    framing::{moldudp64::MoldUdp64, numbered::PacketFraming as _},
    itch50::Message,
};

use super::super::limits::try_for_each_record;

/// The session of all packets.
pub(super) const SESSION: Alpha<10> = Alpha::new(*b"NANOTAPE  ");

/// Longest time between the departure of a packet and its arrival.
const MOST_JITTER_NS: usize = 1_000;

/// Packets of a batch.
const BATCH: usize = 4_096;

/// The largest packet.
pub(super) const MOST_BYTES: usize = 2_048;

/// How a line cuts messages into packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// As `nanotape exchange` does.
    Usual,
    /// Each message alone.
    Single,
}

/// A packet on its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet<'b> {
    /// When it arrives, in exchange time.
    pub(super) arrives_ns: u64,
    pub(super) line: Line,
    pub(super) bytes: &'b [u8],
}

/// Packets in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    arrives_ns: u64,
    line: Line,
    start: usize,
    length: usize,
}

impl Packets {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Packet<'_>> {
        self.places.iter().map(|&Place { arrives_ns, line, start, length }| Packet {
            arrives_ns,
            line,
            bytes: &self.bytes[start..start + length],
        })
    }

    fn push(&mut self, arrives_ns: u64, line: Line, bytes: &[u8]) {
        let (start, length) = (self.bytes.len(), bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.places.push(Place { arrives_ns, line, start, length });
    }

    fn sort(&mut self) {
        // Stable: the packets of a line stay in their order.
        self.places.sort_by_key(|place| place.arrives_ns);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }
}

/// One line of the day.
struct Sender {
    line: Line,
    packetiser: Packetiser,
    jitter: Rng,
    arrived_ns: u64,
}

impl Sender {
    fn new(line: Line, shape: Shape) -> Self {
        let seed = line.index() as u64 + 1;
        let cut = match shape {
            Shape::Usual => Cut { seed: Some(seed), ..Cut::default() },
            Shape::Single => Cut { max_bytes: 0, ..Cut::default() },
        };
        let packetiser = Packetiser::new(SESSION, 1, cut);
        Self { line, packetiser, jitter: Rng::new(seed), arrived_ns: 0 }
    }

    fn out(
        &mut self,
        packets: &mut Packets,
        push: impl FnOnce(&mut Packetiser, &mut dyn FnMut(Outgoing<'_>)),
    ) {
        let Self { line, packetiser, jitter, arrived_ns } = self;
        push(packetiser, &mut |packet| {
            let arrives_ns = packet.due_ns + jitter.below(MOST_JITTER_NS) as u64;
            *arrived_ns = arrives_ns.max(*arrived_ns);
            packets.push(*arrived_ns, *line, packet.bytes);
        });
    }
}

/// Cuts a day into the packets of this many lines of this shape, and calls `take` with one batch
/// after the other until it breaks.
pub(super) fn for_each_batch(
    source: &mut DaySource,
    (lines, shape): (usize, Shape),
    mut take: impl FnMut(&Packets) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    let lines = (0..lines).filter_map(Line::new);
    let mut senders: Vec<Sender> = lines.map(|line| Sender::new(line, shape)).collect();
    let mut batch = Packets::default();
    let mut flow = ControlFlow::Continue(());
    try_for_each_record(source, |record| {
        let time = Message::decode(record.bytes).ok().and_then(|message| message.timestamp());
        let time_ns = time.map_or(0, |time| time.get());
        for sender in &mut senders {
            sender.out(&mut batch, |packetiser, out| packetiser.push(record.bytes, time_ns, out));
        }
        if batch.len() >= BATCH {
            batch.sort();
            flow = take(&batch);
            batch.clear();
        }
        flow
    })?;
    if flow.is_continue() {
        for sender in &mut senders {
            sender.out(&mut batch, |packetiser, out| packetiser.flush(out));
        }
        batch.sort();
        let _ = take(&batch);
    }
    Ok(())
}

/// The first packets of line A, at most `count`.
pub(super) fn first_packets(source: &mut DaySource, count: usize) -> Result<Packets, SourceError> {
    let mut first = Packets::default();
    for_each_batch(source, (1, Shape::Usual), |batch| {
        for packet in batch.iter().take(count - first.len()) {
            first.push(packet.arrives_ns, packet.line, packet.bytes);
        }
        if first.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(first)
}

impl Packet<'_> {
    pub(super) fn origin(self) -> PacketOrigin {
        PacketOrigin::Line(self.line)
    }

    /// The number of the message after it.
    pub(super) fn next(self) -> u64 {
        MoldUdp64::decode(self.bytes).map_or(0, |packet| packet.next())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nanotape_synth::{Market, MarketConfig};

    use super::*;

    fn day() -> DaySource {
        let config = MarketConfig { messages: 20_000, symbols: 50, ..MarketConfig::default() };
        let mut day = Vec::new();
        Market::new(config).unwrap().write_to(&mut day).unwrap();
        DaySource::memory("a synthetic day", Arc::new(day))
    }

    #[test]
    fn both_lines_carry_every_message_in_order_and_cut_differently() {
        let (mut next, mut packets) = ([1, 1], [0, 0]);
        let mut arrived_ns = [0, 0];
        for_each_batch(&mut day(), (2, Shape::Usual), |batch| {
            assert!(batch.iter().is_sorted_by_key(|packet| packet.arrives_ns));
            for packet in batch.iter() {
                let line = packet.line.index();
                let decoded = MoldUdp64::decode(packet.bytes).unwrap();
                assert_eq!((decoded.session, decoded.first), (SESSION, next[line]));
                assert!(packet.bytes.len() <= MOST_BYTES && packet.arrives_ns >= arrived_ns[line]);
                (next[line], arrived_ns[line]) = (packet.next(), packet.arrives_ns);
                packets[line] += 1;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(next, [20_001, 20_001]);
        assert!(packets[0] != packets[1] && packets[0] > 1_000, "{packets:?}");
    }

    #[test]
    fn single_messages_have_a_packet_each() {
        let mut packets = 0;
        for_each_batch(&mut day(), (1, Shape::Single), |batch| {
            packets += batch.len();
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(packets, 20_000);
    }

    #[test]
    fn the_first_packets_are_those_of_line_a() {
        let first = first_packets(&mut day(), 1_500).unwrap();
        assert_eq!(first.len(), 1_500);
        assert!(first.iter().all(|packet| packet.line == Line::A));
        let next = first.iter().fold(1, |next, packet| {
            assert_eq!(MoldUdp64::decode(packet.bytes).unwrap().first, next);
            packet.next()
        });
        let all = first_packets(&mut day(), usize::MAX).unwrap();
        assert!(all.len() > first.len() && all.iter().last().unwrap().next() == 20_001);
        assert!(next < 20_001);
    }
}
