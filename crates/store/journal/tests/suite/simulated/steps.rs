//! Upkeep, recovery and repair are stopped between any two of their steps, followed by a loss of
//! power.
//!
//! The campaigns rarely stop between two given steps. Here each operation is stopped before every
//! operation of the disk. The changes of names since their last sync are partly kept, in several
//! ways.

use nanotape_journal::{
    Appender, AppenderOptions, CompressOptions, Disk as _, PruneOptions, RollCycle, Severity,
    SyncPolicy, compress_on, prune_on, repair_on, uncompress_on, verify_on,
};

use crate::simulated::{
    dice::Dice,
    disk::{Crash, SimulatedDisk},
    faults::{Fault, Faults},
    history::options,
    lost_pages::durable,
    promises::{DATA, LONG, at, lose_power, payload},
    reading::{numbers, read_all},
};

/// Variants of a loss of power at each step.
const SALTS: u64 = 16;

/// The first bytes of a file compressed with zstd.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Words of an excerpt.
const WORDS: usize = 512;

fn never() -> AppenderOptions {
    options(SyncPolicy::Never, RollCycle::Size)
}

fn open(disk: &SimulatedDisk) -> Appender<SimulatedDisk> {
    Appender::open_on(disk.clone(), &never()).unwrap()
}

/// Appends these numbers, and begins a segment before each of `rolls`.
fn append(appender: &mut Appender<SimulatedDisk>, numbers: std::ops::Range<u64>, rolls: &[u64]) {
    for number in numbers {
        if rolls.contains(&number) {
            appender.roll().unwrap();
        }
        assert_eq!(appender.append(1, number, &payload(number)).unwrap(), number);
    }
}

/// Four segments, of excerpts 1 and 2, 3 to 5, 6, and 7, all of them on disk.
fn four_segments(salt: u64) -> SimulatedDisk {
    let disk = SimulatedDisk::new(salt);
    disk.watch();
    let mut appender = open(&disk);
    append(&mut appender, 1..8, &[3, 6, 7]);
    appender.sync().unwrap();
    disk.kill(appender);
    disk
}

/// Stops `work` before each of its operations and loses the power. `check` gets the disk after the
/// restart, and whether the work was done. Returns the number of operations.
fn at_every_operation(
    prepare: impl Fn(u64) -> SimulatedDisk,
    work: impl Fn(&SimulatedDisk),
    check: impl Fn(SimulatedDisk, bool, &str),
) -> u64 {
    stopped(&mut (0..).map(Crash::AtOperation), prepare, work, check)
}

/// The same before these steps, until the work ends earlier; returns the number of steps.
fn stopped(
    steps: &mut dyn Iterator<Item = Crash>,
    prepare: impl Fn(u64) -> SimulatedDisk,
    work: impl Fn(&SimulatedDisk),
    check: impl Fn(SimulatedDisk, bool, &str),
) -> u64 {
    let mut count = 0;
    for step in steps {
        let mut is_done = true;
        for salt in 0..SALTS {
            let disk = prepare(salt);
            disk.watch();
            disk.crash(step);
            work(&disk);
            let was_stopped = disk.has_crashed();
            is_done &= !was_stopped;
            let lost = lose_power(&disk, salt, 3);
            check(lost, !was_stopped, &format!("{step:?}, {salt}"));
        }
        if is_done {
            break;
        }
        count += 1;
    }
    count
}

fn reads(disk: &SimulatedDisk, expected: &[u64], said: &str) {
    let appender = open(disk);
    assert_eq!(numbers(&read_all(disk).unwrap()), expected, "{said}");
    disk.kill(appender);
}

/// Checks that these payloads exist in a segment or in `cut`.
fn are_kept(disk: &SimulatedDisk, kept: &[u64], said: &str) {
    let contents = disk.contents();
    for &number in kept {
        let payload = payload(number);
        let is_in = |bytes: &[u8]| bytes.windows(LONG).step_by(8).any(|part| part == payload);
        assert!(contents.iter().any(|(_, bytes)| is_in(bytes)), "{said}: {number} is gone");
    }
}

fn compress_two(disk: &SimulatedDisk) {
    let options = CompressOptions { keep_plain: 1, ..CompressOptions::default() };
    assert_eq!(compress_on(disk, &options, |_, _| ()).unwrap().len(), 2);
}

#[test]
fn a_segment_is_there_wherever_its_compression_is_stopped() {
    let all = [1, 2, 3, 4, 5, 6, 7];
    let check = |disk: SimulatedDisk, _, said: &str| reads(&disk, &all, said);
    let operations = at_every_operation(four_segments, compress_two, check);
    assert!(operations > 16, "{operations}");
}

#[test]
fn a_segment_is_there_wherever_its_unpacking_is_stopped() {
    let prepare = |salt| {
        let disk = four_segments(salt);
        compress_two(&disk);
        disk
    };
    let work = |disk: &SimulatedDisk| {
        assert_eq!(uncompress_on(disk, |_, _| ()).unwrap().len(), 2);
    };
    let all = [1, 2, 3, 4, 5, 6, 7];
    let check = |disk: SimulatedDisk, _, said: &str| reads(&disk, &all, said);
    let operations = at_every_operation(prepare, work, check);
    assert!(operations > 16, "{operations}");
}

#[test]
fn what_is_read_as_on_the_disk_from_a_compressed_segment_stays() {
    let mut relied = 0;
    for (operation, salt) in (1..16).flat_map(|number| (0..64).map(move |salt| (number, salt))) {
        let disk = SimulatedDisk::new(salt);
        disk.watch();
        let mut appender = open(&disk);
        append(&mut appender, 1..5, &[4]);
        // Nothing was synced. The compression fails at one of its steps.
        disk.set_faults(Faults::at(operation, 1, Fault::Io));
        let _ = compress_on(&disk, &CompressOptions::default(), |_, _| ());
        disk.set_faults(Faults::default());
        let mut promised = durable(&disk);
        if salt % 2 == 0 && appender.sync().is_ok() {
            promised = 4;
        }
        relied += u64::from(promised > 0);
        let lost = lose_power(&disk, salt, 2);
        disk.kill(appender);
        let appender = open(&lost);
        let read = numbers(&read_all(&lost).unwrap());
        assert!(
            read.len() as u64 >= promised,
            "fault at {operation}, {salt}: {read:?} of {promised}"
        );
        assert!([1, 2, 3, 4].starts_with(&read), "fault at {operation}, {salt}: {read:?}");
        lost.kill(appender);
    }
    assert!(relied > 100, "{relied}");
}

#[test]
fn what_pruning_keeps_is_there_wherever_it_is_stopped() {
    let options = PruneOptions { before_sequence: Some(6), ..PruneOptions::default() };
    let work = |disk: &SimulatedDisk| {
        assert_eq!(prune_on(disk, &options, Vec::new()).unwrap().segments.len(), 2);
    };
    let check = |disk: SimulatedDisk, is_done: bool, said: &str| {
        let appender = open(&disk);
        let read = numbers(&read_all(&disk).unwrap());
        let stretches: &[&[u64]] =
            if is_done { &[&[6, 7]] } else { &[&[6, 7], &[3, 4, 5, 6, 7], &[1, 2, 3, 4, 5, 6, 7]] };
        assert!(stretches.contains(&&read[..]), "{said}: {read:?}");
        disk.kill(appender);
    };
    let operations = at_every_operation(four_segments, work, check);
    assert!(operations > 4, "{operations}");
}

/// The four segments, in another boot; the power took excerpt 4 in the middle of the second one.
fn with_a_hole(salt: u64) -> SimulatedDisk {
    let disk = four_segments(salt);
    for (name, bytes) in disk.contents() {
        let words = disk.words(&name);
        let mut values: Vec<u64> = words.iter().map(|word| word.as_read_only().load()).collect();
        if name == "0000000002.segment" {
            values[DATA + WORDS..DATA + 2 * WORDS].fill(0);
        }
        // Clear all marks of synced data.
        for field in ["synced", "sync_pending", "sealed"] {
            values[at(field)] = 0;
        }
        disk.put(&name, &values, bytes.len() as u64);
    }
    disk.image().after_death(&mut Dice::new(salt), 2)
}

#[test]
fn what_a_recovery_takes_out_is_kept_wherever_it_is_stopped() {
    let work = |disk: &SimulatedDisk| disk.kill(open(disk));
    let check = |disk: SimulatedDisk, _, said: &str| {
        are_kept(&disk, &[1, 2, 3, 5, 6, 7], said);
        reads(&disk, &[1, 2, 3], said);
        are_kept(&disk, &[1, 2, 3, 5, 6, 7], said);
    };
    let operations = at_every_operation(with_a_hole, work, check);
    assert!(operations > 20, "{operations}");
}

/// The four segments; the first word of two payloads is damaged: one in the middle, and the last
/// one.
fn damaged(salt: u64) -> SimulatedDisk {
    let disk = four_segments(salt);
    for (name, excerpt) in [("0000000002.segment", 1), ("0000000004.segment", 0)] {
        let word = &disk.words(name)[DATA + excerpt * WORDS + 3];
        word.store(word.as_read_only().load() ^ 1 << 40);
    }
    for (name, bytes) in disk.contents() {
        let words = disk.words(&name);
        let values: Vec<u64> = words.iter().map(|word| word.as_read_only().load()).collect();
        disk.put(&name, &values, bytes.len() as u64);
    }
    disk
}

/// The same with the first two segments compressed; the second one was damaged before.
fn damaged_and_compressed(salt: u64) -> SimulatedDisk {
    let disk = four_segments(salt);
    compress_two(&disk);
    disk.sync_names().unwrap();
    let name = "0000000002.segment.zst";
    let (_, bytes) = disk.contents().into_iter().find(|(other, _)| other == name).unwrap();
    let words = disk.words(name);
    let mut values: Vec<u64> = words.iter().map(|word| word.as_read_only().load()).collect();
    let middle = values.len() / 2;
    values[middle] ^= 1 << 40;
    disk.put(name, &values, bytes.len() as u64);
    disk
}

fn repair_all(disk: &SimulatedDisk) {
    assert!(!repair_on(disk, false, |_, _| ()).unwrap().actions.is_empty());
}

/// Repairs again after a stopped repair; after a complete one nothing is left to do.
fn repaired(disk: SimulatedDisk, is_done: bool, expected: &[u64], said: &str) -> SimulatedDisk {
    if !is_done {
        repair_on(&disk, false, |_, _| ()).unwrap();
    }
    let findings = verify_on(&disk, |_, _| ()).unwrap().findings;
    let faults = findings.iter().filter(|finding| finding.severity() == Severity::Fault);
    assert_eq!(faults.count(), 0, "{said}: {findings:?}");
    reads(&disk, expected, said);
    disk
}

fn check_repaired(disk: SimulatedDisk, is_done: bool, said: &str) {
    let disk = repaired(disk, is_done, &[1, 2, 3, 5, 6], said);
    let contents = disk.contents();
    for number in [4, 7] {
        let rest = &payload(number)[8..];
        let is_in = |bytes: &[u8]| bytes.windows(rest.len()).step_by(8).any(|part| part == rest);
        let is_cut = |(name, bytes): &(String, Vec<u8>)| name.starts_with("cut/") && is_in(bytes);
        assert!(contents.iter().any(is_cut), "{said}: the bytes of {number} are gone");
    }
}

#[test]
fn a_repair_that_is_stopped_anywhere_is_done_by_the_next_one_and_deletes_nothing() {
    let operations = at_every_operation(damaged, repair_all, check_repaired);
    assert!(operations > 20, "{operations}");
    let mut some_stores = (0..).map(|number| Crash::AtStore(number * 61));
    let stores = stopped(&mut some_stores, damaged, repair_all, check_repaired);
    assert!(stores > 10, "{stores}");
}

#[test]
fn a_compressed_segment_is_kept_wherever_its_repair_is_stopped() {
    let check = |disk: SimulatedDisk, is_done, said: &str| {
        let disk = repaired(disk, is_done, &[1, 2, 6, 7], said);
        let is_it = |(name, bytes): &(String, Vec<u8>)| {
            name.starts_with("cut/0000000002-0-") && bytes.starts_with(&ZSTD) && bytes.len() > LONG
        };
        assert!(disk.contents().iter().any(is_it), "{said}: the compressed file is gone");
    };
    let operations = at_every_operation(damaged_and_compressed, repair_all, check);
    assert!(operations > 14, "{operations}");
}

/// All of these tests, for the run that leaves out one call at a time.
pub(crate) fn all() {
    what_a_recovery_takes_out_is_kept_wherever_it_is_stopped();
    a_segment_is_there_wherever_its_compression_is_stopped();
    a_segment_is_there_wherever_its_unpacking_is_stopped();
    what_is_read_as_on_the_disk_from_a_compressed_segment_stays();
    what_pruning_keeps_is_there_wherever_it_is_stopped();
    a_repair_that_is_stopped_anywhere_is_done_by_the_next_one_and_deletes_nothing();
    a_compressed_segment_is_kept_wherever_its_repair_is_stopped();
}
