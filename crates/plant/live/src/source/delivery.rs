//! From a session to the events of a plant: passes messages, counts, queues requests, and reports
//! the rest.
//!
//! Bounds: [`MOST_REQUESTS`] requests wait to be sent; a session has fewer in flight.

use core::{fmt, mem, ops::ControlFlow};
use std::collections::VecDeque;

use nanotape_board::no_times;
use nanotape_feed::{
    handle_messages, handle_out_of_turn,
    session::{
        GapCounts, GapReport, Line, MAX_LINES, Messages, Numbers, SessionEvent, SessionHandler,
    },
    venues::NASDAQ_ITCH,
};
use nanotape_market::{Damage, EventHandler, MarketSnapshot, SessionChange, Suspect, Turn};
use nanotape_trace::Histogram;

use super::news::{News, NewsLine};

/// Requests that can wait to be sent.
const MOST_REQUESTS: usize = 64;

/// A session's handler that passes its messages to a handler of events, and queues requests.
#[derive(Debug)]
pub struct Delivery<'h, H> {
    pub(super) handler: &'h mut H,
    /// Whether the handler ended the reading: nothing is delivered after it.
    pub flow: ControlFlow<()>,
    /// Messages delivered.
    pub messages: u64,
    /// Messages that were skipped.
    pub missing: u64,
    /// The number of the first message that was delivered; 0 before it.
    pub(super) first: u64,
    /// Whether the session ended.
    pub(super) has_ended: bool,
    /// Whether the session needs a snapshot, and its fetch has not begun.
    pub(super) needs_snapshot: bool,
    /// Whether the session had begun before it was joined, and no snapshot has what was before.
    pub(super) is_late: bool,
    /// The snapshot that the receiver was given the number of.
    pub snapshot: Option<Box<MarketSnapshot>>,
    /// Declared gaps, and those of them that were closed.
    pub(super) gaps: GapCounts,
    /// By how much each line was ahead of another, in ns.
    pub(super) leads: [Histogram; MAX_LINES],
    pub(super) news: News,
    /// Whether messages are missing that no snapshot has replaced.
    is_lossy: bool,
    is_suspect: bool,
    last_gap: Suspect,
    /// The messages after a gap that were shown ahead of their turn, and have not come again.
    ahead: VecDeque<Numbers>,
    /// Whether a snapshot ends the suspicion when these have come again.
    is_restored: bool,
    requests: Vec<(u64, u16)>,
}

impl<'h, H: EventHandler> Delivery<'h, H> {
    /// Delivers to this handler, with the times of a day that begins at this time, in ns since the
    /// UNIX epoch.
    pub fn new(handler: &'h mut H, day_begins_ns: u64) -> Self {
        handler.venue(NASDAQ_ITCH);
        handler.day_begins(day_begins_ns);
        Self {
            handler,
            flow: ControlFlow::Continue(()),
            messages: 0,
            missing: 0,
            first: 0,
            has_ended: false,
            needs_snapshot: false,
            is_late: false,
            snapshot: None,
            gaps: GapCounts::default(),
            leads: core::array::from_fn(|_| no_times()),
            news: News::default(),
            is_lossy: false,
            is_suspect: false,
            last_gap: Suspect::default(),
            ahead: VecDeque::new(),
            is_restored: false,
            requests: Vec::with_capacity(MOST_REQUESTS),
        }
    }

    /// The requests to send, as first number and count. They are forgotten.
    pub(super) fn take_requests(&mut self) -> impl Iterator<Item = (u64, u16)> + use<'_, 'h, H> {
        self.requests.drain(..)
    }

    /// Any book may lack messages; reported once.
    fn suspect(&mut self, suspect: Suspect) {
        if !mem::replace(&mut self.is_suspect, true) {
            self.handler.session(&SessionChange::Suspect(suspect));
        }
    }

    fn gap_closed(&mut self, report: &GapReport) {
        let GapReport { gap, closed_ns, fills, .. } = report;
        self.gaps.closed += 1;
        self.gaps.fills.add(fills);
        self.gaps.longest_ns = self.gaps.longest_ns.max(closed_ns.saturating_sub(gap.seen_ns));
        self.handler.session(&SessionChange::GapClosed(report.market_gap()));
        if self.ahead.is_empty() {
            self.complete(gap.numbers.end);
        }
    }

    /// No book lacks any message before `next`, if none is lost and no gap is open.
    fn complete(&mut self, next: u64) {
        if !self.is_lossy && self.gaps.declared == self.gaps.closed {
            self.is_suspect = false;
            self.handler.session(&SessionChange::Complete { next });
        }
    }

    /// Every book is that of a snapshot, with the messages after it.
    fn restored(&mut self, next: u64) {
        self.is_suspect = false;
        self.handler.session(&SessionChange::Restored { next });
        if self.gaps.declared > self.gaps.closed {
            // A later gap is open.
            self.suspect(self.last_gap);
        }
    }

    #[inline(always)]
    fn deliver<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        self.messages += numbers.end - numbers.start;
        self.handler.received(ts_recv_ns);
        self.flow = handle_messages(numbers.start, messages, self.handler);
    }

    /// Delivers messages of which later ones were shown ahead; returns the number after them.
    #[cold]
    fn catch_up<'a>(&mut self, numbers: Numbers, mut messages: impl Messages<'a>) -> u64 {
        let mut start = numbers.start;
        while start < numbers.end
            && self.flow.is_continue()
            && let Some(next) = self.ahead.front().cloned()
        {
            let (turn, end) = if start < next.start {
                (Turn::Missed, numbers.end.min(next.start))
            } else {
                (Turn::Again, numbers.end.min(next.end))
            };
            let count = end - start;
            let these = messages.clone().take(count as usize);
            self.flow = handle_out_of_turn(start, these, turn, self.handler);
            self.messages += if turn == Turn::Missed { count } else { 0 };
            messages.by_ref().take(count as usize).for_each(drop);
            start = end;
            if end == next.end {
                self.ahead.pop_front();
                if self.ahead.is_empty() {
                    self.caught_up(end);
                }
            }
        }
        start
    }

    /// All messages that were shown ahead have come again.
    fn caught_up(&mut self, next: u64) {
        let is_whole = !self.is_lossy;
        self.handler.caught_up(next, is_whole);
        // What is lost after a snapshot needs another one.
        if mem::take(&mut self.is_restored) && is_whole {
            self.restored(next);
        } else {
            self.complete(next);
        }
    }
}

impl<S: fmt::Display, H: EventHandler> SessionHandler<S> for Delivery<'_, H> {
    #[inline]
    fn messages<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        if self.flow.is_break() {
            return;
        }
        if self.first == 0 {
            self.first = numbers.start;
        }
        if !self.ahead.is_empty() {
            self.handler.received(ts_recv_ns);
            let next = self.catch_up(numbers.clone(), messages.clone());
            if next < numbers.end && self.flow.is_continue() {
                let rest = messages.skip((next - numbers.start) as usize);
                self.deliver(next..numbers.end, ts_recv_ns, rest);
            }
            return;
        }
        self.deliver(numbers, ts_recv_ns, messages);
    }

    fn ahead<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        if self.flow.is_break() {
            return;
        }
        if self.ahead.is_empty() {
            self.handler.session(&SessionChange::GoesOn);
        }
        self.messages += numbers.end - numbers.start;
        self.handler.received(ts_recv_ns);
        self.flow = handle_out_of_turn(numbers.start, messages, Turn::Ahead, self.handler);
        match self.ahead.back_mut() {
            Some(last) if last.end == numbers.start => last.end = numbers.end,
            _ => self.ahead.push_back(numbers),
        }
    }

    fn skipped(&mut self, numbers: Numbers) {
        self.missing = self.missing.saturating_add(numbers.end - numbers.start);
        self.is_lossy = true;
        self.handler.damage(Damage::Missing { first: numbers.start, next: numbers.end });
    }

    fn snapshot(&mut self, next: u64) {
        (self.is_lossy, self.is_late) = (false, false);
        let snapshot = self.snapshot.take();
        if self.ahead.is_empty() {
            snapshot.iter().for_each(|snapshot| self.handler.restore(snapshot));
            return self.restored(next);
        }
        snapshot.iter().for_each(|snapshot| self.handler.restore_behind(snapshot));
        self.is_restored = true;
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
        self.handler.brought(line.index(), numbers, ts_recv_ns);
    }

    #[inline(always)]
    fn raced(&mut self, winner: Line, lead_ns: u64) {
        self.leads[winner.index()].record(lead_ns);
    }

    fn event(&mut self, event: &SessionEvent<S>) {
        match event {
            SessionEvent::Malformed { kind, origin } => {
                // Counted for its line. Whether messages are missing is another question.
                return self.news.push(&format_args!("{origin}: packet dropped: {}", kind.name()));
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
                self.handler.session(&SessionChange::GapDeclared(gap.market_gap()));
                let Numbers { start: first, end: next } = gap.numbers;
                self.last_gap = Suspect { first, next, is_late_join: false };
                self.suspect(self.last_gap);
            }
            SessionEvent::GapClosed(report) => self.gap_closed(report),
            _ => {}
        }
        let is_problem = is_problem(event);
        self.news.add(|| NewsLine { text: event.to_string(), is_problem });
    }
}

/// Whether an event of a session is something wrong, and not its usual course or the end of it.
pub(crate) fn is_problem<S>(event: &SessionEvent<S>) -> bool {
    match event {
        SessionEvent::Joined { next, .. } => *next > 1,
        SessionEvent::GapClosed(report) => report.fills.lost > 0,
        SessionEvent::Resumed { .. } | SessionEvent::Ended { .. } => false,
        _ => true,
    }
}
