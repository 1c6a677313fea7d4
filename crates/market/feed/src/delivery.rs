//! From a session to the consumer of its messages: what to deliver goes on, what to do is queued.
//!
//! Where: the [`SessionHandler`] of live sources.
//! Bounds: [`MOST_REQUESTS`] requests wait to be sent; a session has fewer in flight.

use core::{fmt, ops::ControlFlow};

use nanotape_market::{Damage, EventHandler, MarketSnapshot, SessionChange, Suspect};

use nanotape_wire::framing::numbered::MalformedKind;

use crate::{
    events::handle_messages,
    session::{
        Fills, GapReport, Line, Messages, Numbers, PacketOrigin, SessionEvent, SessionHandler,
    },
};

/// Requests that can wait to be sent.
const MOST_REQUESTS: usize = 64;

/// Receives the messages of a session.
pub trait MessageSink {
    /// Consecutive messages from number `first`, received at `ts_recv_ns`. `Break` ends reading.
    fn messages<'a>(
        &mut self,
        first: u64,
        ts_recv_ns: u64,
        messages: impl Messages<'a>,
    ) -> ControlFlow<()>;

    /// Something is missing or was dropped.
    fn damage(&mut self, damage: Damage);

    /// The source was idle for its whole patience. `Break` ends the reading.
    fn idle(&mut self) -> ControlFlow<()>;

    /// A packet does not follow its format, and was dropped. Its messages may come from elsewhere.
    fn malformed(&mut self, origin: PacketOrigin, kind: MalformedKind) {
        let _ = origin;
        self.damage(Damage::Packet { offset: 0, reason: kind.name() });
    }

    /// Messages are missing, or came after all.
    fn session(&mut self, change: &SessionChange) {
        let _ = change;
    }

    /// The snapshot takes the place of all earlier messages.
    fn restore(&mut self, snapshot: &MarketSnapshot) {
        let _ = snapshot;
    }

    /// A line brought the messages with these numbers, first or again.
    #[inline(always)]
    fn brought(&mut self, line: Line, numbers: Numbers, ts_recv_ns: u64) {
        let _ = (line, numbers, ts_recv_ns);
    }

    /// Two lines brought the same message, `winner` by `lead_ns` earlier.
    #[inline(always)]
    fn raced(&mut self, winner: Line, lead_ns: u64) {
        let _ = (winner, lead_ns);
    }

    /// Something that an operator may want to know; `is_problem` if something is wrong.
    fn news(&mut self, news: &dyn fmt::Display, is_problem: bool) {
        let _ = (news, is_problem);
    }
}

/// Turns the messages of a session into events for a handler.
#[derive(Debug)]
pub struct EventSink<'h, H>(pub &'h mut H);

impl<H: EventHandler> MessageSink for EventSink<'_, H> {
    #[inline]
    fn messages<'a>(
        &mut self,
        first: u64,
        ts_recv_ns: u64,
        messages: impl Messages<'a>,
    ) -> ControlFlow<()> {
        self.0.received(ts_recv_ns);
        handle_messages(first, messages, self.0)
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

/// A session's handler that passes messages to a sink, and queues requests.
#[derive(Debug)]
pub struct Delivery<T> {
    /// The consumer.
    pub sink: T,
    /// Whether the consumer ended the reading: nothing is delivered after it.
    pub flow: ControlFlow<()>,
    /// The number of the first message that was delivered; 0 before it.
    pub first: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Messages that were skipped.
    pub missing: u64,
    /// Whether the session ended.
    pub has_ended: bool,
    /// Whether the session needs a snapshot, and its fetch has not begun.
    pub needs_snapshot: bool,
    /// Whether the session had begun before it was joined, and no snapshot has what was before.
    pub is_late: bool,
    /// The snapshot that the owner gave the number of.
    pub snapshot: Option<Box<MarketSnapshot>>,
    /// Declared gaps, and those of them that were closed.
    pub gaps: GapCounts,
    /// Whether messages are missing that no snapshot has replaced.
    is_lossy: bool,
    is_suspect: bool,
    last_gap: Suspect,
    requests: Vec<(u64, u16)>,
}

/// Gaps of a session, and what filled them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapCounts {
    /// Declared gaps.
    pub declared: u64,
    /// Gaps that are closed.
    pub closed: u64,
    /// What became of the messages of closed gaps.
    pub fills: Fills,
    /// The longest time that a gap was open, in ns.
    pub longest_ns: u64,
}

impl<T: MessageSink> Delivery<T> {
    /// Delivers to this sink.
    pub fn new(sink: T) -> Self {
        Self {
            sink,
            flow: ControlFlow::Continue(()),
            first: 0,
            messages: 0,
            missing: 0,
            has_ended: false,
            needs_snapshot: false,
            is_late: false,
            snapshot: None,
            gaps: GapCounts::default(),
            is_lossy: false,
            is_suspect: false,
            last_gap: Suspect::default(),
            requests: Vec::with_capacity(MOST_REQUESTS),
        }
    }

    /// The requests to send, as first number and count. They are forgotten.
    pub fn take_requests(&mut self) -> impl Iterator<Item = (u64, u16)> + '_ {
        self.requests.drain(..)
    }
}

impl<S: fmt::Display, T: MessageSink> SessionHandler<S> for Delivery<T> {
    #[inline]
    fn messages<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        if self.flow.is_break() {
            return;
        }
        if self.first == 0 {
            self.first = numbers.start;
        }
        self.messages += numbers.end - numbers.start;
        self.flow = self.sink.messages(numbers.start, ts_recv_ns, messages);
    }

    fn skipped(&mut self, numbers: Numbers) {
        self.missing = self.missing.saturating_add(numbers.end - numbers.start);
        self.is_lossy = true;
        self.sink.damage(Damage::Missing { first: numbers.start, next: numbers.end });
    }

    fn snapshot(&mut self, next: u64) {
        if let Some(snapshot) = self.snapshot.take() {
            self.sink.restore(&snapshot);
        }
        (self.is_lossy, self.is_suspect, self.is_late) = (false, false, false);
        self.sink.session(&SessionChange::Restored { next });
        if self.gaps.declared > self.gaps.closed {
            // A later gap is open.
            self.suspect(self.last_gap);
        }
    }

    fn request(&mut self, _: S, first: u64, count: u16) {
        // A request that finds no room is repeated after its timeout.
        if self.requests.len() < MOST_REQUESTS {
            self.requests.push((first, count));
        }
    }

    fn fetch_snapshot(&mut self, _: u64) {
        self.needs_snapshot = true;
    }

    #[inline(always)]
    fn brought(&mut self, line: Line, numbers: Numbers, ts_recv_ns: u64) {
        self.sink.brought(line, numbers, ts_recv_ns);
    }

    #[inline(always)]
    fn raced(&mut self, winner: Line, lead_ns: u64) {
        self.sink.raced(winner, lead_ns);
    }

    fn event(&mut self, event: &SessionEvent<S>) {
        match event {
            SessionEvent::Malformed { kind, origin } => {
                return self.sink.malformed(*origin, *kind);
            }
            SessionEvent::Joined { next, .. } => {
                self.has_ended = false;
                (self.is_lossy, self.is_late) = (*next > 1, *next > 1);
                if *next > 1 {
                    self.suspect(Suspect { first: 1, next: *next, is_late_join: true });
                }
            }
            SessionEvent::Ended { .. } => self.has_ended = true,
            SessionEvent::GapDeclared(gap) => {
                self.gaps.declared += 1;
                self.sink.session(&SessionChange::GapDeclared(gap.market_gap()));
                let Numbers { start: first, end: next } = gap.numbers;
                self.last_gap = Suspect { first, next, is_late_join: false };
                self.suspect(self.last_gap);
            }
            SessionEvent::GapClosed(report) => self.gap_closed(report),
            _ => {}
        }
        self.sink.news(event, is_problem(event));
    }
}

/// Whether an event of a session is something wrong, and not its usual course or the end of it.
fn is_problem<S>(event: &SessionEvent<S>) -> bool {
    match event {
        SessionEvent::Joined { next, .. } => *next > 1,
        SessionEvent::GapClosed(report) => report.fills.lost > 0,
        SessionEvent::Resumed { .. } | SessionEvent::Ended { .. } => false,
        _ => true,
    }
}

impl<T: MessageSink> Delivery<T> {
    /// Any book may lack messages; reported once.
    fn suspect(&mut self, suspect: Suspect) {
        if !core::mem::replace(&mut self.is_suspect, true) {
            self.sink.session(&SessionChange::Suspect(suspect));
        }
    }

    fn gap_closed(&mut self, report: &GapReport) {
        let GapReport { gap, closed_ns, fills, .. } = report;
        self.gaps.closed += 1;
        self.gaps.fills.add(fills);
        self.gaps.longest_ns = self.gaps.longest_ns.max(closed_ns.saturating_sub(gap.seen_ns));
        self.sink.session(&SessionChange::GapClosed(report.market_gap()));
        if !self.is_lossy && self.gaps.declared == self.gaps.closed {
            self.is_suspect = false;
            self.sink.session(&SessionChange::Complete { next: gap.numbers.end });
        }
    }
}
