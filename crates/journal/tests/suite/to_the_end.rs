//! Readers that stop at the end of a journal: they stop nowhere else.

use std::sync::atomic::{AtomicBool, Ordering};

use nanotape_harness::Scratch;
use nanotape_journal::{
    Appender, Corruption, ErrorKind, JournalError, Merge, Merged, NamedTailer, Start, Tail, Tailer,
};

use super::damage::{lengths, options, overwrite, payload, segments, time, write};

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
        // Only the index tells of excerpts behind a hole in the last segment.
        let is_told = record.segment < last.segment || record.offset < last.offset / 2;
        if !is_told {
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
