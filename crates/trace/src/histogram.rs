//! A histogram with fixed relative precision: records in a few instructions, returns quantiles.
//!
//! A quantile is at most one bucket too high, see [`Buckets`]: with [`Histogram::fine`] that is
//! 0.8%, with [`Histogram::coarse`] 6.25%. The smallest and the largest value are exact.
//!
//! Cost: `record` allocates nothing in a histogram made with `fine`, which allocates all buckets at
//! the start. A coarse one grows to its largest value, so that tens of thousands of them fit in
//! memory.

use crate::Buckets;

/// Counts of values, by magnitude.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    buckets: Buckets,
    counts: Vec<u64>,
    count: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    /// Precision 0.8%, any 64-bit value, all memory (60 KB) allocated now.
    pub fn fine() -> Self {
        let mut histogram = Self::with_precision(8);
        histogram.counts = vec![0; histogram.buckets.of(u64::MAX) + 1];
        histogram
    }

    /// Precision 6.25%, any 64-bit value, memory grows with the largest value.
    pub const fn coarse() -> Self {
        Self::with_precision(5)
    }

    const fn with_precision(precision_bits: u32) -> Self {
        let buckets = Buckets::with_precision(precision_bits);
        Self { buckets, counts: Vec::new(), count: 0, min: u64::MAX, max: 0 }
    }

    /// From counts of another owner, one for each bucket from the first on. The smallest and the
    /// largest value are those of their buckets; the sum saturates at 64 bits.
    pub fn of_counts(buckets: Buckets, counts: Vec<u64>) -> Self {
        let is_filled = |&count: &u64| count > 0;
        let count = counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let min = counts.iter().position(is_filled).map_or(u64::MAX, |at| buckets.highest_in(at));
        let max = counts.iter().rposition(is_filled).map_or(0, |at| buckets.highest_in(at));
        Self { buckets, counts, count, min, max }
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts `value` `times` times.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        let bucket = self.buckets.of(value);
        if bucket >= self.counts.len() {
            self.grow(bucket);
        }
        self.counts[bucket] += times;
        self.count += times;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all counts of `other`, which must have the same precision.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.buckets, other.buckets, "histograms of one precision");
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
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
        let filled = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        filled.map(|(bucket, &count)| (self.buckets.highest_in(bucket), count))
    }

    /// The counts of the first `buckets` buckets, for another owner. The last one has the counts of
    /// all buckets above it, too.
    pub fn counts_to(&self, buckets: usize) -> impl Iterator<Item = u64> + '_ {
        let count = |bucket: usize| self.counts.get(bucket).copied().unwrap_or(0);
        let above = self.counts.iter().skip(buckets).fold(0_u64, |sum, &n| sum.saturating_add(n));
        (0..buckets).map(move |bucket| {
            count(bucket).saturating_add(if bucket + 1 == buckets { above } else { 0 })
        })
    }

    /// The value that a share `quantile` (0 to 1) of all values does not exceed, to the precision
    /// of the histogram, rounded up within it: the nearest-rank definition.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen: u64 = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen = seen.saturating_add(count);
            if seen >= rank {
                return Some(self.buckets.highest_in(bucket).clamp(self.min, self.max));
            }
        }
        None
    }

    #[cold]
    fn grow(&mut self, bucket: usize) {
        self.counts.resize(bucket + 1, 0);
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
        assert_eq!(Histogram::of_counts(buckets, recorded.counts.clone()), recorded);
        // Arbitrary counts of another process.
        let full = Histogram::of_counts(buckets, vec![u64::MAX; 3]);
        assert_eq!((full.count(), full.quantile(0.5), full.max()), (u64::MAX, Some(0), Some(2)));
        assert_eq!(Histogram::of_counts(buckets, vec![0; 3]).quantile(0.5), None);
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        assert_eq!(Histogram::fine().quantile(0.5), None);
        assert_eq!(Histogram::coarse().max(), None);
    }
}
