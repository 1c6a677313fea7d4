//! A journal whose files are replaced by those of an older copy while a tailer reads them.

use std::{fs, path::Path};

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, Reused, Start, Tail, Tailer};

use crate::damage::{options, payload, segments, time};

fn append(path: &Path, to: u64, version: u64) {
    fs::create_dir_all(path).unwrap();
    let mut appender = Appender::open(path, &options()).unwrap();
    while appender.next_sequence() <= to {
        let sequence = appender.next_sequence();
        appender.append(3, time(sequence), &payload(sequence + version, 900)).unwrap();
    }
    appender.close().unwrap();
}

/// Replaces the segments of a journal by those of a copy.
fn restore(copy: &Path, path: &Path) {
    for number in segments(path) {
        fs::remove_file(crate::damage::segment(path, number)).unwrap();
    }
    for number in segments(copy) {
        let [from, to] = [copy, path].map(|folder| crate::damage::segment(folder, number));
        fs::copy(from, to).unwrap();
    }
}

/// Everything that a tailer reads now: numbers and contents, and numbers that come again.
fn read(tailer: &mut Tailer) -> (Vec<(u64, Vec<u8>)>, Vec<Reused>) {
    let (mut excerpts, mut reused, mut idle) = (Vec::new(), Vec::new(), 0);
    while idle < 3 {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                let mut bytes = vec![0; excerpt.len()];
                excerpt.copy_to(&mut bytes);
                excerpts.push((excerpt.sequence(), bytes));
            }
            Tail::Reused(again) => reused.push(again),
            Tail::Gap(gap) => panic!("{gap:?}"),
            Tail::Nothing => {
                idle += 1;
                tailer.recheck();
            }
        }
    }
    (excerpts, reused)
}

#[test]
fn a_tailer_reports_the_numbers_that_come_again_after_an_older_copy_was_restored() {
    // Restored within the segment that is read, at its beginning, and in an earlier one; and the
    // journal goes on before the tailer reads again, or does not.
    for (copied, was_read) in [(20, 30), (20, 21), (1, 60), (70, 160), (20, 160)] {
        // An earlier segment that goes on is as one that a recovery has shortened, until the
        // segment that was read is there again.
        let is_earlier = was_read == 160;
        for again in [0, 5, 40, 200].into_iter().filter(|&again| !is_earlier || again % 200 == 0) {
            let place = Scratch::new("restored");
            let (path, copy) = (place.join("journal"), place.join("copy"));
            append(&path, copied, 0);
            fs::create_dir(&copy).unwrap();
            restore(&path, &copy);
            append(&path, was_read, 0);
            let mut tailer = Tailer::open(&path, Start::Oldest).unwrap();
            assert_eq!(read(&mut tailer).0.len() as u64, was_read);
            restore(&copy, &path);
            append(&path, copied + again, 1_000);
            let (excerpts, reused) = read(&mut tailer);
            let what = format!("{copied} copied, {was_read} read, {again} again: {reused:?}");
            let [Reused { from, to }] = reused[..] else { panic!("{what}") };
            assert!(from <= copied + 1 && to == was_read, "{what}");
            let numbers: Vec<u64> = excerpts.iter().map(|(number, _)| *number).collect();
            assert!(numbers.into_iter().eq(from..=copied + again), "{what}");
            let is_there = |(number, bytes): &(u64, Vec<u8>)| {
                let version = if *number > copied { 1_000 } else { 0 };
                *bytes == payload(number + version, 900)
            };
            assert!(excerpts.iter().all(is_there), "{what}");
            // Exact where the segment that was read is still there.
            assert!(from == copied + 1 || was_read > 60, "{what}");
        }
    }
}
