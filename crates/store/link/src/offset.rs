//! The distance between two clocks, in bounds that hold whatever the delays of the two ways are.
//!
//! A message that left here at `a1` and arrived there at `b1` shows that the other clock is ahead
//! by at most `b1 - a1`. One that left there at `b2` and arrived here at `a2` shows that it is
//! ahead by at least `b2 - a2`. Both bounds widen with time, because clocks drift.

/// How far two clocks can drift apart, in parts per million of the time that passes.
const DRIFT_PPM: u64 = 200;

/// How far the other clock is ahead of this one, in nanoseconds; negative if it is behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockOffset {
    /// The smallest possible value.
    pub least_ns: i64,
    /// The largest possible value.
    pub most_ns: i64,
}

impl ClockOffset {
    /// The value in the middle.
    pub fn middle_ns(self) -> i64 {
        self.least_ns.midpoint(self.most_ns)
    }

    /// The bounds after this time.
    fn after(self, passed_ns: u64) -> Self {
        let drift = i64::try_from(passed_ns / 1_000_000 * DRIFT_PPM).unwrap_or(i64::MAX);
        Self {
            least_ns: self.least_ns.saturating_sub(drift),
            most_ns: self.most_ns.saturating_add(drift),
        }
    }

    /// What holds if both hold; `None` if that is impossible.
    fn and(self, other: Self) -> Option<Self> {
        let both = Self {
            least_ns: self.least_ns.max(other.least_ns),
            most_ns: self.most_ns.min(other.most_ns),
        };
        (both.least_ns <= both.most_ns).then_some(both)
    }
}

/// Collects bounds from heartbeats.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offsets {
    /// The bounds, and the monotonic time at which they held.
    known: Option<(ClockOffset, u64)>,
}

/// The times of a heartbeat that came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RoundTrip {
    /// It left here, by this clock.
    pub(crate) left_ns: u64,
    /// It arrived there, by the other clock.
    pub(crate) arrived_there_ns: u64,
    /// The answer left there, by the other clock.
    pub(crate) left_there_ns: u64,
    /// The answer arrived here, by this clock.
    pub(crate) arrived_ns: u64,
}

impl Offsets {
    /// Adds a round trip; `now_ns` is a monotonic time.
    pub(crate) fn add(&mut self, trip: &RoundTrip, now_ns: u64) {
        let bounds = ClockOffset {
            least_ns: distance(trip.left_there_ns, trip.arrived_ns),
            most_ns: distance(trip.arrived_there_ns, trip.left_ns),
        };
        // Times that contradict each other: a clock was set, or the other side is wrong.
        if bounds.least_ns > bounds.most_ns {
            return;
        }
        // Bounds that exclude the earlier ones: a clock was set.
        let both = self.at(now_ns).and_then(|known| known.and(bounds));
        self.known = Some((both.unwrap_or(bounds), now_ns));
    }

    /// The bounds at a monotonic time.
    pub(crate) fn at(&self, now_ns: u64) -> Option<ClockOffset> {
        self.known.map(|(offset, since)| offset.after(now_ns.saturating_sub(since)))
    }
}

/// `a - b`, within the range of the result.
fn distance(a: u64, b: u64) -> i64 {
    let distance = i128::from(a) - i128::from(b);
    distance.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is ahead by `ahead` and two ways of these delays.
    fn trip(at: u64, ahead: i64, there: u64, back: u64) -> (RoundTrip, u64) {
        let other = |time: u64| time.wrapping_add_signed(ahead);
        let trip = RoundTrip {
            left_ns: at,
            arrived_there_ns: other(at + there),
            left_there_ns: other(at + there + 10),
            arrived_ns: at + there + 10 + back,
        };
        (trip, trip.arrived_ns)
    }

    #[test]
    fn the_bounds_hold_whatever_the_delays_are_and_become_narrower() {
        for ahead in [0, 5_000, -70_000_000, 1 << 40, -(1 << 40)] {
            let mut offsets = Offsets::default();
            let mut width = u64::MAX;
            for (round, (there, back)) in
                [(900, 100), (100, 900), (5_000, 5), (20, 30)].into_iter().enumerate()
            {
                let at = (1 << 50) + round as u64 * 1_000;
                let (trip, now) = trip(at, ahead, there, back);
                offsets.add(&trip, now);
                let found = offsets.at(now).unwrap();
                assert!((found.least_ns..=found.most_ns).contains(&ahead), "{found:?} {ahead}");
                let now_width = found.most_ns.abs_diff(found.least_ns);
                assert!(now_width <= width, "{found:?}");
                width = now_width;
            }
            assert!(width <= 50, "{width}");
        }
    }

    #[test]
    fn bounds_widen_with_time_and_follow_a_clock_that_is_set() {
        let mut offsets = Offsets::default();
        assert_eq!(offsets.at(0), None);
        let (first, now) = trip(1 << 50, 1_000, 10, 10);
        offsets.add(&first, now);
        let later = offsets.at(now + 1_000_000_000).unwrap();
        assert_eq!(later, ClockOffset { least_ns: 990 - 200_000, most_ns: 1_010 + 200_000 });
        let (set, now) = trip((1 << 50) + 100, 9_000_000, 10, 10);
        offsets.add(&set, now);
        assert_eq!(offsets.at(now).unwrap().middle_ns(), 9_000_000);
        // An answer that left before the question arrived shows nothing.
        let wrong = RoundTrip { left_there_ns: u64::MAX, ..set };
        offsets.add(&wrong, now);
        assert_eq!(offsets.at(now).unwrap().middle_ns(), 9_000_000);
    }
}
