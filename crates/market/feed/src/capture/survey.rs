//! What a capture contains: its groups, the sessions that they carry, and what is missing of them.
//!
//! Where: `nanotape capture`. The reader of a [`DaySource`] follows one session and delivers its
//! messages; this module counts all sessions and delivers nothing.
//! Protocol: a datagram is IEX-TP or MoldUDP64 if it follows that format to its last byte. A row
//! is one session on one destination. Datagrams that follow neither format are malformed if their
//! destination carries a session, and otherwise a row of their own.
//! Bounds: [`MOST_ROWS`] rows, each with a bounded set of message numbers; datagrams without a row
//! are counted.

use std::{collections::HashMap, net::SocketAddrV4};

use nanotape_types::Alpha;
use nanotape_wire::{
    capture::{
        CaptureDamage, CaptureDecoder, CaptureItem, CapturedPacket, Datagram, SkipReason, Vlans,
        datagram,
    },
    framing::{
        iextp::{IexSession, IexTp, StreamOffsets},
        moldudp64::MoldUdp64,
        numbered::{NumberedPacket, PacketFraming, PacketKind},
    },
};

use super::{
    coverage::Coverage,
    groups::{Destinations, Group, is_chosen},
};
use crate::{DaySource, SourceError};

/// Rows of a survey.
pub const MOST_ROWS: usize = 1024;

/// Damage that is kept; more is counted.
const MOST_DAMAGE: usize = 64;

/// The protocol of a row, and its session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Carried {
    /// A session of MoldUDP64.
    MoldUdp64(Alpha<10>),
    /// A session of IEX-TP.
    IexTp(IexSession),
    /// Datagrams of another protocol.
    Other,
}

impl Carried {
    /// The name of the protocol.
    pub fn protocol(&self) -> &'static str {
        match self {
            Self::MoldUdp64(_) => MoldUdp64::NAME,
            Self::IexTp(_) => IexTp::NAME,
            Self::Other => "other UDP",
        }
    }

    /// The session, as text; `None` for another protocol.
    pub fn session(&self) -> Option<String> {
        match self {
            Self::MoldUdp64(session) => Some(session.to_string()),
            Self::IexTp(session) => Some(session.to_string()),
            Self::Other => None,
        }
    }
}

/// One session on one destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurveyRow {
    /// The destination.
    pub destination: SocketAddrV4,
    /// The sender of the first datagram.
    pub source: SocketAddrV4,
    /// The VLANs of the first datagram.
    pub vlans: Vlans,
    /// What the datagrams are.
    pub carried: Carried,
    /// Datagrams, with those that are malformed.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Datagrams without messages.
    pub heartbeats: u64,
    /// Datagrams that do not follow the format of the session.
    pub malformed: u64,
    /// Messages, with duplicates.
    pub messages: u64,
    /// The lowest number of a message.
    pub first_message: Option<u64>,
    /// The highest number of a message.
    pub last_message: Option<u64>,
    /// Messages that the destination had before.
    pub duplicates: u64,
    /// Messages that came after a later one.
    pub overtaken: u64,
    /// Ranges of numbers without a message, also before and after all messages if a heartbeat shows
    /// that there are earlier or later ones.
    pub gaps: u64,
    /// The numbers in these ranges.
    pub missing: u64,
    /// Messages that another destination of the session has too.
    pub shared: u64,
    /// Segments of IEX-TP that continue the numbers of the one before, but not its bytes.
    pub offset_mismatches: u64,
    /// Whether the session ended.
    pub has_ended: bool,
    /// The earliest and the latest capture time, ns since the UNIX epoch.
    pub times_ns: Option<(u64, u64)>,
}

/// A session on all of its destinations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurveySession {
    /// The protocol and the session.
    pub carried: Carried,
    /// Destinations that carry it.
    pub groups: usize,
    /// Different messages. `None` if there are too many gaps to compare the destinations.
    pub messages: Option<u64>,
    /// Numbers without a message on any destination. `None` if there are too many gaps.
    pub missing: Option<u64>,
}

/// What a capture contains.
#[derive(Debug, Default)]
pub struct CaptureSurvey {
    /// Packets in the file.
    pub packets: u64,
    /// Bytes of the file that were read, decompressed.
    pub bytes: u64,
    /// Packets without a complete datagram, by [`SkipReason`].
    pub skipped: [u64; SkipReason::ALL.len()],
    /// The rows, in the order of their first packets.
    pub rows: Vec<SurveyRow>,
    /// The sessions, in the order of their first packets.
    pub sessions: Vec<SurveySession>,
    /// The chosen groups without a datagram.
    pub absent: Vec<Group>,
    /// Datagrams that are not of the chosen groups.
    pub others: Destinations,
    /// Datagrams for which there is no room in a row.
    pub without_row: u64,
    /// The first damage of the file.
    pub damage: Vec<CaptureDamage>,
    /// Damage of the file, in total.
    pub total_damage: u64,
    /// Why the source ended early.
    pub fault: Option<SourceError>,
}

impl CaptureSurvey {
    /// Reads a capture to its end. Calls `progress` once per block. Fails if the source is not a
    /// capture.
    pub fn read(
        source: &mut DaySource,
        mut progress: impl FnMut(&DaySource),
    ) -> Result<Self, SourceError> {
        if !source.is_capture()? {
            source.require_bytes()?;
            return Err(SourceError::NotACapture { name: source.name().to_owned() });
        }
        let mut surveyor = Surveyor { groups: source.groups().to_vec(), ..Surveyor::default() };
        surveyor.survey.absent.clone_from(&surveyor.groups);
        let (mut decoder, mut used_bytes) = (CaptureDecoder::new(), 0);
        loop {
            let block = source.next_block(used_bytes)?;
            let mut rest = block.bytes;
            let has_ended = loop {
                match decoder.next(&mut rest, block.is_last) {
                    CaptureItem::Packet(packet) => surveyor.packet(&packet),
                    CaptureItem::Damage(damage) => surveyor.survey.damaged(damage),
                    CaptureItem::NeedMore => break false,
                    CaptureItem::End(damage) => {
                        damage.into_iter().for_each(|damage| surveyor.survey.damaged(damage));
                        break true;
                    }
                }
            };
            used_bytes = block.bytes.len() - rest.len();
            progress(source);
            if has_ended {
                break;
            }
        }
        let mut survey = surveyor.finish();
        (survey.bytes, survey.fault) = (decoder.offset(), source.fault());
        Ok(survey)
    }

    /// Whether the file and all packets follow their formats, all packets are complete, and the
    /// sessions have every message on one of their destinations.
    pub fn is_good(&self) -> bool {
        let has_all = |session: &SurveySession| session.missing == Some(0);
        let is_good = |row: &SurveyRow| row.malformed == 0 && row.offset_mismatches == 0;
        self.total_damage == 0
            && self.fault.is_none()
            && self.without_row == 0
            && self.absent.is_empty()
            && self.skipped[SkipReason::Truncated as usize] == 0
            && self.sessions.iter().all(has_all)
            && self.rows.iter().all(is_good)
    }

    fn damaged(&mut self, damage: CaptureDamage) {
        self.total_damage += 1;
        if self.damage.len() < MOST_DAMAGE {
            self.damage.push(damage);
        }
    }
}

/// Counts packets.
#[derive(Default)]
struct Surveyor {
    groups: Vec<Group>,
    places: HashMap<(SocketAddrV4, Carried), usize>,
    rows: Vec<Counting>,
    survey: CaptureSurvey,
}

/// A row, and the numbers that it has seen.
struct Counting {
    row: SurveyRow,
    seen: Coverage,
    /// The numbers that packets showed to exist.
    known: Option<(u64, u64)>,
    offsets: StreamOffsets,
}

impl Surveyor {
    fn packet(&mut self, packet: &CapturedPacket<'_>) {
        self.survey.packets += 1;
        let datagram = match datagram(packet.link_type, packet.bytes) {
            Ok(datagram) => datagram,
            Err(reason) => {
                self.survey.skipped[reason as usize] += 1;
                return;
            }
        };
        if !is_chosen(&self.groups, datagram.destination) {
            self.survey.others.count(datagram.destination);
            return;
        }
        self.survey.absent.retain(|group| !group.contains(datagram.destination));
        let segment = IexTp::decode(datagram.payload).ok();
        if let Some(segment) = segment {
            if let Some(counting) = self.row(&datagram, packet, Carried::IexTp(segment.session)) {
                counting.note(&segment);
                let is_continued = counting.offsets.check(&segment).is_ok();
                counting.row.offset_mismatches += u64::from(!is_continued);
            }
            return;
        }
        match MoldUdp64::decode(datagram.payload) {
            Ok(found) if is_session_name(&found.session) => {
                if let Some(counting) =
                    self.row(&datagram, packet, Carried::MoldUdp64(found.session))
                {
                    counting.note(&found);
                }
            }
            _ => {
                self.row(&datagram, packet, Carried::Other);
            }
        }
    }

    /// The row of a datagram, with the datagram counted; `None` if there is no room for one.
    fn row(
        &mut self,
        datagram: &Datagram<'_>,
        packet: &CapturedPacket<'_>,
        carried: Carried,
    ) -> Option<&mut Counting> {
        let key = (datagram.destination, carried);
        let place = match self.places.get(&key) {
            Some(&place) => place,
            None if self.rows.len() == MOST_ROWS => {
                self.survey.without_row += 1;
                return None;
            }
            None => {
                self.places.insert(key, self.rows.len());
                self.rows.push(Counting::new(datagram, carried));
                self.rows.len() - 1
            }
        };
        let counting = self.rows.get_mut(place)?;
        let row = &mut counting.row;
        row.packets += 1;
        row.bytes += datagram.payload.len() as u64;
        row.times_ns = joined(row.times_ns, packet.ts_ns.map(|ts_ns| (ts_ns, ts_ns)));
        Some(counting)
    }

    fn finish(mut self) -> CaptureSurvey {
        self.fold_malformed();
        let mut sessions: Vec<(Carried, Vec<usize>)> = Vec::new();
        for (place, counting) in self.rows.iter().enumerate() {
            let carried = counting.row.carried;
            match sessions.iter_mut().find(|(found, _)| *found == carried) {
                Some((_, places)) => places.push(place),
                None if carried != Carried::Other => sessions.push((carried, vec![place])),
                None => {}
            }
        }
        for (carried, places) in sessions {
            let session = self.conclude(carried, &places);
            self.survey.sessions.push(session);
        }
        self.survey.rows = self.rows.into_iter().map(Counting::finish).collect();
        self.survey
    }

    /// Datagrams without a format to a destination with a session are malformed packets of it.
    fn fold_malformed(&mut self) {
        let is_other = |row: &SurveyRow| row.carried == Carried::Other;
        let others = self.rows.iter().map(|counting| &counting.row).filter(|row| is_other(row));
        let mut others: Vec<SurveyRow> = others.cloned().collect();
        others.retain(|other| {
            let mut rows = self.rows.iter_mut().map(|counting| &mut counting.row);
            let of_session =
                rows.find(|row| row.destination == other.destination && !is_other(row));
            let Some(row) = of_session else { return false };
            row.packets += other.packets;
            row.malformed += other.packets;
            row.bytes += other.bytes;
            row.times_ns = joined(row.times_ns, other.times_ns);
            true
        });
        let is_folded = |row: &SurveyRow| {
            is_other(row) && others.iter().any(|other| other.destination == row.destination)
        };
        self.rows.retain(|counting| !is_folded(&counting.row));
    }

    /// Compares the destinations of a session.
    fn conclude(&mut self, carried: Carried, places: &[usize]) -> SurveySession {
        let (mut all, mut twice, mut known) = (Coverage::default(), Coverage::default(), None);
        for &place in places {
            let counting = &self.rows[place];
            twice = twice.union(&all.common(&counting.seen));
            all = all.union(&counting.seen);
            known = joined(known, counting.known);
        }
        for &place in places {
            let counting = &mut self.rows[place];
            counting.row.shared = counting.seen.common(&twice).count();
        }
        // One destination needs no comparison, and its count is exact.
        let (is_known, messages) = match places {
            [place] => (true, self.rows[*place].seen.count()),
            _ => (all.is_exact(), all.count()),
        };
        let missing = known.map_or(0, |(first, next)| (next - first).saturating_sub(messages));
        SurveySession {
            carried,
            groups: places.len(),
            messages: is_known.then_some(messages),
            missing: is_known.then_some(missing),
        }
    }
}

impl Counting {
    fn new(datagram: &Datagram<'_>, carried: Carried) -> Self {
        let row = SurveyRow {
            destination: datagram.destination,
            source: datagram.source,
            vlans: datagram.vlans,
            carried,
            packets: 0,
            bytes: 0,
            heartbeats: 0,
            malformed: 0,
            messages: 0,
            first_message: None,
            last_message: None,
            duplicates: 0,
            overtaken: 0,
            gaps: 0,
            missing: 0,
            shared: 0,
            offset_mismatches: 0,
            has_ended: false,
            times_ns: None,
        };
        let (seen, offsets) = (Coverage::default(), StreamOffsets::default());
        Self { row, seen, known: None, offsets }
    }

    /// Counts the messages of a packet.
    fn note<F: PacketFraming>(&mut self, packet: &NumberedPacket<'_, F>) {
        let (first, next) = (packet.first, packet.next());
        let row = &mut self.row;
        row.heartbeats += u64::from(first == next);
        row.messages += next - first;
        row.has_ended |= packet.kind == PacketKind::EndOfSession;
        // A packet without messages can have number 0, which is no message.
        if first > 0 {
            self.known = joined(self.known, Some((first, next)));
        }
        let highest = self.seen.span().map_or(0, |span| span.end);
        let new = self.seen.add(first..next);
        row.duplicates += next - first - new;
        // Of the new messages, those below the highest number so far came late.
        row.overtaken += new.saturating_sub(next.saturating_sub(highest.max(first)));
    }

    fn finish(self) -> SurveyRow {
        let Self { mut row, seen, known, .. } = self;
        let Some((first, next)) = known else { return row };
        // Numbers before the first message, between messages, and after the last one.
        let span = seen.span().unwrap_or(first..first);
        let ends = u64::from(first < span.start) + u64::from(span.end < next);
        (row.gaps, row.missing) = (seen.holes() + ends, next - first - seen.count());
        if !span.is_empty() {
            (row.first_message, row.last_message) = (Some(span.start), Some(span.end - 1));
        }
        row
    }
}

/// Whether a session is text, as names of MoldUDP64 are: other datagrams can follow its format by
/// chance.
fn is_session_name(session: &Alpha<10>) -> bool {
    let [first, ..] = session.as_bytes();
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | 0);
    *first != 0 && session.as_bytes().iter().all(is_text)
}

/// The span of both.
fn joined(one: Option<(u64, u64)>, two: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, two) {
        (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
        (one, two) => one.or(two),
    }
}
