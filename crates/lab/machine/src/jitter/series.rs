//! The round trips of a turn, in order, and when each of them began.
//!
//! A round trip is four bytes: its ticks, up to two seconds. It begins when the one before it ends,
//! except where the pinger stopped in between; these places are kept apart.

use nanotape_clock::{Clock, Stamp};

/// Round trips of one turn.
#[derive(Clone, Debug)]
pub struct Series {
    ticks: Vec<u32>,
    most: usize,
    begin: Stamp,
    last: Stamp,
    before_last: Stamp,
    /// Round trips that did not begin at the end of the one before: the number, and when.
    resumed: Vec<(usize, Stamp)>,
}

/// A slow round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slow {
    /// Its beginning.
    pub from: Stamp,
    /// Its end.
    pub to: Stamp,
}

impl Series {
    /// With memory for `most` round trips, which is touched now.
    pub(super) fn with_room(most: usize) -> Self {
        let mut ticks = vec![1; most];
        ticks.clear();
        let zero = Stamp::from_ticks(0);
        Self { ticks, most, begin: zero, last: zero, before_last: zero, resumed: Vec::new() }
    }

    pub(super) fn begin(&mut self, at: Stamp) {
        (self.begin, self.last, self.before_last) = (at, at, at);
    }

    /// Adds the round trip that ends at `now`.
    #[inline(always)]
    pub(super) fn add(&mut self, now: Stamp) {
        let ticks = now.ticks().saturating_sub(self.last.ticks());
        self.ticks.push(u32::try_from(ticks).unwrap_or(u32::MAX));
        self.before_last = self.last;
        self.last = now;
    }

    /// Begins the next round trip at `at`.
    pub(super) fn resume(&mut self, at: Stamp) {
        self.resumed.push((self.ticks.len(), at));
        self.last = at;
    }

    /// The beginning of the last round trip.
    #[inline(always)]
    pub(super) fn before_last(&self) -> Stamp {
        self.before_last
    }

    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.ticks.len() < self.most
    }

    /// Number of round trips.
    pub fn count(&self) -> usize {
        self.ticks.len()
    }

    /// The round trips in ticks, in order.
    pub fn ticks(&self) -> &[u32] {
        &self.ticks
    }

    /// Each round trip with its beginning and end.
    pub fn round_trips(&self) -> impl Iterator<Item = Slow> + '_ {
        let mut at = self.begin;
        let mut resumed = self.resumed.iter().peekable();
        self.ticks.iter().enumerate().map(move |(number, &ticks)| {
            while let Some((_, stamp)) = resumed.next_if(|(first, _)| *first <= number) {
                at = *stamp;
            }
            let from = at;
            at = Stamp::from_ticks(from.ticks() + u64::from(ticks));
            Slow { from, to: at }
        })
    }

    /// The round trips that took at least `nanos`.
    pub fn slow(&self, clock: &Clock, nanos: u64) -> Vec<Slow> {
        let is_slow = |one: &Slow| clock.nanos_between(one.from, one.to) >= nanos;
        self.round_trips().filter(is_slow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ticks: u64) -> Stamp {
        Stamp::from_ticks(ticks)
    }

    #[test]
    fn a_round_trip_begins_at_the_end_of_the_last_one_or_where_it_was_resumed() {
        let mut series = Series::with_room(8);
        series.begin(stamp(100));
        series.add(stamp(110));
        series.add(stamp(150));
        series.resume(stamp(200));
        series.add(stamp(205));
        series.add(stamp(211));
        assert_eq!(series.ticks(), [10, 40, 5, 6]);
        let from: Vec<u64> = series.round_trips().map(|one| one.from.ticks()).collect();
        assert_eq!(from, [100, 110, 200, 205]);
        assert_eq!(series.before_last(), stamp(205));
        let clock = Clock::monotonic();
        assert_eq!(series.slow(&clock, 40), [Slow { from: stamp(110), to: stamp(150) }]);
    }

    #[test]
    fn what_is_longer_than_four_bytes_is_the_longest() {
        let mut series = Series::with_room(2);
        series.begin(stamp(0));
        series.add(stamp(1 << 40));
        assert_eq!(series.ticks(), [u32::MAX]);
    }
}
