//! The race between the lines: which one brought a message first, and by how much.
//!
//! Protocol: the first copy of each packet is remembered with its time. A later copy from another
//! line is compared with it by the number of its last message, because lines may cut their packets
//! differently.
//! Bounds: the last [`REMEMBERED`] first copies. A copy that comes after as many others is not
//! compared.

use super::{event::Line, settings::MAX_LINES};

/// First copies that are remembered.
const REMEMBERED: usize = 4096;

#[derive(Debug)]
pub(super) struct Race {
    firsts: Box<[First]>,
    /// First copies so far.
    count: u64,
    /// For each line, the first copy from which the next search begins.
    cursors: [u64; MAX_LINES],
}

#[derive(Clone, Copy, Debug)]
struct First {
    first: u64,
    next: u64,
    ts_recv_ns: u64,
    line: Line,
}

impl Race {
    pub(super) fn new() -> Self {
        let none = First { first: 0, next: 0, ts_recv_ns: 0, line: Line::A };
        let firsts = vec![none; REMEMBERED].into_boxed_slice();
        Self { firsts, count: 0, cursors: [0; MAX_LINES] }
    }

    /// A line brought messages that no other had brought.
    #[inline]
    pub(super) fn won(&mut self, line: Line, (first, next): (u64, u64), ts_recv_ns: u64) {
        self.firsts[self.count as usize % REMEMBERED] = First { first, next, ts_recv_ns, line };
        self.count += 1;
    }

    /// The line that received message `last` earlier, and by how much. By receive time: a copy that
    /// is read later may have been received earlier.
    #[inline]
    pub(super) fn lead(&mut self, line: Line, last: u64, ts_recv_ns: u64) -> Option<(Line, u64)> {
        let cursor = &mut self.cursors[line.index()];
        *cursor = (*cursor).max(self.count.saturating_sub(REMEMBERED as u64));
        while *cursor < self.count {
            let found = self.firsts[*cursor as usize % REMEMBERED];
            if found.next > last {
                let is_later_copy = found.first <= last && found.line != line;
                let lead_ns = ts_recv_ns.abs_diff(found.ts_recv_ns);
                let winner = if ts_recv_ns < found.ts_recv_ns { line } else { found.line };
                return is_later_copy.then_some((winner, lead_ns));
            }
            *cursor += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_copy_is_compared_with_the_first_one_of_its_last_message() {
        let mut race = Race::new();
        race.won(Line::A, (1, 4), 100);
        race.won(Line::A, (4, 6), 200);
        assert_eq!(race.lead(Line::B, 5, 230), Some((Line::A, 30)), "other cuts of the packets");
        assert_eq!(race.lead(Line::B, 6, 240), None, "no first copy");
        race.won(Line::B, (6, 9), 300);
        assert_eq!(race.lead(Line::A, 8, 290), Some((Line::A, 10)), "read later, received earlier");
        assert_eq!(race.lead(Line::B, 8, 310), None, "its own copy");
    }

    #[test]
    fn a_copy_that_comes_much_later_is_not_compared() {
        let mut race = Race::new();
        for number in 0..3 * REMEMBERED as u64 {
            race.won(Line::A, (number, number + 1), number);
        }
        assert_eq!(race.lead(Line::B, 5, 1 << 20), None);
        let last = 3 * REMEMBERED as u64 - 1;
        assert_eq!(race.lead(Line::B, last, last + 7), Some((Line::A, 7)));
    }
}
