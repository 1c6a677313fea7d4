//! The appender's threads: none of them blocks another, and none ends without an error.

use std::time::Duration;

use nanotape_harness::{Patience, Scratch, eventually};
use nanotape_journal::{
    Appender, AppenderOptions, Disk, JournalError, RollCycle, Start, SyncPolicy, Tail, Tailer,
};

use crate::appender::gated::{GatedFolder, Making};

/// Syncs often, and prepares one segment.
fn options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        sync: SyncPolicy::Every(Duration::from_millis(1)),
        ahead_bytes: 0,
        ..AppenderOptions::default()
    }
}

/// Waits until the excerpt with this number is on disk: does not return if nothing is synced.
fn wait_until_on_disk(place: &Scratch, sequence: u64) {
    let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    tailer.set_durable(true);
    let mut patience = Patience::new("the excerpt is on the disk");
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) if excerpt.sequence() == sequence => return,
            Tail::Nothing => {
                tailer.recheck();
                patience.pause();
            }
            _ => {}
        }
    }
}

/// Appends until an error.
fn append_until_refused<D: Disk>(appender: &mut Appender<D>) -> JournalError {
    loop {
        if let Err(error) = appender.append(1, 1, &[7; 4000]) {
            return error;
        }
    }
}

#[test]
fn a_segment_that_is_long_in_the_making_keeps_no_excerpt_from_the_disk() {
    let place = Scratch::new("slow-making");
    let disk = GatedFolder::new(place.path());
    let mut appender = Appender::open_on(disk.clone(), &options()).unwrap();
    disk.set_making(Making::Waits);
    // Into the prepared segment; the pretoucher creates the next one.
    let requested = disk.requested();
    appender.append(1, 1, b"first").unwrap();
    eventually("the pretoucher creates the next segment", || disk.requested() != requested);
    let sequence = appender.append(1, 1, b"second").unwrap();
    wait_until_on_disk(&place, sequence);
    disk.set_making(Making::Passes);
    appender.close().unwrap();
}

#[test]
fn a_pretoucher_that_died_is_an_error_of_every_append_and_no_roll_waits_for_it() {
    let place = Scratch::new("dead-pretoucher");
    let disk = GatedFolder::new(place.path());
    let mut appender = Appender::open_on(disk.clone(), &options()).unwrap();
    disk.set_making(Making::Panics);
    // Into the prepared segment; the pretoucher creates the next one.
    let requested = disk.requested();
    appender.append(1, 1, b"first").unwrap();
    eventually("the pretoucher creates the next segment", || disk.requested() != requested);
    let error = append_until_refused(&mut appender);
    assert!(error.to_string().contains("thread"), "{error}");
    disk.set_making(Making::Passes);
    for _ in 0..3 {
        assert_eq!(appender.append(1, 1, b"more").unwrap_err().to_string(), error.to_string());
        assert!(appender.claim(1, 1, 8).is_err() && appender.batch(1, 8).is_err());
        assert!(appender.roll().is_err());
    }
    // Committed excerpts can be synced, and the next appender continues.
    appender.sync().unwrap();
    let next = appender.next_sequence();
    assert_eq!(appender.close().unwrap_err().to_string(), error.to_string());
    let mut appender = Appender::open_on(disk, &options()).unwrap();
    assert_eq!(appender.append(1, 2, b"more").unwrap(), next);
    appender.close().unwrap();
}

#[test]
fn a_roll_that_panics_leaves_an_appender_that_can_roll() {
    let place = Scratch::new("roll-panics");
    let disk = GatedFolder::new(place.path());
    let options = AppenderOptions { sync: SyncPolicy::Never, has_pretoucher: false, ..options() };
    let mut appender = Appender::open_on(disk.clone(), &options).unwrap();
    appender.append(1, 1, b"first").unwrap();
    disk.set_making(Making::Panics);
    let roll = std::panic::AssertUnwindSafe(|| appender.roll());
    assert!(std::panic::catch_unwind(roll).is_err());
    disk.set_making(Making::Passes);
    appender.roll().unwrap();
    assert_eq!(appender.append(1, 2, b"second").unwrap(), 2);
}

#[test]
fn the_pretoucher_and_a_caller_of_sync_take_turns() {
    let place = Scratch::new("turns");
    let disk = GatedFolder::new(place.path());
    let sync = SyncPolicy::Every(Duration::from_nanos(1));
    let options = AppenderOptions { sync, segment_bytes: 1 << 20, ..options() };
    let mut appender = Appender::open_on(disk.clone(), &options).unwrap();
    for number in 0..2_000 {
        appender.append(1, number, b"some").unwrap();
        appender.sync().unwrap();
    }
    assert_eq!(disk.overlaps(), 0, "two syncs at a time");
    appender.close().unwrap();
}
