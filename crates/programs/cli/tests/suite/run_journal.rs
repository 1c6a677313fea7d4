//! `nanotape run --journal` with real processes: the recorder is killed, the plant is killed, the
//! disk is full, and nothing is lost.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, thread, time::Duration};

use nanotape_harness::{BoundedChild as _, Mount, Random, eventually};
use nanotape_journal::{Start, Tail, Tailer};
use nanotape_plant::records::StopReason;
use rustix::process::{Pid, Signal, getpgid, kill_process};
use serde_json::Value;

use crate::support::{
    Folder, Ran, nanotape,
    plants::{DATE, Ring},
    running::{Running, json, objects, whole},
};

/// A small ring: a plant at full speed fills it many times.
const SMALL: [&str; 2] = ["--capacity", "64KiB"];

/// A plant that is recorded.
struct Recorded {
    folder: Folder,
    day: String,
    journal: String,
    ring: Ring,
}

impl Recorded {
    fn new(name: &str, messages: u64) -> Self {
        let folder = Folder::new(name);
        let (day, journal) = (folder.day(messages, 20), folder.path("days/journal"));
        Self { folder, day, journal, ring: Ring::new(name) }
    }

    fn arguments<'a>(&'a self, options: &[&'a str]) -> Vec<&'a str> {
        self.arguments_with(&self.journal, options)
    }

    fn arguments_with<'a>(&'a self, journal: &'a str, options: &[&'a str]) -> Vec<&'a str> {
        let run = ["run", "--input", &self.day, "--date", DATE, "--ring", self.ring.path()];
        [&run, ["--journal", journal, "--format", "json"].as_slice(), options].concat()
    }

    /// A plant that runs to its end.
    fn run(&self, options: &[&str]) -> Ran {
        nanotape(self.arguments(options))
    }

    /// A plant that has begun.
    fn start(&self, options: &[&str]) -> Running {
        let mut plant = Running::start(&self.arguments(options));
        plant.read_json();
        plant
    }

    fn stat(&self) -> Value {
        json(&nanotape(["stat", self.ring.path(), "--interval", "0", "--format", "json"]).stdout)
    }

    /// Waits until the recorder is in this state; returns its process.
    fn until(&self, state: &str) -> Pid {
        let mut seen = Value::Null;
        eventually(&format!("a recorder that is {state}"), || {
            seen = self.stat();
            seen["recorder_state"] == state
        });
        Pid::from_raw(seen["recorder_pid"].as_i64().unwrap() as i32).unwrap()
    }

    /// Checks that the journal has all messages of the ring from the first on, and is undamaged.
    fn check_journal(&self) {
        let ran = nanotape(["journal", "verify", &self.journal, "--format", "json"]);
        assert_eq!(ran.status, 0, "{}", ran.stdout);
        let mut tailer = Tailer::open(Path::new(&self.journal), Start::Oldest).unwrap();
        let mut next = 1;
        loop {
            match tailer.next().unwrap() {
                Tail::Excerpt(excerpt) => assert_eq!(excerpt.sequence(), next),
                Tail::Nothing => break,
                other => panic!("before {next}: {other:?}"),
            }
            next += 1;
        }
        assert_eq!(next, self.ring.next_sequence());
    }

    /// Checks that the journal gives the answers of the day.
    fn check_insides(&self) {
        let insides = |input| {
            let ran = nanotape(["inside", input, "--format", "csv"]);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            ran.stdout
        };
        assert!(insides(&self.day) == insides(&self.journal), "the answers differ");
    }
}

/// The last line of a plant that ended well.
fn ended(ran: &Ran) -> Value {
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    objects(&ran.stdout).pop().unwrap()
}

fn is_gone(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    // In a container without an init process, an orphan that ended stays in this state.
    stat.map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn a_day_at_full_speed_on_a_small_ring_is_recorded_whole() {
    let recorded = Recorded::new("run-journal", 100_000);
    let ran = recorded.run(&SMALL);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let [start, stop] = objects(&ran.stdout).try_into().unwrap();
    assert_eq!(start["journal"], recorded.journal);
    let day_bytes = fs::metadata(&recorded.day).unwrap().len();
    assert_eq!(start["journal_estimated_bytes"], day_bytes * 9 / 2);
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    assert!(stop["recorder_wait_ns"].as_u64().unwrap() > 0, "{stop}");
    assert_eq!(recorded.stat()["recorder_state"], "gone");
    recorded.check_journal();
    recorded.check_insides();

    // Once more on the same ring and journal, as text.
    let mut arguments = recorded.arguments(&SMALL);
    arguments.retain(|argument| !["--format", "json"].contains(argument));
    let text = nanotape(arguments).stdout;
    let about = format!("{}: about ", recorded.journal);
    assert!(text.lines().nth(1).unwrap().starts_with(&about), "the size comes first: {text}");
    let line = text.lines().last().unwrap();
    let expected =
        format!("{}: {} messages recorded, 0 lost; waited ", recorded.journal, stop["records"]);
    assert!(line.starts_with(&expected) && line.ends_with(" for the recorder"), "{text}");
    recorded.check_journal();
}

#[test]
fn a_recorder_that_is_killed_again_and_again_loses_nothing() {
    let recorded = Recorded::new("run-journal-killed", 600_000);
    let mut plant = recorded.start(&["--capacity", "256KiB"]);
    let (mut random, mut kills) = (Random::new(7), 0);
    while plant.is_running() {
        thread::sleep(Duration::from_millis(20 + random.below(150)));
        let seen = recorded.stat();
        if seen["state"] == "running" && seen["recorder_state"] == "recording" {
            let recorder = Pid::from_raw(seen["recorder_pid"].as_i64().unwrap() as i32).unwrap();
            kills += u64::from(kill_process(recorder, Signal::KILL).is_ok());
        }
    }
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(0), "{complained}");
    let stop = json(&said);
    assert!(kills >= 3, "{kills} kills");
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    let restarts = complained.matches("recorder: killed by signal 9; started again").count();
    assert!(restarts as u64 <= kills && restarts > 0, "{kills} kills: {complained}");
    recorded.check_journal();
    recorded.check_insides();
}

#[test]
fn the_recorder_of_a_killed_plant_records_the_rest_and_ends() {
    let recorded = Recorded::new("run-journal-orphan", 60_000);
    let mut plant = recorded.start(&["--pace", "1x", "--pace-from", "12:00"]);
    let recorder = recorded.until("recording");
    // Ctrl-C goes to the group of the plant.
    assert_eq!(getpgid(Some(recorder)).unwrap(), recorder);
    plant.signal(Signal::KILL);
    plant.end();
    recorded.until("gone");
    eventually("the recorder is gone", || is_gone(recorder));
    assert_eq!(recorded.stat()["recorder_lag_messages"], 0);
    assert!(recorded.ring.next_sequence() > 1);
    recorded.check_journal();
}

#[test]
fn plants_that_are_killed_and_started_again_at_once_are_recorded_whole() {
    let recorded = Recorded::new("run-journal-again", 60_000);
    for _ in 0..4 {
        let mut plant = recorded.start(&["--pace", "1x", "--pace-from", "11:00"]);
        plant.signal(Signal::KILL);
        plant.end();
    }
    let first = recorded.ring.next_sequence();
    let ran = recorded.run(&[]);
    let stop = ended(&ran);
    assert_eq!(ran.stderr, "");
    let next = recorded.ring.next_sequence();
    assert_eq!((&stop["recorded"], &stop["lost"]), (&(next - first).into(), &0.into()));
    recorded.check_journal();
}

#[test]
fn a_plant_with_another_journal_waits_for_the_recorder_of_the_last_one() {
    let recorded = Recorded::new("run-journal-other", 60_000);
    let mut plant = recorded.start(&["--pace", "1x", "--pace-from", "11:00"]);
    plant.signal(Signal::KILL);
    plant.end();
    // A journal that begins later lacks the messages that the ring has overwritten.
    let other = recorded.folder.path("other");
    let stop = ended(&nanotape(recorded.arguments_with(&other, &[])));
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    let seen = recorded.stat();
    assert_eq!(
        (&seen["recorder_journal"], &seen["recorder_lag_messages"]),
        (&other.into(), &0.into())
    );
}

#[test]
fn a_recorder_that_is_there_already_is_accepted() {
    let recorded = Recorded::new("run-journal-there", 60_000);
    let (ring, journal) = (recorded.ring.path(), &recorded.journal);
    let record = ["journal", "record", ring, journal, "--through-restarts", "--wait", "60"];
    let mut recorder = Running::start(&record);
    // The recorder has the journal before the plant's own starts.
    let stat = ["journal", "stat", journal, "--format", "json"];
    eventually("the journal has its appender", || {
        nanotape(stat).stdout.contains("\"appender_state\":\"alive\"")
    });
    for _ in 0..2 {
        let stop = ended(&recorded.run(&SMALL));
        assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
        assert!(recorder.is_running());
    }
    recorder.signal(Signal::INT);
    assert_eq!(recorder.end().0, Some(0));
    recorded.check_journal();
}

#[test]
fn a_plant_that_waits_for_its_journal_says_so_and_ends_on_request() {
    let recorded = Recorded::new("run-journal-taken", 2_000);
    let mut appender = Running::start_fed(&["journal", "append", &recorded.journal]);
    appender.say("a line");
    let stat = ["journal", "stat", &recorded.journal, "--format", "json"];
    eventually("the journal has its appender", || {
        nanotape(stat).stdout.contains("\"appender_state\":\"alive\"")
    });
    let mut plant = Running::start(&recorded.arguments(&[]));
    let line = plant.read_stderr_line();
    let expected = format!("its owner is alive: process {}", appender.process.id());
    assert!(line.contains(&expected) && line.ends_with("; waiting\n"), "{line}");
    assert_eq!(recorded.ring.next_sequence(), 1, "nothing is published");
    plant.signal(Signal::INT);
    assert_eq!(plant.process.bounded_wait("the plant").code(), Some(0));
    assert!(!recorded.ring.0.exists());
}

#[test]
fn a_journal_that_cannot_be_recorded_ends_the_plant_before_its_first_record() {
    let recorded = Recorded::new("run-journal-refused", 2_000);
    ended(&recorded.run(&[]));
    // A new ring at the same path.
    nanotape(["ring", "remove", recorded.ring.path()]);
    let refused = |expected: &str| {
        let ran = recorded.run(&[]);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("nanotape: ") && ran.stdout.is_empty(), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    refused("not the ring that");
    assert!(!recorded.ring.0.exists() && !recorded.ring.board().exists());

    // An existing ring, and a damaged journal.
    let other = recorded.folder.path("other");
    ended(&nanotape(recorded.arguments_with(&other, &[])));
    let next = recorded.ring.next_sequence();
    let mark = Path::new(&recorded.journal).join("recorded-from");
    fs::write(mark, "nanotape recording 1\ncreated_ns soon\n").unwrap();
    refused("does not name the ring");
    fs::write(Path::new(&recorded.journal).join("recorded-from"), "").unwrap();
    let file =
        fs::File::options().write(true).open(format!("{}/0000000001.segment", recorded.journal));
    file.unwrap().set_len(4_096).unwrap();
    refused("damaged at offset");
    assert_eq!(recorded.ring.next_sequence(), next);

    let folder = recorded.folder.path("");
    let ran = nanotape(recorded.arguments_with(&folder, &[]));
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("the folder has files but no journal"), "{}", ran.stderr);
    let ran = nanotape(recorded.arguments_with(&other, &["--replace", "--capacity", "16KiB"]));
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("is too small to wait for a recorder"), "{}", ran.stderr);
}

#[test]
fn a_ring_stays_if_the_plant_that_replaces_it_cannot_be_recorded() {
    let recorded = Recorded::new("run-journal-replace", 2_000);
    ended(&recorded.run(&[]));
    let files = || [&recorded.ring.0, &recorded.ring.board()].map(|path| fs::read(path).unwrap());
    let (before, next) = (files(), recorded.ring.next_sequence());
    let replaced = format!("message 1, but the next excerpt of the journal is {next}");
    let of_journal = recorded.arguments(&["--replace"]);
    let other = recorded.folder.path("other");
    let of_size = recorded.arguments_with(&other, &["--replace", "--capacity", "16KiB"]);
    for (arguments, expected) in
        [(of_journal, replaced.as_str()), (of_size, "is too small to wait for a recorder")]
    {
        let ran = nanotape(arguments);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert!(files() == before, "the ring or its board changed");
    }
    // With an empty journal it is replaced.
    ended(&nanotape(recorded.arguments_with(&other, &["--replace"])));
    assert_eq!(recorded.ring.next_sequence(), next);
    assert!(files() != before);
}

#[test]
fn a_plant_waits_while_the_disk_of_its_journal_is_full() {
    let Some(mounted) = Mount::new("tmpfs", "size=40m") else { return };
    let mut recorded = Recorded::new("run-journal-full", 60_000);
    let filler = mounted.path().join("filler");
    fs::write(&filler, vec![1; 38 << 20]).unwrap();
    recorded.journal = mounted.path().join("journal").display().to_string();
    let text = format!(
        "[journal]\ndir = {:?}\nsegment_bytes = \"128KiB\"\nroll = \"size\"\nahead_bytes = \"4KiB\"\n",
        recorded.journal
    );
    let config = recorded.folder.write("plant.toml", text.as_bytes());
    let mut plant = recorded.start(&[&SMALL[..], &["--config", &config]].concat());
    let recorder = recorded.until("waiting for room");
    // The plant waits, and shows that it is alive.
    let mut before = Value::Null;
    eventually("the plant waits", || {
        let seen = recorded.stat();
        let is_alive = whole(&seen["updated_ns"]) > whole(&before["updated_ns"]);
        let is_waiting = is_alive && seen["messages"] == before["messages"];
        before = seen;
        is_waiting
    });
    assert_eq!(before["state"], "running");
    // A recorder that is killed meanwhile waits again.
    kill_process(recorder, Signal::KILL).unwrap();
    let mut next = recorder;
    eventually("the next recorder waits", || {
        next = recorded.until("waiting for room");
        next != recorder
    });
    assert!(plant.is_running());
    fs::remove_file(&filler).unwrap();
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains("no space: the next segment needs 131072 bytes"), "{complained}");
    let stop = json(&said);
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    recorded.check_journal();
    recorded.check_insides();
}

/// A plant whose day is in its ring, and whose journal has room for none of it.
fn full(name: &str, messages: u64, mounted: &Mount) -> (Recorded, String) {
    let mut recorded = Recorded::new(name, messages);
    fs::write(mounted.path().join("filler"), vec![1; 38 << 20]).unwrap();
    recorded.journal = mounted.path().join("journal").display().to_string();
    let text = format!(
        "[journal]\ndir = {:?}\nsegment_bytes = \"128KiB\"\nroll = \"size\"\nahead_bytes = \"4KiB\"\n",
        recorded.journal
    );
    let config = recorded.folder.write("plant.toml", text.as_bytes());
    (recorded, config)
}

/// The first and the last number that an ended plant says its journal lacks.
fn lacking(complained: &str) -> (u64, u64) {
    let line = complained.lines().last().unwrap_or_default();
    let (_, numbers) = line.split_once("full, so messages from ").expect(line);
    let numbers: Vec<u64> =
        numbers.split(' ').filter_map(|word| word.parse().ok()).take(2).collect();
    (numbers[0], numbers[1])
}

#[test]
fn a_plant_ends_on_request_although_the_disk_is_full_and_its_recorder_finishes_later() {
    let Some(mounted) = Mount::new("tmpfs", "size=40m") else { return };
    for is_over in [false, true] {
        let (recorded, config) = full("run-journal-full-end", 60_000, &mounted);
        let size = if is_over { "64MiB" } else { "64KiB" };
        let mut plant = recorded.start(&["--capacity", size, "--config", &config]);
        let recorder = recorded.until("waiting for room");
        if is_over {
            // The day is over, and the plant says what it waits for.
            while !plant.read_stderr_line().contains("all is published, but the disk") {}
        }
        plant.signal(Signal::INT);
        let (status, _, complained) = plant.end();
        assert_eq!(status, Some(1), "{complained}");
        let (first, last) = lacking(&complained);
        assert_eq!(last, recorded.ring.next_sequence() - 1);
        let in_journal = Tailer::open(Path::new(&recorded.journal), Start::Newest).unwrap();
        assert_eq!(first, in_journal.next_sequence(), "{complained}");
        assert!(
            first <= last && complained.contains(&format!("process {}", recorder.as_raw_nonzero()))
        );
        fs::remove_file(mounted.path().join("filler")).unwrap();
        recorded.until("gone");
        assert_eq!(whole(&recorded.stat()["recorder_next_sequence"]), Some(last + 1));
        recorded.check_journal();
        fs::remove_dir_all(&recorded.journal).unwrap();
    }
}

#[test]
fn a_plant_that_does_not_wait_does_not_wait_for_room_either() {
    let Some(mounted) = Mount::new("tmpfs", "size=40m") else { return };
    let (recorded, config) = full("run-journal-full-no-wait", 60_000, &mounted);
    let ran = recorded.run(&["--capacity", "64MiB", "--config", &config, "--no-wait"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_eq!(lacking(&ran.stderr).1, recorded.ring.next_sequence() - 1);
    fs::remove_file(mounted.path().join("filler")).unwrap();
    recorded.until("gone");
}

/// The recorder of the second plant has the name of the first one's progress.
#[test]
fn a_plant_with_a_full_disk_does_not_take_the_progress_of_another_ring_for_its_own() {
    let Some(mounted) = Mount::new("tmpfs", "size=40m") else { return };
    let (recorded, config) = full("run-journal-full-name", 60_000, &mounted);
    let mut plant = recorded.start(&["--capacity", "64MiB", "--config", &config]);
    while !plant.read_stderr_line().contains("all is published, but the disk") {}
    // As a user does after the report that the recorder is alive.
    let ring = Path::new(recorded.ring.path());
    let name = ring.file_name().unwrap().to_str().unwrap();
    for entry in fs::read_dir(ring.parent().unwrap()).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_name().to_str().is_some_and(|file| file.starts_with(name)) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let other = recorded.folder.path("other");
    ended(&nanotape(recorded.arguments_with(&other, &["--capacity", "64MiB"])));
    assert!(plant.is_running());
    plant.signal(Signal::INT);
    let (status, said, complained) = plant.end();
    assert_eq!((status, &json(&said)["recorded"]), (Some(1), &Value::Null), "{complained}");
    assert!(lacking(&complained).0 < lacking(&complained).1);
}

/// The segments have room, but the names of stocks are in a file of their own.
#[test]
fn a_plant_waits_while_the_disk_has_no_room_for_a_name() {
    let Some(mounted) = Mount::new("tmpfs", "size=4m") else { return };
    let mut recorded = Recorded::new("run-journal-names", 2_000);
    recorded.journal = mounted.path().join("journal").display().to_string();
    let text = format!("[journal]\ndir = {:?}\nsegment_bytes = \"1MiB\"\n", recorded.journal);
    let config = recorded.folder.write("plant.toml", text.as_bytes());
    ended(&recorded.run(&["--config", &config]));
    let filler = mounted.path().join("filler");
    let full = fs::write(&filler, vec![1; 8 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);

    fs::remove_file(&recorded.day).unwrap();
    recorded.folder.day(6_000, 900);
    let mut plant = recorded.start(&["--config", &config, "--capacity", "32MiB"]);
    let line = plant.read_stderr_line();
    assert!(line.contains("/runs: No space left on device"), "{line}");
    assert!(line.ends_with("; waiting\n"), "{line}");
    fs::remove_file(&filler).unwrap();
    let stop = plant.read_json();
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    assert_eq!(plant.process.bounded_wait("the plant").code(), Some(0));
    recorded.check_journal();
}

/// The disk has room for the segment, but not for the list of runs.
#[test]
fn a_plant_ends_on_request_although_the_disk_has_no_room_for_a_name() {
    for is_reported in [true, false] {
        let Some(mounted) = Mount::new("tmpfs", "size=276k") else { return };
        let mut recorded = Recorded::new("run-journal-names-end", 6_000);
        recorded.journal = mounted.path().join("journal").display().to_string();
        let no_wait: &[&str] = if is_reported { &[] } else { &["--no-wait"] };
        let options = ["--journal-segment", "256KiB", "--capacity", "1MiB"];
        let mut plant = recorded.start(&[&options[..], no_wait].concat());
        let recorder = recorded.until("waiting for room");
        if is_reported {
            plant.signal(Signal::INT);
        }
        let (status, _, complained) = plant.end();
        let _ = kill_process(recorder, Signal::KILL);
        assert_eq!(status, Some(1), "{complained}");
        assert!(complained.contains("/runs: No space left on device"), "{complained}");
        assert_eq!(lacking(&complained).1, recorded.ring.next_sequence() - 1);
    }
}

#[test]
fn a_plant_that_waits_for_its_recorder_ends_on_request() {
    let recorded = Recorded::new("run-journal-ctrl-c", 100_000);
    let mut plant = recorded.start(&SMALL);
    let recorder = recorded.until("recording");
    kill_process(recorder, Signal::STOP).unwrap();
    let mut messages = Value::Null;
    eventually("the plant waits", || {
        let seen = recorded.stat();
        std::mem::replace(&mut messages, seen["messages"].clone()) == seen["messages"]
    });
    plant.signal(Signal::INT);
    eventually("the plant stops", || recorded.stat()["state"] == "stopped");
    kill_process(recorder, Signal::CONT).unwrap();
    let (status, said, complained) = plant.end();
    assert_eq!((status, complained.as_str()), (Some(0), ""));
    let stop = json(&said);
    assert_eq!((&stop["reason"], &stop["lost"]), (&"asked to".into(), &0.into()));
    assert_eq!(stop["recorded"], stop["records"]);
    recorded.check_journal();
}

#[test]
fn a_plant_that_does_not_wait_goes_on_and_counts_what_is_lost() {
    let recorded = Recorded::new("run-journal-no-wait", 100_000);
    let options = ["--no-wait", "--pace", "10000x", "--pace-from", "16:00"];
    let mut plant = recorded.start(&[&SMALL[..], &options].concat());
    let recorder = recorded.until("recording");
    kill_process(recorder, Signal::STOP).unwrap();
    eventually("the plant ends", || recorded.stat()["state"] == "stopped");
    kill_process(recorder, Signal::CONT).unwrap();
    let (status, said, complained) = plant.end();
    let stop = json(&said);
    let count = |name: &str| stop[name].as_u64().unwrap();
    assert!(count("lost") > 0 && count("recorder_wait_ns") == 0, "{stop}");
    assert_eq!(count("recorded") + count("lost"), count("records"));
    assert_eq!(status, Some(1), "{complained}");
    let expected = format!("messages lost to the journal: {}", count("lost"));
    assert!(complained.ends_with(&format!("{}: {expected}\n", recorded.journal)), "{complained}");
}

#[test]
fn a_recorder_that_fails_for_good_ends_the_plant() {
    let recorded = Recorded::new("run-journal-fails", 60_000);
    let mut plant = recorded.start(&["--pace", "1x", "--pace-from", "11:00"]);
    let recorder = recorded.until("recording");
    let mark = Path::new(&recorded.journal).join("recorded-from");
    fs::write(mark, "nanotape recording 1\ncreated_ns soon\n").unwrap();
    kill_process(recorder, Signal::KILL).unwrap();
    let (status, said, complained) = plant.end();
    assert_eq!(status, Some(2), "{complained}");
    let stop = json(&said);
    assert_eq!((&stop["reason"], &stop["recorded"]), (&"recorder failed".into(), &Value::Null));
    assert_eq!(recorded.ring.stop().reason, StopReason::RecorderFailed);
    let last = complained.lines().last().unwrap();
    let expected = "nanotape: the recorder failed 5 times in a row without progress: ";
    assert!(last.starts_with(expected) && last.contains("does not name the ring"), "{complained}");
}

#[test]
fn a_plant_whose_recorder_has_no_region_any_more_says_what_the_journal_has() {
    for left in [0, 4096] {
        let recorded = Recorded::new("run-journal-truncated", 20_000);
        let mut plant = recorded.start(&["--pace", "1x", "--pace-from", "11:00"]);
        recorded.until("recording");
        let region = fs::File::options().write(true).open(recorded.ring.recorder()).unwrap();
        region.set_len(left).unwrap();
        plant.signal(Signal::INT);
        let (status, _, complained) = plant.end();
        assert_eq!(status, Some(1), "{complained}");
        let last = complained.lines().last().unwrap();
        let end = recorded.ring.next_sequence() - 1;
        let expected = format!("messages up to {end}, and the last one of this run is {end}");
        assert!(last.contains("truncated") && last.contains(&expected), "{complained}");
        recorded.check_journal();
    }
}

#[test]
fn the_journal_can_be_configured() {
    let recorded = Recorded::new("run-journal-config", 20_000);
    let text = format!(
        "[input]\nfile = {:?}\ndate = {DATE:?}\n[ring]\nname = {:?}\n[journal]\ndir = {:?}\n\
         segment_bytes = \"1MiB\"\nroll = \"hour\"\nsync = \"10ms\"\nahead_bytes = \"64KiB\"\n\
         mode = \"0640\"\nsmall_pages = true\nwait = true\ncpu = 0\n",
        recorded.day,
        recorded.ring.path(),
        recorded.journal
    );
    let config = recorded.folder.write("plant.toml", text.as_bytes());
    let ran = nanotape(["run", "--config", &config, "--format", "json"]);
    let stop = ended(&ran);
    assert_eq!((&stop["recorded"], ran.stderr.as_str()), (&stop["records"], ""));
    let segment = fs::metadata(format!("{}/0000000001.segment", recorded.journal)).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&segment.permissions()) & 0o777;
    assert_eq!(mode, 0o640);
    // The recorder gives back the rest of the segment at its end, less than a page.
    assert_eq!(segment.len().next_multiple_of(4_096), 1 << 20);
    recorded.check_journal();

    for (options, expected) in [
        (&["--no-wait"][..], "has no effect without --journal DIR"),
        (&["--journal-cpu", "0"], "has no effect without --journal DIR"),
        (&["--snapshots"], "has no effect without --journal DIR"),
    ] {
        let run = ["run", "--input", &recorded.day, "--date", DATE, "--ring", recorded.ring.path()];
        let ran = nanotape([&run, options].concat());
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    let wrong = recorded.folder.write("wrong.toml", b"[journal]\nroll = \"day\"\n");
    let ran = nanotape(["run", "--config", &wrong, "--input", "x", "--ring", "y"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no folder given for the journal"), "{}", ran.stderr);
}

#[test]
fn the_settings_of_the_journal_are_options_of_the_plant() {
    let recorded = Recorded::new("run-journal-options", 5_000);
    let options =
        ["--journal-segment", "64KiB", "--journal-roll", "size", "--journal-sync", "10ms"];
    let ran = recorded.run(&[&options[..], &["--journal-mode", "0644"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let segment = format!("{}/0000000002.segment", recorded.journal);
    let metadata = fs::metadata(segment).unwrap();
    assert_eq!((metadata.len() <= 64 << 10, metadata.permissions().mode() & 0o777), (true, 0o644));
    recorded.check_journal();
    for option in ["--journal-segment", "--journal-roll", "--journal-sync", "--journal-mode"] {
        let value = if option == "--journal-mode" { "0644" } else { "1m" };
        let arguments = ["run", "--input", &recorded.day, "--ring", "x", option, value];
        let ran = nanotape(arguments);
        let refusal = format!("{option} has no effect without --journal DIR");
        assert_eq!((ran.status, ran.stderr.contains(&refusal)), (2, true), "{}", ran.stderr);
    }
}

#[test]
fn a_journal_that_is_renamed_while_its_disk_is_full_is_noticed_before_there_is_room() {
    let Some(mounted) = Mount::new("tmpfs", "size=40m") else { return };
    let (recorded, config) = full("run-journal-full-renamed", 60_000, &mounted);
    let mut plant = recorded.start(&[&SMALL[..], &["--config", &config]].concat());
    recorded.until("waiting for room");
    let now_at = mounted.path().join("elsewhere");
    fs::rename(&recorded.journal, &now_at).unwrap();
    let (status, _, complained) = plant.end();
    assert_eq!(status, Some(1), "{complained}");
    assert!(complained.contains(&now_at.display().to_string()), "{complained}");
}
