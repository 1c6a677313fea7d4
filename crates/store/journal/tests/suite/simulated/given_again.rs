//! Numbers that were used again after a loss of power: every reader that passed them gets their
//! range.

use nanotape_journal::{
    Appender, Bookmark, Resumed, RollCycle, Start, SyncPolicy, Tail, Tailer, excerpt_bytes,
    repair_on,
};

use crate::simulated::{
    dice::Dice,
    disk::SimulatedDisk,
    history::options,
    promises::{DATA, at},
    reading::{POLLS, numbers, read_all},
};

fn open(disk: &SimulatedDisk) -> Appender<SimulatedDisk> {
    Appender::open_on(disk.clone(), &options(SyncPolicy::Never, RollCycle::Size)).unwrap()
}

/// Two segments of three records, in another boot: the power loss took the second record.
fn with_a_hole() -> SimulatedDisk {
    let disk = SimulatedDisk::new(7);
    disk.watch();
    let mut appender = open(&disk);
    for sequence in 1..=6 {
        if sequence == 4 {
            appender.roll().unwrap();
        }
        appender.append(1, sequence, &[sequence as u8; 100]).unwrap();
    }
    disk.kill(appender);
    let excerpt_words = excerpt_bytes(100) / 8;
    let words = disk.words("0000000001.segment");
    (0..excerpt_words).for_each(|word| words[DATA + excerpt_words + word].store(0));
    restarted(&disk, 2)
}

fn restarted(disk: &SimulatedDisk, boot: u64) -> SimulatedDisk {
    let disk = disk.image().after_death(&mut Dice::new(3), boot);
    disk.watch();
    disk
}

/// The results of a tailer as text, until it is idle for long.
fn tails(tailer: &mut Tailer<SimulatedDisk>) -> Vec<String> {
    let (mut tails, mut idle) = (Vec::new(), 0);
    while idle < POLLS {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => tails.push(excerpt.sequence().to_string()),
            Tail::Nothing => {
                idle += 1;
                tailer.recheck();
            }
            other => tails.push(format!("{other:?}")),
        }
    }
    tails
}

#[test]
fn a_tailer_from_before_a_recovery_gets_the_reused_numbers() {
    let disk = with_a_hole();
    let mut tailer = Tailer::open_on(disk.clone(), Start::Newest).unwrap();
    assert_eq!(tailer.next_sequence(), 7);
    let mut appender = open(&disk);
    assert_eq!(appender.next_sequence(), 2);
    // As many records of the same length as before: they end at the tailer's position.
    for sequence in 2..=8 {
        appender.append(1, sequence, &[9; 100]).unwrap();
    }
    let mut expected: Vec<String> = (2..=8_u64).map(|sequence| sequence.to_string()).collect();
    expected.insert(0, "Reused(Reused { from: 2, to: 6 })".to_owned());
    assert_eq!(tails(&mut tailer), expected);
}

#[test]
fn a_tailer_that_polls_before_anything_is_appended_gets_them_too() {
    let disk = with_a_hole();
    let mut tailer = Tailer::open_on(disk.clone(), Start::Newest).unwrap();
    let mut appender = open(&disk);
    assert_eq!(tails(&mut tailer), ["Reused(Reused { from: 2, to: 6 })"]);
    appender.append(1, 2, &[9; 100]).unwrap();
    assert_eq!(tails(&mut tailer), ["2"]);
}

#[test]
fn a_bookmark_after_reused_numbers_gets_them_even_if_the_journal_is_longer_by_now() {
    let disk = with_a_hole();
    let mut tailer = Tailer::open_on(disk.clone(), Start::Newest).unwrap();
    let bookmark = tailer.bookmark();
    let mut appender = open(&disk);
    let resumed = |tailer: &mut Tailer<SimulatedDisk>| tailer.resume(&bookmark).unwrap();
    assert_eq!(resumed(&mut tailer), Resumed::Beyond { sequence: 7, next: 2 });
    for sequence in 2..=20 {
        appender.append(1, sequence, &[9; 100]).unwrap();
    }
    let again = Resumed::Reused { from: 2, sequence: 7 };
    assert_eq!(resumed(&mut tailer), again);
    assert_eq!(tails(&mut tailer).len(), 19);
    // A roll, another start or another recovery does not make the tailer miss the range.
    appender.roll().unwrap();
    appender.append(1, 21, &[9; 100]).unwrap();
    disk.kill(appender);
    for boot in [2, 3, 4] {
        let disk = restarted(&disk, boot);
        let mut appender = open(&disk);
        appender.append(1, 22, &[9; 100]).unwrap();
        let mut tailer = Tailer::open_on(disk.clone(), Start::Oldest).unwrap();
        assert_eq!(tailer.resume(&bookmark).unwrap(), again, "boot {boot}");
        // A reader of the current records gets no range.
        let now = Bookmark { next_sequence: 22, ..there(&disk, 21) };
        assert_eq!(tailer.resume(&now).unwrap(), Resumed::At(22), "boot {boot}");
        assert_eq!(numbers(&read_all(&disk).unwrap()), (1..=22).collect::<Vec<_>>());
        disk.kill(appender);
    }
}

#[test]
fn a_recovery_stores_again_where_numbers_come_again_if_the_power_took_the_words_that_say_it() {
    let disk = with_a_hole();
    let bookmark = Tailer::open_on(disk.clone(), Start::Newest).unwrap().bookmark();
    let mut appender = open(&disk);
    for sequence in 2..=20 {
        appender.append(1, sequence, &[9; 100]).unwrap();
    }
    let number = appender.segment();
    disk.kill(appender);
    let words = disk.words(&format!("{number:010}.segment"));
    for field in ["incarnation", "incarnation_from", "incarnation_check"] {
        words[at(field)].store(0);
    }
    let disk = restarted(&disk, 3);
    let mut appender = open(&disk);
    assert_eq!(appender.append(1, 21, &[9; 100]).unwrap(), 21);
    let mut tailer = Tailer::open_on(disk.clone(), Start::Oldest).unwrap();
    assert_eq!(tailer.resume(&bookmark).unwrap(), Resumed::Reused { from: 2, sequence: 7 });
    disk.kill(appender);
}

#[test]
fn a_reader_from_before_a_repair_in_the_same_boot_gets_the_reused_numbers() {
    let disk = SimulatedDisk::new(7);
    let mut appender = open(&disk);
    for sequence in 1..=6 {
        appender.append(1, sequence, &[sequence as u8; 100]).unwrap();
    }
    disk.kill(appender);
    let bookmark = Tailer::open_on(disk.clone(), Start::Newest).unwrap().bookmark();
    let words = disk.words("0000000001.segment");
    for lost in [4, 5] {
        let start = DATA + lost * excerpt_bytes(100) / 8;
        words[start..start + 4].iter().for_each(|word| word.store(!0));
    }
    assert!(!repair_on(&disk, false, |_, _| ()).unwrap().actions.is_empty());
    let mut appender = open(&disk);
    assert_eq!(appender.next_sequence(), 5);
    for sequence in 5..=9 {
        appender.append(1, sequence, &[9; 100]).unwrap();
    }
    let mut tailer = Tailer::open_on(disk.clone(), Start::Oldest).unwrap();
    assert_eq!(tailer.resume(&bookmark).unwrap(), Resumed::Reused { from: 5, sequence: 7 });
    disk.kill(appender);
}

/// The bookmark of a reader at this excerpt.
fn there(disk: &SimulatedDisk, sequence: u64) -> Bookmark {
    let mut tailer = Tailer::open_on(disk.clone(), Start::Sequence(sequence)).unwrap();
    assert!(matches!(tailer.next().unwrap(), Tail::Excerpt(_)));
    tailer.bookmark()
}

/// All of these tests, for the run that leaves out one call at a time.
pub(crate) fn all() {
    a_tailer_from_before_a_recovery_gets_the_reused_numbers();
    a_tailer_that_polls_before_anything_is_appended_gets_them_too();
    a_bookmark_after_reused_numbers_gets_them_even_if_the_journal_is_longer_by_now();
    a_recovery_stores_again_where_numbers_come_again_if_the_power_took_the_words_that_say_it();
    a_reader_from_before_a_repair_in_the_same_boot_gets_the_reused_numbers();
}
