//! Processing times of messages in each stage of a plant, as histograms that other processes can
//! read.
//!
//! Each value below 16 ns has its own bucket; each power of two above has eight. So a bucket is
//! never wider than an eighth of its value. The last bucket includes all longer times (above four
//! seconds).

use nanotape_trace::Buckets;

/// A stage of the processing of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Stage {
    /// From the end of the previous message: reading, framing, decoding.
    Read,
    /// Applying to the books.
    Apply,
    /// Creating records and publishing them on the ring.
    Publish,
}

impl Stage {
    /// All stages, in processing order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Apply, Self::Publish];

    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Apply => "apply",
            Self::Publish => "publish",
        }
    }
}

/// Buckets no wider than an eighth of the value.
pub const TIMES: Buckets = Buckets::with_precision(4);

/// Buckets for up to four seconds: 16 single values, and 28 powers of two.
pub(super) const BUCKETS: usize = 16 + 28 * 8;

/// The bucket of a time.
pub(super) fn bucket(nanos: u64) -> usize {
    TIMES.of(nanos).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_a_bucket_that_is_not_wider_than_an_eighth() {
        let mut last = 0;
        for nanos in (0..5_000).chain((13..32).map(|power| (1_u64 << power) + 77)) {
            let place = bucket(nanos);
            assert!(place >= last && place < BUCKETS, "{nanos}");
            last = place;
            let highest = TIMES.highest_in(place);
            assert!(highest >= nanos && highest - nanos <= nanos / 8, "{nanos}: {highest}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(TIMES.highest_in(BUCKETS - 1), (1 << 32) - 1);
        for place in 0..BUCKETS {
            assert_eq!(bucket(TIMES.highest_in(place)), place);
        }
    }
}
