//! `nanotape run --journal DIR --snapshots` with real processes: the one that writes snapshots is
//! killed, and ends with the journal.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    thread,
    time::Duration,
};

use nanotape_harness::{Mount, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Folder, nanotape,
    plants::{DATE, Ring},
    running::{Running, json, objects},
};

/// The process that writes snapshots of a journal.
fn writer(journal: &str) -> Option<Pid> {
    let of = |entry: fs::DirEntry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        let words = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        (words.contains("\0snapshot\0") && words.contains(journal))
            .then(|| Pid::from_raw(number))?
    };
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).find_map(of)
}

/// Whether a process has the lock of the snapshots. The kernel's list shows it without a lock of
/// the test's own, which the process would find taken.
fn has_lock(journal: &str) -> bool {
    let Ok(file) = fs::metadata(format!("{journal}/snapshots/lock")) else { return false };
    let of_file = format!(":{} ", file.ino());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.contains("FLOCK") && line.contains(&of_file))
}

struct Plant {
    folder: Folder,
    ring: Ring,
    day: String,
    journal: String,
}

impl Plant {
    fn new(name: &str, messages: u64) -> Self {
        let folder = Folder::new(name);
        let (day, journal) = (folder.day(messages, 20), folder.path("journal"));
        Self { ring: Ring::new(name), day, journal, folder }
    }

    fn start(&self, options: &[&str]) -> Running {
        let run = ["run", "--input", &self.day, "--date", DATE, "--ring", self.ring.path()];
        let journal = ["--journal", &self.journal, "--snapshots", "--format", "json"];
        let mut plant = Running::start(&[&run[..], &journal, options].concat());
        plant.read_json();
        plant
    }

    /// The sequence numbers of the snapshots, which `verify` compares with rebuilt books.
    fn snapshots(&self) -> Vec<u64> {
        let verified = nanotape(["journal", "verify", &self.journal, "--books"]);
        assert_eq!(verified.status, 0, "{}", verified.stdout);
        let listed = nanotape(["journal", "snapshot", &self.journal, "--list", "--format", "json"]);
        let objects = objects(&listed.stdout);
        objects.iter().map(|object| object["sequence"].as_u64().unwrap()).collect()
    }
}

#[test]
fn snapshots_are_complete_when_the_plant_has_ended() {
    let plant = Plant::new("run-snapshots", 60_000);
    let (status, _, complained) = plant.start(&["--snapshot-cpu", "0"]).end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains("snapshots written"), "{complained}");
    assert_eq!(plant.snapshots().last(), Some(&(plant.ring.next_sequence() - 1)));
    assert!(writer(&plant.journal).is_none());
}

#[test]
fn a_writer_of_snapshots_that_is_killed_is_started_again_and_the_plant_goes_on() {
    let plant = Plant::new("run-snapshots-killed", 300_000);
    let mut running = plant.start(&["--capacity", "256KiB"]);
    let mut kills = 0;
    while running.is_running() {
        thread::sleep(Duration::from_millis(100));
        if kills < 4
            && let Some(writer) = writer(&plant.journal)
        {
            kills += u32::from(kill_process(writer, Signal::KILL).is_ok());
        }
    }
    let (status, said, complained) = running.end();
    assert_eq!(status, Some(0), "{complained}");
    let stop = objects(&said).pop().unwrap();
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    let restarts = complained.matches("snapshots: killed by signal 9; started again").count();
    assert!(kills >= 2 && restarts >= 1, "{kills} kills: {complained}");
    assert_eq!(plant.snapshots().last(), Some(&(plant.ring.next_sequence() - 1)));
}

#[test]
fn a_writer_of_snapshots_is_tried_again_while_an_earlier_one_has_the_lock() {
    let plant = Plant::new("run-snapshots-locked", 60_000);
    plant.start(&[]).end();
    let follow = ["journal", "snapshot", &plant.journal, "--follow", "--through-restarts"];
    let mut earlier = Running::start(&follow);
    eventually("the lock is held", || has_lock(&plant.journal));
    let ran = nanotape(["journal", "snapshot", &plant.journal]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    let locked =
        "another process is writing snapshots of this journal; wait for its end, or end it";
    assert!(ran.stderr.contains(locked), "{}", ran.stderr);

    let mut running = plant.start(&["--pace", "1x", "--pace-from", "12:00"]);
    let mut received = String::new();
    while !received.contains("snapshots: exited with status 2; started again") {
        let line = running.read_stderr_line();
        assert!(!line.is_empty(), "the plant ended: {received}");
        received += &line;
    }
    assert!(received.contains(locked), "{received}");
    earlier.signal(Signal::KILL);
    earlier.end();
    eventually("the lock is held again", || has_lock(&plant.journal));
    running.signal(Signal::INT);
    let (status, _, complained) = running.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(!complained.contains("the rest is missing"), "{complained}");
    assert_eq!(plant.snapshots().last(), Some(&(plant.ring.next_sequence() - 1)));
}

#[test]
fn a_stopped_writer_of_snapshots_does_not_slow_the_plant() {
    let plant = Plant::new("run-snapshots-stopped", 60_000);
    let running = plant.start(&["--pace", "1x", "--pace-from", "12:00"]);
    eventually("snapshots are written", || writer(&plant.journal).is_some());
    let writer = writer(&plant.journal).unwrap();
    kill_process(writer, Signal::STOP).unwrap();
    let before = plant.ring.next_sequence();
    eventually("the plant goes on", || plant.ring.next_sequence() > before);
    running.signal(Signal::KILL);
    // The journal is closed by its recorder, and then the writer ends by itself.
    kill_process(writer, Signal::CONT).unwrap();
    eventually("the writer has ended", || self::writer(&plant.journal).is_none());
    // What it wrote is right; a killed plant has no stop, and so no last snapshot.
    assert!(plant.snapshots().iter().all(|&sequence| sequence < plant.ring.next_sequence()));
}

/// Names in a folder that have this extension.
fn count_of(folder: &str, extension: &str) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|other| other == extension)).count()
}

#[test]
fn a_plant_compresses_its_journal_while_it_is_recorded_and_snapshots_serve_as_before() {
    let plant = Plant::new("run-compress", 60_000);
    let settings =
        b"[journal]\ndir = \"unused\"\nsegment_bytes = \"1MiB\"\ncompress = \"rolled\"\n";
    let config = plant.folder.write("plant.toml", settings);
    let (status, _, complained) = plant.start(&["--config", &config]).end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(count_of(&plant.journal, "zst") >= 3, "closed segments are compressed");
    let snapshots = plant.snapshots();
    let packed = count_of(&format!("{}/snapshots", plant.journal), "zst");
    assert!(packed >= 1 && packed < snapshots.len(), "{packed} of {}", snapshots.len());
    let listed = nanotape(["stats", &plant.day, "--format", "csv"]).stdout;
    let busiest = listed.lines().nth(2).unwrap().split(',').next().unwrap();
    let book = |input: &str| {
        nanotape(["book", input, "--symbols", busiest, "--at", "12:00", "--format", "csv"]).stdout
    };
    let (book, day) = (book(&plant.journal), book(&plant.day));
    assert!(book.lines().count() > 5 && book == day, "the books of a moment are those of the day");
}

#[test]
fn a_plant_prunes_its_journal_while_it_is_recorded() {
    let plant = Plant::new("run-keep", 60_000);
    let settings = b"[journal]\ndir = \"unused\"\nsegment_bytes = \"1MiB\"\n";
    let config = plant.folder.write("plant.toml", settings);
    let (status, _, complained) =
        plant.start(&["--config", &config, "--journal-keep", "4MiB"]).end();
    assert_eq!(status, Some(0), "{complained}");
    let stat = nanotape(["journal", "stat", &plant.journal, "--format", "json"]);
    let stat = objects(&stat.stdout).swap_remove(0);
    assert!(stat["first_sequence"].as_u64() > Some(1), "{stat}");
    assert!(stat["file_bytes"].as_u64() <= Some(5 << 20), "{stat}");
}

#[test]
fn options_of_upkeep_need_a_journal() {
    for option in ["--journal-compress=rolled", "--journal-keep=1GiB", "--journal-older-than=30d"] {
        let ran = nanotape(["run", "--input", "-", "--date", DATE, "--ring", "unused", option]);
        assert_eq!(ran.status, 2, "{option}");
        assert!(ran.stderr.contains("no effect without --journal"), "{option}: {}", ran.stderr);
    }
}

#[test]
fn snapshots_without_room_are_status_1_and_stat_shows_how_far_they_are_behind() {
    let Some(full) = Mount::new("tmpfs", "size=16k") else { return };
    fs::write(full.path().join("filler"), [1; 12 << 10]).unwrap();
    let plant = Plant::new("run-snapshots-full", 20_000);
    let run = ["run", "--input", &plant.day, "--date", DATE, "--ring", plant.ring.path()];
    let journal = ["--journal", &plant.journal];
    let first = nanotape([&run[..], &journal].concat());
    assert_eq!(first.status, 0, "{}", first.stderr);
    symlink(full.path(), format!("{}/snapshots", plant.journal)).unwrap();
    let (status, said, complained) = plant.start(&[]).end();
    assert_eq!(status, Some(1), "{complained}");
    assert!(complained.contains("No space left"), "{complained}");
    assert!(complained.contains("the rest is missing"), "{complained}");
    assert!(
        complained.contains("snapshots are missing; nanotape journal snapshot"),
        "{complained}"
    );
    let stop = objects(&said).pop().unwrap();
    assert_eq!((&stop["recorded"], &stop["lost"]), (&stop["records"], &0.into()));
    let stat = ["stat", plant.ring.path(), "--interval", "0", "--format"];
    let seen = json(&nanotape([&stat[..], &["json"]].concat()).stdout);
    // The first run may have had room for one, the second one has not.
    assert!(seen["snapshots_behind"].as_u64() >= stop["records"].as_u64(), "{seen}");
    let text = nanotape([&stat[..], &["text"]].concat()).stdout;
    assert!(text.contains("  snapshots") && text.contains(" messages"), "{text}");
}
