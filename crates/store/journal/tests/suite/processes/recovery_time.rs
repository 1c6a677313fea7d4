//! Measures the recovery time per gigabyte: campaigns print it, and a small journal is always
//! checked.

use std::{fs::File, os::unix::fs::FileExt as _};

use nanotape_clock::Clock;
use nanotape_harness::{Scratch, campaign};
use nanotape_journal::{Appender, AppenderOptions, FIELDS, RollCycle};

/// The offset of a header field.
fn offset_of(name: &str) -> u64 {
    FIELDS.iter().find(|field| field.2 == name).unwrap().0 as u64
}

#[test]
fn a_journal_of_another_boot_is_read_once_and_not_again() {
    let place = Scratch::on_disk("recovery-time");
    let bytes = if campaign(1) > 1 { 1_u64 << 30 } else { 8 << 20 };
    let options = AppenderOptions {
        segment_bytes: (bytes / 8).min(64 << 20),
        roll_cycle: RollCycle::Size,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    let payload = [7; 232];
    let count = bytes / 256;
    for sequence in 0..count {
        appender.append(1, sequence, &payload).unwrap();
    }
    appender.close().unwrap();
    // As after a loss of power that lost nothing.
    for entry in std::fs::read_dir(place.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "segment") {
            let file = File::options().write(true).open(path).unwrap();
            file.write_all_at(&[0x55; 8], offset_of("boot")).unwrap();
            file.write_all_at(&[0; 8], offset_of("sealed")).unwrap();
        }
    }
    let clock = Clock::monotonic();
    for (what, least) in [("of another boot", bytes / 2), ("of this boot", 0)] {
        let begin = clock.utc(clock.stamp()).get();
        let appender = Appender::open(place.path(), &options).unwrap();
        let ns = clock.utc(clock.stamp()).get() - begin;
        assert_eq!(appender.next_sequence(), count + 1);
        let checked = appender.recovery().bytes_checked;
        assert!(checked >= least && (least > 0 || checked < 1 << 20), "{what}: {checked}");
        println!(
            "{what}: {checked} bytes checked in {:.3} ms, {:.3} s for each GB",
            ns as f64 / 1e6,
            ns as f64 / checked.max(1) as f64
        );
    }
}
