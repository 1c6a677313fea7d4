//! `nanotape journal bisect` and `nanotape audit`: a run is the same again, or its first different
//! record is found.

use std::{fs, path::Path};

use nanotape_journal::{Appender, AppenderOptions, RUNS, Start, Tail, Tailer};
use serde_json::Value;

use crate::support::{Folder, nanotape, running::json};

/// A ring with one run, and its journal.
struct Recorded {
    folder: Folder,
    ring: String,
    journal: String,
}

impl Recorded {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let (day, ring) = (folder.path("2019-12-30.itch50"), folder.path("ring"));
        let journal = folder.path("journal");
        let recorded = Self { folder, ring, journal };
        good(&["synth", "-o", &day, "--messages", "40000", "--symbols", "30"]);
        recorded.run();
        recorded
    }

    /// Publishes and records the day once more, on the same ring.
    fn run(&self) {
        let day = self.folder.path("2019-12-30.itch50");
        good(&["run", "--input", &day, "--ring", &self.ring, "--capacity", "64MiB"]);
        good(&["journal", "record", &self.ring, &self.journal]);
        good(&["journal", "snapshot", &self.journal, "--share", "100", "--least", "256KiB"]);
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
    let recorded = Recorded::new("bisect");
    recorded.run();
    let journal = &recorded.journal;
    let same = bisect(journal, journal, &["--run-a", "1"], 0);
    assert_eq!(same["is_same"], true, "{same}");
    // Nearly everything is known to be the same from the digests of the snapshots.
    let number = |value: &Value, name: &str| value[name].as_u64().unwrap();
    assert!(number(&same, "skipped_records") > 50_000, "{same}");

    for sequence in [700, 30_000, 60_000] {
        let copy = recorded.tampered(&format!("copy-{sequence}"), sequence);
        let found = bisect(journal, &copy, &["--run-a", "1", "--run-b", "1"], 1);
        assert_eq!(number(&found, "a_sequence"), sequence, "{found}");
        assert_eq!(number(&found, "b_sequence"), sequence, "{found}");
        assert_ne!(found["a_record"], found["b_record"], "{found}");
        // With snapshots on both sides, those after the change differ.
        good(&["journal", "snapshot", &copy, "--share", "100", "--least", "256KiB"]);
        let again = bisect(journal, &copy, &["--run-a", "1", "--run-b", "1"], 1);
        assert_eq!(again["a_sequence"], found["a_sequence"]);
        assert!(number(&again, "skipped_records") < sequence, "{again}");
        assert!(sequence < 30_000 || number(&again, "skipped_records") > 10_000, "{again}");
    }
}

#[test]
fn an_audit_finds_nothing_in_a_good_journal_and_the_change_in_another() {
    let recorded = Recorded::new("audit");
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
