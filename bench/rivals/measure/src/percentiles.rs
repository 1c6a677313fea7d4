//! Exact percentiles of all samples: nearest rank, no interpolation.

use serde::{Deserialize, Serialize};

/// Nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Percentiles {
    p50: u64,
    p90: u64,
    p99: u64,
    p99_9: u64,
    p99_99: u64,
    max: u64,
}

impl Percentiles {
    /// Sorts the samples. Without samples everything is 0.
    pub fn of(ticks: &mut [u64], nanos: impl Fn(u64) -> u64) -> Self {
        ticks.sort_unstable();
        let at = |per_ten_thousand: usize| {
            let rank = (ticks.len() * per_ten_thousand).div_ceil(10_000).max(1);
            ticks.get(rank - 1).map_or(0, |&ticks| nanos(ticks))
        };
        let (p50, p90, p99) = (at(5_000), at(9_000), at(9_900));
        Self { p50, p90, p99, p99_9: at(9_990), p99_99: at(9_999), max: at(10_000) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_thousand_numbers() {
        let mut ticks: Vec<u64> = (1..=1_000).rev().collect();
        let expected =
            Percentiles { p50: 500, p90: 900, p99: 990, p99_9: 999, p99_99: 1_000, max: 1_000 };
        assert_eq!(Percentiles::of(&mut ticks, |ticks| ticks), expected);
    }

    #[test]
    fn one_sample_is_every_percentile() {
        let all = |n| Percentiles { p50: n, p90: n, p99: n, p99_9: n, p99_99: n, max: n };
        assert_eq!(Percentiles::of(&mut [7], |ticks| 2 * ticks), all(14));
        assert_eq!(Percentiles::of(&mut [], |_| 1), Percentiles::default());
    }
}
