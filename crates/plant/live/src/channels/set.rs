//! The channels of a feed: which packet belongs to which, what each lacks, and what is done about
//! it. Sans-I/O: packets, answers, images and the time go in; events and wishes come out.
//!
//! Protocol: a packet belongs to the channel that its header names. Each channel has a
//! [`Receiver`] of its own, with its own gaps, requests and images. A channel that begins again at
//! number 1 under the same session is a new stream with empty books ([`restart`](super::restart)).
//! Bounds: [`MOST_CHANNELS`] channels, each with the memory of its settings. What a server says is
//! checked: an image far ahead of all lines is refused.
//! Failure: a refused request is repeated, or an image takes its place, as its reason says.

use core::marker::PhantomData;

use nanotape_board::LiveStat;
use nanotape_feed::{
    Feed, SpinImage,
    capture::Carried,
    channels::{ChannelFraming, PacketPlace, Peek},
    pitch_tcp::RefusedFor,
    session::{
        Line, LineCounts, MAX_LINES, PacketOrigin, Receiver, SessionPosition, SessionSettings,
    },
};
use nanotape_market::{Damage, EventHandler};

use super::{
    delivery::{ChannelDelivery, ChannelState, Common},
    restart::{LinePlace, Restarts, Verdict},
};
use crate::source::news::NewsLine;

/// Channels of a feed, at most.
const MOST_CHANNELS: usize = 64;

/// Packets of a new channel that follow each other on a line before it is believed, unless it
/// begins with message 1 or has a server of images: a damaged header names a channel that nothing
/// else has.
const BELIEVED_PACKETS: u8 = 8;

/// How far after the messages that are known an image can be: lines can be silent for a while.
const MOST_AHEAD: u64 = 1 << 22;

/// A channel without a message for so long has ended if another one has, in ns.
const QUIET_NS: u64 = 60_000_000_000;

/// The settings of all channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetSettings {
    /// Those of each session; snapshots only where a server gives them.
    pub(crate) session: SessionSettings,
    /// Whether a server gives images of a channel.
    pub(crate) has_images: [bool; 256],
}

/// A request that was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// Its channel.
    pub(crate) key: u8,
    /// The number of its first message.
    pub(crate) first: u64,
    /// For how long.
    pub(crate) lasts: RefusedFor,
}

/// The channels of a feed.
#[derive(Debug)]
pub(crate) struct ChannelSet<F: ChannelFraming> {
    feed: Feed,
    settings: SetSettings,
    channels: Vec<Channel<F>>,
    /// One above the place of each channel; 0 for none.
    places: [u8; 256],
    pub(crate) common: Common,
    /// For each channel that is not believed, and each line.
    prospects: Box<[[Prospect; MAX_LINES]; 256]>,
    /// Packets of another feed, of none, or of a channel that is not believed, by line.
    strays: [u64; MAX_LINES],
    has_too_many: bool,
}

/// What a line brought of a channel that is not believed.
#[derive(Clone, Copy, Debug, Default)]
struct Prospect {
    /// The number that its next packet would have.
    next: u64,
    /// Packets that followed each other.
    packets: u8,
}

#[derive(Debug)]
struct Channel<F: ChannelFraming> {
    receiver: Receiver<F>,
    state: ChannelState,
    restarts: Restarts,
    /// The counts of the lines before the numbers began again.
    before: [LineCounts; MAX_LINES],
}

impl<F: ChannelFraming> ChannelSet<F> {
    /// No channel yet, of a day that begins at this time, in ns since the UNIX epoch.
    pub(crate) fn new(feed: Feed, settings: SetSettings, day_begins_ns: u64) -> Self {
        Self {
            feed,
            settings,
            channels: Vec::new(),
            places: [0; 256],
            prospects: Box::new([[Prospect::default(); MAX_LINES]; 256]),
            common: Common::new(feed, day_begins_ns),
            strays: [0; MAX_LINES],
            has_too_many: false,
        }
    }

    /// When [`tick`](Self::tick) has something to do, in ns.
    pub(crate) fn deadline_ns(&self) -> u64 {
        let deadlines = self.channels.iter().map(|channel| channel.receiver.deadline_ns());
        deadlines.min().unwrap_or(u64::MAX)
    }

    /// Takes a packet of a line, or an answer, which was received at the first time. Until the
    /// second one all lines were read.
    #[inline]
    pub(crate) fn packet(
        &mut self,
        origin: PacketOrigin,
        times: (u64, u64),
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) {
        let Some(peek) = F::peek(self.feed, bytes) else { return self.stray(origin) };
        let known = self.known(peek.key);
        let Some(place) = known.or_else(|| self.admit(peek, origin, bytes, handler)) else {
            return;
        };
        if let PacketOrigin::Line(line) = origin {
            let channel = &self.channels[place];
            if channel.restarts.is_usual(peek.first) {
                // Only what is decoded is known to be a packet.
                self.give(place, origin, times, bytes, handler);
                self.note(place, line);
                return;
            }
            return self.unusual(place, line, times, bytes, handler);
        }
        self.give(place, origin, times, bytes, handler);
    }

    #[inline]
    fn give(
        &mut self,
        place: usize,
        origin: PacketOrigin,
        times: (u64, u64),
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) {
        let (receiver, mut delivery) = self.parts(place, handler);
        receiver.packet(origin, times, bytes, &mut delivery);
    }

    /// A line has brought what is known now, or less.
    #[inline]
    fn note(&mut self, place: usize, line: Line) {
        let Channel { receiver, restarts, .. } = &mut self.channels[place];
        restarts.note(line, receiver.line_next(line));
    }

    /// A packet with number 1, or one while a restart is possible.
    #[cold]
    fn unusual(
        &mut self,
        place: usize,
        line: Line,
        times: (u64, u64),
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) {
        let origin = PacketOrigin::Line(line);
        let channel = &mut self.channels[place];
        let expected = channel.receiver.position().expected;
        let Some(PacketPlace { first, next, start }) = F::place(bytes, expected) else {
            return self.give(place, origin, times, bytes, handler);
        };
        // A stream that was joined late has no message 1 to compare with.
        let known = channel.state.first_message.as_deref();
        let is_other_start = start.is_some_and(|start| known.is_none_or(|known| *known != *start));
        let highest = channel.receiver.position().highest;
        let ts_recv_ns = times.0;
        let judged = channel.restarts.judge(LinePlace {
            line,
            ts_recv_ns,
            first,
            next,
            bytes,
            is_other_start,
            highest,
        });
        match judged {
            Verdict::Drop => {}
            Verdict::Pass => {
                self.give(place, origin, times, bytes, handler);
                self.note(place, line);
            }
            Verdict::Restart(start) => {
                self.restart(place, times.1, handler);
                let origin_of_start = PacketOrigin::Line(start.line);
                let start_times = (start.ts_recv_ns, times.1);
                self.give(place, origin_of_start, start_times, &start.bytes, handler);
                self.give(place, origin, times, bytes, handler);
            }
        }
    }

    /// The numbers of a channel begin again.
    #[cold]
    fn restart(&mut self, place: usize, now_ns: u64, handler: &mut impl EventHandler) {
        let (receiver, mut delivery) = self.parts(place, handler);
        receiver.close(now_ns, &mut delivery);
        delivery.restart();
        let text = format!("{}the numbers begin again: the books are empty", delivery.state.label);
        delivery.common.news.add(|| NewsLine::problem(text));
        let settings = self.settings_of(self.channels[place].state.key);
        let channel = &mut self.channels[place];
        for (index, before) in channel.before.iter_mut().enumerate() {
            if let Some(line) = Line::new(index) {
                before.add(channel.receiver.line(line));
            }
        }
        channel.receiver = Receiver::new(settings);
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, now_ns: u64, handler: &mut impl EventHandler) {
        for place in 0..self.channels.len() {
            if self.channels[place].receiver.deadline_ns() <= now_ns {
                let (receiver, mut delivery) = self.parts(place, handler);
                receiver.tick(now_ns, &mut delivery);
            }
        }
    }

    /// The time until now counts neither as a silence of a line nor as a missing answer.
    #[cold]
    pub(crate) fn restarted(&mut self, now_ns: u64, handler: &mut impl EventHandler) {
        for place in 0..self.channels.len() {
            let (receiver, mut delivery) = self.parts(place, handler);
            receiver.restarted(now_ns, &mut delivery);
        }
    }

    /// A server has refused to send messages again. Where it may send them later, and no server
    /// gives an image, the request is repeated. It is also repeated if a message has been missing
    /// for less than an answer may take: a server can be behind the lines.
    #[cold]
    pub(crate) fn refused(
        &mut self,
        refusal: Refusal,
        now_ns: u64,
        handler: &mut impl EventHandler,
    ) {
        let Refusal { key, first, lasts } = refusal;
        let timeout_ns = self.settings.session.requests.map_or(0, |requests| requests.timeout_ns);
        let Some(place) = self.known(key) else { return };
        let missing_ns = self.channels[place].receiver.missing_ns(first, now_ns);
        let has_next_way = match lasts {
            RefusedFor::Now => self.settings.has_images[usize::from(key)],
            RefusedFor::Perhaps => missing_ns.is_none_or(|missing_ns| missing_ns >= timeout_ns),
            RefusedFor::Good => true,
        };
        if has_next_way {
            let (receiver, mut delivery) = self.parts(place, handler);
            receiver.refused(first, now_ns, &mut delivery);
        }
    }

    /// An image of a channel came that ends before message `next`, or none can be had. Returns
    /// whether it is used.
    #[cold]
    pub(crate) fn image(
        &mut self,
        key: u8,
        image: Option<(SpinImage, u64)>,
        now_ns: u64,
        handler: &mut impl EventHandler,
    ) -> bool {
        let Some(place) = self.known(key) else { return false };
        let (receiver, mut delivery) = self.parts(place, handler);
        let most = receiver.position().highest.saturating_add(MOST_AHEAD);
        let Some((image, next)) = image.filter(|(_, next)| *next <= most) else {
            receiver.snapshot_failed(now_ns, &mut delivery);
            return false;
        };
        delivery.state.image = Some(image);
        let is_used = receiver.snapshot(next, now_ns, &mut delivery);
        if !is_used {
            delivery.state.image = None;
        }
        is_used
    }

    /// Whether a channel waits for an image.
    pub(crate) fn is_holding(&self, key: u8) -> bool {
        let place = self.known(key);
        place.is_some_and(|place| self.channels[place].receiver.position().is_holding)
    }

    /// The number of the next message of a channel, and whether its books lack none before it.
    #[cfg(test)]
    pub(crate) fn progress(&self, key: u8) -> Option<(u64, bool)> {
        let channel = &self.channels[self.known(key)?];
        Some((channel.receiver.position().expected, !channel.state.is_doubtful()))
    }

    /// No packet will come any more.
    pub(crate) fn close(&mut self, now_ns: u64, handler: &mut impl EventHandler) {
        for place in 0..self.channels.len() {
            let (receiver, mut delivery) = self.parts(place, handler);
            receiver.close(now_ns, &mut delivery);
        }
    }

    /// Whether the feed has ended: a channel has had its last message, and each other one too, or
    /// none for a while. The last message of one may be in an image.
    pub(crate) fn has_ended(&self, now_ns: u64) -> bool {
        let joined = || self.channels.iter().filter(|channel| channel.state.carried.is_some());
        joined().any(|channel| channel.state.has_ended)
            && joined().all(|Channel { state, .. }| {
                state.has_ended || now_ns.saturating_sub(state.last_ns) >= QUIET_NS
            })
    }

    /// Whether a channel had begun before it was joined, and no image has what was before.
    pub(crate) fn is_late(&self) -> bool {
        self.channels.iter().any(|channel| channel.state.is_late)
    }

    /// The channels that have had a packet, and what the messages of the first one belong to.
    pub(crate) fn channels(&self) -> (usize, Option<Carried>) {
        let carried = self.channels.iter().find_map(|channel| channel.state.carried);
        (self.channels.len(), carried)
    }

    /// Brings statistics up to date: sums over all channels.
    pub(crate) fn show(&self, stat: &mut LiveStat) {
        for (index, line) in stat.lines.iter_mut().enumerate() {
            let Some(of) = Line::new(index) else { continue };
            let mut counts = LineCounts { packets: self.strays[index], ..LineCounts::default() };
            for Channel { receiver, before, .. } in &self.channels {
                counts.add(&before[index]);
                counts.add(receiver.line(of));
            }
            line.counts = counts;
            line.leads.clone_from(&self.common.leads[index]);
        }
        let next = self.common.next;
        let mut position = SessionPosition { expected: next, highest: next, ..Default::default() };
        let (mut answers, mut overtaken) = (LineCounts::default(), 0_u64);
        for Channel { receiver, state, .. } in &self.channels {
            let of = receiver.position();
            answers.add(receiver.answers());
            overtaken = overtaken.saturating_add(receiver.overtaken());
            let ahead = of.highest.saturating_sub(of.expected);
            position.highest = position.highest.saturating_add(ahead);
            position.missing = position.missing.saturating_add(of.missing);
            position.kept = position.kept.saturating_add(of.kept);
            position.is_suspect |= of.is_suspect || state.is_late;
            position.is_holding |= of.is_holding;
        }
        position.has_ended = self.has_ended(0);
        (stat.answers, stat.overtaken) = (answers, overtaken);
        (stat.position, stat.gaps) = (position, self.common.gaps);
    }

    fn parts<'c, H: EventHandler>(
        &'c mut self,
        place: usize,
        handler: &'c mut H,
    ) -> (&'c mut Receiver<F>, ChannelDelivery<'c, F, H>) {
        let Channel { receiver, state, .. } = &mut self.channels[place];
        let (lines, framing) = (self.settings.session.lines, PhantomData);
        (receiver, ChannelDelivery { common: &mut self.common, state, handler, lines, framing })
    }

    #[inline]
    fn known(&self, key: u8) -> Option<usize> {
        usize::from(self.places[usize::from(key)]).checked_sub(1)
    }

    /// The place of a channel that begins with this packet; `None` if it is not believed, or there
    /// are too many.
    #[cold]
    fn admit(
        &mut self,
        peek: Peek,
        origin: PacketOrigin,
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) -> Option<usize> {
        let PacketOrigin::Line(line) = origin else { return None };
        if !self.is_believed(peek, line, bytes) {
            self.stray(origin);
            return None;
        }
        let key = peek.key;
        if self.channels.len() == MOST_CHANNELS {
            if !core::mem::replace(&mut self.has_too_many, true) {
                let what = format_args!("more than {MOST_CHANNELS} channels: others are left out");
                self.common.news.push(&what);
                handler.damage(Damage::Packet { offset: 0, reason: "too many channels" });
            }
            return None;
        }
        let receiver = Receiver::new(self.settings_of(key));
        let state = ChannelState::new::<F>(key);
        let before = [LineCounts::default(); MAX_LINES];
        self.channels.push(Channel { receiver, state, restarts: Restarts::default(), before });
        self.places[usize::from(key)] = self.channels.len() as u8;
        Some(self.channels.len() - 1)
    }

    /// Whether a packet of a new channel on a line shows that the channel is there. The only
    /// channel of a feed has key 0.
    fn is_believed(&mut self, peek: Peek, line: Line, bytes: &[u8]) -> bool {
        let key = usize::from(peek.key);
        if key == 0 || peek.first <= 1 || self.settings.has_images[key] {
            return true;
        }
        let Some(place) = F::place(bytes, peek.first) else { return false };
        let prospect = &mut self.prospects[key][line.index()];
        let follows = prospect.next == place.first;
        prospect.packets = if follows { prospect.packets.saturating_add(1) } else { 1 };
        prospect.next = place.next;
        prospect.packets >= BELIEVED_PACKETS
    }

    fn settings_of(&self, key: u8) -> SessionSettings {
        let SetSettings { session, has_images } = self.settings;
        let snapshots = session.snapshots.filter(|_| has_images[usize::from(key)]);
        SessionSettings { snapshots, ..session }
    }

    /// A packet of no channel.
    #[cold]
    fn stray(&mut self, origin: PacketOrigin) {
        if let PacketOrigin::Line(line) = origin {
            let strays = &mut self.strays[line.index()];
            *strays += 1;
            if *strays == 1 {
                let what = format_args!(
                    "line {line}: packets of another feed, or of a new channel that is not yet believed, \
                     are left out"
                );
                self.common.news.push(&what);
            }
        }
    }
}
