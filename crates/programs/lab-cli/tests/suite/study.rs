//! `nanotape lab study` as a user runs it: the list, the records and the page, independent of the
//! times.

use std::{collections::BTreeSet, fs, process::Command};

use nanotape_harness::{Bounded as _, copy_for_all_users, skipped};
use serde_json::Value;

use crate::support::{Folder, lab_program, nanotape};

const NAMES: [&str; 5] = ["pause", "scheduling", "clock", "cold", "random-access"];

/// A study that ends at once, and that needs no processes of its own.
const QUICK: [&str; 5] = ["lab", "study", "clock", "--seconds", "0.05"];

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The fields that the document requires in a record of kind `study`.
fn documented() -> BTreeSet<String> {
    let text = include_str!("../../../../../docs/formats/lab-machine.md");
    let section = text.split_once("## `kind: study`").unwrap().1.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn the_list_has_five_names_with_their_questions() {
    let ran = nanotape(["lab", "study"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), NAMES.len());
    for (line, name) in lines.iter().zip(NAMES) {
        assert!(line.starts_with(name) && line.ends_with('?'), "{line}");
    }
    let ran = nanotape(["lab", "study", "--format", "json"]);
    let names: Vec<Value> =
        records(&ran.stdout).into_iter().map(|mut record| record["name"].take()).collect();
    assert_eq!(names, NAMES);
}

#[test]
fn wrong_usage_is_refused_in_one_line() {
    let cases: [(&[&str], &str); 4] = [
        (&["nothing"], "no study \"nothing\": use all, pause, scheduling, clock, cold, random"),
        (&["clock", "--cpus", "9999"], "processor 9999 is not among those allowed"),
        (&["clock", "--seconds", "0"], "expected a time from 0.05 to 3600 seconds"),
        (&["random-access", "--memory", "1"], "expected a size from 4KiB to 256GiB"),
    ];
    for (arguments, message) in cases {
        let ran = nanotape([&["lab", "study"], arguments].concat());
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn processes_that_read_at_random_give_a_record_with_every_documented_field() {
    let arguments = ["--seconds", "0.1", "--memory", "16KiB", "--format", "json"];
    let ran = nanotape([&["lab", "study", "random-access"], &arguments[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let [record] = <[Value; 1]>::try_from(records(&ran.stdout)).unwrap();
    assert_eq!((&record["kind"], &record["name"]), (&"study".into(), &"random-access".into()));
    for field in documented() {
        assert!(!record[&field].is_null(), "no field {field}: {record}");
    }
    for field in ["format", "version", "time", "clock", "environment", "noise"] {
        assert!(!record[field].is_null(), "no field {field}: {record}");
    }
    let columns = record["columns"].as_array().unwrap();
    let place = |name: &str| columns.iter().position(|column| column["name"] == name).unwrap();
    let (p50, together) = (place("p50"), place("all together"));
    let rows = record["rows"].as_array().unwrap();
    // Dependent and independent reads, each with at least one process and twice as many.
    assert!(rows.len() >= 4, "{rows:?}");
    for row in rows {
        assert_eq!(row.as_array().unwrap().len(), columns.len(), "{row}");
        assert!(row[p50].as_f64() > Some(0.0) && row[together].as_f64() > Some(0.0), "{row}");
    }
    let answers = record["answers"].as_array().unwrap();
    assert!(answers[0].as_str().unwrap().starts_with("A dependent read takes "), "{answers:?}");
}

#[test]
fn a_study_is_text_a_page_and_a_kept_record() {
    let folder = Folder::new("study");
    let (page, kept) = (folder.path("clock.html"), folder.path("record"));
    let ran = nanotape([&QUICK[..], &["-o", &page, "--record", &kept]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("What does each way to read the time cost"), "no question");
    assert!(!html.contains("id=\"skipped\""), "a record is not drawn");
    let files: Vec<_> = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let [line] = <[Value; 1]>::try_from(records(&fs::read_to_string(file).unwrap())).unwrap();
    assert_eq!(line["name"], "clock");

    let ran = nanotape(QUICK);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("\nclock: What does each way"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n  way  "), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n  - The cheapest way"), "{}", ran.stdout);
    let is_short = |line: &str| !line.starts_with("  ") || line.len() <= 110;
    assert!(ran.stdout.lines().all(is_short), "{}", ran.stdout);
}

#[test]
fn an_ordinary_user_sees_which_cases_need_a_permission() {
    let program = copy_for_all_users(lab_program().as_ref());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg("--inh-caps=-all").arg("--bounding-set=-all").arg(program.path());
    command.args(["study", "scheduling", "--seconds", "0.2"]);
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
    assert!(text.contains("not measured: the class fifo: real-time scheduling was refused"));
    assert!(text.contains("\n  normal  shared"), "{text}");
}
