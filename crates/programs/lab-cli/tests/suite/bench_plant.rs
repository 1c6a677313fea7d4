//! `nanotape lab bench plant` as a user runs it: output and answers, independent of the times.

use std::fs;

use nanotape_harness::skipped;
use serde_json::Value;

use crate::support::{
    Folder, Ran,
    bench::{list, positive},
    has_memory_for_benchmarks, nanotape,
};

fn bench_plant(arguments: &[&str]) -> Ran {
    nanotape([&["lab", "bench", "plant"], arguments].concat())
}

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|record| record["name"].as_str().unwrap()).collect()
}

#[test]
fn every_row_is_in_one_list_and_taps_account_for_every_record() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-plant");
    let day = folder.day(20_000, 20);
    let list = list(&bench_plant(&[&day, "--rounds", "2", "--format", "json"]));
    let known = bench_plant(&["--list"]).stdout;
    assert!(known.lines().collect::<Vec<_>>().starts_with(&names(&list)), "{known}");
    for name in ["backbone", "backbone/again", "plant", "plant/all", "plant/small-ring"] {
        assert!(names(&list).contains(&name), "{name}");
    }
    // At most one tap more than processors beside the plant's, and at most eight.
    assert_eq!(list.last().unwrap()["taps_share_processors"], list.last().unwrap()["taps"] != 8);
    let format = include_str!("../../../../../docs/formats/lab-bench-plant.md");
    for field in list[0].as_object().unwrap().keys() {
        assert!(format.contains(&format!("`{field}`")), "{field} is not in the format's document");
    }
    let fields = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let changes = &list[0]["answer"]["inside_changes"];
    let order_records = &list.iter().find(|one| one["name"] == "plant").unwrap()["answer"];
    let order_records = order_records["order_records"].as_u64().unwrap();
    assert!(order_records > 10_000 && changes.as_u64() > Some(100));
    for record in &list {
        assert_eq!(fields(record), fields(&list[0]), "{record}");
        assert!(positive(record, "/ns_per_message") && positive(record, "/messages_per_second"));
        assert!(positive(record, "/ratio_to_backbone") && record["adds_ns"].is_number());
        assert_eq!(record["ns_by_round"].as_array().unwrap().len(), 2);
        let answer = &record["answer"];
        assert_eq!(answer["messages"], 20_000);
        assert_eq!((&answer["inside_changes"], &answer["orders_left"]), (changes, &0.into()));
        assert!(record["environment"]["cpus"].is_u64() && record["notes"].is_array());
        if record["name"].as_str().unwrap().starts_with("backbone") {
            assert!(record["published"].is_null() && record["records"].is_null(), "{record}");
            assert!(answer["order_records"].is_null() && record["capacity_bytes"].is_null());
            continue;
        }
        assert_eq!(answer["order_records"], order_records);
        check_published(record);
    }
}

/// Checks the counts of two rounds.
fn check_published(record: &Value) {
    let published = |name: &str| record["published"][name].as_u64().unwrap();
    let (answer, taps) = (&record["answer"], record["taps"].as_u64().unwrap());
    let (orders, insides) = (&answer["order_records"], &answer["inside_changes"]);
    let expected = orders.as_u64().unwrap() + insides.as_u64().unwrap();
    // Each round also has a start and a stop.
    let usual = 2 * (expected + 2);
    match record["name"].as_str().unwrap() {
        "plant/all" => assert!(published("records") > usual, "{record}"),
        _ => assert_eq!(published("records"), usual, "{record}"),
    }
    assert_eq!(published("read") + published("lost"), taps * published("records"), "{record}");
    assert_eq!(record["lost_share"].is_null(), taps == 0, "{record}");
    assert_eq!(record["cpus"]["taps"].as_array().unwrap().len() as u64, taps);
    assert_eq!(record["tap_symbol"].is_null(), taps == 0, "{record}");
    // A ring of 32 MiB holds all records, so none is lost.
    assert_eq!(published("lost"), 0, "{record}");
    let of_one_stock = published("wanted");
    assert_eq!(of_one_stock > 0, taps > 0, "{record}");
    assert!(of_one_stock <= 2 * taps * insides.as_u64().unwrap(), "{record}");
}

#[test]
fn tables_have_a_row_for_everything_and_the_goals_beside_it() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-plant-tables");
    let day = folder.day(20_000, 20);
    let only = "backbone,plant,plant/1-tap";
    let arguments = [&day, "--rounds", "1", "--only", only, "--profile"];
    let ran = bench_plant(&arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let row = |section: &str, name: &str| -> Vec<String> {
        let behind = ran.stdout.split_once(section).unwrap_or_else(|| panic!("{}", ran.stdout)).1;
        let section = behind.split("\n\n").next().unwrap();
        let row = section.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
        row.unwrap_or_else(|| panic!("{section}")).split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("\nBytes to books, ", "backbone")[5..9], ["-", "-", "-", "-"]);
    assert_eq!(row("\nBytes to books, ", "plant").len(), 12);
    assert!(row("\nBytes to books, ", "plant/1-tap")[11].ends_with('%'));
    for name in ["backbone", "plant", "plant/1-tap"] {
        assert_eq!(row("\nSingle messages, ", name).len(), 7);
    }
    assert_eq!(row("\nProfile of plant, ", "A").len(), 6);
    for (name, at_most) in [
        ("adds", "30"),
        ("adds, 1 tap", "40"),
        ("one by one, p99", "650"),
        ("one by one, p99.9", "1000"),
    ] {
        let words = row("\nGoals of `plant`", name);
        let verdict = &words[words.len() - 3..];
        assert!(words.contains(&at_most.to_owned()), "{words:?}");
        assert!(
            ["met", "missed"].contains(&verdict[0].as_str()) && verdict[1] == "by",
            "{words:?}"
        );
    }

    let file = folder.path("plant.json");
    assert_eq!(bench_plant(&[arguments.as_slice(), &["-o", &file]].concat()).status, 0);
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(written[0]["profile"].is_null(), "{written}");
    let types = written[1]["profile"]["types"].as_array().unwrap();
    assert_eq!(types.iter().map(|one| one["count"].as_u64().unwrap()).sum::<u64>(), 20_000);
    let goals = written[1]["goals"].as_array().unwrap();
    assert_eq!(names(goals), ["adds", "adds, 1 tap", "p99", "p99.9"]);
    for goal in goals {
        let (ns, at_most) = (goal["ns"].as_f64().unwrap(), goal["at_most_ns"].as_f64().unwrap());
        assert_eq!(goal["met"], ns <= at_most, "{goal}");
    }
    assert!(written[0]["goals"].is_null() && written[2]["goals"].is_null());
    assert_eq!(written[1]["latency"]["count"], 20_000);
}

/// Folders with the rings of measured plants. Each exists until all processes have opened it.
fn folders() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/dev/shm") else {
        skipped("there is no /dev/shm here, so that nothing is searched for in it");
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path().display().to_string()));
    paths.filter(|path| path.starts_with("/dev/shm/nanotape-bench-plant-")).collect()
}

#[test]
fn nothing_is_left_in_memory() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-plant-left");
    let day = folder.day(5_000, 5);
    let before = folders();
    let ran = bench_plant(&[&day, "--rounds", "1", "--only", "plant/1-tap", "--format", "csv"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0].split(',').next()), (2, Some("name")));
    assert!(lines[1].starts_with("plant/1-tap,1,"), "{}", lines[1]);
    // Other benchmarks may run at the same time and have folders of their own.
    let is_gone = |folder: &String| {
        let process = folder.rsplit('-').nth(1).unwrap_or_default();
        !fs::exists(format!("/proc/{process}")).unwrap_or(true)
    };
    let left = folders().into_iter().filter(|folder| !before.contains(folder) && is_gone(folder));
    let left: Vec<String> = left.filter(|folder| fs::exists(folder).unwrap_or(false)).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("bench-plant-usage");
    let day = folder.day(5_000, 5);
    for (arguments, said) in [
        (vec!["--only", "default"], "no variant is named default; use one of backbone, "),
        (
            vec!["--only", "backbone", "--profile"],
            "--profile applies to plant, but --only does not select it",
        ),
        (vec!["--rounds", "0"], "--rounds"),
        (vec!["--cpus", "1"], "two processors, like 2,3"),
        (vec!["--cpus", "0,9999"], "processor 9999 is not among those allowed"),
        (vec!["-o", "table.html"], "this command has no HTML page"),
    ] {
        let ran = bench_plant(&[&[day.as_str()], arguments.as_slice()].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    let ran = bench_plant(&["-"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("which standard input does not allow"), "{}", ran.stderr);
    assert_eq!(bench_plant(&[]).status, 2, "no file");

    let bytes = fs::read(&day).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() / 2 + 1]);
    let ran = bench_plant(&[&cut, "--rounds", "1"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cut off in the record at offset"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}
