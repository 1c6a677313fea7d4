//! A session that goes on after its owner was gone, or that its owner leaves.

use nanotape_wire::framing::numbered::PacketFraming;

use super::{
    super::event::{Line, SessionHandler},
    Receiver, SnapshotState,
};

impl<F: PacketFraming> Receiver<F> {
    /// The owner was gone until now, and goes on with the state of before. Meanwhile no packet
    /// could come: the time counts neither as silence of a line nor as a missing answer, and what
    /// was requested is requested again.
    pub fn restarted(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        for line in &mut self.lines {
            line.last_ns = if line.last_ns > 0 { now_ns } else { 0 };
            line.others = 0;
        }
        if let Some(end) = &mut self.end {
            end.since_ns = now_ns;
        }
        if let SnapshotState::Fetching { since_ns, .. } | SnapshotState::Early { since_ns, .. } =
            &mut self.snapshot
        {
            *since_ns = now_ns;
        }
        self.requests.iter_mut().for_each(|requests| requests.restart());
        self.probed = (0, 0);
        self.settle(now_ns, handler);
    }

    /// Leaves the session although it has not ended: its packets are ignored, and another one can
    /// be joined. [`close`](Self::close) comes before.
    pub fn leave(&mut self, now_ns: u64) {
        if self.session.is_some() {
            (self.has_ended, self.ended_ns) = (true, now_ns);
            self.deadline_ns = self.next_deadline_ns(now_ns);
        }
    }

    /// Takes the packets that are kept of sessions that were not joined: the line, the receive time
    /// and the bytes of each. The packets of one session are in the order in which they came.
    pub fn take_waiting(&mut self, mut visit: impl FnMut(Line, u64, &[u8])) {
        for candidate in self.candidates.take_all() {
            for packet in &candidate.packets {
                visit(packet.line, packet.ts_recv_ns, &candidate.bytes[packet.place.clone()]);
            }
        }
    }

    /// Packets of other sessions that were received up to this time were counted with the session
    /// before, by another receiver.
    pub fn set_counted_ns(&mut self, counted_ns: u64) {
        self.counted_ns = counted_ns;
    }

    /// Forgets the packets that are kept of this session.
    pub fn forget(&mut self, session: F::Session) {
        self.candidates.take(session);
    }
}
