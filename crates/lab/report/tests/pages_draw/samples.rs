//! Records like those of a real machine, computed from a seed.

use serde_json::{Value, json};

/// A portable generator of numbers (the constants are Knuth's).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Around 0, with a standard deviation of about 1.
    pub(crate) fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// A `bench` record of `name`, of about `ns` an operation.
pub(crate) fn bench(name: &str, ns: f64, seed: u64) -> Value {
    let mut numbers = Numbers::new(seed);
    let epochs: Vec<f64> = (0..40).map(|_| round(ns * (1.0 + 0.006 * numbers.bell()))).collect();
    let median = median(&epochs);
    json!({
        "format": "nanotape-lab", "version": 1, "kind": "bench", "name": name,
        "time": "2026-11-21T10:00:00Z", "clock": clock(), "environment": environment("alder", 0),
        "noise": [],
        "operations_per_run": 64, "runs_per_sample": 32, "samples_per_epoch": 250, "epochs": 40,
        "cost": {"median_ns": median, "low_ns": round(median * 0.997),
                 "high_ns": round(median * 1.004), "confidence": 0.95},
        "epoch_ns": epochs,
        "latency": latency(ns * 64.0, &mut numbers),
        "counters": {"cycles": round(ns * 2.6), "instructions": round(ns * 5.1),
                     "instructions_per_cycle": 1.96, "branch_misses": 0.021, "l1d_misses": null},
        "instructions": round(ns * 5.1),
    })
}

/// Runs of two speeds with a long tail, in buckets of about 1.1%.
fn latency(ns: f64, numbers: &mut Numbers) -> Value {
    let mut runs: Vec<f64> = (0..20_000)
        .map(|_| {
            let slow = if numbers.unit() < 0.2 { 1.35 } else { 1.0 };
            let tail = if numbers.unit() < 0.004 { 1.0 + 12.0 * numbers.unit() } else { 1.0 };
            ns * slow * tail * (1.0 + 0.03 * numbers.bell().abs())
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    let mut distribution: Vec<(f64, u64)> = Vec::new();
    for run in &runs {
        let bucket = round(bucket_of(*run));
        match distribution.last_mut() {
            Some((highest, count)) if *highest == bucket => *count += 1,
            _ => distribution.push((bucket, 1)),
        }
    }
    let at = |share: f64| round(runs[((runs.len() - 1) as f64 * share) as usize]);
    json!({
        "count": runs.len(), "unit": "ns a run", "arrivals_per_second": null,
        "quantiles": {"p0": at(0.0), "p25": at(0.25), "p50": at(0.5), "p75": at(0.75),
                      "p90": at(0.9), "p99": at(0.99), "p99.9": at(0.999), "p99.99": at(0.9999),
                      "p100": at(1.0)},
        "intervals": {"p50": [at(0.49), at(0.51)], "p99": [at(0.988), at(0.992)]},
        "distribution": distribution,
    })
}

/// The quantiles of sorted values, by name.
pub(crate) fn quantiles_of(sorted: &[f64]) -> Value {
    let at = |share: f64| round(sorted[((sorted.len() - 1) as f64 * share) as usize]);
    json!({"p0": at(0.0), "p25": at(0.25), "p50": at(0.5), "p75": at(0.75), "p90": at(0.9),
           "p99": at(0.99), "p99.9": at(0.999), "p99.99": at(0.9999), "p99.999": at(0.99999),
           "p100": at(1.0)})
}

/// The highest value of the bucket that `ns` falls into, 64 buckets a doubling.
fn bucket_of(ns: f64) -> f64 {
    ((ns.log2() * 64.0).ceil() / 64.0).exp2()
}

/// A `compare` record whose candidate takes `ratio` times as long.
pub(crate) fn compare(name: &str, ratio: f64, verdict: &str, seed: u64) -> Value {
    let mut numbers = Numbers::new(seed);
    let mut replicates = |ns: f64| -> Vec<f64> {
        (0..24).map(|_| round(ns * (1.0 + 0.008 * numbers.bell()))).collect()
    };
    let (base, candidate) = (replicates(82.0), replicates(82.0 * ratio));
    let quantile = |ns: f64, wide: f64| {
        json!({"base_ns": ns, "candidate_ns": round(ns * ratio), "ratio": ratio,
               "low": ratio * (1.0 - wide), "high": ratio * (1.0 + wide)})
    };
    json!({
        "format": "nanotape-lab", "version": 1, "kind": "compare", "name": name,
        "time": "2026-11-21T11:30:00Z", "clock": clock(), "environment": environment("alder", 0),
        "noise": [],
        "base": {"label": "main", "revision": "9a489be0c1d2e3f4a5b6", "median_ns": median(&base),
                 "replicate_ns": base},
        "candidate": {"label": "working tree", "revision": null, "median_ns": median(&candidate),
                      "replicate_ns": candidate},
        "change": {"ratio": ratio, "low": ratio - 0.004, "high": ratio + 0.005,
                   "confidence": 0.95},
        "p_wilcoxon": 0.000_02, "p_sign": 0.0007, "p_verdict": 0.0031, "p_holm": 0.0124,
        "verdict": verdict, "reason": null, "smallest_effect": 0.01, "alpha": 0.05, "power": 0.9,
        "detectable": 0.008, "replicates": 24, "looks": 2,
        "control": {"ratio": 1.001, "low": 0.997, "high": 1.005, "p_wilcoxon": 0.61,
                    "rejected": false},
        "quantiles": {"p50": quantile(5_200.0, 0.004), "p90": quantile(6_900.0, 0.008),
                      "p99": quantile(9_100.0, 0.02), "p99.9": quantile(31_000.0, 0.06)},
    })
}

fn clock() -> Value {
    json!({"source": "tsc", "stamp_ns": 9.4, "resolution_ns": 0.38})
}

/// The environment of a run on day `day` on `host`.
pub(crate) fn environment(host: &str, day: u64) -> Value {
    let cpu = if host == "alder" { "Intel(R) Xeon(R) E-2388G" } else { "AMD EPYC 9354P" };
    json!({
        "host": host, "kernel": "6.12.48", "cpu": cpu, "hypervisor": null, "cpus": 8,
        "cpu_pinned": 3, "governor": "performance", "turbo": "off", "smt": "off",
        "huge_pages": "madvise", "clocksource": "tsc", "aslr": "on", "scheduling": "fifo 50",
        "memory_locked": "yes", "load_average": 0.08, "stolen": 0.0, "foreign": 0.0004,
        "involuntary_switches": 2, "revision": format!("{:012x}", 0x9a48_9be0_u64 * (day + 3)),
        "dirty": day % 5 == 4, "compiler": "rustc 1.95.0", "flags": "-C target-cpu=native",
        "profile": "release", "binary": "77c1d5",
    })
}

/// A month of one benchmark on two machines, with comparisons.
pub(crate) fn month(name: &str, ns: f64) -> Vec<Value> {
    let mut records = Vec::new();
    for day in 0..28_u64 {
        let host = if day % 4 == 3 { "rowan" } else { "alder" };
        let step = if day >= 17 { 1.032 } else { 1.0 };
        let machine = if host == "rowan" { 0.78 } else { 1.0 };
        let mut record = bench(name, ns * step * machine, day + 11);
        record["time"] = json!(format!("2026-10-{:02}T{:02}:15:00Z", day + 1, 6 + day % 9));
        record["environment"] = environment(host, day);
        record["instructions"] = json!(round(ns * 5.1 * step));
        record["latency"] = Value::Null;
        if day % 9 == 5 {
            record["noise"] = json!(["another process used 4.1% of the processor"]);
        }
        records.push(record);
    }
    for (day, ratio, verdict) in [(8, 1.0004, "same"), (18, 1.032, "slower"), (25, 0.985, "faster")]
    {
        let mut record = compare(name, ratio, verdict, day);
        record["time"] = json!(format!("2026-10-{day:02}T20:00:00Z"));
        record["candidate"]["median_ns"] = json!(round(ns * ratio));
        records.push(record);
    }
    records
}

/// Copies of `record`, each with one field null, at any depth.
pub(crate) fn each_null(record: &Value) -> Vec<Value> {
    let mut pointers = Vec::new();
    collect(record, String::new(), &mut pointers);
    let kept = ["/format", "/version", "/kind"];
    let pointers = pointers.iter().filter(|pointer| !kept.contains(&pointer.as_str()));
    pointers
        .map(|pointer| {
            let mut variant = record.clone();
            *variant.pointer_mut(pointer).expect("it was just seen") = Value::Null;
            variant
        })
        .collect()
}

/// The paths of all fields of objects, and of the first entry of each list.
fn collect(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                into.push(format!("{at}/{name}"));
                collect(value, format!("{at}/{name}"), into);
            }
        }
        Value::Array(entries) if !entries.is_empty() => {
            into.push(format!("{at}/0"));
            collect(&entries[0], format!("{at}/0"), into);
        }
        _ => {}
    }
}

fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
