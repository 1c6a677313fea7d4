//! The findings of `verify` in journals: whole, damaged, and while they are written.

use std::{
    fs,
    sync::{Arc, Mutex},
    thread,
};

use nanotape_harness::Scratch;
use nanotape_journal::{
    Appender, AppenderOptions, Corruption, ErrorKind, Found, KeptAs, Severity, stat, verify,
};

use crate::damage::{
    self, assert_clean, flip, has, lengths, options, overwrite, segment, verified,
};

#[test]
fn a_whole_journal_is_clean_and_everything_in_it_is_counted() {
    let place = Scratch::new("whole");
    let records = damage::write(place.path(), &lengths(3, 7));
    let mut reported = Vec::new();
    let verified = verify(place.path(), |done, total| reported.push((done, total))).unwrap();
    assert_eq!(verified.findings, []);
    assert_eq!(verified.excerpts, records.len() as u64);
    assert_eq!((verified.first_sequence, verified.next_sequence), (1, records.len() as u64 + 1));
    assert_eq!(verified.bytes, records.iter().map(|record| record.range().len() as u64).sum());
    assert!(reported.is_sorted() && reported.last().is_some_and(|(done, total)| done == total));
}

#[test]
fn any_changed_bit_that_readers_check_is_found() {
    let place = Scratch::new("bits");
    let records = damage::write(place.path(), &lengths(2, 3));
    let end_mark = fs::metadata(segment(place.path(), 1)).unwrap().len() as usize - 24;
    let entries = 4096 + 2 * 32..4096 + 14 * 32;
    let of_first = records.iter().filter(|record| record.segment == 1);
    let mut places: Vec<usize> = (0..88).chain(256..288).chain(entries.step_by(5)).collect();
    places.extend(of_first.flat_map(|record| record.range().step_by(61)));
    places.extend(end_mark..end_mark + 24);
    for (number, at) in places.into_iter().enumerate() {
        let mask = 1 << (number % 8);
        flip(place.path(), 1, at, mask);
        let found = verified(place.path());
        assert!(!found.is_clean(), "byte {at}");
        let first = found.findings.iter().find(|finding| finding.severity() > Severity::Note);
        let first = first.unwrap();
        assert_eq!(first.path, segment(place.path(), 1), "{first}");
        assert!(first.offset <= at as u64, "{first}, and byte {at}");
        flip(place.path(), 1, at, mask);
    }
    assert_clean(place.path());
}

#[test]
fn what_is_behind_damage_is_found_too() {
    let place = Scratch::new("behind");
    let records = damage::write(place.path(), &lengths(3, 3));
    let (first, second) = (&records[5], &records[records.len() / 2]);
    flip(place.path(), first.segment, first.offset + 9, 1);
    flip(place.path(), second.segment, second.offset, 1);
    let found = verified(place.path());
    let skipped: Vec<(u64, u64)> = found
        .findings
        .iter()
        .filter_map(|finding| match finding.found {
            Found::Skipped { to, .. } => Some((finding.offset, to)),
            _ => None,
        })
        .collect();
    let range = |record: &damage::Record| (record.range().start as u64, record.range().end as u64);
    assert_eq!(skipped, [range(first), range(second)]);
    assert_eq!((found.excerpts, found.missing), (records.len() as u64 - 2, 2));
}

#[test]
fn what_is_only_worth_knowing_is_a_note() {
    let place = Scratch::new("notes");
    let mut appender = Appender::open(place.path(), &options()).unwrap();
    for _ in 0..300 {
        let sequence = appender.next_sequence();
        appender.append(1, damage::time(sequence), &[5; 400]).unwrap();
    }
    appender.skip_to(400).unwrap();
    appender.append(1, damage::time(400), b"behind a gap").unwrap();
    appender.close().unwrap();
    let last = damage::read(place.path()).pop().unwrap();
    // An unknown incarnation, an index entry that was never stored, an uncommitted excerpt, and
    // foreign files.
    overwrite(place.path(), 1, 560, &[0; 8]);
    overwrite(place.path(), 1, 4096 + 3 * 32, &[0; 32]);
    overwrite(place.path(), last.segment, last.range().end + 16, b"payload");
    fs::write(place.path().join("notes.txt"), "mine").unwrap();
    fs::write(place.path().join("0000000099.part"), "").unwrap();
    fs::write(place.path().join("0000000001.zst.part"), "").unwrap();
    fs::create_dir(place.path().join("cut")).unwrap();
    fs::write(place.path().join("cut/0000000001-8192-1"), "what").unwrap();
    let found = assert_clean(place.path());
    assert!(has(&found, |it| matches!(it, Found::Gap(gap) if (gap.from, gap.to) == (301, 399))));
    assert!(has(&found, |it| matches!(it, Found::MissingEntries(1))));
    assert!(has(&found, |it| matches!(it, Found::Incarnation)));
    assert!(has(&found, |it| matches!(it, Found::Rest { .. })));
    assert!(has(&found, |it| matches!(it, Found::Foreign)));
    assert!(has(&found, |it| matches!(it, Found::Quarantined { bytes: 4 })));
    assert_eq!(found.findings.iter().filter(|it| it.found == Found::Part).count(), 2);
    assert_eq!(found.notes, 8);
}

#[test]
fn a_missing_segment_is_reported_by_its_numbers_and_a_foreign_one_by_its_name() {
    let (place, other) = (Scratch::new("missing"), Scratch::new("missing-other"));
    let records = damage::write(place.path(), &lengths(4, 3));
    damage::write(other.path(), &lengths(3, 3));
    fs::remove_file(segment(place.path(), 2)).unwrap();
    let missing = records.iter().filter(|record| record.segment == 2).count() as u64;
    let found = verified(place.path());
    assert_eq!((found.missing, found.faults), (missing, 1));
    assert!(has(&found, |it| *it == Found::Missing { from: 2, to: 2 }));
    fs::copy(segment(other.path(), 2), segment(place.path(), 2)).unwrap();
    let found = verified(place.path());
    let is_stranger =
        |it: &Found| matches!(it, Found::Corruption(Corruption::Stranger { number: 2, .. }));
    assert!(has(&found, is_stranger));
    // The same segment again, under a later number.
    fs::remove_file(segment(place.path(), 2)).unwrap();
    fs::copy(segment(place.path(), 1), segment(place.path(), 2)).unwrap();
    let found = verified(place.path());
    let is_stranger =
        |it: &Found| matches!(it, Found::Corruption(Corruption::Stranger { number: 1, .. }));
    assert!(has(&found, is_stranger));
}

#[test]
fn a_journal_that_is_appended_to_verifies_clean_all_the_time() {
    // Segments are truncated to their end while they are read.
    nanotape_shm::guard_against_truncation().unwrap();
    let place = Scratch::new("live");
    let has_pretoucher = AppenderOptions { has_pretoucher: true, ..options() };
    let mut appender = Appender::open(place.path(), &has_pretoucher).unwrap();
    let is_over = Arc::new(Mutex::new(false));
    let appending = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let mut appended = 0;
            while !*is_over.lock().unwrap() && appended < 400_000 {
                let sequence = appender.next_sequence();
                let ts_ns = damage::time(sequence);
                match sequence % 50 {
                    0 => {
                        let mut batch = appender.batch(ts_ns, 9000).unwrap();
                        for length in 0..50 {
                            batch.append(1, ts_ns, &[9; 150][..length * 3]).unwrap();
                        }
                        batch.commit().unwrap();
                    }
                    7 => drop(appender.claim(1, ts_ns, 700).unwrap()),
                    _ => {}
                }
                appender.append(1, ts_ns, &[sequence as u8; 90]).unwrap();
                appended += 1;
            }
        }
    });
    let (mut most, mut rounds) = (0, 0);
    while rounds < 30 || most < 10_000 {
        rounds += 1;
        let verified = assert_clean(place.path());
        assert!(verified.next_sequence >= most, "it only grows");
        assert_eq!(verified.missing, 0, "{:#?}", verified.findings);
        most = verified.next_sequence;
        // `stat` runs concurrently too.
        let stat = stat(place.path()).unwrap();
        assert!(stat.next_sequence().unwrap_or(0) >= most, "{most}, and {stat:?}");
    }
    *is_over.lock().unwrap() = true;
    appending.join().unwrap();
    assert_clean(place.path());
}

#[test]
fn an_index_does_not_lead_to_what_a_recovery_took_out() {
    let place = Scratch::new("stale");
    let records = damage::write(place.path(), &[200; 200]);
    // As after a loss of power: the machine was restarted, and nothing of this was synced.
    overwrite(place.path(), 1, 512, &[1; 8]);
    overwrite(place.path(), 1, 520, &[0; 8]);
    overwrite(place.path(), 1, records[30].offset, &[0; 300]);
    let mut appender = Appender::open(place.path(), &options()).unwrap();
    assert_eq!(appender.next_sequence(), 31);
    assert_eq!(appender.recovery().quarantined.len(), 1);
    // An excerpt that is longer than a block, so that a block has no entry.
    appender.append(1, damage::time(31), &[3; 20_000]).unwrap();
    appender.append(1, damage::time(32), b"behind it").unwrap();
    assert_clean(place.path());
}

#[test]
fn stat_shows_segments_times_and_the_appender() {
    let place = Scratch::new("stat");
    let records = damage::write(place.path(), &lengths(3, 7));
    nanotape_journal::compress(place.path(), &Default::default(), |_, _| ()).unwrap();
    let appender = Appender::open(place.path(), &options()).unwrap();
    let stat = stat(place.path()).unwrap();
    let last = records.last().unwrap();
    assert_eq!(stat.segment_bytes, Some(1 << 16));
    assert_eq!((stat.first_sequence(), stat.next_sequence()), (Some(1), Some(last.sequence + 1)));
    assert_eq!((stat.first_ts_ns(), stat.max_ts_ns()), (Some(records[0].ts_ns), Some(last.ts_ns)));
    assert_eq!(stat.appender.unwrap().pid, std::process::id());
    assert_eq!(stat.appender.unwrap().state, nanotape_shm::OwnerState::Alive);
    let numbers = damage::segments(place.path());
    for segment in &stat.segments {
        let of: Vec<_> = records.iter().filter(|it| it.segment == segment.number).collect();
        let is_plain = numbers.contains(&segment.number);
        assert_eq!(segment.kept_as, if is_plain { KeptAs::Plain } else { KeptAs::Packed });
        assert_eq!(segment.first_sequence, Some(of[0].sequence));
        assert_eq!(segment.next_sequence, Some(of[of.len() - 1].sequence + 1));
        assert_eq!(segment.first_ts_ns, Some(of[0].ts_ns));
        assert_eq!(segment.max_ts_ns, Some(of[of.len() - 1].ts_ns));
        let mark = if is_plain { 0 } else { 24 };
        assert_eq!(segment.data_bytes, Some((of[of.len() - 1].range().end + mark) as u64));
        assert_eq!(segment.problem, None);
    }
    drop(appender);
    let error = nanotape_journal::stat(&place.path().join("nowhere")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotFound);
}
