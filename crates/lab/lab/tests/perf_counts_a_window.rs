//! perf, attached to this test, counts only between `enable` and `disable`.
//!
//! In a separate file: page faults of other tests would count too.

use std::{fs, hint::black_box};

use nanotape_harness::{Scratch, skipped};
use nanotape_lab::perf_program::{Findings, Mode, PerfProgram, PerfUnavailable};

const PAGE: usize = 4096;

/// Touches this many pages for the first time. As long as the caller keeps the bytes, the pages are
/// not reused, so that each touch is a page fault.
#[must_use]
fn touch(pages: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; pages * PAGE];
    for page in bytes.chunks_mut(PAGE) {
        page[0] = 1;
    }
    black_box(bytes)
}

/// With huge pages one fault brings in many pages, so only the upper bound holds.
fn pages_are_small() -> bool {
    fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .map_or(true, |text| !text.contains("[always]"))
}

/// The number before an event's name.
fn count_of(text: &str, event: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains(event))?;
    line.split_whitespace().next()?.replace(',', "").parse().ok()
}

fn cannot_run(error: &PerfUnavailable) -> bool {
    let skip = matches!(error, PerfUnavailable::Missing | PerfUnavailable::Refused { .. });
    if skip {
        skipped(error);
    }
    skip
}

#[test]
fn only_the_enabled_window_is_counted_and_sampled() {
    let mut perf = match PerfProgram::attach(Mode::Stat, &["task-clock", "page-faults"]) {
        Ok(perf) => perf,
        Err(error) if cannot_run(&error) => return,
        Err(error) => panic!("{error}"),
    };
    let mut kept = vec![touch(8_000)];
    perf.enable().expect("enabled");
    kept.push(touch(2_000));
    perf.disable().expect("disabled");
    kept.push(touch(8_000));
    perf.enable().expect("enabled again");
    kept.push(touch(1_000));
    perf.disable().expect("disabled again");
    kept.push(touch(8_000));
    let Findings::Counts(text) = perf.finish().expect("counts") else { panic!("not counts") };
    println!("{text}");
    let faults = count_of(&text, "page-faults").expect("the event is there");
    assert!(faults < 5_000.0, "{faults} faults in windows of 3000\n{text}");
    if pages_are_small() {
        assert!(faults >= 3_000.0, "{faults} faults in windows of 3000\n{text}");
    }

    let directory = Scratch::folder("perf");
    let output = directory.join("perf.data");
    let mode = Mode::Record { output: output.clone() };
    let mut perf = PerfProgram::attach(mode, &["cpu-clock"]).expect("perf was there before");
    perf.enable().expect("enabled");
    kept.push(touch(20_000));
    perf.disable().expect("disabled");
    assert_eq!(perf.finish().expect("samples"), Findings::Samples(output.clone()));
    let bytes = fs::read(&output).expect("the samples can be read");
    assert!(bytes.starts_with(b"PERFILE2"));
}

#[test]
fn an_event_that_does_not_exist_is_refused_in_the_words_of_perf() {
    match PerfProgram::attach(Mode::Stat, &["no-such-event"]) {
        Err(PerfUnavailable::Missing) => skipped("no perf"),
        Err(PerfUnavailable::Refused { said, .. }) => assert_ne!(said, "nothing"),
        other => panic!("not refused: {other:?}"),
    }
}
