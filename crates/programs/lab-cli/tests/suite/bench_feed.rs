//! `nanotape lab bench feed` as a user runs it: output and answers, independent of the times.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, Ran, bench::list, has_memory_for_benchmarks, nanotape};

fn bench_feed(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "feed"], arguments].concat())
}

/// A slow sender, so that a busy machine loses no packet.
const SLOWLY: [&str; 4] = ["--rate", "500", "--seconds", "2"];

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|record| record["name"].as_str().unwrap()).collect()
}

#[test]
fn every_row_is_in_one_list_with_every_message_of_the_day() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-feed");
    let day = folder.day(20_000, 20);
    let options = ["--rounds", "1", "--format", "json", "--most-packets", "5000"];
    let list = list(&bench_feed(&[&[day.as_str()], &SLOWLY[..], &options[..]].concat()));
    let known = bench_feed(&["--list"]).stdout;
    assert_eq!(known.lines().collect::<Vec<_>>(), names(&list));
    let format = include_str!("../../../../../docs/formats/lab-bench-feed.md");
    for field in list[0].as_object().unwrap().keys() {
        assert!(format.contains(&format!("`{field}`")), "{field} is not in the format's document");
    }
    let fields = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for record in &list {
        assert_eq!(fields(record), fields(&list[0]), "{record}");
        assert!(record["environment"]["cpus"].is_u64() && record["notes"].is_array());
        match record["section"].as_str().unwrap() {
            "packets" => check_packets(record),
            "lines" => check_lines(record),
            "wire" => check_wire(record),
            "drops" => check_drops(record),
            other => panic!("{other}"),
        }
    }
}

fn check_packets(record: &Value) {
    assert_eq!(record["messages"], 20_000, "{record}");
    assert!(record["ns"].as_f64() > Some(0.0) && record["adds_ns"].is_null(), "{record}");
    let sizes = record["sizes"].as_array();
    let Some(sizes) = sizes else { return assert_eq!(record["name"], "message") };
    let sum = |name: &str| -> u64 { sizes.iter().map(|size| size[name].as_u64().unwrap()).sum() };
    assert_eq!(sum("messages"), 20_000, "each message is new in one packet: {record}");
    assert_eq!(record["packets"], sum("packets"));
    let is_single = record["name"] == "packet/single";
    assert_eq!(sum("packets") == 20_000, is_single, "{record}");
    assert_eq!(record["latency"]["count"], record["packets"]);
    let goals = record["goals"].as_array().map(|goals| goals.len());
    assert_eq!(goals, (record["name"] == "packet").then_some(3), "{record}");
}

fn check_lines(record: &Value) {
    assert_eq!(record["messages"], 20_000, "{record}");
    assert!(record["ns"].as_f64() > Some(0.0), "{record}");
    assert!(record["packets"].as_u64() > Some(2_000), "packets of two lines: {record}");
    let is_arbitrated = record["name"] == "lines/arbitrated";
    assert_eq!(record["adds_ns"].is_number(), is_arbitrated, "{record}");
    assert_eq!(record["goals"].is_array(), is_arbitrated, "{record}");
}

fn check_wire(record: &Value) {
    let (rate, seconds) = (&record["rate_per_second"], &record["seconds"]);
    assert_eq!((rate, seconds), (&500.into(), &2.into()), "{record}");
    assert!(record["ns"].as_f64() > Some(0.0), "{record}");
    let packets = record["packets"].as_u64().unwrap();
    // All but the first tenth; a plant has no record of an order for some of them.
    assert!((450..=900).contains(&packets), "{record}");
    assert_eq!(record["adds_ns"].is_null(), record["name"] == "wire/ping", "{record}");
}

fn check_drops(record: &Value) {
    let drops = &record["drops"];
    let rounds = drops["steps"].as_array().unwrap();
    assert_eq!(rounds.len(), 1, "{record}");
    let steps = rounds[0].as_array().unwrap();
    let sent: u64 = steps.iter().map(|step| step["packets"].as_u64().unwrap()).sum();
    assert_eq!(record["packets"], sent, "{record}");
    assert!((1_000..=5_000).contains(&sent), "{record}");
    assert!(drops["buffer_bytes"].as_u64() > Some(0), "{record}");
    let has_drops = steps.iter().any(|step| step["dropped"] != 0);
    assert_eq!(drops["rounds_with_drops"], u64::from(has_drops), "{record}");
    assert_eq!(drops["with_per_second"].is_number(), has_drops, "{record}");
}

#[test]
fn the_table_has_sizes_and_goals_after_the_rows() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-feed-table");
    let day = folder.day(10_000, 10);
    let arguments = [&day, "--rounds", "1", "--only", "message,packet,lines"];
    let ran = bench_feed(&arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let section = |title: &str| -> Vec<Vec<String>> {
        let behind = ran.stdout.split_once(title).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let lines = behind.split("\n\n").next().unwrap().lines().skip(1);
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let first = |rows: Vec<Vec<String>>| -> Vec<String> {
        rows.into_iter().filter_map(|row| row.into_iter().next()).collect()
    };
    let packets = first(section("\nPacket bytes to published records"));
    let expected = ["packet", "packet/single", "packet/one-line", "packet/unsequenced"];
    assert!(packets.ends_with(&expected.map(str::to_owned)), "{packets:?}");
    assert!(packets.contains(&"message".to_owned()));
    let lines = first(section("\nArbitration and sequencing"));
    assert_eq!(lines[1..], ["lines/decoded", "lines/arbitrated"]);
    assert_eq!(
        first(section("\nPackets of `packet`")),
        ["messages", "1", "2", "3", "5", "9", "17"]
    );
    let goals = section("\nGoals: ");
    assert_eq!(goals.len(), 4, "{goals:?}");
    assert!(goals.iter().all(|goal| goal[1] == "met" || goal[1] == "missed"), "{goals:?}");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-feed-usage");
    let day = folder.day(5_000, 5);
    for (arguments, said) in [
        (vec!["--only", "packets"], "no row is named packets or starts with it; use one of "),
        (vec!["--rate", "0"], "--rate"),
        (vec!["--cpus", "0,9999"], "processor 9999 is not among those allowed"),
    ] {
        let ran = bench_feed(&[&[day.as_str()], arguments.as_slice()].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(bench_feed(&[]).status, 2, "no file");

    let bytes = fs::read(&day).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() / 2 + 1]);
    let ran = bench_feed(&[&cut, "--rounds", "1"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cut off in the record at offset"), "{}", ran.stderr);
}
