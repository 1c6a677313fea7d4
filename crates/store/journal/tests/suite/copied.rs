//! Copies in real folders, with a thread that creates the file of each next segment.

use std::{fs, path::Path};

use nanotape_harness::Scratch;
use nanotape_journal::{
    Appender, AppenderOptions, Copied, Copier, CopyState, Folder, Replica, RollCycle, SegmentSum,
    segment_sums,
};

fn sums(journal: &Path) -> Vec<SegmentSum> {
    let mut sums = Vec::new();
    segment_sums(journal, u64::MAX, |sum| sums.push(sum)).unwrap();
    sums
}

/// Names of files that are being created.
fn parts(journal: &Path) -> Vec<String> {
    let names = fs::read_dir(journal).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".part")).collect()
}

/// Copies everything, and calls `before_segment` before each segment with its number.
fn copy(source: &Path, replica: &mut Replica, mut before_segment: impl FnMut(u64)) {
    let disk = Folder::new(source, 0o600);
    let (mut copier, _) = Copier::resume(disk, &CopyState::default()).unwrap();
    let mut bytes = Vec::new();
    loop {
        match copier.next(1 << 14).unwrap() {
            Copied::Segment(head) => {
                before_segment(head.number());
                replica.begin(&head).unwrap();
            }
            Copied::Words { position, words, .. } => {
                bytes.clear();
                bytes.extend(words.iter().flat_map(|word| word.load().to_ne_bytes()));
                replica.append(position, &bytes).unwrap();
            }
            Copied::Nothing => return,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_copy_that_prepares_its_segments_is_the_same_and_leaves_no_file_behind() {
    let source = Scratch::new("prepared");
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(source.path(), &options).unwrap();
    for number in 1..=2_000_u64 {
        appender.append(1, number, &number.to_ne_bytes().repeat(40)).unwrap();
    }
    let expected = sums(source.path());
    assert!(expected.len() > 8);
    let target = Scratch::new("prepared");
    let mut replica = Replica::open(target.path(), 0o600).unwrap();
    replica.prepare_ahead();
    copy(source.path(), &mut replica, |number| {
        // As another process does that opens the journal to repair it.
        if number % 3 == 0 {
            parts(target.path()).iter().for_each(|name| {
                let _ = fs::remove_file(target.path().join(name));
            });
        }
    });
    assert_eq!(sums(target.path()), expected);
    drop(replica);
    assert_eq!(parts(target.path()), [""; 0]);
    assert!(nanotape_journal::verify(target.path(), |_, _| ()).unwrap().is_clean());
}
