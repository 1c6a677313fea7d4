//! Rings on Aeron streams between real processes: a plant, publishers and taps that are stopped and
//! killed, and media drivers of their own, of a publisher or of a tap.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI32, Ordering},
    time::Duration,
};

use nanotape_aeron::{DriverPace, MediaDriver};
use nanotape_harness::{Peer, Task, eventually, listen, say, unused_address};
use nanotape_tape::ShutdownFlag;
use rustix::process::Signal;
use serde_json::Value;

use crate::{
    support::{
        Ran, nanotape,
        running::{Running, json, objects},
    },
    tap::plants::{Market, begin},
};

/// A media driver in a process of its own, with a folder that is removed.
struct Driver {
    peer: Peer,
    dir: PathBuf,
}

impl Driver {
    fn start(name: &str) -> Self {
        let dir = PathBuf::from(format!("/dev/shm/aeron-test-{name}-{}", std::process::id()));
        let task = Task::new("media driver", &dir);
        let mut peer = Peer::start(task.command("aeron::streams::driver"));
        assert_eq!(peer.receive(), "ready");
        Self { peer, dir }
    }

    fn dir(&self) -> &str {
        self.dir.to_str().unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Not a test: the work of a driver's process.
#[test]
fn driver() {
    let Some(task) = Task::of_this_process() else { return };
    let _driver = MediaDriver::start(Some(&task.path), DriverPace::Sleep).unwrap();
    say("ready");
    listen();
}

/// A stream of its own for each test.
fn stream() -> String {
    static STREAM: AtomicI32 = AtomicI32::new(1_000);
    STREAM.fetch_add(1, Ordering::Relaxed).to_string()
}

fn publisher(ring: &str, channel: &str, stream: &str, options: &[&str]) -> Running {
    let publish = ["ring", "publish-aeron", ring, "--channel", channel, "--stream", stream];
    let mut running = Running::start(&[&publish[..], &["--format", "json"], options].concat());
    assert_eq!(running.read_json()["channel"], channel);
    running
}

fn address(channel: &str, stream: &str) -> String {
    let separator = if channel.contains('?') { '|' } else { '?' };
    format!("{channel}{separator}stream={stream}")
}

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// The rows without the returns to the ring.
fn rows(output: &str) -> Vec<Value> {
    objects(output).into_iter().filter(|row| row["record"] != "healed").collect()
}

/// A plant in a process of its own that takes some seconds for its day.
fn slow_plant(market: &Market, options: &[&str]) -> Running {
    let run = ["run", "--input", &market.day, "--ring", market.ring(), "--pace", "6000x"];
    let mut plant = Running::start(&[&run[..], &["--format", "json"], options].concat());
    plant.read_json();
    plant
}

/// Until the plant has a journal and has published this many records.
fn until_published(market: &Market, sequence: u64) {
    eventually("records", || {
        let monitor = nanotape_ring::RingMonitor::open(market.ring().as_ref());
        monitor.is_ok_and(|monitor| monitor.sample().unwrap().next_sequence > sequence)
    });
}

/// A tap has the rows of a tap of the ring, and the digest of the plant.
fn has_the_rows_of_the_ring(name: &str, channel: &str, sides: [&[&str]; 2]) {
    let market = Market::new(name, 20_000, 12);
    let stream = stream();
    let mut plant = begin(&market.config());
    let mut publisher = publisher(market.ring(), channel, &stream, sides[0]);
    let input = address(channel, &stream);
    let tap = ["tap", &input, "--check-digest", "--fail-on-loss", "--format", "csv"];
    let mut tap = Running::start(&[&tap[..], sides[1]].concat());
    // Its first line is the header; the plant's start is a record.
    let head = tap.read_line() + &tap.read_line();
    plant.run(|_| ()).unwrap();
    drop(plant);
    let (status, rest, complained) = tap.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains("is that of the plant"), "{complained}");
    let home = good(&["tap", market.ring(), "--from", "oldest", "--format", "csv"]).stdout;
    assert!(home.lines().count() > 20_000);
    assert!(head + &rest == home, "the rows differ");
    let (status, said, complained) = publisher.end();
    assert_eq!(status, Some(0), "{complained}");
    let summary = json(said.lines().last().unwrap());
    assert_eq!((&summary["lost"], &summary["unsent"]), (&0.into(), &0.into()), "{summary}");
    let [published, batches] = ["published", "batches"].map(|name| summary[name].as_u64().unwrap());
    assert!(published > 20_000 && batches < published, "{summary}");
}

#[test]
fn a_tap_over_shared_memory_has_the_rows_of_the_ring() {
    let driver = Driver::start("ipc");
    let option = ["--aeron-dir", driver.dir()];
    has_the_rows_of_the_ring("aeron-ipc", "aeron:ipc", [&option, &option]);
}

#[test]
fn a_tap_over_udp_has_the_rows_of_the_ring() {
    let channel = format!("aeron:udp?endpoint={}", unused_address());
    let option = ["--embedded-driver"];
    has_the_rows_of_the_ring("aeron-udp", &channel, [&option, &option]);
}

#[test]
fn a_tap_over_multicast_has_the_rows_of_the_ring() {
    let port = unused_address().port();
    let channel = format!("aeron:udp?endpoint=239.255.11.7:{port}|interface=127.0.0.1|ttl=0");
    let option = ["--embedded-driver"];
    has_the_rows_of_the_ring("aeron-multicast", &channel, [&option, &option]);
}

/// A tap that is stopped for seconds while a small ring goes round many times.
fn is_complete_after_a_stop(name: &str, channel: &str, sides: [&[&str]; 2]) {
    let market = Market::new(name, 30_000, 12);
    let journal = market.folder.path("journal");
    let options = ["--capacity", "64KiB", "--journal", &journal, "--journal-segment", "1MiB"];
    let stream = stream();
    let mut plant = slow_plant(&market, &options);
    // A small term: otherwise Aeron's buffers hold what the ring overwrites.
    let channel = match channel.contains('?') {
        true => format!("{channel}|term-length=64k"),
        false => format!("{channel}?term-length=64k"),
    };
    let mut publisher = publisher(market.ring(), &channel, &stream, sides[0]);
    let input = address(&channel, &stream);
    let heal = ["--heal", &journal, "--from", "oldest", "--strict", "--format", "json"];
    let mut tap = Running::start(&[&["tap", &input], &heal[..], sides[1]].concat());
    tap.read_json();
    let stopped_at = nanotape_ring::RingMonitor::open(market.ring().as_ref()).unwrap();
    let stopped_at = stopped_at.sample().unwrap().next_sequence;
    tap.signal(Signal::STOP);
    // Some seconds, as far as the day is long enough.
    ShutdownFlag::new().sleep(Duration::from_secs(2));
    until_published(&market, stopped_at + 8_000);
    tap.signal(Signal::CONT);
    assert_eq!(plant.end().0, Some(0));
    let (status, said, complained) = tap.end();
    assert_eq!(status, Some(0), "{complained}");
    let (status, summary, reported) = publisher.end();
    assert_eq!(status, Some(0), "{reported}");
    let summary = json(summary.lines().last().unwrap());
    let lost = summary["lost"].as_u64().unwrap();
    assert!(lost > 1_000, "{summary}");
    let whole = rows(&good(&["tap", &journal, "--format", "json"]).stdout);
    assert!(whole.len() > 30_000);
    // Its first row was read above.
    assert!(rows(&said) == whole[1..], "{lost} lost by the publisher: {complained}");
}

#[test]
fn a_tap_that_was_stopped_is_complete_with_its_journal_over_shared_memory() {
    let driver = Driver::start("stopped-ipc");
    let option = ["--aeron-dir", driver.dir()];
    is_complete_after_a_stop("aeron-stopped-ipc", "aeron:ipc", [&option, &option]);
}

#[test]
fn a_tap_that_was_stopped_is_complete_with_its_journal_over_udp() {
    let channel = format!("aeron:udp?endpoint={}", unused_address());
    let option = ["--embedded-driver"];
    is_complete_after_a_stop("aeron-stopped-udp", &channel, [&option, &option]);
}

#[test]
fn a_publisher_that_is_killed_is_continued_by_the_next_one() {
    let market = Market::new("aeron-killed", 30_000, 12);
    let journal = market.folder.path("journal");
    let channel = format!("aeron:udp?endpoint={}", unused_address());
    let stream = stream();
    let driver = Driver::start("killed");
    let options = ["--aeron-dir", driver.dir()];
    let mut plant = slow_plant(&market, &["--journal", &journal]);
    let mut publisher = publisher(market.ring(), &channel, &stream, &options);
    let input = address(&channel, &stream);
    let heal = ["--heal", &journal, "--from", "oldest", "--strict", "--format", "json"];
    let mut tap = Running::start(&[&["tap", &input], &heal[..], &options].concat());
    tap.read_json();
    let mut kills = 0;
    while kills < 3 {
        let sampled = nanotape_ring::RingMonitor::open(market.ring().as_ref()).unwrap();
        let next = sampled.sample().unwrap().next_sequence;
        until_published(&market, next + 1_000);
        publisher.signal(Signal::KILL);
        let _ = publisher.process.wait().unwrap();
        kills += 1;
        publisher = self::publisher(market.ring(), &channel, &stream, &options);
    }
    assert_eq!(plant.end().0, Some(0));
    let (status, said, complained) = tap.end();
    assert_eq!(status, Some(0), "{complained}");
    let whole = rows(&good(&["tap", &journal, "--format", "json"]).stdout);
    assert!(rows(&said) == whole[1..], "{complained}");
    assert_eq!(publisher.end().0, Some(0));
}

#[test]
fn a_tap_that_comes_late_begins_with_what_arrives_and_a_journal_has_the_rest() {
    let market = Market::new("aeron-late", 30_000, 12);
    let journal = market.folder.path("journal");
    let driver = Driver::start("late");
    let options = ["--aeron-dir", driver.dir()];
    let stream = stream();
    let mut plant = slow_plant(&market, &["--journal", &journal]);
    let mut publisher = publisher(market.ring(), "aeron:ipc", &stream, &options);
    let input = address("aeron:ipc", &stream);
    let tap = |more: &[&str]| {
        Running::start(&[&["tap", &input, "--format", "json"], &options[..], more].concat())
    };
    // The first tap sets the publisher free.
    let mut first = tap(&[]);
    first.read_json();
    until_published(&market, 5_000);
    let mut late = tap(&[]);
    let mut whole = tap(&["--heal", &journal, "--from", "oldest"]);
    assert_eq!(plant.end().0, Some(0));
    let [(first, _), (late, complained), (whole, _)] =
        [&mut first, &mut late, &mut whole].map(|tap| {
            let (status, said, complained) = tap.end();
            assert_eq!(status, Some(0), "{complained}");
            (rows(&said), complained)
        });
    let home = rows(&good(&["tap", &journal, "--format", "json"]).stdout);
    assert!(first == home[1..]);
    assert!(whole == home);
    let from = home.iter().position(|row| row["sequence"] == late[0]["sequence"]).unwrap();
    assert!(from > 1_000, "{from}");
    // Its names come from definitions, which it came too late for.
    assert_eq!(late.len(), home.len() - from, "{complained}");
    assert_eq!(publisher.end().0, Some(0));
}

#[test]
fn a_media_driver_that_is_killed_ends_both_sides_with_its_name() {
    let market = Market::new("aeron-driver", 2_000, 4);
    let mut driver = Driver::start("driver");
    let options = ["--aeron-dir", driver.dir()];
    let stream = stream();
    let mut plant = begin(&market.config());
    let mut publisher = publisher(market.ring(), "aeron:ipc", &stream, &options);
    let input = address("aeron:ipc", &stream);
    let mut tap = Running::start(&[&["tap", &input, "--format", "json"], &options[..]].concat());
    tap.read_json();
    driver.peer.kill();
    for side in [&mut publisher, &mut tap] {
        let (status, _, complained) = side.end();
        assert_eq!(status, Some(1), "{complained}");
        let lost = "the Aeron media driver is lost";
        let line = complained.lines().find(|line| line.contains(lost));
        assert!(line.is_some_and(|line| line.contains(driver.dir())), "{complained}");
    }
    // The plant is not affected.
    plant.run(|_| ()).unwrap();
}

#[test]
fn a_publisher_whose_own_driver_died_with_it_starts_again_in_the_same_folder() {
    let market = Market::new("aeron-own-driver", 2_000, 4);
    let dir = market.folder.path("driver");
    let options = ["--aeron-dir", &dir];
    let embedded = [&options[..], &["--embedded-driver"]].concat();
    let stream = stream();
    let mut plant = begin(&market.config());
    let mut first = publisher(market.ring(), "aeron:ipc", &stream, &embedded);
    let input = address("aeron:ipc", &stream);
    let tap = || Running::start(&[&["tap", &input, "--format", "json"], &options[..]].concat());
    let mut tapped = tap();
    tapped.read_json();
    first.signal(Signal::KILL);
    let _ = first.process.wait().unwrap();
    let mut second = publisher(market.ring(), "aeron:ipc", &stream, &embedded);
    assert_eq!(tapped.end().0, Some(1));
    let mut tapped = tap();
    assert_eq!(tapped.read_json()["sequence"], 1);
    plant.run(|_| ()).unwrap();
    drop(plant);
    for side in [&mut second, &mut tapped] {
        let (status, _, complained) = side.end();
        assert_eq!(status, Some(0), "{complained}");
    }
    assert!(!Path::new(&dir).exists(), "its folder is removed at its end");
}

#[test]
fn a_ring_that_is_replaced_ends_its_taps_and_not_its_publisher() {
    let market = Market::new("aeron-replaced", 2_000, 4);
    let driver = Driver::start("replaced");
    let options = ["--aeron-dir", driver.dir(), "--through-restarts"];
    let stream = stream();
    let mut plant = begin(&market.config());
    let mut publisher = publisher(market.ring(), "aeron:ipc", &stream, &options);
    let input = address("aeron:ipc", &stream);
    let tap = || Running::start(&[&["tap", &input, "--format", "json"], &options[..]].concat());
    let mut first = tap();
    first.read_json();
    plant.run(|_| ()).unwrap();
    drop(plant);
    assert!(first.is_running(), "it waits for the next plant");
    fs::remove_file(market.ring()).unwrap();
    let mut plant = begin(&market.config());
    assert_eq!(publisher.read_json()["next_sequence"], 1);
    let (status, _, complained) = first.end();
    assert_eq!(status, Some(1), "{complained}");
    assert!(complained.contains("another ring is published on this stream"), "{complained}");
    let mut second = tap();
    assert_eq!(second.read_json()["sequence"], 1);
    plant.run(|_| ()).unwrap();
    drop(plant);
    for running in [&mut publisher, &mut second] {
        running.signal(Signal::TERM);
        let (status, _, complained) = running.end();
        assert_eq!(status, Some(0), "{complained}");
    }
}

#[test]
fn what_cannot_be_opened_is_named() {
    let market = Market::new("aeron-refused", 20, 2);
    let driver = Driver::start("refused");
    let dir = market.folder.path("no-driver");
    let refused = |arguments: &[&str], expected: &str| {
        let ran = nanotape(arguments);
        let last = ran.stderr.lines().last().unwrap_or_default().to_owned();
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(last.contains(expected), "{last}");
    };
    let tap = |input: &str, dir: &str, expected: &str| {
        refused(&["tap", input, "--aeron-dir", dir], expected);
    };
    tap("aeron:ipc?stream=7", &dir, "no Aeron media driver runs in this folder");
    tap("aeron:ipc?stream=7", driver.dir(), "no publisher was found within 5 s");
    tap("aeron:udp?endpoint=nowhere.invalid:1|stream=7", driver.dir(), "Aeron cannot add");
    tap("aeron:udp?endpoint=127.0.0.1|stream=7", driver.dir(), "Aeron cannot add");
    let publish = ["ring", "publish-aeron", market.ring(), "--stream", "7", "--channel"];
    let with = |more: &[&'static str]| [&publish[..], more].concat();
    let running = ["--aeron-dir", driver.dir()];
    refused(&[&with(&["aeron:ipc"])[..], &running].concat(), "does not exist");
    refused(
        &[&with(&["aeron:udp?endpoint=x:y:z"])[..], &running].concat(),
        "Aeron cannot add the publication",
    );
    // Two drivers do not share a folder.
    let embedded = ["--embedded-driver", "--aeron-dir", driver.dir()];
    refused(&[&with(&["aeron:ipc"])[..], &embedded].concat(), "Active media driver detected");
    assert!(Path::new(driver.dir()).join("cnc.dat").exists());
}
