//! `nanotape lab jitter` and `nanotape lab bench gaps` as a user runs them: output and answers,
//! independent of the times.

use std::{fs, process::Command};

use nanotape_harness::{Bounded as _, copy_for_all_users, skipped};
use serde_json::Value;

use crate::support::{Folder, Ran, lab_program, nanotape};

/// Turns that end at once.
const TINY: [&str; 6] = ["--turns", "8", "--turn", "5", "--alone", "0.02"];

fn jitter(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "jitter"], &TINY[..], arguments].concat())
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The fields of the tables of a section in the format's document.
fn documented(section: &str) -> Vec<String> {
    let text = include_str!("../../../../../docs/formats/lab-machine.md");
    let (_, rest) = text.split_once(&format!("## `kind: {section}`")).expect("it has a section");
    let table = rest.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.flat_map(|row| row.split('|').next().unwrap().split(','));
    let mut names: Vec<String> =
        names.map(|name| name.replace('`', "").trim().to_owned()).collect();
    names.sort();
    names
}

/// The fields of a record that only its kind has.
fn own_fields(record: &Value) -> Vec<String> {
    const COMMON: [&str; 8] =
        ["format", "version", "kind", "name", "time", "clock", "environment", "noise"];
    let fields = record.as_object().unwrap().keys();
    fields.filter(|field| !COMMON.contains(&field.as_str())).cloned().collect()
}

#[test]
fn each_variant_and_each_processor_is_a_record_with_the_documented_fields() {
    let ran = jitter(&["--wait", "yield,pause", "--pin", "no", "--format", "json", "--no-trace"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let records = records(&ran.stdout);
    let kinds = |kind: &'static str| records.iter().filter(move |record| record["kind"] == kind);
    let names: Vec<&str> = kinds("jitter").map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cells, yield, not pinned, normal", "cells, pause, not pinned, normal"]);
    assert!(kinds("gaps").count() >= 1);
    for record in &records {
        let kind = record["kind"].as_str().unwrap();
        assert_eq!(own_fields(record), documented(kind), "{kind}");
    }
    for record in kinds("jitter") {
        assert_eq!(record["turns"].as_array().unwrap().len(), 8);
        let quantile = |name: &str| record["round_trips"]["quantiles"][name].as_u64().unwrap();
        let quantiles = ["p0", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p100"];
        assert!(quantiles.map(quantile).is_sorted(), "{record}");
        assert!(quantile("p50") > 0);
        assert!(record["round_trips"]["intervals"]["p50"].is_array(), "{record}");
        let rungs = record["rungs"].as_array().unwrap();
        let why = |name: &str| {
            rungs.iter().find(|rung| rung["rung"] == name).map(|rung| rung["why"].clone())
        };
        assert_eq!(why("events of the kernel").unwrap(), "switched off by --no-trace");
    }
    for record in kinds("gaps") {
        let sum: u64 = record["causes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["count"].as_u64().unwrap())
            .sum();
        assert_eq!(Some(sum), record["count"].as_u64(), "{record}");
    }
}

#[test]
fn what_was_read_and_lost_of_the_events_of_the_kernel_is_reported() {
    let ran = jitter(&["--wait", "yield", "--pin", "no", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for record in records(&ran.stdout) {
        let is_used = |rung: &Value| rung["rung"] == "events of the kernel" && rung["used"] == true;
        let rungs = record["rungs"].as_array().unwrap();
        let events = &record["kernel_events"];
        if !rungs.iter().any(is_used) {
            assert!(events.is_null(), "{record}");
            skipped("the kernel's events need root");
            continue;
        }
        let count =
            |name: &str| events[name].as_u64().unwrap_or_else(|| panic!("{name}: {events}"));
        let lost = count("overrun").max(count("missing")) + count("dropped") + count("not_kept");
        assert_eq!(count("lost"), lost, "{events}");
        assert!(count("read") > 0, "{events}");
    }
    let text = jitter(&["--wait", "yield", "--pin", "no"]).stdout;
    let is_reported = text.contains("\nevents of the kernel: ");
    assert!(is_reported || text.contains("  events of the kernel: "), "{text}");
}

#[test]
fn two_results_are_compared_in_words() {
    let folder = Folder::new("jitter-compare");
    let (before, after) = (folder.path("before.json"), folder.path("after.json"));
    for path in [&before, &after] {
        let ran = jitter(&["--pin", "no", "--wait", "yield", "--no-trace", "-o", path]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let ran = nanotape(["lab", "jitter", "--compare", &before, &after]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("cells, yield, not pinned, normal\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains(" p50 ") && ran.stdout.contains(" x ["), "{}", ran.stdout);
    let ran = nanotape(["lab", "jitter", "--compare", &before, &after, "--format", "json"]);
    let changes = records(&ran.stdout);
    assert!(changes.iter().any(|one| one["what"] == "p50" && one["ratio_low"].is_number()));
    for change in &changes {
        let fields: Vec<&String> = change.as_object().unwrap().keys().collect();
        assert_eq!(fields, documented("jitter change").iter().collect::<Vec<_>>());
    }

    let nothing = folder.path("nothing.json");
    fs::write(&nothing, "").unwrap();
    let ran = nanotape(["lab", "jitter", "--compare", &before, &nothing]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no variant of round trips in common"), "{}", ran.stderr);
}

#[test]
fn a_run_is_recorded_for_the_trend() {
    let folder = Folder::new("jitter-record");
    let kept = folder.path("record");
    let ran = jitter(&["--wait", "yield", "--no-trace", "--pin", "no", "--record", &kept]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let trend = nanotape(["lab", "trend", &kept, "--format", "text"]);
    assert_eq!(trend.status, 0, "{}", trend.stderr);
    let lines: Vec<&str> = trend.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", trend.stdout);
    assert!(lines[0].starts_with("jitter/cells-yield-not pinned-normal/p50 "), "{}", lines[0]);
}

#[test]
fn what_cannot_be_measured_is_refused_in_one_line() {
    let cases: [(&[&str], &str); 4] = [
        (&["--cpus", "0,0"], "--cpus needs two different processors"),
        (&["--cpus", "0,9999"], "processor 9999 is not among those allowed"),
        (&["--class", "fifo", "--turn", "2000"], "--turn 2000 is too long for --class fifo"),
        (&["--ring", "queue"], "invalid value 'queue'"),
    ];
    for (arguments, message) in cases {
        let ran = nanotape([&["lab", "jitter"], arguments].concat());
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn an_ordinary_user_sees_what_is_missing_and_nothing_fails() {
    let program = copy_for_all_users(lab_program().as_ref());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg("--inh-caps=-all").arg("--bounding-set=-all").arg(program.path());
    command.arg("jitter").args(TINY).args(["--class", "normal,fifo"]);
    let output = match command.bounded_output() {
        Ok(output) if output.status.code() != Some(127) => output,
        outcome => return skipped(format!("cannot become another user: {outcome:?}")),
    };
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if errors.contains("setpriv") {
        return skipped(format!("cannot become another user: {errors}"));
    }
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(text.contains("real-time scheduling was refused"), "{text}");
    assert!(text.contains("events of the kernel: cannot open tracefs"), "{text}");
}

#[test]
fn every_row_of_the_delay_table_has_the_documented_fields() {
    let only = "whole/2048,smoothed/2048,transforms/2048,peak/2048,estimate/500,batch/both";
    let arguments = ["lab", "bench", "delay", "--rounds", "1", "--format", "json", "--only", only];
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(list.len(), 6);
    let format = include_str!("../../../../../docs/formats/lab-bench-delay.md");
    for record in &list {
        for field in record.as_object().unwrap().keys() {
            let prefix = field.trim_end_matches("_low").trim_end_matches("_high");
            assert!(format.contains(&format!("`{prefix}`")), "{field} is not documented");
        }
        assert!(record["by_round"][0].as_f64() > Some(0.0), "{record}");
    }
    assert_eq!(list[0]["ratio_to"], "transforms/2048");
}

#[test]
fn every_row_of_the_gpu_table_has_the_documented_fields_or_one_line_says_what_is_missing() {
    let ran = nanotape(["lab", "bench", "gpu", "--millis", "1", "--format", "json"]);
    if ran.status == 2 {
        assert!(ran.stderr.starts_with("nanotape: no GPU: "), "{}", ran.stderr);
        assert!(ran.stderr.lines().count() == 1 && ran.stdout.is_empty(), "{}", ran.stderr);
        return skipped(ran.stderr.trim());
    }
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let format = include_str!("../../../../../docs/formats/lab-bench-gpu.md");
    for record in &list {
        for field in record.as_object().unwrap().keys() {
            assert!(format.contains(&format!("`{field}`")), "{field} is not documented");
        }
        let name = record["name"].as_str().unwrap();
        let is_named = format.contains(&format!("`{name}`")) || name.starts_with("end-to-end/");
        assert!(is_named && record["nanos"].as_f64() > Some(0.0), "{record}");
    }
    assert_eq!(list.len(), 11);
}

#[test]
fn every_row_of_the_gaps_table_has_the_documented_fields_and_its_goal() {
    let arguments = [
        "lab",
        "bench",
        "gaps",
        "--rounds",
        "1",
        "--format",
        "json",
        "--only",
        "seen,attribution,cells",
    ];
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(list.len(), 5);
    let format = include_str!("../../../../../docs/formats/lab-bench-gaps.md");
    for record in &list {
        for field in record.as_object().unwrap().keys() {
            let prefix = field.trim_end_matches("_low").trim_end_matches("_high");
            assert!(format.contains(&format!("`{prefix}`")), "{field} is not documented");
        }
        assert!(record["by_round"][0].as_f64() > Some(0.0), "{record}");
    }
    assert_eq!(list[0]["seen_share"], 1.0);
    assert_eq!(list[1]["goals"][0]["of"], "p50_ns");
}
