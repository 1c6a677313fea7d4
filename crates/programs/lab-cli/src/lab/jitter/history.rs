//! The main quantiles of each run, kept for `nanotape lab trend`, and the comparison with earlier
//! ones of the same machine.

use std::path::Path;

use nanotape_console::values::nanos_text;
use nanotape_lab::record::read;
use serde_json::{Value, json};

/// The quantiles that are kept.
const KEPT: [&str; 4] = ["p50", "p99", "p99.9", "p99.99"];

/// Earlier runs that the newest one is compared with, and the fewest of them.
const MOST_RUNS: usize = 10;
const FEWEST_RUNS: usize = 3;

/// A line of `kind: bench` for each variant and quantile.
pub(super) fn lines(records: &[Value]) -> Vec<Value> {
    let variants = records.iter().filter(|record| record["kind"] == "jitter");
    variants.flat_map(|record| KEPT.iter().filter_map(|quantile| line(record, quantile))).collect()
}

fn line(record: &Value, quantile: &str) -> Option<Value> {
    let median = record["round_trips"]["quantiles"][quantile].as_f64()?;
    let interval = &record["round_trips"]["intervals"][quantile];
    let name = format!("jitter/{}/{quantile}", record["name"].as_str()?.replace(", ", "-"));
    Some(json!({
        "format": record["format"],
        "version": record["version"],
        "kind": "bench",
        "name": name,
        "time": record["time"],
        "clock": record["clock"],
        "environment": record["environment"],
        "noise": record["noise"],
        "operations_per_run": 1,
        "runs_per_sample": 1,
        "samples_per_epoch": record["turns"][0]["count"],
        "epochs": record["turns"].as_array().map(Vec::len),
        "cost": {
            "median_ns": median,
            "low_ns": interval[0].as_f64().unwrap_or(median),
            "high_ns": interval[1].as_f64().unwrap_or(median),
            "confidence": interval.is_array().then_some(0.95),
        },
        "epoch_ns": null,
        "latency": null,
        "counters": null,
        "instructions": null,
    }))
}

/// A sentence for each number that is worse than in each of the last runs on this machine.
pub(super) fn worse(folder: &Path, host: &str, lines: &[Value]) -> Vec<String> {
    // A folder without records is the first run.
    let earlier = read(folder).unwrap_or_default();
    lines.iter().filter_map(|line| sentence(line, &earlier, host)).collect()
}

fn sentence(line: &Value, earlier: &[Value], host: &str) -> Option<String> {
    let cpu = |record: &Value| record["environment"]["cpu"].clone();
    let same = |record: &&Value| {
        record["name"] == line["name"]
            && record["environment"]["host"] == host
            && cpu(record) == cpu(line)
    };
    let medians = earlier.iter().filter(same).filter_map(|one| one["cost"]["median_ns"].as_f64());
    let medians: Vec<f64> = medians.collect();
    let last = medians.get(medians.len().saturating_sub(MOST_RUNS)..)?;
    let worst = last.iter().copied().fold(0.0, f64::max);
    let low = line["cost"]["low_ns"].as_f64()?;
    (last.len() >= FEWEST_RUNS && low > worst).then(|| {
        format!(
            "{}: {} is worse than each of the last {} runs on this machine, which had at most {}",
            line["name"].as_str().unwrap_or_default(),
            nanos_text(line["cost"]["median_ns"].as_f64().unwrap_or(low) as u64),
            last.len(),
            nanos_text(worst as u64),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(p50: u64) -> Value {
        json!({
            "format": "nanotape-lab", "version": 1, "kind": "jitter",
            "name": "cells, spin, pinned, normal",
            "environment": { "host": "alder", "cpu": "x" },
            "round_trips": { "quantiles": { "p50": p50 }, "intervals": { "p50": [p50 - 5, p50 + 5] } },
            "turns": [{ "count": 100 }],
        })
    }

    #[test]
    fn a_run_that_is_worse_than_all_before_is_reported() {
        let earlier: Vec<Value> =
            [300, 320, 310].iter().flat_map(|&p50| lines(&[record(p50)])).collect();
        let warnings = |p50: u64, earlier: &[Value], host: &str| {
            lines(&[record(p50)]).iter().filter_map(|line| sentence(line, earlier, host)).count()
        };
        let [line] = &lines(&[record(400)])[..] else { panic!("one line") };
        assert_eq!(line["name"], "jitter/cells-spin-pinned-normal/p50");
        assert_eq!(
            sentence(line, &earlier, "alder").unwrap(),
            "jitter/cells-spin-pinned-normal/p50: 400 ns is worse than each of the last 3 runs on \
             this machine, which had at most 320 ns"
        );
        // Within the interval, another machine, too few runs.
        assert_eq!(warnings(323, &earlier, "alder"), 0);
        assert_eq!(warnings(400, &earlier, "rowan"), 0);
        assert_eq!(warnings(400, &earlier[..2], "alder"), 0);
    }
}
