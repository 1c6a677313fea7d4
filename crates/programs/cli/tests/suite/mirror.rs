//! `nanotape ring mirror` between real processes: a plant or another publisher, mirrors that are
//! stopped and killed, and the commands that read both sides.

use std::fs;

use nanotape_harness::eventually;
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_ring::RingMonitor;
use nanotape_shm::OwnerState;
use rustix::process::Signal;
use serde_json::Value;

use crate::{
    support::{
        Folder, Ran, nanotape, nanotape_fed,
        plants::Ring,
        running::{Running, json, objects},
    },
    tap::plants::{Market, begin, run},
};

/// A mirror that has begun, and its first line.
fn mirror(source: &str, target: &str, options: &[&str]) -> (Running, Value) {
    let mut running = start(source, target, options);
    let begun = running.read_json();
    (running, begun)
}

fn start(source: &str, target: &str, options: &[&str]) -> Running {
    let arguments = ["ring", "mirror", source, target, "--format", "json"];
    Running::start(&[&arguments, options].concat())
}

/// A mirror that ends by itself: its status, its last line, and standard error.
fn mirrored(source: &str, target: &str, options: &[&str]) -> (Option<i32>, Value, String) {
    let (status, said, complained) = start(source, target, options).end();
    let last = said.lines().last().map(json);
    (status, last.unwrap_or(Value::Null), complained)
}

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// The messages of a ring, and its gaps.
fn dump(ring: &str) -> String {
    good(&["ring", "dump", ring, "--from", "oldest", "--format", "json"]).stdout
}

fn publish(ring: &str, lines: impl Iterator<Item = u64>, options: &[&str]) {
    let lines: String = lines.map(|line| format!("message {line}\n")).collect();
    let ran = nanotape_fed([&["ring", "publish", ring], options].concat(), lines.as_bytes());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

fn next_sequence(ring: &str) -> u64 {
    let monitor = RingMonitor::open(ring.as_ref());
    monitor.map_or(0, |monitor| monitor.sample().unwrap().next_sequence)
}

/// Waits until a mirror has as many messages.
fn wait_for(ring: &str, next: u64) {
    eventually("the next message of a mirror", || next_sequence(ring) >= next);
}

/// The rows of a tap, without those that report how they were healed.
fn rows(arguments: &[&str]) -> Vec<Value> {
    let ran = good(&[&["tap"], arguments, &["--format", "json"]].concat());
    objects(&ran.stdout).into_iter().filter(|row| row["record"] != "healed").collect()
}

#[test]
fn every_command_gives_the_rows_of_the_plant_on_its_mirror() {
    let market = Market::new("mirror-rows", 20_000, 12);
    let (target, journal) = (market.folder.path("mirror"), market.folder.path("journal"));
    let mut plant = begin(&market.config());
    let recorder = ["journal", "record", market.ring(), &journal, "--format", "json"];
    let mut recorder = Running::start(&recorder);
    let (mut copy, begun) = mirror(market.ring(), &target, &["--mode", "0640"]);
    assert_eq!(begun["next_sequence"], 1);
    wait_for(&target, 2);
    let options = ["--from", "oldest", "--check-digest", "--format", "csv"];
    let mut live = Running::start(&[&["tap", &target], &options[..]].concat());
    plant.run(|_| ()).unwrap();
    drop(plant);
    let (status, said, complained) = copy.end();
    assert_eq!(status, Some(0), "{complained}");
    let summary = json(said.lines().last().unwrap());
    assert_eq!((&summary["lost"], &summary["next_sequence"]), (&0.into(), &next(&market).into()));
    assert_eq!(recorder.end().0, Some(0));
    let (status, live, complained) = live.end();
    assert!(status == Some(0) && complained.contains("is that of the plant"), "{complained}");
    good(&["journal", "snapshot", &journal, "--share", "100"]);

    let of = |arguments: &[&str], ring: &str| {
        let arguments: Vec<&str> =
            arguments.iter().map(|word| if *word == "RING" { ring } else { word }).collect();
        good(&arguments).stdout
    };
    for arguments in [
        &["tap", "RING", "--from", "oldest", "--check-digest", "--format", "csv"][..],
        &["tap", "RING", "--from", "oldest", "--format", "text", "--records", "bbo,trades"],
        &["tap", "RING", "--heal", &journal, "--whole", "--format", "csv"],
        &["tap", "RING", "--heal", &journal, "--from", "oldest", "--format", "csv"],
        &["audit", "RING", &journal, "--format", "json"],
    ] {
        let (home, there) = (of(arguments, market.ring()), of(arguments, &target));
        assert!(home.lines().count() > 0, "{arguments:?}");
        assert_eq!(there.replace(&target, market.ring()), home, "{arguments:?}");
    }
    assert_eq!(live, of(&["tap", "RING", "--from", "oldest", "--format", "csv"], market.ring()));
    // Books are made of a stream of records.
    let [home, there] = [market.ring(), &target].map(|ring| {
        let records = market.folder.path("records.dbn");
        let tap = ["tap", ring, "--from", "oldest", "--records", "mbo", "--notices"];
        good(&[&tap[..], &["--ts-recv", "event", "-o", &records, "--force"]].concat());
        let of = |books: &[&str]| {
            good(&[books, &[&records, "--symbols", "*", "--format", "csv"]].concat()).stdout
        };
        [of(&["inside"]), of(&["book", "--at", "12:00"])]
    });
    assert!(home.iter().all(|rows| rows.lines().count() > 4));
    assert!(there == home);
    // The counters and the state of the plant.
    let stat = |ring: &str| {
        let stat = json(&good(&["stat", ring, "--interval", "0", "--format", "json"]).stdout);
        ["state", "messages", "records", "notices", "live_orders", "ts_event"]
            .map(|figure| stat[figure].clone())
    };
    assert_eq!(stat(&target), stat(market.ring()));
    assert!(stat(&target)[1].as_u64().is_some_and(|messages| messages > 0), "{:?}", stat(&target));
    assert!(good(&["ring", "verify", &target]).stdout.contains("OK"));
}

fn next(market: &Market) -> u64 {
    next_sequence(market.ring())
}

/// A plant in a process of its own that takes some seconds for its day.
fn slow_plant(market: &Market, options: &[&str]) -> Running {
    let run = ["run", "--input", &market.day, "--ring", market.ring(), "--pace", "6000x"];
    let run = [&run[..], &["--format", "json"], options].concat();
    let mut plant = Running::start(&run);
    plant.read_json();
    plant
}

#[test]
fn a_mirror_that_is_killed_again_and_again_has_every_message_once() {
    let market = Market::new("mirror-killed", 30_000, 12);
    let target = market.folder.path("mirror");
    let mut plant = slow_plant(&market, &[]);
    let (mut last, mut kills) = (1, 0);
    while kills < 3 || plant.is_running() && kills < 20 {
        let (mut copy, begun) = mirror(market.ring(), &target, &[]);
        kills += 1;
        let resumed = begun["next_sequence"].as_u64().unwrap();
        assert_eq!((resumed, begun["writer_epoch"].as_u64()), (last, Some(kills)));
        eventually("messages, or the end", || {
            next_sequence(&target) > resumed + 200 || !copy.is_running()
        });
        copy.signal(Signal::KILL);
        let _ = copy.process.wait().unwrap();
        last = next_sequence(&target);
    }
    println!("{kills} mirrors were killed up to message {last}");
    let (status, summary, complained) = mirrored(market.ring(), &target, &[]);
    assert_eq!((status, &summary["lost"]), (Some(0), &0.into()), "{complained}");
    assert_eq!(plant.end().0, Some(0));
    let tap =
        |ring| good(&["tap", ring, "--from", "oldest", "--check-digest", "--format", "csv"]).stdout;
    assert!(tap(market.ring()).lines().count() > 30_000);
    assert_eq!(tap(&target), tap(market.ring()));
}

#[test]
fn a_mirror_that_was_stopped_has_a_gap_that_heals() {
    let market = Market::new("mirror-stopped", 30_000, 12);
    let (target, journal) = (market.folder.path("mirror"), market.folder.path("journal"));
    let options = ["--capacity", "64KiB", "--journal", &journal, "--journal-segment", "1MiB"];
    let mut plant = slow_plant(&market, &options);
    let (mut copy, _) = mirror(market.ring(), &target, &["--capacity", "64MiB"]);
    let heal = ["--heal", &journal, "--from", "oldest", "--strict", "--format", "json"];
    let mut live = Running::start(&[&["tap", &target], &heal[..]].concat());
    eventually("some messages", || next_sequence(&target) > 2_000);
    copy.signal(Signal::STOP);
    let stopped_at = next_sequence(&target);
    eventually("a lap", || next_sequence(market.ring()) > stopped_at + 5_000);
    copy.signal(Signal::CONT);
    assert_eq!(plant.end().0, Some(0));
    let (status, said, complained) = copy.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains(": lost "), "{complained}");
    let lost = json(said.lines().last().unwrap())["lost"].as_u64().unwrap();
    assert!(lost > 1_000, "{lost}");

    let seen = rows(&[&target, "--from", "oldest"]);
    let in_gaps: u64 = seen
        .iter()
        .filter(|row| row["record"] == "lost")
        .map(|row| row["lost_to"].as_u64().unwrap() - row["lost_from"].as_u64().unwrap() + 1)
        .sum();
    assert_eq!(in_gaps, lost);
    // A reader that was there all the time, and one that comes later.
    let whole = rows(&[&journal]);
    assert!(whole.len() > 30_000, "{}", whole.len());
    assert_eq!(rows(&[&target, "--from", "oldest", "--heal", &journal, "--strict"]), whole);
    let (status, live, complained) = live.end();
    assert_eq!(status, Some(0), "{complained}");
    let mut live = objects(&live);
    let healed = live.iter().filter(|row| row["record"] == "healed").count();
    live.retain(|row| row["record"] != "healed");
    assert!(healed > 0 && live == whole, "{healed} returns, {} rows", live.len());
    assert!(good(&["ring", "verify", &target]).stdout.contains("OK"));
}

#[test]
fn a_mirror_of_a_journal_loses_nothing_and_names_its_stocks() {
    let market = Market::new("mirror-journal", 20_000, 12);
    run(&market.config());
    let (target, journal) = (market.folder.path("mirror"), market.folder.path("journal"));
    good(&["journal", "record", market.ring(), &journal]);
    let tap = |ring: &str| {
        good(&["tap", ring, "--from", "oldest", "--check-digest", "--format", "csv"]).stdout
    };
    let home = tap(market.ring());
    // A part of it, twice.
    for (from, first) in [("1", 1), ("5000", 5_000)] {
        let options = ["--from", from, "--replace"];
        let (status, summary, complained) = mirrored(&journal, &target, &options);
        assert_eq!((status, &summary["lost"]), (Some(0), &0.into()), "{complained}");
        if first == 1 {
            assert_eq!(tap(&target), home);
        }
        fs::remove_file(nanotape_board::board_path(target.as_ref())).unwrap();
        fs::remove_file(&target).unwrap();
    }
    // The journal is that of the ring, so a mirror of one continues with the other.
    let (_, summary, _) = mirrored(&journal, &target, &[]);
    let next = summary["next_sequence"].clone();
    let (status, summary, complained) = mirrored(market.ring(), &target, &[]);
    assert_eq!(
        (status, &summary["mirrored"], &summary["next_sequence"]),
        (Some(0), &0.into(), &next)
    );
    assert_eq!(tap(&target), home, "{complained}");
    let healed = rows(&[&target, "--heal", &journal, "--from", "oldest"]);
    assert_eq!(healed, rows(&[market.ring(), "--from", "oldest"]));
}

#[test]
fn numbers_that_a_journal_gives_again_begin_an_empty_ring() {
    let folder = Folder::new("mirror-reused");
    let (journal, target) = (folder.path("journal"), folder.path("mirror"));
    let mut appender = Appender::open(journal.as_ref(), &AppenderOptions::default()).unwrap();
    for number in 1..=10_u64 {
        appender.append(7, number, &number.to_le_bytes()).unwrap();
    }
    let mut copy = start(&journal, &target, &[]);
    wait_for(&target, 11);
    let old = RingMonitor::open(target.as_ref()).unwrap();
    appender.rewind_to(6).unwrap();
    for number in 106..=112_u64 {
        appender.append(7, number, &number.to_le_bytes()).unwrap();
    }
    let is_replaced = || old.region().check().is_err() && next_sequence(&target) == 13;
    eventually("an empty ring", is_replaced);
    copy.signal(Signal::TERM);
    let (status, _, complained) = copy.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains("gives the numbers from 6 on again"), "{complained}");
    let seen = objects(&dump(&target));
    let numbers: Vec<u64> = seen.iter().map(|row| row["sequence"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (6..=12).collect::<Vec<_>>());

    // A mirror that did not run meanwhile finds the difference.
    appender.rewind_to(10).unwrap();
    for number in 210..=220_u64 {
        appender.append(7, number, &number.to_le_bytes()).unwrap();
    }
    let (status, _, complained) = mirrored(&journal, &target, &[]);
    assert_eq!(status, Some(2));
    assert!(complained.contains("differs from message 12 of the source"), "{complained}");
    appender.rewind_to(3).unwrap();
    let (status, _, complained) = mirrored(&journal, &target, &[]);
    assert_eq!(status, Some(2));
    assert!(complained.contains("its next message is 13, but the next one of the source is 3"));
    drop(appender);
    let (status, summary, complained) = mirrored(&journal, &target, &["--replace"]);
    assert_eq!((status, &summary["mirrored"]), (Some(0), &2.into()), "{complained}");
}

#[test]
fn a_mirror_ends_as_its_source_and_continues_with_the_next_writer_and_the_next_ring() {
    let (source, target) = (Ring::new("mirror-source"), Ring::new("mirror-target"));
    let state = || RingMonitor::open(&target.0).unwrap().sample().unwrap().owner.state;
    let publisher = |options: &[&str]| {
        let arguments = ["ring", "publish", source.path(), "--format", "json"];
        let mut publisher = Running::start_fed(&[&arguments, options].concat());
        publisher.read_json();
        publisher
    };
    let mut first = publisher(&["--slots", "64"]);
    first.say("one");
    let options = ["--through-restarts", "--fail-on-loss"];
    let (mut copy, _) = mirror(source.path(), target.path(), &options);
    wait_for(target.path(), 2);
    assert_eq!(state(), OwnerState::Alive);
    first.signal(Signal::KILL);
    let _ = first.process.wait().unwrap();
    eventually("a dead writer", || state() == OwnerState::Dead);
    let mut second = publisher(&["--slots", "64"]);
    second.say("two");
    wait_for(target.path(), 3);
    assert_eq!(state(), OwnerState::Alive);
    assert_eq!(second.end().0, Some(0));
    eventually("a closed ring", || state() == OwnerState::Closed);
    assert_eq!(dump(target.path()), dump(source.path()));
    assert!(good(&["ring", "stat", target.path()]).stdout.contains("slots, 64 of 112 bytes"));

    let old = RingMonitor::open(&target.0).unwrap();
    publish(source.path(), 1..=3, &["--slots", "64", "--replace"]);
    wait_for(target.path(), 4);
    assert!(old.region().check().is_err());
    assert_eq!(dump(target.path()), dump(source.path()));
    copy.signal(Signal::TERM);
    let (status, said, complained) = copy.end();
    assert_eq!((status, &json(said.lines().last().unwrap())["mirrored"]), (Some(0), &5.into()));
    assert!(complained.contains("is another ring now"), "{complained}");
}

#[test]
fn a_mirror_refuses_what_it_cannot_continue() {
    let (source, target) = (Ring::new("mirror-refused"), Ring::new("mirror-refused-target"));
    let refused = |options: &[&str], expected: &str, of: i32| {
        let (status, _, complained) = mirrored(source.path(), target.path(), options);
        assert_eq!(status, Some(of), "{options:?}: {complained}");
        let last = complained.lines().last().unwrap();
        assert!(last.contains(expected), "{last}");
    };
    refused(&[], "does not exist", 2);
    refused(&["--wait", "0.05"], "was not created within 0.05 s", 2);
    publish(source.path(), 1..=100, &[]);
    let itself = nanotape(["ring", "mirror", source.path(), source.path()]);
    assert_eq!(itself.status, 2);
    assert!(itself.stderr.contains("is the source itself"), "{}", itself.stderr);
    refused(&["--node", "4000"], "no such memory node", 2);
    refused(&["--from", "@0"], "a ring keeps no times", 2);
    refused(&["--from", "102"], "is not published yet", 2);
    refused(&["--slots", "64", "--max-length", "8"], "message 1 of the source: a message of 9", 1);
    publish(target.path(), 1..=3, &["--replace"]);
    refused(&[], "has messages of a ring created at", 2);
    assert_eq!(next_sequence(target.path()), 4, "a refused target is unchanged");
    fs::write(&target.0, "of another program").unwrap();
    refused(&["--replace"], "is not a region", 2);
    fs::remove_file(&target.0).unwrap();

    // A target that is removed ends its mirror.
    let publisher = ["ring", "publish", source.path(), "--format", "json"];
    let mut publisher = Running::start_fed(&publisher);
    publisher.read_json();
    let (mut copy, begun) = mirror(source.path(), target.path(), &["--node", "0"]);
    assert_eq!((&begun["cpus"].is_string(), &begun["next_sequence"]), (&true, &1.into()));
    fs::remove_file(&target.0).unwrap();
    let (status, _, complained) = copy.end();
    assert!(
        status == Some(1) && complained.contains("the ring of this mirror is lost"),
        "{complained}"
    );
}

/// The last message can be equal although those before it are not, such as a line that repeats.
#[test]
fn a_restarted_mirror_compares_more_than_the_last_message() {
    let folder = Folder::new("mirror-again");
    let (journal, target) = (folder.path("journal"), folder.path("ring"));
    let append = |word: &str, count: u64, last: &[u8]| {
        let lines: String = (1..=count).map(|line| format!("{word} {line}\n")).collect();
        let ran = nanotape_fed(["journal", "append", &journal], &[lines.as_bytes(), last].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    };
    for (before, again) in [(99, 99), (99, 120)] {
        append("first", before, b"the same\n");
        let (status, _, complained) = mirrored(&journal, &target, &["--replace"]);
        assert_eq!(status, Some(0), "{complained}");
        fs::remove_dir_all(&journal).unwrap();
        append("again", 99, b"the same\n");
        append("later", again - 99, b"");
        let (status, _, complained) = mirrored(&journal, &target, &[]);
        assert_eq!(status, Some(2), "{complained}");
        assert!(complained.contains("does not continue"), "{complained}");
        fs::remove_dir_all(&journal).unwrap();
    }
}

#[test]
fn the_ring_of_a_mirror_that_ends_with_an_error_is_not_taken_for_whole() {
    let (source, target) = (Ring::new("mirror-long"), Ring::new("mirror-short"));
    let mut publisher = Running::start_fed(&["ring", "publish", source.path()]);
    publisher.say("short");
    publisher.say(&"long ".repeat(2_000));
    eventually("both messages are there", || next_sequence(source.path()) == 3);
    let capacity = ["--capacity", "4KiB"];
    let (status, _, complained) = mirrored(source.path(), target.path(), &capacity);
    assert_eq!(status, Some(1), "{complained}");
    let stat = RingMonitor::open(target.path().as_ref()).unwrap().sample().unwrap();
    assert_eq!((stat.next_sequence, stat.owner.state), (2, OwnerState::Dead));
}
