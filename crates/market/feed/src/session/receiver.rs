//! A session from the packets of all its lines: every message once and in order, or known as lost.
//!
//! Where: sockets and captures pass packets and the time; the owner gets messages, events and
//! requests through a [`SessionHandler`]. Sans-I/O: no socket, no clock, no thread.
//! Protocol, with `expected` as the number of the next message:
//!
//! ```text
//! packet [first, next) --> next <= expected: duplicate, counted, and a lap of the race
//!                      --> first <= expected, no gap: delivered from `expected` on
//!                      --> first > expected: a gap [expected, first), the packet is kept
//! gap --> another line or an overtaken packet within the hold time: filled, not reported
//!     --> declared --> requests --> snapshot --> lost
//! ```
//!
//! While messages are missing, later ones are kept and not delivered. A snapshot takes the place of
//! all messages before its number: the kept ones before it are delivered first, so that the owner
//! can compare its state with the snapshot at exactly that number.
//! Bounds: the memory of [`SessionSettings`], reserved at the beginning. What finds no room is
//! dropped and becomes missing again when a later packet shows it.
//! Cost: no allocation. A packet in order costs a check of its format, the counters of its line,
//! and one comparison.

use nanotape_wire::framing::numbered::{NumberedPacket, PacketFraming, PacketKind};

use super::{
    ahead::{AheadBuffer, Messages},
    event::{Line, PacketOrigin, SessionEvent, SessionHandler},
    gaps::Gaps,
    line::{LineCounts, LineState},
    race::Race,
    requests::Requests,
    settings::{Join, MAX_LINES, SessionSettings},
};

/// Packets of another session in a row after which a line has left the current one.
const MOVED_AFTER: u32 = 8;

/// The state of one session.
#[derive(Debug)]
pub struct Receiver<F: PacketFraming> {
    settings: SessionSettings,
    session: Option<F::Session>,
    /// The number of the next message to deliver.
    expected: u64,
    /// One above the highest number that is known to exist.
    highest: u64,
    /// Whether a packet that begins with `expected` can be delivered at once: nothing is missing,
    /// kept or held.
    is_straight: bool,
    /// Whether messages are kept until a snapshot comes.
    is_holding: bool,
    /// Whether messages are lost that no snapshot has replaced.
    is_suspect: bool,
    /// Whether the session waits for its first snapshot.
    is_joining: bool,
    is_ahead_full: bool,
    /// A packet far ahead, which is believed when another one follows it.
    jump: Option<(PacketOrigin, u64)>,
    end: Option<u64>,
    has_ended: bool,
    lines: [LineState; MAX_LINES],
    answers: LineState,
    race: Race,
    ahead: AheadBuffer,
    gaps: Gaps,
    requests: Option<Requests>,
    snapshot: SnapshotState,
    /// When [`tick`](Self::tick) has something to do.
    deadline_ns: u64,
    /// Messages that were missing and came within the hold time.
    overtaken: u64,
}

/// The attempt to get a snapshot.
#[derive(Clone, Copy, Debug)]
enum SnapshotState {
    Idle,
    /// Requested from the owner.
    Fetching {
        since_ns: u64,
        attempt: u32,
    },
    /// The owner has one, of a message that no line has brought yet.
    Early {
        next: u64,
        since_ns: u64,
    },
    /// None could be had; the next attempt begins then.
    Later {
        at_ns: u64,
    },
}

/// The position of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionPosition {
    /// The number of the next message to deliver.
    pub expected: u64,
    /// One above the highest number that is known to exist.
    pub highest: u64,
    /// Messages between them that are missing.
    pub missing: u64,
    /// Messages between them that are kept.
    pub kept: u64,
    /// Whether messages were lost that no snapshot has replaced.
    pub is_suspect: bool,
    /// Whether messages are kept until a snapshot comes.
    pub is_holding: bool,
    /// Whether the session has ended, with all its messages delivered or lost.
    pub has_ended: bool,
}

impl<F: PacketFraming> Receiver<F> {
    /// A receiver that has seen no packet yet, and joins the first session that it sees.
    pub fn new(settings: SessionSettings) -> Self {
        Self {
            settings,
            session: None,
            expected: 0,
            highest: 0,
            is_straight: false,
            is_holding: false,
            is_suspect: false,
            is_joining: false,
            is_ahead_full: false,
            jump: None,
            end: None,
            has_ended: false,
            lines: core::array::from_fn(|_| LineState::new()),
            answers: LineState::new(),
            race: Race::new(),
            ahead: AheadBuffer::with_capacity(settings.ahead_messages, settings.ahead_bytes),
            gaps: Gaps::new(),
            requests: settings.requests.map(Requests::new),
            snapshot: SnapshotState::Idle,
            deadline_ns: u64::MAX,
            overtaken: 0,
        }
    }

    /// The session; `None` before its first packet.
    pub fn session(&self) -> Option<F::Session> {
        self.session
    }

    /// Writes a request of this session to a re-request server, and returns its length. `None` if
    /// there is no session yet, or if its protocol has no requests.
    pub fn encode_request(&self, first: u64, count: u16, buffer: &mut [u8]) -> Option<usize> {
        F::encode_request(self.session?, first, count, buffer)
    }

    /// How far the session is.
    pub fn position(&self) -> SessionPosition {
        SessionPosition {
            expected: self.expected,
            highest: self.highest,
            missing: self.gaps.missing(),
            kept: self.ahead.count(),
            is_suspect: self.is_suspect,
            is_holding: self.is_holding,
            has_ended: self.has_ended,
        }
    }

    /// The counts of a line.
    pub fn line(&self, line: Line) -> &LineCounts {
        &self.lines[line.index()].counts
    }

    /// The counts of the answers of the re-request server.
    pub fn answers(&self) -> &LineCounts {
        &self.answers.counts
    }

    /// Messages that were missing and came within the hold time, from any line.
    pub fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// Gaps that are declared and not closed.
    pub fn open_gaps(&self) -> usize {
        self.gaps.declared()
    }

    /// When [`tick`](Self::tick) has something to do, in ns.
    #[inline]
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// Takes one packet, which was received at `ts_recv_ns`. `now_ns` is the time of the timers.
    #[inline]
    pub fn packet(
        &mut self,
        origin: PacketOrigin,
        (ts_recv_ns, now_ns): (u64, u64),
        bytes: &[u8],
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let line = self.line_mut(origin);
        line.counts.packets += 1;
        line.counts.bytes += bytes.len() as u64;
        if line.is_silent {
            self.resume(origin, now_ns, handler);
        }
        self.line_mut(origin).last_ns = now_ns;
        let packet = match F::decode(bytes) {
            Ok(packet) => packet,
            Err(malformed) => {
                let kind = malformed.kind();
                self.line_mut(origin).counts.malformed[kind as usize] += 1;
                return handler.event(&SessionEvent::Malformed { origin, kind });
            }
        };
        if self.session != Some(packet.session) && !self.adopts(origin, &packet, now_ns, handler) {
            return;
        }
        let (first, next) = (packet.first, packet.next());
        self.line_mut(origin).note(first, next);
        if let PacketOrigin::Line(line) = origin {
            handler.brought(line, first..next, ts_recv_ns);
        }
        if self.is_straight && first <= self.expected && packet.kind == PacketKind::Data {
            if next <= self.expected {
                return self.lap(origin, next, ts_recv_ns, handler);
            }
            let from = self.expected;
            self.count_first(origin, (from, next), ts_recv_ns);
            (self.expected, self.highest) = (next, next);
            return handler.messages(from..next, ts_recv_ns, messages_of(&packet, from));
        }
        self.out_of_order(origin, (ts_recv_ns, now_ns), &packet, handler);
    }

    /// Does what is due: declares gaps, repeats requests, gives up. The owner calls it when
    /// [`deadline_ns`](Self::deadline_ns) has passed; more often does no harm.
    pub fn tick(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        self.note_silence(now_ns, handler);
        self.settle(now_ns, handler);
    }

    /// The owner has a snapshot that takes the place of all messages before `next`. When all of
    /// them that lines still have are delivered, [`SessionHandler::snapshot`] is called. `false` if
    /// the snapshot is not needed any more, or older than what was delivered: then another one is
    /// fetched if it is needed.
    pub fn snapshot(
        &mut self,
        next: u64,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) -> bool {
        if !matches!(self.snapshot, SnapshotState::Fetching { .. }) {
            return false;
        }
        if next < self.expected && !self.is_joining {
            self.snapshot_failed(now_ns, handler);
            return false;
        }
        self.snapshot = SnapshotState::Early { next, since_ns: now_ns };
        self.settle(now_ns, handler);
        true
    }

    /// The owner could not get a snapshot: another one is tried, or the loss is accepted.
    pub fn snapshot_failed(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        self.try_again(now_ns, handler);
        self.settle(now_ns, handler);
    }

    /// No packet will come any more: what is missing is lost, and what is kept is delivered.
    pub fn close(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        (self.is_holding, self.is_joining, self.is_straight) = (false, false, false);
        self.snapshot = SnapshotState::Idle;
        self.declare(true, now_ns, handler);
        self.give_up(u64::MAX, now_ns, handler);
        self.drain(handler);
    }

    #[inline]
    fn line_mut(&mut self, origin: PacketOrigin) -> &mut LineState {
        match origin {
            PacketOrigin::Line(line) => &mut self.lines[line.index()],
            PacketOrigin::Retransmission => &mut self.answers,
        }
    }

    /// Counts the messages that this packet brought first.
    #[inline]
    fn count_first(&mut self, origin: PacketOrigin, (from, next): (u64, u64), ts_recv_ns: u64) {
        let counts = &mut self.line_mut(origin).counts;
        counts.first_messages += next - from;
        counts.first_packets += 1;
        if let PacketOrigin::Line(line) = origin {
            self.race.won(line, (from, next), ts_recv_ns);
        }
    }

    /// A packet without a new message: compares it with the first copy.
    #[inline]
    fn lap(
        &mut self,
        origin: PacketOrigin,
        next: u64,
        ts_recv_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        if let PacketOrigin::Line(line) = origin
            && let Some((winner, lead_ns)) = self.race.lead(line, next - 1, ts_recv_ns)
        {
            handler.raced(winner, lead_ns);
        }
    }

    /// Whether a packet of another session than the current one is taken: the first of all, and the
    /// first after the end of the current session.
    #[cold]
    #[inline(never)]
    fn adopts(
        &mut self,
        origin: PacketOrigin,
        packet: &NumberedPacket<'_, F>,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) -> bool {
        let is_line = matches!(origin, PacketOrigin::Line(_));
        let line = self.line_mut(origin);
        line.others = line.others.saturating_add(1);
        let is_news = line.others == 1;
        let is_over = self.session.is_none() || self.has_ended || self.is_deserted(now_ns);
        if !is_line || !is_over {
            self.line_mut(origin).counts.other_session += 1;
            if is_news {
                handler.event(&SessionEvent::OtherSession { origin, session: packet.session });
            }
            return false;
        }
        self.abandon(now_ns, handler);
        self.begin(packet, now_ns, handler);
        true
    }

    /// Whether all lines left the session without its end: each is silent, never had a packet of it
    /// or had several packets of another one in a row. A single one may be a stray.
    fn is_deserted(&self, now_ns: u64) -> bool {
        let has_moved = |line: &LineState| line.others >= MOVED_AFTER;
        let lines = &self.lines[..self.settings.lines.clamp(1, MAX_LINES)];
        lines.iter().any(has_moved)
            && lines.iter().all(|line| {
                let idle_ns = now_ns.saturating_sub(line.last_ns);
                has_moved(line) || line.next == 0 || idle_ns > self.settings.silence_ns
            })
    }

    /// Ends the current session: what it still lacks is lost.
    fn abandon(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        if self.session.is_none() {
            return;
        }
        self.close(now_ns, handler);
        self.conclude(self.expected, handler);
    }

    fn begin(
        &mut self,
        packet: &NumberedPacket<'_, F>,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        self.session = Some(packet.session);
        self.ahead.clear();
        self.requests.iter_mut().for_each(Requests::clear);
        for line in &mut self.lines {
            line.begin_session();
            line.others = 0;
        }
        self.answers.begin_session();
        self.race = Race::new();
        (self.end, self.has_ended, self.is_suspect, self.jump) = (None, false, false, None);
        self.expected = match self.settings.join {
            Join::Start => 1,
            Join::Here | Join::Snapshot => packet.first.max(1),
        };
        self.highest = self.expected;
        self.snapshot = SnapshotState::Idle;
        handler.event(&SessionEvent::Joined { session: packet.session, next: self.expected });
        let has_snapshots = self.settings.snapshots.is_some();
        self.is_joining =
            self.expected > 1 && self.settings.join == Join::Snapshot && has_snapshots;
        if self.is_joining {
            self.fetch(1, now_ns, handler);
        }
        self.settle(now_ns, handler);
    }
}

/// The messages of a packet from a number on.
#[inline(always)]
fn messages_of<'a, F: PacketFraming>(
    packet: &NumberedPacket<'a, F>,
    from: u64,
) -> impl Messages<'a> {
    packet.messages_from(from).map(|(_, message)| message)
}

/// What follows a packet out of order, a timer or a snapshot.
mod recovery;
