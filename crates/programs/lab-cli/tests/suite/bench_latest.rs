//! `nanotape lab bench latest` as a user runs it: output and answers, independent of the times.

use serde_json::Value;

use crate::support::{
    Ran,
    bench::{list, positive},
    has_memory_for_benchmarks, nanotape,
};

fn bench_latest(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "latest"], arguments].concat())
}

/// Small maps, and a few thousand operations.
const TINY: [&str; 8] =
    ["--rounds", "1", "--entries", "1000", "--operations", "3000", "--format", "json"];

#[test]
fn every_row_is_in_one_list_with_its_limit_and_its_bytes() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let list = list(&bench_latest(&TINY));
    let known = bench_latest(&["--list"]).stdout;
    let names: Vec<&str> = list.iter().map(|record| record["name"].as_str().unwrap()).collect();
    assert_eq!(names, known.lines().collect::<Vec<_>>());
    let format = include_str!("../../../../../docs/formats/lab-bench-latest.md");
    for record in &list {
        for field in record.as_object().unwrap().keys() {
            assert!(format.contains(&format!("`{field}`")), "{field} is not documented");
        }
        let (name, section) = (record["name"].as_str().unwrap(), &record["section"]);
        assert!(positive(record, "/by_round/0"), "{record}");
        assert_eq!(record["entries"], 1_000, "{record}");
        let is_timed = section == "latency";
        assert_eq!(positive(record, "/latency/p99.99_ns"), is_timed, "{record}");
        assert_eq!(positive(record, "/calls/p50_ns"), is_timed, "{record}");
        assert_eq!(positive(record, "/written_per_second"), !is_timed, "{record}");
        assert_eq!(positive(record, "/of_std"), !name.starts_with("limit/"), "{record}");
        let has_keys = !record["key_bytes"].is_null();
        assert_eq!(positive(record, "/bytes_per_entry"), has_keys, "{record}");
        let is_base = name.starts_with("limit/threads-")
            || ["limit/load", "limit/std/insert"].contains(&name);
        assert_eq!(positive(record, "/ratio"), !is_base, "{record}");
        let is_pair = name.ends_with("/processes-2");
        assert_eq!(record["processes"], if is_pair { 2 } else { 1 }, "{record}");
    }
    let goals = list.iter().map(|record| record["goals"].as_array().unwrap().len());
    assert_eq!(goals.sum::<usize>(), 4);
}

#[test]
fn the_table_names_its_sections() {
    let arguments = ["--rounds", "1", "--entries", "2000", "--only", "insert/key-8,limit/std"];
    let ran = bench_latest(&[&arguments[..], &["--operations", "3000"]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let row = |section: &str, name: &str| -> String {
        let after = ran.stdout.split_once(section).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let section = after.split("\n\n").next().unwrap();
        let row = section.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_else(|| panic!("{section}")).to_owned()
    };
    let inserted = row("until it has 2,000 entries", "insert/key-8/processes-2");
    assert!(inserted.ends_with(" x threads-1"), "{inserted}");
    row("\nLimits: std::collections::HashMap", "limit/std/get");
}

#[test]
fn what_makes_no_sense_is_a_usage_error_with_a_reason() {
    for (arguments, reason) in [
        (&["--only", "update/key-9"][..], "no row is named update/key-9 or starts with it"),
        (&["--entries", "999"], "--entries"),
        (&["--entries", "2000000000"], "--entries"),
        (&["--rate", "0"], "--rate"),
        (&["--operations", "1000", "--seconds", "1"], "--operations"),
    ] {
        let ran = bench_latest(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn an_open_loop_has_an_operation_for_each_moment_of_its_schedule() {
    let arguments = ["--only", "latency/update", "--rate", "2000"];
    let list = list(&bench_latest(&[&TINY[..], &arguments].concat()));
    let [record] = &list[..] else { panic!("{list:?}") };
    // The first tenth is not counted.
    assert_eq!(record["latency"]["count"], 2_700, "{record}");
    assert_eq!(record["ratio"], Value::Null, "its limit was not selected");
}
