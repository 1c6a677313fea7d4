//! A histogram with fixed relative precision: record in a few instructions, ask for quantiles.
//!
//! Values below 2^P have a bucket each. Above, every power of two is divided into 2^(P-1) buckets,
//! so that a bucket is never wider than 2^(1-P) of its value: the log-linear layout known from
//! HdrHistogram. With [`Histogram::fine`] that is 0.8%, with [`Histogram::coarse`] 6%.
//!
//! Cost: `record` allocates nothing in a histogram made with `fine`, whose buckets exist from the
//! start; a coarse one grows to the largest value it has seen, so that tens of thousands of them
//! fit in memory.

/// Counts of values, by magnitude.
#[derive(Clone, Debug)]
pub struct Histogram {
    precision_bits: u32,
    counts: Vec<u64>,
    count: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    /// Precision 0.8%, any 64-bit value, all memory (60 KB) taken now.
    pub fn fine() -> Self {
        let mut histogram = Self::with_precision(8);
        histogram.counts = vec![0; histogram.bucket(u64::MAX) + 1];
        histogram
    }

    /// Precision 6%, any 64-bit value, memory grows with the largest value.
    pub const fn coarse() -> Self {
        Self::with_precision(5)
    }

    const fn with_precision(precision_bits: u32) -> Self {
        Self { precision_bits, counts: Vec::new(), count: 0, min: u64::MAX, max: 0 }
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts `value` `times` times.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        let bucket = self.bucket(value);
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
        assert_eq!(self.precision_bits, other.precision_bits, "histograms of one precision");
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

    /// How many values were counted.
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

    /// The buckets that hold something, ascending: the highest value of each, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        filled.map(|(bucket, &count)| (self.highest_in(bucket), count))
    }

    /// The value that a share `quantile` (0 to 1) of all values does not exceed, to the precision
    /// of the histogram, rounded up within it: the nearest-rank definition.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(self.highest_in(bucket).clamp(self.min, self.max));
            }
        }
        None
    }

    #[inline]
    fn bucket(&self, value: u64) -> usize {
        let half = 1usize << (self.precision_bits - 1);
        let magnitude = (u64::BITS - value.leading_zeros()).saturating_sub(self.precision_bits);
        // Below 2^P the magnitude is 0 and the value is its own bucket.
        (magnitude as usize) * half + (value >> magnitude) as usize
    }

    fn highest_in(&self, bucket: usize) -> u64 {
        let half = 1usize << (self.precision_bits - 1);
        let magnitude = (bucket / half).saturating_sub(1);
        let lead = (bucket - magnitude * half) as u64;
        (lead << magnitude) + ((1u64 << magnitude) - 1)
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
    fn every_value_falls_into_a_bucket_that_holds_it() {
        for histogram in [Histogram::fine(), Histogram::coarse()] {
            let mut last = 0;
            for shift in 0..64 {
                for value in [1u64 << shift, (1u64 << shift) + 1, (1u64 << shift).wrapping_mul(3)] {
                    let bucket = histogram.bucket(value);
                    let highest = histogram.highest_in(bucket);
                    assert!(highest >= value, "{value} in a bucket up to {highest}");
                    let width = 2f64.powi(1 - histogram.precision_bits as i32);
                    assert!((highest - value) as f64 <= value as f64 * width, "{value}..{highest}");
                }
                let bucket = histogram.bucket(1 << shift);
                assert!(shift == 0 || bucket > last);
                last = bucket;
            }
            assert_eq!(histogram.highest_in(histogram.bucket(u64::MAX)), u64::MAX);
            assert_eq!(histogram.bucket(0), 0);
        }
    }

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
    fn an_empty_histogram_has_no_quantiles() {
        assert_eq!(Histogram::fine().quantile(0.5), None);
        assert_eq!(Histogram::coarse().max(), None);
    }
}
