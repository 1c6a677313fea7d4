//! Ranks with ties, for the rank tests.

use super::order::refuse_nan;

/// The ranks of some values, from 1; equal values share the mean of their ranks.
#[derive(Debug)]
pub(super) struct Ranks {
    /// Twice each rank, in the order of the values: integers even with ties.
    pub(super) doubled: Vec<u64>,
    /// The sum of t^3 - t over groups of t equal values, by which ties reduce a variance.
    pub(super) tie_term: f64,
}

impl Ranks {
    pub(super) fn of(values: &[f64]) -> Self {
        refuse_nan(values);
        let mut order: Vec<usize> = (0..values.len()).collect();
        // Not total_cmp alone: 0 and -0 must be equal here.
        order.sort_unstable_by(|&a, &b| (values[a] + 0.0).total_cmp(&(values[b] + 0.0)));
        let mut ranks = Self { doubled: vec![0; values.len()], tie_term: 0.0 };
        let mut before = 0;
        for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let doubled = (2 * before + group.len() + 1) as u64;
            group.iter().for_each(|&place| ranks.doubled[place] = doubled);
            let size = group.len() as f64;
            ranks.tie_term += size * size * size - size;
            before += group.len();
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        let ranks = Ranks::of(&[3.0, 1.0, 3.0, 2.0, -0.0, 0.0]);
        assert_eq!(ranks.doubled, [11, 6, 11, 8, 3, 3]);
        assert_eq!(ranks.tie_term, 12.0);
        assert_eq!(Ranks::of(&[1.0, 2.0]).tie_term, 0.0);
        assert!(Ranks::of(&[]).doubled.is_empty());
    }
}
