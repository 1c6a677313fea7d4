//! `nanotape journal bisect` and `nanotape audit`: a run is the same again, or its first different
//! record is found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nanotape_harness::Random;
use nanotape_journal::{Appender, AppenderOptions, RUNS, SNAPSHOTS, Start, Tail, Tailer};
use serde_json::Value;

use crate::support::{Folder, nanotape, running::json};

/// A ring with one run, and its journal.
struct Recorded {
    folder: Folder,
    ring: String,
    journal: String,
}

impl Recorded {
    fn new(name: &str, messages: &str) -> Self {
        let folder = Folder::new(name);
        let (day, ring) = (folder.path("2019-12-30.itch50"), folder.path("ring"));
        let journal = folder.path("journal");
        let recorded = Self { folder, ring, journal };
        good(&["synth", "-o", &day, "--messages", messages, "--symbols", "30"]);
        recorded.run();
        recorded
    }

    /// Publishes and records the day once more, on the same ring.
    fn run(&self) {
        let day = self.folder.path("2019-12-30.itch50");
        good(&["run", "--input", &day, "--ring", &self.ring, "--capacity", "64MiB"]);
        good(&["journal", "record", &self.ring, &self.journal, "--segment", "256KiB"]);
        good(&["journal", "snapshot", &self.journal, "--share", "100", "--least", "256KiB"]);
    }

    /// A copy of the journal: segments, runs and snapshots.
    fn copied(&self, name: &str) -> PathBuf {
        let copy = PathBuf::from(self.folder.path(name));
        copy_files(Path::new(&self.journal), &copy);
        copy_files(&Path::new(&self.journal).join(SNAPSHOTS), &copy.join(SNAPSHOTS));
        copy
    }

    /// A copy of the journal in which one byte of one record is another one.
    fn tampered(&self, name: &str, sequence: u64) -> String {
        let copy = self.folder.path(name);
        let options = AppenderOptions { segment_bytes: 1 << 20, ..AppenderOptions::default() };
        let mut appender = Appender::open(Path::new(&copy), &options).unwrap();
        let mut tailer = Tailer::open(Path::new(&self.journal), Start::Oldest).unwrap();
        while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
            let mut payload = excerpt.to_vec();
            if excerpt.sequence() == sequence {
                payload[24] ^= 1;
            }
            appender.append(excerpt.type_id(), excerpt.ts_ns(), &payload).unwrap();
        }
        appender.close().unwrap();
        fs::copy(Path::new(&self.journal).join(RUNS), Path::new(&copy).join(RUNS)).unwrap();
        copy
    }
}

/// Copies the files of a folder, without those in its folders.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn good(arguments: &[&str]) {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
}

fn bisect(left: &str, right: &str, options: &[&str], status: i32) -> Value {
    let command = ["journal", "bisect", left, right, "--format", "json"];
    let ran = nanotape([&command, options].concat());
    assert_eq!(ran.status, status, "{} {}", ran.stdout, ran.stderr);
    json(&ran.stdout)
}

#[test]
fn two_runs_of_a_day_are_the_same_and_a_changed_byte_is_found() {
    let recorded = Recorded::new("bisect", "40000");
    recorded.run();
    let journal = &recorded.journal;
    let same = bisect(journal, journal, &["--run-a", "1"], 0);
    assert_eq!((&same["is_same"], &same["are_stopped"]), (&true.into(), &true.into()), "{same}");
    let number = |value: &Value, name: &str| value[name].as_u64().unwrap();
    assert!(number(&same, "same_records") > 50_000, "{same}");

    for sequence in [700, 30_000, 60_000] {
        let copy = recorded.tampered(&format!("copy-{sequence}"), sequence);
        let found = bisect(journal, &copy, &["--run-a", "1", "--run-b", "1"], 1);
        assert_eq!(number(&found, "a_sequence"), sequence, "{found}");
        assert_eq!(number(&found, "b_sequence"), sequence, "{found}");
        assert_ne!(found["a_record"], found["b_record"], "{found}");
    }
}

#[test]
fn a_changed_record_is_found_although_the_snapshots_are_those_of_the_other_journal() {
    const SEED: u64 = 43;
    let recorded = Recorded::new("bisect-snapshots", "8000");
    let journal = Path::new(&recorded.journal);
    let end = Tailer::open(journal, Start::Newest).unwrap().next_sequence();
    assert!(fs::read_dir(journal.join(SNAPSHOTS)).unwrap().count() > 2);
    let (mut random, mut found) = (Random::new(SEED), 0);
    for trial in 0..16 {
        // Neither the start nor the stop.
        let sequence = 2 + random.below(end - 3);
        let copy = recorded.tampered(&format!("copy-{trial}"), sequence);
        copy_files(&journal.join(SNAPSHOTS), &Path::new(&copy).join(SNAPSHOTS));
        let report = bisect(&recorded.journal, &copy, &[], 1);
        assert_eq!(report["b_sequence"].as_u64(), Some(sequence), "seed {SEED}: {report}");
        found += 1;
        fs::remove_dir_all(copy).unwrap();
    }
    println!("changed records found: {found} of 16 (seed {SEED})");
}

#[test]
fn a_segment_that_is_damaged_emptied_or_missing_is_named_by_a_comparison() {
    let recorded = Recorded::new("bisect-damaged", "8000");
    let mut names: Vec<_> = fs::read_dir(&recorded.journal)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".segment"))
        .collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    // Before the roll, the appender prepares one more segment.
    let used = names.iter().filter(|name| {
        let bytes = fs::read(Path::new(&recorded.journal).join(name)).unwrap();
        bytes[280..288] != [0; 8]
    });
    let used: Vec<_> = used.collect();
    let (mut trials, mut found) = (0, 0);
    for name in [used[0], used[used.len() / 2], used[used.len() - 1]] {
        for damage in ["a byte", "emptied", "half", "missing"] {
            let copy = recorded.copied("damaged");
            let path = copy.join(name);
            let bytes = fs::read(&path).unwrap();
            let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
            match damage {
                "a byte" => {
                    let mut bytes = bytes.clone();
                    bytes[(8192 + end) / 2] ^= 4;
                    fs::write(&path, bytes).unwrap();
                }
                "emptied" => fs::write(&path, "").unwrap(),
                "half" => fs::write(&path, &bytes[..end / 2]).unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
            let copy_name = copy.to_str().unwrap();
            for (left, right) in [(&*recorded.journal, copy_name), (copy_name, &recorded.journal)] {
                let ran = nanotape(["journal", "bisect", left, right, "--format", "json"]);
                assert_eq!(ran.status, 1, "{name}, {damage}: {} {}", ran.stdout, ran.stderr);
                let reported = format!("{}{}", ran.stdout, ran.stderr);
                // Without its last segment the journal ends earlier: that is a difference.
                let is_end = reported.contains("\"a_sequence\":null")
                    != reported.contains("\"b_sequence\":null");
                let is_named = reported.contains(copy_name) && reported.contains("offset");
                assert!(is_named || is_end, "{name}, {damage}: {reported}");
                (trials, found) = (trials + 1, found + 1);
            }
            fs::remove_dir_all(copy).unwrap();
        }
    }
    // The same damage on both sides is not "the same".
    let copy = recorded.copied("damaged");
    fs::remove_file(copy.join(used[1])).unwrap();
    let copy = copy.to_str().unwrap();
    let report = bisect(copy, copy, &[], 1);
    assert!(report["missing"].as_str().unwrap().contains("are missing"), "{report}");
    for entry in fs::read_dir(copy).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|suffix| suffix == "segment") {
            fs::remove_file(entry).unwrap();
        }
    }
    let report = bisect(copy, copy, &[], 1);
    assert!(report["missing"].as_str().unwrap().contains("is missing"), "{report}");
    println!("damaged segments found: {found} of {trials}");
}

#[test]
fn a_run_that_its_list_lacks_is_named_by_a_comparison() {
    let recorded = Recorded::new("bisect-runs", "3000");
    recorded.run();
    let copy = recorded.copied("short");
    let runs = copy.join(RUNS);
    let text = fs::read_to_string(&runs).unwrap();
    let second = text.rfind("\nrun ").unwrap();
    fs::write(&runs, &text[..=second]).unwrap();
    // With them the list is known to be short.
    fs::remove_dir_all(copy.join(SNAPSHOTS)).unwrap();
    let report = bisect(copy.to_str().unwrap(), &recorded.journal, &["--run-b", "1"], 1);
    assert!(report["missing"].as_str().unwrap().contains("not in the list"), "{report}");
    assert_eq!(report["missing_path"], runs.to_str().unwrap());
    let mut bytes = text.into_bytes();
    bytes[second + 6] ^= 1;
    fs::write(&runs, bytes).unwrap();
    let ran = nanotape(["journal", "bisect", copy.to_str().unwrap(), &recorded.journal]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("not a run or a stock with its checksum"), "{}", ran.stderr);
}

#[test]
fn an_audit_finds_nothing_in_a_good_journal_and_the_change_in_another() {
    let recorded = Recorded::new("audit", "40000");
    let audit = |journal: &str| nanotape(["audit", &recorded.ring, journal, "--format", "json"]);
    let snapshots = Path::new(&recorded.journal).join("snapshots");
    fs::remove_dir_all(&snapshots).unwrap();
    let ran = audit(&recorded.journal);
    assert_eq!(ran.status, 0, "{} {}", ran.stdout, ran.stderr);
    let report = json(&ran.stdout);
    assert_eq!(report["is_digest_same"], true, "{report}");
    assert_eq!(report["records"], report["same_records"], "{report}");
    assert!(report["same_insides"].as_u64().unwrap() > 10_000, "{report}");

    let copy = recorded.tampered("copy", 30_000);
    let ran = audit(&copy);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let report = json(&ran.stdout);
    let first = report["first_difference"].as_str().unwrap();
    assert!(first.starts_with("record 30000 of the journal"), "{first}");
    assert_eq!(report["is_digest_same"], false, "{report}");
}
