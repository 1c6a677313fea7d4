//! `nanotape tap -o FILE --roll RULE`: files that are complete while the tap runs, and the files
//! that a killed tap leaves.

use std::fs;

use nanotape_harness::eventually;
use rustix::process::Signal;

use crate::{
    support::nanotape,
    tap::plants::{Market, begin},
};

/// The rows of FILE, FILE.2 and so on, without the header of each.
fn rows(market: &Market, suffix: &str) -> (usize, String) {
    let (mut count, mut all) = (0, String::new());
    loop {
        let number = if count == 0 { String::new() } else { format!(".{}", count + 1) };
        let path = market.folder.path(&format!("out{number}.{suffix}"));
        let Ok(text) = fs::read_to_string(path) else { return (count, all) };
        count += 1;
        all += if suffix == "csv" { text.split_once('\n').unwrap().1 } else { &text };
    }
}

#[test]
fn files_that_roll_by_size_have_together_what_one_file_has() {
    let market = Market::new("roll-size", 5_000, 6);
    market.run();
    for suffix in ["csv", "json"] {
        let whole = nanotape(["tap", market.ring(), "--from", "oldest", "--format", suffix]);
        let output = market.folder.path(&format!("out.{suffix}"));
        let tap = ["tap", market.ring(), "--from", "oldest", "-o", &output, "--roll", "64KiB"];
        let ran = nanotape(tap);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let (count, all) = rows(&market, suffix);
        let expected: &str = match suffix {
            "csv" => whole.stdout.split_once('\n').unwrap().1,
            _ => &whole.stdout,
        };
        assert!(count > 3 && all == expected, "{count} files of {suffix}");
        // Existing files are not overwritten, but replaced with --force, each by its own.
        assert_eq!(nanotape(tap).status, 2);
        assert_eq!(nanotape([&tap[..], &["--force"]].concat()).status, 0);
        assert!(rows(&market, suffix) == (count, all));
    }
    let output = market.folder.path("out.dbn");
    let tap = ["tap", market.ring(), "--from", "oldest", "--records", "mbo", "-o", &output];
    let ran = nanotape([&tap[..], &["--roll", "64KiB"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let orders = |path: &str| {
        let ran = nanotape(["convert", path, "--format", "csv"]);
        ran.stdout.lines().filter(|row| row.contains(",mbo,")).count()
    };
    let of_files: Vec<usize> = (1..100)
        .map(|number| if number == 1 { String::new() } else { format!(".{number}") })
        .map(|number| market.folder.path(&format!("out{number}.dbn")))
        .take_while(|path| fs::exists(path).unwrap())
        .map(|path| orders(&path))
        .collect();
    let all = nanotape(["tap", market.ring(), "--from", "oldest", "--records", "mbo"]).stdout;
    let expected = all.lines().filter(|row| row.contains(",mbo,")).count();
    assert!(of_files.len() > 3, "{of_files:?}");
    assert_eq!(of_files.iter().sum::<usize>(), expected);
}

#[test]
fn files_that_roll_by_time_can_be_read_while_the_tap_runs() {
    let market = Market::new("roll-time", 2_000, 4);
    let mut plant = begin(&market.config());
    let output = market.folder.path("out.csv");
    let mut tap = market.tap(&["--from", "oldest", "-o", &output, "--roll", "50ms"]);
    // The plant has published its start, and publishes nothing else yet.
    eventually("the first file is complete", || fs::exists(&output).unwrap());
    assert!(tap.is_running());
    assert_eq!(fs::read_to_string(&output).unwrap().lines().count(), 2);
    let records = plant.run(|_| ()).unwrap().stop.records;
    let (status, _, complained) = tap.end();
    assert_eq!(status, Some(0), "{complained}");
    let (count, all) = rows(&market, "csv");
    assert!(count > 1, "{count}");
    assert_eq!(all.lines().count() as u64, records);
}

#[test]
fn a_rule_needs_a_file_and_is_refused_where_it_is_none() {
    let market = Market::new("roll-usage", 1_000, 4);
    market.run();
    for (options, expected) in [
        (&["--roll", "1m"][..], "--output"),
        (&["--roll", "1m", "-o", "/dev/null", "--format", "csv"], "--roll needs a file"),
        (&["--roll", "weekly", "-o", "x.csv"], "expected date, a time such as"),
    ] {
        let ran = nanotape([&["tap", market.ring()], options].concat());
        assert_eq!((ran.status, ran.stderr.contains(expected)), (2, true), "{}", ran.stderr);
    }
}

#[test]
fn the_next_tap_names_what_a_killed_one_left() {
    let market = Market::new("leftover", 2_000, 4);
    let plant = begin(&market.config());
    let output = market.folder.path("out.csv");
    let unfinished = || {
        let entries = fs::read_dir(market.folder.path("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".partial")).collect::<Vec<_>>()
    };
    let mut killed = market.tap(&["--from", "oldest", "-o", &output]);
    eventually("it has begun", || unfinished().len() == 1);
    // The file of a running tap is none.
    let second = nanotape(["tap", market.ring(), "--from", "1", "--count", "1", "-o", &output]);
    assert_eq!(
        (second.status, second.stderr.contains(".partial")),
        (0, false),
        "{}",
        second.stderr
    );
    killed.signal(Signal::KILL);
    killed.end();
    let left = unfinished();
    assert_eq!(left.len(), 1);
    drop(plant);
    let third = ["tap", market.ring(), "--from", "1", "--count", "1", "-o", &output, "--force"];
    let third = nanotape(third);
    assert_eq!(third.status, 0, "{}", third.stderr);
    let line = "an unfinished output of a process that was killed";
    assert!(third.stderr.contains(&left[0]) && third.stderr.contains(line), "{}", third.stderr);
}
