//! A full disk costs events, never the program: losses are counted, and reported when there is room
//! again.

use std::time::Duration;

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, SyncPolicy};
use nanotape_logging::{Formatter, Level, Logger, log_options};
use tracing::{info, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::{disk::FullDisk, lines::log_lines};

/// Segments of 64 KiB, and none ahead of need.
fn options() -> AppenderOptions {
    AppenderOptions { segment_bytes: 1 << 16, has_pretoucher: false, ..log_options() }
}

#[test]
fn events_that_a_full_disk_lost_are_counted_and_reported_when_there_is_room() {
    let place = Scratch::new("full");
    let disk = FullDisk::new(place.path());
    let logger = Logger::new(Appender::open_on(disk.clone(), &options()).unwrap());
    let subscriber = tracing_subscriber::registry().with(logger.layer());
    let mut logged = 0_u64;
    tracing::subscriber::with_default(subscriber, || {
        let _span = info_span!("outer").entered();
        let mut log = || {
            info!(target: "t", logged, "event");
            logged += 1;
        };
        for _ in 0..2 {
            disk.set_full(true);
            let before = logger.lost();
            while logger.lost() < before + 1_000 {
                log();
            }
            disk.set_full(false);
            // The logger tries the journal again a moment after a failure.
            let before = logger.lost();
            let mut tries = 0_u64;
            while logger.lost() == before + tries {
                log();
                tries += 1;
            }
        }
    });
    let lost = logger.lost();
    assert!(disk.refused() > 0);
    let lines = log_lines(&place, &mut Formatter::new());
    let (mut reported, mut events, mut next) = (0, 0, 0);
    for line in &lines[1..] {
        if let Some(said) = line.strip_prefix("WARN nanotape_logging: ") {
            let (count, reason) = said.split_once(" lost from 20").unwrap();
            let count: u64 = count.parse().unwrap();
            assert!(reason.contains("no space: the next segment needs 65536 bytes"), "{line}");
            reported += count;
            next += count;
        } else {
            let number = line.strip_prefix("INFO outer: t: event logged=");
            assert_eq!(
                number.unwrap_or(line).parse(),
                Ok(next),
                "a loss is reported at its position"
            );
            events += 1;
            next += 1;
        }
    }
    assert_eq!((reported, events + lost), (lost, logged));
    assert_eq!(lines.iter().filter(|line| line.contains("lost from")).count(), 2);
}

#[test]
fn losses_at_the_end_are_reported_when_the_logger_is_flushed_or_dropped() {
    for is_flushed in [false, true] {
        let place = Scratch::new("dropped");
        let disk = FullDisk::new(place.path());
        let logger = Logger::new(Appender::open_on(disk.clone(), &options()).unwrap());
        disk.set_full(true);
        let text = "x".repeat(20_000);
        while logger.lost() < 3 {
            logger.text(Level::Info, "t", format_args!("{text}"));
        }
        // There is always room for short excerpts.
        logger.flush();
        disk.set_full(false);
        if !is_flushed {
            logger.text(Level::Info, "t", format_args!("short"));
        }
        drop(logger);
        let lines = log_lines(&place, &mut Formatter::new());
        let reported = lines.iter().filter(|line| line.contains(": 3 lost from ")).count();
        assert_eq!(reported, 1, "{} lines", lines.len());
    }
}

#[test]
fn a_sync_that_fails_loses_no_event() {
    let place = Scratch::new("broken");
    let disk = FullDisk::new(place.path());
    let sync = SyncPolicy::Every(Duration::from_millis(1));
    // One segment ahead: with many to prepare, the pretoucher would sync late.
    let options = AppenderOptions { sync, has_pretoucher: true, ahead_bytes: 0, ..options() };
    let logger = Logger::new(Appender::open_on(disk.clone(), &options).unwrap());
    let logger = logger.with_patience(Duration::from_secs(600));
    disk.set_broken(true);
    let mut logged = 0;
    // Once a third sync failed, the appender has reported the second.
    while disk.refused() < 3 {
        logger.text(Level::Info, "t", format_args!("{logged}"));
        logged += 1;
    }
    assert!(logger.sync().is_err());
    disk.set_broken(false);
    logger.sync().unwrap();
    assert_eq!(logger.lost(), 0);
    let lines = log_lines(&place, &mut Formatter::new()).split_off(1);
    assert_eq!(lines.len(), logged);
    assert!(lines.iter().enumerate().all(|(count, line)| *line == format!("INFO t: {count}")));
}

#[test]
fn a_logger_that_opens_a_journal_on_a_full_disk_says_so() {
    let place = Scratch::new("none");
    let disk = FullDisk::new(place.path());
    disk.set_full(true);
    let error = Appender::open_on(disk, &options()).unwrap_err();
    assert!(error.to_string().contains("no space"), "{error}");
}
