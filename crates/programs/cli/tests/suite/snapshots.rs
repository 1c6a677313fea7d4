//! `nanotape journal snapshot`, and what `verify` and `prune` do with snapshots.

use std::{fs, path::PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder, Ran, nanotape,
    running::{Running, objects},
};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// A journal of a synthetic day, in small segments.
fn recorded(folder: &Folder, messages: &str) -> String {
    let (day, ring) = (folder.path("2019-12-30.itch50"), folder.path("ring"));
    let journal = folder.path("journal");
    good(&["synth", "-o", &day, "--messages", messages, "--symbols", "40"]);
    good(&["run", "--input", &day, "--ring", &ring, "--capacity", "256MiB"]);
    good(&["journal", "record", &ring, &journal, "--segment", "4MiB"]);
    journal
}

fn snapshot(journal: &str, options: &[&str]) -> Vec<Value> {
    let command = ["journal", "snapshot", journal, "--format", "json"];
    objects(&good(&[&command, options].concat()).stdout)
}

fn verify(journal: &str) -> Ran {
    nanotape(["journal", "verify", journal, "--books"])
}

/// The files of the snapshots with their contents.
fn files(journal: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let listed =
        objects(&good(&["journal", "snapshot", journal, "--list", "--format", "json"]).stdout);
    let paths = listed.iter().map(|object| PathBuf::from(object["path"].as_str().unwrap()));
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn snapshots_are_written_verified_and_continued() {
    let folder = Folder::new("snapshots_written");
    let journal = recorded(&folder, "200000");
    let written = snapshot(&journal, &["--share", "100"]);
    assert!(written.len() >= 3, "{written:?}");
    let orders = |object: &Value| object["orders"].as_u64().unwrap();
    assert!(written.iter().any(|object| orders(object) > 1_000), "{written:?}");
    let all = files(&journal);
    assert_eq!(all.len(), written.len());
    assert_eq!(verify(&journal).status, 0, "{}", verify(&journal).stdout);

    let stat = good(&["journal", "stat", &journal, "--format", "json"]).stdout;
    let stat = objects(&stat).pop().unwrap();
    assert_eq!(
        (stat["runs"].as_u64(), stat["snapshots"].as_u64()),
        (Some(1), Some(all.len() as u64))
    );
    assert_eq!(stat["last_trade_date"], "2019-12-30");

    // Nothing is left to do, and what was removed at the end is made again, byte for byte.
    assert!(snapshot(&journal, &["--share", "100"]).is_empty());
    for keep in [0, 1, all.len() - 1] {
        all[keep..].iter().for_each(|(path, _)| fs::remove_file(path).unwrap());
        assert_eq!(snapshot(&journal, &["--share", "100"]).len(), all.len() - keep);
        assert_eq!(files(&journal), all, "from {keep} on");
    }
}

#[test]
fn snapshots_take_at_most_their_share_of_the_journal() {
    let folder = Folder::new("snapshots_share");
    let journal = recorded(&folder, "200000");
    let written = snapshot(&journal, &["--share", "5"]);
    let bytes = |object: &Value| object["bytes"].as_u64().unwrap();
    let journal_bytes = {
        let stat = good(&["journal", "verify", &journal, "--format", "json"]);
        objects(&stat.stdout).last().unwrap()["excerpt_bytes"].as_u64().unwrap()
    };
    // Each but the last one is followed by twenty times its bytes.
    let all = &written[..written.len() - 1];
    assert!(all.iter().map(bytes).sum::<u64>() * 20 <= journal_bytes, "{written:?}");
}

#[test]
fn a_damaged_or_foreign_snapshot_is_found_and_not_used() {
    let folder = Folder::new("snapshots_damaged");
    let journal = recorded(&folder, "100000");
    snapshot(&journal, &["--share", "100"]);
    let (path, bytes) = files(&journal).into_iter().next().unwrap();
    for at in [3, 20, 100, 250, 300, bytes.len() - 3] {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        fs::write(&path, bad).unwrap();
        let ran = verify(&journal);
        assert_eq!(ran.status, 1, "{at}: {}", ran.stdout);
        assert!(ran.stdout.contains("remove the file"), "{at}: {}", ran.stdout);
    }
    fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
    assert_eq!(verify(&journal).status, 1);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(verify(&journal).status, 0);

    // The snapshot of another journal, under a number that this journal has.
    let other = Folder::new("snapshots_foreign");
    let foreign = recorded(&other, "90000");
    snapshot(&foreign, &["--share", "100"]);
    let (from, _) = files(&foreign).into_iter().next().unwrap();
    let to = path.with_file_name(from.file_name().unwrap());
    fs::copy(&from, &to).unwrap();
    let ran = verify(&journal);
    assert_eq!(ran.status, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("is another one, or is missing"), "{}", ran.stdout);
}

#[test]
fn a_killed_snapshotter_leaves_whole_files_and_the_next_one_continues() {
    let folder = Folder::new("snapshots_killed");
    let journal = recorded(&folder, "200000");
    let command =
        ["journal", "snapshot", &journal, "--share", "100", "--follow", "--format", "json"];
    let mut reference = Running::start(&command);
    while reference.read_json()["sequence"].as_u64().is_some_and(|sequence| sequence < 100_000) {}
    // It must not reach the end meanwhile.
    reference.signal(Signal::STOP);
    let second = nanotape(["journal", "snapshot", &journal]);
    assert_eq!(second.status, 2, "{}", second.stderr);
    assert!(second.stderr.contains("another process is writing snapshots"), "{}", second.stderr);
    reference.signal(Signal::KILL);
    reference.end();
    snapshot(&journal, &["--share", "100"]);
    let all = files(&journal);
    assert_eq!(verify(&journal).status, 0, "{}", verify(&journal).stdout);
    for kills in [1, 2] {
        all.iter().for_each(|(path, _)| fs::remove_file(path).unwrap());
        for _ in 0..kills {
            let mut killed = Running::start(&command);
            killed.read_json();
            killed.signal(Signal::KILL);
            killed.end();
        }
        snapshot(&journal, &["--share", "100"]);
        assert_eq!(files(&journal), all);
    }
}

#[test]
fn prune_removes_the_snapshots_that_no_reader_can_continue() {
    let folder = Folder::new("snapshots_pruned");
    let journal = recorded(&folder, "200000");
    snapshot(&journal, &["--share", "100"]);
    let before = files(&journal).len();
    let dry = good(&["journal", "prune", &journal, "--keep", "12MiB", "--dry-run"]);
    assert!(dry.stdout.contains("snapshot"), "{}", dry.stdout);
    assert_eq!(files(&journal).len(), before);
    good(&["journal", "prune", &journal, "--keep", "12MiB"]);
    let left = files(&journal);
    assert!(!left.is_empty() && left.len() < before, "{} of {before}", left.len());
    // The books before the oldest record are those of no record, so only the bytes are checked.
    assert_eq!(nanotape(["journal", "verify", &journal]).status, 0);
}
