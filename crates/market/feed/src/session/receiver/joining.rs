//! Sessions: which one is joined, when one is left, and where it begins.

use nanotape_wire::framing::numbered::{NumberedPacket, PacketFraming};

use super::{
    super::{
        candidates::{Candidate, CandidatePacket},
        event::{PacketOrigin, SessionEvent, SessionHandler},
        gaps::Gaps,
        line::LineState,
        race::Race,
        requests::Requests,
        settings::{Join, SessionSettings},
    },
    Receiver, SnapshotState,
};

/// A session that can be joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextSession<S> {
    /// Its name.
    pub session: S,
    /// When its first packet came, in ns.
    pub first_ns: u64,
    /// Whether it is joined in any case: it has had messages, or what it had before is requested.
    pub is_due: bool,
}

impl<F: PacketFraming> Receiver<F> {
    /// Keeps a packet of another session than the current one.
    #[cold]
    #[inline(never)]
    pub(super) fn other_session(
        &mut self,
        origin: PacketOrigin,
        ts_recv_ns: u64,
        packet: &NumberedPacket<'_, F>,
        bytes: &[u8],
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let (session, has_current) = (packet.session, self.session.is_some());
        let line = self.line_mut(origin);
        if line.others == 0 {
            line.others_ns = ts_recv_ns;
        }
        line.others = line.others.saturating_add(1);
        line.counts.other_session += u64::from(has_current);
        if has_current && line.others == 1 {
            handler.event(&SessionEvent::OtherSession { origin, session });
        }
        let PacketOrigin::Line(line) = origin else { return };
        let numbers = (packet.first, packet.next());
        self.candidates.keep(session, line, numbers, ts_recv_ns, bytes);
        self.deadline_ns = self.next_deadline_ns(ts_recv_ns);
    }

    /// Whether all lines left the session without its end: other sessions have packets, and this
    /// one has none on any line.
    pub(super) fn is_deserted(&self, now_ns: u64) -> bool {
        self.left_ns(now_ns).is_some_and(|at_ns| now_ns >= at_ns)
    }

    /// When all lines have left the session, as far as is known; `None` if no other has packets.
    fn left_ns(&self, now_ns: u64) -> Option<u64> {
        let has_moved = |other: &&Candidate<_>| other.has_messages && other.is_many();
        self.candidates.best(self.stale_ns(now_ns)).filter(has_moved)?;
        let last_ns = self.lines().iter().map(LineState::current_ns).max()?;
        Some(last_ns.saturating_add(self.settings.silence_ns))
    }

    /// A session without a packet since then has ended, or was none.
    fn stale_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.settings.silence_ns.saturating_mul(2))
    }

    /// Joins the other session that most packets are of, if its time has come.
    #[cold]
    pub(super) fn join(
        &mut self,
        now_ns: u64,
        is_last: bool,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let Some(candidate) = self.candidates.best(self.stale_ns(now_ns)) else { return };
        let is_due = self.join_ns(candidate).is_some_and(|at_ns| now_ns >= at_ns);
        let is_joined = is_due || is_last && candidate.has_messages;
        if !is_joined {
            return;
        }
        let session = candidate.session;
        let Some(mut candidate) = self.candidates.take(session) else { return };
        // Sockets are read one after the other.
        candidate.packets.sort_by_key(|packet| packet.ts_recv_ns);
        self.begin(&candidate, now_ns, handler);
        self.count_others(handler);
        for kept in candidate.packets {
            let bytes = &candidate.bytes[kept.place];
            let origin = PacketOrigin::Line(kept.line);
            if let Ok(packet) = F::decode(bytes).map(|packet| packet.nearest(self.expected)) {
                // Gaps get as old as they were when this packet came: others may fill them.
                let times = (kept.ts_recv_ns, kept.ts_recv_ns.min(now_ns));
                self.of_session(origin, times, &packet, bytes, handler);
            }
        }
        // If it has ended already, the next one is joined later than now.
        self.ended_ns = now_ns;
    }

    /// Counts the packets of the sessions that were not joined.
    fn count_others(&mut self, handler: &mut impl SessionHandler<F::Session>) {
        for candidate in self.candidates.iter() {
            let is_new = |packet: &&CandidatePacket| packet.ts_recv_ns > self.counted_ns;
            let mut first = None;
            for packet in candidate.packets.iter().filter(is_new) {
                self.lines[packet.line.index()].counts.other_session += 1;
                first.get_or_insert(packet.line);
            }
            if let Some(line) = first {
                let (origin, session) = (PacketOrigin::Line(line), candidate.session);
                handler.event(&SessionEvent::OtherSession { origin, session });
            }
        }
    }

    /// The session that the next [`tick`](Self::tick) joins, or one that has only heartbeats so far
    /// and is not `ignored`: its owner may know that it is the one to go on with.
    pub fn next_session(
        &self,
        now_ns: u64,
        ignored: impl Fn(F::Session) -> bool,
    ) -> Option<NextSession<F::Session>> {
        if self.session.is_some() && !self.has_ended {
            return None;
        }
        let of = |candidate: &Candidate<F::Session>, is_due| {
            let Candidate { session, first_ns, .. } = *candidate;
            NextSession { session, first_ns, is_due }
        };
        let best = self.candidates.best(self.stale_ns(now_ns))?;
        if self.join_ns(best).is_some_and(|at_ns| now_ns >= at_ns) {
            return Some(of(best, true));
        }
        let is_quiet = |candidate: &&Candidate<F::Session>| {
            let waited_ns = now_ns.saturating_sub(candidate.first_ns);
            !candidate.has_messages
                && waited_ns >= self.settings.join_ns
                && !ignored(candidate.session)
        };
        self.candidates.iter().find(is_quiet).map(|candidate| of(candidate, false))
    }

    /// When a session is joined; `None` before its first message, unless what was before can be
    /// had. Heartbeats alone may be those of yesterday.
    fn join_ns(&self, candidate: &Candidate<F::Session>) -> Option<u64> {
        let SessionSettings { hold_ns, join_ns, silence_ns, join, .. } = self.settings;
        let is_on_all = candidate.is_on_all(self.lines().len());
        let wait_ns = match (candidate.has_messages, join) {
            // Nothing follows a stray; heartbeats follow a session's only packet.
            (true, _) if !candidate.has_sequence && join_ns > 0 => return None,
            (true, _) if is_on_all => hold_ns.min(join_ns),
            (true, _) => join_ns,
            (false, Join::Here) => return None,
            (false, Join::Start | Join::Snapshot) => silence_ns,
        };
        Some(candidate.first_ns.saturating_add(wait_ns))
    }

    /// Ends the current session: what it still lacks is lost. The next [`tick`](Self::tick) joins
    /// another one, so that the owner can begin anew between them.
    pub(super) fn abandon(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        self.close(now_ns, handler);
        self.conclude(self.expected, now_ns, handler);
    }

    fn begin(
        &mut self,
        candidate: &Candidate<F::Session>,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        let (session, first) = (candidate.session, candidate.start().max(1));
        self.session = Some(session);
        self.ahead.clear();
        self.requests.iter_mut().for_each(Requests::clear);
        for line in &mut self.lines {
            line.begin_session();
            if line.last_ns == 0 {
                // A line that never has a packet is silent too.
                line.last_ns = now_ns;
            }
        }
        self.answers.begin_session();
        (self.race, self.gaps) = (Race::new(), Gaps::new());
        self.doubts.drop_where(|_| true, |_| {});
        (self.end, self.has_ended, self.is_suspect) = (None, false, false);
        self.expected = if self.settings.join == Join::Start { 1 } else { first };
        (self.highest, self.shown) = (self.expected, 0);
        self.snapshot = SnapshotState::Idle;
        handler.event(&SessionEvent::Joined { session, next: self.expected });
        let has_snapshots = self.settings.snapshots.is_some();
        self.is_joining =
            self.expected > 1 && self.settings.join == Join::Snapshot && has_snapshots;
        if self.is_joining {
            self.fetch(1, now_ns, handler);
        }
        if first > self.highest {
            self.open_gap(first, (PacketOrigin::Line(candidate.line()), candidate.first_ns));
        }
        self.settle(now_ns, handler);
    }

    /// When another session can be joined, or the current one is known to be left.
    pub(super) fn next_session_ns(&self, now_ns: u64) -> Option<u64> {
        let candidate = self.candidates.best(self.stale_ns(now_ns))?;
        if self.session.is_none() || self.has_ended {
            return self.join_ns(candidate).map(|at_ns| at_ns.max(self.ended_ns.saturating_add(1)));
        }
        self.left_ns(now_ns)
    }
}
