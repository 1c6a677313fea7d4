//! Queries of the kernel: its clocks, and its judgement of the processor's counter.

use nanotape_host::{CLOCK_SOURCES, System};
use rustix::{
    process::{TimeStampCounterReadability, time_stamp_counter_readability},
    time::{ClockId, Timespec, clock_getres, clock_gettime},
};

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`: since boot, never slewed or stepped.
#[inline]
pub(crate) fn raw_nanos() -> i64 {
    nanos(clock_gettime(ClockId::MonotonicRaw))
}

/// Nanoseconds of `CLOCK_REALTIME`: since the UNIX epoch, slewed and stepped to follow UTC.
#[inline]
pub(crate) fn realtime_nanos() -> i64 {
    nanos(clock_gettime(ClockId::Realtime))
}

/// [`raw_nanos`] in steps of a timer tick, read without the processor's counter. It is slewed: the
/// kernel has no coarse clock that is not.
#[inline]
pub(crate) fn coarse_nanos() -> i64 {
    nanos(clock_gettime(ClockId::MonotonicCoarse))
}

/// [`realtime_nanos`] in steps of a timer tick, read without the processor's counter.
#[inline]
pub(crate) fn coarse_realtime_nanos() -> i64 {
    nanos(clock_gettime(ClockId::RealtimeCoarse))
}

/// The step of the coarse clocks.
pub(crate) fn coarse_step_nanos() -> i64 {
    nanos(clock_getres(ClockId::MonotonicCoarse))
}

#[inline]
fn nanos(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// Whether this thread may read the counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readability {
    Readable,
    /// A read would end the process with SIGSEGV.
    Forbidden,
    /// There is no answer: another architecture, or a filter of system calls.
    NotSaid,
}

/// Queries `PR_GET_TSC`. The answer holds for this thread and for threads that it starts later.
pub(crate) fn readability() -> Readability {
    match time_stamp_counter_readability() {
        Ok(TimeStampCounterReadability::Readable) => Readability::Readable,
        Ok(TimeStampCounterReadability::RaiseSIGSEGV) => Readability::Forbidden,
        Err(_) => Readability::NotSaid,
    }
}

/// The kernel's judgement of the counter after watching it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is among the sources that the kernel would use.
    Kept,
    /// It is not among them: the kernel found it unstable, or was configured to ignore it.
    ThrownOut,
    NotSaid,
}

/// Reads the list of available clock sources. A missing or empty list gives no verdict.
pub(crate) fn verdict(available: Option<&str>) -> Verdict {
    let mut names = available.unwrap_or_default().split_ascii_whitespace().peekable();
    if names.peek().is_none() {
        Verdict::NotSaid
    } else if names.any(|name| name == "tsc") {
        Verdict::Kept
    } else {
        Verdict::ThrownOut
    }
}

/// The list of clock sources, or `None` if it cannot be read.
pub(crate) fn available_sources() -> Option<String> {
    System::default().read(&format!("{CLOCK_SOURCES}/available_clocksource"))
}

/// The name of the clock source in use, or `None` if it cannot be read or is not a plain name.
pub(crate) fn current_source() -> Option<String> {
    plain_name(&System::default().read(&format!("{CLOCK_SOURCES}/current_clocksource"))?)
}

fn plain_name(text: &str) -> Option<String> {
    let name = text.trim();
    let plain = !name.is_empty() && name.len() <= 64 && name.bytes().all(|b| b.is_ascii_graphic());
    plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_the_counter_keeps_it() {
        assert_eq!(verdict(Some("tsc kvm-clock \n")), Verdict::Kept);
        assert_eq!(verdict(Some("hpet\ttsc")), Verdict::Kept);
        assert_eq!(verdict(Some("tsc")), Verdict::Kept);
    }

    #[test]
    fn a_list_without_the_counter_throws_it_out() {
        assert_eq!(verdict(Some("hpet acpi_pm \n")), Verdict::ThrownOut);
        // Longer names that contain it are other sources.
        assert_eq!(verdict(Some("tsc-early")), Verdict::ThrownOut);
        assert_eq!(verdict(Some("hyperv_clocksource_tsc_page")), Verdict::ThrownOut);
        assert_eq!(verdict(Some("TSC")), Verdict::ThrownOut);
        assert_eq!(verdict(Some("\u{fffd}\0")), Verdict::ThrownOut);
    }

    #[test]
    fn no_list_says_nothing() {
        assert_eq!(verdict(None), Verdict::NotSaid);
        assert_eq!(verdict(Some("")), Verdict::NotSaid);
        assert_eq!(verdict(Some(" \n\t")), Verdict::NotSaid);
    }

    #[test]
    fn only_a_plain_name_is_a_name() {
        assert_eq!(plain_name("tsc\n").as_deref(), Some("tsc"));
        assert_eq!(plain_name("kvm-clock").as_deref(), Some("kvm-clock"));
        assert_eq!(plain_name(""), None);
        assert_eq!(plain_name("two names"), None);
        assert_eq!(plain_name("\u{1b}[31m"), None);
        assert_eq!(plain_name(&"x".repeat(65)), None);
    }

    #[test]
    fn seconds_beyond_the_range_saturate() {
        assert_eq!(nanos(Timespec { tv_sec: 2, tv_nsec: 5 }), 2_000_000_005);
        assert_eq!(nanos(Timespec { tv_sec: i64::MAX, tv_nsec: 5 }), i64::MAX);
    }

    #[test]
    fn the_raw_clock_does_not_go_back() {
        let mut last = raw_nanos();
        for _ in 0..1_000 {
            let now = raw_nanos();
            assert!(now >= last);
            last = now;
        }
        assert!(coarse_step_nanos() > 0);
    }
}
