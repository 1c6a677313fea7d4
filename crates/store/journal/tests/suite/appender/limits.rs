//! The largest lengths, times and numbers of prepared segments.

use nanotape_harness::{Scratch, eventually};
use nanotape_journal::{
    Appender, AppenderOptions, Copied, Copier, CopyState, ErrorKind, Folder, MAX_LENGTH,
    MAX_SEQUENCE, Replica, RollCycle, RollTimes, Start, Tail, Tailer, excerpt_bytes,
};
use nanotape_shm::{ReadWord, checksum_bytes};
use rustix::process::{Resource, getrlimit};

fn options(roll_cycle: RollCycle) -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle,
        has_pretoucher: false,
        ..AppenderOptions::default()
    }
}

#[test]
fn payloads_of_2_to_the_28_bytes_are_refused_although_there_is_room() {
    let place = Scratch::new("long");
    let long = 1 << 28;
    let segment_bytes = (long as u64 + (1 << 20)).next_multiple_of(1 << 20);
    let options = AppenderOptions { segment_bytes, ..options(RollCycle::Size) };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    assert_eq!(appender.append(1, 1, b"first").unwrap(), 1);
    let payload = vec![0; long];
    let is_too_long = |problem: &ErrorKind| {
        matches!(problem, ErrorKind::TooLong { length, max }
            if *length >= long && *max == MAX_LENGTH as usize)
    };
    for length in [long, long + 1, long + 8, usize::MAX / 2, usize::MAX] {
        let error = appender.claim(1, 1, length).unwrap_err();
        assert!(is_too_long(error.kind()), "a claim of {length}: {error}");
    }
    let mut batch = appender.batch(1, excerpt_bytes(long)).unwrap();
    batch.append(1, 1, b"second").unwrap();
    let error = batch.append(1, 1, &payload).unwrap_err();
    assert!(is_too_long(error.kind()), "in a batch: {error}");
    assert_eq!(batch.commit().unwrap(), 3);
    let error = appender.append(1, 1, &payload).unwrap_err();
    assert!(is_too_long(error.kind()), "{error}");
    assert!(appender.batch(1, usize::MAX).is_err());
    // The longest payload.
    assert_eq!(appender.claim(1, 2, long - 1).unwrap().commit().unwrap(), 3);
    assert_eq!(appender.append(1, 3, b"last").unwrap(), 4);
    drop(appender);
    let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    for expected in 1..=4 {
        let Tail::Excerpt(excerpt) = tailer.next().unwrap() else { panic!("{expected}") };
        assert_eq!(excerpt.sequence(), expected);
    }
}

/// The times of the excerpts of each segment.
fn times_by_segment(place: &Scratch) -> Vec<Vec<u64>> {
    let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    let mut times = std::collections::BTreeMap::<u64, Vec<u64>>::new();
    while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
        times.entry(excerpt.segment()).or_default().push(excerpt.ts_ns());
    }
    times.into_values().collect()
}

#[test]
fn a_segment_begins_at_each_given_time_also_with_another_appender() {
    let place = Scratch::new("roll-times");
    let roll_times = RollTimes::new([300, 100, 125]);
    let options = AppenderOptions { roll_times, ..options(RollCycle::Size) };
    for times in [&[7, 99, 100][..], &[124, 125], &[130], &[299, 300, 900]] {
        let mut appender = Appender::open(place.path(), &options).unwrap();
        for &ts_ns in times {
            appender.append(1, ts_ns, b"in its period").unwrap();
        }
    }
    let expected = [&[7, 99][..], &[100, 124], &[125, 130, 299], &[300, 900]];
    assert_eq!(times_by_segment(&place), expected);
}

#[test]
fn a_journal_without_numbers_for_a_segment_is_not_opened() {
    let place = Scratch::new("numbers");
    let options = options(RollCycle::Size);
    let last = MAX_SEQUENCE - (1 << 32);
    let mut appender = Appender::open(place.path(), &options).unwrap();
    appender.skip_to(last).unwrap();
    assert_eq!(appender.append(1, 1, b"last").unwrap(), last);
    drop(appender);
    let error = Appender::open(place.path(), &options).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::NoNumbers { next: last + 1, max: last });
}

/// What another side made: the source of a copy need not be an appender.
#[test]
fn a_copy_refuses_an_excerpt_after_which_there_is_no_number() {
    let (source, copy) = (Scratch::new("numbers"), Scratch::new("numbers"));
    let mut appender = Appender::open(source.path(), &options(RollCycle::Size)).unwrap();
    appender.append(7, 9, b"payload").unwrap();
    let disk = Folder::new(source.path(), 0o600);
    let (mut copier, _) = Copier::resume(disk, &CopyState::default()).unwrap();
    let Copied::Segment(head) = copier.next(1 << 16).unwrap() else { panic!("no segment") };
    let Copied::Words { position, words, .. } = copier.next(1 << 16).unwrap() else {
        panic!("no excerpt")
    };
    let mut words: Vec<u64> = words.iter().map(ReadWord::load).collect();
    let mut replica = Replica::open(copy.path(), 0o600).unwrap();
    replica.begin(&head).unwrap();
    for (sequence, is_refused) in [(MAX_SEQUENCE, true), (MAX_SEQUENCE - 1, false)] {
        let (commit, number) = (words[0] & 0xffff_ffff, 7 << 48 | sequence);
        let seed = checksum_bytes(0, [head.journal(), 1].map(u64::to_le_bytes).as_flattened());
        let summed: Vec<u8> = [commit, number]
            .iter()
            .chain(&words[2..])
            .flat_map(|word| word.to_le_bytes())
            .collect();
        words[0] = commit | u64::from(checksum_bytes(seed, &summed)) << 32;
        words[1] = number;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let appended = replica.append(position, &bytes);
        assert_eq!(appended.is_err(), is_refused, "{sequence}: {appended:?}");
    }
    assert_eq!(replica.state().next_sequence, MAX_SEQUENCE);
}

#[test]
fn the_largest_time_makes_no_roll_of_its_own() {
    for cycle in [RollCycle::Size, RollCycle::Day, RollCycle::EveryNs(1), RollCycle::EveryNs(7)] {
        let place = Scratch::new("times");
        let mut appender = Appender::open(place.path(), &options(cycle)).unwrap();
        for ts_ns in [u64::MAX - 1, u64::MAX, u64::MAX, 5, u64::MAX] {
            appender.append(1, ts_ns, b"late").unwrap();
        }
        let most = if cycle == RollCycle::EveryNs(1) { 2 } else { 1 };
        assert_eq!(appender.segment(), most, "{cycle:?}");
    }
}

#[test]
fn the_cycle_of_a_segment_is_that_of_the_largest_time_so_far() {
    let place = Scratch::new("cycles");
    let mut appender = Appender::open(place.path(), &options(RollCycle::EveryNs(1000))).unwrap();
    appender.append(1, 5_500, b"in cycle 5").unwrap();
    // The segment is full, and the next excerpt has an earlier time.
    appender.append(1, 5_600, &[1; 40_000]).unwrap();
    appender.append(1, 2_000, &[1; 40_000]).unwrap();
    assert_eq!(appender.segment(), 2);
    // Cycle 5 continues.
    appender.append(1, 5_700, b"in cycle 5").unwrap();
    assert_eq!(appender.segment(), 2);
    appender.append(1, 6_000, b"in cycle 6").unwrap();
    assert_eq!(appender.segment(), 3);
}

/// The memory ahead of the appender is 1,024 segments here, and each has two open files.
#[test]
fn prepared_segments_leave_most_open_files_to_the_program() {
    let place = Scratch::new("small");
    let options =
        AppenderOptions { has_pretoucher: true, ahead_bytes: 64 << 20, ..options(RollCycle::Size) };
    let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = usize::try_from(open_files / 8).unwrap().min(1_025);
    let mut appender = Appender::open(place.path(), &options).unwrap();
    let segments = || {
        let names =
            std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".segment")).count()
    };
    for number in 1..=20 {
        appender.append(1, number, &[7; 50_000]).unwrap();
        // Those with an excerpt, and one that may have been taken since.
        let with_excerpts = usize::try_from(number).unwrap();
        eventually("segments are prepared", || segments() >= with_excerpts + most);
        assert!(segments() <= with_excerpts + most + 1, "{} after {number}", segments());
    }
}
