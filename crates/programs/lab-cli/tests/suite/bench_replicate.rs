//! `nanotape lab bench replicate` as a user runs it: output and answers, independent of the times.

use std::fs;

use serde_json::Value;

use crate::support::{
    Folder, Ran,
    bench::{list, positive},
    has_memory_for_benchmarks, nanotape,
};

fn bench_replicate(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "replicate"], arguments].concat())
}

/// Readings of a second, and a follower that lacks ten thousand excerpts.
const TINY: [&str; 8] = ["--rounds", "1", "--rate", "1000", "--size", "1MiB", "--format", "json"];

#[test]
fn every_row_is_in_one_list_with_its_limit_and_the_threads_that_spin() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let list = list(&bench_replicate(&TINY));
    let known = bench_replicate(&["--list"]).stdout;
    let names: Vec<&str> = list.iter().map(|record| record["name"].as_str().unwrap()).collect();
    assert_eq!(names, known.lines().collect::<Vec<_>>());
    let format = include_str!("../../../../../docs/formats/lab-bench-replicate.md");
    for record in &list {
        for field in record.as_object().unwrap().keys() {
            assert!(format.contains(&format!("`{field}`")), "{field} is not documented");
        }
        let (name, section) = (record["name"].as_str().unwrap(), &record["section"]);
        assert!(positive(record, "/by_round/0"), "{record}");
        assert_eq!(positive(record, "/latency/p50_ns"), section != "catch up", "{record}");
        assert_eq!(positive(record, "/bytes_per_second"), section == "catch up", "{record}");
        assert_eq!(positive(record, "/limit_share"), name.starts_with("catch-up/"), "{record}");
        let is_base = name.starts_with("limit/") || name == "append/alone";
        assert_eq!(positive(record, "/ratio"), !is_base, "{record}");
        let is_noted = record["notes"].to_string().contains(&format!("{name}: "));
        let [threads, processors] =
            ["spinning_threads", "processors"].map(|of| record[of].as_u64().unwrap());
        assert_eq!(is_noted, threads > processors, "{record}");
        let is_judged = name == "append/two-followers";
        let verdict = if is_judged { "not enough power".into() } else { Value::Null };
        assert_eq!(record["verdict"], verdict, "one round decides nothing");
    }
}

#[test]
fn the_table_names_its_sections_and_leaves_nothing_in_the_folder() {
    let folder = Folder::new("bench-replicate");
    let place = folder.path("place");
    fs::create_dir(&place).unwrap();
    let arguments = [
        "--rounds",
        "1",
        "--size",
        "300KiB",
        "--length",
        "300",
        "--only",
        "round-trip/plain,limit/ping-pong,catch-up,limit/loopback,limit/new-pages",
        "--folder",
        &place,
    ];
    let ran = bench_replicate(&arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let row = |section: &str, name: &str| -> String {
        let behind = ran.stdout.split_once(section).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let section = behind.split("\n\n").next().unwrap();
        let row = section.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_else(|| panic!("{section}")).to_owned()
    };
    assert!(row("\nRound trip: ", "round-trip/plain").ends_with(" x ping-pong"));
    assert!(row("\nCatching up: ", "catch-up/tls").ends_with(" x loopback"));
    row("\nCatching up: ", "limit/new-pages");
    row("\nGoals: ", "catch-up/plain");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "nothing is left");
}

#[test]
fn what_makes_no_sense_is_a_usage_error_with_a_reason() {
    for (arguments, said) in [
        (&["--only", "round-trip/fast"][..], "no row is named round-trip/fast or starts with it"),
        (&["--length", "15"], "--length"),
        (&["--size", "1000TiB"], "use a smaller --size"),
        (&["--folder", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["--rounds", "0"], "--rounds"),
    ] {
        let ran = bench_replicate(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}
