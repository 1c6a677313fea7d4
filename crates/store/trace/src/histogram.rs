//! A histogram with fixed relative precision: records in a few instructions, returns quantiles.
//!
//! A quantile is at most one bucket too high, see [`Buckets`]: with [`Histogram::fine`] that is
//! 0.8%, with [`Histogram::coarse`] 6.25%, with [`Histogram::growing`] what its caller chooses. The
//! smallest and the largest value are exact.
//!
//! Cost: `record` allocates nothing in a histogram made with `fine`, which allocates all buckets at
//! the start. The others grow to their largest value, in steps of a power of two of the value, so
//! that tens of thousands of them fit in memory.

use std::collections::BTreeMap;

use crate::Buckets;

/// Counts of values, by magnitude.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    buckets: Buckets,
    /// Modulo 2^32: half the memory, and half the cache lines that different values touch.
    counts: Vec<u32>,
    /// Multiples of 2^32, for the buckets with that many.
    #[expect(clippy::box_collection, reason = "one pointer, so that all fields fit in 64 bytes")]
    carried: Option<Box<BTreeMap<usize, u64>>>,
    count: u64,
    min: u64,
    max: u64,
}

const _: () = assert!(size_of::<Histogram>() <= 64, "a cache line");

impl Histogram {
    /// Precision 0.8%, any 64-bit value, all memory (30 KB) allocated now.
    pub fn fine() -> Self {
        let mut histogram = Self::with_precision(8);
        histogram.counts = vec![0; histogram.buckets.of(u64::MAX) + 1];
        histogram
    }

    /// Precision 6.25%, any 64-bit value, memory grows with the largest value.
    pub const fn coarse() -> Self {
        Self::growing(5)
    }

    /// Values below 2^P are exact, others at most 2^(1-P) too high; memory grows with the largest
    /// value.
    pub const fn growing(precision_bits: u32) -> Self {
        Self::with_precision(precision_bits)
    }

    const fn with_precision(precision_bits: u32) -> Self {
        let buckets = Buckets::with_precision(precision_bits);
        Self { buckets, counts: Vec::new(), carried: None, count: 0, min: u64::MAX, max: 0 }
    }

    /// From counts of another owner, one for each bucket from the first on. The smallest and the
    /// largest value are those of their buckets; the sum saturates at 64 bits.
    pub fn of_counts(buckets: Buckets, counts: Vec<u64>) -> Self {
        let is_filled = |&count: &u64| count > 0;
        let count = counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let min = counts.iter().position(is_filled).map_or(u64::MAX, |at| buckets.highest_in(at));
        let max = counts.iter().rposition(is_filled).map_or(0, |at| buckets.highest_in(at));
        let mut histogram = Self { count, min, max, ..Self::with_precision(buckets.precision()) };
        histogram.counts = vec![0; counts.len()];
        counts.into_iter().enumerate().for_each(|(bucket, count)| histogram.add(bucket, count));
        histogram
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// The counters, and the index of the counter of `value`, which can be outside of them: for
    /// callers that prefetch it.
    #[inline]
    pub fn counter_of(&self, value: u64) -> (&[u32], usize) {
        (&self.counts, self.buckets.of(value))
    }

    /// Counts `value` `times` times.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let bucket = self.buckets.of(value);
        if bucket >= self.counts.len() {
            self.grow(bucket);
        }
        self.add(bucket, times);
        self.count += times;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[inline]
    fn add(&mut self, bucket: usize, times: u64) {
        let (sum, carries) = self.counts[bucket].overflowing_add(times as u32);
        self.counts[bucket] = sum;
        let carried = (times >> u32::BITS) + u64::from(carries);
        if carried > 0 {
            self.carry(bucket, carried);
        }
    }

    /// Adds all counts of `other`, which must have the same precision.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.buckets, other.buckets, "histograms of one precision");
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for bucket in 0..other.counts.len() {
            self.add(bucket, other.at(bucket));
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of counted values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest value, exactly.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The smallest value, exactly.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The non-empty buckets, ascending: the highest value of each, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counts = (0..self.counts.len()).map(|bucket| (bucket, self.at(bucket)));
        let filled = counts.filter(|&(_, count)| count > 0);
        filled.map(|(bucket, count)| (self.buckets.highest_in(bucket), count))
    }

    /// The counts of the first `buckets` buckets, for another owner. The last one has the counts of
    /// all buckets above it, too.
    pub fn counts_to(&self, buckets: usize) -> impl Iterator<Item = u64> + '_ {
        let above = (buckets..self.counts.len()).fold(0, |sum, at| self.at(at).saturating_add(sum));
        (0..buckets).map(move |bucket| {
            self.at(bucket).saturating_add(if bucket + 1 == buckets { above } else { 0 })
        })
    }

    /// The precision of its [`Buckets`].
    pub fn precision_bits(&self) -> u32 {
        self.buckets.precision()
    }

    /// How much too high a quantile can be, as a share of its value.
    pub fn largest_error(&self) -> f64 {
        self.buckets.width()
    }

    /// The value that a share `quantile` (0 to 1) of all values does not exceed, to the precision
    /// of the histogram, rounded up within it: the nearest-rank definition.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen: u64 = 0;
        for bucket in 0..self.counts.len() {
            seen = seen.saturating_add(self.at(bucket));
            if seen >= rank {
                return Some(self.buckets.highest_in(bucket).clamp(self.min, self.max));
            }
        }
        None
    }

    /// The count of a bucket; 0 beyond the last.
    #[inline]
    fn at(&self, bucket: usize) -> u64 {
        let carried = self.carried.as_ref().and_then(|carried| carried.get(&bucket));
        let low = self.counts.get(bucket).copied().unwrap_or(0);
        carried.map_or(0, |carried| carried << u32::BITS) | u64::from(low)
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self, bucket: usize, carried: u64) {
        *self.carried.get_or_insert_default().entry(bucket).or_default() += carried;
    }

    #[cold]
    fn grow(&mut self, bucket: usize) {
        let end = self.buckets.end_of_magnitude(bucket);
        // Not to twice the length: many histograms would not use it.
        self.counts.reserve_exact(end - self.counts.len());
        self.counts.resize(end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let values: Vec<u64> = (1..=10_000u64).map(|i| i * i % 7919 * (i % 13 + 1)).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        for (mut histogram, precision) in [(Histogram::fine(), 0.008), (Histogram::coarse(), 0.063)]
        {
            values.iter().for_each(|&value| histogram.record(value));
            for quantile in [0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let rank = ((quantile * sorted.len() as f64).ceil() as usize).max(1) - 1;
                let (exact, got) = (sorted[rank] as f64, histogram.quantile(quantile).unwrap());
                assert!(got as f64 >= exact, "{quantile}: {got} for {exact}");
                assert!(got as f64 <= exact * (1.0 + precision), "{quantile}: {got} for {exact}");
            }
            assert_eq!(histogram.max(), sorted.last().copied());
            assert_eq!(histogram.min(), sorted.first().copied());
        }
    }

    #[test]
    fn buckets_hold_every_value_once() {
        let mut histogram = Histogram::coarse();
        [3, 3, 70, 5_000].iter().for_each(|&value| histogram.record(value));
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets.iter().map(|bucket| bucket.1).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(buckets[0].0, 3);
        assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut left, mut right, mut both) =
            (Histogram::coarse(), Histogram::coarse(), Histogram::coarse());
        for value in 0..1000u64 {
            if value % 3 == 0 {
                left.record(value)
            } else {
                right.record(value * 1000)
            }
            both.record(if value % 3 == 0 { value } else { value * 1000 });
        }
        left.merge(&right);
        assert_eq!(left.counts, both.counts);
        assert_eq!((left.count(), left.max(), left.min()), (both.count(), both.max(), both.min()));
    }

    #[test]
    fn counts_from_elsewhere_are_those_of_recorded_values() {
        let buckets = Buckets::with_precision(5);
        let values = [3, 3, 31, 1_023, 65_535].map(|value| buckets.highest_in(buckets.of(value)));
        let mut recorded = Histogram::coarse();
        values.iter().for_each(|&value| recorded.record(value));
        let counts = recorded.counts.iter().copied().map(u64::from).collect();
        assert_eq!(Histogram::of_counts(buckets, counts), recorded);
        // Arbitrary counts of another process.
        let full = Histogram::of_counts(buckets, vec![u64::MAX; 3]);
        assert_eq!((full.count(), full.quantile(0.5), full.max()), (u64::MAX, Some(0), Some(2)));
        assert_eq!(Histogram::of_counts(buckets, vec![0; 3]).quantile(0.5), None);
    }

    #[test]
    fn counts_beyond_32_bits_are_exact() {
        let most = u64::from(u32::MAX);
        let mut histogram = Histogram::coarse();
        for times in [most, 1, most, 3 * most] {
            histogram.record_many(7, times);
        }
        histogram.record_many(1_000, most);
        histogram.merge(&histogram.clone());
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets, [(7, 2 * (5 * most + 1)), (1_023, 2 * most)]);
        assert_eq!(histogram.count(), 2 * (6 * most + 1));
        // Five sixths of the values are 7.
        assert_eq!((histogram.quantile(0.83), histogram.quantile(0.84)), (Some(7), Some(1_000)));
        assert_eq!(histogram.counts_to(64).sum::<u64>(), histogram.count());
        let counts = histogram.counts_to(histogram.counts.len()).collect();
        assert_eq!(Histogram::of_counts(histogram.buckets, counts).carried, histogram.carried);
    }

    #[test]
    fn a_histogram_grows_by_powers_of_two() {
        let mut histogram = Histogram::growing(7);
        for (value, length) in [(1, 2), (2, 4), (5, 8), (100, 128), (128, 192), (1_000, 320)] {
            histogram.record(value);
            assert_eq!(histogram.counts.len(), length, "{value}");
            assert_eq!(histogram.counts.capacity(), length, "{value}");
        }
        histogram.record_many(u64::MAX, 0);
        assert_eq!((histogram.max(), histogram.count()), (Some(1_000), 6));
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        assert_eq!(Histogram::fine().quantile(0.5), None);
        assert_eq!(Histogram::coarse().max(), None);
    }
}
