//! Several comparisons at once: p-values adjusted to keep the chance of any false alarm.

use super::order::refuse_nan;

/// P-values adjusted by the step-down method of S. Holm ("A simple sequentially rejective multiple
/// test procedure", Scandinavian Journal of Statistics 6, 1979), in the given order. If every test
/// with an adjusted value of at most alpha rejects, the probability of any error is at most alpha,
/// whatever the dependence of the tests.
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    refuse_nan(p_values);
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_unstable_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0f64;
    for (rejected, &place) in order.iter().enumerate() {
        let remaining = (p_values.len() - rejected) as f64;
        largest = largest.max(remaining * p_values[place]).min(1.0);
        adjusted[place] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_test_needs_no_adjustment_and_none_gives_none() {
        assert_eq!(adjust(&[0.03]), [0.03]);
        assert!(adjust(&[]).is_empty());
    }

    #[test]
    fn order_is_kept_and_values_never_pass_one() {
        assert_eq!(adjust(&[0.5, 0.25, 0.75]), [1.0, 0.75, 1.0]);
        assert_eq!(adjust(&[0.25, 0.25]), [0.5, 0.5]);
    }
}
