//! Repairs of damaged journals: valid records stay, and damaged bytes are in `cut`.

use std::{collections::BTreeMap, fs, path::Path};

use nanotape_harness::{Scratch, Task, bytes_of, survives};
use nanotape_journal::{
    Appender, AppenderOptions, Corruption, Done, ErrorKind, Found, Start, Tail, Tailer, repair,
    verify,
};
use nanotape_shm::kill_points;
use proptest::prelude::*;

use crate::damage::{
    self, Record, assert_clean, cut, flip, is_in, lengths, options, overwrite, read, segment,
};

/// Repairs a journal, and checks what must be true after every repair.
fn repaired(path: &Path) -> Vec<Done> {
    let would = repair(path, true, |_, _| ()).unwrap();
    let repaired = repair(path, false, |_, _| ()).unwrap();
    let kinds = |actions: &[nanotape_journal::Action]| -> Vec<_> {
        let kind = |done: &Done| std::mem::discriminant(done);
        actions.iter().map(|action| (action.offset, kind(&action.done))).collect()
    };
    assert_eq!(kinds(&would.actions), kinds(&repaired.actions), "a dry run reports the changes");
    assert_clean(path);
    let again = repair(path, false, |_, _| ()).unwrap();
    assert_eq!(again.actions, [], "nothing is left to be done");
    repaired.actions.into_iter().map(|action| action.done).collect()
}

/// Exactly the records without a changed byte must exist; the changed bytes are in `cut`.
fn check(path: &Path, records: &[Record], damaged: &BTreeMap<u64, Vec<u8>>, before: &Files) {
    let found = read(path);
    let by_sequence: BTreeMap<u64, &Record> =
        records.iter().map(|record| (record.sequence, record)).collect();
    for record in &found {
        let was = by_sequence.get(&record.sequence);
        assert_eq!(was.map(|was| &was.payload), Some(&record.payload), "what was never written");
    }
    let there: Vec<u64> = found.iter().map(|record| record.sequence).collect();
    let files = cut(path);
    for record in records {
        let (was, is) = (&before[&record.segment], &damaged[&record.segment]);
        let range = record.range();
        let bytes = &is[range.start.min(is.len())..range.end.min(is.len())];
        let is_there = there.binary_search(&record.sequence).is_ok();
        if bytes == &was[range.clone()] {
            assert!(is_there, "{} is gone", record.sequence);
        } else if is_there {
            // Only zeros after its payload were cut off.
            assert!(was[range.start..].starts_with(bytes));
        } else if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            // Zeros at the end are not kept, and the last word is whole only if all of it exists.
            let end = (last + 1).min((bytes.len() / 8) * 8);
            assert!(is_in(&bytes[..end], &files), "the bytes of {} are nowhere", record.sequence);
        }
    }
}

type Files = BTreeMap<u64, Vec<u8>>;

fn files(path: &Path) -> Files {
    let numbers = damage::segments(path);
    numbers.into_iter().map(|n| (n, fs::read(segment(path, n)).unwrap())).collect()
}

/// One kind of damage; positions are in units of 1/65,536 of the segment or the part of it.
#[derive(Clone, Debug)]
enum Harm {
    /// Bytes of excerpts, at any position.
    Data { segment: u16, at: u16, mask: u8 },
    /// Bytes of the index.
    Index { segment: u16, at: u16, mask: u8 },
    /// One byte of the header of the second segment, the only one with this kind of damage.
    Header { at: u16, mask: u8 },
    /// A run of zeros in a closed segment.
    Zeros { segment: u16, at: u16, length: u16 },
    /// The end of a closed segment's file.
    Short { segment: u16, at: u16 },
    /// A run of random bytes, in any segment.
    Noise { segment: u16, at: u16, length: u16, salt: u8 },
}

fn harm() -> impl Strategy<Value = Harm> {
    let part = any::<u16>;
    prop_oneof![
        6 => (part(), part(), 1..=255_u8)
            .prop_map(|(segment, at, mask)| Harm::Data { segment, at, mask }),
        2 => (part(), part(), 1..=255_u8)
            .prop_map(|(segment, at, mask)| Harm::Index { segment, at, mask }),
        2 => (part(), 1..=255_u8).prop_map(|(at, mask)| Harm::Header { at, mask }),
        2 => (part(), part(), 1..6000_u16)
            .prop_map(|(segment, at, length)| Harm::Zeros { segment, at, length }),
        1 => (part(), part()).prop_map(|(segment, at)| Harm::Short { segment, at }),
        2 => (part(), part(), 1..6000_u16, 1..=255_u8)
            .prop_map(|(segment, at, length, salt)| Harm::Noise { segment, at, length, salt }),
    ]
}

/// The position of the first excerpt in segments of this size.
const DATA: usize = 8192;

impl Harm {
    fn inflict(&self, path: &Path, numbers: &[u64], records: &[Record]) {
        let scaled = |part: u16, of: usize| (usize::from(part) * of) >> 16;
        let closed = &numbers[..numbers.len() - 1];
        let any = |part| numbers[scaled(part, numbers.len())];
        let end = |number| {
            let of = records.iter().filter(|record| record.segment == number);
            of.map(|record| record.range().end).max().unwrap_or(DATA)
        };
        let length_of = |number| fs::metadata(segment(path, number)).unwrap().len() as usize;
        match *self {
            Self::Data { segment, at, mask } => {
                let number = any(segment);
                let at = DATA + scaled(at, end(number) - DATA);
                if at < length_of(number) {
                    flip(path, number, at, mask);
                }
            }
            Self::Index { segment, at, mask } => {
                flip(path, any(segment), 4096 + scaled(at, 4096), mask);
            }
            // Always the same segment, so that the other headers can restore it.
            Self::Header { at, mask } => flip(path, numbers[1], scaled(at, 544), mask),
            Self::Zeros { segment, at, length } => {
                let number = closed[scaled(segment, closed.len())];
                let at = DATA + scaled(at, end(number) - DATA);
                let length = usize::from(length).min(length_of(number).saturating_sub(at));
                overwrite(path, number, at, &vec![0; length]);
            }
            Self::Short { segment: which, at } => {
                let number = closed[scaled(which, closed.len())];
                let length = DATA + scaled(at, end(number) - DATA);
                if length < length_of(number) {
                    let file = fs::File::options().write(true).open(segment(path, number)).unwrap();
                    file.set_len(length as u64).unwrap();
                }
            }
            Self::Noise { segment, at, length, salt } => {
                let number = any(segment);
                let at = DATA + scaled(at, end(number) - DATA);
                let length = usize::from(length).min(length_of(number).saturating_sub(at));
                let noise: Vec<u8> =
                    (0..length).map(|at| (at as u8 | 1).wrapping_mul(salt | 1)).collect();
                overwrite(path, number, at, &noise);
            }
        }
    }
}

fn cases() -> u32 {
    std::env::var("NANOTAPE_REPAIR_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn whatever_is_damaged_what_still_checks_is_read_and_what_does_not_is_kept(
        salt in 0..100_usize, harms in proptest::collection::vec(harm(), 1..8)
    ) {
        let place = Scratch::new("harm");
        let records = damage::write(place.path(), &lengths(3, salt));
        let before = files(place.path());
        let numbers: Vec<u64> = before.keys().copied().collect();
        prop_assert!(numbers.len() >= 3);
        for harm in &harms {
            harm.inflict(place.path(), &numbers, &records);
        }
        let damaged = files(place.path());
        repaired(place.path());
        check(place.path(), &records, &damaged, &before);

        // An appender continues: numbers of lost records are not used again, except those at the
        // end.
        let mut appender = Appender::open(place.path(), &options()).unwrap();
        prop_assert!(appender.recovery().quarantined.is_empty());
        let sequence = appender.append(9, damage::time(1_000_000), b"more").unwrap();
        appender.close().unwrap();
        let last = read(place.path()).pop().unwrap();
        prop_assert_eq!((last.sequence, last.payload), (sequence, b"more".to_vec()));
        assert_clean(place.path());
    }
}

#[test]
fn a_repair_that_is_killed_before_any_of_its_stores_is_done_by_the_next_one() {
    let mut stores = 0;
    for number in 1.. {
        let place = Scratch::new("killed-repair");
        let records = damage::write(place.path(), &lengths(2, 3));
        let before = files(place.path());
        let second = records.iter().position(|record| record.segment == 2).unwrap();
        // A run of small records, an index entry, a header and the end mark.
        overwrite(place.path(), 1, records[4].offset + 8, &[0x55; 200]);
        flip(place.path(), 1, 4096 + 3 * 32, 1);
        flip(place.path(), 2, 264, 4);
        flip(place.path(), 1, records[second - 1].range().end, 1);
        let damaged = files(place.path());
        let is_done = survives(
            Task::new("repair", place.path()).number(number).command("repair::child_that_repairs"),
        );
        repaired(place.path());
        check(place.path(), &records, &damaged, &before);
        if is_done {
            break;
        }
        stores = number;
    }
    assert!(stores > 50, "{stores}");
}

/// Not a test by itself: the child of the test above.
#[test]
fn child_that_repairs() {
    let Some(task) = Task::of_this_process() else { return };
    kill_points::arm(task.number);
    repair(&task.path, false, |_, _| ()).unwrap();
    kill_points::disarm();
}

#[test]
fn a_header_is_found_again_by_what_other_segments_and_its_excerpts_say() {
    for word in 0..=10 {
        let place = Scratch::new("header");
        let records = damage::write(place.path(), &lengths(3, 1));
        let header = fs::read(segment(place.path(), 2)).unwrap()[..88].to_vec();
        flip(place.path(), 2, word * 8 + 1, 0x10);
        let done = repaired(place.path());
        assert!(matches!(done[0], Done::Header), "word {word}: {done:?}");
        assert_eq!(read(place.path()), records, "word {word}");
        let again = fs::read(segment(place.path(), 2)).unwrap()[..88].to_vec();
        // No other header states its time of creation.
        if word != 9 {
            assert_eq!(again, header, "word {word}");
        }
    }
}

#[test]
fn a_page_of_zeros_for_a_header_costs_no_excerpt() {
    let place = Scratch::new("zero-page");
    let records = damage::write(place.path(), &lengths(3, 2));
    for number in damage::segments(place.path()) {
        if number != 2 {
            overwrite(place.path(), number, 0, &[0; 4096]);
        }
    }
    let done = repaired(place.path());
    assert!(done.iter().filter(|done| matches!(done, Done::Activated { .. })).count() >= 2);
    assert_eq!(read(place.path()), records);
}

#[test]
fn a_segment_of_another_journal_is_moved_away_and_its_numbers_are_reported_missing() {
    let (place, other) = (Scratch::new("stranger"), Scratch::new("stranger-other"));
    let records = damage::write(place.path(), &lengths(3, 2));
    damage::write(other.path(), &lengths(3, 5));
    fs::copy(segment(other.path(), 2), segment(place.path(), 2)).unwrap();
    let stranger = fs::read(segment(place.path(), 2)).unwrap();
    let done = repaired(place.path());
    assert!(matches!(&done[..], [Done::Moved { to: Some(_), .. }]), "{done:?}");
    let rest: Vec<Record> = records.iter().filter(|record| record.segment != 2).cloned().collect();
    assert_eq!(read(place.path()), rest);
    assert_eq!(cut(place.path()), [stranger]);
    let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    let gap = loop {
        match tailer.next().unwrap() {
            Tail::Gap(gap) => break gap,
            Tail::Excerpt(_) => {}
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => panic!("the gap is reported"),
        }
    };
    assert_eq!(gap.count() as usize, records.len() - rest.len());
    // It is in the quarantine: only a file that is nowhere is a fault.
    assert!(verify(place.path(), |_, _| ()).unwrap().is_clean());
    fs::remove_dir_all(place.path().join("cut")).unwrap();
    assert!(!verify(place.path(), |_, _| ()).unwrap().is_clean());
}

#[test]
fn a_segment_of_another_version_is_left_to_who_can_read_it() {
    let place = Scratch::new("version");
    damage::write(place.path(), &lengths(2, 2));
    // Another format: no part of it is valid in this one.
    overwrite(place.path(), 2, 16, &2_u64.to_ne_bytes());
    overwrite(place.path(), 2, 80, &[0x77; 8]);
    overwrite(place.path(), 2, DATA, &[0x77; 40_000]);
    let before = files(place.path());
    let error = repair(place.path(), false, |_, _| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged { .. }), "{error}");
    assert_eq!(files(place.path()), before);
}

#[test]
fn a_batch_that_was_never_committed_does_not_become_so() {
    let place = Scratch::new("batch");
    let mut appender = Appender::open(place.path(), &options()).unwrap();
    appender.append(1, damage::time(1), b"committed").unwrap();
    let mut batch = appender.batch(damage::time(2), 400).unwrap();
    for _ in 0..3 {
        batch.append(1, damage::time(2), &[7; 60]).unwrap();
    }
    batch.commit().unwrap();
    drop(appender);
    // As a killed appender leaves it: complete except for the gate.
    let gate = read(place.path())[1].clone();
    overwrite(place.path(), 1, gate.offset, &[0; 8]);
    let verified = assert_clean(place.path());
    assert!(damage::has(&verified, |found| matches!(found, Found::Rest { .. })));
    assert_eq!(repaired(place.path()), []);
    assert_eq!(read(place.path()).len(), 1);
    let mut appender = Appender::open(place.path(), &options()).unwrap();
    assert_eq!(appender.append(1, damage::time(3), b"next").unwrap(), 2);
}

#[test]
fn a_damaged_compressed_segment_is_unpacked_and_its_file_is_kept() {
    let place = Scratch::new("packed");
    // Several blocks of zstd, so that one of them can be damaged.
    let large = AppenderOptions { segment_bytes: 1 << 20, ..options() };
    let mut appender = Appender::open(place.path(), &large).unwrap();
    for sequence in 1..=12_000 {
        appender.append(1, damage::time(sequence), &bytes_of(sequence, 200)).unwrap();
    }
    appender.close().unwrap();
    let records = read(place.path());
    let plain = files(place.path());
    assert_eq!(plain.len(), 3);
    nanotape_journal::compress(place.path(), &Default::default(), |_, _| ()).unwrap();
    let packed = place.path().join("0000000002.segment.zst");
    let mut bytes = fs::read(&packed).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&packed, &bytes).unwrap();
    assert!(!damage::verified(place.path()).is_clean());
    let done = repaired(place.path());
    assert!(matches!(done[0], Done::Unpacked { to: Some(_) }), "{done:?}");
    assert!(cut(place.path()).contains(&bytes), "the damaged file is kept");
    let found = read(place.path());
    let expected = |record: &&Record| record.segment != 2;
    let is_there = |record: &Record| found.binary_search_by_key(&record.sequence, |it| it.sequence);
    assert!(records.iter().filter(expected).all(|record| is_there(record).is_ok()));
    let saved = found.iter().filter(|record| record.segment == 2).count();
    assert!(saved > 500, "{saved} of the damaged segment");
    for record in &found {
        assert_eq!(
            &plain[&record.segment][record.range()][24..][..record.payload.len()],
            record.payload
        );
    }
}

#[test]
fn of_a_segment_that_exists_twice_the_undamaged_file_is_kept() {
    let place = Scratch::new("twice");
    let path = place.path();
    let records = damage::write(path, &lengths(5, 1));
    let plain = files(path);
    nanotape_journal::compress(path, &Default::default(), |_, _| ()).unwrap();
    let file = damage::segment(path, 3);
    let in_third = records.iter().find(|record| record.segment == 3).unwrap();
    let mut flipped = plain[&3].clone();
    flipped[in_third.offset + 20] ^= 1;
    let zeros = vec![0; plain[&3].len()];
    for damaged in [zeros, flipped, Vec::new(), plain[&4].clone()] {
        fs::write(&file, &damaged).unwrap();
        assert!(!damage::verified(path).is_clean());
        let would = repair(path, true, |_, _| ()).unwrap().actions;
        assert!(would.iter().all(|action| action.path == file), "{would:?}");
        let done = repaired(path);
        assert!(matches!(done[..], [Done::Moved { to: Some(_), .. }]), "{done:?}");
        assert!(!file.exists() && cut(path).contains(&damaged), "the damaged file is kept");
        assert_eq!(read(path), records);
        assert!(damage::verified(path).is_clean());
    }
    // Both are good: the plain one stays.
    fs::write(&file, &plain[&3]).unwrap();
    repaired(path);
    assert!(file.exists() && !path.join("0000000003.segment.zst").exists());
    assert_eq!(read(path), records);
}

#[test]
fn nobody_repairs_while_somebody_appends_or_compresses() {
    let place = Scratch::new("locks");
    let appender = Appender::open(place.path(), &options()).unwrap();
    let error = repair(place.path(), false, |_, _| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Region(_)), "{error}");
    drop(appender);
    repair(place.path(), false, |_, _| ()).unwrap();
    let error = repair(&place.path().join("nowhere"), false, |_, _| ()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotFound);
}

#[test]
fn segments_with_exchanged_names_get_their_own_names_again() {
    for order in [&[2, 3][..], &[1, 2, 3], &[1, 3], &[1, 2, 3, 4]] {
        let place = Scratch::new("exchanged");
        let records = damage::write(place.path(), &lengths(5, 2));
        assert!(damage::segments(place.path()).len() >= 5);
        let before = files(place.path());
        // Each file gets the name of the next one.
        for (at, number) in order.iter().enumerate() {
            let next = order[(at + 1) % order.len()];
            fs::write(segment(place.path(), next), &before[number]).unwrap();
        }
        assert!(!damage::verified(place.path()).is_clean());
        let would = repair(place.path(), true, |_, _| ()).unwrap().actions;
        let done = repair(place.path(), false, |_, _| ()).unwrap().actions;
        assert_eq!((would.len(), done.len()), (order.len(), order.len()), "{done:?}");
        assert!(done.iter().all(|it| matches!(it.done, Done::Renamed { .. })), "{done:?}");
        assert_clean(place.path());
        assert_eq!(read(place.path()), records, "{order:?}");
    }
}

#[test]
fn two_segments_that_do_not_belong_there_are_moved_out_one_after_the_other() {
    // Copies of the segments before: their numbers exist twice, so no name is known to be wrong.
    let place = Scratch::new("copied");
    let records = damage::write(place.path(), &lengths(5, 2));
    let before = files(place.path());
    for (name, number) in [(2, 3), (3, 4)] {
        fs::write(segment(place.path(), name), &before[&number]).unwrap();
    }
    let done = repaired(place.path());
    assert!(done.iter().all(|done| matches!(done, Done::Moved { .. })), "{done:?}");
    let rest: Vec<Record> =
        records.iter().filter(|record| ![2, 3].contains(&record.segment)).cloned().collect();
    assert_eq!(read(place.path()), rest);
}

/// Symptom: behind one wrong word of its header, a compressed segment lost all excerpts.
#[test]
fn a_compressed_segment_with_a_damaged_header_keeps_its_excerpts() {
    for word in 0..=10 {
        let place = Scratch::new("packed-header");
        let records = damage::write(place.path(), &lengths(3, 1));
        flip(place.path(), 2, word * 8 + 1, 0x10);
        let plain = segment(place.path(), 2);
        let packed = zstd::encode_all(&fs::read(&plain).unwrap()[..], 1).unwrap();
        fs::write(place.path().join("0000000002.segment.zst"), packed).unwrap();
        fs::remove_file(plain).unwrap();
        repaired(place.path());
        assert_eq!(read(place.path()), records, "word {word}");
    }
}

/// Symptom: an appender removed an active segment whose file ended in its header, without a word,
/// and assigned its numbers again.
#[test]
fn a_last_segment_without_a_whole_header_is_left_to_a_repair() {
    for (segments, length) in [(3, 0), (3, 10), (3, 600), (3, 4095), (1, 600), (1, 4095)] {
        let place = Scratch::new("short-header");
        let records = damage::write(place.path(), &lengths(segments, 1));
        let last = records.last().unwrap().segment;
        let path = segment(place.path(), last);
        fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let error = Appender::open(place.path(), &options()).unwrap_err();
        let is_short = matches!(error.kind(), ErrorKind::Damaged { damage: Corruption::Short, .. });
        assert!(is_short, "{segments} segments, {length} bytes: {error}");
        assert_eq!(fs::metadata(&path).unwrap().len(), length, "nothing has changed");
        repaired(place.path());
        let mut appender = Appender::open(place.path(), &options()).unwrap();
        appender.append(1, u64::MAX / 2, &[1]).unwrap();
        appender.close().unwrap();
        let found = read(place.path());
        let kept = records.iter().filter(|record| record.segment != last);
        assert!(found.iter().zip(kept.clone()).all(|(found, kept)| found == kept));
        assert_eq!(found.len(), kept.count() + 1, "{segments} segments, {length} bytes");
    }
}
