//! Log-linear buckets: the bucket of a value, and the largest value of a bucket.
//!
//! With precision P, each value below 2^P has its own bucket. Above, every power of two is divided
//! into 2^(P-1) buckets, so that a bucket is never wider than 2^(1-P) of its value. HdrHistogram
//! has the same layout. The functions are constant, so that counts can be in memory of other
//! crates, such as a table of shared words.

/// The buckets of one precision.
///
/// ```
/// use nanotape_trace::Buckets;
///
/// const BUCKETS: Buckets = Buckets::with_precision(4);
/// assert_eq!(BUCKETS.of(1_000), 63);
/// assert_eq!(BUCKETS.highest_in(63), 1_023); // at most an eighth higher
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buckets {
    precision_bits: u32,
}

impl Buckets {
    /// Buckets no wider than 2^(1-P) of their values; P is 1 to 63.
    pub const fn with_precision(precision_bits: u32) -> Self {
        assert!(0 < precision_bits && precision_bits < u64::BITS);
        Self { precision_bits }
    }

    pub(crate) const fn precision(self) -> u32 {
        self.precision_bits
    }

    /// The largest width of a bucket, as a share of its values.
    pub fn width(self) -> f64 {
        (self.precision_bits as f64 - 1.0).exp2().recip()
    }

    /// The bucket of a value.
    #[inline]
    pub const fn of(self, value: u64) -> usize {
        let half = 1usize << (self.precision_bits - 1);
        let magnitude = (u64::BITS - value.leading_zeros()).saturating_sub(self.precision_bits);
        // Below 2^P the magnitude is 0 and the value is its own bucket.
        (magnitude as usize) * half + (value >> magnitude) as usize
    }

    /// One past the last bucket for values with as many bits as those of `bucket`.
    pub(crate) const fn end_of_magnitude(self, bucket: usize) -> usize {
        let half = 1usize << (self.precision_bits - 1);
        if bucket < half { (bucket + 1).next_power_of_two() } else { (bucket / half + 1) * half }
    }

    /// The largest value in a bucket.
    pub const fn highest_in(self, bucket: usize) -> u64 {
        let half = 1usize << (self.precision_bits - 1);
        let magnitude = (bucket / half).saturating_sub(1);
        let lead = (bucket - magnitude * half) as u64;
        (lead << magnitude) + ((1u64 << magnitude) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bucket_that_holds_it() {
        for precision_bits in [4, 5, 8] {
            let buckets = Buckets::with_precision(precision_bits);
            let width = 2f64.powi(1 - precision_bits as i32);
            let mut last = 0;
            for shift in 0..64 {
                for value in [1u64 << shift, (1u64 << shift) + 1, (1u64 << shift).wrapping_mul(3)] {
                    let bucket = buckets.of(value);
                    let highest = buckets.highest_in(bucket);
                    assert!(highest >= value, "{value} in a bucket up to {highest}");
                    assert!((highest - value) as f64 <= value as f64 * width, "{value}..{highest}");
                    assert_eq!(buckets.of(highest), bucket);
                }
                let bucket = buckets.of(1 << shift);
                assert!(shift == 0 || bucket > last);
                last = bucket;
            }
            let (all, bits) = (buckets.of(u64::MAX) + 1, |bucket| {
                let highest: u64 = buckets.highest_in(bucket);
                u64::BITS - highest.leading_zeros()
            });
            for bucket in 0..all {
                let end = buckets.end_of_magnitude(bucket);
                assert!(bucket < end && bits(end - 1) == bits(bucket), "{bucket}..{end}");
                assert!(end == all || bits(end) > bits(bucket), "{bucket}..{end}");
            }
            assert_eq!(buckets.highest_in(buckets.of(u64::MAX)), u64::MAX);
            assert_eq!(buckets.of(0), 0);
        }
    }
}
