//! One line: packets go in, and come out when they are due, with the faults of the line.
//!
//! Protocol: [`Line::packet`] takes the packets of a packetiser in their order. [`Line::take`]
//! returns them in the order in which they leave. The faults follow from the seed and from the
//! packets alone, so the same day gives the same faults at every pace.
//! Bounds: the line keeps packets that wait: those of the longest delay and of the deepest
//! reordering, and those that [`Line::take`] was not called for.

use std::{cmp::Reverse, collections::BinaryHeap};

use nanotape_types::{Alpha, NanosSinceMidnight};

use crate::{
    faults::{Chance, Faults},
    framing::LineFraming,
    packetiser::Outgoing,
    rng::{Rng, mixed},
};

/// A packet that others may overtake is sent after this time even if none did.
const HOLD_NS: u64 = 10_000_000;

/// What was done to the packets of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// Packets with messages that the line was given.
    pub packets: u64,
    /// Their messages.
    pub messages: u64,
    /// Packets that left the line, with copies and without heartbeats.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Heartbeats and ends of session that left the line.
    pub idle_packets: u64,
    /// Packets that were dropped one by one.
    pub dropped: u64,
    /// Packets that were dropped in bursts.
    pub dropped_in_bursts: u64,
    /// Packets that were dropped on both lines at once.
    pub dropped_on_both: u64,
    /// Packets of silences.
    pub silenced: u64,
    /// Packets before the line started.
    pub before_start: u64,
    /// Packets that were sent twice.
    pub duplicated: u64,
    /// Packets that waited for others to overtake them.
    pub reordered: u64,
    /// Packets that were delayed.
    pub delayed: u64,
    /// Packets that were sent without their end.
    pub truncated: u64,
    /// Packets with a changed message count.
    pub corrupted: u64,
    /// Packets with a changed byte in a message.
    pub flipped: u64,
    /// Packets with the name of another session.
    pub other_session: u64,
}

impl core::ops::AddAssign for LineCounts {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.messages += other.messages;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.idle_packets += other.idle_packets;
        self.dropped += other.dropped;
        self.dropped_in_bursts += other.dropped_in_bursts;
        self.dropped_on_both += other.dropped_on_both;
        self.silenced += other.silenced;
        self.before_start += other.before_start;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.delayed += other.delayed;
        self.truncated += other.truncated;
        self.corrupted += other.corrupted;
        self.flipped += other.flipped;
        self.other_session += other.other_session;
    }
}

/// A packet that waits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Waiting {
    due_ns: u64,
    /// Packets that are due at the same time leave in the order in which they came.
    order: u64,
    bytes: Vec<u8>,
}

/// A packet that others may overtake.
#[derive(Clone, Debug)]
struct Held {
    due_ns: u64,
    /// Packets that still overtake it.
    overtakes: u32,
    bytes: Vec<u8>,
}

/// Messages that neither line sends. Each message decides for itself, by its number, so the lines
/// agree although they cut packets differently.
#[derive(Clone, Copy, Debug)]
pub struct LostOnBoth {
    seed: u64,
    drop: Chance,
    burst: (Chance, u32),
}

impl LostOnBoth {
    /// The messages that these faults of both lines lose.
    pub fn new(faults: &Faults, seed: u64) -> Self {
        Self { seed, drop: faults.drop, burst: faults.burst }
    }

    /// Whether one of these messages is lost.
    fn hits(&self, first: u64, count: u16) -> bool {
        let numbers = first..first + u64::from(count);
        let is_begun_by = |number: u64, chance: Chance, stream: u64| {
            chance > Chance::NEVER
                && mixed(mixed(self.seed ^ stream) ^ number) % 1_000_000 < u64::from(chance.get())
        };
        let (chance, length) = self.burst;
        let starts = first.saturating_sub(u64::from(length.saturating_sub(1)))..numbers.end;
        (self.drop > Chance::NEVER
            && numbers.clone().any(|number| is_begun_by(number, self.drop, 1)))
            || (chance > Chance::NEVER && starts.into_iter().any(|n| is_begun_by(n, chance, 2)))
    }
}

/// The packets of one line on their way to the socket.
#[derive(Clone, Debug)]
pub struct Line {
    framing: LineFraming,
    faults: Faults,
    both: LostOnBoth,
    rng: Rng,
    /// Packets of the current burst that are still to be dropped.
    burst_left: u32,
    held: Vec<Held>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    order: u64,
    /// Buffers of packets that were sent.
    spare: Vec<Vec<u8>>,
    counts: LineCounts,
}

impl Line {
    /// A line of MoldUDP64 with its own faults, and those of both lines.
    pub fn new(faults: Faults, both: &Faults, seed: u64, line: u64) -> Self {
        // The name of the session is in the packets.
        Self::framed(LineFraming::MoldUdp64(Alpha::new([b' '; 10])), faults, both, seed, line)
    }

    /// A line with this framing, its own faults, and those of both lines.
    pub fn framed(
        framing: LineFraming,
        mut faults: Faults,
        both: &Faults,
        seed: u64,
        line: u64,
    ) -> Self {
        faults.silences.extend(both.silences.iter().copied());
        faults.start = faults.start.max(both.start);
        faults.session_from = match (faults.session_from, both.session_from) {
            (Some(own), Some(common)) => Some(own.min(common)),
            (own, common) => own.or(common),
        };
        Self {
            framing,
            faults,
            both: LostOnBoth::new(both, seed),
            rng: Rng::new(seed, 1 + line),
            burst_left: 0,
            held: Vec::new(),
            waiting: BinaryHeap::new(),
            order: 0,
            spare: Vec::new(),
            counts: LineCounts::default(),
        }
    }

    /// Takes the next packet of the line.
    pub fn packet(&mut self, packet: Outgoing<'_>) {
        self.counts.packets += 1;
        self.counts.messages += u64::from(packet.count);
        self.release_until(packet.due_ns);
        if self.is_lost(packet) {
            return;
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(packet.bytes);
        self.damage(packet, &mut bytes);
        if self.rng.chance(self.faults.duplicate.get()) {
            self.counts.duplicated += 1;
            let copy = bytes.clone();
            self.schedule(packet.due_ns, copy);
        }
        let (chance, most) = self.faults.reorder;
        if self.rng.chance(chance.get()) {
            self.counts.reordered += 1;
            self.overtake(packet.due_ns);
            let overtakes = self.rng.between(1, most.into()) as u32;
            self.held.push(Held { due_ns: packet.due_ns, overtakes, bytes });
            return;
        }
        let (chance, delay_ns) = self.faults.delay;
        let is_delayed = self.rng.chance(chance.get());
        self.counts.delayed += u64::from(is_delayed);
        let due_ns = packet.due_ns.saturating_add(if is_delayed { delay_ns } else { 0 });
        self.schedule(due_ns, bytes);
        self.overtake(packet.due_ns);
    }

    /// Whether the line sends nothing at this time.
    pub fn is_silent(&self, time_ns: u64) -> bool {
        self.is_before_start(time_ns)
            || self.faults.silences.iter().any(|silence| silence.covers(time_ns))
    }

    /// A heartbeat or an end of session of this time, as it leaves the line; `None` if the line is
    /// silent. Probabilities do not apply, so that the faults do not depend on how long the line
    /// was idle.
    pub fn idle_packet(&mut self, time_ns: u64, mut packet: Vec<u8>) -> Option<Vec<u8>> {
        if self.is_silent(time_ns) {
            return None;
        }
        if self.is_of_other_session(time_ns) {
            self.framing.rename(&mut packet);
        }
        self.counts.idle_packets += 1;
        Some(packet)
    }

    /// Packets that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len() + self.held.len()
    }

    /// When the next packet is due.
    pub fn next_due(&self) -> Option<u64> {
        let waiting = self.waiting.peek().map(|Reverse(waiting)| waiting.due_ns);
        let held = self.held.iter().map(|held| held.due_ns + HOLD_NS).min();
        waiting.into_iter().chain(held).min()
    }

    /// The next packet that is due at this time, and when it was due.
    pub fn take(&mut self, time_ns: u64) -> Option<(u64, Vec<u8>)> {
        self.release_until(time_ns);
        if self.waiting.peek().is_none_or(|Reverse(waiting)| waiting.due_ns > time_ns) {
            return None;
        }
        let Reverse(Waiting { due_ns, bytes, .. }) = self.waiting.pop()?;
        self.counts.sent += 1;
        self.counts.sent_bytes += bytes.len() as u64;
        Some((due_ns, bytes))
    }

    /// Gives the buffer of a sent packet back.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < 64 {
            self.spare.push(bytes);
        }
    }

    /// What was done so far.
    pub fn counts(&self) -> LineCounts {
        self.counts
    }

    fn is_before_start(&self, time_ns: u64) -> bool {
        self.faults.start.is_some_and(|start| time_ns < start.get())
    }

    fn is_of_other_session(&self, time_ns: u64) -> bool {
        self.faults.session_from.map(NanosSinceMidnight::get).is_some_and(|from| time_ns >= from)
    }

    /// Whether the packet is not sent. The draws do not depend on the times of the line, so that a
    /// silence does not move other drops.
    fn is_lost(&mut self, packet: Outgoing<'_>) -> bool {
        let (chance, length) = self.faults.burst;
        if self.rng.chance(chance.get()) {
            self.burst_left = self.burst_left.max(length);
        }
        let is_in_burst = self.burst_left > 0;
        self.burst_left = self.burst_left.saturating_sub(1);
        let is_dropped = self.rng.chance(self.faults.drop.get());
        let counts = &mut self.counts;
        let reason = if self.faults.start.is_some_and(|start| packet.due_ns < start.get()) {
            &mut counts.before_start
        } else if self.faults.silences.iter().any(|silence| silence.covers(packet.due_ns)) {
            &mut counts.silenced
        } else if self.both.hits(packet.first, packet.count) {
            &mut counts.dropped_on_both
        } else if is_in_burst {
            &mut counts.dropped_in_bursts
        } else if is_dropped {
            &mut counts.dropped
        } else {
            return false;
        };
        *reason += 1;
        true
    }

    /// Changes the bytes of a packet.
    fn damage(&mut self, packet: Outgoing<'_>, bytes: &mut Vec<u8>) {
        if self.rng.chance(self.faults.session.get()) || self.is_of_other_session(packet.due_ns) {
            self.counts.other_session += 1;
            self.framing.rename(bytes);
        }
        if self.rng.chance(self.faults.flip.get()) {
            let byte = self.byte_of_a_message(bytes);
            bytes[byte] ^= 1 << self.rng.below(8);
            self.counts.flipped += 1;
        }
        if self.rng.chance(self.faults.corrupt.get()) {
            // The message count no longer fits the blocks, which every receiver can detect.
            let (field, bit) = (self.framing.count_field(), self.rng.below(8));
            let byte = field.end - 1 - self.rng.below(field.len() as u64) as usize;
            bytes[byte] ^= 1 << bit;
            self.counts.corrupted += 1;
        }
        if self.rng.chance(self.faults.truncate.get()) {
            let length = self.rng.below(bytes.len() as u64) as usize;
            bytes.truncate(length);
            self.counts.truncated += 1;
        }
    }

    /// A random byte of a random message; of an empty message, its length.
    fn byte_of_a_message(&mut self, bytes: &[u8]) -> usize {
        let starts = self.framing.contents(bytes);
        let (start, length) = starts[self.rng.below(starts.len() as u64) as usize];
        match length {
            0 => start - 1,
            length => start + self.rng.below(length as u64) as usize,
        }
    }

    fn schedule(&mut self, due_ns: u64, bytes: Vec<u8>) {
        let order = self.order;
        self.order += 1;
        self.waiting.push(Reverse(Waiting { due_ns, order, bytes }));
    }

    /// A packet passes those that wait for it.
    fn overtake(&mut self, now_ns: u64) {
        for held in &mut self.held {
            held.overtakes -= 1;
        }
        self.release(now_ns, |held| held.overtakes == 0);
    }

    /// Releases the packets that were held for too long by this time.
    fn release_until(&mut self, time_ns: u64) {
        if !self.held.is_empty() {
            self.release(0, |held| held.due_ns + HOLD_NS <= time_ns);
        }
    }

    /// Schedules held packets, not before `earliest_ns`.
    fn release(&mut self, earliest_ns: u64, is_over: impl Fn(&Held) -> bool) {
        let mut index = 0;
        while index < self.held.len() {
            if is_over(&self.held[index]) {
                let held = self.held.remove(index);
                // Held to its limit, it leaves at the limit.
                let limit_ns = held.due_ns + HOLD_NS;
                let due_ns = if earliest_ns == 0 { limit_ns } else { earliest_ns.min(limit_ns) };
                self.schedule(due_ns, held.bytes);
            } else {
                index += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
