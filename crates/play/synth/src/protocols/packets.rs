//! Puts messages into packets, and decides when these and heartbeats leave.
//!
//! Where: the writers of the protocols push messages in order of time; packets leave through a
//! closure of the caller, in order of time over all streams and lines.
//! Protocol: the first message opens a window of [`WINDOW_NS`]. The first message after its end
//! closes it: the messages of the window become packets, as full as possible, and each leaves a
//! fixed time after its last message. A stream without packets for a second sends heartbeats.
//! Bounds: memory follows the messages of a window.

use std::{collections::VecDeque, io, ops::Range};

use nanotape_wire::framing::{
    iextp::{IexSession, SegmentWriter},
    pitch::{PitchUnit, UnitWriter},
};

use crate::calendar::SECOND;

/// Messages that follow one another within this time share packets.
const WINDOW_NS: u64 = 20_000;

/// From the last message of a packet to its departure.
const SENDING_NS: u64 = 5_000;

/// From the departure of a packet to its capture.
const ARRIVING_NS: u64 = 2_000;

/// How much later line B is.
const LINE_B_NS: u64 = 900;

/// Bytes of a packet, headers of UDP excluded.
const MOST_PACKET_BYTES: usize = 1_400;

/// A packet of a feed, ready for UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedPacket<'a> {
    /// When it arrives, in nanoseconds since the UNIX epoch.
    pub ts_ns: u64,
    /// 0 for line A, 1 for line B.
    pub line: usize,
    /// Which of the streams of the feed, from 0: PITCH has one for each matching unit.
    pub stream: usize,
    /// The payload of UDP.
    pub payload: &'a [u8],
}

/// Takes packets.
pub(super) type PacketTaker<'t> = dyn FnMut(FeedPacket<'_>) -> io::Result<()> + 't;

/// How packets are framed, by protocol.
#[derive(Clone, Copy, Debug)]
pub(super) enum FeedFraming {
    Segments(IexSession),
    Units,
}

/// A stream of numbered messages.
#[derive(Clone, Copy, Debug)]
struct FeedStream {
    /// Number of its next message, from 1.
    next: u64,
    /// Bytes of message blocks so far.
    stream_offset: u64,
    /// When its last packet left; `None` before the first.
    last_sent: Option<u64>,
}

/// A message that waits for its packet.
#[derive(Clone, Debug)]
struct WaitingMessage {
    stream: usize,
    time: u64,
    bytes: Range<usize>,
}

/// A packet that waits for its time. Times are of departure, in ns since midnight.
#[derive(Clone, Debug)]
struct WaitingPacket {
    time: u64,
    stream: usize,
    payload: Vec<u8>,
}

/// The window that is open, and the streams.
#[derive(Debug)]
pub(super) struct PacketWindow {
    framing: FeedFraming,
    /// Midnight of the day, ns since the UNIX epoch.
    midnight_ns: u64,
    streams: Vec<FeedStream>,
    waiting: Vec<WaitingMessage>,
    bytes: Vec<u8>,
    /// Packets that line B shows later; `None` without it.
    line_b: Option<VecDeque<WaitingPacket>>,
    /// When the last packet of line A left.
    reached: u64,
    ready: Vec<WaitingPacket>,
}

impl PacketWindow {
    pub(super) fn new(
        framing: FeedFraming,
        midnight_ns: u64,
        streams: usize,
        has_line_b: bool,
    ) -> Self {
        let stream = FeedStream { next: 1, stream_offset: 0, last_sent: None };
        Self {
            framing,
            midnight_ns,
            streams: vec![stream; streams],
            waiting: Vec::new(),
            bytes: Vec::new(),
            line_b: has_line_b.then(VecDeque::new),
            reached: 0,
            ready: Vec::new(),
        }
    }

    /// Nanoseconds since the UNIX epoch at a time since midnight.
    pub(super) fn epoch_ns(&self, time: u64) -> u64 {
        self.midnight_ns.saturating_add(time)
    }

    /// Appends a message. Times must not go back.
    pub(super) fn push(&mut self, stream: usize, time: u64, message: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.waiting.push(WaitingMessage { stream, time, bytes: start..self.bytes.len() });
    }

    /// Moves on to a time: what is due before it leaves.
    pub(super) fn advance(&mut self, time: u64, taker: &mut PacketTaker<'_>) -> io::Result<()> {
        if self.waiting.first().is_some_and(|first| time > first.time + WINDOW_NS) {
            self.close(taker)?;
        }
        if self.waiting.is_empty() {
            self.heartbeats(time, taker)?;
        }
        Ok(())
    }

    /// Sends everything that waits.
    pub(super) fn finish(mut self, taker: &mut PacketTaker<'_>) -> io::Result<()> {
        self.close(taker)?;
        self.line_b_until(u64::MAX, taker)
    }

    /// Closes the window.
    fn close(&mut self, taker: &mut PacketTaker<'_>) -> io::Result<()> {
        for stream in 0..self.streams.len() {
            self.pack(stream);
        }
        self.waiting.clear();
        self.bytes.clear();
        let mut ready = core::mem::take(&mut self.ready);
        // Packets of a stream keep their order: the sort is stable.
        ready.sort_by_key(|packet| packet.time);
        for packet in ready.drain(..) {
            self.send(packet, taker)?;
        }
        self.ready = ready;
        Ok(())
    }

    /// Makes packets of the messages of a stream.
    fn pack(&mut self, stream: usize) {
        let mut rest = self.waiting.iter().filter(|message| message.stream == stream).peekable();
        while rest.peek().is_some() {
            // The header has the time of departure, which depends on the last message that fits:
            // the first pass counts messages, the second writes them.
            let (count, time) = {
                let mut buffer = [0; MOST_PACKET_BYTES];
                let Some(mut packet) = self.packet(stream, 0, &mut buffer) else { return };
                let mut last = (0, 0);
                for message in rest.clone() {
                    if !packet.push(&self.bytes[message.bytes.clone()]) {
                        break;
                    }
                    last = (last.0 + 1, message.time + SENDING_NS);
                }
                last
            };
            if count == 0 {
                // A message that fits in no packet: no protocol has one.
                rest.next();
                continue;
            }
            let mut buffer = [0; MOST_PACKET_BYTES];
            let Some(mut packet) = self.packet(stream, time, &mut buffer) else { return };
            let fits = rest
                .by_ref()
                .take(count)
                .all(|message| packet.push(&self.bytes[message.bytes.clone()]));
            debug_assert!(fits);
            let payload = packet.finish().to_vec();
            let own = &mut self.streams[stream];
            own.next += count as u64;
            own.stream_offset += (payload.len() - self.framing.header_bytes()) as u64;
            self.ready.push(WaitingPacket { time, stream, payload });
        }
    }

    /// An empty packet of a stream, with its next number.
    fn packet<'b>(
        &self,
        stream: usize,
        time: u64,
        buffer: &'b mut [u8],
    ) -> Option<FramedPacket<'b>> {
        let FeedStream { next, stream_offset, .. } = self.streams[stream];
        Some(match self.framing {
            FeedFraming::Segments(session) => {
                let time = self.epoch_ns(time);
                let writer = SegmentWriter::new(session, next, stream_offset, time, buffer)?;
                FramedPacket::Segment(writer)
            }
            FeedFraming::Units => {
                let unit = PitchUnit(stream as u8 + 1);
                FramedPacket::Unit(UnitWriter::new(unit, next, buffer)?)
            }
        })
    }

    /// Sends the heartbeats that are due before a time.
    fn heartbeats(&mut self, time: u64, taker: &mut PacketTaker<'_>) -> io::Result<()> {
        loop {
            let due = |stream: &FeedStream| stream.last_sent.map(|sent| sent + SECOND);
            let streams = self.streams.iter().enumerate();
            let first = streams.filter_map(|(index, own)| Some((due(own)?, index))).min();
            let Some((due, stream)) = first.filter(|&(due, _)| due < time) else { return Ok(()) };
            // A packet of another stream may have left since it was due.
            let time = due.max(self.reached);
            let mut buffer = [0; MOST_PACKET_BYTES];
            let Some(packet) = self.packet(stream, time, &mut buffer) else { return Ok(()) };
            let payload = packet.finish().to_vec();
            self.send(WaitingPacket { time, stream, payload }, taker)?;
        }
    }

    /// Sends a packet on all lines.
    fn send(&mut self, packet: WaitingPacket, taker: &mut PacketTaker<'_>) -> io::Result<()> {
        self.line_b_until(packet.time, taker)?;
        self.reached = packet.time;
        self.streams[packet.stream].last_sent = Some(packet.time);
        self.deliver(&packet, 0, taker)?;
        if let Some(waiting) = &mut self.line_b {
            waiting.push_back(WaitingPacket { time: packet.time + LINE_B_NS, ..packet });
        }
        Ok(())
    }

    /// Sends what line B has before a time.
    fn line_b_until(&mut self, time: u64, taker: &mut PacketTaker<'_>) -> io::Result<()> {
        let next = |waiting: &mut VecDeque<WaitingPacket>| {
            waiting.pop_front_if(|packet| packet.time < time)
        };
        while let Some(packet) = self.line_b.as_mut().and_then(next) {
            self.deliver(&packet, 1, taker)?;
        }
        Ok(())
    }

    fn deliver(
        &self,
        packet: &WaitingPacket,
        line: usize,
        taker: &mut PacketTaker<'_>,
    ) -> io::Result<()> {
        let WaitingPacket { time, stream, ref payload } = *packet;
        let ts_ns = self.epoch_ns(time) + ARRIVING_NS;
        taker(FeedPacket { ts_ns, line, stream, payload })
    }
}

impl FeedFraming {
    fn header_bytes(self) -> usize {
        use nanotape_wire::{iextp::SegmentHeader, pitch::SequencedUnitHeader};
        match self {
            Self::Segments(_) => SegmentHeader::LEN,
            Self::Units => SequencedUnitHeader::LEN,
        }
    }
}

/// A packet that is written.
enum FramedPacket<'b> {
    Segment(SegmentWriter<'b>),
    Unit(UnitWriter<'b>),
}

impl<'b> FramedPacket<'b> {
    fn push(&mut self, message: &[u8]) -> bool {
        match self {
            Self::Segment(writer) => writer.push(message),
            Self::Unit(writer) => writer.push(message),
        }
    }

    fn finish(self) -> &'b [u8] {
        match self {
            Self::Segment(writer) => writer.finish(),
            Self::Unit(writer) => writer.finish(),
        }
    }
}
