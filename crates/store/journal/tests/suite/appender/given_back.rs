//! The unused end of a closed segment is freed while readers open the segment: it stays freed, and
//! no reader fails.

use std::fs::{self, File};

use nanotape_harness::Scratch;
use nanotape_journal::{
    Appender, AppenderOptions, PruneOptions, RollCycle, Start, SyncPolicy, Tail, Tailer, prune_on,
};

use crate::appender::gated::GatedFolder;

const SEGMENT_BYTES: u64 = 1 << 16;

fn open(disk: &GatedFolder) -> Appender<GatedFolder> {
    let options = AppenderOptions {
        segment_bytes: SEGMENT_BYTES,
        roll_cycle: RollCycle::Size,
        sync: SyncPolicy::Never,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    Appender::open_on(disk.clone(), &options).unwrap()
}

/// Restores a closed segment to its state before its unused end is freed, which happens the next
/// time it is opened for writing; returns its length then.
fn lengthen(place: &Scratch, disk: &GatedFolder, name: &str) -> u64 {
    let path = place.path().join(name);
    let bytes = fs::metadata(&path).unwrap().len();
    assert!(bytes < SEGMENT_BYTES);
    File::options().write(true).open(path).unwrap().set_len(SEGMENT_BYTES).unwrap();
    disk.shrink_to(bytes);
    bytes
}

#[test]
fn by_an_appender_whose_journal_is_pruned() {
    let place = Scratch::new("given-back-prune");
    let disk = GatedFolder::new(place.path());
    let mut appender = open(&disk);
    for number in 1..=3 {
        assert_eq!(appender.append(1, number, b"some").unwrap(), number);
        appender.roll().unwrap();
    }
    let bytes = lengthen(&place, &disk, "0000000002.segment");
    let options = PruneOptions { before_sequence: Some(2), ..PruneOptions::default() };
    let pruned = prune_on(&disk, &options, Vec::new()).unwrap();
    assert_eq!(pruned.segments.iter().map(|it| it.number).collect::<Vec<_>>(), [1]);
    assert_eq!(disk.shrunk(), 1);
    let left = fs::metadata(place.path().join("0000000002.segment")).unwrap().len();
    assert_eq!(left, bytes, "what was given back is used again");
    appender.close().unwrap();
}

#[test]
fn by_a_pretoucher_while_a_segment_is_stored_again_after_a_failed_sync() {
    let place = Scratch::new("given-back-sync");
    let disk = GatedFolder::new(place.path());
    let mut appender = open(&disk);
    appender.append(1, 1, b"some").unwrap();
    disk.set_failing(true);
    appender.sync().unwrap_err();
    disk.set_failing(false);
    appender.roll().unwrap();
    appender.append(1, 2, b"more").unwrap();
    let bytes = lengthen(&place, &disk, "0000000001.segment");
    appender.sync().unwrap();
    assert_eq!(disk.shrunk(), 1);
    let left = fs::metadata(place.path().join("0000000001.segment")).unwrap().len();
    assert_eq!(left, bytes, "what was given back is used again");
    appender.close().unwrap();
    let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    for number in 1..=2 {
        let Tail::Excerpt(excerpt) = tailer.next().unwrap() else { panic!("{number} is there") };
        assert_eq!(excerpt.sequence(), number);
    }
}
