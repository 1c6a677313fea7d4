//! A session from the packets of all its lines: every message once and in order, or known as lost.
//!
//! Where: sockets and captures pass packets and the time; the owner gets messages, events and
//! requests through a [`SessionHandler`]. Sans-I/O: no socket, no clock, no thread.
//! Protocol, with `expected` as the number of the next message:
//!
//! ```text
//! packet [first, next) --> next <= expected: duplicate, counted, and a lap of the race
//!                      --> first <= expected, no gap: delivered from `expected` on
//!                      --> first <= highest: fills a gap, or is kept behind one
//!                      --> first > highest: kept apart until another packet or a server agrees,
//!                          then a gap [highest, first)
//! gap --> another line or an overtaken packet within the hold time: filled, not reported
//!     --> declared --> requests --> snapshot --> lost
//! session --> the first, or the next after an end or a silence of all lines: its packets are kept
//!             until it is believed, then delivered from the lowest number on
//! ```
//!
//! Two times come with a packet: when it was received, and the time up to which the owner has read
//! all lines. Ages of gaps are judged by these, so a packet that waits in the buffer of a socket
//! while the owner is not scheduled is not given up.
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
    candidates::Candidates,
    doubts::Doubts,
    event::{Line, PacketOrigin, SessionEvent, SessionHandler},
    gaps::Gaps,
    line::{LineCounts, LineState},
    race::Race,
    requests::Requests,
    settings::{MAX_LINES, SessionSettings},
};

/// The bytes of the largest datagram of UDP, over IPv6.
const MOST_DATAGRAM_BYTES: usize = 65_527;

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
    /// One above the highest number of the messages that were shown ahead of their turn.
    shown: u64,
    is_ahead_full: bool,
    /// Packets above all known numbers.
    doubts: Doubts,
    /// The first number of the last request because of them, and when it was sent, in ns.
    probed: (u64, u64),
    /// Other sessions.
    candidates: Candidates<F::Session>,
    /// Their packets up to this time were counted with the session before, in ns.
    counted_ns: u64,
    /// A packet that is taken out of the doubts.
    admitted: Vec<u8>,
    end: Option<End>,
    has_ended: bool,
    /// When it had, in ns.
    ended_ns: u64,
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
    /// The hold time before the last new message was received, in ns.
    early_ns: u64,
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
            shown: 0,
            is_ahead_full: false,
            doubts: Doubts::new(),
            probed: (0, 0),
            candidates: Candidates::new(),
            counted_ns: 0,
            admitted: Vec::with_capacity(MOST_DATAGRAM_BYTES),
            end: None,
            has_ended: false,
            ended_ns: 0,
            lines: core::array::from_fn(|_| LineState::new()),
            answers: LineState::new(),
            race: Race::new(),
            ahead: AheadBuffer::with_capacity(settings.ahead_messages, settings.ahead_bytes),
            gaps: Gaps::new(),
            requests: settings.requests.map(Requests::new),
            snapshot: SnapshotState::Idle,
            deadline_ns: u64::MAX,
            overtaken: 0,
            early_ns: 0,
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

    /// From the first message that is missing in declared gaps to the number after the last one.
    pub fn missing(&self) -> core::ops::Range<u64> {
        let to = self.gaps.declared_to();
        self.gaps.first_part(0..to).map_or(0..0, |first| first.start..to)
    }

    /// The counts of a line.
    pub fn line(&self, line: Line) -> &LineCounts {
        &self.lines[line.index()].counts
    }

    /// One above the highest number that a line brought of the session; 0 before its first packet.
    #[inline]
    pub fn line_next(&self, line: Line) -> u64 {
        self.lines[line.index()].next
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

    /// Takes one packet, which was received at `ts_recv_ns`. Until `now_ns` all lines were read: it
    /// is the time of the timers.
    #[inline]
    pub fn packet(
        &mut self,
        origin: PacketOrigin,
        times: (u64, u64),
        bytes: &[u8],
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let line = self.line_mut(origin);
        line.counts.packets += 1;
        line.counts.bytes += bytes.len() as u64;
        if line.is_silent {
            self.resume(origin, times.0, handler);
        }
        let line = self.line_mut(origin);
        line.last_ns = line.last_ns.max(times.0);
        let packet = match F::decode(bytes) {
            // Messages without numbers are not of the sequence.
            Ok(packet) if F::HAS_UNSEQUENCED && packet.kind == PacketKind::Unsequenced => return,
            Ok(packet) => packet.nearest(self.expected),
            Err(malformed) => {
                let kind = malformed.kind();
                self.line_mut(origin).counts.malformed[kind as usize] += 1;
                return handler.event(&SessionEvent::Malformed { origin, kind });
            }
        };
        if self.session != Some(packet.session) {
            return self.other_session(origin, times.0, &packet, bytes, handler);
        }
        self.of_session(origin, times, &packet, bytes, handler);
    }

    /// Takes a packet of the current session.
    #[inline(always)]
    fn of_session(
        &mut self,
        origin: PacketOrigin,
        times: (u64, u64),
        packet: &NumberedPacket<'_, F>,
        bytes: &[u8],
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let (first, next) = (packet.first, packet.next());
        let is_next = self.is_straight && first <= self.expected;
        if is_next && packet.kind == PacketKind::Data && times.0 >= self.early_ns {
            self.line_mut(origin).note(first, next);
            if let PacketOrigin::Line(line) = origin {
                handler.brought(line, first..next, times.0);
            }
            if next <= self.expected {
                return self.lap(origin, next, times.0, handler);
            }
            let from = self.expected;
            self.count_first(origin, (from, next), times.0);
            (self.expected, self.highest) = (next, next);
            return handler.messages(from..next, times.0, messages_of(packet, from));
        }
        self.out_of_order(origin, times, packet, bytes, handler);
    }

    /// Does what is due: declares gaps, repeats requests, gives up. The owner calls it when
    /// [`deadline_ns`](Self::deadline_ns) has passed; more often does no harm.
    pub fn tick(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        if self.session.is_none() || self.has_ended {
            self.join(now_ns, false, handler);
        } else if self.is_deserted(now_ns) {
            self.abandon(now_ns, handler);
        }
        self.note_silence(now_ns, handler);
        self.settle(now_ns, handler);
    }

    /// For how long the gap of message `number` has been known, in ns; `None` if it is not missing.
    pub fn missing_ns(&self, number: u64, now_ns: u64) -> Option<u64> {
        self.gaps.gap_of(number).map(|gap| now_ns.saturating_sub(gap.seen_ns))
    }

    /// A server has refused to send message `first` again: its gap is closed in another way, by a
    /// snapshot or as a loss. While an earlier gap is open that no snapshot closes, this has no
    /// effect: the request is repeated, and refused again.
    pub fn refused(
        &mut self,
        first: u64,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        self.refuse(first, now_ns, handler);
        self.settle(now_ns, handler);
    }

    /// The owner has a snapshot that takes the place of all messages before `next`. When all of
    /// them that lines still have are delivered, [`SessionHandler::snapshot`] is called. One that
    /// has the first missing messages and not the last ones closes a part of the gaps. `false` if
    /// the snapshot is not needed any more, or has nothing of what is missing: then another one is
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
        let missing = self.gaps.first_part(0..self.gaps.declared_to());
        let is_useful = match missing.filter(|_| !self.is_suspect) {
            Some(missing) => next > missing.start,
            None => next >= self.expected,
        };
        if !is_useful && !self.is_joining {
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
        if self.session.is_none() {
            self.join(now_ns, true, handler);
        }
        (self.is_holding, self.is_joining, self.is_straight) = (false, false, false);
        self.snapshot = SnapshotState::Idle;
        self.believe_last(now_ns, handler);
        self.declare(true, now_ns, handler);
        self.give_up(u64::MAX, now_ns, handler);
        self.disbelieve_all(handler);
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
            self.early_ns = ts_recv_ns.saturating_sub(self.settings.hold_ns);
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

mod belief;
mod ending;
use ending::End;
mod joining;
pub use joining::NextSession;
mod restarting;
