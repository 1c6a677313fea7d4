//! The end of a session: when packets that report it are believed.
//!
//! Protocol: an end is believed when all lines report it that are not silent, and more than one
//! packet does, or after a while in which nothing contradicts it. A message after it does, and a
//! heartbeat of a line that reported it: in MoldUDP64 ends take the place of heartbeats.

use nanotape_wire::framing::numbered::{PacketFraming, PacketKind};

use super::{
    super::{
        doubts::SENT_AGAIN_NS,
        event::{PacketOrigin, SessionEvent, SessionHandler},
        settings::MAX_LINES,
    },
    Receiver,
};

/// Time until an end is believed that some lines have not reported, in ns: two heartbeats, which
/// come every second.
const END_NS: u64 = 2_500_000_000;

/// Packets that say where the session ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// The number that the next message would have.
    next: u64,
    /// When the first of them came, or when another line had its last heartbeat after it, in ns.
    pub(super) since_ns: u64,
    /// The lines that reported it.
    lines: [bool; MAX_LINES],
    /// Whether one of them did so again.
    is_again: bool,
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
                if let PacketOrigin::Line(line) = origin {
                    let was_reported = core::mem::replace(&mut end.lines[line.index()], true);
                    let is_copy = at_ns.saturating_sub(end.since_ns) < SENT_AGAIN_NS;
                    end.is_again |= was_reported && !is_copy;
                }
            }
            (end, PacketKind::EndOfSession) if first >= self.expected => {
                let mut lines = [false; MAX_LINES];
                if let PacketOrigin::Line(line) = origin {
                    lines[line.index()] = true;
                }
                *end = Some(End { next: first, since_ns: at_ns, lines, is_again: false });
            }
            (Some(end), PacketKind::Data) if next > end.next => self.end = None,
            (Some(end), PacketKind::Heartbeat) if first >= end.next => {
                end.since_ns = end.since_ns.max(at_ns);
                end.is_again = false;
                if let PacketOrigin::Line(line) = origin
                    && core::mem::replace(&mut end.lines[line.index()], false)
                    && end.lines == [false; MAX_LINES]
                {
                    self.end = None;
                }
            }
            _ => {}
        }
    }

    /// When the end is believed, in ns; `None` while there is something before it.
    pub(super) fn end_ns(&self) -> Option<u64> {
        let end = self.end.filter(|end| self.expected >= end.next && self.gaps.is_empty())?;
        if self.has_ended || self.is_holding {
            return None;
        }
        let reported = end.lines.iter().filter(|&&is_reported| is_reported).count();
        let mut lines = self.lines().iter().zip(end.lines);
        let agree =
            lines.all(|(line, is_reported)| is_reported || line.is_silent || line.next == 0);
        let is_confirmed = agree && (end.is_again || reported > 1);
        Some(if is_confirmed { 0 } else { end.since_ns.saturating_add(END_NS) })
    }

    /// Reports the end of the session if it is believed.
    pub(super) fn check_end(&mut self, now_ns: u64, handler: &mut impl SessionHandler<F::Session>) {
        if let Some(end) = self.end
            && self.end_ns().is_some_and(|at_ns| now_ns >= at_ns)
        {
            self.conclude(end.next, now_ns, handler);
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
}
