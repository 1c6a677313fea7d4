//! A channel whose numbers begin again at 1 under the name of its session: another stream.
//!
//! Protocol: a line that has brought later messages brings another message 1. Its packet is kept
//! apart until the line goes on with the next number, or another line brings the same message:
//! one packet alone shows nothing. From then on each line counts as old until it goes back too,
//! because its late packets have numbers of the stream before.
//! Bounds: one packet.

use nanotape_feed::session::{Line, MAX_LINES};

/// How long a line can be behind another one that has begun again, in ns.
const MOST_BEHIND_NS: u64 = 1_000_000_000;

/// Messages by which a line that has begun again can be ahead of the others.
const MOST_AHEAD: u64 = 1 << 16;

/// What the lines of a channel show about its beginning.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    /// One above the highest number that each line brought of its stream; 0 before the first.
    next: [u64; MAX_LINES],
    /// Whether a line still has the stream before.
    is_old: [bool; MAX_LINES],
    restarted_ns: u64,
    waiting: Option<WaitingStart>,
}

/// A packet that begins with another message 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WaitingStart {
    pub(crate) line: Line,
    pub(crate) ts_recv_ns: u64,
    pub(crate) bytes: Box<[u8]>,
    next: u64,
}

/// A packet of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinePlace<'a> {
    pub(crate) line: Line,
    pub(crate) ts_recv_ns: u64,
    /// Its numbers.
    pub(crate) first: u64,
    pub(crate) next: u64,
    pub(crate) bytes: &'a [u8],
    /// Whether it begins with a message 1 that is another one than that of the stream, or may be.
    pub(crate) is_other_start: bool,
    /// One above the highest number that is known of the stream.
    pub(crate) highest: u64,
}

/// What becomes of a packet.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is of the stream.
    Pass,
    /// It is kept, or of the stream before.
    Drop,
    /// Another stream has begun with this packet, and the current one follows it.
    Restart(WaitingStart),
}

impl Restarts {
    /// Whether a packet cannot show a restart, and is of the stream.
    #[inline]
    pub(crate) fn is_usual(&self, first: u64) -> bool {
        first > 1 && self.waiting.is_none() && self.restarted_ns == 0
    }

    /// A packet of the stream was taken.
    #[inline]
    pub(crate) fn note(&mut self, line: Line, next: u64) {
        let known = &mut self.next[line.index()];
        *known = (*known).max(next);
    }

    /// What becomes of a packet.
    pub(crate) fn judge(&mut self, packet: LinePlace<'_>) -> Verdict {
        let LinePlace { line, ts_recv_ns, first, next, bytes, is_other_start, highest } = packet;
        let place = line.index();
        if self.restarted_ns > 0 {
            if ts_recv_ns.saturating_sub(self.restarted_ns) >= MOST_BEHIND_NS {
                (self.is_old, self.restarted_ns) = ([false; MAX_LINES], 0);
            } else if self.is_old[place] {
                let went_back = first < self.next[place];
                if !went_back || first > highest.saturating_add(MOST_AHEAD) {
                    return Verdict::Drop;
                }
                (self.is_old[place], self.next[place]) = (false, 0);
                return Verdict::Pass;
            }
        }
        let went_back = self.next[place] > next && first == 1 && first < next;
        match &self.waiting {
            Some(waiting) if waiting.line == line => {
                if *waiting.bytes == *bytes {
                    return Verdict::Drop;
                }
                let follows = first == waiting.next;
                let waiting = self.waiting.take();
                match waiting.filter(|_| follows) {
                    Some(waiting) => return self.restart(waiting, ts_recv_ns),
                    // The line goes on below it.
                    None if !is_other_start => return Verdict::Pass,
                    None => {}
                }
            }
            Some(waiting) if went_back && is_other_start && *waiting.bytes == *bytes => {
                if let Some(waiting) = self.waiting.take() {
                    return self.restart(waiting, ts_recv_ns);
                }
            }
            _ => {}
        }
        if !(went_back && is_other_start) {
            return Verdict::Pass;
        }
        if self.waiting.is_none() {
            let bytes = bytes.into();
            self.waiting = Some(WaitingStart { line, ts_recv_ns, bytes, next });
        }
        Verdict::Drop
    }

    /// Another stream begins: all other lines still have the one before.
    fn restart(&mut self, waiting: WaitingStart, now_ns: u64) -> Verdict {
        for (place, is_old) in self.is_old.iter_mut().enumerate() {
            *is_old = place != waiting.line.index() && self.next[place] > 0;
        }
        self.next[waiting.line.index()] = 0;
        self.restarted_ns = now_ns.max(1);
        Verdict::Restart(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: Line, first: u64, next: u64, bytes: &[u8]) -> LinePlace<'_> {
        let is_other_start = first == 1 && bytes != b"old";
        LinePlace { line, ts_recv_ns: 5, first, next, bytes, is_other_start, highest: 9 }
    }

    #[test]
    fn a_stream_begins_again_when_a_line_goes_on_after_another_message_1() {
        let mut restarts = Restarts::default();
        restarts.note(Line::A, 100);
        restarts.note(Line::B, 90);
        assert_eq!(restarts.judge(place(Line::A, 1, 3, b"old")), Verdict::Pass, "a copy");
        assert_eq!(restarts.judge(place(Line::A, 1, 3, b"new")), Verdict::Drop);
        assert_eq!(restarts.judge(place(Line::B, 90, 99, b"")), Verdict::Pass, "another line");
        let Verdict::Restart(first) = restarts.judge(place(Line::A, 3, 5, b"next")) else {
            panic!("it has begun again")
        };
        assert_eq!(*first.bytes, *b"new");
        // The other line is behind.
        assert_eq!(restarts.judge(place(Line::B, 99, 120, b"")), Verdict::Drop);
        assert_eq!(restarts.judge(place(Line::B, 1, 3, b"new")), Verdict::Pass);
        assert_eq!(restarts.judge(place(Line::B, 3, 5, b"next")), Verdict::Pass);
    }

    #[test]
    fn one_packet_alone_shows_nothing() {
        let mut restarts = Restarts::default();
        restarts.note(Line::A, 100);
        assert_eq!(restarts.judge(place(Line::A, 1, 3, b"new")), Verdict::Drop);
        assert_eq!(restarts.judge(place(Line::A, 100, 101, b"")), Verdict::Pass);
        assert_eq!(restarts.judge(place(Line::A, 3, 5, b"")), Verdict::Pass);
        // A line without earlier packets is late, and has not gone back.
        assert_eq!(restarts.judge(place(Line::B, 1, 3, b"new")), Verdict::Pass);
    }
}
