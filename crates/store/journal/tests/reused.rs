//! Pruned segments of a journal in memory become the next ones, unless a process still has them.
//!
//! A separate program: a process that a test of the suite starts has all open files of the suite
//! for a moment, and so has each pruned segment.

#![cfg(not(nanotape_loom))]

#[expect(dead_code, reason = "the suite uses all of it")]
#[path = "suite/damage.rs"]
mod damage;

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, PruneOptions, Start, Tail, Tailer, prune};

use damage::{assert_clean, options, payload, read, segment, segments, time};

/// The spare names that `docs/formats/journal.md` lists.
const SPARES: [&str; 2] = ["18446744073709551615.part", "18446744073709551614.part"];

fn spares(path: &Path) -> Vec<&'static str> {
    SPARES.into_iter().filter(|spare| path.join(spare).exists()).collect()
}

fn inode(path: PathBuf) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// Appends until a segment has begun; returns its inode.
fn fill_up_to(appender: &mut Appender, number: u64) -> u64 {
    while appender.segment() < number {
        let sequence = appender.next_sequence();
        appender.append(3, time(sequence), &payload(sequence, 900)).unwrap();
    }
    inode(segment(&appender.path(), number))
}

/// Removes all segments but the last `kept` ones.
fn keep(path: &Path, kept: usize) {
    let bytes = |number: &u64| fs::metadata(segment(path, *number)).unwrap().len();
    let keep_bytes = segments(path).iter().rev().take(kept).map(bytes).sum();
    let options = PruneOptions { keep_bytes: Some(keep_bytes), ..PruneOptions::default() };
    prune(path, &options).unwrap();
}

#[test]
fn a_pruned_segment_becomes_the_next_one_and_nothing_of_it_is_left() {
    let Some(place) = Scratch::in_memory("reused") else { return };
    let path = place.path();
    let mut appender = Appender::open(path, &options()).unwrap();
    let inodes: Vec<u64> = (1..=4).map(|number| fill_up_to(&mut appender, number)).collect();
    keep(path, 1);
    assert_eq!(segments(path), [4]);
    assert_eq!(spares(path), SPARES, "the third one was removed");
    assert_eq!(fill_up_to(&mut appender, 5), inodes[0]);
    assert_eq!(fill_up_to(&mut appender, 6), inodes[1]);
    assert!(spares(path).is_empty());
    let new = fill_up_to(&mut appender, 7);
    assert_eq!(fs::metadata(segment(path, 7)).unwrap().len(), 1 << 16);
    keep(path, 1);
    assert_eq!(fill_up_to(&mut appender, 8), inodes[3]);
    let bytes = fs::read(segment(path, 8)).unwrap();
    let (_, end) = Tailer::open(path, Start::Newest).unwrap().position();
    assert_eq!(bytes.len(), 1 << 16);
    assert!(bytes[end as usize..].iter().all(|&byte| byte == 0), "zeros after the end");
    let records = read(path);
    assert!(records.iter().all(|it| it.payload == payload(it.sequence, 900)));
    assert_eq!((records[0].segment, inode(segment(path, 7))), (7, new));
    // An appender that ends removes unused spare files.
    keep(path, 1);
    assert!(!spares(path).is_empty());
    appender.close().unwrap();
    assert!(spares(path).is_empty());
    assert_clean(path);
}

#[test]
fn a_segment_that_a_reader_has_open_stays_as_it_is() {
    let Some(place) = Scratch::in_memory("open") else { return };
    let path = place.path();
    let mut appender = Appender::open(path, &options()).unwrap();
    let inodes: Vec<u64> = (1..=3).map(|number| fill_up_to(&mut appender, number)).collect();
    let mut tailer = Tailer::open(path, Start::Oldest).unwrap();
    assert!(matches!(tailer.next().unwrap(), Tail::Excerpt(_)));
    keep(path, 1);
    assert_eq!(spares(path), SPARES);
    assert_eq!(fill_up_to(&mut appender, 4), inodes[1], "only the second one is free");
    assert_ne!(fill_up_to(&mut appender, 5), inodes[0]);
    let mut next = 2;
    let gap = loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                assert_eq!(excerpt.sequence(), next);
                assert_eq!(excerpt.to_vec(), payload(next, 900));
                next += 1;
            }
            Tail::Gap(gap) => break gap,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(gap.from, next, "all of the first segment was read");
    assert_eq!(gap.to + 1, read(path)[0].sequence);
}

#[test]
fn a_hard_link_of_a_pruned_segment_is_not_overwritten() {
    let Some(place) = Scratch::in_memory("linked") else { return };
    let path = place.path();
    let mut appender = Appender::open(path, &options()).unwrap();
    let first = fill_up_to(&mut appender, 1);
    fill_up_to(&mut appender, 2);
    let copy = path.with_file_name("copy");
    fs::hard_link(segment(path, 1), &copy).unwrap();
    let before = fs::read(&copy).unwrap();
    keep(path, 1);
    assert_ne!(fill_up_to(&mut appender, 3), first);
    assert_eq!(fs::read(&copy).unwrap(), before);
    assert!(spares(path).is_empty());
}

#[test]
fn a_segment_of_another_length_fits_too() {
    let Some(place) = Scratch::in_memory("lengths") else { return };
    let path = place.path();
    let mut appender = Appender::open(path, &options()).unwrap();
    let short = fill_up_to(&mut appender, 1);
    appender.roll().unwrap();
    appender.append(3, time(1), b"of segment 2").unwrap();
    assert!(fs::metadata(segment(path, 1)).unwrap().len() < 1 << 14);
    keep(path, 1);
    let shorter = nanotape_journal::AppenderOptions { segment_bytes: 1 << 17, ..options() };
    assert_eq!(fill_up_to(&mut appender, 3), short);
    assert_eq!(fs::metadata(segment(path, 3)).unwrap().len(), 1 << 16);
    drop(appender);
    let mut appender = Appender::open(path, &shorter).unwrap();
    fill_up_to(&mut appender, 5);
    keep(path, 1);
    drop(appender);
    let mut appender = Appender::open(path, &options()).unwrap();
    fill_up_to(&mut appender, 7);
    appender.close().unwrap();
    assert_clean(path);
}

#[test]
fn there_are_no_spares_without_an_appender_or_on_a_disk() {
    let Some(place) = Scratch::in_memory("closed") else { return };
    let mut appender = Appender::open(place.path(), &options()).unwrap();
    fill_up_to(&mut appender, 4);
    appender.close().unwrap();
    keep(place.path(), 1);
    assert_eq!(segments(place.path()), [4]);
    assert!(spares(place.path()).is_empty());
    // A killed appender leaves them, and the next one removes them.
    fs::write(place.path().join(SPARES[0]), [7; 5000]).unwrap();
    drop(Appender::open(place.path(), &options()).unwrap());
    assert!(spares(place.path()).is_empty());

    let place = Scratch::on_disk("disk");
    let mut appender = Appender::open(place.path(), &options()).unwrap();
    fill_up_to(&mut appender, 4);
    keep(place.path(), 1);
    assert!(spares(place.path()).is_empty());
}

#[test]
fn readers_that_come_and_go_never_read_another_excerpt() {
    let Some(place) = Scratch::in_memory("readers") else { return };
    let path = place.path();
    let mut appender = Appender::open(path, &options()).unwrap();
    fill_up_to(&mut appender, 3);
    std::thread::scope(|scope| {
        let reader = |is_checked| {
            move || {
                let mut read = 0;
                while segments(path).last().is_some_and(|&last| last < 300) {
                    let Ok(mut tailer) = Tailer::open(path, Start::Oldest) else { continue };
                    tailer.set_checked(is_checked);
                    for _ in 0..70 {
                        match tailer.next().unwrap() {
                            Tail::Excerpt(excerpt) => {
                                assert_eq!(excerpt.to_vec(), payload(excerpt.sequence(), 900));
                                read += 1;
                            }
                            Tail::Gap(_) => {}
                            Tail::Nothing => break,
                            Tail::Reused(reused) => panic!("{reused:?}"),
                        }
                    }
                }
                read
            }
        };
        let readers = [true, false].map(|is_checked| scope.spawn(reader(is_checked)));
        for number in 4..=300 {
            fill_up_to(&mut appender, number);
            keep(path, 2);
        }
        assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
    });
}
