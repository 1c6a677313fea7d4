//! `nanotape journal prove`: killed appenders and tailers, and the space that they take.

use nanotape_harness::skipped;

use crate::support::{
    nanotape,
    running::{Running, json},
};

#[test]
fn processes_that_are_killed_lose_nothing() {
    let ran = nanotape([
        "journal",
        "prove",
        "--seconds",
        "2",
        "--tailers",
        "2",
        "--segment",
        "256KiB",
        "--kill-appender-every",
        "0.1",
        "--kill-tailer-every",
        "0.3",
        "--format",
        "json",
    ]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let proved = json(&ran.stdout);
    assert_eq!(proved["good"], true);
    assert!(
        proved["appender_kills"].as_u64() > Some(0) && proved["tailer_kills"].as_u64() > Some(0)
    );
    let appended = &proved["appended"];
    assert!(appended.as_u64() > Some(1_000));
    for tailer in proved["tailers"].as_array().unwrap() {
        assert_eq!((&tailer["read"], &tailer["missing"]), (appended, &0.into()));
    }
    let ran = nanotape([
        "journal",
        "prove",
        "--excerpts",
        "20000",
        "--tailers",
        "3",
        "--segment",
        "64KiB",
        "--sync",
        "5000",
        "--format",
        "json",
    ]);
    let proved = json(&ran.stdout);
    assert_eq!((ran.status, &proved["appended"]), (0, &20_001.into()), "{}", ran.stderr);
    for tailer in proved["tailers"].as_array().unwrap() {
        assert_eq!(tailer["checksum_is_right"], true);
    }
}

/// The first tailer takes 4 ms per excerpt, six seconds in total. The parent's patience with a
/// tailer that does not move is three seconds.
#[test]
fn a_tailer_that_is_slow_is_waited_for_as_long_as_it_moves() {
    let arguments = "journal prove --excerpts 1500 --tailers 2 --segment 64KiB --space 512KiB \
                     --slow-tailer 4ms --patience 3 --format json";
    let ran = nanotape(arguments.split_whitespace());
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let proved = json(&ran.stdout);
    assert_eq!((&proved["good"], &proved["appended"]), (&true.into(), &1_501.into()));
    for tailer in proved["tailers"].as_array().unwrap() {
        assert_eq!((&tailer["end"], &tailer["read"]), (&"good".into(), &1_501.into()));
    }
}

#[test]
fn a_tailer_that_does_not_move_is_stuck_and_nothing_is_said_to_be_lost() {
    let arguments = "journal prove --excerpts 2000 --tailers 2 --segment 64KiB --space 512KiB \
                     --slow-tailer 60s --patience 3 --format json";
    let ran = nanotape(arguments.split_whitespace());
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    let proved = json(&ran.stdout);
    let tailer = &proved["tailers"][0];
    assert_eq!((&tailer["end"], &tailer["missing"]), (&"stuck".into(), &0.into()), "{tailer}");
    assert!(tailer["read"].as_u64() <= Some(2), "{tailer}");
    assert_eq!(proved["tailers"][1]["end"], "good");
}

/// Appends twelve times the space of the journal.
#[test]
fn prove_takes_no_more_space_than_it_was_given() {
    const SPACE: u64 = 512 << 10;
    let arguments = "journal prove --excerpts 60000 --tailers 2 --segment 64KiB --space 512KiB \
                     --kill-appender-every 0.3 --format json";
    if !std::path::Path::new("/dev/shm").is_dir() {
        skipped("there is no /dev/shm here");
        return;
    }
    let mut running = Running::start(&arguments.split_whitespace().collect::<Vec<_>>());
    let journal = format!("/dev/shm/nanotape-prove-{}/journal", running.process.id());
    let mut peak = 0;
    while running.process.try_wait().unwrap().is_none() {
        let Ok(entries) = std::fs::read_dir(&journal) else { continue };
        let bytes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum();
        peak = std::cmp::max(peak, bytes);
    }
    let (status, said, complained) = running.end();
    assert_eq!(status, Some(0), "{said}{complained}");
    let proved = json(&said);
    assert_eq!((&proved["good"], &proved["appended"]), (&true.into(), &60_001.into()));
    assert!((1..=SPACE).contains(&peak), "{peak} bytes of {SPACE}");
    assert!(proved["peak_bytes"].as_u64() <= Some(SPACE), "{proved}");

    let ran = nanotape("journal prove --segment 64KiB --space 511KiB".split_whitespace());
    assert_eq!(ran.status, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("less than 8 segments of 64 KiB"), "{}", ran.stderr);
}
