//! A journal stays the same if its folder is renamed or its appender changes its working directory.

use std::{fs, os::unix::fs::FileExt as _, path::Path};

use nanotape_harness::{Scratch, eventually};
use nanotape_journal::{
    Appender, AppenderOptions, Copied, Copier, CopyState, ErrorKind, FIELDS, Folder, Replica,
    RollCycle, SyncPolicy,
};

fn options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        sync: SyncPolicy::Batch,
        ahead_bytes: 0,
        ..AppenderOptions::default()
    }
}

/// Whether a closed segment is marked as synced.
fn is_sealed(path: &Path, number: u64) -> bool {
    let offset = FIELDS.iter().find(|field| field.2 == "sealed").unwrap().0 as u64;
    let file = fs::File::open(path.join(format!("{number:010}.segment"))).unwrap();
    let mut word = [0; 8];
    file.read_exact_at(&mut word, offset).unwrap();
    u64::from_ne_bytes(word) == 1
}

/// Appends across some rolls; each append returns when its excerpt is on disk.
fn check(mut appender: Appender, go_away: impl FnOnce(), now_at: &Path, was_at: &Path) {
    appender.append(1, 1, b"first").unwrap();
    let second = was_at.join("0000000002.segment");
    eventually("the second segment is prepared", || second.exists());
    go_away();
    for number in 1..=4 {
        appender.append(1, 2, b"in the segment that is closed then").unwrap();
        appender.roll().unwrap();
        appender.append(1, 3, b"behind it").unwrap();
        assert!(is_sealed(now_at, number), "segment {number}");
    }
    appender.close().unwrap();
    let appender = Appender::open(now_at, &options()).unwrap();
    assert_eq!(appender.next_sequence(), 10);
}

#[test]
fn what_is_closed_in_a_folder_that_was_renamed_is_synced() {
    let place = Scratch::new("renamed");
    fs::create_dir(place.path()).unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    let appender = Appender::open(&from, &options()).unwrap();
    check(appender, || fs::rename(&from, &to).unwrap(), &to, &from);
    assert!(!from.exists(), "nothing is made there again");
}

/// The pages after the end of a file have no memory, so that what is stored there is lost.
#[test]
fn an_appender_and_a_copy_end_when_their_segment_is_truncated() {
    let (source, copy) = (Scratch::new("truncated"), Scratch::new("truncated"));
    let truncate = |path: &Path| {
        let segment = fs::File::options().write(true).open(path.join("0000000001.segment"));
        segment.unwrap().set_len(40_960).unwrap();
    };
    let mut appender = Appender::open(source.path(), &options()).unwrap();
    appender.append(1, 1, b"first").unwrap();
    let disk = Folder::new(source.path(), 0o600);
    let (mut copier, _) = Copier::resume(disk, &CopyState::default()).unwrap();
    let Copied::Segment(head) = copier.next(1 << 16).unwrap() else { panic!("no segment") };
    let mut replica = Replica::open(copy.path(), 0o600).unwrap();
    replica.begin(&head).unwrap();
    replica.check_place().unwrap();
    truncate(copy.path());
    assert_eq!(*replica.check_place().unwrap_err().kind(), ErrorKind::Gone);
    truncate(source.path());
    let mut error = None;
    eventually("an append fails", || {
        error = appender.append(1, 1, b"next").err();
        error.is_some()
    });
    assert_eq!(*error.unwrap().kind(), ErrorKind::Gone);
}

#[test]
fn what_is_closed_after_the_process_changed_its_folder_is_synced() {
    let place = Scratch::new("changed");
    let other = place.path().join("other");
    fs::create_dir_all(&other).unwrap();
    let before = std::env::current_dir().unwrap();
    std::env::set_current_dir(place.path()).unwrap();
    let appender = Appender::open("journal".as_ref(), &options()).unwrap();
    let journal = place.path().join("journal");
    check(appender, || std::env::set_current_dir(&other).unwrap(), &journal, &journal);
    std::env::set_current_dir(before).unwrap();
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0, "nothing is made there");
}
