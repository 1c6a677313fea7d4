//! Statistics of location, spread and shape from sorted values.
//!
//! Quantiles are nearest-rank everywhere: every reported latency is one that was measured, and
//! agrees with the histograms of `nanotape-trace`.

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// The smallest value that a share `q` (0 to 1) of all values does not exceed: the nearest rank,
/// ceil(q n).
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let rank = nearest_rank(values.len() as u64, q)?;
    let mut scratch = values.to_vec();
    Some(nth(&mut scratch, rank as usize - 1))
}

/// As [`quantile`], of sorted values.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    debug_assert!(sorted.is_sorted(), "quantile_sorted takes sorted values");
    nearest_rank(sorted.len() as u64, q).map(|rank| sorted[rank as usize - 1])
}

/// The third standardised moment, m3 / m2^1.5, without a correction for bias; `None` if all values
/// are equal except for roundings.
pub fn skewness(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let moment = |power| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>();
    let (second, third) = (moment(2) / values.len() as f64, moment(3) / values.len() as f64);
    if second <= (f64::EPSILON * mean).powi(2) {
        return None;
    }
    Some(third / second.powf(1.5)).filter(|skewness| skewness.is_finite())
}

/// The standard deviation (n - 1) after the lowest and the highest `share` of the values, each
/// floor(share n) of them, were set to the nearest value that remains (J. W. Tukey and
/// D. H. McLaughlin, Sankhya A 25, 1963). `None` for fewer than two values and for shares outside
/// 0 to one half.
pub fn winsorised_standard_deviation(values: &[f64], share: f64) -> Option<f64> {
    if values.len() < 2 || !(0.0..0.5).contains(&share) {
        return None;
    }
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    let cut = (share * values.len() as f64) as usize;
    let (low, high) = (sorted[cut], sorted[values.len() - 1 - cut]);
    sorted.iter_mut().for_each(|value| *value = value.clamp(low, high));
    let mean = mean(&sorted)?;
    let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The rank, from 1, of the quantile `q` of `count` values; `None` without values.
///
/// A product such as 0.07 * 100 is slightly above 7 and must not become 8: a few roundings are
/// tolerated.
pub(super) fn nearest_rank(count: u64, q: f64) -> Option<u64> {
    assert!(!q.is_nan(), "a quantile is not NaN");
    let rank = (q * count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64;
    (count > 0).then(|| rank.clamp(1, count))
}

/// Sorts ascending; panics if a value is NaN, which has no order.
pub(super) fn sort(values: &mut [f64]) {
    refuse_nan(values);
    values.sort_unstable_by(f64::total_cmp);
}

/// Panics if a value is NaN, which only a programming error produces.
pub(super) fn refuse_nan(values: &[f64]) {
    assert!(!values.iter().any(|value| value.is_nan()), "statistics of NaN are undefined");
}

/// The value of rank `index`, from 0. Reorders `values`.
pub(super) fn nth(values: &mut [f64], index: usize) -> f64 {
    refuse_nan(values);
    *values.select_nth_unstable_by(index, f64::total_cmp).1
}

/// As [`median`], but reorders `values` instead of copying them.
pub(super) fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let upper = nth(values, half);
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = values[..half].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(lower.midpoint(upper))
}

fn mean(values: &[f64]) -> Option<f64> {
    refuse_nan(values);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(median(&[]), None);
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(skewness(&[]), None);
        assert_eq!(winsorised_standard_deviation(&[1.0], 0.1), None);
    }

    #[test]
    fn one_value_is_every_quantile() {
        for q in [-1.0, 0.0, 0.5, 0.999, 1.0, 2.0] {
            assert_eq!(quantile(&[3.0], q), Some(3.0));
        }
        assert_eq!(median(&[3.0]), Some(3.0));
    }

    #[test]
    fn the_rank_forgives_roundings_of_the_product() {
        for percent in 1..=100 {
            assert_eq!(nearest_rank(100, percent as f64 / 100.0), Some(percent));
            assert_eq!(nearest_rank(100_000, percent as f64 / 100.0), Some(percent * 1000));
        }
        assert_eq!(nearest_rank(10, 0.51), Some(6));
    }

    #[test]
    fn equal_values_have_no_shape() {
        assert_eq!(skewness(&[0.1; 7]), None);
        assert_eq!(winsorised_standard_deviation(&[2.0; 7], 0.2), Some(0.0));
    }

    #[test]
    fn huge_values_overflow_to_nothing_and_not_into_a_panic() {
        let huge = [f64::MAX, -f64::MAX, f64::MAX, 1.0];
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(skewness(&huge), None);
    }

    #[test]
    #[should_panic(expected = "NaN")]
    fn nan_is_refused() {
        median(&[1.0, f64::NAN]);
    }
}
