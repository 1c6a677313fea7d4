//! When the packets of a capture are due, in recorded time: at the differences of their times, or
//! earlier where a difference is longer than a limit.
//!
//! Protocol: a packet that comes after a longer time is due at the limit, and what was recorded
//! above it is left out for later packets too. If the times go back before that packet, its time
//! was wrong, and the schedule is as if it had none.

/// The schedule of a capture.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The longest time from one packet to the next.
    longest_ns: u64,
    /// The latest due time.
    last_due_ns: u64,
    /// Recorded time that is left out.
    left_out_ns: u64,
    jump: Option<Jump>,
    is_begun: bool,
}

/// The last packet after which time was left out.
#[derive(Debug)]
struct Jump {
    ts_ns: u64,
    left_out_before_ns: u64,
}

impl Schedule {
    pub(super) fn new(longest_ns: u64) -> Self {
        Self { longest_ns, last_due_ns: 0, left_out_ns: 0, jump: None, is_begun: false }
    }

    /// When the next packet, of this time, is due, and whether time before it is left out. A due
    /// time does not go back.
    pub(super) fn due(&mut self, ts_ns: u64) -> (u64, bool) {
        if !self.is_begun {
            (self.is_begun, self.last_due_ns) = (true, ts_ns);
        }
        if let Some(jump) = &self.jump
            && ts_ns.saturating_add(self.longest_ns) < jump.ts_ns
        {
            self.left_out_ns = jump.left_out_before_ns;
            self.jump = None;
        }
        let due_ns = ts_ns.saturating_sub(self.left_out_ns);
        let latest_ns = self.last_due_ns.saturating_add(self.longest_ns);
        let above_ns = due_ns.saturating_sub(latest_ns);
        if above_ns > 0 {
            self.jump = Some(Jump { ts_ns, left_out_before_ns: self.left_out_ns });
            self.left_out_ns += above_ns;
        }
        self.last_due_ns = self.last_due_ns.max(due_ns.min(latest_ns));
        (self.last_due_ns, above_ns > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(longest_ns: u64, times: &[u64]) -> Vec<u64> {
        let mut schedule = Schedule::new(longest_ns);
        times.iter().map(|&ts_ns| schedule.due(ts_ns).0).collect()
    }

    #[test]
    fn packets_are_due_as_recorded_and_never_earlier_than_one_before() {
        for longest_ns in [u64::MAX, 100] {
            assert_eq!(due(longest_ns, &[50, 60, 55, 160, 160]), [50, 60, 60, 160, 160]);
        }
    }

    #[test]
    fn a_long_pause_is_shortened_for_all_packets_after_it() {
        assert_eq!(due(100, &[50, 5_000, 5_010, 9_000, 9_100]), [50, 150, 160, 260, 360]);
    }

    #[test]
    fn one_wrong_time_delays_by_the_limit_only() {
        let wild = u64::MAX - 1;
        assert_eq!(due(100, &[50, 60, wild, 70, 200, 290]), [50, 60, 160, 160, 200, 290]);
        // Twice, and right after each other.
        assert_eq!(due(100, &[50, wild, wild, 70, wild, 300]), [50, 150, 150, 150, 250, 300]);
    }
}
