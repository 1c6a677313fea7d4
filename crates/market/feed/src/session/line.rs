//! What one line did: packets, losses, overtaken packets, and silence.

use nanotape_wire::framing::numbered::MalformedKind;

use super::ranges::Ranges;

/// Missing ranges of a line that are remembered. A packet that comes after as many later ones is
/// counted as a duplicate, and its messages as lost on the line.
const REMEMBERED: usize = 64;

/// Counts of a line, or of the answers of a re-request server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// Packets, also those that were dropped.
    pub packets: u64,
    /// Their bytes, without the headers below the packet.
    pub bytes: u64,
    /// Packets without messages.
    pub heartbeats: u64,
    /// Messages in all packets of the session.
    pub messages: u64,
    /// Messages that this line brought first.
    pub first_messages: u64,
    /// Packets whose messages, or some of them, this line brought first.
    pub first_packets: u64,
    /// Messages that this line had brought before.
    pub duplicates: u64,
    /// Messages that a later packet of this line had overtaken.
    pub overtaken: u64,
    /// Messages that this line has not brought, although it brought later ones.
    pub missing: u64,
    /// Packets of another session.
    pub other_session: u64,
    /// Packets dropped because their numbers were above all others, and nothing agreed with them.
    pub far_ahead: u64,
    /// Packets that do not follow their format, by kind.
    pub malformed: [u64; MalformedKind::ALL.len()],
    /// Times that the line was silent.
    pub silences: u64,
}

impl LineCounts {
    /// Adds the counts of another session of the line.
    pub fn add(&mut self, other: &Self) {
        let counts = [
            (&mut self.packets, other.packets),
            (&mut self.bytes, other.bytes),
            (&mut self.heartbeats, other.heartbeats),
            (&mut self.messages, other.messages),
            (&mut self.first_messages, other.first_messages),
            (&mut self.first_packets, other.first_packets),
            (&mut self.duplicates, other.duplicates),
            (&mut self.overtaken, other.overtaken),
            (&mut self.missing, other.missing),
            (&mut self.other_session, other.other_session),
            (&mut self.far_ahead, other.far_ahead),
            (&mut self.silences, other.silences),
        ];
        for (sum, more) in counts {
            *sum = sum.saturating_add(more);
        }
        for (sum, more) in self.malformed.iter_mut().zip(other.malformed) {
            *sum = sum.saturating_add(more);
        }
    }
}

/// A line, or the answers of a re-request server. A power of two of bytes: the hot path finds it by
/// a shift.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct LineState {
    pub(super) counts: LineCounts,
    /// One above the highest number that it brought; 0 before its first packet of the session.
    pub(super) next: u64,
    /// When its last packet came; 0 before the first.
    pub(super) last_ns: u64,
    pub(super) is_silent: bool,
    /// Packets of other sessions since the last one of the current session.
    pub(super) others: u32,
    /// When the first of them came.
    pub(super) others_ns: u64,
    missing: Ranges,
    /// Messages of ranges that are no longer remembered.
    given_up: u64,
}

impl LineState {
    pub(super) fn new() -> Self {
        Self {
            counts: LineCounts::default(),
            next: 0,
            last_ns: 0,
            is_silent: false,
            others: 0,
            others_ns: 0,
            missing: Ranges::with_capacity(REMEMBERED),
            given_up: 0,
        }
    }

    /// Counts a packet of the session with the messages from `first` to before `next`.
    #[inline]
    pub(super) fn note(&mut self, first: u64, next: u64) {
        self.counts.messages += next - first;
        self.counts.heartbeats += u64::from(first == next);
        self.others = 0;
        if first == self.next || self.next == 0 {
            self.next = next;
        } else {
            self.note_out_of_order(first, next);
        }
    }

    /// Counts a copy of a packet that [`note`](Self::note) has counted.
    pub(super) fn note_again(&mut self, first: u64, next: u64) {
        self.counts.messages += next - first;
        self.counts.duplicates += next - first;
        self.counts.heartbeats += u64::from(first == next);
    }

    #[cold]
    fn note_out_of_order(&mut self, first: u64, next: u64) {
        if first > self.next {
            if self.missing.is_full() {
                self.forget_oldest();
            }
            let is_kept = self.missing.push(self.next..first);
            debug_assert!(is_kept, "a range was removed");
        } else {
            let brought = first..next.min(self.next);
            let seen = brought.end - brought.start;
            let mut overtaken = self.missing.remove(brought.clone());
            // A range is split by them, and there is no room for its second part.
            if self.missing.parts(brought.clone()).next().is_some() {
                self.forget_oldest();
                overtaken += self.missing.remove(brought);
            }
            self.counts.overtaken += overtaken;
            self.counts.duplicates += seen - overtaken;
        }
        self.next = self.next.max(next);
        // Numbers are the sender's, and any sum of them may be too large.
        self.counts.missing = self.given_up.saturating_add(self.missing.count());
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.missing.remove_first() {
            self.give_up(oldest.end - oldest.start);
        }
    }

    fn give_up(&mut self, messages: u64) {
        self.given_up = self.given_up.saturating_add(messages);
    }

    /// A new session begins. The counts go on.
    pub(super) fn begin_session(&mut self) {
        self.give_up(self.missing.count());
        self.missing = Ranges::with_capacity(REMEMBERED);
        (self.next, self.others) = (0, 0);
    }

    /// When its last packet of the current session came, or a later packet before those of others.
    pub(super) fn current_ns(&self) -> u64 {
        if self.others > 0 { self.others_ns } else { self.last_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_duplicates_and_overtaken_packets_are_distinguished() {
        let mut line = LineState::new();
        line.note(1, 4);
        line.note(6, 8);
        assert_eq!(line.counts.missing, 2);
        line.note(4, 6);
        assert_eq!((line.counts.missing, line.counts.overtaken), (0, 2));
        line.note(4, 8);
        assert_eq!(line.counts.duplicates, 4);
        line.note(7, 10);
        assert_eq!((line.counts.duplicates, line.next), (5, 10));
        line.note(12, 12);
        assert_eq!((line.counts.missing, line.counts.heartbeats), (2, 1));
        line.begin_session();
        line.note(1, 2);
        assert_eq!(line.counts.missing, 2);
    }

    #[test]
    fn what_is_no_longer_remembered_stays_lost() {
        let mut line = LineState::new();
        line.note(1, 2);
        for packet in 1..=REMEMBERED as u64 + 1 {
            line.note(packet * 3, packet * 3 + 1);
        }
        assert_eq!(line.counts.missing, 1 + 2 * REMEMBERED as u64);
        line.note(2, 3);
        assert_eq!((line.counts.overtaken, line.counts.duplicates), (0, 1));
        line.note(4, 6);
        assert_eq!(line.counts.overtaken, 2);
    }

    #[test]
    fn a_packet_within_a_missing_range_is_overtaken_although_all_ranges_are_in_use() {
        let mut line = LineState::new();
        line.note(1, 2);
        for packet in 1..=REMEMBERED as u64 {
            line.note(packet * 4, packet * 4 + 1);
        }
        let missing = line.counts.missing;
        let last = REMEMBERED as u64 * 4;
        line.note(last - 2, last - 1);
        assert_eq!((line.counts.overtaken, line.counts.duplicates), (1, 0));
        assert_eq!(line.counts.missing, missing - 1);
    }
}
