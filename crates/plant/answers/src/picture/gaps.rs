//! Times between two changes, in two bins for each doubling.

/// Bins: one of 0, and two for each bit of a time.
const BINS: usize = 1 + 2 * 64;

/// How many times between two changes are in each bin. The counts are exact.
#[derive(Clone, Debug)]
pub struct Gaps(Box<[u64; BINS]>);

/// A bin of times: from `low_ns`, up to and without `high_ns`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapBin {
    /// The shortest time.
    pub low_ns: u64,
    /// The first time of the next bin; the greatest number for the last one.
    pub high_ns: u64,
    /// Times in the bin.
    pub count: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self(Box::new([0; BINS]))
    }
}

impl Gaps {
    /// Counts a time.
    #[inline]
    pub fn record(&mut self, gap_ns: u64) {
        self.0[bin_of(gap_ns)] += 1;
    }

    /// All times.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The bins from the first to the last with a time, in order.
    pub fn bins(&self) -> Vec<GapBin> {
        let is_used = |bin: &usize| self.0[*bin] > 0 && low_of(*bin) < low_of(*bin + 1);
        let used: Vec<usize> = (0..BINS).filter(is_used).collect();
        let (Some(&first), Some(&last)) = (used.first(), used.last()) else { return Vec::new() };
        let bin =
            |bin| GapBin { low_ns: low_of(bin), high_ns: low_of(bin + 1), count: self.0[bin] };
        // The upper half of a single nanosecond is nothing.
        (first..=last).map(bin).filter(|bin| bin.low_ns < bin.high_ns).collect()
    }
}

/// The bin of a time: that of its highest bit, and which half of the doubling it is in.
fn bin_of(gap_ns: u64) -> usize {
    let Some(power) = gap_ns.checked_ilog2() else { return 0 };
    let is_upper = power > 0 && gap_ns >> (power - 1) & 1 == 1;
    1 + 2 * power as usize + usize::from(is_upper)
}

/// The shortest time of a bin.
fn low_of(bin: usize) -> u64 {
    let Some(place) = bin.checked_sub(1) else { return 0 };
    let Some(low) = 1_u64.checked_shl(place as u32 / 2) else { return u64::MAX };
    match place % 2 {
        0 => low,
        // Rounded up: 1 has no half of its own.
        _ => low + low.div_ceil(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_bin_that_says_so() {
        let mut times: Vec<u64> = (0..70).collect();
        times.extend((6..63).flat_map(|power| {
            let low = 1_u64 << power;
            [low - 1, low, low + low / 2 - 1, low + low / 2, low + (low - 1)]
        }));
        for time in times {
            let mut gaps = Gaps::default();
            gaps.record(time);
            let bins = gaps.bins();
            let [GapBin { low_ns, high_ns, count: 1 }] = bins[..] else {
                panic!("{time}: {bins:?}")
            };
            assert!(low_ns <= time && time < high_ns, "{time}: {low_ns} to {high_ns}");
        }
    }

    #[test]
    fn bins_follow_each_other_without_a_hole() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.bins(), []);
        gaps.record(0);
        gaps.record(1_000_000);
        let bins = gaps.bins();
        assert!(bins.windows(2).all(|pair| pair[0].high_ns == pair[1].low_ns), "{bins:?}");
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), gaps.count());
    }
}
