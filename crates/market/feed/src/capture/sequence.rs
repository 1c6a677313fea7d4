//! The messages of one session of a capture in the order of their numbers, each once.
//!
//! Where: the reader of captures passes the packets of all lines, in the order of the file.
//! Protocol, with `expected` as the number of the next message:
//!
//! ```text
//! packet [first, next) --> first <= expected, nothing waits: delivered from `expected` on
//!                      --> next <= expected: a copy
//!                      --> otherwise it waits: in memory, then in a temporary file
//! much waits ----------> the file is scanned, if that is possible: what no packet has is lost
//! end of the file -----> what did not come is lost
//! ```
//!
//! What is lost is reported, and the messages after it are delivered. Of several copies of a
//! message, the first in the file counts. The session begins with the lowest number of its packets.
//! Bounds: those of [`Kept`] and of [`scan`].
//! Cost: a packet in order is not copied.

use core::ops::{ControlFlow, Range};

use nanotape_market::{Damage, SessionChange, SessionGap, Suspect};
use nanotape_wire::framing::{
    moldudp64::MoldUdp64,
    numbered::{NumberedPacket, PacketFraming as _},
};

use super::{
    PacketSink,
    counting::joined,
    coverage::Coverage,
    groups::Group,
    kept::{self, Kept, Waiting},
    scan::scan,
};
use crate::{DaySource, SourceError, source::Again};

/// Memory of waiting packets after which the file is scanned: far more than lines differ by. In a
/// file in which something is missing, little is kept and copied then.
const SCAN_BYTES: usize = 1 << 20;

/// The session, and its consumer.
pub(super) struct Sequence<'h> {
    pub(super) sink: &'h mut dyn PacketSink,
    /// Whether the consumer ended the reading: nothing is delivered after it.
    pub(super) flow: ControlFlow<()>,
    /// The number of the first message that was delivered; 0 before it.
    pub(super) first: u64,
    /// Messages delivered.
    pub(super) messages: u64,
    /// Messages that are in no packet.
    pub(super) missing: u64,
    /// The number of the next message; 1 up to the beginning.
    expected: u64,
    /// The lowest number of packets before the beginning, and one above the highest number.
    pub(super) known: Option<(u64, u64)>,
    kept: Kept,
    /// The numbers that are in packets of the file, if they were searched for.
    coming: Option<Coverage>,
    /// The capture and its destinations, for one scan.
    ahead: Option<(Again, Vec<Group>)>,
    name: String,
    is_suspect: bool,
}

impl<'h> Sequence<'h> {
    pub(super) fn new(sink: &'h mut dyn PacketSink, source: &DaySource) -> Self {
        Self {
            sink,
            flow: ControlFlow::Continue(()),
            first: 0,
            messages: 0,
            missing: 0,
            expected: 1,
            known: None,
            kept: Kept::new(source.kept_bytes()),
            coming: None,
            ahead: Some((source.again(), source.choice().groups.clone())),
            name: source.name().to_owned(),
            is_suspect: false,
        }
    }

    /// Whether a packet can be delivered at once.
    #[inline]
    fn is_next(&self, packet: &NumberedPacket<'_, MoldUdp64>) -> bool {
        packet.first <= self.expected && self.expected < packet.next() && self.kept.is_empty()
    }

    /// Whether a packet has messages that are not delivered and cannot be at once.
    #[inline]
    pub(super) fn waits(&self, packet: &NumberedPacket<'_, MoldUdp64>) -> bool {
        self.expected < packet.next() && !self.is_next(packet)
    }

    /// Takes a packet of the session, and returns how many messages no earlier one had.
    #[inline]
    pub(super) fn packet(
        &mut self,
        packet: &NumberedPacket<'_, MoldUdp64>,
        waiting: Waiting<'_>,
    ) -> Result<u64, SourceError> {
        if self.is_next(packet) {
            let (from, next) = (self.expected, packet.next());
            self.deliver(from..next, waiting.ts_ns, packet);
            return Ok(next - from);
        }
        self.out_of_order(packet, waiting)
    }

    /// A packet that cannot be delivered at once.
    fn out_of_order(
        &mut self,
        packet: &NumberedPacket<'_, MoldUdp64>,
        waiting: Waiting<'_>,
    ) -> Result<u64, SourceError> {
        let (first, next) = (packet.first, packet.next());
        if first > 0 {
            self.known = joined(self.known, Some((first, next)));
        }
        let new = self.kept.insert(first.max(self.expected)..next, waiting);
        if new > 0 {
            self.drain((waiting.ts_ns, waiting.line))?;
        }
        let scans = self.ahead.is_some() && self.kept.memory_bytes() > SCAN_BYTES;
        if (scans || self.kept.is_full()) && self.flow.is_continue() {
            self.make_room(packet, waiting)?;
        }
        Ok(new)
    }

    /// Finds out what the file does not have, if that is possible. What waits nevertheless goes to
    /// a file.
    #[cold]
    fn make_room(
        &mut self,
        packet: &NumberedPacket<'_, MoldUdp64>,
        waiting: Waiting<'_>,
    ) -> Result<(), SourceError> {
        if let Some((again, groups)) = self.ahead.take()
            && let Some(mut source) = again.open()
        {
            let idle = || {
                if self.flow.is_continue() {
                    self.flow = self.sink.idle();
                }
                self.flow
            };
            if let Some(found) = scan(&mut source, (&groups, packet.session), self.expected, idle) {
                self.known = joined(self.known, found.known);
                self.coming = Some(found.numbers);
            }
        }
        self.drain((waiting.ts_ns, waiting.line))?;
        if self.kept.is_full() && self.flow.is_continue() {
            self.kept.spill(&self.name)?;
        }
        Ok(())
    }

    /// Delivers what waits and is next. `now`: the time and the line of the current packet.
    fn drain(&mut self, now: (u64, u8)) -> Result<(), SourceError> {
        while self.flow.is_continue()
            && let Some((first, ts_ns, line)) = self.kept.first()
        {
            if first > self.expected {
                let Some(coming) = &self.coming else { return Ok(()) };
                match coming.next_from(self.expected).filter(|&next| next < first) {
                    Some(next) if next == self.expected => return Ok(()),
                    Some(next) => self.lose(next, now),
                    None => self.lose(first, (ts_ns, line)),
                }
                continue;
            }
            let mut is_valid = true;
            let mut kept = std::mem::replace(&mut self.kept, Kept::new(0));
            let taken = kept.take_first(|numbers, waiting| {
                let Ok(packet) = MoldUdp64::decode(waiting.payload) else {
                    is_valid = false;
                    return false;
                };
                self.deliver(numbers, waiting.ts_ns, &packet);
                self.flow.is_continue()
            });
            self.kept = kept;
            taken?;
            if !is_valid {
                return Err(kept::invalid());
            }
        }
        Ok(())
    }

    /// The messages before `next` are in no packet: reports it, and goes on with `next`.
    fn lose(&mut self, next: u64, (now_ns, line): (u64, u8)) {
        let mut first = self.expected;
        if first == 1
            && let Some((start, _)) = self.known.filter(|(start, _)| *start > 1)
        {
            // The session had begun before the capture.
            first = start.min(next);
            self.suspect(Suspect { first: 1, next: first, is_late_join: true });
        }
        self.expected = next;
        if first == next {
            return;
        }
        self.missing += next - first;
        let (seen_ns, seen_by) = (now_ns.max(1), Some(line));
        let gap = SessionGap { first, next, seen_ns, seen_by, ..SessionGap::default() };
        self.sink.session(&SessionChange::GapDeclared(gap));
        self.suspect(Suspect { first, next, is_late_join: false });
        self.sink.damage(Damage::Missing { first, next });
        let gap = SessionGap { closed_ns: seen_ns, lost: next - first, ..gap };
        self.sink.session(&SessionChange::GapClosed(gap));
    }

    /// Any book may lack messages; reported once.
    fn suspect(&mut self, suspect: Suspect) {
        if !std::mem::replace(&mut self.is_suspect, true) {
            self.sink.session(&SessionChange::Suspect(suspect));
        }
    }

    /// No packet comes any more: what is missing is lost, and what waits is delivered.
    pub(super) fn end(&mut self, now_ns: u64) -> Result<(), SourceError> {
        self.coming = Some(Coverage::default());
        self.drain((now_ns, 0))?;
        match self.known {
            Some((_, end)) if end > self.expected && self.flow.is_continue() => {
                self.lose(end, (now_ns, 0));
            }
            _ => {}
        }
        Ok(())
    }

    /// Passes messages of a packet on, the first of which is the next one.
    #[inline]
    fn deliver(&mut self, numbers: Range<u64>, ts_ns: u64, packet: &NumberedPacket<'_, MoldUdp64>) {
        if self.first == 0 {
            self.first = numbers.start;
        }
        self.expected = numbers.end;
        self.messages += numbers.end - numbers.start;
        self.flow = self.sink.messages(numbers, ts_ns, packet);
    }
}
