//! Pruning removes the oldest segments, but none that a reader needs.

use nanotape_harness::Scratch;
use nanotape_journal::{
    Appender, CompressOptions, PruneOptions, Start, Tail, Tailer, compress, prune,
};
use nanotape_shm::{OwnedRegion, RegionOptions, RegionSpec};

use crate::damage::{self, assert_clean, lengths, options, read, segments};

/// Sets the position of a named tailer.
fn set_tailer(place: &Scratch, name: &str, next_sequence: u64) {
    let folder = place.path().join("tailers");
    std::fs::create_dir_all(&folder).unwrap();
    let layout = u64::from_be_bytes(*b"tailer 1");
    let spec = RegionSpec { kind: *b"TAILER  ", layout, parameters: [0; 4], words: 3 };
    let path = folder.join(name);
    let (region, _) = OwnedRegion::create(&path, spec, &RegionOptions::default(), |_| ()).unwrap();
    region.words()[0].store(next_sequence);
    region.close();
}

#[test]
fn what_is_older_goes_and_what_is_left_is_read_on() {
    let place = Scratch::new("age");
    let records = damage::write(place.path(), &lengths(4, 1));
    let numbers = segments(place.path());
    let last_of = |number| records.iter().rfind(|record| record.segment == number).unwrap();
    let options = |before_ns| PruneOptions { before_ns: Some(before_ns), ..Default::default() };
    assert_eq!(prune(place.path(), &options(last_of(1).ts_ns)).unwrap().segments, []);
    let dry = PruneOptions { is_dry_run: true, ..options(last_of(2).ts_ns + 1) };
    let would = prune(place.path(), &dry).unwrap();
    assert_eq!(segments(place.path()), numbers);
    let pruned = prune(place.path(), &PruneOptions { is_dry_run: false, ..dry }).unwrap();
    assert_eq!(pruned, would);
    assert_eq!(pruned.segments.iter().map(|it| it.number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(pruned.segments[1].max_ts_ns, last_of(2).ts_ns);
    assert_eq!(pruned.segments[1].next_sequence, last_of(2).sequence + 1);
    let left: Vec<_> = records.iter().filter(|record| record.segment > 2).cloned().collect();
    assert_eq!(read(place.path()), left);
    assert_eq!(assert_clean(place.path()).first_sequence, left[0].sequence);

    // A reader of removed excerpts gets a gap.
    let mut tailer = Tailer::open(place.path(), Start::Sequence(5)).unwrap();
    let Tail::Gap(gap) = tailer.next().unwrap() else { panic!("it is gone") };
    assert_eq!((gap.from, gap.to), (5, left[0].sequence - 1));
}

#[test]
fn the_last_active_segment_always_stays_and_appending_goes_on() {
    let place = Scratch::new("all");
    let records = damage::write(place.path(), &lengths(4, 1));
    compress(place.path(), &CompressOptions { keep_plain: 1, level: 3 }, |_, _| ()).unwrap();
    let mut appender = Appender::open(place.path(), &options()).unwrap();
    let all = PruneOptions { keep_bytes: Some(0), ..Default::default() };
    let pruned = prune(place.path(), &all).unwrap();
    let last = records.last().unwrap();
    assert_eq!(pruned.segments.len() as u64, last.segment - 1);
    assert_eq!(segments(place.path()), [last.segment]);
    assert_eq!(appender.append(1, last.ts_ns, b"more").unwrap(), last.sequence + 1);
    appender.close().unwrap();
    let appender = Appender::open(place.path(), &options()).unwrap();
    assert_eq!(appender.next_sequence(), last.sequence + 2);
}

#[test]
fn a_limit_in_bytes_keeps_as_many_of_the_newest_as_fit() {
    let place = Scratch::new("bytes");
    damage::write(place.path(), &lengths(5, 1));
    let total: u64 = segments(place.path())
        .into_iter()
        .map(|number| std::fs::metadata(damage::segment(place.path(), number)).unwrap().len())
        .sum();
    let limit = total - 70_000;
    let options = PruneOptions { keep_bytes: Some(limit), ..Default::default() };
    let pruned = prune(place.path(), &options).unwrap();
    assert_eq!(pruned.segments.len(), 2);
    let removed: u64 = pruned.segments.iter().map(|segment| segment.bytes).sum();
    assert_eq!(pruned.bytes_left, total - removed);
    assert!(pruned.bytes_left <= limit && pruned.bytes_left + pruned.segments[1].bytes > limit);
    assert_eq!(prune(place.path(), &options).unwrap().segments, []);
    assert_eq!(prune(place.path(), &PruneOptions::default()).unwrap().segments, []);
}

#[test]
fn what_a_named_tailer_has_not_read_stays_unless_it_is_forced() {
    let place = Scratch::new("named");
    let records = damage::write(place.path(), &lengths(4, 1));
    let first_of =
        |number| records.iter().find(|record| record.segment == number).unwrap().sequence;
    set_tailer(&place, "fast", records.len() as u64 + 1);
    set_tailer(&place, "slow", first_of(2) + 3);
    let options = PruneOptions { before_sequence: Some(first_of(4)), ..Default::default() };
    let pruned = prune(place.path(), &options).unwrap();
    assert_eq!(pruned.segments.iter().map(|it| it.number).collect::<Vec<_>>(), [1]);
    assert_eq!(pruned.held_by, Some(("slow".to_owned(), first_of(2) + 3)));
    // A tailer at the beginning of a segment needs nothing before it.
    set_tailer(&place, "slow", first_of(3));
    assert_eq!(prune(place.path(), &options).unwrap().segments.len(), 1);
    // A tailer that has read nothing yet needs everything.
    set_tailer(&place, "new", 0);
    let held = prune(place.path(), &options).unwrap();
    assert_eq!((held.segments.len(), held.held_by), (0, Some(("new".to_owned(), 0))));
    let forced = PruneOptions { is_forced: true, ..options };
    assert_eq!(prune(place.path(), &forced).unwrap().segments.len(), 1);
    assert_eq!(read(place.path())[0].sequence, first_of(4));
}

#[test]
fn a_tailer_that_cannot_be_read_stops_it() {
    let place = Scratch::new("unknown");
    damage::write(place.path(), &lengths(3, 1));
    set_tailer(&place, "broken", 1_000_000);
    std::fs::write(place.path().join("tailers/broken"), "not a region").unwrap();
    let options = PruneOptions { keep_bytes: Some(0), ..Default::default() };
    prune(place.path(), &options).unwrap_err();
    assert!(segments(place.path()).len() >= 3);
    let forced = PruneOptions { is_forced: true, ..options };
    assert!(!prune(place.path(), &forced).unwrap().segments.is_empty());
}
