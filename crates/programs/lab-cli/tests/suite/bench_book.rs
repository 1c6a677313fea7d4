//! `nanotape lab bench book` as a user runs it: output and answers, independent of the times.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, Ran, bench::list, nanotape};

fn bench_book(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "book"], arguments].concat())
}

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|record| record["name"].as_str().unwrap()).collect()
}

#[test]
fn every_variant_is_in_one_list_with_its_time_and_memory() {
    let folder = Folder::new("bench-book");
    let day = folder.day(20_000, 20);
    let list = list(&bench_book(&[&day, "--rounds", "1", "--format", "json"]));
    let known = bench_book(&["--list"]).stdout;
    let of_one_file = known.lines().filter(|name| !name.starts_with("beside/"));
    assert_eq!(names(&list), of_one_file.collect::<Vec<_>>());
    for name in ["default", "levels/sorted-map", "orders/hash-map", "bytes", "framing", "touch"] {
        assert!(names(&list).contains(&name), "{name}");
    }
    let format = include_str!("../../../../../docs/formats/lab-bench-book.md");
    for field in list[0].as_object().unwrap().keys() {
        assert!(format.contains(&format!("`{field}`")), "{field} is not in the format's document");
    }
    for record in &list {
        let positive = |place: &str| record[place].as_f64().is_some_and(|number| number > 0.0);
        let absent = |place: &str| record.get(place).is_some_and(Value::is_null);
        assert!(positive("peak_memory_bytes") && positive("peak_anonymous_bytes"), "{record}");
        assert_eq!((&record["rounds"], &record["repeat"]), (&1.into(), &1.into()));
        assert_eq!(record["file"]["messages"], 20_000);
        assert!(record["environment"]["cpus"].is_u64() && record["notes"].is_array());
        if record["kind"] == "memory" {
            assert!(positive("ns_per_access") && positive("table_bytes"), "{record}");
            assert_eq!(record["ns_per_message"], record["ns_per_access"], "{record}");
            assert!(absent("ns_per_message_low") && absent("ratio_to_default"), "{record}");
            continue;
        }
        assert!(positive("ns_per_message") && positive("wall_ns_per_message"), "{record}");
        assert!(positive("ratio_to_default") && absent("ns_per_access"), "{record}");
        assert!(positive("ns_per_message_low") && positive("ns_per_message_high"), "{record}");
        let books = record["kind"] == "books";
        let answer = &record["answer"];
        assert_eq!(answer["messages"].as_u64(), (record["name"] != "bytes").then_some(20_000));
        assert_eq!(answer["orders_left"].as_u64(), books.then_some(0), "{record}");
        assert_eq!(answer["anomalies"].as_u64(), books.then_some(0), "{record}");
        assert_eq!(answer["inside_changes"].as_u64() > Some(100), books, "{record}");
        assert!(absent("latency") && absent("profile"), "{record}");
    }
    assert_eq!(list.iter().find(|one| one["name"] == "default").unwrap()["ratio_to_default"], 1.0);
}

#[test]
fn repetitions_are_so_many_days_through_the_same_books() {
    let folder = Folder::new("bench-book-repeat");
    let day = folder.day(20_000, 20);
    let only = "default,decode,levels/sorted-map";
    let arguments = [&day, "--rounds", "2", "--repeat", "3", "--only", only, "--format", "json"];
    let list = list(&bench_book(&arguments));
    assert_eq!(names(&list), ["default", "levels/sorted-map", "decode"]);
    assert!(list.iter().all(|record| record["answer"]["messages"] == 60_000));

    let file = folder.path("books.json");
    let arguments = [&day, "--rounds", "1", "--only", "decode", "-o", &file];
    assert_eq!(bench_book(&arguments).status, 0);
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(written[0]["ratio_to_default"].is_null() && written[1].is_null(), "{written}");
    let ran = bench_book(&arguments);
    assert_eq!(ran.status, 2, "never overwritten without --force");
}

#[test]
fn tables_have_a_section_for_everything_that_was_requested() {
    let folder = Folder::new("bench-book-sections");
    let day = folder.day(20_000, 20);
    let only = "default,orders/hash-map,decode,load/8";
    let arguments = [&day, "--rounds", "1", "--only", only, "--latency", "--profile"];
    let ran = bench_book(&arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let row = |section: &str, name: &str| -> Vec<String> {
        let behind = ran.stdout.split_once(section).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let section = behind.split("\n\n").next().unwrap();
        let row = section.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_else(|| panic!("{section}")).split_whitespace().map(str::to_owned).collect()
    };
    assert!(ran.stdout.contains("20,000 messages"), "{}", ran.stdout);
    assert!(ran.stdout.contains("the file was read once before"), "{}", ran.stdout);
    assert_eq!(row("\nBooks: ", "default")[5], "1.000");
    assert_eq!(row("\nLimits: ", "decode").len(), 6);
    assert_eq!(row("\nLimits of memory: ", "load/8").len(), 4);
    for name in ["default", "orders/hash-map"] {
        assert_eq!(row("\nSingle messages, ", name).len(), 7);
    }
    assert_eq!(row("\nProfile of default, ", "A").len(), 6);
    // The machine may have no counters; the output must report the result either way.
    let last: Vec<&str> = ran.stdout.trim_end().lines().rev().take(2).collect();
    assert!(last[0].starts_with("hardware counters"), "{last:?}");
    assert!(last[1].starts_with("instructions"), "{last:?}");

    let arguments = [arguments.as_slice(), &["--format", "json"]].concat();
    let list = list(&bench_book(&arguments));
    let latency = &list[1]["latency"];
    for quantile in ["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns", "clock_ns"] {
        assert!(latency[quantile].as_f64() > Some(0.0), "{quantile}: {latency}");
    }
    assert_eq!(latency["count"], 20_000);
    let types = list[0]["profile"]["types"].as_array().unwrap();
    assert_eq!(types.iter().map(|one| one["count"].as_u64().unwrap()).sum::<u64>(), 20_000);
    let share: f64 = types.iter().map(|one| one["share_of_time"].as_f64().unwrap()).sum();
    assert!((share - 1.0).abs() < 1e-6, "{share}");
}

#[test]
fn captures_of_every_feed_are_measured_beside_one_of_itch() {
    let folder = Folder::new("bench-book-captures");
    let itch = folder.capture("itch", 20_000, 20);
    let arguments = ["--beside", &itch, "--rounds", "1", "--format", "json", "--only"];
    let only = "default,levels/sorted-map,orders/hash-map,bytes,framing,touch,decode,\
                beside/default,beside/framing,beside/decode";
    for protocol in ["cboe-pitch", "iex-deep-plus", "iex-deep", "iex-tops", "itch"] {
        let other = || folder.capture(protocol, 20_000, 20);
        let file = if protocol == "itch" { itch.clone() } else { other() };
        let list = list(&bench_book(&[&[file.as_str()], &arguments[..], &[only]].concat()));
        assert_eq!(names(&list), only.split(',').collect::<Vec<_>>(), "{protocol}");
        let row = |name: &str| list.iter().find(|record| record["name"] == name).unwrap();
        for record in &list {
            let positive = |place: &str| record[place].as_f64().is_some_and(|number| number > 0.0);
            assert!(positive("ns_per_message") && positive("ns_per_byte"), "{protocol}: {record}");
            let is_beside = record["kind"] == "beside";
            let path = if is_beside { &itch } else { &file };
            assert_eq!(record["file"]["path"].as_str(), Some(path.as_str()), "{protocol}");
            for place in ["file_to_beside", "file_to_beside_per_byte"] {
                assert_eq!(positive(place), is_beside, "{protocol}: {record}");
            }
            let counted = record["name"] != "bytes";
            assert_eq!(
                record["answer"]["messages"],
                if counted { record["file"]["messages"].clone() } else { Value::Null },
                "{protocol}"
            );
        }
        let answer = &row("default")["answer"];
        assert!(answer["inside_changes"].as_u64() > Some(100), "{protocol}: {answer}");
        assert_eq!(answer["anomalies"], 0, "{protocol}: {answer}");
        if protocol == "itch" {
            assert_eq!(answer, &row("beside/default")["answer"]);
        }
    }

    let file = folder.path("iex-deep.pcap");
    for (arguments, said) in [
        (vec!["--latency"], "is a capture, and --latency and --profile need a BinaryFILE day"),
        (vec!["--only", "beside/decode"], "which need a second file: --beside FILE"),
        (vec!["--beside", "/no/such/day"], "/no/such/day"),
    ] {
        let ran = bench_book(&[&[file.as_str()], arguments.as_slice()].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    let text = bench_book(&[&file, "--beside", &itch, "--rounds", "1", "--only", only]).stdout;
    assert!(text.contains(&format!("\nBeside: {itch}, 20,000 messages, ")), "{text}");
}

#[test]
fn a_day_that_is_damaged_or_empty_is_refused_by_name() {
    let folder = Folder::new("bench-book-damaged");
    let day = fs::read(folder.day(20_000, 20)).unwrap();
    let cut = folder.write("cut.itch50", &day[..day.len() / 2 + 1]);
    let empty = folder.write("empty.itch50", b"");
    let mut flipped = day.clone();
    flipped[100_000..100_100].fill(0xff);
    let flipped = folder.write("flipped.itch50", &flipped);
    for (file, said) in [
        (cut, "cut off in the record at offset"),
        (empty, "is empty, expected a BinaryFILE day"),
        (flipped, "offset"),
    ] {
        let ran = bench_book(&[&file, "--rounds", "1"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(&format!("nanotape: {file}: ")), "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_compressed_day_is_measured_and_said_to_be_one() {
    let folder = Folder::new("bench-book-compressed");
    let day = folder.path("day.itch50.zst");
    nanotape(["synth", "-o", &day, "--messages", "20000", "--symbols", "20"]);
    let ran = bench_book(&[&day, "--rounds", "1", "--only", "default,bytes,framing,decode"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("the file is compressed (zstd)"), "{}", ran.stdout);
}

#[test]
fn what_makes_no_sense_is_a_usage_error_with_a_reason() {
    let folder = Folder::new("bench-book-usage");
    let day = folder.day(20_000, 20);
    for (arguments, said) in [
        (
            vec!["--only", "default,levels/none"],
            "no variant is named levels/none; use one of default, ",
        ),
        (
            vec!["--only", "decode", "--latency"],
            "--latency applies to book rows, but --only selects none",
        ),
        (
            vec!["--only", "decode", "--profile"],
            "--profile applies to default, but --only does not select it",
        ),
        (vec!["--rounds", "0"], "--rounds"),
        (vec!["-o", "table.html"], "this command has no HTML page"),
    ] {
        let ran = bench_book(&[&[day.as_str()], arguments.as_slice()].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    for (file, said) in
        [("-", "which standard input does not allow"), ("/no/such/day", "/no/such/day")]
    {
        let ran = bench_book(&[file]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(bench_book(&[]).status, 2, "no file");
}
