//! Tests of the clock with each possible source. Upper bounds of a time are only asserted between
//! readings, because machines are interrupted.

use nanotape_harness::skipped;
use rustix::process::{TimeStampCounterReadability, set_time_stamp_counter_readability};

use super::*;
use crate::kernel;

fn both() -> [Clock; 2] {
    [Clock::calibrate(), Clock::monotonic()]
}

/// Runs a closure in a thread that may not read the counter. The finer clocks of the kernel are
/// forbidden with it, so the closure must not read those either.
fn where_the_counter_is_forbidden<T: Send>(run: impl FnOnce() -> T + Send) -> Option<T> {
    let in_thread = || {
        set_time_stamp_counter_readability(TimeStampCounterReadability::RaiseSIGSEGV).ok()?;
        let result = run();
        set_time_stamp_counter_readability(TimeStampCounterReadability::Readable).ok()?;
        Some(result)
    };
    std::thread::scope(|scope| scope.spawn(in_thread).join().ok().flatten())
}

#[test]
fn stamps_do_not_go_back_and_agree_with_the_monotonic_clock() {
    for clock in both() {
        let (wall, from) = (kernel::raw_nanos(), clock.stamp());
        let mut last = from;
        while kernel::raw_nanos() < wall + 30_000_000 {
            for now in [clock.stamp_start(), clock.stamp()] {
                assert!(now >= last);
                last = now;
            }
        }
        // A lower bound only: an interruption lengthens both times, and never shortens them.
        let nanos = clock.nanos_between(from, clock.stamp());
        assert!(nanos > 29_000_000, "{nanos} ns for at least 30 ms");
        assert!(clock.cost_nanos() > 0.0);
        assert_eq!(clock.nanos_between(clock.stamp(), from), 0);
    }
}

#[test]
fn the_source_has_a_reason_that_fits_it() {
    let clock = Clock::calibrate();
    let vouched = matches!(clock.why(), Reason::KernelKeepsCounter | Reason::ProcessorVouches);
    assert_eq!(clock.source() == Source::TimeStampCounter, vouched, "{:?}", clock.why());
    let clock = Clock::monotonic();
    assert_eq!((clock.source(), clock.why()), (Source::Monotonic, Reason::Requested));
}

#[test]
fn a_forbidden_counter_is_not_read() {
    let Some((chosen, requested, nanos)) = where_the_counter_is_forbidden(|| {
        let (chosen, requested) = (Clock::calibrate(), Clock::monotonic());
        let from = chosen.stamp();
        std::thread::sleep(Duration::from_millis(30));
        (chosen, requested, chosen.nanos_between(from, chosen.stamp()))
    }) else {
        skipped("this kernel cannot forbid the counter");
        return;
    };
    for clock in [chosen, requested] {
        assert_eq!((clock.source(), clock.why()), (Source::Coarse, Reason::Forbidden));
        assert!(clock.cost_nanos() > 0.0);
        assert!(clock.resolution_nanos() >= 1.0);
    }
    // A coarse clock is one step short at most, and more where the ticks of the machine come late.
    let step = chosen.resolution_nanos() as u64;
    assert!(nanos + 4 * step >= 29_000_000, "{nanos} ns, steps of {step} ns");
}

#[test]
fn the_rate_is_measured_over_the_requested_time() {
    let clock = Clock::calibrate_for(Duration::from_millis(20));
    let rate = clock.rate();
    assert!(rate.ticks_per_second > 0.0);
    if clock.source() == Source::TimeStampCounter {
        // The clock of the sleep may be slewed by up to 500 parts per million.
        assert!(rate.interval_nanos > 19_900_000, "{rate}");
        assert!(rate.uncertainty_ppb > 0.0);
    }
    let longer = clock.recalibrated().rate();
    assert!(longer.interval_nanos >= rate.interval_nanos);
    let fixed = Clock::monotonic();
    assert_eq!(fixed.rate().ticks_per_second, 1e9);
    assert_eq!(fixed.recalibrated().rate(), fixed.rate());
}

#[test]
fn no_comparison_is_shorter_than_a_millisecond() {
    let clock = Clock::calibrate_for(Duration::ZERO);
    if clock.source() == Source::TimeStampCounter {
        assert!(clock.rate().interval_nanos > 900_000);
    }
}

#[test]
fn stamps_are_worth_the_utc_they_were_made_at() {
    for clock in both() {
        let slack = 50_000 + clock.report().anchor_bound_nanos as i64;
        for _ in 0..100 {
            let before = kernel::realtime_nanos();
            let stamp = clock.stamp();
            let after = kernel::realtime_nanos();
            let utc = clock.utc(stamp).get();
            assert!(utc >= before - slack, "{} ns early", before - utc);
            assert!(utc <= after + slack, "{} ns late", utc - after);
        }
    }
}

#[test]
fn utc_is_continued_in_both_directions() {
    for clock in both() {
        let (early, late) = (clock.stamp(), clock.stamp());
        let apart = clock.utc(late).since(clock.utc(early));
        assert!(apart.unsigned_abs().abs_diff(clock.nanos_between(early, late)) <= 1);
        // Tick 0 is before the anchor.
        assert!(clock.utc(Stamp::from_ticks(0)) < clock.utc(early));
        assert_eq!(Stamp::from_ticks(early.ticks()), early);
    }
}

#[test]
fn a_fresh_clock_drifts_no_further_than_its_uncertainty() {
    for clock in both() {
        let drift = clock.drift();
        assert!(drift.is_explained(), "{drift}");
        assert!(drift.within(1e9));
        assert!(drift.bound_nanos >= 1);
    }
}

#[test]
fn a_clock_anchored_anew_keeps_its_rate() {
    let clock = Clock::calibrate();
    let anew = clock.re_anchored();
    assert_eq!(anew.rate(), clock.rate());
    assert_eq!(anew.costs(), clock.costs());
    assert!(anew.report().anchor_utc.since(clock.report().anchor_utc) > -1_000_000_000);
}

#[test]
fn costs_and_resolution_are_of_a_real_clock() {
    let clock = Clock::calibrate();
    let costs = clock.costs();
    assert!(costs.start_nanos > 0.0 && costs.unfenced_nanos > 0.0, "{costs}");
    assert_eq!(clock.cost_nanos(), costs.end_nanos);
    assert!(clock.resolution_nanos() > 0.0);
}

#[test]
fn a_clock_is_plain_values() {
    fn is_plain<T: Copy + Send + Sync + 'static>(_: &T) {}
    is_plain(&Clock::monotonic());
    // Four cache lines.
    assert!(size_of::<Clock>() <= 256, "{}", size_of::<Clock>());
}
