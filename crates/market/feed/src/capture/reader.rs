//! Reads a capture: which of its packets are those of the session, and what the others are.

use core::ops::ControlFlow;
use std::net::{SocketAddr, SocketAddrV4};

use nanotape_market::Damage;
use nanotape_types::Alpha;
use nanotape_wire::{
    capture::{CaptureDamage, CapturedPacket, datagram},
    framing::{
        moldudp64::MoldUdp64,
        numbered::{NumberedPacket, PacketFraming as _},
    },
};

use super::{
    CaptureChoice, PacketSink, SessionSummary, UnreadSession,
    counting::{Counted, Counting, Surveyor, leave},
    groups::is_chosen,
    items::{Item, read_items},
    kept::Waiting,
    sequence::Sequence,
    survey::Carried,
};
use crate::{DayEnd, DaySource, DaySummary, Group, SourceError};

/// Malformed packets that are kept until their destination is known to be a line.
const MOST_EARLY: usize = 64;

/// Reads a capture into `sink`. Calls `progress` once per block.
#[cold]
#[inline(never)]
pub(super) fn read_capture(
    source: &mut DaySource,
    sink: &mut dyn PacketSink,
    progress: &mut dyn FnMut(&DaySource),
) -> Result<DaySummary, SourceError> {
    let mut reader = CaptureReader::new(source, sink);
    let mut end = DayEnd::Stopped;
    let bytes = read_items(source, progress, |item| {
        match item {
            Item::Packet(packet) => reader.packet(&packet)?,
            Item::Damage(damage) => reader.sequence.sink.damage(damage_of(&damage)),
            Item::End(damage) => end = reader.end(damage)?,
            Item::Idle => reader.sequence.flow = reader.sequence.sink.idle(),
        }
        Ok::<_, SourceError>(reader.sequence.flow)
    })?;
    let summary = reader.summary();
    Ok(DaySummary {
        records: summary.messages,
        bytes,
        end,
        fault: source.fault(),
        session: Some(Box::new(summary)),
    })
}

struct CaptureReader<'h> {
    choice: CaptureChoice,
    /// All datagrams to the chosen groups.
    counts: Surveyor,
    session: Option<Alpha<10>>,
    sequence: Sequence<'h>,
    /// The latest time of a packet.
    now_ns: u64,
    /// Malformed packets to destinations that were not known as lines.
    early: Vec<(SocketAddrV4, Damage)>,
}

impl<'h> CaptureReader<'h> {
    fn new(source: &DaySource, sink: &'h mut dyn PacketSink) -> Self {
        Self {
            choice: source.choice().clone(),
            counts: Surveyor::new(source.choice()),
            session: None,
            sequence: Sequence::new(sink, source),
            now_ns: 0,
            early: Vec::new(),
        }
    }

    /// Takes a packet of the file.
    #[inline]
    fn packet(&mut self, packet: &CapturedPacket<'_>) -> Result<(), SourceError> {
        self.now_ns = self.now_ns.max(packet.ts_ns.unwrap_or_default());
        let Some(Counted { datagram, row, packet: found }) = self.counts.packet(packet) else {
            return Ok(());
        };
        match found {
            Ok(found) if self.session == Some(found.session) || self.begins(&found) => {
                let ts_ns = packet.ts_ns.unwrap_or(self.now_ns);
                let line = if self.sequence.waits(&found) { self.line_of(row) } else { 0 };
                let waiting = Waiting { ts_ns, line, payload: datagram.payload };
                let new = self.sequence.packet(&found, waiting)?;
                if let Some(place) = row.filter(|_| new > 0) {
                    let (messages, packets) = &mut self.counts.rows[place].firsts;
                    (*messages, *packets) = (*messages + new, *packets + 1);
                }
            }
            Ok(_) => {}
            Err(reason) => {
                self.malformed(datagram.destination, packet.offset, reason);
            }
        }
        Ok(())
    }

    /// Whether the session begins with this packet.
    #[cold]
    fn begins(&mut self, packet: &NumberedPacket<'_, MoldUdp64>) -> bool {
        let begins = self.session.is_none() && is_read(&self.choice, packet);
        if begins {
            self.session = Some(packet.session);
            // Packets without messages may have come before.
            self.sequence.known = self.counts.known(packet.session);
        }
        begins
    }

    /// The number of a line: its place among the rows of the session.
    #[cold]
    fn line_of(&self, row: Option<usize>) -> u8 {
        let before = self.counts.rows.iter().take(row.unwrap_or_default());
        let carried = self.session.map(Carried::MoldUdp64);
        let lines = before.filter(|counting| Some(counting.row.carried) == carried);
        u8::try_from(lines.count()).unwrap_or(u8::MAX)
    }

    #[cold]
    fn malformed(&mut self, destination: SocketAddrV4, offset: u64, reason: &'static str) {
        let damage = Damage::Packet { offset, reason };
        match self.session {
            Some(session) if self.counts.carries(destination, session) => {
                self.sequence.sink.damage(damage);
            }
            _ if self.early.len() < MOST_EARLY => self.early.push((destination, damage)),
            _ => {}
        }
    }

    /// The capture ends.
    fn end(&mut self, damage: Option<CaptureDamage>) -> Result<DayEnd, SourceError> {
        if self.session.is_none() && self.choice.session.is_none() {
            // Without messages, the first session is the one.
            self.session = self.counts.rows.iter().find_map(|of| of.row.carried.mold());
            self.sequence.known = self.session.and_then(|session| self.counts.known(session));
        }
        for (destination, damage) in std::mem::take(&mut self.early) {
            if self.session.is_some_and(|session| self.counts.carries(destination, session)) {
                self.sequence.sink.damage(damage);
            }
        }
        self.sequence.end(self.now_ns)?;
        Ok(match damage {
            None if self.sequence.flow.is_break() => DayEnd::Stopped,
            None => DayEnd::EndOfFile,
            Some(CaptureDamage::Cut { offset, needed, present }) => {
                DayEnd::Cut { offset, needed_bytes: needed.into(), present_bytes: present.into() }
            }
            Some(damage) => {
                self.sequence.sink.damage(damage_of(&damage));
                DayEnd::EndOfFile
            }
        })
    }

    fn summary(mut self) -> SessionSummary {
        self.counts.fold_malformed();
        let Surveyor { rows, survey, .. } = self.counts;
        let mut summary = SessionSummary {
            packets: survey.packets,
            session: self.session,
            absent: self.choice.groups,
            others: survey.others,
            skipped: survey.skipped,
            first_message: self.sequence.first,
            messages: self.sequence.messages,
            missing: self.sequence.missing,
            ..SessionSummary::default()
        };
        summary.others.add_unlisted(survey.without_row);
        if self.session.is_none() {
            summary.absent_session = self.choice.session;
        }
        let mut others = Vec::new();
        for counting in rows {
            match counting.row.carried.mold() {
                Some(session) if self.session == Some(session) => {
                    let (destination, counts) = counting.line();
                    summary.lines.push((destination.into(), counts));
                }
                _ => others.push(counting),
            }
        }
        if self.choice.session.is_none() {
            summary.unread = unread_of(&mut others);
        }
        others.iter().for_each(|counting| leave(&mut summary.others, &counting.row));
        let lines = &summary.lines;
        let has = |group: &Group, line: SocketAddr| match line {
            SocketAddr::V4(line) => group.contains(line),
            SocketAddr::V6(_) => false,
        };
        summary.absent.retain(|group| !lines.iter().any(|(line, _)| has(group, *line)));
        summary
    }
}

/// Removes the rows of sessions of MoldUDP64 with messages, and returns these sessions.
fn unread_of(rows: &mut Vec<Counting>) -> Vec<UnreadSession> {
    let mut unread: Vec<UnreadSession> = Vec::new();
    for counting in rows.iter() {
        let (Some(session), Some(numbers)) = (counting.row.carried.mold(), counting.numbers())
        else {
            continue;
        };
        let (first, last) = (numbers.start, numbers.end - 1);
        match unread.iter_mut().find(|of| of.session == session) {
            Some(of) => (of.first, of.last) = (of.first.min(first), of.last.max(last)),
            None => unread.push(UnreadSession { session, first, last }),
        }
    }
    let is_unread = |session| unread.iter().any(|of| of.session == session);
    rows.retain(|counting| !counting.row.carried.mold().is_some_and(is_unread));
    unread
}

/// Whether a packet begins the session of a choice.
fn is_read(choice: &CaptureChoice, packet: &NumberedPacket<'_, MoldUdp64>) -> bool {
    match choice.session {
        Some(name) => name.is_of(&packet.session),
        None => packet.count > 0,
    }
}

fn damage_of(damage: &CaptureDamage) -> Damage {
    Damage::Packet { offset: damage.offset(), reason: damage.name() }
}

/// The search for the time of the first packet with messages that is read.
pub(super) struct Beginning {
    choice: CaptureChoice,
    /// The time of the first packet of all.
    first_ns: Option<u64>,
    found_ns: Option<u64>,
}

impl Beginning {
    pub(super) fn new(choice: CaptureChoice) -> Self {
        Self { choice, first_ns: None, found_ns: None }
    }

    /// Whether this packet is the one.
    pub(super) fn has(&mut self, packet: &CapturedPacket<'_>) -> bool {
        self.first_ns = self.first_ns.or(packet.ts_ns);
        if let Ok(datagram) = datagram(packet.link_type, packet.bytes)
            && is_chosen(&self.choice.groups, datagram.destination)
            && let Ok(found) = MoldUdp64::decode(datagram.payload)
            && found.count > 0
            && is_read(&self.choice, &found)
        {
            self.found_ns = packet.ts_ns;
        }
        self.found_ns.is_some()
    }

    /// Searches a whole capture.
    pub(super) fn search(&mut self, source: &mut DaySource) -> Result<(), SourceError> {
        read_items(
            source,
            |_| (),
            |item| {
                let is_found = matches!(item, Item::Packet(packet) if self.has(&packet));
                Ok::<_, SourceError>(if is_found {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            },
        )?;
        Ok(())
    }

    pub(super) fn ts_ns(&self) -> Option<u64> {
        self.found_ns.or(self.first_ns)
    }
}
