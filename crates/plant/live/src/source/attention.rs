//! Whether the time of a session passed while the plant did not run.
//!
//! Protocol: after a stall the sockets have seconds of packets, which are read at once. The time of
//! the session passes as fast, and no server can answer in it: requests begin again each time it
//! has passed for so long without the plant.

/// The longest time between two rounds that counts as attended, in ns: an idle plant waits less.
const MOST_ROUND_NS: u64 = 300_000_000;

/// The time of a session that passes without the plant, in ns, before requests begin again.
const MOST_AHEAD_NS: u64 = 500_000_000;

/// Compares the time of a session with that of the plant.
#[derive(Debug)]
pub(crate) struct Attention {
    /// The time of the last round, and the time that counts of all rounds, in ns.
    last_ns: u64,
    attended_ns: u64,
    /// The least time of the session beyond it since requests began again, in ns.
    least_ns: u64,
}

impl Attention {
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { last_ns: now_ns, attended_ns: 0, least_ns: u64::MAX }
    }

    /// A round of the plant at `now_ns` has read all lines up to `read_to_ns`. Whether the time of
    /// the session passed without the plant.
    pub(crate) fn was_missing(&mut self, now_ns: u64, read_to_ns: u64) -> bool {
        let passed_ns = now_ns.saturating_sub(core::mem::replace(&mut self.last_ns, now_ns));
        self.attended_ns += passed_ns.min(MOST_ROUND_NS);
        let beyond_ns = read_to_ns.saturating_sub(self.attended_ns);
        self.least_ns = self.least_ns.min(beyond_ns);
        let was_missing = beyond_ns - self.least_ns >= MOST_AHEAD_NS;
        if was_missing {
            self.least_ns = beyond_ns;
        }
        was_missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn only_time_without_rounds_is_missing() {
        let began_ns = 1_000_000 * MS;
        let mut attention = Attention::new(began_ns);
        // An idle plant, and one that is behind by a little.
        for round in 1..10_000 {
            let now_ns = began_ns + round * 110 * MS;
            assert!(!attention.was_missing(now_ns, now_ns - round % 3 * 50 * MS), "{round}");
        }
        // It does not run for ten seconds, which it then reads in steps of 60 ms.
        let stopped_ns = began_ns + 10_000 * 110 * MS;
        let missing = (0..167).filter(|step| {
            attention.was_missing(stopped_ns + 10_000 * MS + step * MS, stopped_ns + step * 60 * MS)
        });
        assert_eq!(missing.count(), 18);
    }
}
