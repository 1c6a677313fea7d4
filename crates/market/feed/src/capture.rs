//! Captures of a live session as a source of events: pcap and pcapng files.
//!
//! Where: a [`DaySource`] whose bytes begin as a capture is read by this module instead of the day
//! reader, so that every command that takes a day also takes a capture.
//! Protocol: the first MoldUDP64 packet to one of the chosen groups decides the session. Each of
//! these destinations with packets of this session is one of its lines. Capture times are the
//! receive times, and the time of the session's timers. A capture has no servers: what no line has
//! is missing.
//! Bounds: [`MAX_LINES`] lines, and [`MOST_DESTINATIONS`] other destinations that are listed.
//! Failure: damage of the file, of packets and of messages is reported to the handler. Reading goes
//! on after it where the next record is certain.

mod coverage;
mod groups;
mod survey;

use std::{net::SocketAddrV4, ops::ControlFlow};

pub use groups::{Destination, Destinations, Group, MOST_DESTINATIONS, is_chosen};
use nanotape_market::{Damage, MarketSnapshot, SessionChange};
use nanotape_types::Alpha;
pub use nanotape_wire::capture::SkipReason;
use nanotape_wire::{
    capture::{
        CaptureDamage, CaptureDecoder, CaptureFormat, CaptureItem, CapturedPacket, datagram,
    },
    framing::{moldudp64::MoldUdp64, numbered::PacketFraming},
};
pub use survey::{CaptureSurvey, Carried, MOST_ROWS, SurveyRow, SurveySession};

use crate::{
    Block, DayEnd, DaySource, DaySummary, SourceError,
    delivery::{Delivery, MessageSink},
    session::{Line, LineCounts, MAX_LINES, Messages, PacketOrigin, Receiver, SessionSettings},
};

/// What a capture or a live session contained.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionSummary {
    /// Packets in the file.
    pub packets: u64,
    /// The session; `None` if the capture has no packet of one.
    pub session: Option<Alpha<10>>,
    /// The destination and the counts of each line, in the order of their first packets.
    pub lines: Vec<(SocketAddrV4, LineCounts)>,
    /// The chosen groups without a packet of the session.
    pub absent: Vec<Group>,
    /// Datagrams that are not of the session, or not of the chosen groups.
    pub others: Destinations,
    /// Packets without a complete datagram, by [`SkipReason`].
    pub skipped: [u64; SkipReason::ALL.len()],
    /// The number of the first message that was delivered; 0 without one.
    pub first_message: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Messages that no line has.
    pub missing: u64,
}

/// Bytes that decide whether a source is a capture.
const MAGIC_BYTES: usize = 4;

impl DaySource {
    /// Whether the bytes are a capture. Call it before the first block is read.
    pub fn is_capture(&mut self) -> Result<bool, SourceError> {
        Ok(CaptureFormat::detect(self.beginning()?.bytes).is_some())
    }

    /// Fails if groups are chosen and the bytes are not a capture. Call it before the first block
    /// is read; the reading itself fails in the same way.
    pub fn check_groups(&mut self) -> Result<(), SourceError> {
        if self.groups().is_empty() || self.is_capture()? {
            return Ok(());
        }
        self.require_bytes()?;
        Err(SourceError::NotACapture { name: self.name().to_owned() })
    }

    /// The time of the first packet of a capture, ns since the UNIX epoch; `None` for other bytes,
    /// and if the first block has no packet with a time. Call it before the first block is read.
    pub fn capture_began_ns(&mut self) -> Result<Option<u64>, SourceError> {
        let block = self.beginning()?;
        if CaptureFormat::detect(block.bytes).is_none() {
            return Ok(None);
        }
        let (mut rest, mut decoder) = (block.bytes, CaptureDecoder::new());
        loop {
            match decoder.next(&mut rest, true) {
                CaptureItem::Packet(packet) if packet.ts_ns.is_some() => return Ok(packet.ts_ns),
                CaptureItem::Packet(_) | CaptureItem::Damage(_) => {}
                CaptureItem::NeedMore | CaptureItem::End(_) => return Ok(None),
            }
        }
    }

    /// The first block, with the bytes that decide whether it is a capture.
    fn beginning(&mut self) -> Result<Block<'_>, SourceError> {
        loop {
            let block = self.peek(MAGIC_BYTES)?;
            if block.bytes.len() >= MAGIC_BYTES || block.is_last {
                break;
            }
        }
        self.peek(MAGIC_BYTES)
    }
}

/// Reads a source that is a capture, to its end. `None` if it is a day: then nothing was read.
pub(crate) fn read_if_capture(
    source: &mut DaySource,
    mut handler: impl MessageSink,
    progress: impl FnMut(&DaySource),
) -> Result<Option<DaySummary>, SourceError> {
    loop {
        let block = source.peek(MAGIC_BYTES)?;
        if block.bytes.len() >= MAGIC_BYTES || block.is_last {
            let is_capture = CaptureFormat::detect(block.bytes).is_some();
            source.check_groups()?;
            let read = || read_capture(source, &mut handler, &mut { progress });
            return is_capture.then(read).transpose();
        }
        if handler.idle().is_break() {
            let (fault, session) = (source.fault(), None);
            return Ok(Some(DaySummary {
                records: 0,
                bytes: 0,
                end: DayEnd::Stopped,
                fault,
                session,
            }));
        }
    }
}

/// A [`MessageSink`] of which the reader of captures needs one copy only: lines, gaps and their
/// recovery are more code than a day file takes, and every consumer of a day would have it again.
trait PacketSink {
    /// Consecutive messages of a packet from number `first`, at most [`TOGETHER`] of them.
    fn messages(&mut self, first: u64, ts_recv_ns: u64, messages: &[&[u8]]) -> ControlFlow<()>;
    fn damage(&mut self, damage: Damage);
    fn idle(&mut self) -> ControlFlow<()>;
    fn session(&mut self, change: &SessionChange);
    fn restore(&mut self, snapshot: &MarketSnapshot);
}

/// Messages that are passed on together.
const TOGETHER: usize = 64;

impl<S: MessageSink> PacketSink for S {
    fn messages(&mut self, first: u64, ts_recv_ns: u64, messages: &[&[u8]]) -> ControlFlow<()> {
        self.messages(first, ts_recv_ns, messages.iter().copied())
    }

    fn damage(&mut self, damage: Damage) {
        self.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.idle()
    }

    fn session(&mut self, change: &SessionChange) {
        self.session(change);
    }

    fn restore(&mut self, snapshot: &MarketSnapshot) {
        self.restore(snapshot);
    }
}

/// The consumer of a capture.
struct Consumer<'h>(&'h mut dyn PacketSink);

impl MessageSink for Consumer<'_> {
    fn messages<'a>(
        &mut self,
        mut first: u64,
        ts_recv_ns: u64,
        mut messages: impl Messages<'a>,
    ) -> ControlFlow<()> {
        loop {
            let mut together: [&[u8]; TOGETHER] = [&[]; TOGETHER];
            let places = together.iter_mut();
            let count = places.zip(&mut messages).map(|(place, message)| *place = message).count();
            if count > 0 {
                self.0.messages(first, ts_recv_ns, &together[..count])?;
            }
            if count < TOGETHER {
                return ControlFlow::Continue(());
            }
            first += count as u64;
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.0.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.0.idle()
    }

    fn session(&mut self, change: &SessionChange) {
        self.0.session(change);
    }

    fn restore(&mut self, snapshot: &MarketSnapshot) {
        self.0.restore(snapshot);
    }
}

/// Reads a capture into `sink`. Calls `progress` once per block.
#[cold]
#[inline(never)]
fn read_capture(
    source: &mut DaySource,
    sink: &mut dyn PacketSink,
    progress: &mut dyn FnMut(&DaySource),
) -> Result<DaySummary, SourceError> {
    let mut decoder = CaptureDecoder::new();
    let mut reader = CaptureReader::new(source.groups().to_vec(), Consumer(sink));
    let (mut used_bytes, mut left_bytes) = (0, 0);
    let end = loop {
        let block = source.next_block(used_bytes)?;
        let mut rest = block.bytes;
        let mut end = None;
        if block.bytes.len() <= left_bytes && !block.is_last {
            end = reader.deliver.sink.0.idle().is_break().then_some(DayEnd::Stopped);
        } else {
            while end.is_none() {
                end = match decoder.next(&mut rest, block.is_last) {
                    CaptureItem::Packet(packet) => reader.packet(&packet),
                    CaptureItem::Damage(damage) => {
                        reader.deliver.sink.0.damage(damage_of(&damage));
                        None
                    }
                    CaptureItem::NeedMore => break,
                    CaptureItem::End(damage) => Some(reader.end(damage)),
                };
            }
        }
        left_bytes = rest.len();
        used_bytes = block.bytes.len() - left_bytes;
        progress(source);
        if let Some(end) = end {
            break end;
        }
    };
    let bytes = decoder.offset();
    let summary = reader.summary();
    Ok(DaySummary {
        records: summary.messages,
        bytes,
        end,
        fault: source.fault(),
        session: Some(Box::new(summary)),
    })
}

/// The session of a capture.
struct CaptureReader<'h> {
    receiver: Receiver<MoldUdp64>,
    /// The chosen groups; empty: all.
    groups: Vec<Group>,
    lines: Vec<SocketAddrV4>,
    /// The time of the last packet with one.
    now_ns: u64,
    summary: SessionSummary,
    deliver: Delivery<Consumer<'h>>,
}

impl<'h> CaptureReader<'h> {
    fn new(groups: Vec<Group>, consumer: Consumer<'h>) -> Self {
        let settings = SessionSettings {
            lines: MAX_LINES,
            ahead_messages: 1 << 16,
            ahead_bytes: 4 << 20,
            ..SessionSettings::default()
        };
        Self {
            receiver: Receiver::new(settings),
            groups,
            lines: Vec::with_capacity(MAX_LINES),
            now_ns: 0,
            summary: SessionSummary::default(),
            deliver: Delivery::new(consumer),
        }
    }

    /// Takes a packet of the file; `Some` if the reading ends.
    #[inline]
    fn packet(&mut self, packet: &CapturedPacket<'_>) -> Option<DayEnd> {
        self.summary.packets += 1;
        self.now_ns = self.now_ns.max(packet.ts_ns.unwrap_or_default());
        self.deliver.offset = packet.offset;
        match datagram(packet.link_type, packet.bytes) {
            Ok(datagram) => {
                if let Some(line) = self.line_of(datagram.destination, datagram.payload) {
                    if self.receiver.deadline_ns() <= self.now_ns {
                        self.receiver.tick(self.now_ns, &mut self.deliver);
                    }
                    let times = (packet.ts_ns.unwrap_or(self.now_ns), self.now_ns);
                    let origin = PacketOrigin::Line(line);
                    self.receiver.packet(origin, times, datagram.payload, &mut self.deliver);
                }
            }
            Err(reason) => self.summary.skipped[reason as usize] += 1,
        }
        self.deliver.flow.is_break().then_some(DayEnd::Stopped)
    }

    /// The line of a destination; `None` if it is not one of the session.
    #[inline]
    fn line_of(&mut self, destination: SocketAddrV4, payload: &[u8]) -> Option<Line> {
        let index = self.lines.iter().position(|&line| line == destination);
        index.or_else(|| self.new_line(destination, payload)).and_then(Line::new)
    }

    /// Adds the line of a destination that has none yet, or counts the datagram as another one.
    #[cold]
    fn new_line(&mut self, destination: SocketAddrV4, payload: &[u8]) -> Option<usize> {
        let decoded = MoldUdp64::decode(payload).ok().map(|packet| packet.session);
        let current = self.receiver.session();
        let is_of_session = decoded.is_some() && (current.is_none() || current == decoded);
        let is_chosen = is_chosen(&self.groups, destination);
        if is_of_session && is_chosen && self.lines.len() < MAX_LINES {
            self.lines.push(destination);
            return Some(self.lines.len() - 1);
        }
        if let Some(other) = self.summary.others.count(destination) {
            other.session = other.session.or(decoded);
        }
        None
    }

    /// The capture ends.
    fn end(&mut self, damage: Option<CaptureDamage>) -> DayEnd {
        self.receiver.close(self.now_ns, &mut self.deliver);
        match damage {
            None if self.deliver.flow.is_break() => DayEnd::Stopped,
            None => DayEnd::EndOfFile,
            Some(CaptureDamage::Cut { offset, needed, present }) => {
                DayEnd::Cut { offset, needed_bytes: needed.into(), present_bytes: present.into() }
            }
            Some(damage) => {
                self.deliver.sink.0.damage(damage_of(&damage));
                DayEnd::EndOfFile
            }
        }
    }

    fn summary(self) -> SessionSummary {
        let Self { receiver, mut groups, lines, mut summary, deliver, .. } = self;
        groups.retain(|group| !lines.iter().any(|&line| group.contains(line)));
        summary.absent = groups;
        let count = |index| Line::new(index).map(|line| *receiver.line(line)).unwrap_or_default();
        let lines = lines.into_iter().enumerate().map(|(index, at)| (at, count(index)));
        summary.lines = lines.collect();
        summary.session = receiver.session();
        (summary.first_message, summary.messages) = (deliver.first, deliver.messages);
        summary.missing = deliver.missing;
        summary
    }
}

fn damage_of(damage: &CaptureDamage) -> Damage {
    Damage::Packet { offset: damage.offset(), reason: damage.name() }
}
