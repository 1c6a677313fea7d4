//! Reads a capture: which of its packets are those of the session, and what the others are.

use core::ops::ControlFlow;
use std::net::{SocketAddr, SocketAddrV4};

use nanotape_market::Damage;
use nanotape_wire::{
    capture::{CaptureDamage, CapturedPacket, datagram},
    framing::{iextp::IexTp, moldudp64::MoldUdp64, numbered::NumberedPacket, pitch::Pitch},
    iextp::SegmentHeader,
};

use super::{
    CaptureChoice, PacketSink, SessionSummary, UnreadSession,
    counting::{Counted, Counting, Surveyor, leave},
    groups::is_chosen,
    items::{Item, read_items},
    kept::Waiting,
    packet::{Captured, Decoded},
    sequence::{CaptureSource, Consumer, Sequence},
};
use crate::{DayEnd, DaySource, DaySummary, Group, SourceError, carried::Carried, feed::Feed};

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
            Item::Damage(damage) => reader.consumer.sink.damage(damage_of(&damage)),
            Item::End(damage) => end = reader.end(damage)?,
            Item::Idle => reader.consumer.flow = reader.consumer.sink.idle(),
        }
        Ok::<_, SourceError>(reader.consumer.flow)
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
    channels: Option<Channels>,
    consumer: Consumer<'h>,
    source: CaptureSource,
    /// The latest time of a packet.
    now_ns: u64,
    /// Malformed packets to destinations that were not known as lines.
    early: Vec<(SocketAddrV4, Damage)>,
}

/// The channels of the feed that is read.
enum Channels {
    MoldUdp64(ChannelsOf<MoldUdp64>),
    IexTp(ChannelsOf<IexTp>),
    Pitch(ChannelsOf<Pitch>),
}

/// The channels of a feed of one framing, in the order of their first packets.
struct ChannelsOf<F: Captured> {
    sequences: Vec<(F::Session, Sequence<F>)>,
}

impl<'h> CaptureReader<'h> {
    fn new(source: &DaySource, sink: &'h mut dyn PacketSink) -> Self {
        Self {
            choice: source.choice().clone(),
            counts: Surveyor::new(source.choice()),
            channels: None,
            consumer: Consumer::new(sink),
            source: CaptureSource::of(source),
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
        let found = match found {
            Ok(found) => found,
            Err(reason) => {
                self.malformed(datagram.destination, packet.offset, reason);
                return Ok(());
            }
        };
        if self.channels.is_none() && !self.begins(&found) {
            return Ok(());
        }
        let ts_ns = packet.ts_ns.unwrap_or(self.now_ns);
        let waiting = Waiting { ts_ns, line: 0, payload: datagram.payload };
        let new = match (self.channels.take(), found) {
            (Some(Channels::MoldUdp64(mut channels)), Decoded::MoldUdp64(found)) => {
                let new = self.take(&mut channels, &found, (row, waiting));
                self.channels = Some(Channels::MoldUdp64(channels));
                new?
            }
            (Some(Channels::IexTp(mut channels)), Decoded::IexTp(found)) => {
                let new = self.take(&mut channels, &found, (row, waiting));
                self.channels = Some(Channels::IexTp(channels));
                new?
            }
            (Some(Channels::Pitch(mut channels)), Decoded::Pitch(found)) => {
                let new = self.take(&mut channels, &found, (row, waiting));
                self.channels = Some(Channels::Pitch(channels));
                new?
            }
            (channels, _) => {
                self.channels = channels;
                0
            }
        };
        if let Some(place) = row.filter(|_| new > 0) {
            let (messages, packets) = &mut self.counts.rows[place].firsts;
            (*messages, *packets) = (*messages + new, *packets + 1);
        }
        Ok(())
    }

    /// Passes a packet to its channel, and returns how many messages no earlier one had.
    #[inline]
    fn take<F: Captured>(
        &mut self,
        channels: &mut ChannelsOf<F>,
        found: &NumberedPacket<'_, F>,
        (row, waiting): (Option<usize>, Waiting<'_>),
    ) -> Result<u64, SourceError> {
        let is_of = |(session, _): &(F::Session, _)| *session == found.session;
        let place = match channels.sequences.iter().position(is_of) {
            Some(place) => place,
            None if !self.is_channel(channels, found.session) => return Ok(0),
            None => {
                // Packets without messages may have come before.
                let known = self.counts.known(F::carried(found.session));
                channels.sequences.push((found.session, Sequence::new(&self.source, known)));
                channels.sequences.len() - 1
            }
        };
        let sequence = &mut channels.sequences[place].1;
        let found = &found.nearest(sequence.near());
        if F::RESTARTS && sequence.is_restarted_by(found) {
            sequence.end(self.now_ns, &mut self.consumer)?;
            *sequence = Sequence::new(&self.source, None);
            self.consumer.restarted(F::carried(found.session));
        }
        let line = if sequence.waits(found) {
            line_of(&self.counts, F::carried(found.session), row)
        } else {
            0
        };
        sequence.packet(found, Waiting { line, ..waiting }, &mut self.consumer)
    }

    /// Whether a session is one more channel of the feed.
    #[cold]
    fn is_channel<F: Captured>(&self, channels: &ChannelsOf<F>, session: F::Session) -> bool {
        let carried = F::carried(session);
        let is_chosen = self.choice.session.is_none_or(|name| name.is_of(&carried));
        let first = channels.sequences.first();
        is_chosen && first.is_none_or(|(first, _)| F::carried(*first).is_of_one_feed(&carried))
    }

    /// Whether the feed begins with this packet.
    #[cold]
    fn begins(&mut self, packet: &Decoded<'_>) -> bool {
        let begins = is_read(&self.choice, packet);
        if begins {
            self.channels = Some(Channels::of(packet));
            if let Some(feed) = Feed::of(&packet.carried()) {
                self.consumer.sink.begins(feed);
            }
        }
        begins
    }

    /// The first channel, and so the feed.
    fn feed(&self) -> Option<Carried> {
        self.channels.as_ref()?.first()
    }

    #[cold]
    fn malformed(&mut self, destination: SocketAddrV4, offset: u64, reason: &'static str) {
        let damage = Damage::Packet { offset, reason };
        match self.feed() {
            Some(feed) if self.counts.carries(destination, &feed) => {
                self.consumer.sink.damage(damage);
            }
            _ if self.early.len() < MOST_EARLY => self.early.push((destination, damage)),
            _ => {}
        }
    }

    /// The capture ends.
    fn end(&mut self, damage: Option<CaptureDamage>) -> Result<DayEnd, SourceError> {
        if self.channels.is_none() && self.choice.session.is_none() {
            // Without messages, the first session is the one.
            let mut carried = self.counts.rows.iter().map(|of| of.row.carried);
            let first = carried.find(|carried| *carried != Carried::Other);
            self.channels = first.and_then(|first| self.without_messages(first));
        }
        let feed = self.feed();
        for (destination, damage) in std::mem::take(&mut self.early) {
            if feed.is_some_and(|feed| self.counts.carries(destination, &feed)) {
                self.consumer.sink.damage(damage);
            }
        }
        match &mut self.channels {
            Some(Channels::MoldUdp64(channels)) => channels.end(self.now_ns, &mut self.consumer)?,
            Some(Channels::IexTp(channels)) => channels.end(self.now_ns, &mut self.consumer)?,
            Some(Channels::Pitch(channels)) => channels.end(self.now_ns, &mut self.consumer)?,
            None => {}
        }
        Ok(match damage {
            None if self.consumer.flow.is_break() => DayEnd::Stopped,
            None => DayEnd::EndOfFile,
            Some(CaptureDamage::Cut { offset, needed, present }) => {
                DayEnd::Cut { offset, needed_bytes: needed.into(), present_bytes: present.into() }
            }
            Some(damage) => {
                self.consumer.sink.damage(damage_of(&damage));
                DayEnd::EndOfFile
            }
        })
    }

    /// The channel of a session of which no packet has a message.
    fn without_messages(&self, carried: Carried) -> Option<Channels> {
        let known = self.counts.known(carried);
        let source = &self.source;
        Some(match carried {
            Carried::MoldUdp64(session) => {
                Channels::MoldUdp64(ChannelsOf::of(session, source, known))
            }
            Carried::IexTp(session) => Channels::IexTp(ChannelsOf::of(session, source, known)),
            Carried::Pitch(session) => Channels::Pitch(ChannelsOf::of(session, source, known)),
            Carried::Other => return None,
        })
    }

    fn summary(mut self) -> SessionSummary {
        self.counts.fold_malformed();
        let feed = self.feed();
        let channels = self.channels.as_ref().map_or(0, Channels::count);
        let Surveyor { rows, survey, .. } = self.counts;
        let mut summary = SessionSummary {
            packets: survey.packets,
            session: feed,
            channels,
            absent: self.choice.groups,
            others: survey.others,
            skipped: survey.skipped,
            first_message: self.consumer.first,
            messages: self.consumer.messages,
            missing: self.consumer.missing,
            ..SessionSummary::default()
        };
        summary.others.add_unlisted(survey.without_row);
        if feed.is_none() {
            summary.absent_session = self.choice.session;
        }
        let mut others = Vec::new();
        let is_read = |carried: &Carried| {
            let is_chosen = self.choice.session.is_none_or(|name| name.is_of(carried));
            is_chosen && feed.is_some_and(|feed| feed.is_of_one_feed(carried))
        };
        for counting in rows {
            if is_read(&counting.row.carried) {
                let (destination, counts) = counting.line();
                summary.lines.push((destination.into(), counts));
            } else {
                others.push(counting);
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

impl Channels {
    /// Those of the feed of a packet, none of which is known.
    fn of(packet: &Decoded<'_>) -> Self {
        match packet {
            Decoded::MoldUdp64(_) => Self::MoldUdp64(ChannelsOf { sequences: Vec::new() }),
            Decoded::IexTp(_) => Self::IexTp(ChannelsOf { sequences: Vec::new() }),
            Decoded::Pitch(_) => Self::Pitch(ChannelsOf { sequences: Vec::new() }),
        }
    }

    fn first(&self) -> Option<Carried> {
        match self {
            Self::MoldUdp64(channels) => channels.first(),
            Self::IexTp(channels) => channels.first(),
            Self::Pitch(channels) => channels.first(),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::MoldUdp64(channels) => channels.sequences.len(),
            Self::IexTp(channels) => channels.sequences.len(),
            Self::Pitch(channels) => channels.sequences.len(),
        }
    }
}

impl<F: Captured> ChannelsOf<F> {
    fn of(session: F::Session, source: &CaptureSource, known: Option<(u64, u64)>) -> Self {
        Self { sequences: vec![(session, Sequence::new(source, known))] }
    }

    fn first(&self) -> Option<Carried> {
        self.sequences.first().map(|(session, _)| F::carried(*session))
    }

    fn end(&mut self, now_ns: u64, consumer: &mut Consumer<'_>) -> Result<(), SourceError> {
        self.sequences.iter_mut().try_for_each(|(_, sequence)| sequence.end(now_ns, consumer))
    }
}

/// The number of a line: its place among the rows of its session.
#[cold]
fn line_of(counts: &Surveyor, carried: Carried, row: Option<usize>) -> u8 {
    let before = counts.rows.iter().take(row.unwrap_or_default());
    let lines = before.filter(|counting| counting.row.carried == carried);
    u8::try_from(lines.count()).unwrap_or(u8::MAX)
}

/// Removes the rows of sessions with messages, and returns these sessions.
fn unread_of(rows: &mut Vec<Counting>) -> Vec<UnreadSession> {
    let mut unread: Vec<UnreadSession> = Vec::new();
    for counting in rows.iter() {
        let session = counting.row.carried;
        let (false, Some(numbers)) = (session == Carried::Other, counting.numbers()) else {
            continue;
        };
        let (first, last) = (numbers.start, numbers.end - 1);
        match unread.iter_mut().find(|of| of.session == session) {
            Some(of) => (of.first, of.last) = (of.first.min(first), of.last.max(last)),
            None => unread.push(UnreadSession { session, first, last }),
        }
    }
    let is_unread = |session| unread.iter().any(|of| of.session == session);
    rows.retain(|counting| !is_unread(counting.row.carried));
    unread
}

/// Whether a packet begins the feed of a choice.
fn is_read(choice: &CaptureChoice, packet: &Decoded<'_>) -> bool {
    match choice.session {
        Some(name) => name.is_of(&packet.carried()),
        None => packet.has_messages() && Feed::of(&packet.carried()).is_some(),
    }
}

fn damage_of(damage: &CaptureDamage) -> Damage {
    Damage::Packet { offset: damage.offset(), reason: damage.name() }
}

/// The first packet with messages that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstPacket {
    /// When it was captured, ns since the UNIX epoch.
    pub(super) ts_ns: Option<u64>,
    /// What its messages belong to.
    pub(super) carried: Carried,
    /// The time that it states, ns since the UNIX epoch.
    pub(super) stated_ns: Option<u64>,
}

/// The search for the first packet with messages that is read.
pub(super) struct Beginning {
    choice: CaptureChoice,
    /// The time of the first packet of all.
    first_ns: Option<u64>,
    found: Option<FirstPacket>,
}

impl Beginning {
    pub(super) fn new(choice: CaptureChoice) -> Self {
        Self { choice, first_ns: None, found: None }
    }

    /// Whether this packet is the one.
    pub(super) fn has(&mut self, packet: &CapturedPacket<'_>) -> bool {
        self.first_ns = self.first_ns.or(packet.ts_ns);
        if let Ok(datagram) = datagram(packet.link_type, packet.bytes)
            && is_chosen(&self.choice.groups, datagram.destination)
            && let Ok(found) = Decoded::of(datagram.payload)
            && found.has_messages()
            && is_read(&self.choice, &found)
        {
            let (ts_ns, carried) = (packet.ts_ns, found.carried());
            let stated_ns = stated_ns(&carried, datagram.payload);
            self.found = Some(FirstPacket { ts_ns, carried, stated_ns });
        }
        self.found.is_some()
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

    /// The packet; `None` if no packet is read.
    pub(super) fn found(&self) -> Option<FirstPacket> {
        self.found
    }

    /// The time of the first packet of all.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }
}

/// The time that a segment of IEX-TP states.
fn stated_ns(carried: &Carried, payload: &[u8]) -> Option<u64> {
    let Carried::IexTp(_) = carried else { return None };
    SegmentHeader::wrap_first(payload).ok().map(|(header, _)| header.send_time())
}
