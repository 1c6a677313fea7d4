//! What changed between two results of round trips: the quantiles of each variant with an interval,
//! and the interruptions of each cause.
//!
//! The interval of a ratio comes from the intervals of its two medians over turns, each at 97.5%,
//! so that both hold together at 95%. It assumes only that turns are independent, and is wide with
//! few turns. Two runs at different times also differ by what else the machine did: to prove the
//! effect of a setting, use `nanotape lab doctor try`, which measures both in turns.

use std::collections::BTreeMap;

use nanotape_lab::statistics::{order::median, sign::median_interval};
use serde_json::Value;

/// The quantiles that are compared.
const COMPARED: [&str; 7] = ["p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p100"];

/// The confidence of each of two intervals that hold together at 95%.
const CONFIDENCE_OF_EACH: f64 = 0.975;

/// Rates that differ by more standard errors are different.
const STANDARD_ERRORS: f64 = 4.0;

/// The change of one number.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The variant.
    pub name: String,
    /// The number: a quantile in nanoseconds, or `CAUSE a second` of a side.
    pub what: String,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
    /// The interval of after divided by before; `None` with too few turns, and for rates.
    pub ratio: Option<(f64, f64)>,
    /// Whether there is proof of a change, and of which.
    pub verdict: Verdict,
}

/// What the interval shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Smaller.
    Better,
    /// Larger.
    Worse,
    /// The interval has values on both sides.
    NoProof,
}

impl Verdict {
    /// Its name in records and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoProof => "no proof of a change",
        }
    }
}

/// The changes of all variants that both results have, in the order of `after`.
pub fn changes(before: &[Value], after: &[Value]) -> Vec<Change> {
    let is_jitter = |record: &&Value| record["kind"] == "jitter";
    let mut changes = Vec::new();
    for new in after.iter().filter(is_jitter) {
        let Some(name) = new["name"].as_str() else { continue };
        let Some(old) = before.iter().filter(is_jitter).find(|old| old["name"] == name) else {
            continue;
        };
        changes.extend(COMPARED.iter().filter_map(|what| quantile(name, what, old, new)));
        changes.extend(rates(name, old, new));
    }
    changes
}

fn quantile(name: &str, what: &str, old: &Value, new: &Value) -> Option<Change> {
    let turns = |record: &Value| -> Vec<f64> {
        let turns = record["turns"].as_array().map_or(&[][..], Vec::as_slice);
        turns.iter().filter_map(|turn| turn[what].as_f64()).filter(|nanos| *nanos > 0.0).collect()
    };
    let (old, new) = (turns(old), turns(new));
    let (before, after) = (median(&old)?, median(&new)?);
    let interval = |turns: &[f64]| median_interval(turns, CONFIDENCE_OF_EACH);
    let ratio = interval(&old)
        .zip(interval(&new))
        .map(|(old, new)| (new.low / old.high, new.high / old.low));
    let verdict = match ratio {
        Some((_, high)) if high < 1.0 => Verdict::Better,
        Some((low, _)) if low > 1.0 => Verdict::Worse,
        _ => Verdict::NoProof,
    };
    Some(Change { name: name.to_owned(), what: what.to_owned(), before, after, ratio, verdict })
}

/// Interruptions a second, by side and cause. Counts of independent events vary by their root.
fn rates(name: &str, old: &Value, new: &Value) -> Vec<Change> {
    let (old, new) = (counts(old), counts(new));
    let keys: BTreeMap<&(String, String), ()> =
        old.keys().chain(new.keys()).map(|key| (key, ())).collect();
    let rate = |counts: &BTreeMap<(String, String), (f64, f64)>, key: &(String, String)| {
        let seconds = counts.iter().find(|((side, _), _)| *side == key.0).map(|(_, (_, s))| *s);
        counts.get(key).copied().or(seconds.map(|seconds| (0.0, seconds)))
    };
    let change = |key: &(String, String)| {
        let ((old_count, old_s), (new_count, new_s)) = (rate(&old, key)?, rate(&new, key)?);
        let (before, after) = (old_count / old_s, new_count / new_s);
        let error =
            (old_count.max(1.0) / old_s.powi(2) + new_count.max(1.0) / new_s.powi(2)).sqrt();
        let verdict = match after - before {
            less if less < -STANDARD_ERRORS * error => Verdict::Better,
            more if more > STANDARD_ERRORS * error => Verdict::Worse,
            _ => Verdict::NoProof,
        };
        let what = format!("{}: {} a second", key.0, key.1);
        Some(Change { name: name.to_owned(), what, before, after, ratio: None, verdict })
    };
    keys.into_keys().filter_map(change).collect()
}

/// Counts and seconds, by side and cause.
fn counts(record: &Value) -> BTreeMap<(String, String), (f64, f64)> {
    let list = |name: &str| record["interruptions"][name].as_array().cloned().unwrap_or_default();
    let seconds: BTreeMap<String, f64> = list("sides")
        .iter()
        .filter_map(|side| {
            let seconds = side["watched_ns"].as_f64()? / 1e9;
            (seconds > 0.0).then_some((side["side"].as_str()?.to_owned(), seconds))
        })
        .collect();
    list("causes")
        .iter()
        .filter_map(|cause| {
            let side = cause["side"].as_str()?.to_owned();
            let seconds = *seconds.get(&side)?;
            Some(((side, cause["cause"].as_str()?.to_owned()), (cause["count"].as_f64()?, seconds)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(p50s: &[u64], timers: u64) -> Value {
        let turns: Vec<Value> = p50s.iter().map(|nanos| json!({ "p50": nanos })).collect();
        json!({
            "kind": "jitter", "name": "cells", "turns": turns,
            "interruptions": {
                "sides": [{ "side": "pinger", "watched_ns": 2_000_000_000_u64 }],
                "causes": [{ "side": "pinger", "cause": "timer interrupt", "count": timers }],
            },
        })
    }

    fn verdicts(before: &Value, after: &Value) -> Vec<(String, Verdict)> {
        let changes = changes(std::slice::from_ref(before), std::slice::from_ref(after));
        changes.into_iter().map(|change| (change.what, change.verdict)).collect()
    }

    const TIMER: &str = "pinger: timer interrupt a second";

    #[test]
    fn a_change_is_proved_if_the_whole_interval_is_on_one_side() {
        let eight = |nanos: u64| [0, 1, 2, 3, 4, 5, 6, 7].map(|more| nanos + more);
        let (slow, fast) = (record(&eight(400), 500), record(&eight(300), 4));
        let better = [("p50".to_owned(), Verdict::Better), (TIMER.to_owned(), Verdict::Better)];
        assert_eq!(verdicts(&slow, &fast), better);
        let worse = better.map(|(what, _)| (what, Verdict::Worse));
        assert_eq!(verdicts(&fast, &slow), worse);
        let same = worse.map(|(what, _)| (what, Verdict::NoProof));
        assert_eq!(verdicts(&fast, &fast), same);
        let change = &changes(&[slow], &[fast])[0];
        let (low, high) = change.ratio.unwrap();
        assert!(low < 303.5 / 403.5 && 303.5 / 403.5 < high, "{change:?}");
    }

    #[test]
    fn few_turns_prove_nothing() {
        let (slow, fast) = (record(&[400, 401, 402], 500), record(&[300, 301, 302], 480));
        let nothing = [("p50".to_owned(), Verdict::NoProof), (TIMER.to_owned(), Verdict::NoProof)];
        assert_eq!(verdicts(&slow, &fast), nothing);
    }

    #[test]
    fn a_cause_that_went_away_is_a_rate_of_zero() {
        let mut after = record(&[1; 8], 500);
        after["interruptions"]["causes"] = json!([{
            "side": "pinger", "cause": "page fault", "count": 3,
        }]);
        let all = changes(&[record(&[1; 8], 500)], &[after]);
        let timer = all.iter().find(|change| change.what == TIMER).unwrap();
        assert_eq!((timer.before, timer.after, timer.verdict), (250.0, 0.0, Verdict::Better));
    }

    #[test]
    fn what_is_no_record_of_round_trips_has_no_changes() {
        for rubbish in [json!(null), json!({}), json!({ "kind": "jitter" }), json!([1, "x"])] {
            assert_eq!(changes(&[record(&[1], 1)], std::slice::from_ref(&rubbish)), []);
            assert_eq!(changes(std::slice::from_ref(&rubbish), &[record(&[1], 1)]), []);
        }
    }
}
