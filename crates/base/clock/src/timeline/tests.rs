//! Times stay in order with old stamps, new calibrations, a clock that is set, and a lock between
//! threads.

use std::sync::{Barrier, Mutex};

use super::*;

const SECOND_NS: u64 = 1_000_000_000;

fn both() -> [Clock; 2] {
    [Clock::calibrate(), Clock::monotonic()]
}

#[test]
fn a_stamp_that_is_older_than_the_last_one_gets_its_time() {
    for clock in both() {
        let mut timeline = Timeline::new(clock);
        let older = clock.stamp();
        let newer = Stamp::from_ticks(older.ticks() + 1_000);
        let last = timeline.at(newer);
        assert_eq!(timeline.at(older), last, "an older stamp");
        assert!(timeline.at(Stamp::from_ticks(newer.ticks() + 1_000)) > last, "a newer stamp");
        assert_eq!(timeline.set_back_ns(), 0);
    }
}

#[test]
fn times_do_not_go_back_over_a_new_calibration() {
    for clock in both() {
        for set_by in [-1, -48_000, -30_000_000, -(SET_BACK_NS as i64) / 2] {
            let mut timeline = Timeline::new(clock);
            let first = timeline.now_ns();
            timeline.follow(clock.with_utc_set_by(set_by));
            let mut last = first;
            for _ in 0..1_000 {
                let now = timeline.now_ns();
                assert!(now >= last, "{} ns back, set by {set_by} ns", last - now);
                last = now;
            }
            assert_eq!(timeline.set_back_ns(), 0, "set by {set_by} ns");
            // The clock catches up.
            let later = clock.stamp().ticks() + 2 * clock.rate().ticks_per_second as u64;
            assert!(timeline.at(Stamp::from_ticks(later)) > last);
        }
    }
}

#[test]
fn a_clock_that_was_set_back_by_more_than_a_second_is_followed_and_the_step_is_reported() {
    for clock in both() {
        let mut timeline = Timeline::new(clock);
        let before = timeline.now_ns();
        timeline.follow(clock.with_utc_set_by(-3_600 * SECOND_NS as i64));
        let after = timeline.now_ns();
        let step = timeline.set_back_ns();
        assert!(before - after <= 3_600 * SECOND_NS, "{before} {after}");
        assert!(before - after > 3_500 * SECOND_NS, "{before} {after}");
        assert!(step > 3_500 * SECOND_NS && step <= 3_600 * SECOND_NS, "{step}");
        timeline.forget_set_back();
        assert_eq!(timeline.set_back_ns(), 0, "it is reported once");
        assert!(timeline.now_ns() >= after, "from there on times do not go back again");
    }
}

#[test]
fn a_clock_that_was_set_forwards_is_followed() {
    let clock = Clock::monotonic();
    let mut timeline = Timeline::new(clock);
    let before = timeline.now_ns();
    timeline.follow(clock.with_utc_set_by(3_600 * SECOND_NS as i64));
    assert!(timeline.now_ns() - before >= 3_600 * SECOND_NS);
    assert_eq!(timeline.set_back_ns(), 0);
}

#[test]
fn the_first_reading_and_one_a_minute_calibrate() {
    let clock = Clock::monotonic();
    let mut timeline = Timeline::recalibrating(clock.with_utc_set_by(3_600 * SECOND_NS as i64));
    let first = timeline.now_ns();
    let real = clock.re_anchored();
    let real_ns = real.utc(real.stamp()).get() as u64;
    assert!(first < real_ns + 1_800 * SECOND_NS, "the first reading takes the kernel's UTC");
    timeline.follow(clock.with_utc_set_by(3_600 * SECOND_NS as i64));
    let stamp = clock.stamp();
    assert!(timeline.at(stamp) > real_ns + 1_800 * SECOND_NS, "the second one does not");
    let minute = 61 * clock.rate().ticks_per_second as u64;
    let third = timeline.at(Stamp::from_ticks(stamp.ticks() + minute));
    assert!(third < real_ns + 1_800 * SECOND_NS, "a minute later one does");
    assert!(timeline.set_back_ns() > 3_000 * SECOND_NS);
}

/// What each thread reads under the lock.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Reading {
    Unfenced,
    Fenced,
    Timeline,
}

/// Two threads take a lock often and compare their reading with that of its last holder. Returns
/// how often the holder changed, and how often the reading went back.
fn steps_back_behind_a_lock(clock: Clock, reading: Reading) -> (u64, u64) {
    const ROUNDS: u32 = 300_000;
    struct Held {
        timeline: Timeline,
        last: u64,
        holder: u32,
        changes: u64,
        steps_back: u64,
    }
    let timeline = Timeline::new(clock);
    let held = Mutex::new(Held { timeline, last: 0, holder: 0, changes: 0, steps_back: 0 });
    let both_run = Barrier::new(2);
    std::thread::scope(|scope| {
        for number in 1..3 {
            let (held, both_run) = (&held, &both_run);
            scope.spawn(move || {
                both_run.wait();
                for round in 0..ROUNDS {
                    let mut held = held.lock().unwrap();
                    let now = match reading {
                        Reading::Unfenced => clock.stamp_unfenced().ticks(),
                        Reading::Fenced => clock.stamp().ticks(),
                        Reading::Timeline => held.timeline.now_ns(),
                    };
                    held.steps_back += u64::from(now < held.last);
                    held.changes += u64::from(held.holder != number);
                    (held.last, held.holder) = (now, number);
                    drop(held);
                    // The length varies, so that the lock is often free and in the other core's
                    // cache.
                    (0..1 + round % 8).for_each(|_| core::hint::spin_loop());
                }
            });
        }
    });
    let held = held.into_inner().unwrap();
    (held.changes, held.steps_back)
}

/// Unfenced stamps go back thousands of times on a processor that reads the counter before it holds
/// the lock, if the threads have two processors. The number depends on the machine and is only
/// printed. The other two readings must never go back.
#[test]
fn no_time_goes_back_behind_a_lock_and_no_fenced_stamp_does() {
    let clock = Clock::calibrate();
    for reading in [Reading::Unfenced, Reading::Fenced, Reading::Timeline] {
        let (changes, steps_back) = steps_back_behind_a_lock(clock, reading);
        println!("{reading:?}: {steps_back} steps back, {changes} changes of the lock's holder");
        assert!(reading == Reading::Unfenced || steps_back == 0, "{reading:?}: {steps_back}");
    }
}
