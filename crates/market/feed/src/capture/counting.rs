//! Counts the datagrams of a capture, by destination and session.
//!
//! Where: the survey of a capture, and the reader of its messages, so that both count the same.
//! Protocol: a datagram is IEX-TP, MoldUDP64 or PITCH if it follows that format to its last byte.
//! Datagrams that follow none are malformed if their destination carries a session, and
//! otherwise a row of their own.
//! Bounds: [`MOST_ROWS`] rows, of which half are for datagrams without a session.
//! Cost: a packet in order of its row costs the search for the row, and a few additions.

use core::ops::Range;
use std::{collections::HashMap, net::SocketAddrV4};

use nanotape_wire::{
    capture::{CapturedPacket, Datagram, datagram},
    framing::{
        iextp::StreamOffsets,
        numbered::{MalformedKind, NumberedPacket, PacketFraming, PacketKind},
    },
};

use super::{
    choice::CaptureChoice,
    coverage::Coverage,
    groups::{Destinations, Group, is_chosen},
    packet::{Decoded, carried_by},
    survey::{CaptureSurvey, MOST_ROWS, SurveyRow, SurveySession},
};
use crate::carried::Carried;
use crate::session::LineCounts;

/// Rows that are compared before the search by hash: those of a feed usually come first.
const NEAR_ROWS: usize = 4;

/// Counts packets.
#[derive(Default)]
pub(super) struct Surveyor {
    groups: Vec<Group>,
    places: HashMap<(SocketAddrV4, Carried), usize>,
    pub(super) rows: Vec<Counting>,
    pub(super) survey: CaptureSurvey,
}

/// A row, and the numbers that it has seen.
pub(super) struct Counting {
    pub(super) row: SurveyRow,
    /// Messages that the destination brought first, and packets with such messages.
    pub(super) firsts: (u64, u64),
    malformed: [u64; MalformedKind::ALL.len()],
    seen: Coverage,
    /// The numbers that packets showed to exist.
    known: Option<(u64, u64)>,
    offsets: StreamOffsets,
}

/// A datagram that was counted.
pub(super) struct Counted<'a> {
    pub(super) datagram: Datagram<'a>,
    /// The index of its row; `None` if there was no room for one.
    pub(super) row: Option<usize>,
    /// The packet; otherwise why it is none.
    pub(super) packet: Result<Decoded<'a>, &'static str>,
}

impl Surveyor {
    pub(super) fn new(choice: &CaptureChoice) -> Self {
        let mut surveyor = Self { groups: choice.groups.clone(), ..Self::default() };
        surveyor.survey.absent.clone_from(&choice.groups);
        surveyor
    }

    /// Counts a packet. `None` if it has no datagram to a chosen group.
    #[inline]
    pub(super) fn packet<'a>(&mut self, packet: &CapturedPacket<'a>) -> Option<Counted<'a>> {
        self.survey.packets += 1;
        let datagram = match datagram(packet.link_type, packet.bytes) {
            Ok(datagram) => datagram,
            Err(reason) => {
                self.survey.skipped[reason as usize] += 1;
                return None;
            }
        };
        if !is_chosen(&self.groups, datagram.destination) {
            if let Some(other) = self.survey.others.count(datagram.destination) {
                other.session = other.session.or_else(|| carried_by(datagram.payload));
            }
            return None;
        }
        if !self.survey.absent.is_empty() {
            self.survey.absent.retain(|group| !group.contains(datagram.destination));
        }
        let decoded = Decoded::of(datagram.payload);
        let carried = decoded.map_or(Carried::Other, |packet| packet.carried());
        let row = self.row(&datagram, packet, carried);
        let counting = row.map(|place| &mut self.rows[place]);
        let packet = match decoded {
            Ok(found) => {
                if let Some(counting) = counting {
                    counting.note_any(&found);
                }
                Ok(found)
            }
            Err(None) => Err("name of no session"),
            Err(Some(kind)) => {
                if let Some(counting) = counting {
                    counting.malformed[kind as usize] += 1;
                }
                Err(kind.name())
            }
        };
        Some(Counted { datagram, row, packet })
    }

    /// Whether packets of a feed came to this destination.
    pub(super) fn carries(&self, destination: SocketAddrV4, feed: &Carried) -> bool {
        let is_of = |(at, carried): &(SocketAddrV4, Carried)| {
            *at == destination && carried.is_of_one_feed(feed)
        };
        self.places.keys().any(is_of)
    }

    /// The lowest number that packets of a session showed, and one above the highest.
    pub(super) fn known(&self, session: Carried) -> Option<(u64, u64)> {
        let is_of = |counting: &&Counting| counting.row.carried == session;
        let known = self.rows.iter().filter(is_of).map(|counting| counting.known);
        known.fold(None, joined)
    }

    /// The index of the row of a datagram, with the datagram counted; `None` if there is no room
    /// for a row.
    fn row(
        &mut self,
        datagram: &Datagram<'_>,
        packet: &CapturedPacket<'_>,
        carried: Carried,
    ) -> Option<usize> {
        let key = (datagram.destination, carried);
        let most = if carried == Carried::Other { MOST_ROWS / 2 } else { MOST_ROWS };
        let is_of = |of: &Counting| (of.row.destination, of.row.carried) == key;
        let near = self.rows.iter().take(NEAR_ROWS).position(is_of);
        let place = match near.or_else(|| self.places.get(&key).copied()) {
            Some(place) => place,
            None if self.rows.len() >= most => {
                self.survey.without_row += 1;
                return None;
            }
            None => {
                self.places.insert(key, self.rows.len());
                self.rows.push(Counting::new(datagram, carried));
                self.rows.len() - 1
            }
        };
        let row = &mut self.rows[place].row;
        row.packets += 1;
        row.bytes += datagram.payload.len() as u64;
        row.times_ns = joined(row.times_ns, packet.ts_ns.map(|ts_ns| (ts_ns, ts_ns)));
        Some(place)
    }

    /// The survey of the choice.
    pub(super) fn finish(mut self, choice: &CaptureChoice) -> CaptureSurvey {
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
        let mut survey = self.survey;
        survey.rows = self.rows.into_iter().map(Counting::finish).collect();
        if let Some(name) = choice.session {
            let is_of = |carried: &Carried| name.is_of(carried);
            survey.sessions.retain(|session| is_of(&session.carried));
            survey.absent_session = survey.sessions.is_empty().then_some(name);
            let left = survey.rows.extract_if(.., |row| !is_of(&row.carried));
            left.for_each(|row| leave(&mut survey.others, &row));
        }
        survey
    }

    /// Datagrams without a format to a destination with a session are malformed packets of it.
    pub(super) fn fold_malformed(&mut self) {
        let is_other = |row: &SurveyRow| row.carried == Carried::Other;
        let rows = std::mem::take(&mut self.rows).into_iter().enumerate();
        let (others, mut rows): (Vec<_>, Vec<_>) = rows.partition(|(_, of)| is_other(&of.row));
        let mut alone = Vec::new();
        for (place, other) in others {
            let destination = other.row.destination;
            match rows.iter_mut().find(|(_, of)| of.row.destination == destination) {
                Some((_, Counting { row, malformed, .. })) => {
                    row.packets += other.row.packets;
                    row.malformed += other.row.packets;
                    row.bytes += other.row.bytes;
                    row.times_ns = joined(row.times_ns, other.row.times_ns);
                    malformed.iter_mut().zip(other.malformed).for_each(|(sum, more)| *sum += more);
                }
                None => alone.push((place, other)),
            }
        }
        rows.append(&mut alone);
        rows.sort_unstable_by_key(|(place, _)| *place);
        self.rows = rows.into_iter().map(|(_, counting)| counting).collect();
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
        let malformed = [0; MalformedKind::ALL.len()];
        Self { row, firsts: (0, 0), malformed, seen, known: None, offsets }
    }

    /// Counts the messages of a packet.
    fn note_any(&mut self, packet: &Decoded<'_>) {
        match packet {
            Decoded::MoldUdp64(packet) => self.note(packet),
            Decoded::IexTp(segment) => {
                self.note(segment);
                let is_continued = self.offsets.check(segment).is_ok();
                self.row.offset_mismatches += u64::from(!is_continued);
            }
            Decoded::Pitch(packet) => {
                let expected = self.seen.span().map_or(1, |span| span.end);
                self.note(&packet.nearest(expected));
            }
        }
    }

    /// Counts the messages of a packet of one framing.
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

    /// The numbers from the lowest to the highest one of a message.
    pub(super) fn numbers(&self) -> Option<Range<u64>> {
        self.seen.span()
    }

    /// The row, after its last packet.
    pub(super) fn finish(self) -> SurveyRow {
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

    /// The row as a line of a session that is read.
    pub(super) fn line(self) -> (SocketAddrV4, LineCounts) {
        let ((first_messages, first_packets), malformed) = (self.firsts, self.malformed);
        let row = self.finish();
        let counts = LineCounts {
            packets: row.packets,
            bytes: row.bytes,
            heartbeats: row.heartbeats,
            messages: row.messages,
            first_messages,
            first_packets,
            duplicates: row.duplicates,
            overtaken: row.overtaken,
            missing: row.missing,
            malformed,
            ..LineCounts::default()
        };
        (row.destination, counts)
    }
}

/// Counts the datagrams of a row that is not read.
pub(super) fn leave(others: &mut Destinations, row: &SurveyRow) {
    if let Some(other) = others.add(row.destination, row.packets) {
        let carried = Some(row.carried).filter(|carried| *carried != Carried::Other);
        other.session = other.session.or(carried);
    }
}

/// The span of both.
pub(super) fn joined(one: Option<(u64, u64)>, two: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, two) {
        (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
        (one, two) => one.or(two),
    }
}
