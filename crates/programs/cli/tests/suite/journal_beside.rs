//! What is beside the segments of a recorded journal: `verify` and `repair` of its runs and
//! snapshots, and the refusal of `append`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nanotape_harness::Bounded as _;
use nanotape_history::{RunLog, Runs, SnapshotFile, snapshot::Snapshots};
use nanotape_journal::{RUNS, SNAPSHOTS, Start, Tail, Tailer};
use nanotape_types::StockLocate;

use crate::support::{Folder, Ran, nanotape, nanotape_fed};

/// A recorded journal in small segments, with snapshots.
pub(crate) struct Recorded {
    folder: Folder,
    ring: String,
    pub(crate) journal: String,
}

impl Recorded {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let (day, ring) = (folder.path("2019-12-30.itch50"), folder.path("ring"));
        let journal = folder.path("journal");
        good(&["synth", "-o", &day, "--messages", "12000", "--symbols", "20"]);
        good(&["run", "--input", &day, "--ring", &ring, "--capacity", "64MiB"]);
        good(&["journal", "record", &ring, &journal, "--segment", "256KiB"]);
        let recorded = Self { folder, ring, journal };
        recorded.snapshot();
        recorded
    }

    fn snapshot(&self) {
        good(&["journal", "snapshot", &self.journal, "--share", "100", "--least", "128KiB"]);
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.journal).join(name)
    }

    fn verify(&self) -> Ran {
        nanotape(["journal", "verify", &self.journal, "--books"])
    }

    fn repair(&self) -> Ran {
        nanotape(["journal", "repair", &self.journal])
    }

    /// The book of one stock shortly before the close.
    fn book(&self) -> String {
        let runs = Runs::read(Path::new(&self.journal)).unwrap();
        let symbol = runs.iter().next().unwrap().names[3].1.to_string();
        let command = ["book", &self.journal, "--symbols", &symbol, "--at", "15:59"];
        good(&[&command[..], &["--format", "csv"]].concat()).stdout
    }

    fn snapshots(&self) -> Vec<PathBuf> {
        let listed = Snapshots::list(Path::new(&self.journal)).unwrap();
        listed.iter().map(|listed| listed.path.clone()).collect()
    }
}

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {} {}", ran.stdout, ran.stderr);
    ran
}

/// Checks a status, and that the output has all of these texts.
fn check(ran: &Ran, status: i32, texts: &[&str]) {
    let reported = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.status, status, "{reported}");
    for text in texts {
        assert!(reported.contains(text), "{text:?} in {reported}");
    }
}

#[test]
fn snapshots_of_a_run_whose_beginning_was_pruned_are_good_and_a_faulty_one_is_found() {
    let recorded = Recorded::new("beside-pruned");
    assert!(recorded.snapshots().len() > 4, "{:?}", recorded.snapshots());
    let end = Tailer::open(Path::new(&recorded.journal), Start::Newest).unwrap().next_sequence();
    let middle = end / 3;
    let before = recorded.book();
    assert!(before.lines().count() > 3, "{before}");
    good(&["journal", "prune", &recorded.journal, "--before-sequence", &middle.to_string()]);
    let left = recorded.snapshots();
    assert!(left.len() > 2, "{left:?}");
    let ran = recorded.verify();
    check(&ran, 0, &["cannot be checked: its records were pruned", "is there from record "]);
    assert!(!ran.stdout.contains("remove the file"), "{}", ran.stdout);
    assert_eq!(recorded.book(), before, "the snapshots are used");

    // Another book under valid checksums.
    let faulty = &left[left.len() / 2];
    let bytes = fs::read(faulty).unwrap();
    let file = SnapshotFile::open(faulty).unwrap();
    let mut state = file.state().unwrap();
    state.tainted[StockLocate::new(1)] = 1;
    state.write_snapshot(Path::new(&recorded.journal), file.mark(), 0o600).unwrap();
    assert_ne!(fs::read(faulty).unwrap(), bytes);
    check(&recorded.verify(), 1, &[faulty.to_str().unwrap(), "one of the two is wrong"]);
    fs::write(faulty, bytes).unwrap();
    assert_eq!(recorded.verify().status, 0);
    check(&recorded.repair(), 0, &["nothing to repair"]);
    assert_eq!(recorded.snapshots(), left);
}

#[test]
fn a_list_of_runs_that_lacks_lines_is_a_fault() {
    let recorded = Recorded::new("beside-runs");
    let path = recorded.path(RUNS);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert!(lines.len() > 10, "{text}");
    let without = |gone: usize| {
        let kept = lines.iter().enumerate().filter(|(at, _)| *at != gone);
        kept.map(|(_, line)| *line).collect::<String>()
    };
    // A stock, and the last stock: their names are in definition records.
    for gone in [5, lines.len() - 1] {
        fs::write(&path, without(gone)).unwrap();
        check(&recorded.verify(), 1, &["runs", "but no name"]);
        for lock in ["appender", "upkeep"] {
            fs::remove_file(recorded.path(lock)).unwrap();
        }
        let would = nanotape(["journal", "repair", &recorded.journal, "--dry-run"]);
        check(&would, 0, &["made the file again", "1 change needed", "nothing was changed"]);
        for lock in ["appender", "upkeep"] {
            assert!(!recorded.path(lock).exists(), "a dry run made {lock}");
        }
        check(&recorded.repair(), 0, &["made the file again"]);
        assert_eq!(recorded.verify().status, 0);
        let mut again: Vec<String> =
            fs::read_to_string(&path).unwrap().split_inclusive('\n').map(str::to_owned).collect();
        again.sort();
        let mut whole = lines.clone();
        whole.sort_unstable();
        assert_eq!(again, whole);
    }
    // A run that is not listed gets the names of its definition records.
    for bad in [without(1), lines[0].to_owned(), String::new()] {
        fs::write(&path, &bad).unwrap();
        check(&recorded.verify(), 1, &["the run that begins with record 1 is missing"]);
        check(&recorded.repair(), 0, &["made the file again"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(recorded.verify().status, 0);
    }
    // A name that is not that of the stock's definition, under a valid checksum.
    fs::write(&path, &text).unwrap();
    let runs = Runs::read(Path::new(&recorded.journal)).unwrap();
    let run = runs.iter().next().unwrap();
    let mut log = RunLog::open(Path::new(&recorded.journal), 0o600).unwrap();
    log.begin(run).unwrap();
    log.name(run.names[3].0, "OTHER".parse().unwrap()).unwrap();
    drop(log);
    let reported = format!("stock {} is OTHER in the run", run.names[3].0.get());
    check(&recorded.verify(), 1, &[&reported, &format!("but {}", run.names[3].1)]);
    check(&recorded.repair(), 0, &["made the file again"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    // A damaged line costs no other one.
    let mut bad = text.clone().into_bytes();
    bad[3] ^= 1;
    fs::write(&path, &bad).unwrap();
    check(&recorded.verify(), 1, &["line 1 is not a run or a stock"]);
    let would = nanotape(["journal", "repair", &recorded.journal, "--dry-run"]);
    check(&would, 0, &["made the file again", "nothing was changed"]);
    assert!(fs::read(&path).unwrap() == bad);
    check(&recorded.repair(), 0, &["made the file again", "repaired with 1 change"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(recorded.verify().status, 0);
    // Without the file, names are not known: an earlier recorder wrote none.
    fs::remove_file(&path).unwrap();
    check(&recorded.verify(), 0, &["the file is missing: the names of stocks are not known"]);
}

#[test]
fn runs_and_snapshots_without_segments_are_no_good_journal() {
    let recorded = Recorded::new("beside-nothing");
    for entry in fs::read_dir(&recorded.journal).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|suffix| suffix == "segment") {
            fs::remove_file(entry).unwrap();
        }
    }
    check(&recorded.verify(), 1, &["its segments are missing", "DAMAGED"]);
    check(&recorded.repair(), 1, &["remains: the journal has no excerpt"]);
    fs::remove_dir_all(recorded.path(SNAPSHOTS)).unwrap();
    check(&recorded.verify(), 1, &["its segments are missing"]);
    fs::remove_file(recorded.path(RUNS)).unwrap();
    assert_eq!(recorded.verify().status, 0);
}

#[test]
fn records_that_are_lost_cost_no_snapshot_that_was_made_with_them() {
    let recorded = Recorded::new("beside-lost");
    let first = recorded.path("0000000001.segment");
    let (whole, all) = (fs::read(&first).unwrap(), recorded.snapshots());
    let kept_bytes: Vec<_> = all.iter().map(|path| fs::read(path).unwrap()).collect();
    let before = recorded.book();
    assert!(before.lines().count() > 3, "{before}");
    // No excerpt, no excerpt but the index, and half of the excerpts are left.
    for bytes in [4096, 8192, 100_000] {
        fs::write(&first, &whole[..bytes]).unwrap();
        check(&recorded.repair(), 0, &["ended the excerpts here"]);
        let left = recorded.snapshots();
        let gone = all.len() - left.len();
        assert!(gone <= 1 && left == all[gone..], "{bytes}: {left:?} of {all:?}");
        check(&recorded.verify(), 0, &["records that it was made with are damaged or missing"]);
        assert_eq!(recorded.book(), before, "{bytes}");
        for (path, bytes) in all.iter().zip(&kept_bytes) {
            fs::write(path, bytes).unwrap();
        }
    }
    // Later snapshots are still compared, with the first one that could not be.
    let faulty = &all[all.len() - 2];
    let file = SnapshotFile::open(faulty).unwrap();
    let mut state = file.state().unwrap();
    state.tainted[StockLocate::new(1)] = 1;
    state.write_snapshot(Path::new(&recorded.journal), file.mark(), 0o600).unwrap();
    check(&recorded.verify(), 1, &[faulty.to_str().unwrap(), "records before them are missing"]);
}

#[test]
fn a_repair_sets_faulty_snapshots_aside_and_they_are_made_again() {
    let recorded = Recorded::new("beside-snapshots");
    let all = recorded.snapshots();
    let bytes = fs::read(&all[1]).unwrap();
    let mut bad = bytes.clone();
    bad[300] ^= 1;
    fs::write(&all[1], &bad).unwrap();
    assert_eq!(nanotape(["journal", "verify", &recorded.journal]).status, 1);
    check(&recorded.repair(), 0, &[all[1].to_str().unwrap(), "moved out the file"]);
    let kept = fs::read_dir(recorded.path("cut")).unwrap().map(|entry| entry.unwrap().path());
    assert!(kept.into_iter().any(|path| fs::read(path).unwrap() == bad), "it is in cut");
    assert_eq!(recorded.verify().status, 0);
    check(&recorded.repair(), 0, &["nothing to repair"]);
    all[2..].iter().for_each(|path| fs::remove_file(path).unwrap());
    recorded.snapshot();
    assert_eq!(recorded.snapshots(), all);
    assert!(fs::read(&all[1]).unwrap() == bytes);
}

#[test]
fn a_recorded_journal_takes_no_other_excerpts() {
    let recorded = Recorded::new("beside-append");
    let ran = nanotape_fed(["journal", "append", &recorded.journal], b"mine\n");
    check(&ran, 2, &["the journal is recorded from", "append to another journal"]);
    // Its recorder goes on.
    let day = recorded.folder.path("2019-12-30.itch50");
    good(&["run", "--input", &day, "--ring", &recorded.ring, "--capacity", "64MiB"]);
    good(&["journal", "record", &recorded.ring, &recorded.journal, "--segment", "256KiB"]);
    assert_eq!(recorded.verify().status, 0);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_with_the_file() {
    let folder = Folder::new("file-limit");
    let journal = folder.path("journal");
    let program = env!("CARGO_BIN_EXE_nanotape");
    let day = folder.path("day.itch50");
    for (command, file) in [
        (format!("echo line | '{program}' journal append '{journal}' --segment 64KiB"), &journal),
        (format!("'{program}' synth --messages 20000 --symbols 20 -o '{day}'"), &day),
    ] {
        let script = format!("ulimit -f 40; {command}");
        let ran = Command::new("bash").args(["-c", &script]).bounded_output().unwrap();
        let reported = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{script}: {:?} {reported}", ran.status);
        assert!(reported.contains(&**file) && reported.contains("File too large"), "{reported}");
    }
}

/// Damages the last segment that is full of excerpts: a flipped bit, or an excerpt of zeros. The
/// segment and the number of the excerpt.
fn damage(recorded: &Recorded, is_hole: bool) -> (PathBuf, u64) {
    let mut tailer = Tailer::open(Path::new(&recorded.journal), Start::Oldest).unwrap();
    let mut all = Vec::new();
    while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
        all.push((excerpt.segment(), excerpt.offset() as usize, excerpt.sequence()));
    }
    let (segment, _, _) = all[all.len() - 1];
    let first = all.iter().position(|(of, _, _)| *of == segment).unwrap();
    let at = first + (all.len() - first) / 4;
    let (_, offset, sequence) = all[at];
    let path = recorded.path(&format!("{segment:010}.segment"));
    let mut bytes = fs::read(&path).unwrap();
    match is_hole {
        true => bytes[offset..all[at + 1].1].fill(0),
        false => bytes[offset + 26] ^= 1,
    }
    fs::write(&path, bytes).unwrap();
    (path, sequence)
}

#[test]
fn what_comes_before_damage_is_answered_and_a_hole_is_damage() {
    let recorded = Recorded::new("beside-damage");
    let whole = good(&["inside", &recorded.journal, "--format", "csv"]).stdout;
    for is_hole in [false, true] {
        let copy = Recorded {
            folder: Folder::new("beside-damage-copy"),
            ring: String::new(),
            journal: recorded.folder.path(&format!("copy-{is_hole}")),
        };
        let mut copied = Command::new("cp");
        copied.args(["-r", &recorded.journal, &copy.journal]);
        assert!(copied.bounded_status().unwrap().success());
        fs::remove_dir_all(copy.path(SNAPSHOTS)).unwrap();
        let (segment, sequence) = damage(&copy, is_hole);
        let segment = segment.to_str().unwrap();
        let inside = nanotape(["inside", &copy.journal, "--format", "csv"]);
        check(&inside, 1, &[segment]);
        // All of its records were read, and the look-ahead holds nothing back.
        let read = nanotape(["journal", "dump", &copy.journal, "--format", "csv"]);
        check(&read, 1, &[segment, &format!("\n{},", sequence - 1)]);
        let rows = inside.stdout.lines().count();
        assert!(whole.starts_with(&inside.stdout) && rows > whole.lines().count() / 2, "{rows}");
        for command in [["stats", ""], ["trades", ""], ["tap", "--strict"], ["journal", "snapshot"]]
        {
            let arguments: Vec<&str> = match command {
                ["journal", snapshot] => vec!["journal", snapshot, &copy.journal],
                [command, ""] => vec![command, &copy.journal, "--format", "csv"],
                [command, option] => vec![command, &copy.journal, option, "--format", "csv"],
            };
            let ran = nanotape(&arguments);
            check(&ran, 1, &[segment]);
            assert!(ran.stdout.lines().count() > 10 || command[0] == "journal", "{ran:?}");
        }
    }
}

/// Symptom: a dry run with another change to make did not name a segment without a file.
#[test]
fn a_dry_run_names_a_missing_segment_beside_other_damage() {
    let recorded = Recorded::new("beside-dry-run");
    fs::remove_file(recorded.path("0000000002.segment")).unwrap();
    let damaged = recorded.path("0000000004.segment");
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[100_000] ^= 1;
    fs::write(&damaged, &bytes).unwrap();
    let would = nanotape(["journal", "repair", &recorded.journal, "--dry-run"]);
    check(
        &would,
        1,
        &["0000000004.segment", "0000000002.segment", "remains", "nothing was changed"],
    );
    check(&recorded.repair(), 1, &["0000000002.segment", "remains"]);
}

/// Symptom: a snapshot with the content of another one passed the checks.
#[test]
fn a_snapshot_with_the_name_of_another_one_is_a_fault() {
    let recorded = Recorded::new("beside-renamed");
    let snapshots = recorded.snapshots();
    let (first, last) = (&snapshots[1], snapshots.last().unwrap());
    fs::copy(first, last).unwrap();
    let ran = nanotape(["journal", "verify", &recorded.journal]);
    check(&ran, 1, &[last.to_str().unwrap(), "is named after another record"]);
    check(&recorded.repair(), 0, &["moved out the file"]);
    assert_eq!(recorded.verify().status, 0);
    assert_eq!(recorded.snapshots().len(), snapshots.len() - 1);
}

/// Symptom: the snapshots that a killed prune left stayed until the next segment was pruned.
#[test]
fn a_prune_that_removes_no_segment_removes_the_snapshots_of_an_earlier_one() {
    let recorded = Recorded::new("beside-killed-prune");
    let before = recorded.snapshots().len();
    for number in 1..=3 {
        fs::remove_file(recorded.path(&format!("{number:010}.segment"))).unwrap();
    }
    let oldest = Tailer::open(Path::new(&recorded.journal), Start::Oldest).unwrap();
    let first = oldest.next_sequence().to_string();
    drop(oldest);
    let prune = ["journal", "prune", &recorded.journal, "--before-sequence", &first];
    check(&nanotape(prune), 0, &["0 segments removed", "snapshot"]);
    assert!(recorded.snapshots().len() < before, "{before}");
    assert_eq!(recorded.verify().status, 0);
}
