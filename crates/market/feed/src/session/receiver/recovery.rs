//! What follows a packet out of order, a timer or a snapshot: gaps, requests, snapshots, losses.

use nanotape_wire::framing::numbered::{NumberedPacket, PacketFraming};

use super::{
    super::{
        event::{Fill, Gap, Line, PacketOrigin, SessionEvent, SessionHandler},
        line::LineState,
        ranges::Numbers,
        requests::{Pumped, Requests},
        settings::{GapPolicy, MAX_LINES},
    },
    Receiver, SnapshotState,
};

/// How long a snapshot waits for the messages before it, which lines may still bring.
const EARLY_NS: u64 = 2_000_000_000;

impl<F: PacketFraming> Receiver<F> {
    /// A packet that cannot be delivered at once: it is a duplicate, has no messages, comes after a
    /// gap or fills one, messages are held, or a number above it is in doubt.
    #[cold]
    #[inline(never)]
    pub(super) fn out_of_order(
        &mut self,
        origin: PacketOrigin,
        (ts_recv_ns, now_ns): (u64, u64),
        packet: &NumberedPacket<'_, F>,
        bytes: &[u8],
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        self.line_mut(origin).others = 0;
        if self.has_ended {
            return;
        }
        if packet.first > self.highest || self.is_early(origin, packet, ts_recv_ns) {
            self.doubt(origin, ts_recv_ns.max(now_ns), packet, bytes, handler);
        } else {
            let is_late = packet.next() < self.line_mut(origin).next;
            let before = (self.highest, is_late);
            // The clock of a card may be behind that of the timers.
            let seen_ns = ts_recv_ns.max(now_ns);
            self.take(origin, (ts_recv_ns, seen_ns, now_ns), packet, handler);
            self.weigh_doubts(origin, (ts_recv_ns, now_ns), (packet, bytes), before, handler);
        }
        self.settle(now_ns, handler);
    }

    /// Takes a packet whose numbers are believed, and that was received at `ts_recv_ns`: for timers
    /// at `seen_ns`.
    pub(super) fn take(
        &mut self,
        origin: PacketOrigin,
        (ts_recv_ns, seen_ns, now_ns): (u64, u64, u64),
        packet: &NumberedPacket<'_, F>,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let (first, next) = (packet.first, packet.next());
        self.line_mut(origin).note(first, next);
        if let PacketOrigin::Line(line) = origin {
            handler.brought(line, first..next, ts_recv_ns);
        }
        self.note_end(origin, packet.kind, (first, next), seen_ns);
        if first > self.highest && !self.open_gap(first, (origin, seen_ns)) {
            return;
        }
        if origin == PacketOrigin::Retransmission && self.highest < next {
            // No line brought these; they were requested because of a packet in doubt.
            self.open_gap(next, (origin, seen_ns));
            self.declare(true, now_ns, handler);
        }
        if next.saturating_sub(self.expected) > self.ahead.window() && !self.can_recover() {
            // What is missing comes from nowhere, and these messages would find no room behind it.
            self.declare(true, now_ns, handler);
            self.give_up(first, now_ns, handler);
            self.drain(handler);
        }
        let kept_to = self.keep(packet, ts_recv_ns);
        if kept_to < next && !core::mem::replace(&mut self.is_ahead_full, true) {
            handler.event(&SessionEvent::AheadFull { number: kept_to });
        }
        self.is_ahead_full &= kept_to < next;
        let is_known = self.gaps.first_part(first..kept_to).is_none() && kept_to <= self.highest;
        if is_known && first < next {
            self.lap(origin, next, ts_recv_ns, handler);
        } else if first < kept_to {
            let missing = self.gaps.parts(first..kept_to).map(|part| part.end - part.start);
            let new = missing.sum::<u64>() + kept_to.saturating_sub(self.highest.max(first));
            self.count_first(origin, (kept_to - new, kept_to), ts_recv_ns);
            if origin == PacketOrigin::Retransmission {
                self.requests.iter_mut().for_each(Requests::note_answer);
            }
            self.fill(first..kept_to, Fill::By(origin), seen_ns.max(now_ns), handler);
            self.highest = self.highest.max(kept_to);
        }
        if next > self.highest {
            // There was no room for these: they are missing.
            self.open_gap(next, (origin, seen_ns));
        }
    }

    /// Opens a gap before `first`, which is above all known numbers; `false` if there is no room.
    pub(super) fn open_gap(&mut self, first: u64, (seen_by, seen_ns): (PacketOrigin, u64)) -> bool {
        let has_room = self.gaps.open(Gap { numbers: self.highest..first, seen_ns, seen_by });
        if has_room {
            self.highest = first;
        }
        has_room
    }

    fn can_recover(&self) -> bool {
        self.requests.is_some() || self.settings.snapshots.is_some()
    }

    /// Keeps the messages of a packet that are missing or new, and returns the number up to which
    /// there was room.
    fn keep(&mut self, packet: &NumberedPacket<'_, F>, ts_recv_ns: u64) -> u64 {
        let (first, next) = (packet.first.max(self.expected), packet.next());
        let known = self.gaps.parts(first..next.min(self.highest));
        let new = self.highest.max(first)..next;
        for Numbers { start, end } in known.chain([new]) {
            let messages = packet.messages_from(start).take(end.saturating_sub(start) as usize);
            for (number, message) in messages {
                if !self.ahead.store(self.expected, number, ts_recv_ns, message) {
                    return number;
                }
            }
        }
        next
    }

    /// These numbers are not missing any more.
    fn fill(
        &mut self,
        numbers: Numbers,
        how: Fill,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let in_time = self.gaps.fill(numbers, how, now_ns, |report| {
            handler.event(&SessionEvent::GapClosed(report));
        });
        if matches!(how, Fill::By(_)) {
            self.overtaken += in_time;
        }
    }

    /// Brings everything up to date after a change or after time passed.
    pub(super) fn settle(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        self.believe(now_ns, handler);
        self.declare(false, now_ns, handler);
        self.request(now_ns, handler);
        let was_holding = self.is_holding;
        self.check_snapshot(now_ns, handler);
        if was_holding && !self.is_holding {
            // No snapshot is on its way any more.
            self.request(now_ns, handler);
        }
        self.probe(now_ns, handler);
        self.drain(handler);
        if self.settings.gap_policy == GapPolicy::Flag && !self.is_joining {
            self.show_ahead(handler);
        }
        // A snapshot, or the end of the wait for one, also closes gaps.
        if self.gaps.declared() == 0 {
            self.requests.iter_mut().for_each(Requests::clear);
        }
        self.check_end(now_ns, handler);
        self.is_straight = !self.is_holding
            && !self.has_ended
            && self.end.is_none()
            && self.gaps.is_empty()
            && self.doubts.is_empty()
            && self.expected == self.highest;
        self.deadline_ns = self.next_deadline_ns(now_ns);
    }

    /// Declares gaps that no line has filled in time, or `all`.
    pub(super) fn declare(
        &mut self,
        all: bool,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        while let Some(gap) = self.gaps.undeclared() {
            let is_old = now_ns.saturating_sub(gap.seen_ns) >= self.settings.hold_ns;
            let passed = gap.numbers.end.saturating_add(self.settings.reorder_messages);
            if !all && !is_old && !self.lines().iter().all(|line| line.next >= passed) {
                break;
            }
            handler.event(&SessionEvent::GapDeclared(gap.clone()));
            self.gaps.declare();
        }
    }

    /// Requests what is missing, unless a snapshot is on its way.
    fn request(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        while !self.is_holding && self.gaps.declared() > 0 {
            let (Some(requests), Some(session)) = (&mut self.requests, self.session) else {
                return self.escalate(self.gaps.declared_to(), now_ns, handler);
            };
            let is_last = matches!(self.snapshot, SnapshotState::Later { .. })
                || self.settings.snapshots.is_none();
            let pumped = requests.pump(&mut self.gaps, is_last, now_ns, |first, count| {
                handler.request(session, first, count);
            });
            let Pumped::Failed(number) = pumped else { break };
            requests.clear();
            let end = self.gaps.gap_of(number).map_or(number + 1, |gap| gap.numbers.end);
            self.escalate(end, now_ns, handler);
        }
    }

    /// A server has refused to send a message again.
    pub(super) fn refuse(
        &mut self,
        first: u64,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let Some(gap) = self.gaps.gap_of(first).map(|gap| gap.numbers.clone()) else { return };
        let is_missing = self.gaps.first_part(first..gap.end).is_some();
        let is_first = self.gaps.first_missing().is_some_and(|number| gap.contains(&number));
        if is_missing && !self.is_holding && (is_first || self.settings.snapshots.is_some()) {
            self.requests.iter_mut().for_each(Requests::clear);
            self.escalate(gap.end, now_ns, handler);
        }
    }

    /// No line and no server has the messages that are missing before `end`: fetches a snapshot, or
    /// accepts the loss.
    fn escalate(&mut self, end: u64, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        match self.snapshot {
            SnapshotState::Idle if self.settings.snapshots.is_some() => {
                self.fetch(1, now_ns, handler);
            }
            SnapshotState::Idle | SnapshotState::Later { .. } => {
                self.give_up(end, now_ns, handler);
            }
            // The snapshot that is on its way decides.
            SnapshotState::Fetching { .. } | SnapshotState::Early { .. } => {}
        }
    }

    pub(super) fn fetch(
        &mut self,
        attempt: u32,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        self.is_holding = true;
        self.snapshot = SnapshotState::Fetching { since_ns: now_ns, attempt };
        handler.fetch_snapshot(self.gaps.declared_to().max(self.expected));
    }

    /// Fetches another snapshot after one that failed. After the last one only requests are left:
    /// what was not requested meanwhile, or not for its whole budget, may still come.
    pub(super) fn try_again(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        let (SnapshotState::Fetching { attempt, .. }, Some(settings)) =
            (self.snapshot, self.settings.snapshots)
        else {
            return;
        };
        if attempt < settings.attempts {
            return self.fetch(attempt + 1, now_ns, handler);
        }
        let at_ns = now_ns.saturating_add(settings.retry_after_ns);
        self.snapshot = SnapshotState::Later { at_ns };
        self.is_suspect |= self.is_joining;
        (self.is_holding, self.is_joining) = (false, false);
        if self.requests.is_none() {
            self.give_up(self.gaps.declared_to(), now_ns, handler);
        }
    }

    /// Applies a snapshot whose turn has come, gives up one that does not come, cancels one that is
    /// not needed any more, and begins the next attempt.
    fn check_snapshot(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        match self.snapshot {
            SnapshotState::Idle => {}
            SnapshotState::Fetching { since_ns, .. } => {
                let timeout_ns =
                    self.settings.snapshots.map_or(0, |snapshots| snapshots.timeout_ns);
                let is_needed = self.is_joining || self.is_suspect || !self.gaps.is_empty();
                if !is_needed {
                    (self.snapshot, self.is_holding) = (SnapshotState::Idle, false);
                } else if now_ns.saturating_sub(since_ns) >= timeout_ns {
                    self.try_again(now_ns, handler);
                }
            }
            SnapshotState::Early { next, .. }
                if self.is_joining && self.highest.saturating_sub(next) > self.ahead.window() =>
            {
                // Too old: what is missing between it and the kept messages finds no room.
                self.snapshot = SnapshotState::Fetching { since_ns: now_ns, attempt: 1 };
                self.try_again(now_ns, handler);
            }
            SnapshotState::Early { next, since_ns } => {
                if self.highest >= next || now_ns.saturating_sub(since_ns) >= EARLY_NS {
                    self.apply_snapshot(next, now_ns, handler);
                }
            }
            SnapshotState::Later { at_ns } if now_ns >= at_ns => {
                if self.is_suspect {
                    self.fetch(1, now_ns, handler);
                } else {
                    self.snapshot = SnapshotState::Idle;
                }
            }
            SnapshotState::Later { .. } => {}
        }
    }

    /// Delivers what is kept before the snapshot, then the snapshot.
    fn apply_snapshot(
        &mut self,
        next: u64,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        if self.is_joining {
            self.join_at(next, now_ns, handler);
        } else {
            while let Some(part) = self.gaps.first_part(self.expected..next) {
                // As before a loss: what a line brought is published.
                if self.doubts.admit_over(&part) {
                    self.admit(now_ns, handler);
                    continue;
                }
                self.deliver(part.start, handler);
                self.skip(part, handler);
            }
            self.deliver(next.min(self.highest), handler);
            if self.expected < next {
                self.skip(self.expected..next, handler);
            }
        }
        self.fill(0..next, Fill::Snapshot, now_ns, handler);
        (self.expected, self.highest) = (next, self.highest.max(next));
        (self.is_holding, self.is_joining, self.is_suspect) = (false, false, false);
        self.snapshot = SnapshotState::Idle;
        self.is_ahead_full = false;
        handler.snapshot(next);
    }

    /// A session that waited for its first snapshot begins with it. What no line brought between
    /// the snapshot and the first kept message is a gap.
    fn join_at(&mut self, next: u64, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        let kept_from = self.expected;
        if next >= kept_from {
            let window_end = kept_from.saturating_add(self.ahead.window());
            return self.ahead.forget(kept_from..next.min(window_end));
        }
        let gap = Gap {
            numbers: next..kept_from,
            seen_ns: now_ns,
            seen_by: PacketOrigin::Retransmission,
        };
        handler.event(&SessionEvent::GapDeclared(gap.clone()));
        let is_open = self.gaps.open_below(gap);
        debug_assert!(is_open, "a session that has not begun has few gaps");
    }

    /// The numbers below `to` that are missing are lost: delivers what is kept around them.
    pub(super) fn give_up(
        &mut self,
        to: u64,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        while let Some(part) = self.gaps.first_part(self.expected..to) {
            // One of its packets that nothing agrees with is better than the loss.
            if self.doubts.admit_over(&part) {
                self.admit(now_ns, handler);
                continue;
            }
            self.deliver(part.start, handler);
            self.skip(part.clone(), handler);
            self.is_suspect = true;
            self.fill(part, Fill::Lost, now_ns, handler);
        }
    }

    fn skip(&mut self, numbers: Numbers, handler: &mut impl SessionHandler<F::Session>) {
        self.expected = numbers.end;
        handler.skipped(numbers);
    }

    /// Delivers what is kept up to the first missing message.
    pub(super) fn drain(&mut self, handler: &mut impl SessionHandler<F::Session>) {
        if !self.is_holding {
            self.deliver(self.gaps.first_missing().unwrap_or(self.highest), handler);
        }
    }

    /// Shows the kept messages behind declared gaps, up to the first gap that is not declared.
    fn show_ahead(&mut self, handler: &mut impl SessionHandler<F::Session>) {
        let mut next = self.shown.max(self.expected);
        while next < self.highest {
            let missing = self.gaps.first_part(next..self.highest);
            if let Some(part) = missing.as_ref().filter(|part| part.start == next) {
                if next >= self.gaps.declared_to() {
                    break;
                }
                next = part.end;
                continue;
            }
            let to = missing.map_or(self.highest, |part| part.start);
            let Some((ts_recv_ns, end, messages)) = self.ahead.run(next..to) else {
                debug_assert!(false, "message {next} is neither missing nor kept");
                break;
            };
            handler.ahead(next..end, ts_recv_ns, messages);
            next = end;
            self.shown = end;
        }
    }

    /// Delivers the messages before `to`, all of which are kept.
    fn deliver(&mut self, to: u64, handler: &mut impl SessionHandler<F::Session>) {
        while self.expected < to {
            let from = self.expected;
            let Some((ts_recv_ns, end, messages)) = self.ahead.run(from..to) else {
                debug_assert!(false, "message {from} is neither missing nor kept");
                break;
            };
            handler.messages(from..end, ts_recv_ns, messages);
            self.ahead.forget(from..end);
            self.expected = end;
        }
    }

    pub(super) fn note_silence(
        &mut self,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        if self.has_ended {
            return;
        }
        let lines = self.settings.lines.clamp(1, MAX_LINES);
        for (index, line) in self.lines[..lines].iter_mut().enumerate() {
            let idle_ns = now_ns.saturating_sub(line.last_ns);
            if line.last_ns > 0 && !line.is_silent && idle_ns >= self.settings.silence_ns {
                line.is_silent = true;
                line.counts.silences += 1;
                let line = Line::new(index).unwrap_or(Line::A);
                handler.event(&SessionEvent::Silent(line));
            }
        }
    }

    /// A line that was silent has a packet.
    #[cold]
    pub(super) fn resume(
        &mut self,
        origin: PacketOrigin,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let line = self.line_mut(origin);
        line.is_silent = false;
        let silent_ns = now_ns.saturating_sub(line.last_ns);
        if let PacketOrigin::Line(line) = origin {
            handler.event(&SessionEvent::Resumed { line, silent_ns });
        }
    }

    pub(super) fn lines(&self) -> &[LineState] {
        &self.lines[..self.settings.lines.clamp(1, MAX_LINES)]
    }

    pub(super) fn next_deadline_ns(&self, now_ns: u64) -> u64 {
        let gap = self.gaps.undeclared();
        let hold = gap.map(|gap| gap.seen_ns.saturating_add(self.settings.hold_ns));
        let is_requesting = !self.is_holding;
        let requests = self.requests.as_ref().filter(|_| is_requesting);
        let snapshot = match self.snapshot {
            SnapshotState::Idle => None,
            SnapshotState::Fetching { since_ns, .. } => {
                let snapshots = self.settings.snapshots;
                snapshots.map(|snapshots| since_ns.saturating_add(snapshots.timeout_ns))
            }
            SnapshotState::Early { since_ns, .. } => Some(since_ns.saturating_add(EARLY_NS)),
            SnapshotState::Later { at_ns } => Some(at_ns),
        };
        // After the end a line may be silent.
        let is_watched = |line: &&LineState| !self.has_ended && line.last_ns > 0 && !line.is_silent;
        let watched = self.lines().iter().filter(is_watched);
        let silence = watched.map(|line| line.last_ns.saturating_add(self.settings.silence_ns));
        let others = [
            hold,
            requests.and_then(|requests| requests.deadline_ns()),
            snapshot,
            self.probe_ns(),
            self.doubts.settled_ns(self.settings.hold_ns),
            self.end_ns(),
            self.next_session_ns(now_ns),
        ];
        others.into_iter().flatten().chain(silence).min().unwrap_or(u64::MAX)
    }
}
