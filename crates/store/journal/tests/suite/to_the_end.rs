//! Readers that stop at the end of a journal: they stop nowhere else.

use std::{
    fs,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

use nanotape_harness::Scratch;
use nanotape_journal::{
    Appender, Corruption, ErrorKind, JournalError, Merge, Merged, NamedTailer, Start, Tail, Tailer,
    TailerSource,
};
use nanotape_tape::{Follow, Source as _, Step};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::damage::{lengths, options, overwrite, payload, segment, segments, time, write};

/// Reads on to the end. Returns the last number that was read.
fn read_on(tailer: &mut Tailer) -> (u64, Result<(), JournalError>) {
    let mut last = 0;
    loop {
        match tailer.next() {
            Ok(Tail::Excerpt(excerpt)) => last = excerpt.sequence(),
            Ok(Tail::Gap(gap)) => panic!("{gap}"),
            Ok(Tail::Reused(reused)) => panic!("{reused:?}"),
            Ok(Tail::Nothing) => return (last, Ok(())),
            Err(error) => return (last, Err(error)),
        }
    }
}

fn is_hole(error: &JournalError, offset: u64) -> bool {
    *error.kind() == ErrorKind::Damaged { offset, damage: Corruption::Hole }
}

#[test]
fn excerpts_behind_a_hole_are_an_error_and_no_end() {
    let lengths = lengths(3, 1);
    for at in (0..lengths.len()).step_by(7) {
        let place = Scratch::new("hole");
        let records = write(place.path(), &lengths);
        let (record, last) = (&records[at], &records[records.len() - 1]);
        overwrite(place.path(), record.segment, record.offset, &vec![0; record.range().len()]);
        // Only the index shows excerpts behind a hole in the last segment.
        let is_indexed = record.segment < last.segment || record.offset < last.offset / 2;
        if !is_indexed {
            continue;
        }
        let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
        tailer.set_stops_at_end(true);
        let (sequence, outcome) = read_on(&mut tailer);
        let error = outcome.expect_err("excerpts follow");
        assert_eq!(sequence, record.sequence - 1);
        assert!(is_hole(&error, record.offset as u64), "{error}");
        assert!(read_on(&mut tailer).1.is_err(), "again");

        let (mut named, _) = NamedTailer::open(place.path(), "all", Start::Oldest).unwrap();
        named.set_stops_at_end(true);
        let error = loop {
            match named.next() {
                Ok(Tail::Nothing) => panic!("excerpts follow"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(is_hole(&error, record.offset as u64), "{error}");
    }
}

#[test]
fn a_merge_stops_only_where_all_of_its_journals_end() {
    let places = [Scratch::new("whole"), Scratch::new("with-hole")];
    let records = places.each_ref().map(|place| write(place.path(), &lengths(2, 1)));
    let hole = &records[1][20];
    overwrite(places[1].path(), hole.segment, hole.offset, &vec![0; hole.range().len()]);
    let mut merge = Merge::new(places.each_ref().map(|place| {
        let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
        tailer.set_stops_at_end(true);
        tailer
    }));
    let error = loop {
        match merge.next(u64::MAX) {
            Ok(Merged::Nothing) => panic!("excerpts follow"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(is_hole(&error, hole.offset as u64), "{error}");
}

#[test]
fn the_end_of_a_whole_journal_is_found_also_while_it_is_written() {
    let place = Scratch::new("end");
    let empty = Appender::open(place.path(), &options()).unwrap();
    let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    tailer.set_stops_at_end(true);
    assert!(matches!(tailer.next().unwrap(), Tail::Nothing));
    empty.close().unwrap();

    let mut last = 0;
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut appender = Appender::open(place.path(), &options()).unwrap();
            for sequence in 1..=20_000 {
                let length = sequence as usize % 90;
                appender.append(3, time(sequence), &payload(sequence, length)).unwrap();
            }
            appender.close().unwrap();
            is_done.store(true, Ordering::Release);
        });
        let mut ends = 0;
        loop {
            let was_done = is_done.load(Ordering::Acquire);
            let (read, outcome) = read_on(&mut tailer);
            outcome.unwrap();
            last = last.max(read);
            ends += 1;
            if was_done {
                break;
            }
        }
        assert!(ends > 1);
    });
    assert_eq!(last, 20_000);
    assert!(segments(place.path()).len() > 10);
}

/// Ways to damage a segment so that it cannot be entered.
fn damage_header(path: &std::path::Path, number: u64, way: usize) {
    let file = segment(path, number);
    match way {
        0 => fs::write(&file, b"").unwrap(),
        1 => overwrite(path, number, 0, &[0xff; 8]),
        2 => overwrite(path, number, 0, &[0; 4096]),
        _ => {
            fs::remove_file(&file).unwrap();
            mknodat(CWD, &file, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        }
    }
}

#[test]
fn everything_before_a_segment_that_cannot_be_entered_is_read_whichever_it_is() {
    for way in 0..4 {
        for damaged in 2..=8 {
            let place = Scratch::new("header");
            let path = place.path();
            let records = write(path, &lengths(9, 1));
            assert!(records.last().unwrap().segment >= 8);
            let before = records.iter().filter(|record| record.segment < damaged).count() as u64;
            damage_header(path, damaged, way);
            let mut tailer = Tailer::open(path, Start::Oldest).unwrap();
            tailer.set_stops_at_end(true);
            let (last, outcome) = read_on(&mut tailer);
            assert_eq!(last, before, "way {way}, segment {damaged}");
            outcome.expect_err("the segment cannot be read");
            // What is behind it can be read too.
            if let Some(record) = records.iter().find(|record| record.segment > damaged + 1) {
                let mut behind = Tailer::open(path, Start::Sequence(record.sequence)).unwrap();
                behind.set_stops_at_end(true);
                assert_eq!(read_on(&mut behind).0, records.len() as u64, "way {way}, {damaged}");
            }
            // The end is known if it is behind the damage.
            let newest = Tailer::open(path, Start::Newest).map(|newest| newest.next_sequence());
            if damaged < records.last().unwrap().segment {
                assert_eq!(newest.unwrap(), records.len() as u64 + 1);
            } else if way != 2 {
                newest.expect_err("the end is not known");
            }
        }
    }
}

#[test]
fn a_number_of_a_segment_that_is_missing_is_in_a_gap() {
    let place = Scratch::new("missing");
    let records = write(place.path(), &lengths(6, 1));
    let of = |number| records.iter().filter(move |record| record.segment == number);
    fs::remove_file(segment(place.path(), 3)).unwrap();
    let wanted = of(3).nth(5).unwrap().sequence;
    let mut tailer = Tailer::open(place.path(), Start::Sequence(wanted)).unwrap();
    let next = of(4).next().unwrap().sequence;
    match tailer.next().unwrap() {
        Tail::Gap(gap) => assert_eq!((gap.from, gap.to), (wanted, next - 1)),
        other => panic!("{other:?}"),
    }
    let Tail::Excerpt(excerpt) = tailer.next().unwrap() else { panic!("the next segment") };
    assert_eq!(excerpt.sequence(), next);
}

#[test]
fn a_journal_that_is_replaced_by_another_one_has_no_end() {
    let place = Scratch::new("replaced");
    let (path, other) = (place.join("journal"), place.join("other"));
    for (folder, count) in [(&path, 60), (&other, 20)] {
        fs::create_dir_all(folder).unwrap();
        let mut appender = Appender::open(folder, &options()).unwrap();
        for sequence in 1..=count {
            appender.append(3, time(sequence), &payload(sequence, 900)).unwrap();
        }
        appender.close().unwrap();
    }
    let mut source = TailerSource::new(Tailer::open(&path, Start::Oldest).unwrap());
    source.set_stops_at_end(true);
    let mut follow = Follow::new(source);
    assert!(follow.next().unwrap().is_some());
    fs::remove_dir_all(&path).unwrap();
    fs::rename(&other, &path).unwrap();
    // What is mapped is good.
    let mut failed = 0;
    while failed < 20 {
        match follow.try_step_by(|source| source.poll(|_| ControlFlow::Continue(()))) {
            Ok(Step::Gone(state)) => panic!("{state} after {failed} errors"),
            Ok(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(error) => {
                assert!(error.to_string().contains("belong"), "{error}");
                failed += 1;
            }
        }
    }
}
