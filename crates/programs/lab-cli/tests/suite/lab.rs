//! `nanotape lab` as a user runs it: real processes, real output, exit statuses.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use nanotape_harness::{Bounded as _, skipped};
use serde_json::Value;

use crate::support::{Folder, program};

fn lab(arguments: &[&str]) -> Output {
    Command::new(program()).arg("lab").args(arguments).bounded_output().unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_result_has_every_documented_field_and_is_kept_and_drawn() {
    let folder = Folder::new("bench");
    let kept = folder.path("record");
    let output =
        lab(&["bench", "decode/hot", "--epochs", "8", "--format", "json", "--record", &kept]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let [record] = <[Value; 1]>::try_from(records(&stdout(&output))).unwrap();
    let cost = &record["cost"];
    assert!(cost["low_ns"].as_f64() <= cost["median_ns"].as_f64(), "{cost}");
    assert!(cost["median_ns"].as_f64() <= cost["high_ns"].as_f64(), "{cost}");
    assert_eq!(record["epoch_ns"].as_array().map(Vec::len), Some(8));
    assert_eq!(record["operations_per_run"], 20_000);
    assert!(record["latency"]["count"].as_u64() > Some(1));
    for (object, fields) in documented() {
        let place = if object.is_empty() { &record } else { &record[&object] };
        let place = place.as_object().unwrap_or_else(|| panic!("no object {object}"));
        for field in fields {
            assert!(place.contains_key(&field), "{object} has no {field}");
        }
    }

    // The recorded result is the same, without the long lists.
    let files: Vec<_> = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let [line] = <[Value; 1]>::try_from(records(&fs::read_to_string(file).unwrap())).unwrap();
    assert_eq!(line["cost"], record["cost"]);
    assert!(line["epoch_ns"].is_null() && line["latency"]["distribution"].is_null(), "{line}");

    let page = folder.path("trend.html");
    let output = lab(&["trend", &kept, "-o", &page]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(fs::read_to_string(&page).unwrap().contains("decode/hot"));
    let output = lab(&["trend", &kept, "-o", &page]);
    assert_eq!(status(&output), 2, "never overwritten without --force");
    let output = lab(&["trend", &kept, "--format", "csv"]);
    let text = stdout(&output);
    assert!(text.starts_with("name,time,kind,host,revision,median_ns"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

/// The fields that the tables of docs/formats/lab-record.md require in this kind of record.
fn documented() -> Vec<(String, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/formats/lab-record.md");
    let text = fs::read_to_string(root).unwrap();
    let fields_under = |heading: &str| -> Vec<String> {
        let section = text.split_once(heading).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let names = rows.flat_map(|row| {
            let cell = row.split('|').nth(1).unwrap();
            cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
        });
        names.collect()
    };
    let tables = vec![
        (String::new(), fields_under("## Every line")),
        (String::new(), fields_under("## `kind: bench`")),
        ("environment".to_owned(), fields_under("## `environment`")),
    ];
    assert!(tables.iter().all(|(_, fields)| fields.len() >= 7), "{tables:?}");
    tables
}

#[test]
fn two_benchmarks_are_compared_with_a_verdict_and_its_status() {
    let arguments = ["--effect", "2", "--cap", "48", "--format", "json"];
    let compare = |base: &str, candidate: &str| {
        let output = lab(&[&["compare", base, candidate], arguments.as_slice()].concat());
        let status = status(&output);
        let [record] = <[Value; 1]>::try_from(records(&stdout(&output))).unwrap();
        let verdict = record["verdict"].as_str().unwrap().to_owned();
        let expected = match verdict.as_str() {
            "slower" => 1,
            "not enough power" => 2,
            _ => 0,
        };
        assert_eq!(status, expected, "{record}");
        assert!(record["control"]["ratio"].as_f64().is_some(), "{record}");
        assert!(record["detectable"].as_f64() > Some(0.02), "{record}");
        verdict
    };
    // A noisy machine may prevent a verdict; a wrong verdict is a bug.
    let verdict = compare("truth/base", "truth/plus-5");
    assert!(["slower", "not enough power"].contains(&verdict.as_str()), "{verdict}");
    let verdict = compare("truth/base", "truth/base");
    assert!(["same", "not enough power"].contains(&verdict.as_str()), "{verdict}");
}

#[test]
fn words_that_mean_nothing_are_usage_errors_in_one_line() {
    for (arguments, said) in [
        (
            vec!["compare", "no-such", "decode/hot"],
            "no-such is not a benchmark of this program (decode/hot, ",
        ),
        (vec!["compare", "decode/hot", "file:/bin/true"], "are of different kinds"),
        (vec!["compare", "file:/bin/cat", "file:/bin/cat"], "/bin/cat is not a benchmark program"),
        (vec!["bench", "no-such"], "unknown benchmark no-such: use one of decode/hot"),
        (vec!["bench", "decode", "--rate", "nan"], "a number of runs a second"),
        (vec!["clock", "-o", "clock.html"], "this command has no HTML page"),
        (vec!["trend", "/no/such/folder"], "cannot read /no/such/folder"),
        (vec!["count", "--accept"], "--baseline"),
    ] {
        let output = lab(&arguments);
        assert_eq!(status(&output), 2, "{arguments:?}: {}", stdout(&output));
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
    assert!(!Path::new("clock.html").exists());
}

#[test]
fn a_damaged_record_is_refused_with_its_line() {
    let folder = Folder::new("damaged");
    let path = folder.path("host.jsonl");
    fs::write(&path, "{\"format\":\"nanotape-lab\",\"version\":1}\n{\"format\":\n").unwrap();
    let output = lab(&["trend", &path]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("host.jsonl, line 2: not JSON"), "{}", stderr(&output));
}

#[test]
fn the_clock_says_what_it_is() {
    let output = lab(&["clock", "--seconds", "0.05", "--format", "json"]);
    assert!([0, 1].contains(&status(&output)), "{}", stderr(&output));
    let [record] = <[Value; 1]>::try_from(records(&stdout(&output))).unwrap();
    assert!(record["ticks_per_second"].as_f64() > Some(1e6), "{record}");
    assert!(record["end_ns"].as_f64() > Some(0.0), "{record}");
}

#[test]
fn accepted_counts_are_met_until_they_move() {
    if Command::new("valgrind").arg("--version").bounded_output().is_err() {
        skipped("valgrind is not here, so that instructions are not counted");
        return;
    }
    let folder = Folder::new("count");
    let baseline = folder.path("instructions.json");
    let count =
        |more: &[&str]| lab(&[["count", "--baseline", &baseline].as_slice(), more].concat());
    assert_eq!(status(&count(&[])), 2, "no baseline yet");
    // With a name: counting all of them takes a debug build a minute.
    let accepted = count(&["--accept", "decode/hot"]);
    assert_eq!(status(&accepted), 0, "{}", stderr(&accepted));
    let text = fs::read_to_string(&baseline).unwrap();
    let again = count(&["decode/hot"]);
    assert_eq!(status(&again), 0, "{}{}", stdout(&again), stderr(&again));

    let mut file: Value = serde_json::from_str(&text).unwrap();
    let counted = file["instructions"]["decode/hot"].as_f64().unwrap();
    file["instructions"]["decode/hot"] = (counted * 0.97).into();
    file["instructions"]["book/day"] = 1.0.into();
    fs::write(&baseline, file.to_string()).unwrap();
    let moved = count(&["decode/hot"]);
    assert_eq!(status(&moved), 1);
    assert!(stdout(&moved).contains("MOVED"), "{}", stdout(&moved));
    assert!(stderr(&moved).contains("use --accept to write the new ones"), "{}", stderr(&moved));

    assert_eq!(status(&count(&["--accept", "decode/hot"])), 0);
    let mut file: Value = serde_json::from_slice(&fs::read(&baseline).unwrap()).unwrap();
    assert_eq!(file["instructions"]["decode/hot"], counted);
    assert_eq!(file["instructions"]["book/day"], 1.0, "the others stay");

    file["compiler"] = "rustc 1.0.0".into();
    fs::write(&baseline, file.to_string()).unwrap();
    let other = count(&["decode/hot"]);
    assert_eq!(status(&other), 2);
    assert!(stderr(&other).contains("counts cannot be compared"), "{}", stderr(&other));
}
