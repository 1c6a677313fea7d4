//! Packets whose numbers are above everything that is known, until something agrees with them.
//!
//! A number that is too high by mistake would make every message between it and the truth missing,
//! and the true messages after it old. So a packet that would open a gap is kept apart, and changes
//! nothing, until others agree. What a line brings in order is never held up by it.
//! Protocol: two packets agree if one begins where another of its line ends, or if two lines bring
//! the same bytes. Packets that agree are believed together: two of them, [`LOOSE_WEIGHT`] of a
//! line if some messages are missing between them, or [`FAR_WEIGHT`] if they begin more than
//! [`FAR`] messages ahead. The same packet again on one line is no other packet, since networks
//! duplicate; a heartbeat that is sent again is one. A line that goes on below a packet contests
//! it: within the hold time others may have overtaken it, later the second time shows that its
//! number is wrong, and so do more than [`MOST_CONTESTED`] times. A line that brings some of its
//! numbers again, in another packet, disputes it: nothing makes it true but a copy on another
//! line. What a line brings for the second time, or late, says nothing.
//! A packet whose messages all came from elsewhere is a copy of them.
//! Bounds: [`MOST_PACKETS`] packets and [`MOST_BYTES`] bytes, reserved at the beginning. What finds
//! no room takes the place of the oldest.

use core::ops::Range;

use nanotape_wire::framing::numbered::PacketKind;

use super::event::Line;

/// Messages ahead from which more than two packets must agree.
const FAR: u64 = 1 << 16;

/// Messages that a line may lack between two packets that agree.
const NEAR: u64 = 64;

/// Packets that must agree if messages are missing between all of them.
const LOOSE_WEIGHT: u32 = 3;

/// Packets that must agree if they are further ahead.
const FAR_WEIGHT: u32 = 4;

/// A heartbeat or an end of the same number on the same line is no copy if so much time has passed,
/// in ns. Lines have one every second.
pub(super) const SENT_AGAIN_NS: u64 = 900_000_000;

/// Lines go on below a wrong packet for so long before it is dropped, in ns.
const REFUTED_NS: u64 = 100_000_000;

/// Lower packets of its line after which a packet needs others that agree with it.
const MOST_CONTESTED: u32 = 3;

/// Packets in doubt at a time.
const MOST_PACKETS: usize = 64;

/// Their bytes.
const MOST_BYTES: usize = 1 << 20;

/// The packets, in order of their numbers.
#[derive(Debug)]
pub(super) struct Doubts {
    packets: Vec<Doubt>,
    bytes: Vec<u8>,
}

/// A packet in doubt.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    pub(super) line: Line,
    pub(super) first: u64,
    pub(super) next: u64,
    pub(super) ts_recv_ns: u64,
    /// When the last message before it came, in ns.
    reached_ns: Option<u64>,
    /// Lower packets that its line brought after it.
    contested: u32,
    /// Whether one of them came later than the hold time.
    is_contested_late: bool,
    /// Whether its line brought some of its numbers again, in another packet.
    is_disputed: bool,
    /// Messages before it that came after it: if it is believed, they were missing.
    pub(super) overtaken: u64,
    /// Copies that its line brought.
    pub(super) repeats: u32,
    kind: PacketKind,
    weight: u32,
    is_admitted: bool,
    place: Range<usize>,
}

/// A packet in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct InOrder<'a> {
    /// Its line; `None` for an answer of a server.
    pub(super) line: Option<Line>,
    /// Whether the line had brought later messages before.
    pub(super) is_late: bool,
    pub(super) ts_recv_ns: u64,
    pub(super) first: u64,
    pub(super) next: u64,
    pub(super) bytes: &'a [u8],
    /// One above the highest number that is known, before it and with it.
    pub(super) highest: (u64, u64),
}

/// How two packets support each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    /// One follows the other on its line, or they are copies.
    Strong,
    /// The line lacks some messages between them.
    Loose,
}

/// When packets are believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Belief {
    /// One above the highest number that is known.
    pub(super) highest: u64,
    pub(super) now_ns: u64,
    /// When the last new message was received, or now if that is later.
    pub(super) seen_ns: u64,
    pub(super) hold_ns: u64,
    /// Whether no line has had a packet for long: the lowest are believed if they are near.
    pub(super) is_silent: bool,
}

impl Doubt {
    /// Whether others may have overtaken it: not more than a few.
    fn may_be_true(&self) -> bool {
        self.contested <= MOST_CONTESTED && !self.is_disputed
    }

    /// Whether its line went on below it for the second time, and later than the hold time.
    fn is_refuted(&self, now_ns: u64, hold_ns: u64) -> bool {
        let is_old = now_ns.saturating_sub(self.ts_recv_ns) > hold_ns;
        self.reached_ns.is_none() && is_old && self.contested > 1
    }

    /// Whether it is used when it was reached the hold time ago. If its line went on below it after
    /// that time, the next packet of the line decides.
    fn is_used(&self) -> bool {
        self.may_be_true() && !self.is_contested_late
    }

    /// Whether it was reached the hold time ago.
    fn is_held(&self, now_ns: u64, hold_ns: u64) -> bool {
        self.reached_ns.is_some_and(|ns| now_ns.saturating_sub(ns) >= hold_ns)
    }
}

impl Doubts {
    pub(super) fn new() -> Self {
        Self { packets: Vec::with_capacity(MOST_PACKETS), bytes: Vec::with_capacity(MOST_BYTES) }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Keeps a packet. Calls `dropped` with those that leave for it.
    pub(super) fn add(
        &mut self,
        line: Line,
        (first, next): (u64, u64),
        kind: PacketKind,
        (ts_recv_ns, hold_ns): (u64, u64),
        bytes: &[u8],
        mut dropped: impl FnMut(&Doubt),
    ) {
        let is_same = |doubt: &&mut Doubt| {
            (doubt.line, doubt.first, doubt.next, doubt.kind) == (line, first, next, kind)
        };
        if let Some(doubt) = self.packets.iter_mut().find(is_same)
            && self.bytes[doubt.place.clone()] == *bytes
        {
            let is_sent_again = kind != PacketKind::Data
                && ts_recv_ns.saturating_sub(doubt.ts_recv_ns) >= SENT_AGAIN_NS;
            doubt.weight += u32::from(is_sent_again);
            doubt.repeats += 1;
            return;
        }
        self.contest(line, ts_recv_ns, ((first, next), bytes), hold_ns);
        let is_refuted = |doubt: &Doubt| {
            doubt.line == line && next <= doubt.first && doubt.is_refuted(ts_recv_ns, hold_ns)
        };
        self.drop_where(is_refuted, &mut dropped);
        while self.packets.len() == MOST_PACKETS || self.held() + bytes.len() > MOST_BYTES {
            let ages = self.packets.iter().enumerate();
            let Some((oldest, _)) = ages.min_by_key(|(_, doubt)| doubt.ts_recv_ns) else { return };
            dropped(&self.packets.remove(oldest));
        }
        if self.bytes.len() + bytes.len() > MOST_BYTES {
            self.compact();
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let at = self.packets.partition_point(|doubt| (doubt.first, doubt.next) <= (first, next));
        self.packets.insert(
            at,
            Doubt {
                line,
                first,
                next,
                ts_recv_ns,
                reached_ns: None,
                contested: 0,
                is_contested_late: false,
                is_disputed: false,
                overtaken: 0,
                repeats: 0,
                kind,
                weight: 1,
                is_admitted: false,
                place: start..self.bytes.len(),
            },
        );
    }

    /// A line went on below those of its packets that came before, or with the same numbers: it
    /// sends each message once.
    fn contest(
        &mut self,
        line: Line,
        ts_recv_ns: u64,
        ((first, next), bytes): ((u64, u64), &[u8]),
        hold_ns: u64,
    ) {
        let of_line = self.packets.iter_mut().filter(|doubt| doubt.line == line);
        for doubt in of_line.filter(|doubt| doubt.ts_recv_ns <= ts_recv_ns) {
            // A heartbeat has the number of the next message.
            let is_below = first < doubt.first || first == next && first < doubt.next;
            doubt.contested += u32::from(is_below);
            doubt.is_contested_late |=
                is_below && ts_recv_ns.saturating_sub(doubt.ts_recv_ns) > hold_ns;
            let has_some = first < doubt.next && doubt.first < next;
            doubt.is_disputed |= has_some && self.bytes[doubt.place.clone()] != *bytes;
        }
    }

    /// Weighs what a packet in order says: calls `dropped` with those that it shows to be wrong,
    /// and marks those that are copies, because all of their messages are known.
    pub(super) fn weigh(
        &mut self,
        packet: InOrder<'_>,
        hold_ns: u64,
        is_known: impl Fn(u64, u64) -> bool,
        mut dropped: impl FnMut(&Doubt),
    ) {
        let InOrder { line, is_late, ts_recv_ns, first, next, bytes, .. } = packet;
        let (before, highest) = packet.highest;
        if let Some(line) = line.filter(|_| !is_late) {
            self.contest(line, ts_recv_ns, ((first, next), bytes), hold_ns);
        }
        if let Some(doubt) = self.packets.iter_mut().find(|doubt| doubt.first > before) {
            doubt.overtaken += highest.min(doubt.first) - before;
        }
        let Self { packets, bytes: kept } = self;
        packets.retain_mut(|doubt| {
            let is_of_line = line == Some(doubt.line) && !is_late;
            let age_ns = ts_recv_ns.saturating_sub(doubt.ts_recv_ns);
            // What a server sends again says nothing. One that was reached may fill a gap to which
            // another line comes only now.
            let is_below =
                line.is_some() && !is_late && doubt.reached_ns.is_none() && next <= doubt.first;
            // The line has brought these numbers in order, with other bytes.
            let is_replaced = is_of_line
                && first < doubt.next
                && doubt.first < next
                && kept[doubt.place.clone()] != *bytes;
            let has_messages = doubt.first < doubt.next;
            let is_passed = is_known(doubt.first, doubt.next);
            let is_wrong = is_replaced
                || is_below
                    && (is_of_line && doubt.is_refuted(ts_recv_ns, hold_ns) || age_ns > REFUTED_NS)
                || !doubt.may_be_true() && doubt.is_held(ts_recv_ns, hold_ns)
                || is_passed && !has_messages && doubt.contested > 0;
            if is_wrong {
                dropped(doubt);
            } else if doubt.first <= highest {
                doubt.reached_ns = doubt.reached_ns.or(Some(ts_recv_ns));
                let is_settled = doubt.contested == 0 || age_ns > hold_ns;
                doubt.is_admitted = is_passed && is_settled && !doubt.is_disputed;
            }
            !is_wrong
        });
        if self.packets.is_empty() {
            self.bytes.clear();
        }
    }

    /// Whether a packet is marked.
    pub(super) fn has_admitted(&self) -> bool {
        self.packets.iter().any(|doubt| doubt.is_admitted)
    }

    /// Marks the packets that are believed now; `false` if there is none.
    pub(super) fn believe(&mut self, belief: Belief) -> bool {
        let Belief { highest, now_ns, seen_ns, hold_ns, is_silent } = belief;
        // Packets that were believed before may have reached them.
        for doubt in self.packets.iter_mut().filter(|doubt| doubt.first <= highest) {
            doubt.reached_ns.get_or_insert(seen_ns.max(doubt.ts_recv_ns));
        }
        let mut groups: [u8; MOST_PACKETS] = core::array::from_fn(|place| place as u8);
        let (mut is_strong, mut is_passed) = ([false; MOST_PACKETS], [false; MOST_PACKETS]);
        for (place, doubt) in self.packets.iter().enumerate() {
            for (other_place, other) in self.packets.iter().enumerate().skip(place + 1) {
                let Some(agreement) = self.agreement(doubt, other) else { continue };
                let is_close = agreement == Agreement::Strong;
                is_strong[place] |= is_close;
                is_strong[other_place] |= is_close;
                is_passed[place] = true;
                if groups[place] != groups[other_place] {
                    let (from, to) = (groups[other_place], groups[place]);
                    groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
                }
            }
        }
        let (mut is_believed, mut is_admitted_now) = (false, [false; MOST_PACKETS]);
        for group in 0..self.packets.len() {
            let is_of = |place: &usize| usize::from(groups[*place]) == group;
            let places = || (0..self.packets.len()).filter(is_of);
            let Some(first) = places().map(|place| self.packets[place].first).min() else {
                continue;
            };
            let weight: u32 = places().map(|place| self.packets[place].weight).sum();
            let ahead = first.saturating_sub(highest);
            let is_held = |place: usize| {
                let doubt = &self.packets[place];
                doubt.is_used() && doubt.is_held(now_ns, hold_ns)
            };
            let is_alone = places().count() == 1;
            let least = match is_alone || places().any(|place| is_strong[place]) {
                _ if ahead > FAR => FAR_WEIGHT,
                true => 2,
                false => LOOSE_WEIGHT,
            };
            let takes_all = is_silent && ahead <= FAR && !is_believed;
            // Behind a loss only the next packet of its line shows that a number is true.
            let is_shown = |place: usize| is_alone || is_strong[place] || is_passed[place];
            let is_admitted =
                |place: &usize| takes_all || weight >= least && is_shown(*place) || is_held(*place);
            for place in places().filter(is_admitted) {
                is_admitted_now[place] = true;
                is_believed = true;
            }
        }
        let marked = self.packets.iter_mut().zip(is_admitted_now);
        marked.for_each(|(doubt, is_admitted)| doubt.is_admitted |= is_admitted);
        is_believed
    }

    /// Whether two packets support each other.
    fn agreement(&self, lower: &Doubt, higher: &Doubt) -> Option<Agreement> {
        if lower.line != higher.line {
            let is_copy = self.bytes[lower.place.clone()] == self.bytes[higher.place.clone()];
            return is_copy.then_some(Agreement::Strong);
        }
        let is_contested = |doubt: &Doubt| {
            doubt.contested > 0 && doubt.reached_ns.is_none() || !doubt.may_be_true()
        };
        let is_after_end =
            lower.kind == PacketKind::EndOfSession && higher.kind == PacketKind::Data;
        if is_contested(lower) || is_contested(higher) || is_after_end {
            return None;
        }
        let is_later = lower.ts_recv_ns <= higher.ts_recv_ns;
        match higher.first.checked_sub(lower.next)? {
            0 => Some(Agreement::Strong),
            missing => (missing <= NEAR && is_later).then_some(Agreement::Loose),
        }
    }

    /// Marks the packets up to a number whose lines did not go below them.
    pub(super) fn admit_to(&mut self, to: u64) {
        let is_below =
            |doubt: &&mut Doubt| doubt.first <= to && doubt.contested == 0 && !doubt.is_disputed;
        self.packets.iter_mut().filter(is_below).for_each(|doubt| doubt.is_admitted = true);
    }

    /// Marks the packets that have some of these messages, which nothing else has; `false` if there
    /// is none.
    pub(super) fn admit_over(&mut self, numbers: &Range<u64>) -> bool {
        let has_some = |doubt: &&mut Doubt| {
            doubt.first < numbers.end && numbers.start < doubt.next && doubt.may_be_true()
        };
        let found = self.packets.iter_mut().filter(has_some);
        found.map(|doubt| doubt.is_admitted = true).count() > 0
    }

    /// Removes the lowest packet that is marked, and copies it to `buffer`.
    pub(super) fn take_admitted(&mut self, buffer: &mut Vec<u8>) -> Option<Doubt> {
        let place = self.packets.iter().position(|doubt| doubt.is_admitted)?;
        let doubt = self.packets.remove(place);
        buffer.clear();
        buffer.extend_from_slice(&self.bytes[doubt.place.clone()]);
        if self.packets.is_empty() {
            self.bytes.clear();
        }
        Some(doubt)
    }

    /// Removes the packets that `is_wrong`, and calls `dropped` with each.
    pub(super) fn drop_where(
        &mut self,
        is_wrong: impl Fn(&Doubt) -> bool,
        mut dropped: impl FnMut(&Doubt),
    ) {
        self.packets.retain(|doubt| {
            let goes = is_wrong(doubt);
            if goes {
                dropped(doubt);
            }
            !goes
        });
        if self.packets.is_empty() {
            self.bytes.clear();
        }
    }

    /// The lowest number.
    pub(super) fn first(&self) -> Option<u64> {
        self.packets.first().map(|doubt| doubt.first)
    }

    /// When the earliest of the packets came, in ns.
    pub(super) fn since_ns(&self) -> Option<u64> {
        self.packets.iter().map(|doubt| doubt.ts_recv_ns).min()
    }

    /// When a packet that was reached is believed, in ns.
    pub(super) fn settled_ns(&self, hold_ns: u64) -> Option<u64> {
        let used = self.packets.iter().filter(|doubt| doubt.is_used());
        let reached = used.filter_map(|doubt| doubt.reached_ns);
        reached.map(|reached_ns| reached_ns.saturating_add(hold_ns)).min()
    }

    fn held(&self) -> usize {
        self.packets.iter().map(|doubt| doubt.place.len()).sum()
    }

    /// Moves the bytes of the packets to the beginning.
    fn compact(&mut self) {
        let mut by_place: [usize; MOST_PACKETS] = core::array::from_fn(|place| place);
        let by_place = &mut by_place[..self.packets.len()];
        by_place.sort_unstable_by_key(|&place| self.packets[place].place.start);
        let mut to = 0;
        for &mut place in by_place {
            let from = self.packets[place].place.clone();
            let length = from.len();
            self.bytes.copy_within(from, to);
            self.packets[place].place = to..to + length;
            to += length;
        }
        self.bytes.truncate(to);
    }
}
