//! An appender with its threads: one prepares segments, one syncs periodically.
//!
//! The threads run as they do for users, so the same seed gives different runs. Wherever a thread
//! is when everything stops, all that a reader treated as durable exists after a loss of power.

use std::{collections::BTreeMap, time::Duration};

use nanotape_harness::campaign;
use nanotape_journal::{
    Appender, AppenderOptions, CompressOptions, RollCycle, Start, SyncPolicy, Tail, Tailer,
    compress_on,
};

use crate::simulated::{
    dice::Dice,
    disk::{Crash, Progress, SimulatedDisk},
    faults::{Fault, Faults},
    history::options,
    reading::{numbers, read_all},
};

fn with_threads() -> AppenderOptions {
    let every = SyncPolicy::Every(Duration::from_micros(60));
    AppenderOptions { has_pretoucher: true, ahead_bytes: 0, ..options(every, RollCycle::Size) }
}

/// The end of the excerpts that a tailer reads with the durable setting.
fn read_durable(tailer: &mut Tailer<SimulatedDisk>) -> u64 {
    loop {
        match tailer.next() {
            Ok(Tail::Excerpt(_) | Tail::Gap(_)) => {}
            _ => {
                tailer.recheck();
                return tailer.next_sequence().saturating_sub(1);
            }
        }
    }
}

/// Counts of all runs.
#[derive(Debug, Default)]
struct Seen {
    /// Crashes, by the name of the thread whose next step was stopped.
    crashes: BTreeMap<String, u64>,
    /// Appends that returned the error of a thread.
    errors: u64,
    promised: u64,
    lost: u64,
}

/// Appends until everything stops, loses the power, and checks the result.
fn run(seed: u64, seen: &mut Seen) {
    let dice = &mut Dice::new(seed);
    let disk = SimulatedDisk::new(seed);
    disk.watch();
    let mut appender = Appender::open_on(disk.clone(), &with_threads()).unwrap();
    let mut tailer = Tailer::open_on(disk.clone(), Start::Oldest).unwrap();
    tailer.set_durable(true);
    disk.crash(match dice.one_in(2) {
        true => Crash::AtOperation(dice.below(120)),
        false => Crash::AtStore(dice.below(20_000)),
    });
    if dice.one_in(3) {
        disk.set_faults(Faults::at(1 + dice.below(60), 1 + dice.below(3), Fault::Io));
    }
    let (mut committed, mut promised) = (0, 0);
    while !disk.has_crashed() && committed < 400 {
        let count = usize::try_from(committed).unwrap();
        let known = Progress { committed: count, promised, in_flight: 1 };
        disk.set_progress(known);
        let length = 100 + dice.index(6000);
        match appender.append(1, committed, &vec![committed as u8 | 1; length]) {
            Ok(sequence) => {
                committed += 1;
                assert_eq!(sequence, committed);
            }
            // The append returns the error, and the next one works.
            Err(_) => seen.errors += 1,
        }
        if dice.one_in(3) {
            std::thread::sleep(Duration::from_micros(dice.below(150)));
        }
        if dice.one_in(40) {
            let _ = compress_on(&disk, &CompressOptions::default(), |_, _| ());
        }
        if dice.one_in(4) {
            promised = promised.max(usize::try_from(read_durable(&mut tailer)).unwrap());
        }
    }
    let image = disk.image();
    disk.kill(appender);
    *seen.crashes.entry(image.thread.clone()).or_default() += 1;
    let Progress { committed, promised, in_flight } = image.progress;
    let disk = image.after_power_loss(dice, 2);
    disk.watch();
    let appender = Appender::open_on(disk.clone(), &options(SyncPolicy::Never, RollCycle::Size));
    let appender = appender.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let read = numbers(&read_all(&disk).unwrap());
    let expected: Vec<u64> = (1..=(committed + in_flight) as u64).collect();
    assert!(expected.starts_with(&read), "seed {seed}: read {read:?} of {expected:?}");
    assert!(read.len() >= promised, "seed {seed}: {} of {promised} are there", read.len());
    seen.promised += promised as u64;
    seen.lost += (committed + in_flight - read.len()) as u64;
    disk.kill(appender);
}

#[test]
fn what_the_thread_that_syncs_made_durable_outlives_a_loss_of_power() {
    let mut seen = Seen::default();
    let histories = campaign(200);
    (0..histories).for_each(|seed| run(seed, &mut seen));
    println!("threads: {histories} histories, {seen:?}");
    assert!(seen.promised > 100 && seen.lost > 100, "{seen:?}");
    for thread in ["journal-sync", "journal-touch"] {
        assert!(seen.crashes.contains_key(thread), "{seen:?}");
    }
}
