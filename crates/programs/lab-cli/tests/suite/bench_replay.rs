//! `nanotape lab bench replay` as a user runs it: output and answers, independent of the times.

use std::fs;

use serde_json::Value;

use crate::support::{
    Folder, Ran,
    bench::{list, positive},
    has_memory_for_benchmarks, nanotape,
};

fn bench_replay(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "replay"], arguments].concat())
}

/// A folder for journals in the test's own folder: what is left in it belongs to the test.
fn journals(folder: &Folder) -> String {
    let path = folder.path("journals");
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn every_row_is_in_one_list_and_every_book_is_that_of_the_file() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-replay");
    // Long enough for snapshots within the day.
    let (day, journals) = (folder.day(100_000, 20), journals(&folder));
    let arguments = [&day, "--rounds", "2", "--moments", "20", "--folder", &journals];
    let list = list(&bench_replay(&[arguments.as_slice(), &["--format", "json"]].concat()));
    let names: Vec<&str> = list.iter().map(|record| record["name"].as_str().unwrap()).collect();
    let known = bench_replay(&["--list"]).stdout;
    assert_eq!(names, known.lines().collect::<Vec<_>>());
    let format = include_str!("../../../../../docs/formats/lab-bench-replay.md");
    let fields = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for field in fields(&list[0]) {
        assert!(format.contains(&format!("`{field}`")), "{field} is not in the format's document");
    }
    let records = list[0]["read"].as_u64().unwrap();
    assert!(records > 100_000, "{records}");
    for record in &list {
        assert_eq!(fields(record), fields(&list[0]), "{record}");
        let rounds = record["by_round"].as_array().unwrap();
        assert!(rounds.len() == 2 && rounds.iter().all(|one| one.as_f64() > Some(0.0)), "{record}");
        assert!(record["environment"]["cpus"].is_u64() && record["notes"].is_array());
        check_journal(record, &journals, records);
        match record["section"].as_str().unwrap() {
            "plant" => check_plant(record, records),
            "reader" => check_reader(record, records),
            "moment" => check_moments(record),
            other => panic!("section {other}"),
        }
    }
    assert_eq!(fs::read_dir(&journals).unwrap().count(), 0, "journals are removed");
}

/// Checks the description of the shared journal.
fn check_journal(record: &Value, folder: &str, records: u64) {
    let journal = &record["journal"];
    let folder = fs::canonicalize(folder).unwrap();
    assert_eq!(journal["folder"], folder.to_str().unwrap());
    assert_eq!(
        (&journal["records"], &journal["segment_bytes"]),
        (&records.into(), &67_108_864.into())
    );
    assert!(journal["in_memory"].is_boolean() && journal["bytes"].as_u64() > Some(80 * records));
    assert!(journal["snapshots"].as_u64() >= Some(2), "{journal}");
    let bytes = |name: &str| journal[name].as_f64().unwrap();
    let percent = 100.0 * bytes("snapshot_bytes") / bytes("bytes");
    assert!((bytes("snapshot_percent") - percent).abs() < 1e-9, "{journal}");
}

fn check_plant(record: &Value, records: u64) {
    assert!(positive(record, "/ns_per_message") && positive(record, "/wall_ns_per_message"));
    assert!(positive(record, "/records_per_second") && record["times"].is_null());
    assert_eq!(
        (&record["answer"]["messages"], &record["read"]),
        (&100_000.into(), &records.into())
    );
    let is_recorded = record["name"] == "plant-recorder";
    assert_eq!(record["waited_ns_per_message"].is_number(), is_recorded, "{record}");
    assert_eq!(record["drain_ms"].is_number(), is_recorded, "{record}");
    assert_eq!(record["adds_ns"].is_null(), record["name"] == "plant", "{record}");
    let to = match record["name"].as_str().unwrap() {
        "plant" => Value::Null,
        "plant-tap" => "plant".into(),
        _ => "plant-tap".into(),
    };
    assert_eq!((&record["ratio_to"], record["ratio"].is_null()), (&to, to.is_null()), "{record}");
}

fn check_reader(record: &Value, records: u64) {
    assert!(positive(record, "/records_per_second") && positive(record, "/ratio"), "{record}");
    assert_eq!(record["ratio_to"], "plant");
    assert!(record["ns_per_message"].is_null() && record["answer"].is_null(), "{record}");
    let read = record["read"].as_u64().unwrap();
    match record["name"].as_str().unwrap() {
        // The last records may come from the ring.
        "heal" => assert!(read > records / 2 && read <= records, "{record}"),
        _ => assert_eq!(read, records, "{record}"),
    }
}

fn check_moments(record: &Value) {
    let times = &record["times"];
    let moments = if record["name"] == "book-at" { 20 } else { 10 };
    assert_eq!(times["moments"], moments);
    assert!(positive(times, "/median_ms"), "{record}");
    let worst = times["worst_ms"].as_f64();
    assert!(times["median_ms"].as_f64() <= worst && times["p90_ms"].as_f64() <= worst, "{record}");
    let of_snapshots = times["from_snapshot"].as_u64().unwrap();
    assert!(of_snapshots > 0 && of_snapshots <= moments, "{record}");
    assert!(times["slowest"]["time"].as_str().unwrap().contains(':'), "{record}");
    assert_eq!(times["slowest"]["symbol"].is_string(), record["name"] == "book-at", "{record}");
}

#[test]
fn tables_have_a_row_for_everything_and_the_goals_beside_it() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-replay-tables");
    let (day, journals) = (folder.day(20_000, 20), journals(&folder));
    let ran = bench_replay(&[&day, "--rounds", "1", "--moments", "5", "--folder", &journals]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = ran.stdout.lines().map(str::trim_start).collect();
    for name in bench_replay(&["--list"]).stdout.lines() {
        assert!(lines.iter().any(|line| line.starts_with(&format!("{name} "))), "{}", ran.stdout);
    }
    let goals = ran.stdout.split_once("\nGoals: ").unwrap().1;
    let of = |name: &str| goals.lines().filter(|line| line.trim().starts_with(name)).count();
    let counted = ["plant-recorder ", "read-back ", "heal ", "snapshot ", "book-at ", "books-at "];
    assert_eq!(counted.map(of), [1, 1, 1, 1, 2, 1], "{goals}");
    assert!(goals.contains("at most 250.0 ms, worst: "), "{goals}");
    assert!(ran.stdout.contains(" snapshots of "), "{}", ran.stdout);
}

#[test]
fn rows_without_the_shared_journal_record_none() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-replay-plants");
    let (day, journals) = (folder.day(20_000, 20), journals(&folder));
    let only = ["--only", "plant,plant-recorder", "--rounds", "1", "--folder", &journals];
    let list = list(&bench_replay(&[&[&*day, "--format", "json"], only.as_slice()].concat()));
    assert_eq!(list.len(), 2);
    assert!(list[0]["journal"].is_null());
    assert!(list[1]["journal"]["records"].is_null() && list[1]["journal"]["folder"].is_string());
    assert!(list[1]["goals"].as_array().unwrap().is_empty(), "without the row of comparison");
    let ran = bench_replay(&[&[&*day, "--format", "csv"], only.as_slice()].concat());
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 3), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("name,section,ns_per_message,"), "{}", ran.stdout);
    assert_eq!(fs::read_dir(&journals).unwrap().count(), 0, "journals are removed");
}

#[test]
fn wrong_usage_and_damaged_files_are_refused() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-replay-usage");
    let day = folder.day(5_000, 5);
    let missing = folder.path("missing");
    for (arguments, said) in [
        (vec!["--only", "backbone"], "no row is named backbone; use one of plant, plant-tap, "),
        (vec!["--moments", "0"], "--moments"),
        (vec!["--segment", "4097"], "a multiple of 4096 bytes"),
        (vec!["--folder", &missing], "missing"),
        (vec!["--folder", &day], "not a folder"),
        (vec!["--cpus", "0,9999"], "processor 9999 is not among those allowed"),
    ] {
        let ran = bench_replay(&[&[day.as_str()], arguments.as_slice()].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(bench_replay(&[]).status, 2, "no file");

    let bytes = fs::read(&day).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() / 2 + 1]);
    let ran = bench_replay(&[&cut, "--rounds", "1"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cut off in the record at offset"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}
