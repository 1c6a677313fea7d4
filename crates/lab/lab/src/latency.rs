//! The distribution of single runs, with intervals if the tail has enough values.

use nanotape_trace::Histogram;
use serde_json::{Value, json};

use crate::statistics::{Interval, bootstrap, order::quantile_sorted};

/// Quantiles of every distribution, with their names in records.
pub(crate) const QUANTILES: [(&str, f64); 9] = [
    ("p0", 0.0),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p100", 1.0),
];

/// Those that can have an interval: the extremes of a sample predict nothing about the next one.
const WITH_INTERVAL: core::ops::Range<usize> = 1..8;

/// Single runs, each between two stamps; the cost of a stamp is included.
#[derive(Clone, Debug)]
pub struct Latency {
    /// The rate of the absolute schedule; `None` if each run starts after the previous one.
    pub arrivals_per_second: Option<f64>,
    /// All runs, with a resolution of 0.8%.
    pub histogram: Histogram,
    /// The quantiles of [`Latency::record`] in ns, each with its interval if it has one.
    quantiles: Vec<(&'static str, f64, Option<Interval>)>,
}

impl Latency {
    /// From the times of single runs, in the order they were taken.
    pub(crate) fn of(nanos: &[u64], arrivals_per_second: Option<f64>, seed: u64) -> Self {
        let mut histogram = Histogram::fine();
        nanos.iter().for_each(|&nanos| histogram.record(nanos));
        // From the values themselves: the histogram is only for plots.
        let mut sorted: Vec<f64> = nanos.iter().map(|&nanos| nanos as f64).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |quantile: f64| quantile_sorted(&sorted, quantile).unwrap_or(f64::NAN);
        let intervals = intervals(nanos, seed);
        let quantiles = QUANTILES
            .into_iter()
            .enumerate()
            .map(|(index, (name, quantile))| (name, at(quantile), intervals[index]))
            .collect();
        Self { arrivals_per_second, histogram, quantiles }
    }

    /// A quantile by its name in records, in ns.
    pub fn quantile_ns(&self, name: &str) -> Option<f64> {
        self.quantiles.iter().find(|(known, ..)| *known == name).map(|&(_, nanos, _)| nanos)
    }

    /// As the field `latency` of a record.
    pub(crate) fn record(&self) -> Value {
        let quantiles =
            self.quantiles.iter().map(|&(name, nanos, _)| (name.to_owned(), json!(nanos)));
        let with_interval = self.quantiles.iter().filter_map(|&(name, _, interval)| {
            let Interval { low, high, .. } = interval?;
            Some((name.to_owned(), json!([low, high])))
        });
        let buckets: Vec<Value> =
            self.histogram.buckets().map(|(highest, count)| json!([highest, count])).collect();
        json!({
            "unit": "ns a run",
            "arrivals_per_second": self.arrivals_per_second,
            "count": self.histogram.count(),
            "quantiles": Value::Object(quantiles.collect()),
            "intervals": Value::Object(with_interval.collect()),
            "distribution": buckets,
        })
    }
}

/// One entry for each of [`QUANTILES`]. Neighbouring runs are correlated, so whole blocks are
/// resampled.
fn intervals(nanos: &[u64], seed: u64) -> [Option<Interval>; QUANTILES.len()] {
    const BLOCKS: usize = 100;
    const REPETITIONS: usize = 500;
    const CONFIDENCE: f64 = 0.95;
    let mut found = [None; QUANTILES.len()];
    let values: Vec<f64> = nanos.iter().map(|&nanos| nanos as f64).collect();
    let blocks: Vec<&[f64]> = values.chunks(values.len().div_ceil(BLOCKS).max(1)).collect();
    let wanted: Vec<usize> = WITH_INTERVAL
        .filter(|&index| bootstrap::enough_beyond(values.len(), QUANTILES[index].1))
        .collect();
    let quantiles: Vec<f64> = wanted.iter().map(|&index| QUANTILES[index].1).collect();
    let estimates =
        bootstrap::block_quantile_intervals(&blocks, &quantiles, REPETITIONS, CONFIDENCE, seed);
    for (index, estimate) in wanted.into_iter().zip(estimates.unwrap_or_default()) {
        found[index] = Some(estimate.interval);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_and_only_full_tails_have_intervals() {
        let nanos: Vec<u64> = (0..20_000u64).map(|index| index * 7_919 % 20_000 + 1).collect();
        let latency = Latency::of(&nanos, None, 1);
        assert_eq!(latency.quantile_ns("p50"), Some(10_000.0));
        assert_eq!(latency.quantile_ns("p99.9"), Some(19_980.0));
        assert_eq!(latency.quantile_ns("p100"), Some(20_000.0));
        let record = latency.record();
        assert_eq!(record["count"], 20_000);
        let interval = &record["intervals"]["p50"];
        assert!(interval[0].as_f64() <= Some(10_000.0) && interval[1].as_f64() >= Some(10_000.0));
        // 20 values lie beyond p99.9: too few for an interval.
        assert!(record["intervals"]["p99"].is_array());
        assert!(record["intervals"]["p99.9"].is_null());
        let counted: u64 = record["distribution"]
            .as_array()
            .unwrap()
            .iter()
            .map(|bucket| bucket[1].as_u64().unwrap())
            .sum();
        assert_eq!(counted, 20_000);
    }
}
