//! The end of a session: when packets that report it are believed.
//!
//! Protocol: an end is believed with a second one, from another line or later on the same line, or
//! after a while in which nothing contradicts it. Messages after it do, and a heartbeat of its
//! line: in MoldUDP64 ends take the place of heartbeats.

use nanotape_wire::framing::numbered::{PacketFraming, PacketKind};

use super::{
    super::event::{PacketOrigin, SessionEvent, SessionHandler},
    Receiver,
};

/// Time after the only packet with an end until the end is believed, in ns: two heartbeats, which
/// come every second.
const END_NS: u64 = 2_500_000_000;

/// Another end on the same line is no copy of the first if so much time has passed, in ns.
const SENT_AGAIN_NS: u64 = 100_000_000;

/// Packets that say where the session ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// The number that the next message would have.
    pub(super) next: u64,
    /// Where the first of them came from.
    origin: PacketOrigin,
    /// When it came, or when another line had its last heartbeat after it, in ns.
    pub(super) since_ns: u64,
    is_confirmed: bool,
}

impl End {
    /// When it is believed, in ns: with another packet that is no copy, or after a while without
    /// any packet that contradicts it.
    pub(super) fn believed_ns(self) -> u64 {
        if self.is_confirmed { 0 } else { self.since_ns.saturating_add(END_NS) }
    }

    /// Another packet with the same number.
    fn confirm(&mut self, origin: PacketOrigin, at_ns: u64) {
        let is_copy = origin == self.origin && at_ns.saturating_sub(self.since_ns) < SENT_AGAIN_NS;
        self.is_confirmed |= !is_copy;
    }
}

impl<F: PacketFraming> Receiver<F> {
    /// What a packet shows about the end of the session. A line that goes on after an end shows
    /// that it is none.
    pub(super) fn note_end(
        &mut self,
        origin: PacketOrigin,
        kind: PacketKind,
        (first, next): (u64, u64),
        at_ns: u64,
    ) {
        match (&mut self.end, kind) {
            (Some(end), PacketKind::EndOfSession) if end.next == first => {
                end.confirm(origin, at_ns);
            }
            (end, PacketKind::EndOfSession) if first >= self.expected => {
                *end = Some(End { next: first, origin, since_ns: at_ns, is_confirmed: false });
            }
            (Some(end), PacketKind::Data) if next > end.next => self.end = None,
            (Some(end), PacketKind::Heartbeat) if first >= end.next => {
                if origin == end.origin {
                    self.end = None;
                } else {
                    end.since_ns = end.since_ns.max(at_ns);
                }
            }
            _ => {}
        }
    }

    /// Reports the end of the session, once.
    pub(super) fn conclude(
        &mut self,
        next: u64,
        now_ns: u64,
        handler: &mut impl SessionHandler<F::Session>,
    ) {
        if !core::mem::replace(&mut self.has_ended, true) {
            self.ended_ns = now_ns;
            handler.event(&SessionEvent::Ended { next });
        }
    }

    /// Whether only the belief in the end is left.
    pub(super) fn waits_for_end(&self, end: &End) -> bool {
        !self.has_ended && !self.is_holding && self.expected >= end.next && self.gaps.is_empty()
    }
}
