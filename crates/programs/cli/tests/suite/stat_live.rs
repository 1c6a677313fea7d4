//! The metrics of a live session with a lossy line: read by promtool, compared between two readings
//! and with the JSON of the same moment. The alerts of `contrib/prometheus` know these metrics.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use nanotape_harness::{BoundedChild as _, eventually, skipped};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder,
    exposition::{Dialect, Exposition},
    live::{Plant, day},
    nanotape,
    running::{Running, json},
};

/// Members of a line in JSON, and the samples for them.
const LINE: [(&str, &str); 15] = [
    ("packets", "nanotape_line_packets_total"),
    ("bytes", "nanotape_line_bytes_total"),
    ("heartbeats", "nanotape_line_heartbeats_total"),
    ("messages", "nanotape_line_messages_total"),
    ("first_messages", "nanotape_line_first_messages_total"),
    ("missing", "nanotape_line_missing"),
    ("overtaken", "nanotape_line_overtaken_total"),
    ("duplicates", "nanotape_line_duplicates_total"),
    ("other_session", "nanotape_line_other_session_total"),
    ("far_ahead", "nanotape_line_far_ahead_total"),
    ("malformed", "nanotape_line_malformed_total"),
    ("kernel_drops", "nanotape_line_kernel_drops_total"),
    ("socket_errors", "nanotape_line_socket_errors_total"),
    ("silences", "nanotape_line_silences_total"),
    ("races_won", "nanotape_line_ahead_seconds_count"),
];

/// The same for the session; the text is that of the label `outcome`.
const SESSION: [(&str, &str, &str); 11] = [
    ("messages", "nanotape_plant_messages_total", ""),
    ("lost_messages", "nanotape_plant_lost_messages_total", ""),
    ("session_next_message", "nanotape_session_next_message", ""),
    ("session_missing", "nanotape_session_missing", ""),
    ("gaps", "nanotape_session_gaps_total", ""),
    ("gaps_open", "nanotape_session_gaps_open", ""),
    ("gap_messages_from_lines", "nanotape_session_gap_messages_total", "line"),
    ("gap_messages_retransmitted", "nanotape_session_gap_messages_total", "rerequest"),
    ("gap_messages_in_snapshot", "nanotape_session_gap_messages_total", "snapshot"),
    ("gap_messages_lost", "nanotape_session_gap_messages_total", "lost"),
    (
        "messages_in_time_from_other_line",
        "nanotape_session_messages_in_time_from_other_line_total",
        "",
    ),
];

/// The output of `nanotape stat` in this format, for one reading.
fn stat(plant: &Plant, format: &str) -> String {
    let ran = nanotape(["stat", plant.ring.path(), "--interval", "0", "--format", format]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    ran.stdout
}

/// What promtool says about a text; nothing if it finds no problem. None if there is no promtool.
fn promtool(arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        skipped("promtool (Debian: prometheus) is not installed");
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.bounded_wait_with_output(&command);
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    Some(if output.status.success() { String::new() } else { format!("failed: {said}") } + &said)
}

/// One reading in the older format, without a problem for promtool.
fn scrape(plant: &Plant) -> Exposition {
    let text = stat(plant, "prometheus");
    if let Some(said) = promtool(&["check", "metrics"], &text) {
        assert_eq!(said, "", "{text}");
    }
    Exposition::parse(&text, Dialect::Prometheus)
}

/// No counter is smaller in a later reading; returns the counters that are larger.
fn grown(before: &Exposition, after: &Exposition) -> BTreeSet<String> {
    let later = after.samples();
    let mut grown = BTreeSet::new();
    for (name, value) in before.samples() {
        let family = name.split('[').next().unwrap();
        let ends = ["_total", "_count", "_sum", "_bucket"];
        if ends.iter().any(|end| family.ends_with(end)) {
            assert!(later[&name] >= value, "{name}: {value}, then {}", later[&name]);
            if later[&name] > value {
                grown.insert(family.to_owned());
            }
        }
    }
    grown
}

#[test]
fn the_metrics_of_a_lossy_line_are_those_of_stat_and_only_grow() {
    let folder = Folder::new("stat-live");
    let day = day(&folder);
    let mut plant = Plant::start("stat-live", &[]);
    let [a, b] = &plant.lines;
    // Fast until 10:00, then slowly: the session goes on while it is read.
    let pace = ["--pace-from", "10:00", "--pace", "60x", "--seed", "5"];
    let faults = ["--faults-a", "drop=4%,truncate=1%", "--faults-both", "drop=1%"];
    let lines = ["exchange", &day, "--line-a", a, "--line-b", b];
    let exchange = Running::start(&[&lines[..], &pace, &faults].concat());
    let value = |json: &Value, name: &str| json[name].as_u64().unwrap();
    eventually("the session has lost messages", || {
        value(&json(&stat(&plant, "json")), "gap_messages_lost") > 0
    });
    let first = scrape(&plant);
    let before = first.value("nanotape_session_next_message", &[]);
    eventually("the session goes on", || {
        value(&json(&stat(&plant, "json")), "session_next_message") as f64 > before
    });
    let growing = grown(&first, &scrape(&plant));
    for name in ["nanotape_line_packets_total", "nanotape_line_messages_total"] {
        assert!(growing.contains(name), "{growing:?}");
    }

    plant.running.signal(Signal::INT);
    plant.running.end();
    drop(exchange);
    let (seen, last) = (json(&stat(&plant, "json")), scrape(&plant));
    grown(&first, &last);
    for (member, name, outcome) in SESSION {
        let labels = [("outcome", outcome)];
        let labels = if outcome.is_empty() { &[][..] } else { &labels };
        assert_eq!(last.value(name, labels), value(&seen, member) as f64, "{member}");
    }
    let lines = seen["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2, "{seen}");
    for (line, letter) in lines.iter().zip(["A", "B"]) {
        for (member, name) in LINE {
            let sample = last.value(name, &[("line", letter)]);
            assert_eq!(sample, value(line, member) as f64, "line {letter} {member}");
        }
    }
    let (lossy, other) = (value(&lines[0], "missing"), value(&lines[1], "missing"));
    assert!(lossy > other && other > 0, "{seen}");
    assert!(value(&lines[0], "malformed") > 0, "{seen}");
    assert!(value(&seen, "messages_in_time_from_other_line") > 0, "{seen}");
}

#[test]
fn the_alerts_are_of_metrics_that_exist_and_loss_is_one() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../contrib/prometheus");
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/stat/everything.prom");
    let samples = fs::read_to_string(golden).unwrap();
    let rules = fs::read_to_string(format!("{folder}/nanotape.rules.yml")).unwrap();
    let expressions = rules.lines().filter(|line| line.trim_start().starts_with("expr:"));
    let words = expressions.flat_map(|line| {
        line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
    });
    let names: BTreeSet<&str> = words.filter(|word| word.starts_with("nanotape_")).collect();
    assert!(names.len() > 6, "{names:?}");
    for name in names {
        assert!(samples.contains(&format!("\n{name}{{")), "there is no metric {name}");
    }
    for arguments in [
        ["check", "rules", &format!("{folder}/nanotape.rules.yml")],
        ["test", "rules", &format!("{folder}/nanotape.tests.yml")],
    ] {
        let Some(said) = promtool(&arguments, "") else { return };
        assert!(said.contains("SUCCESS") && !said.starts_with("failed"), "{said}");
    }
}
