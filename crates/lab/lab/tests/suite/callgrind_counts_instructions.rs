//! Counts under valgrind: always the same, and only of the region.
//!
//! The counted program is this test itself, started again with a variable that selects the work of
//! its test `subject`. `--nocapture` shows the counts.

use std::{env, hint::black_box, process, time::Duration};

use nanotape_lab::callgrind::{
    CallgrindError, Request, count_instructions, counted_region, valgrind_version,
};

use nanotape_harness::skipped;

/// The kind and the amount of work: `once 1000`.
const SUBJECT: &str = "NANOTAPE_LAB_CALLGRIND_SUBJECT";

/// A chain of operations that the optimiser cannot shorten.
#[inline(never)]
fn mix(steps: u64) -> u64 {
    let mut state = black_box(1_u64);
    for step in 0..steps {
        state = black_box(state.rotate_left(7) ^ step);
    }
    state
}

/// Nested regions, `depth` levels deep.
fn nested(depth: u64, steps: u64) -> u64 {
    counted_region(|| match depth {
        0 => mix(steps),
        _ => nested(depth - 1, steps) ^ mix(steps),
    })
}

/// Under valgrind this is the whole program; without the variable it does nothing.
#[test]
fn subject() {
    let Ok(text) = env::var(SUBJECT) else { return };
    let (kind, steps) = text.split_once(' ').expect("a kind and a size");
    let steps: u64 = steps.parse().expect("a size");
    // Outside of a region on both sides: this must not count.
    black_box(mix(50_000));
    black_box(match kind {
        "never" => mix(steps),
        "empty" => counted_region(|| 0),
        "once" => counted_region(|| mix(steps)),
        "twice" => counted_region(|| mix(steps)) ^ counted_region(|| mix(steps)),
        "other_type" => u64::from(counted_region(|| (mix(steps) & 1) as u32)),
        "nested" => nested(3, steps),
        "allocating" => {
            counted_region(|| (0..steps).map(|n| black_box(n.to_string()).len() as u64).sum())
        }
        _ => process::exit(3),
    });
    black_box(mix(50_000));
}

fn request(kind: &str, size: u64) -> Request {
    let mut request = Request::new(env::current_exe().expect("a test has a path"));
    request.arguments =
        ["--exact", "callgrind_counts_instructions::subject"].map(Into::into).to_vec();
    request.variables = vec![(SUBJECT.into(), format!("{kind} {size}").into())];
    request.limit = Duration::from_secs(300);
    request
}

fn count(kind: &str, size: u64) -> u64 {
    let counted = count_instructions(&request(kind, size)).expect("counted");
    assert!(counted.valgrind.starts_with("valgrind-"));
    assert!(counted.command.contains("--toggle-collect=nanotape_lab::callgrind::"));
    println!("{kind} {size}: {} instructions, {}", counted.count, counted.valgrind);
    counted.count
}

/// Prints a warning, because a passed test that counted nothing would mislead.
fn is_missing() -> bool {
    let missing = matches!(valgrind_version(), Err(CallgrindError::Missing));
    if missing {
        skipped(CallgrindError::Missing);
    }
    missing
}

#[test]
fn counting_twice_gives_the_same_number_and_more_work_more() {
    if is_missing() {
        return;
    }
    let (one, again) = (count("once", 1_000), count("once", 1_000));
    assert_eq!(one, again);
    let (double, triple) = (count("once", 2_000), count("once", 3_000));
    assert_eq!(double - one, triple - double, "each step costs the same");
    assert!((1_000..=40_000).contains(&(double - one)), "{one} {double}");
    // The work outside of the region is a hundred times as much.
    assert!(one < 2 * (double - one), "{one} {double}");
    assert_eq!(count("allocating", 500), count("allocating", 500));
}

#[test]
fn regions_add_up_and_do_not_turn_each_other_off() {
    if is_missing() {
        return;
    }
    let (empty, once) = (count("empty", 0), count("once", 5_000));
    assert!(empty < 100, "the region itself costs {empty} instructions");
    let close = |counted: u64, times: u64| counted.abs_diff(times * once) < 400;
    let (twice, other, nested) =
        (count("twice", 5_000), count("other_type", 5_000), count("nested", 5_000));
    assert!(close(twice, 2), "{twice} for two of {once}");
    assert!(close(other, 1), "{other} for one of {once}");
    assert!(close(nested, 4), "{nested} for four of {once}");
}

#[test]
fn what_cannot_be_counted_has_a_reason() {
    if is_missing() {
        return;
    }
    let never = count_instructions(&request("never", 10));
    assert!(matches!(never, Err(CallgrindError::NothingCounted { .. })), "{never:?}");
    match count_instructions(&request("unknown", 10)) {
        Err(CallgrindError::Failed { status, .. }) => assert!(status.contains('3'), "{status}"),
        other => panic!("it failed: {other:?}"),
    }
    match count_instructions(&Request::new("/does/not/exist")) {
        Err(CallgrindError::Failed { said, .. }) => {
            assert!(said.contains("/does/not/exist"), "{said}");
        }
        other => panic!("there is no program: {other:?}"),
    }
    let long = Request { limit: Duration::ZERO, ..request("once", 1_000_000_000) };
    let error = count_instructions(&long);
    assert!(matches!(error, Err(CallgrindError::TooLong { .. })), "{error:?}");
}
