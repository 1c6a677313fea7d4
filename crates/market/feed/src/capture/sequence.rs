//! The messages of one session of a capture, or of one channel of it, in the order of their
//! numbers, each once.
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

use core::{
    marker::PhantomData,
    ops::{ControlFlow, Range},
};

use nanotape_market::{Damage, SessionChange, SessionGap, Suspect};
use nanotape_wire::framing::numbered::NumberedPacket;

use super::{
    PacketMessages, PacketSink,
    counting::joined,
    coverage::Coverage,
    groups::Group,
    kept::{self, Kept, Waiting},
    packet::Captured,
    scan::scan,
};
use crate::{DaySource, SourceError, carried::Carried, source::Again};

/// Memory of waiting packets after which the file is scanned: far more than lines differ by. In a
/// file in which something is missing, little is kept and copied then.
const SCAN_BYTES: usize = 1 << 20;

/// The consumer of all channels, and what it got.
pub(super) struct Consumer<'h> {
    pub(super) sink: &'h mut dyn PacketSink,
    /// Whether the consumer ended the reading: nothing is delivered after it.
    pub(super) flow: ControlFlow<()>,
    /// The number of the first message that was delivered; 0 before it.
    pub(super) first: u64,
    /// The number of the next message among those of all channels; 0 before the first. With one
    /// channel it is that of the channel.
    next: u64,
    /// Messages delivered.
    pub(super) messages: u64,
    /// Messages that are in no packet.
    pub(super) missing: u64,
    is_suspect: bool,
}

impl<'h> Consumer<'h> {
    pub(super) fn new(sink: &'h mut dyn PacketSink) -> Self {
        let flow = ControlFlow::Continue(());
        Self { sink, flow, first: 0, next: 0, messages: 0, missing: 0, is_suspect: false }
    }

    /// Any book may lack messages; reported once.
    fn suspect(&mut self, suspect: Suspect) {
        if !std::mem::replace(&mut self.is_suspect, true) {
            self.sink.session(&SessionChange::Suspect(suspect));
        }
    }

    /// A channel begins again: what it had before is over.
    pub(super) fn restarted(&mut self, channel: Carried) {
        if self.flow.is_continue() {
            self.sink.restarted(channel);
        }
    }

    /// The numbers among those of all channels of messages with these numbers of one.
    fn numbered(&mut self, numbers: &Range<u64>) -> Range<u64> {
        if self.next == 0 {
            self.next = numbers.start;
        }
        let first = self.next;
        self.next += numbers.end - numbers.start;
        first..self.next
    }
}

/// The messages of a session that are known.
pub(super) struct Sequence<F: Captured> {
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
    /// Message 1, which shows whether a later message 1 begins another stream.
    first_message: Option<Box<[u8]>>,
    framing: PhantomData<F>,
}

/// What a sequence needs of the source of a capture.
#[derive(Clone)]
pub(super) struct CaptureSource {
    kept_bytes: usize,
    again: Again,
    groups: Vec<Group>,
    name: String,
}

impl CaptureSource {
    pub(super) fn of(source: &DaySource) -> Self {
        Self {
            kept_bytes: source.kept_bytes(),
            again: source.again(),
            groups: source.choice().groups.clone(),
            name: source.name().to_owned(),
        }
    }
}

impl<F: Captured> Sequence<F> {
    /// A sequence of which packets showed that it has these numbers, if they did.
    pub(super) fn new(source: &CaptureSource, known: Option<(u64, u64)>) -> Self {
        let CaptureSource { kept_bytes, again, groups, name } = source.clone();
        Self {
            expected: 1,
            known,
            kept: Kept::new(kept_bytes),
            coming: None,
            ahead: Some((again, groups)),
            name,
            first_message: None,
            framing: PhantomData,
        }
    }

    /// Whether a packet begins another stream of the session: it has another message 1.
    pub(super) fn is_restarted_by(&mut self, packet: &NumberedPacket<'_, F>) -> bool {
        let Some((1, first)) = packet.messages().next() else { return false };
        match &self.first_message {
            Some(known) => **known != *first,
            None => {
                self.first_message = Some(first.into());
                false
            }
        }
    }

    /// A number near those of the next packets, for framings whose numbers come again.
    pub(super) fn near(&self) -> u64 {
        match self.known {
            Some((_, next)) if self.expected == 1 => next,
            _ => self.expected,
        }
    }

    /// Whether a packet can be delivered at once.
    #[inline]
    fn is_next(&self, packet: &NumberedPacket<'_, F>) -> bool {
        packet.first <= self.expected && self.expected < packet.next() && self.kept.is_empty()
    }

    /// Whether a packet has messages that are not delivered and cannot be at once.
    #[inline]
    pub(super) fn waits(&self, packet: &NumberedPacket<'_, F>) -> bool {
        self.expected < packet.next() && !self.is_next(packet)
    }

    /// Takes a packet of the session, and returns how many messages no earlier one had.
    #[inline]
    pub(super) fn packet(
        &mut self,
        packet: &NumberedPacket<'_, F>,
        waiting: Waiting<'_>,
        consumer: &mut Consumer<'_>,
    ) -> Result<u64, SourceError> {
        if self.is_next(packet) {
            let (from, next) = (self.expected, packet.next());
            self.deliver(from..next, waiting.ts_ns, packet, consumer);
            return Ok(next - from);
        }
        self.out_of_order(packet, waiting, consumer)
    }

    /// A packet that cannot be delivered at once.
    fn out_of_order(
        &mut self,
        packet: &NumberedPacket<'_, F>,
        waiting: Waiting<'_>,
        consumer: &mut Consumer<'_>,
    ) -> Result<u64, SourceError> {
        let (first, next) = (packet.first, packet.next());
        if first > 0 {
            self.known = joined(self.known, Some((first, next)));
        }
        let new = self.kept.insert(first.max(self.expected)..next, waiting);
        if new > 0 {
            self.drain((waiting.ts_ns, waiting.line), consumer)?;
        }
        let scans = self.ahead.is_some() && self.kept.memory_bytes() > SCAN_BYTES;
        if (scans || self.kept.is_full()) && consumer.flow.is_continue() {
            self.make_room(packet, waiting, consumer)?;
        }
        Ok(new)
    }

    /// Finds out what the file does not have, if that is possible. What waits nevertheless goes to
    /// a file.
    #[cold]
    fn make_room(
        &mut self,
        packet: &NumberedPacket<'_, F>,
        waiting: Waiting<'_>,
        consumer: &mut Consumer<'_>,
    ) -> Result<(), SourceError> {
        if let Some((again, groups)) = self.ahead.take()
            && let Some(mut source) = again.open()
        {
            let idle = || {
                if consumer.flow.is_continue() {
                    consumer.flow = consumer.sink.idle();
                }
                consumer.flow
            };
            let of = (groups.as_slice(), packet.session);
            if let Some(found) = scan::<F>(&mut source, of, self.expected, idle) {
                self.known = joined(self.known, found.known);
                self.coming = Some(found.numbers);
            }
        }
        self.drain((waiting.ts_ns, waiting.line), consumer)?;
        if self.kept.is_full() && consumer.flow.is_continue() {
            self.kept.spill(&self.name)?;
        }
        Ok(())
    }

    /// Delivers what waits and is next. `now`: the time and the line of the current packet.
    fn drain(&mut self, now: (u64, u8), consumer: &mut Consumer<'_>) -> Result<(), SourceError> {
        while consumer.flow.is_continue()
            && let Some((first, ts_ns, line)) = self.kept.first()
        {
            if first > self.expected {
                let Some(coming) = &self.coming else { return Ok(()) };
                match coming.next_from(self.expected).filter(|&next| next < first) {
                    Some(next) if next == self.expected => return Ok(()),
                    Some(next) => self.lose(next, now, consumer),
                    None => self.lose(first, (ts_ns, line), consumer),
                }
                continue;
            }
            let mut is_valid = true;
            let mut kept = std::mem::replace(&mut self.kept, Kept::new(0));
            let taken = kept.take_first(|numbers, waiting| {
                let Ok(packet) = F::decode(waiting.payload) else {
                    is_valid = false;
                    return false;
                };
                let packet = packet.nearest(numbers.start);
                self.deliver(numbers, waiting.ts_ns, &packet, consumer);
                consumer.flow.is_continue()
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
    fn lose(&mut self, next: u64, (now_ns, line): (u64, u8), consumer: &mut Consumer<'_>) {
        let mut first = self.expected;
        if first == 1
            && let Some((start, _)) = self.known.filter(|(start, _)| *start > 1)
        {
            // The session had begun before the capture.
            first = start.min(next);
            consumer.suspect(Suspect { first: 1, next: first, is_late_join: true });
        }
        self.expected = next;
        if first == next {
            return;
        }
        consumer.missing += next - first;
        let Range { start: first, end: next } = consumer.numbered(&(first..next));
        let (seen_ns, seen_by) = (now_ns.max(1), Some(line));
        let gap = SessionGap { first, next, seen_ns, seen_by, ..SessionGap::default() };
        consumer.sink.session(&SessionChange::GapDeclared(gap));
        consumer.suspect(Suspect { first, next, is_late_join: false });
        consumer.sink.damage(Damage::Missing { first, next });
        let gap = SessionGap { closed_ns: seen_ns, lost: next - first, ..gap };
        consumer.sink.session(&SessionChange::GapClosed(gap));
    }

    /// No packet comes any more: what is missing is lost, and what waits is delivered.
    pub(super) fn end(
        &mut self,
        now_ns: u64,
        consumer: &mut Consumer<'_>,
    ) -> Result<(), SourceError> {
        self.coming = Some(Coverage::default());
        self.drain((now_ns, 0), consumer)?;
        match self.known {
            Some((_, end)) if end > self.expected && consumer.flow.is_continue() => {
                self.lose(end, (now_ns, 0), consumer);
            }
            _ => {}
        }
        Ok(())
    }

    /// Passes messages of a packet on, the first of which is the next one.
    #[inline]
    fn deliver(
        &mut self,
        numbers: Range<u64>,
        ts_ns: u64,
        packet: &NumberedPacket<'_, F>,
        consumer: &mut Consumer<'_>,
    ) {
        self.expected = numbers.end;
        consumer.messages += numbers.end - numbers.start;
        let of_all = consumer.numbered(&numbers);
        if consumer.first == 0 {
            consumer.first = of_all.start;
        }
        let messages = PacketMessages { first: of_all.start, numbers, packet: F::any(packet) };
        consumer.flow = consumer.sink.messages(ts_ns, &messages);
    }
}
