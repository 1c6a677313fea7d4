//! `nanotape lab bench journal` as a user runs it: output and answers, independent of the times.

use std::fs;

use serde_json::Value;

use crate::support::{
    Folder, Ran,
    bench::{list, positive},
    has_memory_for_benchmarks, nanotape,
};

fn bench_journal(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "journal"], arguments].concat())
}

/// A few thousand messages, in segments that hold a few hundred.
const TINY: [&str; 10] = [
    "--rounds",
    "1",
    "--messages",
    "5000",
    "--syncs",
    "20",
    "--segment",
    "64KiB",
    "--format",
    "json",
];

#[test]
fn every_row_is_in_one_list_and_every_excerpt_is_read() {
    let list = list(&bench_journal(&TINY));
    let known = bench_journal(&["--list"]).stdout;
    let names: Vec<&str> = list.iter().map(|record| record["name"].as_str().unwrap()).collect();
    assert_eq!(names, known.lines().collect::<Vec<_>>());
    let format = include_str!("../../../../../docs/formats/lab-bench-journal.md");
    let documented = |record: &Value| {
        for field in record.as_object().unwrap().keys() {
            assert!(
                format.contains(&format!("`{field}`")),
                "{field} is not in the format's document"
            );
        }
    };
    let fields = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for record in &list {
        documented(record);
        let name = record["name"].as_str().unwrap();
        assert_eq!(fields(record), fields(&list[0]), "{name}");
        assert_eq!(record["by_round"].as_array().unwrap().len(), 1, "{record}");
        assert!(positive(record, "/by_round/0"), "{record}");
        for place in ["/latency", "/calls", "/rolls", "/answer"] {
            if let Some(found @ Value::Object(_)) = record.pointer(place) {
                documented(found);
            }
        }
        let answer = &record["answer"];
        assert!(answer["written"].as_u64() > Some(0), "{record}");
        if !record["cpus"]["reader"].is_null() {
            assert_eq!(answer["written"], answer["read"], "{record}");
        } else {
            assert!(answer["read"].is_null(), "{record}");
        }
        match record["unit"].as_str().unwrap() {
            "ns" => check_times(record),
            _ => check_rates(record),
        }
        check_goals(record);
    }
}

fn check_times(record: &Value) {
    let time = |name: &str| record["latency"][name].as_f64().unwrap();
    let times = ["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns"].map(time);
    assert!(times.is_sorted() && times[0] > 0.0, "{record}");
    let section = record["section"].as_str().unwrap();
    // The 5,000 excerpts of 104 or 280 bytes need more than one segment of 64 KiB.
    let rolls = matches!(section, "append call" | "write to read");
    assert_eq!(positive(record, "/rolls/count"), rolls, "{record}");
    let is_read = section == "write to read";
    assert_eq!(positive(record, "/rate_per_second"), is_read);
    assert_eq!(positive(record, "/latency/from_due_p99_ns"), is_read);
    assert_eq!(positive(record, "/calls/p50_ns"), is_read);
    let limits = [
        "limit/73/mapped-call",
        "limit/256/mapped-call",
        "limit/line",
        "limit/fdatasync",
        "limit/fdatasync-32",
    ];
    assert_eq!(positive(record, "/ratio"), !limits.contains(&record["name"].as_str().unwrap()));
    assert!(record["written_per_second"].is_null(), "{record}");
}

fn check_rates(record: &Value) {
    assert!(record["latency"].is_null() && positive(record, "/written_per_second"), "{record}");
    let name = record["name"].as_str().unwrap();
    assert_eq!(positive(record, "/read_per_second"), name.ends_with("tailed"), "{record}");
    assert_eq!(positive(record, "/ratio"), !name.ends_with("/mapped"), "{record}");
}

fn check_goals(record: &Value) {
    let goals = record["goals"].as_array().unwrap();
    let expected = match record["section"].as_str().unwrap() {
        "append call" => 2,
        "append" | "write to read" | "sync" => 1,
        _ => 0,
    };
    assert_eq!(goals.len(), expected, "{record}");
    for goal in goals {
        let (value, wanted) = (goal["value"].as_f64().unwrap(), goal["wanted"].as_f64().unwrap());
        let met = if goal["bound"] == "at least" { value >= wanted } else { value <= wanted };
        assert_eq!(goal["met"], met, "{goal}");
    }
}

#[test]
fn the_table_has_sections_and_says_which_goals_were_met() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let only =
        "append/73,tail/73/1000000,sync,limit/73,limit/line,limit/fdatasync,limit/fdatasync-32";
    let ran =
        bench_journal(&["--rounds", "2", "--messages", "3000", "--syncs", "10", "--only", only]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let row = |section: &str, name: &str| -> String {
        let behind = ran.stdout.split_once(section).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let section = behind.split("\n\n").next().unwrap();
        let row = section.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_else(|| panic!("{section}")).to_owned()
    };
    assert!(row("\nAppend: ", "append/73/throughput-tailed").ends_with(" x mapped"));
    assert!(row("\nAppend call: ", "append/73/call").ends_with(" x mapped-call"));
    assert!(row("\nWrite to read: ", "tail/73/1000000").ends_with(" x line"));
    assert!(row("\nSync: ", "sync/73/batch-32").ends_with(" x fdatasync-32"));
    row("\nLimits: million messages", "limit/73/memory");
    row("\nLimits: ns of a copy", "limit/fdatasync");
    let goal = row("\nGoals: ", "append/73/call");
    assert!(goal.contains(" met ") || goal.contains(" missed "), "{goal}");
}

#[test]
fn journals_go_to_the_chosen_folder_and_are_removed() {
    let folder = Folder::new("bench-journal");
    let place = folder.path("place");
    fs::create_dir(&place).unwrap();
    let file = folder.path("journal.json");
    let only = [
        "--rounds",
        "1",
        "--messages",
        "1000",
        "--syncs",
        "10",
        "--only",
        "append/256/call,sync/73/each",
        "--folder",
        &place,
        "--disk",
        &place,
        "-o",
        &file,
    ];
    let ran = bench_journal(&only);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let real = fs::canonicalize(&place).unwrap();
    for record in written.as_array().unwrap() {
        assert_eq!(record["folder"].as_str(), real.to_str(), "{record}");
    }
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "nothing is left");
    assert_eq!(bench_journal(&only).status, 2, "never overwritten without --force");
}

#[test]
fn what_makes_no_sense_is_a_usage_error_with_a_reason() {
    for (arguments, said) in [
        (&["--only", "append/74"][..], "no row is named append/74 or starts with it"),
        (&["--segment", "65537"], "expected a multiple of 4096 bytes"),
        (&["--cpus", "0"], "two processors, like 2,3"),
        (&["--cpus", "0,100000"], "processor 100000 is not among those allowed"),
        (&["--folder", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["--messages", "60000000000"], "use fewer --messages or another folder"),
        (&["--rounds", "0"], "--rounds"),
        (&["-o", "table.html"], "this command has no HTML page"),
    ] {
        let ran = bench_journal(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}
