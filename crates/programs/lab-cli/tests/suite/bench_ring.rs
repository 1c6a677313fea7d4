//! `nanotape lab bench ring` as a user runs it: output and answers, independent of the times.

use std::fs;

use serde_json::Value;

use crate::support::{
    Folder, Ran,
    bench::{list, positive},
    nanotape,
};

fn bench_ring(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "ring"], arguments].concat())
}

/// Rings that hold a few hundred messages, and a few thousand messages.
const TINY: [&str; 8] =
    ["--rounds", "1", "--messages", "3000", "--capacity", "64KiB", "--format", "json"];

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|record| record["name"].as_str().unwrap()).collect()
}

#[test]
fn every_row_is_in_one_list_and_every_message_is_accounted_for() {
    let list = list(&bench_ring(&TINY));
    let known = bench_ring(&["--list"]).stdout;
    assert_eq!(names(&list), known.lines().collect::<Vec<_>>());
    let format = include_str!("../../../../../docs/formats/lab-bench-ring.md");
    for field in list[0].as_object().unwrap().keys() {
        assert!(format.contains(&format!("`{field}`")), "{field} is not in the format's document");
    }
    let fields = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for record in &list {
        let name = record["name"].as_str().unwrap();
        assert_eq!(fields(record), fields(&list[0]), "{name}");
        assert_eq!((&record["rounds"], &record["messages"]), (&1.into(), &3_000.into()));
        assert_eq!(
            (&record["message_bytes"], &record["capacity_bytes"]),
            (&73.into(), &65_536.into())
        );
        assert_eq!(record["by_round"].as_array().unwrap().len(), 1, "{record}");
        assert!(positive(record, "/by_round/0"), "{record}");
        let readers = record["readers"].as_u64().unwrap();
        assert_eq!(record["cpus"]["readers"].as_array().unwrap().len() as u64, readers, "{name}");
        let answer = &record["answer"];
        assert!(answer["published"].as_u64() >= Some(2_000), "{record}");
        if readers == 0 {
            assert!(answer["accounted"].is_null() && record["lost_share"].is_null(), "{record}");
        } else {
            let published = answer["published"].as_u64().unwrap();
            assert_eq!(answer["accounted"].as_u64(), Some(readers * published), "{record}");
        }
        if name.contains("lossless") || name.contains("round-trip") {
            assert_eq!(answer["lost"], 0, "{record}");
        }
        match record["unit"].as_str().unwrap() {
            "ns" => check_times(record),
            _ => check_rates(record),
        }
    }
}

fn check_times(record: &Value) {
    let time = |name: &str| record["latency"][name].as_f64().unwrap();
    let times = ["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns"].map(time);
    assert!(times.is_sorted() && times[0] > 0.0, "{record}");
    // The first tenth is not counted; a one-way reader may lose some messages.
    let count = record["latency"]["count"].as_u64().unwrap();
    assert!((1..=2_700).contains(&count), "{record}");
    assert!(record["written_per_second"].is_null(), "{record}");
    let is_one_way = record["section"] == "one way";
    assert_eq!(positive(record, "/rate_per_second"), is_one_way);
    assert_eq!(positive(record, "/latency/from_due_p99_ns"), is_one_way);
    assert_eq!(positive(record, "/latency/half_p50_ns"), !is_one_way);
    assert_eq!(positive(record, "/ratio"), record["name"] != "limit/line", "{record}");
    assert_eq!(
        record["ratio_to_half"],
        if record["ratio"].is_null() { Value::Null } else { is_one_way.into() }
    );
}

fn check_rates(record: &Value) {
    assert!(record["latency"].is_null() && positive(record, "/written_per_second"), "{record}");
    let name = record["name"].as_str().unwrap();
    assert_eq!(positive(record, "/batch_p50"), name.contains("batch"), "{record}");
    assert_eq!(positive(record, "/ratio"), !name.starts_with("limit/"), "{record}");
    if name.ends_with("readers-1") {
        assert_eq!(record["ratio"], 1.0);
    }
}

#[test]
fn the_table_has_a_section_for_every_kind_of_row() {
    let only = "stream/latency,slots/round-trip,stream/throughput/lossless-batch-read,\
                slots/throughput/readers-1,slots/throughput/readers-4,limit";
    let ran =
        bench_ring(&["--rounds", "2", "--messages", "2000", "--length", "100", "--only", only]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let row = |section: &str, name: &str| -> String {
        let behind = ran.stdout.split_once(section).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let section = behind.split("\n\n").next().unwrap();
        let row = section.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_else(|| panic!("{section}")).to_owned()
    };
    assert!(ran.stdout.contains("messages of 100 bytes, 2 rounds of 2,000 messages each"));
    assert!(row("\nOne way: ", "stream/latency").ends_with(" x line"));
    assert!(row("\nRound trip: ", "slots/round-trip").ends_with(" x line"));
    let lossless = row("\nThroughput: ", "stream/throughput/lossless-batch-read");
    assert!(lossless.contains(" 0% ") && lossless.ends_with(" x memcpy"), "{lossless}");
    assert!(row("\nReaders: ", "slots/throughput/readers-1").ends_with(" 1.00 x readers-1"));
    assert!(row("\nReaders: ", "slots/throughput/readers-4").contains(" x readers-1"));
    row("\nLimits: one cache line", "limit/line-pause");
    for name in ["limit/memcpy", "limit/store-stream", "limit/store-slots"] {
        row("\nLimits: million messages", name);
    }
}

#[test]
fn a_list_goes_to_a_file() {
    let folder = Folder::new("bench-ring");
    let file = folder.path("ring.json");
    let only =
        ["--rounds", "1", "--seconds", "1", "--only", "slots/throughput/single", "-o", &file];
    let ran = bench_ring(&only);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&written[0]["seconds"], &written[0]["messages"]), (&1.into(), &Value::Null));
    assert!(written[0]["ratio"].is_null() && written[1].is_null(), "{written}");
    assert_eq!(bench_ring(&only).status, 2, "never overwritten without --force");
}

#[test]
fn what_makes_no_sense_is_a_usage_error_with_a_reason() {
    for (arguments, said) in [
        (&["--only", "stream,slots/none"][..], "no row is named slots/none or starts with it"),
        (&["--seconds", "1", "--messages", "1000"], "--messages"),
        (&["--capacity", "3MiB"], ", such as 2MiB or 4MiB"),
        (
            &["--capacity", "4KiB"],
            "holds 32 messages of 73 bytes; a measurement needs at least 256",
        ),
        (&["--cpus", "0"], "two processors, like 2,3"),
        (&["--cpus", "0,100000"], "processor 100000 is not among those allowed"),
        (&["--length", "8"], "--length"),
        (&["--rounds", "0"], "--rounds"),
        (&["-o", "table.html"], "this command has no HTML page"),
    ] {
        let ran = bench_ring(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}
