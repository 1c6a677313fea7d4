//! What neither a ring nor its journal has is reported: before the oldest record, and after the
//! last one. What is missing is drawn from seeds.

use std::fs;

use nanotape_harness::Random;
use serde_json::Value;

use crate::{
    support::{
        Ran, nanotape,
        running::{Running, objects},
    },
    tap::{
        losses::add_up,
        plants::{Market, numbers, run},
    },
};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=8;

fn tap(source: &[&str], options: &[&str]) -> Ran {
    nanotape([&["tap"], source, options].concat())
}

/// Checks the rows of a tap from the oldest record, and each way to make the loss a failure.
fn check_begin(source: &[&str], market: &Market, published: u64, seed: u64) -> u64 {
    let from = ["--from", "oldest"];
    let source = [source, &from].concat();
    let ran = tap(&source, &["--format", "json"]);
    let (written, lost, gaps) = add_up(&rows(&ran), 1);
    assert_eq!((ran.status, gaps, written + lost), (0, 1, published), "seed {seed}: {source:?}");
    assert_eq!(numbers_of(&ran.stderr)[..4], [written, written, lost, 1], "seed {seed}");
    let output = market.folder.path(&format!("{seed}.dbn"));
    for options in [
        &["--fail-on-loss"][..],
        &["--strict"],
        &["--fail-on-loss", "-o", &output, "--force"],
        &["--records", "mbo", "-o", &output, "--force"],
    ] {
        let ran = tap(&source, options);
        assert_eq!(ran.status, 1, "seed {seed}: {source:?} {options:?}: {}", ran.stderr);
        let line = ran.stderr.lines().find(|line| line.contains("lost"));
        assert!(line.is_some(), "seed {seed}: {options:?}: {}", ran.stderr);
    }
    lost
}

/// The numbers of the last line, which has one more where records came from the journal.
fn numbers_of(complained: &str) -> [u64; 5] {
    let line = complained.lines().find(|line| line.contains(" messages read, ")).unwrap();
    numbers(line.split("; ").take(2).collect::<Vec<_>>().join("; ").as_str())
}

/// The rows without those about returns to the ring.
fn rows(ran: &Ran) -> Vec<Value> {
    let mut rows = objects(&ran.stdout);
    rows.retain(|row| row["record"] != "healed");
    rows
}

#[test]
fn a_recorder_that_joined_late_leaves_a_loss_before_the_first_record() {
    for seed in SEEDS {
        let messages = 4_000 + Random::new(seed).below(8_000);
        let market = Market::new(&format!("late-{seed}"), messages, 6);
        let published = run(&market.config_of_small_ring()).stop.records;
        let journal = market.folder.path("journal");
        let recorded = nanotape(["journal", "record", market.ring(), &journal]);
        assert_eq!(recorded.status, 0, "{}", recorded.stderr);
        let of_both = [market.ring(), "--heal", &journal];
        let lost = check_begin(&of_both, &market, published, seed);
        assert_eq!(check_begin(&[&journal], &market, published, seed), lost);
        // Without the line about the run, the numbers of the ring began with 1.
        fs::remove_file(market.folder.path("journal/runs")).unwrap();
        assert_eq!(check_begin(&[&journal], &market, published, seed), lost);
        println!("seed {seed}: {published} records, {lost} lost before the first one");
    }
}

#[test]
fn a_journal_whose_first_segments_are_gone_leaves_a_loss_before_the_first_record() {
    for seed in SEEDS {
        let market = Market::new(&format!("pruned-{seed}"), 8_000, 6);
        let (journal, published) = recorded(&market);
        let cut = 1 + Random::new(seed).below(published / 2);
        let cut = cut.max(2_000).to_string();
        let pruned = nanotape(["journal", "prune", &journal, "--before-sequence", &cut]);
        assert_eq!(pruned.status, 0, "{}", pruned.stderr);
        check_begin(&[&journal], &market, published, seed);
        // The ring has what the journal lacks.
        let both = [market.ring(), "--heal", &journal, "--from", "oldest", "--strict"];
        let ran = tap(&both, &["--format", "json"]);
        assert_eq!((ran.status, add_up(&rows(&ran), 1)), (0, (published, 0, 0)), "seed {seed}");
    }
}

#[test]
fn a_tap_whose_journal_has_not_begun_reads_the_ring_from_its_oldest_record() {
    let market = Market::new("not-begun", 2_000, 4);
    let published = market.run().stop.records;
    let journal = market.folder.path("journal");
    let source = [market.ring(), "--heal", &journal, "--from", "oldest"];
    let ran = tap(&source, &["--fail-on-loss", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(add_up(&rows(&ran), 1), (published, 0, 0));
}

/// A day that was recorded into segments of 64 KiB, and the records that were published.
fn recorded(market: &Market) -> (String, u64) {
    let journal = market.folder.path("journal");
    let recorder = ["journal", "record", market.ring(), &journal, "--segment", "64KiB"];
    let published = market.run().stop.records;
    let ran = nanotape(recorder);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    (journal, published)
}

#[test]
fn the_end_of_a_run_that_is_missing_is_reported() {
    for seed in SEEDS {
        let market = Market::new(&format!("no-end-{seed}"), 8_000, 6);
        let (journal, published) = recorded(&market);
        let whole = tap(&[&journal], &["--strict", "--format", "json"]);
        assert_eq!((whole.status, whole.stdout.lines().count() as u64), (0, published));
        let mut segments: Vec<_> = fs::read_dir(&journal)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|suffix| suffix == "segment"))
            .collect();
        segments.sort();
        let gone = 1 + Random::new(seed).index(segments.len() - 1);
        segments.iter().rev().take(gone).for_each(|path| fs::remove_file(path).unwrap());
        check_no_end(&market, &journal, &format!("seed {seed}, {gone} segments gone"));
    }
}

#[test]
fn a_journal_of_a_killed_plant_has_no_end() {
    let market = Market::new("killed", 2_000, 4);
    let mut child = market.child();
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = market.folder.path("journal");
    let recorded = nanotape(["journal", "record", market.ring(), &journal]);
    assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    check_no_end(&market, &journal, "a killed plant");
    // The next run ends well; the one before it does not.
    market.run();
    let recorded = nanotape(["journal", "record", market.ring(), &journal]);
    assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    assert_eq!(tap(&[&journal], &["--strict"]).status, 0);
    for (option, status) in [("--strict", 1), ("--fail-on-loss", 1), ("--format=csv", 0)] {
        let ran = tap(&[&journal], &["--run", "1", option]);
        assert_eq!(ran.status, status, "{option}: {}", ran.stderr);
        assert!(ran.stderr.contains("the end of the run is missing"), "{}", ran.stderr);
    }
}

fn check_no_end(market: &Market, journal: &str, what: &str) {
    let output = market.folder.path("out.csv");
    let file = ["-o", &output, "--force"];
    let tap = ["tap", journal];
    let convert = [&["convert", journal], &file[..]].concat();
    for (command, options, status) in [
        (&tap[..], &["--format", "csv"][..], 0),
        (&tap, &["--fail-on-loss"], 1),
        (&tap, &["--strict"], 1),
        (&tap, &[&file[..], &["--strict"]].concat(), 1),
        (&convert, &[], 1),
        (&convert, &["--strict"], 1),
    ] {
        let _ = fs::remove_file(&output);
        let ran = nanotape([command, options].concat());
        assert_eq!(ran.status, status, "{what}: {command:?} {options:?}: {}", ran.stderr);
        let line = "the end of the run is missing";
        assert_eq!(ran.stderr.matches(line).count(), 1, "{what}: {}", ran.stderr);
        if options.contains(&"--strict") {
            assert!(!fs::exists(&output).unwrap(), "{what}: {options:?}");
        }
    }
}

#[test]
fn a_tap_whose_ring_is_removed_says_so() {
    for part in ["", ".board"] {
        let market = Market::new(&format!("removed{}", part.len()), 20_000, 4);
        let run = ["run", "--input", &market.day, "--ring", market.ring(), "--pace", "1x"];
        let mut plant = Running::start(&run);
        plant.read_line();
        let mut reader = market.tap(&["--from", "oldest", "--format", "json"]);
        assert_eq!(reader.read_json()["record"], "start");
        fs::remove_file(format!("{}{part}", market.ring())).unwrap();
        let (status, rest, complained) = reader.end();
        assert_eq!(status, Some(1), "{complained}{rest}");
        assert!(complained.contains("removed"), "{complained}");
        assert_eq!(plant.end().0, Some(1));
    }
}
