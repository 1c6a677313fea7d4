//! A full disk: a small one in memory, mounted for the test, if that is permitted.

use nanotape_harness::Mount;
use nanotape_journal::{Appender, AppenderOptions, ErrorKind, PruneOptions, RollCycle, prune};

use crate::processes::records::{payload, read_all};

fn until_full(appender: &mut Appender) -> nanotape_journal::JournalError {
    loop {
        let next = appender.next_sequence();
        if let Err(error) = appender.append(7, next, &payload(next, 7)) {
            return error;
        }
    }
}

fn a_full_disk(has_pretoucher: bool) {
    let Some(mounted) = Mount::new("tmpfs", "size=1m") else { return };
    let path = mounted.path().join("journal");
    let filler = mounted.path().join("filler");
    std::fs::write(&filler, vec![1; 300 << 10]).unwrap();
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        ahead_bytes: 4096,
        has_pretoucher,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(&path, &options).unwrap();
    let error = until_full(&mut appender);
    println!("{error}");
    let ErrorKind::NoSpace { needed_bytes: 65_536, free_bytes } = *error.kind() else {
        panic!("{error}")
    };
    assert!(free_bytes < 65_536, "{error}");
    assert!(error.path().starts_with(&path), "{error}");
    let count = appender.next_sequence() - 1;
    assert!(count > 100);
    assert_eq!(read_all(&path).len() as u64, count, "all of it can be read");
    // A second attempt fails in the same way, and nothing is half done.
    assert!(matches!(until_full(&mut appender).kind(), ErrorKind::NoSpace { .. }));
    assert_eq!(read_all(&path).len() as u64, appender.next_sequence() - 1);
    // The same for the next appender: this one is killed or ends, and another one opens a full
    // disk.
    drop(appender);
    let mut appender = Appender::open(&path, &options).unwrap();
    until_full(&mut appender);

    std::fs::remove_file(&filler).unwrap();
    let before = appender.next_sequence();
    for _ in 0..300 {
        let next = appender.next_sequence();
        appender.append(7, next, &payload(next, 7)).unwrap();
    }
    assert_eq!(read_all(&path).len() as u64, before + 299);
}

#[test]
fn a_journal_is_pruned_on_a_disk_without_a_free_byte() {
    let Some(mounted) = Mount::new("tmpfs", "size=1m") else { return };
    let path = mounted.path().join("journal");
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(&path, &options).unwrap();
    until_full(&mut appender);
    drop(appender);
    let filled = std::fs::write(mounted.path().join("rest"), vec![1; 1 << 20]).unwrap_err();
    assert_eq!(filled.kind(), std::io::ErrorKind::StorageFull);
    let all = PruneOptions { keep_bytes: Some(0), ..PruneOptions::default() };
    assert!(!prune(&path, &all).unwrap().segments.is_empty());
}

#[test]
fn a_disk_that_allows_no_more_files_is_distinguished_from_a_full_one() {
    let Some(mounted) = Mount::new("tmpfs", "size=8m,nr_inodes=12") else { return };
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(&mounted.path().join("journal"), &options).unwrap();
    let error = until_full(&mut appender).to_string();
    assert!(error.contains("allows no more files: check its inodes (df -i)"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_with_the_bytes_needed_and_appending_goes_on_when_there_is_room() {
    a_full_disk(false);
}

#[test]
fn with_a_pretoucher_a_full_disk_is_the_same() {
    a_full_disk(true);
}
