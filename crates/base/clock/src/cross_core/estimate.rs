//! Computes the offset between two clocks from rounds of question and answer.

/// The interval of possible offsets after all rounds so far, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Estimate {
    /// The offset is at least this.
    least: i64,
    /// The offset is at most this.
    most: i64,
    /// The interval of the shortest round trip alone.
    shortest: (i64, i64),
    rounds: u32,
}

impl Default for Estimate {
    fn default() -> Self {
        Self { least: i64::MIN, most: i64::MAX, shortest: (i64::MIN, i64::MAX), rounds: 0 }
    }
}

impl Estimate {
    /// Adds a round: `sent` and `answered` by one clock, `seen` by the other.
    pub(super) fn add(&mut self, sent: u64, seen: u64, answered: u64) {
        // Wrapping: two counters can differ by any amount, and only their difference matters.
        let least = seen.wrapping_sub(answered) as i64;
        let most = seen.wrapping_sub(sent) as i64;
        self.least = self.least.max(least);
        self.most = self.most.min(most);
        let width = |(least, most): (i64, i64)| i128::from(most) - i128::from(least);
        if self.rounds == 0 || width((least, most)) < width(self.shortest) {
            self.shortest = (least, most);
        }
        self.rounds += 1;
    }

    /// Whether one offset fits every round.
    pub(super) fn is_consistent(&self) -> bool {
        self.least <= self.most
    }

    /// By how much the answering thread's clock is ahead; 0 before the first round.
    pub(super) fn offset_ticks(&self) -> f64 {
        let (least, most) = self.interval();
        if self.rounds == 0 { 0.0 } else { (least as f64 + most as f64) / 2.0 }
    }

    /// Maximum error of the offset.
    pub(super) fn bound_ticks(&self) -> f64 {
        let (least, most) = self.interval();
        if self.rounds == 0 { f64::INFINITY } else { (most as f64 - least as f64) / 2.0 }
    }

    /// The shortest round trip.
    pub(super) fn round_trip_ticks(&self) -> f64 {
        let (least, most) = self.shortest;
        if self.rounds == 0 { f64::INFINITY } else { most as f64 - least as f64 }
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The intersection of all rounds, or the interval of the best one if they contradict.
    fn interval(&self) -> (i64, i64) {
        if self.is_consistent() { (self.least, self.most) } else { self.shortest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds between a clock and one that is ahead by `offset`; `ways` has the two delays of each.
    fn rounds(offset: i64, ways: &[(u64, u64)]) -> Estimate {
        let mut estimate = Estimate::default();
        for (index, &(there, back)) in ways.iter().enumerate() {
            let sent = 1_000_000 + index as u64 * 10_000;
            let seen = (sent + there).wrapping_add_signed(offset);
            estimate.add(sent, seen, sent + there + back);
        }
        estimate
    }

    #[test]
    fn one_round_bounds_the_offset_by_half_its_length() {
        let estimate = rounds(500, &[(100, 100)]);
        assert_eq!((estimate.offset_ticks(), estimate.bound_ticks()), (500.0, 100.0));
        // An answer with unequal delays is wrong by no more than the bound.
        let uneven = rounds(500, &[(180, 20)]);
        assert_eq!((uneven.offset_ticks(), uneven.bound_ticks()), (580.0, 100.0));
    }

    #[test]
    fn many_rounds_leave_what_they_have_in_common() {
        // The shortest delays of both directions come from different rounds.
        let estimate = rounds(-7, &[(30, 400), (500, 20), (90, 90), (5_000, 5_000)]);
        assert_eq!((estimate.offset_ticks(), estimate.bound_ticks()), (-2.0, 25.0));
        assert_eq!(estimate.round_trip_ticks(), 180.0);
        assert_eq!(estimate.rounds(), 4);
        assert!(estimate.is_consistent());
    }

    #[test]
    fn counters_far_apart_are_compared() {
        for offset in [1 << 40, -(1 << 40)] {
            let estimate = rounds(offset, &[(100, 100)]);
            assert_eq!(estimate.offset_ticks(), offset as f64);
        }
        // One of the counters is about to wrap.
        let mut estimate = Estimate::default();
        estimate.add(u64::MAX - 50, 49, 149);
        assert_eq!((estimate.offset_ticks(), estimate.bound_ticks()), (0.0, 100.0));
    }

    #[test]
    fn clocks_that_run_apart_are_noticed() {
        let mut estimate = rounds(0, &[(50, 50)]);
        estimate.add(2_000_000, 2_000_000 + 45 + 1_000, 2_000_000 + 90);
        assert!(!estimate.is_consistent());
        // The best round still bounds its own offset.
        assert_eq!((estimate.offset_ticks(), estimate.bound_ticks()), (1_000.0, 45.0));
    }

    #[test]
    fn nothing_is_known_before_the_first_round() {
        let none = Estimate::default();
        assert_eq!(none.offset_ticks(), 0.0);
        assert!(none.bound_ticks().is_infinite() && none.round_trip_ticks().is_infinite());
        assert!(none.is_consistent());
    }
}
