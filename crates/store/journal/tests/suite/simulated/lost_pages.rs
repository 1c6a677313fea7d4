//! Pages that a failed sync left clean, and that memory then dropped: their contents are lost, and
//! must not count as on disk.

use nanotape_journal::{Appender, RollCycle, Start, SyncPolicy, Tail, Tailer};

use crate::simulated::{
    dice::Dice,
    disk::SimulatedDisk,
    faults::{Fault, Faults},
    history::options,
    reading::{numbers, read_all},
};

/// Excerpts of some pages each.
const LENGTH: usize = 9000;

fn open(disk: &SimulatedDisk) -> Appender<SimulatedDisk> {
    disk.watch();
    Appender::open_on(disk.clone(), &options(SyncPolicy::Never, RollCycle::Size)).unwrap()
}

fn append(appender: &mut Appender<SimulatedDisk>, count: u64) {
    for _ in 0..count {
        let number = appender.next_sequence();
        appender.append(1, number, &[number as u8; LENGTH]).unwrap();
    }
}

/// Makes a sync fail: the kernel counts pages as written that are not.
fn fail(appender: &mut Appender<SimulatedDisk>, disk: &SimulatedDisk, is_closed: bool) {
    // A sync of a closed segment opens it and stores to it before.
    disk.set_faults(Faults::at(if is_closed { 3 } else { 1 }, 1, Fault::Io));
    appender.sync().unwrap_err();
    disk.set_faults(Faults::default());
}

/// The same; then memory drops the pages.
fn fail_and_evict(appender: &mut Appender<SimulatedDisk>, disk: &SimulatedDisk, is_closed: bool) {
    fail(appender, disk, is_closed);
    disk.evict();
}

/// The number of excerpts that a tailer reads with the durable setting.
pub(crate) fn durable(disk: &SimulatedDisk) -> u64 {
    let Ok(mut tailer) = Tailer::open_on(disk.clone(), Start::Oldest) else { return 0 };
    tailer.set_durable(true);
    let mut count = 0;
    while let Ok(Tail::Excerpt(_)) = tailer.next() {
        count += 1;
    }
    count
}

/// Runs one case for many seeds: `synced` excerpts are on disk, and later ones are not.
fn check(synced: u64, rolls: bool) {
    let (mut lost, mut kept) = (0, 0);
    for seed in 0..40 {
        let disk = SimulatedDisk::new(seed);
        let mut appender = open(&disk);
        append(&mut appender, synced);
        if synced > 0 {
            appender.sync().unwrap();
        }
        append(&mut appender, 3);
        if rolls {
            appender.roll().unwrap();
            append(&mut appender, 1);
        }
        let all = synced + 3 + u64::from(rolls);
        fail_and_evict(&mut appender, &disk, rolls);
        let is_whole = read_all(&disk).is_ok_and(|read| read.len() as u64 == all);
        let again = appender.sync();
        let said = format!("seed {seed}: {again:?}");
        assert_eq!(again.is_ok(), is_whole, "{said}");
        if is_whole {
            kept += 1;
            let disk = disk.image().after_power_loss(&mut Dice::new(seed), 2);
            let appender = open(&disk);
            let expected: Vec<u64> = (1..=all).collect();
            assert_eq!(numbers(&read_all(&disk).unwrap()), expected, "{said}");
            disk.kill(appender);
        } else {
            lost += 1;
            assert!(durable(&disk) <= synced, "{said}");
            // The error persists.
            assert!(appender.sync().is_err(), "{said}");
        }
        disk.kill(appender);
    }
    assert!(lost > 0, "of {synced} and {rolls}: {lost} lost, {kept} not");
}

#[test]
fn excerpts_that_a_failed_sync_lost_are_not_said_to_be_on_the_disk() {
    check(1, false);
}

#[test]
fn a_first_page_that_a_failed_sync_lost_is_not_said_to_be_on_the_disk() {
    check(0, false);
}

#[test]
fn a_closed_segment_that_a_failed_sync_lost_is_not_said_to_be_on_the_disk() {
    check(1, true);
}

#[test]
fn an_appender_that_opens_finds_what_a_failed_sync_lost() {
    let mut found = 0;
    for seed in 0..40 {
        let disk = SimulatedDisk::new(seed);
        let mut appender = open(&disk);
        append(&mut appender, 1);
        appender.sync().unwrap();
        append(&mut appender, 3);
        fail_and_evict(&mut appender, &disk, false);
        disk.kill(appender);
        let is_whole = read_all(&disk).is_ok_and(|read| read.len() == 4);
        let options = options(SyncPolicy::Never, RollCycle::Size);
        let opened = Appender::open_on(disk.clone(), &options);
        if let Ok(appender) = &opened {
            // A prefix, as after a loss of power; never a hole that counts as on disk.
            let count = read_all(&disk).unwrap().len() as u64;
            assert_eq!(appender.next_sequence(), count + 1, "{seed}");
            assert!(durable(&disk) <= count, "{seed}");
        }
        found += u64::from(!is_whole);
        disk.kill(opened);
    }
    assert!(found > 0);
}

#[test]
fn a_closed_segment_that_one_process_failed_to_sync_is_stored_again_by_the_next() {
    for seed in 0..40 {
        let disk = SimulatedDisk::new(seed);
        let mut appender = open(&disk);
        append(&mut appender, 3);
        appender.roll().unwrap();
        append(&mut appender, 1);
        fail(&mut appender, &disk, true);
        disk.kill(appender);
        let mut appender = open(&disk);
        appender.sync().unwrap();
        let image = disk.image();
        disk.kill(appender);
        let disk = image.after_power_loss(&mut Dice::new(seed), 2);
        let appender = open(&disk);
        assert_eq!(numbers(&read_all(&disk).unwrap()), [1, 2, 3, 4], "seed {seed}");
        disk.kill(appender);
    }
}

/// All of these tests, for the run that leaves out one call at a time.
pub(crate) fn all() {
    excerpts_that_a_failed_sync_lost_are_not_said_to_be_on_the_disk();
    a_first_page_that_a_failed_sync_lost_is_not_said_to_be_on_the_disk();
    a_closed_segment_that_a_failed_sync_lost_is_not_said_to_be_on_the_disk();
    an_appender_that_opens_finds_what_a_failed_sync_lost();
    a_closed_segment_that_one_process_failed_to_sync_is_stored_again_by_the_next();
}
