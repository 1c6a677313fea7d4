//! An appender is killed before each of its stores in turn. Tailers never see part of an operation,
//! and the next appender continues as if nothing had happened, even if it is also killed at each
//! store of its take-over.

use std::path::Path;

use nanotape_harness::{Scratch, survives};
use nanotape_journal::{Appender, AppenderOptions, RollCycle, Start, Tail, Tailer, excerpt_bytes};
use nanotape_shm::kill_points;

use crate::processes::{
    children::command,
    records::{check, payload, read_all},
};

/// The operations of the child that is killed.
const OPERATIONS: [&str; 11] = [
    "append",
    "claim",
    "batch",
    "large batch",
    "abandoned claim",
    "abandoned batch",
    "roll",
    "full",
    "sync",
    "roll and sync",
    "open",
];

/// Records of a large batch: more than any part of the journal reads together.
const MANY: u64 = 40;

/// Stores between two kills: a large batch has too many stores to test each.
fn stride(operation: &str) -> usize {
    if operation == "large batch" { 17 } else { 1 }
}

/// Numbers of the writers. Each writer uses its number as the type of its records.
const HISTORY: u16 = 10;
const KILLED: u16 = 11;
const NEXT: u16 = 12;

pub(super) fn options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        has_pretoucher: false,
        ..AppenderOptions::default()
    }
}

fn append(appender: &mut Appender, writer: u16, count: u64) {
    for _ in 0..count {
        let sequence = appender.next_sequence();
        appender.append(writer, sequence, &payload(sequence, writer)).unwrap();
    }
}

/// Records that an operation commits together.
fn commits(operation: &str) -> usize {
    match operation {
        "batch" => 4,
        "large batch" => MANY as usize,
        "abandoned claim" | "abandoned batch" | "roll" | "open" => 0,
        _ => 1,
    }
}

fn perform(appender: &mut Appender, operation: &str) {
    let next = appender.next_sequence();
    match operation {
        "append" => append(appender, KILLED, 1),
        "claim" | "abandoned claim" => {
            let bytes = payload(next, KILLED);
            let mut claim = appender.claim(KILLED, next, bytes.len()).unwrap();
            claim.copy_from(&bytes);
            if operation == "claim" {
                assert_eq!(claim.commit().unwrap(), next);
            }
        }
        "batch" | "large batch" | "abandoned batch" => {
            let count = if operation == "large batch" { MANY } else { 4 };
            let records: Vec<_> = (next..next + count).map(|next| payload(next, KILLED)).collect();
            let room = records.iter().map(|record| excerpt_bytes(record.len())).sum();
            let mut batch = appender.batch(next, room).unwrap();
            for record in &records {
                batch.append(KILLED, next, record).unwrap();
            }
            if operation != "abandoned batch" {
                assert_eq!(batch.commit().unwrap(), next + count);
            }
        }
        "roll" => appender.roll().unwrap(),
        // Words of the segment note a sync in progress and the synced position.
        "sync" => {
            append(appender, KILLED, 1);
            appender.sync().unwrap();
        }
        "roll and sync" => {
            appender.roll().unwrap();
            append(appender, KILLED, 1);
            appender.sync().unwrap();
        }
        "full" => {
            // A record that does not fit begins the next segment.
            let left =
                (1 << 16) - Tailer::open(&appender.path(), Start::Newest).unwrap().position().1;
            drop(appender.batch(next, usize::try_from(left).unwrap()).unwrap());
            append(appender, KILLED, 1);
        }
        other => panic!("no operation {other}"),
    }
}

/// In a child: is killed at a store of the operation, if it has that many stores.
pub(crate) fn operate_and_die(path: &Path, fatal: u64, operation: &str) {
    if operation == "open" {
        kill_points::arm(fatal);
    }
    let mut appender = Appender::open(path, &options()).unwrap();
    if operation != "open" {
        kill_points::arm(fatal);
        perform(&mut appender, operation);
    }
    assert!(kill_points::disarm() < fatal, "it was not killed because it was done");
    drop(appender);
}

/// In a child: takes over, and is killed meanwhile if there are that many stores.
pub(crate) fn take_over(path: &Path, fatal: u64) {
    kill_points::arm(fatal);
    drop(Appender::open(path, &options()).unwrap());
    kill_points::disarm();
}

/// A journal with some records. For `open` it also has the remains of a process that was killed
/// within a batch.
fn prepare(path: &Path, operation: &str) -> usize {
    let _ = std::fs::remove_dir_all(path);
    let mut appender = Appender::open(path, &options()).unwrap();
    append(&mut appender, HISTORY, 30);
    if operation == "open" {
        let bytes = payload(31, KILLED);
        let mut batch = appender.batch(31, 2000).unwrap();
        batch.append(KILLED, 31, &bytes).unwrap();
        batch.append(KILLED, 32, &bytes).unwrap();
        std::mem::forget(batch);
    }
    30
}

/// Checks that all records of the operation exist after the history, or none.
fn check_whole(path: &Path, before: usize, operation: &str) -> usize {
    let writers = read_all(path);
    let more = writers.len() - before;
    assert!(more == 0 || more == commits(operation), "{operation}: {more} of it");
    more
}

/// Reads on with a tailer that was opened before.
fn read_on(tailer: &mut Tailer) -> usize {
    let (mut count, mut idle) = (0, 0);
    while idle < 2100 {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                check(&excerpt);
                (count, idle) = (count + 1, 0);
            }
            Tail::Gap(gap) => panic!("{gap:?}"),
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => idle += 1,
        }
    }
    count
}

/// Kills at every store of an operation, and at every store of the take-over after some of them.
fn at_every_store(place: &Path, operation: &str) -> (u64, u64) {
    let mut take_overs = 0;
    for fatal in (1..).step_by(stride(operation)) {
        let before = prepare(place, operation);
        let mut tailer = Tailer::open(place, Start::Newest).unwrap();
        if survives(command("operate and die", place, fatal, operation)) {
            assert_eq!(check_whole(place, before, operation), commits(operation));
            return (fatal - 1, take_overs);
        }
        let more = check_whole(place, before, operation);
        // A take-over is killed at one of its stores, each time at another one.
        if !survives(command("take over", place, 1 + fatal % 16, "")) {
            take_overs += 1;
            assert_eq!(check_whole(place, before, operation), more);
        }
        let mut next = Appender::open(place, &options()).unwrap();
        assert_eq!(next.next_sequence(), (before + more) as u64 + 1);
        append(&mut next, NEXT, 3);
        assert_eq!(read_all(place).len(), before + more + 3, "{operation}, store {fatal}");
        assert_eq!(read_on(&mut tailer), more + 3, "{operation}, store {fatal}");
    }
    unreachable!("the loop ends after the last store")
}

#[test]
fn an_appender_killed_at_any_store_leaves_whole_records_and_a_journal_to_take_over() {
    // On a real disk, where a sync has an effect.
    let place = Scratch::on_disk("every-store");
    let (mut points, mut take_overs) = (0, 0);
    for operation in OPERATIONS {
        let (more, killed) = at_every_store(place.path(), operation);
        println!("{operation}: killed at each of {more} stores, {killed} of the next ones too");
        assert!(more > 5, "{operation}: {more}");
        points += more;
        take_overs += killed;
    }
    println!("{points} points, and {take_overs} in take-overs");
    assert!(take_overs > 0);
}
