//! Exact percentiles of everything that was sampled: nearest rank, nothing interpolated.

/// Nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p99_9: f64,
    pub(crate) max: f64,
}

impl Percentiles {
    /// Sorts what it is given; no samples give zeros.
    pub(crate) fn of(ticks: &mut [u64], nanoseconds: impl Fn(u64) -> f64) -> Self {
        ticks.sort_unstable();
        let Some(&most) = ticks.last() else { return Self::default() };
        let at = |per_mille: usize| {
            let rank = (ticks.len() * per_mille).div_ceil(1_000).max(1);
            nanoseconds(ticks[rank - 1])
        };
        let max = nanoseconds(most);
        Self { p50: at(500), p90: at(900), p99: at(990), p99_9: at(999), max }
    }

    pub(crate) fn json(&self) -> String {
        let Self { p50, p90, p99, p99_9, max } = self;
        format!(
            "{{\"p50\":{p50:.0},\"p90\":{p90:.0},\"p99\":{p99:.0},\"p99_9\":{p99_9:.0},\
             \"max\":{max:.0}}}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_thousand_numbers() {
        let mut ticks: Vec<u64> = (1..=1_000).rev().collect();
        let found = Percentiles::of(&mut ticks, |ticks| ticks as f64);
        let expected =
            Percentiles { p50: 500.0, p90: 900.0, p99: 990.0, p99_9: 999.0, max: 1_000.0 };
        assert_eq!(found, expected);
    }

    #[test]
    fn one_sample_is_every_percentile() {
        let found = Percentiles::of(&mut [7], |ticks| ticks as f64);
        assert_eq!((found.p50, found.p99_9, found.max), (7.0, 7.0, 7.0));
        assert_eq!(Percentiles::of(&mut [], |_| 1.0), Percentiles::default());
    }
}
