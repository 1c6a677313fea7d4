//! The gap meter: finds the moments in which a loop did not run.
//!
//! A loop that does nothing but poll reads the clock every few nanoseconds. If two readings are far
//! apart, the thread did not run in between: the kernel, the hypervisor or the firmware had the
//! processor. The method is that of sysjitter (D. Riddoch, Solarflare).
//! Cost: a subtraction and a comparison with each stamp; `lab bench gaps` measures it.

use nanotape_clock::{Clock, Stamp};

/// A time in which a loop did not run: from the last stamp before it to the first one after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The last stamp before.
    pub from: Stamp,
    /// The first stamp after.
    pub to: Stamp,
}

impl Gap {
    /// Its length in nanoseconds.
    pub fn nanos(&self, clock: &Clock) -> u64 {
        clock.nanos_between(self.from, self.to)
    }

    /// Whether both have a moment in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// Compares each stamp of a loop with the one before it.
#[derive(Clone, Copy, Debug)]
pub struct GapMeter {
    last: Stamp,
    threshold_ticks: u64,
}

impl GapMeter {
    /// The shortest useful threshold: a turn of a loop with a stamp takes 10 to 20 ns.
    pub const LEAST_NS: u64 = 100;

    /// Starts now. A gap is longer than `threshold_ns`.
    pub fn start(clock: &Clock, threshold_ns: u64) -> Self {
        let ticks = threshold_ns as f64 * clock.rate().ticks_per_second / 1e9;
        Self { last: clock.stamp_start(), threshold_ticks: ticks as u64 }
    }

    /// The gap that ends at `now`, if the stamp before it is too old. Stamps without a fence are
    /// right: consecutive ones do not pass each other.
    #[inline(always)]
    pub fn turn(&mut self, now: Stamp) -> Option<Gap> {
        let from = core::mem::replace(&mut self.last, now);
        let ticks = now.ticks().wrapping_sub(from.ticks());
        // A counter that went back is no gap.
        (ticks > self.threshold_ticks && now > from).then_some(Gap { from, to: now })
    }

    /// Leaves out the time up to `now`: what the loop has done since the last turn was no gap.
    #[inline(always)]
    pub fn skip_to(&mut self, now: Stamp) {
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ticks: u64) -> Stamp {
        Stamp::from_ticks(ticks)
    }

    #[test]
    fn a_gap_is_longer_than_the_threshold() {
        let mut meter = GapMeter { last: stamp(1_000), threshold_ticks: 100 };
        assert_eq!(meter.turn(stamp(1_010)), None);
        assert_eq!(meter.turn(stamp(1_110)), None);
        assert_eq!(meter.turn(stamp(1_211)), Some(Gap { from: stamp(1_110), to: stamp(1_211) }));
        assert_eq!(meter.turn(stamp(1_220)), None);
    }

    #[test]
    fn a_counter_that_goes_back_is_no_gap_and_hides_none() {
        let mut meter = GapMeter { last: stamp(1_000), threshold_ticks: 100 };
        assert_eq!(meter.turn(stamp(400)), None);
        assert_eq!(meter.turn(stamp(700)), Some(Gap { from: stamp(400), to: stamp(700) }));
    }

    #[test]
    fn time_that_the_loop_used_itself_is_left_out() {
        let mut meter = GapMeter { last: stamp(1_000), threshold_ticks: 100 };
        meter.skip_to(stamp(9_000));
        assert_eq!(meter.turn(stamp(9_050)), None);
    }

    #[test]
    fn gaps_overlap_if_they_share_a_moment() {
        let gap = |from, to| Gap { from: stamp(from), to: stamp(to) };
        assert!(gap(10, 20).overlaps(&gap(19, 30)));
        assert!(!gap(10, 20).overlaps(&gap(20, 30)));
        assert!(gap(10, 40).overlaps(&gap(20, 30)));
    }
}
