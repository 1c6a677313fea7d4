//! Packets above all known numbers, until they are believed.

use nanotape_wire::framing::numbered::{NumberedPacket, PacketFraming};

use super::{
    super::{
        doubts::{Belief, Doubt, InOrder},
        event::{PacketOrigin, SessionEvent, SessionHandler},
        line::LineState,
        settings::MAX_LINES,
    },
    Receiver,
};

impl<F: PacketFraming> Receiver<F> {
    /// Whether a packet with new messages was received long before the last one, and its line lacks
    /// those before it. It waited in a socket while another one was read ahead: its number may be
    /// wrong.
    pub(super) fn is_early(
        &mut self,
        origin: PacketOrigin,
        packet: &NumberedPacket<'_, F>,
        ts_recv_ns: u64,
    ) -> bool {
        let (first, next) = (packet.first, packet.next());
        let line_next = self.line_mut(origin).next;
        let is_new = next > self.highest || self.gaps.first_part(first..next).is_some();
        let is_of_line = matches!(origin, PacketOrigin::Line(_));
        is_of_line && ts_recv_ns < self.early_ns && line_next > 0 && first > line_next && is_new
    }

    /// Keeps a packet apart whose first number is above all known ones.
    pub(super) fn doubt(
        &mut self,
        origin: PacketOrigin,
        ts_recv_ns: u64,
        packet: &NumberedPacket<'_, F>,
        bytes: &[u8],
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let PacketOrigin::Line(line) = origin else {
            // Nothing of it was requested.
            self.answers.counts.far_ahead += 1;
            return;
        };
        let (numbers, lines) = ((packet.first, packet.next()), &mut self.lines);
        let times = (ts_recv_ns, self.settings.hold_ns);
        self.doubts.add(line, numbers, packet.kind, times, bytes, |doubt| {
            disbelieve(lines, doubt, handler);
        });
    }

    /// What a packet in order says about those in doubt.
    pub(super) fn weigh_doubts(
        &mut self,
        origin: PacketOrigin,
        (ts_recv_ns, now_ns): (u64, u64),
        (packet, bytes): (&NumberedPacket<'_, F>, &[u8]),
        (was_highest, is_late): (u64, bool),
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        if self.doubts.is_empty() {
            return;
        }
        let line = match origin {
            PacketOrigin::Line(line) => Some(line),
            PacketOrigin::Retransmission => None,
        };
        let (first, next, highest) = (packet.first, packet.next(), (was_highest, self.highest));
        let packet = InOrder { line, is_late, ts_recv_ns, first, next, bytes, highest };
        let (lines, gaps) = (&mut self.lines, &self.gaps);
        let is_known = |first, next| next <= highest.1 && gaps.first_part(first..next).is_none();
        self.doubts.weigh(packet, self.settings.hold_ns, is_known, |doubt| {
            disbelieve(lines, doubt, handler);
        });
        if self.doubts.has_admitted() {
            self.admit(now_ns, handler);
        }
    }

    /// Takes the packets in doubt that others agree with, and those that were reached and that
    /// nothing contradicted in time.
    pub(super) fn believe(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        while !self.doubts.is_empty() {
            let is_silent = self.lines().iter().all(|line| line.is_silent || line.last_ns == 0);
            let (highest, hold_ns) = (self.highest, self.settings.hold_ns);
            let seen_ns = now_ns.max(self.early_ns.saturating_add(hold_ns));
            if !self.doubts.believe(Belief { highest, now_ns, seen_ns, hold_ns, is_silent }) {
                break;
            }
            self.admit(now_ns, handler);
        }
    }

    /// Takes the packets in doubt that are believed.
    pub(super) fn admit(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        let mut bytes = core::mem::take(&mut self.admitted);
        while let Some(doubt) = self.doubts.take_admitted(&mut bytes) {
            self.overtaken += doubt.overtaken;
            if let Ok(packet) = F::decode(&bytes).map(|packet| packet.nearest(self.expected)) {
                let origin = PacketOrigin::Line(doubt.line);
                let times = (doubt.ts_recv_ns, doubt.ts_recv_ns, now_ns);
                self.take(origin, times, &packet, handler);
                for _ in 0..doubt.repeats {
                    self.lines[doubt.line.index()].note_again(doubt.first, doubt.next);
                    handler.brought(doubt.line, doubt.first..doubt.next, doubt.ts_recv_ns);
                }
            }
        }
        self.admitted = bytes;
    }

    /// No packet will come any more that could agree with those in doubt: what is near is taken.
    pub(super) fn believe_last(
        &mut self,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        self.believe(now_ns, handler);
        if self.end.is_none() {
            self.doubts.admit_to(self.highest.saturating_add(self.settings.reorder_messages));
            self.admit(now_ns, handler);
        }
    }

    /// Drops all packets in doubt.
    pub(super) fn disbelieve_all(&mut self, handler: &mut impl SessionHandler<F::Session>) {
        let lines = &mut self.lines;
        self.doubts.drop_where(|_| true, |doubt| disbelieve(lines, doubt, handler));
    }

    /// Requests the messages before those in doubt, as far as the server has any.
    pub(super) fn probe(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        let (Some(settings), Some(session)) = (self.settings.requests, self.session) else {
            return;
        };
        if self.probe_ns().is_some_and(|at_ns| now_ns >= at_ns)
            && let Some(first) = self.doubts.first()
        {
            let missing = first.saturating_sub(self.highest);
            let count = missing.min(u64::from(settings.messages.max(1))) as u16;
            if count > 0 {
                handler.request(session, self.highest, count);
            }
            self.probed = (self.highest, now_ns);
        }
    }

    /// When the messages before the packets in doubt are requested.
    pub(super) fn probe_ns(&self) -> Option<u64> {
        let settings = self.settings.requests.filter(|_| !self.is_holding)?;
        let held_ns = self.doubts.since_ns()?.saturating_add(self.settings.hold_ns);
        let (number, at_ns) = self.probed;
        let is_answered = number < self.highest;
        let again_ns = if is_answered { 0 } else { at_ns.saturating_add(settings.timeout_ns) };
        Some(held_ns.max(again_ns))
    }
}

/// Counts a packet that was dropped because nothing agreed with its numbers.
fn disbelieve<S>(
    lines: &mut [LineState; MAX_LINES],
    doubt: &Doubt,
    handler: &mut impl SessionHandler<S>,
) {
    lines[doubt.line.index()].counts.far_ahead += 1;
    let (line, numbers) = (doubt.line, doubt.first..doubt.next);
    handler.event(&SessionEvent::Disbelieved { line, numbers });
}
