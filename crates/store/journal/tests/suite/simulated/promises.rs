//! The required order of syncs: each test fails if one sync, or one zeroing, is left out.
//!
//! The campaigns reach these states rarely. Here each state is built, and then the power is lost in
//! many ways.

use nanotape_journal::{
    Appender, AppenderOptions, ErrorKind, FIELDS, JournalError, PruneOptions, RollCycle,
    SyncPolicy, excerpt_bytes, prune_on,
};

use crate::simulated::{
    dice::Dice,
    disk::{Crash, SimulatedDisk},
    faults::{Fault, Faults},
    history::options,
    reading::{numbers, read_all},
};

const FIRST: &str = "0000000001.segment";

/// The first word of the first excerpt of a segment of 64 KiB.
pub(crate) const DATA: usize = 1024;

/// Each excerpt of this length begins with a page and shares its pages with no other one.
pub(crate) const LONG: usize = 4096 - 24;

/// The word with this name in a segment's header.
pub(crate) fn at(name: &str) -> usize {
    FIELDS.iter().find(|field| field.2 == name).unwrap().0 / 8
}

fn batch() -> AppenderOptions {
    options(SyncPolicy::Batch, RollCycle::Size)
}

fn open(
    disk: &SimulatedDisk,
    options: &AppenderOptions,
) -> Result<Appender<SimulatedDisk>, JournalError> {
    Appender::open_on(disk.clone(), options)
}

/// The machine after a loss of power and a restart.
pub(crate) fn lose_power(disk: &SimulatedDisk, salt: u64, boot: u64) -> SimulatedDisk {
    let disk = disk.image().after_power_loss(&mut Dice::new(salt), boot);
    disk.watch();
    disk
}

/// A payload without zero bytes that is unique to its number.
pub(crate) fn payload(number: u64) -> Vec<u8> {
    Dice::new(number).bytes(LONG).into_iter().map(|byte| byte | 1).collect()
}

/// A disk where the second of three excerpts is missing. In another boot the power took it; in the
/// same boot its batch was never committed.
fn with_a_hole(third: &[u8], boot: u64, salt: u64) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    disk.watch();
    let mut appender = open(&disk, &options(SyncPolicy::Never, RollCycle::Size)).unwrap();
    for number in 1..=2 {
        appender.append(1, number, &payload(number)).unwrap();
    }
    appender.append(1, 3, third).unwrap();
    disk.kill(appender);
    let words = disk.words(FIRST);
    let long = excerpt_bytes(LONG) / 8;
    let mut values: Vec<u64> = words.iter().map(|word| word.as_read_only().load()).collect();
    values[DATA + long..DATA + 2 * long].fill(0);
    // Entries of the index are stored after the last commit of a batch.
    values[at("index")..DATA].fill(0);
    disk.put(FIRST, &values, 1 << 16);
    let disk = disk.image().after_death(&mut Dice::new(salt), boot);
    disk.watch();
    disk
}

#[test]
fn a_prepared_segment_that_is_used_again_has_its_name_on_the_disk() {
    let mut reused = 0;
    for (operation, salt) in (0..12).flat_map(|first| (0..8).map(move |salt| (first, salt))) {
        let disk = SimulatedDisk::new(salt);
        disk.watch();
        let mut appender = open(&disk, &batch()).unwrap();
        appender.append(1, 1, b"first").unwrap();
        // Killed during a roll; the name of the next segment might not be on disk yet.
        disk.crash(Crash::AtOperation(operation));
        appender.roll().unwrap();
        let image = disk.image();
        disk.kill(appender);
        let disk = image.after_death(&mut Dice::new(salt), 1);
        disk.watch();
        let mut appender = open(&disk, &batch()).unwrap();
        reused += u64::from(disk.contents().iter().any(|(name, _)| name == "0000000002.segment"));
        appender.roll().unwrap();
        assert_eq!(appender.append(1, 2, b"second").unwrap(), 2);
        let lost = lose_power(&disk, salt, 2);
        disk.kill(appender);
        let appender = open(&lost, &batch()).unwrap();
        assert_eq!(numbers(&read_all(&lost).unwrap()), [1, 2], "{operation}, {salt}");
        lost.kill(appender);
    }
    assert!(reused > 8, "{reused}");
}

#[test]
fn what_is_zero_in_memory_and_not_on_the_disk_is_made_zero_again() {
    let mut failed = 0;
    for (operation, salt) in (4..16).flat_map(|first| (0..100).map(move |salt| (first, salt))) {
        let disk = with_a_hole(&[3; 16], 1 + salt % 2, salt);
        disk.set_faults(Faults::at(operation, 1, Fault::Io));
        let opened = open(&disk, &batch());
        disk.set_faults(Faults::default());
        failed += u64::from(opened.is_err());
        disk.kill(opened);
        let mut appender = open(&disk, &batch()).unwrap();
        // As long as the lost one: data after the lost one would match after this one.
        assert_eq!(appender.append(1, 2, &payload(9)).unwrap(), 2);
        let lost = lose_power(&disk, salt, 3);
        disk.kill(appender);
        let appender = open(&lost, &batch()).unwrap();
        let read = read_all(&lost).unwrap();
        assert_eq!(numbers(&read), [1, 2], "fault at {operation}, {salt}");
        assert_eq!(read[1].payload, payload(9));
        lost.kill(appender);
    }
    assert!(failed > 20, "{failed}");
}

#[test]
fn what_was_cut_is_there_after_the_next_loss_of_power() {
    for salt in 0..32 {
        let disk = with_a_hole(&payload(3), 2, salt);
        let appender = open(&disk, &batch()).unwrap();
        let cut = appender.recovery().quarantined[0].clone();
        let lost = lose_power(&disk, salt, 3);
        disk.kill(appender);
        let name = cut.path.strip_prefix("/simulated").unwrap().to_str().unwrap().to_owned();
        let contents = lost.contents();
        let kept = contents.iter().find(|(other, _)| *other == name);
        let (_, kept) = kept.unwrap_or_else(|| panic!("{salt}: {name} is lost"));
        assert!(kept.windows(LONG).any(|bytes| bytes == payload(3)), "{salt}");
    }
}

#[test]
fn an_excerpt_that_ends_with_zeros_is_cut_with_all_of_them() {
    let mut third = payload(3);
    third[16..].fill(0);
    let disk = with_a_hole(&third, 2, 1);
    let appender = open(&disk, &batch()).unwrap();
    let cut = &appender.recovery().quarantined[0];
    assert_eq!(cut.offset, (DATA * 8 + excerpt_bytes(LONG)) as u64);
    assert_eq!(cut.bytes, 2 * excerpt_bytes(LONG) as u64);
}

#[test]
fn a_new_folder_has_its_name_on_the_disk_before_an_append_returns() {
    for salt in 0..32 {
        let disk = SimulatedDisk::new(salt);
        disk.watch();
        let mut appender = open(&disk, &batch()).unwrap();
        appender.append(1, 1, b"first").unwrap();
        let lost = lose_power(&disk, salt, 2);
        disk.kill(appender);
        let appender = open(&lost, &batch()).unwrap();
        assert_eq!(numbers(&read_all(&lost).unwrap()), [1], "{salt}");
        lost.kill(appender);
    }
}

#[test]
fn after_a_prune_and_a_loss_of_power_the_journal_goes_on_behind_what_was_pruned() {
    let all = PruneOptions { keep_bytes: Some(0), ..PruneOptions::default() };
    for salt in 0..100 {
        let disk = SimulatedDisk::new(salt);
        disk.watch();
        let never = options(SyncPolicy::Never, RollCycle::Size);
        let mut appender = open(&disk, &never).unwrap();
        for number in 1..=3 {
            appender.append(1, number, &payload(number)).unwrap();
        }
        appender.roll().unwrap();
        if salt % 2 == 0 {
            appender.append(1, 4, &payload(4)).unwrap();
        }
        if salt % 3 == 0 {
            // The header of the second segment counts as written: five operations belong to the
            // first one.
            disk.set_faults(Faults::at(6, 1, Fault::Io));
            appender.sync().unwrap_err();
            disk.set_faults(Faults::default());
        }
        assert_eq!(prune_on(&disk, &all, Vec::new()).unwrap().segments.len(), 1);
        let lost = lose_power(&disk, salt, 2);
        disk.kill(appender);
        let appender = open(&lost, &never).unwrap();
        let next = appender.next_sequence();
        assert!(next >= 4, "{salt}: the journal begins again at {next}");
        lost.kill(appender);
    }
}

#[test]
fn a_segment_whose_activation_is_damaged_is_not_cut_where_it_was_on_the_disk() {
    for (segment, change) in [1, 2, 3].into_iter().flat_map(|number| [(number, 0), (number, 1)]) {
        let disk = SimulatedDisk::new(3);
        disk.watch();
        let mut appender = open(&disk, &batch()).unwrap();
        for number in 1..=6 {
            appender.append(1, number, &payload(number)).unwrap();
            if number % 2 == 0 && number < 6 {
                appender.roll().unwrap();
            }
        }
        disk.kill(appender);
        let words = disk.words(&format!("{segment:010}.segment"));
        let activation = &words[at("activation")];
        // Zero, or a flipped bit.
        activation.store(if change == 0 { 0 } else { activation.as_read_only().load() ^ 4 });
        // All of them are read, because none is marked as whole.
        (1..3).for_each(|it| disk.words(&format!("{it:010}.segment"))[at("sealed")].store(0));
        let disk = disk.image().after_death(&mut Dice::new(2), 2);
        disk.watch();
        let before = disk.contents();
        let said = format!("segment {segment}, change {change}");
        let error = open(&disk, &batch()).err().unwrap_or_else(|| panic!("{said}: it was opened"));
        assert!(matches!(error.kind(), ErrorKind::Damaged { .. }), "{said}: {error}");
        let now = disk.contents();
        let is_there = |(name, _): &(String, Vec<u8>)| now.iter().any(|(other, _)| other == name);
        assert!(before.iter().all(is_there), "{said}: nothing is moved");
    }
}

/// All of these tests, for the run that leaves out one call at a time.
pub(crate) fn all() {
    a_prepared_segment_that_is_used_again_has_its_name_on_the_disk();
    what_is_zero_in_memory_and_not_on_the_disk_is_made_zero_again();
    what_was_cut_is_there_after_the_next_loss_of_power();
    an_excerpt_that_ends_with_zeros_is_cut_with_all_of_them();
    a_new_folder_has_its_name_on_the_disk_before_an_append_returns();
    after_a_prune_and_a_loss_of_power_the_journal_goes_on_behind_what_was_pruned();
    a_segment_whose_activation_is_damaged_is_not_cut_where_it_was_on_the_disk();
}
