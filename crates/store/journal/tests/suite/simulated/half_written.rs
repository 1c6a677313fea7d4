//! Every half-written state that the format allows: built by hand, then opened by a tailer and by
//! an appender, in the same boot and in another one.

use nanotape_journal::{
    Appender, ENTRY_FIELDS, ErrorKind, FIELDS, RollCycle, Start, SyncPolicy, Tailer, excerpt_bytes,
};
use nanotape_shm::Word;

use crate::simulated::{
    dice::Dice,
    disk::SimulatedDisk,
    history::options,
    reading::{numbers, read_all, read_back},
};

const LAST: &str = "0000000002.segment";
const NEXT: &str = "0000000003.segment";

/// The first word of the first excerpt of a segment of 64 KiB.
const DATA: usize = 1024;

fn at(name: &str) -> usize {
    FIELDS.iter().find(|field| field.2 == name).unwrap().0 / 8
}

/// Two segments of three records of 100 bytes each, the second one active, and the word at which it
/// ends.
fn journal() -> (SimulatedDisk, usize) {
    let disk = SimulatedDisk::new(7);
    disk.watch();
    let mut appender = open(&disk).unwrap();
    for sequence in 1..=6 {
        if sequence == 4 {
            appender.roll().unwrap();
        }
        appender.append(1, sequence, &[sequence as u8; 100]).unwrap();
    }
    disk.kill(appender);
    (disk, DATA + 3 * excerpt_bytes(100) / 8)
}

fn open(disk: &SimulatedDisk) -> Result<Appender<SimulatedDisk>, nanotape_journal::JournalError> {
    Appender::open_on(disk.clone(), &options(SyncPolicy::Never, RollCycle::Size))
}

/// A copy of the disk, in the same boot or in another.
fn again(disk: &SimulatedDisk, is_same_boot: bool) -> SimulatedDisk {
    let disk = disk.image().after_death(&mut Dice::new(3), if is_same_boot { 1 } else { 2 });
    disk.watch();
    disk
}

/// Builds a state, and checks that a journal with `expected` records is found, in both boots, and
/// can be appended to.
fn check(what: &str, expected: u64, build: impl Fn(&SimulatedDisk, usize)) {
    for is_same_boot in [true, false] {
        check_in(what, expected, is_same_boot, &build);
    }
}

fn check_in(what: &str, expected: u64, is_same_boot: bool, build: impl Fn(&SimulatedDisk, usize)) {
    let (disk, end) = journal();
    build(&disk, end);
    let disk = again(&disk, is_same_boot);
    let said = format!("{what}, same boot: {is_same_boot}");
    // Before the recovery a tailer reads the valid part; it neither waits forever nor panics.
    let tailer = Tailer::open_on(disk.clone(), Start::Oldest);
    drop(tailer.and_then(|mut tailer| crate::simulated::reading::read_on(&mut tailer)));
    let mut appender = open(&disk).unwrap_or_else(|error| panic!("{said}: {error}"));
    let read = read_all(&disk).unwrap_or_else(|error| panic!("{said}: {error}"));
    assert_eq!(numbers(&read), (1..=expected).collect::<Vec<_>>(), "{said}");
    for sequence in expected + 1..=expected + 3 {
        assert_eq!(appender.append(1, sequence, &[9; 100]).unwrap(), sequence, "{said}");
    }
    appender.roll().unwrap();
    appender.append(1, 99, &[9; 100]).unwrap();
    let all: Vec<u64> = (1..=expected + 4).collect();
    assert_eq!(numbers(&read_all(&disk).unwrap()), all, "{said}");
    assert_eq!(numbers(&read_back(&disk).unwrap()), all, "{said}");
}

/// Builds a state of this boot that no crash leaves: the appender reports the damage.
fn check_refused(what: &str, build: impl Fn(&SimulatedDisk, usize)) {
    let (disk, end) = journal();
    build(&disk, end);
    let disk = again(&disk, true);
    let before = disk.contents();
    let error = open(&disk).err().unwrap_or_else(|| panic!("{what}: it was opened"));
    assert!(matches!(error.kind(), ErrorKind::Damaged { .. }), "{what}: {error}");
    assert_eq!(disk.contents(), before, "{what}: nothing is changed");
}

fn value(words: &[Word], at: usize) -> u64 {
    words[at].as_read_only().load()
}

fn copied(words: &[Word]) -> Vec<u64> {
    (0..words.len()).map(|at| value(words, at)).collect()
}

/// Adds a segment after the last one. It has those words of a valid header that `keeps` selects.
fn put_next(disk: &SimulatedDisk, keeps: impl Fn(usize) -> bool) {
    // Created by an appender, so that its header is right.
    let mut appender = open(disk).unwrap();
    appender.roll().unwrap();
    disk.kill(appender);
    let words = disk.words(NEXT);
    for at in 11..words.len() {
        if !keeps(at) {
            words[at].store(0);
        }
    }
}

/// Clears the end mark of the second segment, except for the words in `kept`.
fn take_end_mark(disk: &SimulatedDisk, end: usize, kept: usize) {
    let words = disk.words(LAST);
    for at in 0..3 {
        if kept >> at & 1 == 0 {
            words[end + at].store(0);
        }
    }
}

#[test]
fn a_segment_is_prepared_or_active_by_its_last_word_alone() {
    let activation = at("first_sequence")..at("activation") + 1;
    // Any of the words before the activation word, which is missing.
    for kept in 0..8_usize {
        check(&format!("prepared with {kept:03b}"), 6, |disk, _| {
            put_next(disk, |at| activation.contains(&at) && at < 35 && kept >> (at - 32) & 1 > 0);
        });
    }
    check("active and empty", 6, |disk, _| put_next(disk, |at| activation.contains(&at)));
    // An activation that lost some of its words: only a loss of power does that.
    for kept in 0..7_usize {
        check_in(&format!("activation with {kept:03b}"), 6, false, |disk, _| {
            put_next(disk, |at| at == 35 || activation.contains(&at) && kept >> (at - 32) & 1 > 0);
            disk.words(NEXT)[64].store(0);
        });
    }
}

#[test]
fn an_excerpt_of_which_any_words_are_there_is_there_whole_or_not_at_all() {
    let words = excerpt_bytes(9) / 8;
    for kept in 0..1_usize << words {
        let build = |disk: &SimulatedDisk, end: usize| {
            let mut appender = open(disk).unwrap();
            appender.append(2, 7, b"nine byte").unwrap();
            disk.kill(appender);
            let segment = disk.words(LAST);
            for at in 0..words {
                if kept >> at & 1 == 0 {
                    segment[end + at].store(0);
                }
            }
        };
        let is_whole = kept + 1 == 1 << words;
        let what = format!("words {kept:05b} of an excerpt");
        check_in(&what, if is_whole { 7 } else { 6 }, false, build);
        if is_whole || kept & 1 == 0 {
            check_in(&what, if is_whole { 7 } else { 6 }, true, build);
        } else {
            check_refused(&what, build);
        }
    }
}

#[test]
fn an_end_mark_comes_before_the_next_segment_or_the_next_segment_goes() {
    check("end mark, nothing behind it", 6, |disk, _| put_next(disk, |_| false));
    for kept in 0..8_usize {
        let build = |disk: &SimulatedDisk, end: usize| {
            put_next(disk, |_| true);
            take_end_mark(disk, end, kept);
        };
        check_in(&format!("words {kept:03b} of an end mark"), 6, false, build);
        // No crash does that in one boot, and the appender does not read so far back; readers do.
        if kept == 0 {
            let (disk, end) = journal();
            build(&disk, end);
            let error = read_all(&again(&disk, true)).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Damaged { .. }), "{error}");
        }
    }
}

#[test]
fn index_entries_of_which_any_words_are_there_change_nothing() {
    let entry = at("index") + (DATA * 8 / 4096) * 4;
    for kept in 0..1_usize << ENTRY_FIELDS.len() {
        check(&format!("words {kept:04b} of an index entry"), 6, |disk, _| {
            let words = disk.words(LAST);
            assert_ne!(value(&words, entry + 3), 0, "there is one");
            for at in 0..4 {
                if kept >> at & 1 == 0 {
                    words[entry + at].store(0);
                }
            }
        });
    }
}

#[test]
fn files_that_are_in_the_making_empty_or_short_are_out_of_the_way() {
    check(".part files", 6, |disk, _| {
        disk.put("0000000003.part", &[], 65_536);
        disk.put("0000000009.part", &[1, 2, 3], 24);
        disk.put("0000000004.part", &[], 0);
    });
    check("an empty file with the next name", 6, |disk, _| disk.put(NEXT, &[], 0));
    check("a short file with the next name", 6, |disk, _| disk.put(NEXT, &[1], 1000));
    check("zeros with the next name", 6, |disk, _| disk.put(NEXT, &[], 65_536));
    check("two prepared ones and a gap", 6, |disk, _| {
        put_next(disk, |_| false);
        take_end_mark(disk, DATA + 3 * excerpt_bytes(100) / 8, 0);
        let values = copied(&disk.words(NEXT));
        disk.put("0000000005.segment", &values, 65_536);
    });
    check_in("a last segment that came back short", 6, false, |disk, end| {
        let values = copied(&disk.words(LAST));
        disk.put(LAST, &values[..end], end as u64 * 8);
    });
}

#[test]
fn a_journal_of_nothing_begins_at_1() {
    for is_same_boot in [true, false] {
        for part in [None, Some("0000000001.part"), Some("0000000001.segment")] {
            let disk = SimulatedDisk::new(5);
            if let Some(name) = part {
                disk.put(name, &[], 0);
            }
            let disk = again(&disk, is_same_boot);
            let mut appender = open(&disk).unwrap();
            assert_eq!(appender.append(1, 1, b"first").unwrap(), 1);
            assert_eq!(numbers(&read_all(&disk).unwrap()), [1]);
        }
    }
}
