//! A slow disk costs events, and no call waits longer for it than the program's patience.
//!
//! The disk here makes no file until the test allows it: a call that waits for it never returns,
//! and the test gives up after a minute.

use std::{sync::mpsc, time::Duration};

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_logging::{Formatter, Level, Logger, log_options};

use crate::{disk::FullDisk, lines::log_lines};

/// More than the segments that exist when the disk stops can hold: at most three.
const EVENTS: u64 = 10_000;

/// Segments of 64 KiB, and one ahead of need, which a pretoucher makes.
fn options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        has_pretoucher: true,
        ahead_bytes: 0,
        ..log_options()
    }
}

/// Runs a function that must return while the disk is stopped; then the disk continues in any case.
fn without_the_disk<T: Send>(disk: &FullDisk, run: impl FnOnce() -> T + Send) -> Option<T> {
    disk.set_held(true);
    std::thread::scope(|scope| {
        let (done, outcome) = mpsc::channel();
        scope.spawn(move || done.send(run()));
        let outcome = outcome.recv_timeout(Duration::from_secs(60)).ok();
        disk.set_held(false);
        outcome
    })
}

/// The numbers of events written and lost, by the lines. Every number is written or lost, in order.
fn accounted(lines: &[String]) -> (u64, u64) {
    let (mut events, mut lost, mut next) = (0, 0, 0_u64);
    for line in &lines[1..] {
        if let Some(said) = line.strip_prefix("WARN nanotape_logging: ") {
            let (count, reason) = said.split_once(" lost from 20").unwrap();
            assert!(reason.contains("the next segment is not ready after "), "{line}");
            let count: u64 = count.parse().unwrap();
            (lost, next) = (lost + count, next + count);
        } else {
            assert_eq!(line.strip_prefix("INFO t: "), Some(next.to_string().as_str()));
            (events, next) = (events + 1, next + 1);
        }
    }
    (events, lost)
}

#[test]
fn a_call_does_not_wait_for_a_disk_that_makes_no_segment() {
    for patience in [Duration::ZERO, Duration::from_millis(20)] {
        let place = Scratch::new("slow");
        let disk = FullDisk::new(place.path());
        let logger = Logger::new(Appender::open_on(disk.clone(), &options()).unwrap());
        let logger = logger.with_patience(patience);
        let mut logged = 0_u64;
        let mut log = || {
            logger.text(Level::Info, "t", format_args!("{logged}"));
            logged += 1;
        };
        for _ in 0..2 {
            // More than any existing segment holds.
            let before = logger.lost();
            let returned = without_the_disk(&disk, || (0..EVENTS).for_each(|_| log()));
            assert!(returned.is_some(), "a call that logs waits for the disk");
            assert!(logger.lost() > before);
            let before = logger.lost();
            let mut tries = 0;
            while logger.lost() == before + tries {
                log();
                tries += 1;
            }
        }
        let lost = logger.lost();
        let (events, reported) = accounted(&log_lines(&place, &mut Formatter::new()));
        assert_eq!((reported, events + reported), (lost, logged));
    }
}

#[test]
fn the_last_words_of_a_loss_wait_for_no_disk_either() {
    let place = Scratch::new("words");
    let disk = FullDisk::new(place.path());
    let logger = Logger::new(Appender::open_on(disk.clone(), &options()).unwrap());
    let logger = logger.with_patience(Duration::ZERO);
    let returned = without_the_disk(&disk, || {
        (0..EVENTS).for_each(|_| logger.text(Level::Info, "t", format_args!("x")));
        logger.flush();
    });
    assert!(returned.is_some(), "to flush waits for the disk");
}

#[test]
fn a_full_disk_is_the_reason_although_a_pretoucher_found_it() {
    let place = Scratch::new("full-pretoucher");
    let disk = FullDisk::new(place.path());
    let logger = Logger::new(Appender::open_on(disk.clone(), &options()).unwrap());
    disk.set_full(true);
    (0..EVENTS).for_each(|_| logger.text(Level::Info, "t", format_args!("x")));
    assert!(logger.lost() > 0);
    disk.set_full(false);
    // The pretoucher tries again on request, not only when its pause ends.
    let before = logger.lost();
    let mut tries = 0;
    while logger.lost() == before + tries {
        logger.text(Level::Info, "t", format_args!("again"));
        tries += 1;
    }
    let lines = log_lines(&place, &mut Formatter::new());
    let reported = lines.iter().find(|line| line.contains(" lost from ")).unwrap();
    assert!(reported.contains("no space: the next segment needs 65536 bytes"), "{reported}");
}
