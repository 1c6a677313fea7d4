//! Sessions that are not the current one, with their packets, until one of them is believed.
//!
//! One packet shows little: a test session on the same group, yesterday's last heartbeats, a packet
//! that was sent to the wrong place. So the packets of each other session are kept. A session is
//! believed when there is no current one, or all lines have left it; then its packets are delivered
//! from the lowest number on.
//! Bounds: [`MOST_SESSIONS`] sessions, and [`MOST_BYTES`] bytes of each. A session without room
//! loses its earliest packets: it is joined late.

use core::ops::Range;

use super::{event::Line, settings::MAX_LINES};

/// Sessions whose packets are kept.
const MOST_SESSIONS: usize = 4;

/// Bytes of the packets of a session.
const MOST_BYTES: usize = 16 << 20;

/// Packets of a session, rather than strays.
const LEAST_PACKETS: usize = 8;

/// Numbers up to which a packet follows another one.
const NEXT: u64 = 64;

/// Other sessions.
#[derive(Debug)]
pub(super) struct Candidates<S> {
    sessions: Vec<Candidate<S>>,
}

/// A session with its packets, in the order in which they came.
pub(super) struct Candidate<S> {
    pub(super) session: S,
    pub(super) packets: Vec<CandidatePacket>,
    pub(super) bytes: Vec<u8>,
    /// Whether a packet has messages.
    pub(super) has_messages: bool,
    /// When its first and its last packet came, in ns.
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    /// Whether a packet followed another one: no stray does that.
    pub(super) has_sequence: bool,
    /// The numbers of the last packet of each line.
    lines: [Option<(u64, u64)>; MAX_LINES],
}

/// A packet of another session.
#[derive(Clone, Debug)]
pub(super) struct CandidatePacket {
    pub(super) line: Line,
    pub(super) ts_recv_ns: u64,
    pub(super) first: u64,
    pub(super) next: u64,
    pub(super) place: Range<usize>,
}

impl<S> core::fmt::Debug for Candidate<S> {
    /// Without the packets, which can be megabytes.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Candidate").field("packets", &self.packets.len()).finish_non_exhaustive()
    }
}

impl<S: Copy + Eq> Candidates<S> {
    pub(super) fn new() -> Self {
        Self { sessions: Vec::new() }
    }

    /// Keeps a packet of a session. If there are too many, a stray packet leaves, or the session
    /// that was silent for the longest time.
    pub(super) fn keep(
        &mut self,
        session: S,
        line: Line,
        (first, next): (u64, u64),
        ts_recv_ns: u64,
        bytes: &[u8],
    ) {
        let known = self.sessions.iter().position(|candidate| candidate.session == session);
        let place = known.unwrap_or_else(|| {
            if self.sessions.len() == MOST_SESSIONS {
                let last = self.sessions.iter().enumerate();
                let stalest =
                    last.min_by_key(|(_, candidate)| (candidate.has_sequence, candidate.last_ns));
                self.sessions.remove(stalest.map_or(0, |(place, _)| place));
            }
            self.sessions.push(Candidate::new(session, ts_recv_ns));
            self.sessions.len() - 1
        });
        self.sessions[place].keep(line, (first, next), ts_recv_ns, bytes);
    }

    /// The session that most packets are of, those with messages before others. It had one after
    /// `since_ns`. Of sessions that followed each other, the earliest.
    pub(super) fn best(&self, since_ns: u64) -> Option<&Candidate<S>> {
        let alive = || self.sessions.iter().filter(|candidate| candidate.last_ns >= since_ns);
        let most = alive().max_by_key(|of| (of.has_messages, of.packets.len()))?;
        let is_before = |of: &&Candidate<S>| of.is_session() && of.last_ns <= most.first_ns;
        alive().filter(is_before).min_by_key(|of| of.first_ns).or(Some(most))
    }

    /// All sessions.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Candidate<S>> {
        self.sessions.iter()
    }

    /// Takes a session out. Another one can follow it soon.
    pub(super) fn take(&mut self, session: S) -> Option<Candidate<S>> {
        let place = self.sessions.iter().position(|candidate| candidate.session == session)?;
        Some(self.sessions.swap_remove(place))
    }

    /// Takes all sessions out.
    pub(super) fn take_all(&mut self) -> Vec<Candidate<S>> {
        core::mem::take(&mut self.sessions)
    }
}

impl<S> Candidate<S> {
    fn new(session: S, first_ns: u64) -> Self {
        Self {
            session,
            packets: Vec::new(),
            bytes: Vec::new(),
            has_messages: false,
            first_ns,
            last_ns: first_ns,
            has_sequence: false,
            lines: [None; MAX_LINES],
        }
    }

    fn keep(&mut self, line: Line, (first, next): (u64, u64), ts_recv_ns: u64, bytes: &[u8]) {
        let follows =
            |(_, end): (u64, u64), first: u64| (end..end.saturating_add(NEXT)).contains(&first);
        let meets = |&other: &(u64, u64)| {
            other != (first, next) && (follows(other, first) || follows((first, next), other.0))
        };
        self.has_sequence |= self.has_messages && self.lines.iter().flatten().any(meets);
        self.lines[line.index()] = Some((first, next));
        self.has_messages |= first < next;
        self.first_ns = self.first_ns.min(ts_recv_ns);
        self.last_ns = self.last_ns.max(ts_recv_ns);
        if first == next && self.is_repeated(line, bytes) {
            let of_line = |packet: &&mut CandidatePacket| packet.line == line;
            if let Some(last) = self.packets.iter_mut().rev().find(of_line) {
                last.ts_recv_ns = last.ts_recv_ns.max(ts_recv_ns);
            }
            return;
        }
        if self.bytes.len() + bytes.len() > MOST_BYTES {
            self.packets.clear();
            self.bytes.clear();
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let place = start..self.bytes.len();
        self.packets.push(CandidatePacket { line, ts_recv_ns, first, next, place });
    }

    /// Whether the last two packets of a line are the same as this one: of a heartbeat or an end
    /// that is repeated, the first and the last are kept.
    fn is_repeated(&self, line: Line, bytes: &[u8]) -> bool {
        let last = self.packets.iter().rev().take(2 * MAX_LINES);
        let of_line = last.filter(|packet| packet.line == line).take(2);
        of_line.filter(|packet| self.bytes[packet.place.clone()] == *bytes).count() == 2
    }

    /// Whether they are so many that the lines can have left another session for this one.
    pub(super) fn is_many(&self) -> bool {
        self.packets.len() >= LEAST_PACKETS
    }

    /// Whether the packets are no strays.
    fn is_session(&self) -> bool {
        self.has_messages && self.has_sequence && self.is_many()
    }

    /// Whether each of the first `lines` lines has brought one.
    pub(super) fn is_on_all(&self, lines: usize) -> bool {
        self.lines.iter().take(lines).all(Option::is_some)
    }

    /// The line of its first packet.
    pub(super) fn line(&self) -> Line {
        self.packets.first().map_or(Line::A, |packet| packet.line)
    }

    /// The lowest number of its messages, or of the heartbeats before them: a heartbeat or an end
    /// with a lower number than its line had before is an old one.
    pub(super) fn start(&self) -> u64 {
        let mut reached = [0; MAX_LINES];
        let lowest =
            self.packets.iter().filter_map(|&CandidatePacket { line, first, next, .. }| {
                let reached = &mut reached[line.index()];
                let is_old = first == next && first < *reached;
                *reached = next.max(*reached);
                (!is_old).then_some(first)
            });
        lowest.min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_take_the_place_of_strays() {
        let mut candidates = Candidates::new();
        for first in [1, 11] {
            candidates.keep(0, Line::A, (first, first + 10), first, &[1]);
        }
        for stray in 1..=6 {
            candidates.keep(stray, Line::A, (50, 55), 100 + stray, &[1]);
        }
        assert_eq!(candidates.best(0).map(|best| (best.session, best.packets.len())), Some((0, 2)));
        assert!(candidates.take(1).is_none() && candidates.take(6).is_some());
    }
}
