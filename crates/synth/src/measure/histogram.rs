//! Quantiles in constant memory: exact for small values, within three percent above.

/// Values below this are counted each on its own.
const EXACT: u64 = 4096;
/// Buckets an octave above that.
const PER_OCTAVE: u64 = 32;

/// How often each value was seen.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; bucket(u64::MAX) + 1], total: 0 }
    }
}

impl Histogram {
    pub(super) fn add(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
    }

    /// The smallest value that at least this share of all values does not exceed.
    pub(super) fn quantile(&self, share: f64) -> u64 {
        let needed = (self.total as f64 * share).max(1.0);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen as f64 >= needed {
                return smallest(bucket);
            }
        }
        0
    }
}

fn bucket(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let octave = u64::from(value.ilog2());
    let within = (value - (1 << octave)) >> (octave - u64::from(PER_OCTAVE.ilog2()));
    (EXACT + (octave - u64::from(EXACT.ilog2())) * PER_OCTAVE + within) as usize
}

/// The smallest value of a bucket.
fn smallest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let octave = u64::from(EXACT.ilog2()) + (bucket - EXACT) / PER_OCTAVE;
    let within = (bucket - EXACT) % PER_OCTAVE;
    (1 << octave) + (within << (octave - u64::from(PER_OCTAVE.ilog2())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_where_they_say() {
        for value in [0, 1, 4095, 4096, 4097, 5000, 1 << 20, 12_345_678_901, u64::MAX] {
            let start = smallest(bucket(value));
            assert!(start <= value && (value - start) as f64 <= value as f64 / 32.0);
            assert_eq!(bucket(start), bucket(value));
        }
    }

    #[test]
    fn quantiles_of_small_values_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|value| histogram.add(value));
        assert_eq!(
            [0.0, 0.25, 0.5, 0.99, 1.0].map(|q| histogram.quantile(q)),
            [1, 25, 50, 99, 100]
        );
    }
}
