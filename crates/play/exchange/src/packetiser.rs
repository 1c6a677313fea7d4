//! Cuts the messages of a day into the packets of one line.
//!
//! Protocol: messages are numbered from 1. Messages that follow each other within a short time
//! share a packet. A packet leaves at the time of its last message.
//! Bounds: a packet has at most [`Cut::max_bytes`], unless one message alone is longer. One packet
//! is kept.
//! Cost: one copy of each message, no allocation.

use nanotape_types::Alpha;

use crate::{
    framing::{HeaderValues, LineFraming},
    rng::Rng,
};

/// The most messages of a packet of another protocol than MoldUDP64 if its limits are drawn.
const MOST_SHARING: u64 = 32;

/// How a line cuts messages into packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Maximum bytes of a packet.
    pub max_bytes: usize,
    /// Messages within this time of the first one share its packet.
    pub share_ns: u64,
    /// Draws the two limits of each packet between half of them and all of them, so that lines with
    /// different seeds cut at different messages. `None`: always all.
    pub seed: Option<u64>,
}

impl Default for Cut {
    fn default() -> Self {
        Self { max_bytes: 1_400, share_ns: 20_000, seed: None }
    }
}

/// A packet of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing<'a> {
    /// When it leaves, in exchange time. It does not go back on a line.
    pub due_ns: u64,
    /// Number of its first message.
    pub first: u64,
    /// Number of its messages.
    pub count: u16,
    /// The packet.
    pub bytes: &'a [u8],
}

/// The packets of one line.
#[derive(Clone, Debug)]
pub struct Packetiser {
    framing: LineFraming,
    cut: Cut,
    rng: Option<Rng>,
    /// Number of the next message.
    next: u64,
    /// Bytes of blocks in the packets before this one.
    stream_offset: u64,
    /// Room for the header, then the blocks.
    buffer: Vec<u8>,
    count: u16,
    max_bytes: usize,
    share_ns: u64,
    most_messages: u16,
    /// Time of the first message of the packet, and of the last one so far.
    first_ns: u64,
    last_ns: u64,
}

impl Packetiser {
    /// A line of MoldUDP64 with this session, whose next message has number `next`.
    pub fn new(session: Alpha<10>, next: u64, cut: Cut) -> Self {
        Self::framed(LineFraming::MoldUdp64(session), next, cut)
    }

    /// A line with this framing, whose next message has number `next`.
    pub fn framed(framing: LineFraming, next: u64, cut: Cut) -> Self {
        let mut packetiser = Self {
            framing,
            cut,
            rng: cut.seed.map(|seed| Rng::new(seed, 0)),
            next,
            stream_offset: 0,
            buffer: vec![0; framing.header_bytes()],
            count: 0,
            max_bytes: 0,
            share_ns: 0,
            most_messages: framing.most_messages(),
            first_ns: 0,
            last_ns: 0,
        };
        packetiser.draw_limits();
        packetiser
    }

    /// Number of the next message.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Skips a message: it takes a number, and is in no packet. `out` gets the packet before it.
    pub fn skip(&mut self, message: &[u8], out: impl FnMut(Outgoing<'_>)) {
        self.flush(out);
        self.next += 1;
        self.stream_offset += (self.framing.length_bytes() + message.len()) as u64;
    }

    /// Adds a message of this time. `out` gets the packet before it, if the message begins another.
    pub fn push(&mut self, message: &[u8], time_ns: u64, out: impl FnMut(Outgoing<'_>)) {
        // The times of a day are not guaranteed to be in order.
        let time_ns = time_ns.max(self.last_ns);
        let block_bytes = self.framing.length_bytes() + message.len();
        let is_full =
            self.buffer.len() + block_bytes > self.max_bytes || self.count == self.most_messages;
        if self.count > 0 && (is_full || time_ns - self.first_ns > self.share_ns) {
            self.flush(out);
        }
        if self.count == 0 {
            self.first_ns = time_ns;
        }
        self.last_ns = time_ns;
        self.framing.append(message, &mut self.buffer);
        self.count += 1;
        self.next += 1;
    }

    /// Ends the packet, if there is one.
    pub fn flush(&mut self, mut out: impl FnMut(Outgoing<'_>)) {
        if self.count == 0 {
            return;
        }
        let first = self.first_unsent();
        let header_bytes = self.framing.header_bytes();
        let block_bytes = self.buffer.len() - header_bytes;
        let (due_ns, count, stream_offset) = (self.last_ns, self.count, self.stream_offset);
        let values = HeaderValues { first, count, block_bytes, stream_offset, due_ns };
        self.framing.write_header(values, &mut self.buffer);
        out(Outgoing { due_ns, first, count, bytes: self.buffer.as_slice() });
        self.buffer.truncate(header_bytes);
        self.stream_offset += block_bytes as u64;
        self.count = 0;
        self.draw_limits();
    }

    /// Number of the first message that is in no packet yet.
    pub fn first_unsent(&self) -> u64 {
        self.next - u64::from(self.count)
    }

    /// Bytes of blocks before the next packet.
    pub(crate) fn stream_offset(&self) -> u64 {
        self.stream_offset
    }

    /// How the line frames its messages.
    pub(crate) fn framing(&self) -> LineFraming {
        self.framing
    }

    /// Begins again with number 1 in the same session. `out` gets the packet before it.
    pub(crate) fn restart(&mut self, out: impl FnMut(Outgoing<'_>)) {
        self.flush(out);
        (self.next, self.stream_offset) = (1, 0);
    }

    /// The packet of a line that is idle at a time. `next` is the number of the next message that
    /// it will send, after `stream_offset` bytes of blocks.
    pub fn heartbeat(&self, next: u64, stream_offset: u64, time_ns: u64) -> Vec<u8> {
        let mut packet = vec![0; self.framing.header_bytes()];
        let values =
            HeaderValues { first: next, count: 0, block_bytes: 0, stream_offset, due_ns: time_ns };
        self.framing.write_header(values, &mut packet);
        packet
    }

    /// The packet of a line without further messages; `None` if the protocol has none.
    pub fn end_of_session(&self) -> Option<Vec<u8>> {
        self.framing.end_of_session(self.next)
    }

    fn draw_limits(&mut self) {
        let Cut { max_bytes, share_ns, .. } = self.cut;
        (self.max_bytes, self.share_ns) = match &mut self.rng {
            None => (max_bytes, share_ns),
            Some(rng) => {
                if !matches!(self.framing, LineFraming::MoldUdp64(_)) {
                    // The messages of an event have one time here, and rarely fill a packet.
                    self.most_messages = rng.between(1, MOST_SHARING) as u16;
                }
                let bytes = rng.between(max_bytes as u64 / 2, max_bytes as u64) as usize;
                (bytes, rng.between(share_ns / 2, share_ns))
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use nanotape_wire::framing::{
        moldudp64::MoldUdp64,
        numbered::{PacketFraming as _, PacketKind},
    };

    use super::*;

    const SESSION: Alpha<10> = Alpha::new(*b"MONDAY    ");

    /// Messages of random lengths and times, and their packets on a line of this seed.
    fn cut(seed: Option<u64>) -> Vec<(u64, u64, Vec<Vec<u8>>)> {
        let mut packetiser = Packetiser::new(SESSION, 1, Cut { seed, ..Cut::default() });
        let (mut rng, mut time_ns, mut packets) = (Rng::new(1, 1), 1_000, Vec::new());
        let mut out = |packet: Outgoing<'_>| {
            assert!(packet.bytes.len() <= 1_400);
            let decoded = MoldUdp64::decode(packet.bytes).unwrap();
            assert_eq!(decoded.session, SESSION);
            assert_eq!(decoded.first, packet.first);
            assert_eq!(decoded.count, packet.count);
            let messages = decoded.messages().map(|(_, message)| message.to_vec());
            packets.push((packet.due_ns, packet.first, messages.collect()));
        };
        for number in 0..5_000u64 {
            time_ns += rng.below(15_000);
            let message = vec![number as u8; 12 + rng.below(39) as usize];
            packetiser.push(&message, time_ns, &mut out);
        }
        packetiser.flush(&mut out);
        packetiser.flush(|packet| panic!("{packet:?}"));
        assert_eq!(packetiser.next(), 5_001);
        packets
    }

    #[test]
    fn lines_cut_differently_and_carry_the_same_messages() {
        let (plain, a, b) = (cut(None), cut(Some(1)), cut(Some(2)));
        let messages = |packets: &[(u64, u64, Vec<Vec<u8>>)]| -> Vec<Vec<u8>> {
            packets.iter().flat_map(|(_, _, messages)| messages.clone()).collect()
        };
        let starts = |packets: &[(u64, u64, Vec<Vec<u8>>)]| -> Vec<u64> {
            packets.iter().map(|&(_, first, _)| first).collect()
        };
        assert_eq!(messages(&plain).len(), 5_000);
        assert!(messages(&plain) == messages(&a) && messages(&a) == messages(&b));
        assert!(starts(&a) != starts(&b) && starts(&a) != starts(&plain));
        assert_eq!(cut(Some(1)), a, "a seed always cuts alike");
        for packets in [&plain, &a, &b] {
            assert!(packets.is_sorted_by_key(|&(due_ns, ..)| due_ns));
            let mut next = 1;
            for (_, first, messages) in packets {
                assert_eq!(*first, next);
                next += messages.len() as u64;
            }
        }
    }

    #[test]
    fn messages_within_the_time_share_a_packet_that_leaves_with_the_last_of_them() {
        let mut packetiser = Packetiser::new(SESSION, 1, Cut::default());
        let mut packets = Vec::new();
        let mut out = |packet: Outgoing<'_>| {
            packets.push((packet.due_ns, packet.first, packet.count));
        };
        for time_ns in [0, 20_000, 20_001, 15_000, 40_002] {
            packetiser.push(b"message", time_ns, &mut out);
        }
        packetiser.skip(b"message", &mut out);
        packetiser.push(&[0; 2_000], 50_000, &mut out);
        packetiser.push(b"message", 50_000, &mut out);
        packetiser.flush(&mut out);
        let expected =
            [(20_000, 1, 2), (20_001, 3, 2), (40_002, 5, 1), (50_000, 7, 1), (50_000, 8, 1)];
        assert_eq!(packets, expected);
    }

    #[test]
    fn an_idle_line_shows_the_next_number() {
        let packetiser = Packetiser::new(SESSION, 7, Cut::default());
        for (bytes, kind) in [
            (packetiser.heartbeat(7, 0, 0), PacketKind::Heartbeat),
            (packetiser.end_of_session().unwrap(), PacketKind::EndOfSession),
        ] {
            let packet = MoldUdp64::decode(&bytes).unwrap();
            assert_eq!((packet.kind, packet.next()), (kind, 7));
        }
    }
}
