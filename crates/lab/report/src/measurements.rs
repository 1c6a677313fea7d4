//! The pages of measurements: results of benchmarks and comparisons, their cost over time, jitter,
//! studies of a machine, simulated queues, slow messages, and delays between feeds.
//!
//! Reads records of docs/formats: lab-record.md, lab-machine.md, lab-queue.md, lab-explain.md and
//! lab-delay.md. A record that cannot be drawn is listed on the page with the reason.

use serde_json::Value;

use crate::page::{Notice, Page, Script};

/// The supported format and version.
const FORMAT: &str = "nanotape-lab";
const VERSION: u64 = 1;

/// The scripts that all pages run before their own, in this order.
pub(crate) const SHARED_SCRIPTS: [Script; 4] = [
    // First, because it catches the errors of the others.
    Script { name: "page.js", text: include_str!("assets/page.js") },
    Script { name: "uPlot.iife.min.js", text: include_str!("assets/uplot/uPlot.iife.min.js") },
    Script { name: "axis.js", text: include_str!("assets/axis.js") },
    Script { name: "lines.js", text: include_str!("assets/lines.js") },
];
const FOREST: Script = Script { name: "forest.js", text: include_str!("assets/forest.js") };
const DISTRIBUTION: Script =
    Script { name: "distribution.js", text: include_str!("assets/distribution.js") };
const RESULTS: Script = Script { name: "results.js", text: include_str!("assets/results.js") };
const TREND: Script = Script { name: "trend.js", text: include_str!("assets/trend.js") };
const JITTER: Script = Script { name: "jitter.js", text: include_str!("assets/jitter.js") };
const QUEUE: Script = Script { name: "queue.js", text: include_str!("assets/queue.js") };
const EXPLAIN: Script = Script { name: "explain.js", text: include_str!("assets/explain.js") };
const DELAY: Script = Script { name: "delay.js", text: include_str!("assets/delay.js") };
const STUDY: Script = Script { name: "study.js", text: include_str!("assets/study.js") };

/// The kinds of records of benchmarks.
const BENCHMARKS: &[&str] = &["bench", "compare"];

/// The page of `bench` and `compare` records: verdicts with their intervals, distributions of
/// latency, epochs, and the environment and noise of each run. Several benchmarks are shown side
/// by side.
///
/// ```
/// let page = nanotape_report::results(&[]);
/// assert!(page.contains("There are no records to draw."));
/// ```
#[must_use]
pub fn results(records: &[Value]) -> String {
    page("Benchmark results", records, BENCHMARKS, &[FOREST, DISTRIBUTION, RESULTS])
}

/// The page of the cost of each benchmark over time, one series per machine, with the verdicts of
/// comparisons as marks.
#[must_use]
pub fn trend(records: &[Value]) -> String {
    page("Benchmarks over time", records, BENCHMARKS, &[FOREST, TREND])
}

/// The page of `jitter` and `gaps` records: round trips of all variants as histograms and series,
/// linear and logarithmic, with their medians; interruptions of each side and processor, by cause.
#[must_use]
pub fn jitter(records: &[Value]) -> String {
    page("Jitter", records, &["jitter", "gaps"], &[JITTER])
}

/// The page of `study` records: what a machine answers to a question, with plots and a table.
#[must_use]
pub fn study(records: &[Value]) -> String {
    page("Studies of the machine", records, &["study"], &[STUDY])
}

/// The page of `queue` records: the delay of a message against the time that each one takes, and
/// the delay over the day.
#[must_use]
pub fn queue(records: &[Value]) -> String {
    page("Queues", records, &["queue"], &[QUEUE])
}

/// The page of `explain` records: what the time of slow messages went to, by cause, and the slowest
/// ones with their stages. Records of single messages have a line in the totals only.
#[must_use]
pub fn explain(records: &[Value]) -> String {
    page("Slow messages", records, &["explain", "slow-message"], &[EXPLAIN])
}

/// The page of `delay` records: the delay between two feeds over time, of single windows, and by
/// stock and attribute; the correlation of a window; which instrument leads which.
#[must_use]
pub fn delay(records: &[Value]) -> String {
    page("Delay between feeds", records, &["delay"], &[DELAY])
}

fn page(title: &str, records: &[Value], kinds: &[&str], scripts: &[Script]) -> String {
    let (mut drawn, mut skipped) = (Vec::new(), Vec::new());
    for (index, record) in records.iter().enumerate() {
        match refusal(record, kinds) {
            None => drawn.push(record),
            Some(reason) => skipped.push(skipped_line(index, record, &reason)),
        }
    }
    let scripts: Vec<Script> = SHARED_SCRIPTS.iter().chain(scripts).copied().collect();
    let lead = match drawn.as_slice() {
        [] => "There are no records to draw.".to_owned(),
        [_] => "1 record.".to_owned(),
        records => format!("{} records.", records.len()),
    };
    let heading = format!("Skipped, not drawn: {}", skipped.len());
    let notices = [Notice { id: "skipped", heading: &heading, lines: &skipped }];
    let (lead, records) = (lead.as_str(), drawn.as_slice());
    Page { title, lead, notices: &notices, records, scripts: &scripts }.to_html()
}

/// Why `record` is not drawn; `None` if it is.
fn refusal(record: &Value, kinds: &[&str]) -> Option<String> {
    let Value::Object(fields) = record else { return Some("not an object".to_owned()) };
    let field = |name: &str| fields.get(name).unwrap_or(&Value::Null);
    if field("format") != FORMAT {
        return Some(format!("format {}", field("format")));
    }
    if field("version").as_u64() != Some(VERSION) {
        return Some(format!("version {}, this program reads {VERSION}", field("version")));
    }
    match field("kind").as_str() {
        Some(kind) if kinds.contains(&kind) => None,
        _ => Some(format!("unknown kind {}", field("kind"))),
    }
}

fn skipped_line(index: usize, record: &Value, reason: &str) -> String {
    let name = record.get("name").and_then(Value::as_str).unwrap_or("(no name)");
    format!("record {}, {name}: {reason}", index + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_of_this_version_are_drawn() {
        for kind in ["bench", "compare"] {
            let record = json!({"format": "nanotape-lab", "version": 1, "kind": kind});
            assert_eq!(refusal(&record, BENCHMARKS), None, "{kind}");
        }
    }

    #[test]
    fn other_records_are_refused_with_a_reason() {
        let check = |record: Value, reason: &str| {
            assert_eq!(refusal(&record, BENCHMARKS).as_deref(), Some(reason), "{record}");
        };
        check(json!([1]), "not an object");
        check(json!({}), "format null");
        check(
            json!({"format": "nanotape-lab", "version": 2, "kind": "bench"}),
            "version 2, this program reads 1",
        );
        check(
            json!({"format": "nanotape-lab", "version": 1, "kind": "jitter"}),
            "unknown kind \"jitter\"",
        );
        check(json!({"format": "nanotape-lab", "version": 1, "kind": null}), "unknown kind null");
    }

    #[test]
    fn a_skipped_record_says_which_it_was() {
        let record = json!({"name": "book/hot"});
        assert_eq!(skipped_line(2, &record, "format null"), "record 3, book/hot: format null");
        assert_eq!(skipped_line(0, &json!(7), "x"), "record 1, (no name): x");
    }
}
