//! Bootstrap intervals of quantiles, for samples in clusters that are not independent.
//!
//! Samples of one epoch or block share its noise, so whole clusters are drawn, never single samples
//! (A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, 3.8). Drawing
//! samples one by one gives intervals that are several times too narrow, see
//! `tests/suite/statistics_coverage.rs`. Intervals are percentile intervals (B. Efron, Annals of
//! Statistics 7, 1979). The seed determines every draw.
//!
//! Cost: samples are sorted once. A repetition draws the weight of each cluster and walks the
//! sorted samples by weight: 60,000 samples 1,000 times in about 0.1 s.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::order::{nearest_rank, refuse_nan, sort};
use super::{Estimate, Interval};

/// Samples that must lie beyond a quantile to report it.
const SAMPLES_BEYOND: f64 = 100.0;

/// Whether `count` samples support the quantile: at least 100 lie beyond it. The median is always
/// supported.
pub fn enough_beyond(count: usize, quantile: f64) -> bool {
    let beyond = quantile.min(1.0 - quantile) * count as f64;
    // 1 - 0.9 is a little less than 0.1; this must not require one more sample.
    quantile == 0.5 || beyond >= SAMPLES_BEYOND * (1.0 - 1e-9)
}

/// Quantiles (nearest rank) of all samples with intervals that draw whole clusters, in the order of
/// `quantiles`. `None` without repetitions, and with fewer than two clusters that have samples,
/// because these give no interval.
pub fn block_quantile_intervals(
    clusters: &[&[f64]],
    quantiles: &[f64],
    repetitions: usize,
    confidence: f64,
    seed: u64,
) -> Option<Vec<Estimate>> {
    let filled: Vec<&[f64]> = clusters.iter().copied().filter(|one| !one.is_empty()).collect();
    let pooled = Pooled::of(&filled, quantiles);
    let values = pooled.quantiles(&vec![1; filled.len()]);
    let draws = Draws::new(filled.len(), repetitions, seed)?;
    Some(intervals(values, draws.map(|weights| pooled.quantiles(weights)), confidence))
}

/// Quantiles of the candidate over those of the base, with intervals. Cluster i of both was
/// measured at the same time, so both are drawn together and their common noise cancels. Clusters
/// without samples on either side are left out; `None` as in [`block_quantile_intervals`].
///
/// Panics if the arms differ in their number of clusters.
pub fn paired_quantile_ratios(
    base: &[&[f64]],
    candidate: &[&[f64]],
    quantiles: &[f64],
    repetitions: usize,
    confidence: f64,
    seed: u64,
) -> Option<Vec<Estimate>> {
    assert_eq!(base.len(), candidate.len(), "clusters come in pairs");
    let (base, candidate): (Vec<&[f64]>, Vec<&[f64]>) = (base.iter().copied())
        .zip(candidate.iter().copied())
        .filter(|(base, candidate)| !base.is_empty() && !candidate.is_empty())
        .unzip();
    let (below, above) = (Pooled::of(&base, quantiles), Pooled::of(&candidate, quantiles));
    let ratios = |weights: &[u32]| {
        let pairs = below.quantiles(weights).into_iter().zip(above.quantiles(weights));
        pairs.map(|(base, candidate)| candidate / base).collect::<Vec<_>>()
    };
    let values = ratios(&vec![1; base.len()]);
    let draws = Draws::new(base.len(), repetitions, seed)?;
    Some(intervals(values, draws.map(ratios), confidence))
}

/// A one-sided upper bound of any statistic of independent values: the `confidence` quantile of the
/// statistic over values drawn with replacement. Used for the spread from which power is planned,
/// where a spread that is too small by chance would promise too much. With 40 values a bound of 95%
/// of a winsorised deviation held in 93% of the simulations of
/// `tests/suite/statistics_coverage.rs`. `None` for fewer than two values and without repetitions.
///
/// Panics if `statistic` returns NaN.
pub fn upper_bound(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    confidence: f64,
    repetitions: usize,
    seed: u64,
) -> Option<f64> {
    refuse_nan(values);
    if values.len() < 2 {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut drawn = vec![0.0; values.len()];
    let mut found = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        drawn.iter_mut().for_each(|value| *value = values[below(&mut random, values.len())]);
        found.push(statistic(&drawn));
    }
    sort(&mut found);
    nearest_rank(found.len() as u64, confidence).map(|rank| found[rank as usize - 1])
}

/// A number below `bound`, by the upper half of a product (D. Lemire, ACM Transactions on Modeling
/// and Computer Simulation 29, 2019), without its rejection: the bias is bound / 2^64.
fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// The weight of each cluster, drawn again for every repetition.
struct Draws {
    random: Xoshiro256PlusPlus,
    clusters: usize,
    repetitions: usize,
}

impl Draws {
    fn new(clusters: usize, repetitions: usize, seed: u64) -> Option<Self> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (clusters >= 2 && repetitions > 0).then_some(Self { random, clusters, repetitions })
    }

    fn map(mut self, mut statistic: impl FnMut(&[u32]) -> Vec<f64>) -> Vec<Vec<f64>> {
        let mut weights = vec![0u32; self.clusters];
        let mut found = Vec::with_capacity(self.repetitions);
        for _ in 0..self.repetitions {
            weights.fill(0);
            for _ in 0..self.clusters {
                weights[below(&mut self.random, self.clusters)] += 1;
            }
            found.push(statistic(&weights));
        }
        found
    }
}

/// All samples of an arm, sorted, with the cluster of each.
struct Pooled {
    values: Vec<f64>,
    clusters: Vec<u32>,
    sizes: Vec<u64>,
    quantiles: Vec<f64>,
    /// Indices of `quantiles`, from the lowest quantile to the highest: the order of a walk.
    ascending: Vec<usize>,
}

impl Pooled {
    fn of(clusters: &[&[f64]], quantiles: &[f64]) -> Self {
        refuse_nan(quantiles);
        clusters.iter().for_each(|samples| refuse_nan(samples));
        let mut samples: Vec<(f64, u32)> = (0..)
            .zip(clusters)
            .flat_map(|(cluster, samples)| samples.iter().map(move |&value| (value, cluster)))
            .collect();
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut ascending: Vec<usize> = (0..quantiles.len()).collect();
        ascending.sort_unstable_by(|&a, &b| quantiles[a].total_cmp(&quantiles[b]));
        let (values, of) = samples.into_iter().unzip();
        let sizes = clusters.iter().map(|samples| samples.len() as u64).collect();
        Self { values, clusters: of, sizes, quantiles: quantiles.to_vec(), ascending }
    }

    /// The quantiles if every sample has the weight of its cluster. At least one weight must not be
    /// zero; without samples the result is empty.
    fn quantiles(&self, weights: &[u32]) -> Vec<f64> {
        let sizes = self.sizes.iter().zip(weights);
        let count: u64 = sizes.map(|(&size, &weight)| size * u64::from(weight)).sum();
        let mut found = vec![f64::NAN; self.quantiles.len()];
        let (mut next, mut seen) = (0, 0);
        for &place in &self.ascending {
            let Some(rank) = nearest_rank(count, self.quantiles[place]) else { break };
            while seen < rank {
                seen += u64::from(weights[self.clusters[next] as usize]);
                next += 1;
            }
            found[place] = self.values[next - 1];
        }
        found
    }
}

/// Percentile intervals, one for each column of `drawn`: with B repetitions the ends are numbers (B
/// + 1) alpha / 2 from either side.
fn intervals(values: Vec<f64>, drawn: Vec<Vec<f64>>, confidence: f64) -> Vec<Estimate> {
    let repetitions = drawn.len();
    let tail = (1.0 - confidence) / 2.0;
    let cut = ((repetitions + 1) as f64 * tail * (1.0 + 1e-12)) as usize;
    let cut = cut.clamp(1, repetitions.div_ceil(2)) - 1;
    let column = |place: usize| {
        let mut column: Vec<f64> = drawn.iter().map(|row| row[place]).collect();
        // Not `sort`: a ratio of two zeros is NaN, and sorts last.
        column.sort_unstable_by(f64::total_cmp);
        column
    };
    let estimate = |(place, value)| {
        let column = column(place);
        let (low, high) = (column[cut], column[repetitions - 1 - cut]);
        Estimate { value, interval: Interval { low, high, confidence } }
    };
    values.into_iter().enumerate().map(estimate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::order;

    fn clusters(count: usize, size: usize) -> Vec<Vec<f64>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut cluster = || (0..size).map(|_| below(&mut random, 10_000) as f64 + 1.0).collect();
        (0..count).map(|_| cluster()).collect()
    }

    fn slices(clusters: &[Vec<f64>]) -> Vec<&[f64]> {
        clusters.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn weighted_quantiles_are_those_of_repeated_clusters() {
        let clusters = clusters(7, 41);
        let weights = [0, 3, 1, 0, 1, 2, 0];
        let quantiles = [0.99, 0.0, 0.5, 1.0, 0.25];
        let repeated: Vec<f64> = (clusters.iter().zip(weights))
            .flat_map(|(samples, weight)| samples.repeat(weight as usize))
            .collect();
        let expected = quantiles.map(|quantile| order::quantile(&repeated, quantile).unwrap());
        assert_eq!(Pooled::of(&slices(&clusters), &quantiles).quantiles(&weights), expected);
    }

    #[test]
    fn intervals_follow_from_the_seed_and_hold_the_estimate() {
        let clusters = clusters(30, 20);
        let run = |seed| {
            block_quantile_intervals(&slices(&clusters), &[0.5, 0.9], 500, 0.95, seed).unwrap()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        for estimate in run(3) {
            assert!(estimate.interval.contains(estimate.value));
            assert!(estimate.interval.low < estimate.interval.high);
        }
    }

    #[test]
    fn one_cluster_has_no_interval_and_empty_ones_do_not_count() {
        let one = [1.0, 2.0];
        let run = |clusters: &[&[f64]], repetitions| {
            block_quantile_intervals(clusters, &[0.5], repetitions, 0.95, 1)
        };
        assert_eq!(run(&[], 10), None);
        assert_eq!(run(&[&one, &[]], 10), None);
        assert_eq!(run(&[&one, &one], 0), None);
        assert_eq!(run(&[&one, &one, &[]], 10), run(&[&one, &one], 10));
        assert_eq!(upper_bound(&[1.0], |_| 0.0, 0.95, 10, 1), None);
    }

    #[test]
    fn a_candidate_twice_as_slow_in_every_cluster_is_exactly_that() {
        let base = clusters(12, 50);
        let candidate: Vec<Vec<f64>> =
            base.iter().map(|samples| samples.iter().map(|value| 2.0 * value).collect()).collect();
        let (base, candidate) = (slices(&base), slices(&candidate));
        let ratios = paired_quantile_ratios(&base, &candidate, &[0.5, 0.99], 200, 0.99, 1).unwrap();
        for ratio in ratios {
            assert_eq!((ratio.value, ratio.interval.low, ratio.interval.high), (2.0, 2.0, 2.0));
        }
    }

    #[test]
    fn zeros_and_huge_values_do_not_panic() {
        let (zero, huge) = ([0.0, 0.0], [f64::MAX, f64::MAX]);
        let clusters: [&[f64]; 2] = [&zero, &huge];
        assert!(paired_quantile_ratios(&clusters, &clusters, &[0.5, 1.0], 20, 0.9, 1).is_some());
    }

    #[test]
    fn a_quantile_needs_a_hundred_samples_beyond() {
        for (count, quantile, enough) in [
            (1000, 0.9, true),
            (999, 0.9, false),
            (10_000, 0.99, true),
            (99_999, 0.999, false),
            (100_000, 0.999, true),
            (1000, 0.1, true),
            (1, 0.5, true),
        ] {
            assert_eq!(enough_beyond(count, quantile), enough, "{count} {quantile}");
        }
    }

    #[test]
    fn the_upper_bound_lies_above_the_statistic() {
        let values: Vec<f64> = clusters(1, 60).remove(0);
        let spread = |values: &[f64]| order::winsorised_standard_deviation(values, 0.1).unwrap();
        let bound = upper_bound(&values, spread, 0.95, 1000, 3).unwrap();
        assert!(bound > spread(&values) && bound < 1.5 * spread(&values));
        assert_eq!(upper_bound(&values, spread, 0.95, 0, 3), None);
    }
}
