//! `nanotape lab bench trace` as a user runs it: output and answers, independent of the times.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, Ran, bench::list, has_memory_for_benchmarks, nanotape};

fn bench_trace(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "trace"], arguments].concat())
}

#[test]
fn every_row_is_in_one_list_with_what_it_adds() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-trace");
    // Short files are one segment in each pass; this one has several.
    let day = folder.day(300_000, 20);
    let list = list(&bench_trace(&[&day, "--rounds", "2", "--pairs", "100", "--format", "json"]));
    let names: Vec<&str> = list.iter().map(|record| record["name"].as_str().unwrap()).collect();
    let known = bench_trace(&["--list"]).stdout;
    assert_eq!(names, known.lines().collect::<Vec<_>>());
    let format = include_str!("../../../../../docs/formats/lab-bench-trace.md");
    let fields = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for field in fields(&list[0]) {
        let prefix = field.trim_end_matches("_low").trim_end_matches("_high");
        assert!(format.contains(&format!("`{prefix}`")), "{field} is not in the format's document");
    }
    for record in &list {
        assert_eq!(fields(record), fields(&list[0]), "{record}");
        assert!(record["ns"].as_f64() > Some(0.0) && record["beside_ns"].as_f64() > Some(0.0));
        assert_eq!(record["adds_ns_by_round"].as_array().unwrap().len(), 2, "{record}");
        let [low, median, high] =
            ["adds_ns_low", "adds_ns", "adds_ns_high"].map(|name| record[name].as_f64().unwrap());
        assert!(low <= median && median <= high, "{record}");
        assert!(record["environment"]["cpus"].is_u64() && record["notes"].is_array());
        check_section(record);
    }
    let goals = list.iter().flat_map(|record| record["goals"].as_array().unwrap());
    let goals: Vec<_> = goals.map(|goal| (goal["of"].as_str(), goal["wanted"].as_f64())).collect();
    let expected = [
        ("adds_ns", 6.0),
        ("adds_ns", 6.0),
        ("takes_share", 0.05),
        ("adds_ns", 80.0),
        ("adds_ns", 1_000.0),
    ];
    assert_eq!(goals, expected.map(|(of, most)| (Some(of), Some(most))));
}

fn check_section(record: &Value) {
    let name = record["name"].as_str().unwrap();
    let is = |section: &str| record["section"] == section;
    assert_eq!(record["takes_share"].is_number(), is("plant"), "{record}");
    assert_eq!(record["latency"].is_object(), is("recorder"), "{record}");
    assert_eq!(record["latency_alone"].is_object(), is("recorder"), "{record}");
    assert_eq!(record["answer"].is_null(), is("span"), "{record}");
    if !is("span") {
        assert_eq!(record["answer"]["messages"], 300_000, "{record}");
        assert!(record["answer"]["inside_changes"].as_u64() > Some(100), "{record}");
    }
    match record["section"].as_str().unwrap() {
        "span" => assert_eq!(record["pairs"], 200, "{record}"),
        // 17 blocks in each round are two pairs of segments.
        "plant" => assert!(record["pairs"].as_u64() >= Some(4), "{record}"),
        "recorder" => {
            // Each side of a pair is timed from an eighth of its segment on.
            let count = |field: &str| record[field]["count"].as_u64().unwrap();
            assert!(count("latency").abs_diff(count("latency_alone")) <= 2 * 32_768, "{record}");
            assert!(count("latency") + count("latency_alone") > 500_000, "{record}");
            assert_eq!(record["copies"].as_u64() > Some(0), name == "recorder/copies", "{record}");
        }
        other => panic!("section {other}"),
    }
}

#[test]
fn tables_have_a_row_for_everything_and_the_goals_below_it() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-trace-tables");
    let day = folder.day(20_000, 20);
    let only = "span/beyond-stamp,plant/one-in-16,plant/on,recorder/copies";
    let ran = bench_trace(&[&day, "--rounds", "1", "--pairs", "9", "--only", only]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let row = |section: &str, name: &str| -> Vec<String> {
        let behind = ran.stdout.split_once(section).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let section = behind.split("\n\n").next().unwrap();
        let row = section.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
        row.unwrap_or_else(|| panic!("{section}")).split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("\nA stage, ", "span/beyond-stamp")[4], "stamp");
    for name in ["plant/one-in-16", "plant/on"] {
        let row = row("\nA plant at full speed, ", name);
        assert!(row[4] == "off" && row[8].ends_with('%'), "{row:?}");
    }
    assert_eq!(row("\nA plant with all spans on, ", "recorder/copies")[4], "alone");
    for (name, most) in [
        ("span/beyond-stamp", "6.00 ns beyond a stamp"),
        ("plant/one-in-16", "5.00 % of the rate"),
        ("plant/on", "80.0 ns added to a message"),
        ("recorder/copies", "1000 ns added to p99.9"),
    ] {
        let goal = row("\nGoals: ", name).join(" ");
        assert!(goal.contains(&format!("at most {most}")), "{goal}");
    }

    let file = folder.path("trace.csv");
    assert_eq!(bench_trace(&[&day, "--rounds", "1", "--only", "plant/on", "-o", &file]).status, 0);
    let written = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with("plant/on,plant,"), "{written}");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-trace-usage");
    let day = folder.day(5_000, 5);
    for (arguments, said) in [
        (vec!["--only", "default"], "no row is named default or starts with it; use one of span/"),
        (vec!["--rounds", "0"], "--rounds"),
        (vec!["--pairs", "0"], "--pairs"),
        (vec!["--cpus", "0,9999"], "processor 9999 is not among those allowed"),
        (vec!["-o", "table.html"], "this command has no HTML page"),
    ] {
        let ran = bench_trace(&[&[day.as_str()], arguments.as_slice()].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(bench_trace(&[]).status, 2, "no file");

    let bytes = fs::read(&day).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() / 2 + 1]);
    let ran = bench_trace(&[&cut, "--rounds", "1", "--only", "plant/on"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cut off in the record at offset"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}
