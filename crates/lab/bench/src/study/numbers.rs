//! Quartiles of measured times, and differences between cases with their noise.

use nanotape_lab::{
    statistics::{Estimate, hodges_lehmann, order},
    text::nanos,
};
use nanotape_trace::Histogram;

/// The confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Samples that a quantile of 99% needs.
const ENOUGH_FOR_P99: u64 = 100;

/// The middle half of some values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Quartiles {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
}

impl Quartiles {
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |quantile| order::quantile_sorted(&sorted, quantile);
        Some(Self { low: at(0.25)?, median: at(0.5)?, high: at(0.75)? })
    }

    pub(super) fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}

/// The times of single operations of a case, over all rounds.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pooled: Histogram,
    /// The median of each round, in ns.
    pub(super) by_round: Vec<f64>,
}

impl Times {
    pub(super) fn new() -> Self {
        Self { pooled: Histogram::fine(), by_round: Vec::new() }
    }

    /// Adds the times of a round, in ns.
    pub(super) fn add(&mut self, round: &Histogram) {
        if let Some(median) = round.quantile(0.5) {
            self.add_with(round, median as f64);
        }
    }

    /// Adds the times of a round whose median is known more precisely.
    pub(super) fn add_with(&mut self, round: &Histogram, median: f64) {
        self.by_round.push(median);
        self.pooled.merge(round);
    }

    pub(super) fn count(&self) -> u64 {
        self.pooled.count()
    }

    pub(super) fn quartiles(&self) -> Option<Quartiles> {
        let at = |quantile| self.pooled.quantile(quantile).map(|nanos| nanos as f64);
        Some(Quartiles { low: at(0.25)?, median: at(0.5)?, high: at(0.75)? })
    }

    /// The quantile of 99%, if there are enough values.
    pub(super) fn p99(&self) -> Option<f64> {
        let nanos = self.pooled.quantile(0.99).filter(|_| self.count() >= ENOUGH_FOR_P99);
        nanos.map(|nanos| nanos as f64)
    }
}

/// The difference of two cases, from the medians of the same rounds, with its interval. `None` with
/// too few rounds.
pub(super) fn difference(base: &[f64], case: &[f64]) -> Option<Estimate> {
    let differences: Vec<f64> = base.iter().zip(case).map(|(base, case)| case - base).collect();
    hodges_lehmann::one_sample(&differences, CONFIDENCE)
}

/// The ratio of a case to its base, from the medians of the same rounds, with its interval.
pub(super) fn ratio(base: &[f64], case: &[f64]) -> Option<Estimate> {
    let pairs = base.iter().zip(case).filter(|(base, case)| **base > 0.0 && **case > 0.0);
    let logarithms: Vec<f64> = pairs.map(|(base, case)| (case / base).ln()).collect();
    let mut estimate = hodges_lehmann::one_sample(&logarithms, CONFIDENCE)?;
    estimate.value = estimate.value.exp();
    estimate.interval.low = estimate.interval.low.exp();
    estimate.interval.high = estimate.interval.high.exp();
    Some(estimate)
}

/// Whether an effect is larger than the noise: its interval does not contain `neutral`.
pub(super) fn is_clear(effect: &Estimate, neutral: f64) -> bool {
    !effect.interval.contains(neutral)
}

/// An interval of times as text: `95% interval 2.00 ns to 6.00 ns`.
pub(super) fn interval_ns(effect: &Estimate) -> String {
    let (low, high) = (effect.interval.low, effect.interval.high);
    format!("95% interval {} to {}", nanos(low), nanos(high))
}

/// A ratio as text, with its interval: `3.1 x (95% interval 2.9 to 3.4)`.
pub(super) fn times(effect: &Estimate) -> String {
    let (low, high) = (effect.interval.low, effect.interval.high);
    format!("{} x (95% interval {} to {})", factor(effect.value), factor(low), factor(high))
}

/// A ratio with three digits.
pub(super) fn factor(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 10.0 => format!("{ratio:.2}"),
        ratio if ratio < 100.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.0}"),
    }
}
