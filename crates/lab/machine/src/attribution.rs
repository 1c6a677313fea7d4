//! Finds the cause of a slow moment of the calling thread from the kernel's accounts of it.
//!
//! A program with a loop of its own, such as a plant, opens an [`Attributor`] on its thread, marks
//! the accounts now and then, and again after a slow moment:
//!
//! ```
//! use nanotape_clock::Clock;
//! use nanotape_machine::{Gap, Attributor};
//!
//! let clock = Clock::calibrate();
//! let mut attributor = Attributor::open(&clock);
//! let from = clock.stamp_start();
//! // ... one message ...
//! let slow = Gap { from, to: clock.stamp() };
//! if slow.nanos(&clock) > 5_000 {
//!     let found = attributor.attribute(&slow);
//!     println!("{}: {:?}", found.cause, found.used);
//! }
//! ```
//!
//! The accounts cover the time since the last mark. The shorter that time, the less can a slow
//! moment be confused with another one: `attribute` marks, and a program marks after it printed or
//! slept, and whenever the thread has nothing to do. Time off the processor that is much longer
//! than the slow moment was at another moment, and explains nothing.

use nanotape_clock::Clock;
use nanotape_host::Ticks;
use nanotape_trace::accounts::{Accounts, Counts, ThreadUse};

use crate::{cause::Cause, gaps::Gap};

/// The accounts of the thread that opened it.
#[derive(Debug)]
pub struct Attributor {
    clock: Clock,
    accounts: Accounts,
    marked: Counts,
}

/// The cause of a slow moment, and what it was found from.
#[derive(Clone, PartialEq, Debug)]
pub struct Attribution {
    /// The cause.
    pub cause: Cause,
    /// What happened to the thread since the last mark.
    pub used: ThreadUse,
}

impl Attribution {
    /// The cause of one of several moments since the mark, which were attributed as one of their
    /// whole length: that of all of them, or the one that explains this one alone.
    pub fn cause_of_part(&self, nanos: u64) -> Cause {
        match &self.cause {
            Cause::Unexplained => cause_in(nanos, &self.used),
            cause => cause.clone(),
        }
    }
}

/// One source of causes, and why it is not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rung {
    /// Its name.
    pub name: &'static str,
    /// The reason why it is not used; `None` if it is.
    pub unused: Option<String>,
}

impl Rung {
    /// One that is used.
    pub(crate) fn used(name: &'static str) -> Self {
        Self { name, unused: None }
    }

    /// One that is not.
    pub(crate) fn unused(name: &'static str, why: impl Into<String>) -> Self {
        Self { name, unused: Some(why.into()) }
    }
}

impl Attributor {
    /// Opens the accounts of the calling thread, and marks them.
    pub fn open(clock: &Clock) -> Self {
        let accounts = Accounts::open();
        let marked = accounts.read(clock, None);
        Self { clock: *clock, accounts, marked }
    }

    /// Leaves out what happened so far.
    pub fn mark(&mut self) {
        self.marked = self.accounts.read(&self.clock, Some(&self.marked));
    }

    /// The cause of a slow moment that has just ended, as far as the accounts show; marks them.
    /// Costs about a microsecond, and several after another thread had the caches (`lab bench
    /// gaps`). Allocates nothing.
    pub fn attribute(&mut self, slow: &Gap) -> Attribution {
        self.attribute_since(self.marked, slow)
    }

    /// The last mark.
    pub(crate) fn marked(&self) -> Counts {
        self.marked
    }

    /// As [`attribute`](Self::attribute), from an older mark on.
    pub(crate) fn attribute_since(&mut self, marked: Counts, slow: &Gap) -> Attribution {
        let now = self.accounts.read(&self.clock, Some(&self.marked));
        let used = now.since(&marked, &self.clock);
        self.marked = now;
        Attribution { cause: cause_in(slow.nanos(&self.clock), &used), used }
    }

    /// The accounts that are used, and those that this kernel does not have.
    pub fn rungs(&self) -> Vec<Rung> {
        let queue = match self.accounts.has_queue() {
            true => Rung::used("time in the queue"),
            false => Rung::unused("time in the queue", "this kernel does not count it"),
        };
        let throttling = match self.accounts.throttling() {
            Ok(()) => Rung::used("throttling by control groups"),
            Err(why) => Rung::unused("throttling by control groups", why),
        };
        let [faults, switches] = ["page faults", "context switches"].map(Rung::used);
        vec![faults, switches, queue, throttling, stolen_time()]
    }
}

/// Stolen time is what remains of a thread that was not switched out. Where the kernel counts the
/// time of interrupts apart, it remains too.
fn stolen_time() -> Rung {
    const NAME: &str = "stolen time";
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    match Ticks::of(&stat, None) {
        None | Some(Ticks { interrupts: 0, .. }) => Rung::used(NAME),
        Some(_) => Rung::unused(NAME, "this kernel counts the time of interrupts the same way"),
    }
}

/// The accounts are read some moments after a slow moment has ended.
const READING_NS: u64 = 1_000;

/// A move to another processor takes some tens of microseconds. A thread that waited longer, and
/// goes on elsewhere, waited for the thread that had its processor.
const MOVE_NS: u64 = 500_000;

/// The cause that explains at least half of a slow moment of `slow_ns`.
pub(crate) fn cause_in(slow_ns: u64, used: &ThreadUse) -> Cause {
    let off_ns = used.elapsed_ns.saturating_sub(used.run_ns);
    let half_ns = slow_ns.div_ceil(2);
    let was_off =
        (half_ns..=slow_ns.saturating_mul(2).saturating_add(READING_NS)).contains(&off_ns);
    let waited_ns = used.waited_ns.unwrap_or(0).min(off_ns);
    let was_switched = used.voluntary_switches + used.involuntary_switches > 0;
    if used.major_faults > 0 && was_off {
        return Cause::MajorFault;
    }
    if was_off {
        // Time that several processors of a group were without is more than that of the thread.
        if used.throttled_ns.is_some_and(|throttled_ns| throttled_ns >= half_ns) {
            return Cause::Throttled;
        }
        let is_moved = used.has_moved && used.involuntary_switches > 0;
        if is_moved && used.voluntary_switches == 0 && off_ns < MOVE_NS {
            return Cause::Moved;
        }
        // Without the time in the queue, the kind of the switch decides.
        let by_others = match used.waited_ns {
            Some(_) => waited_ns > 0 && waited_ns >= off_ns - waited_ns,
            None => used.involuntary_switches > 0,
        };
        return match (by_others, was_switched) {
            // Also without a switch: a thread that slept may wait for its processor afterwards.
            (true, _) => Cause::Preempted { by: None },
            (false, true) => Cause::Blocked,
            (false, false) => Cause::Stolen,
        };
    }
    if used.minor_faults + used.major_faults > 0 { Cause::PageFault } else { Cause::Unexplained }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ThreadUse = ThreadUse {
        elapsed_ns: 1_000_000,
        run_ns: 1_000_000,
        waited_ns: Some(0),
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        throttled_ns: Some(0),
        has_moved: false,
    };

    #[test]
    fn the_account_that_covers_half_of_the_time_is_the_cause() {
        let off = ThreadUse { run_ns: 950_000, ..NOTHING };
        let preempted = Cause::Preempted { by: None };
        let cases = [
            (NOTHING, Cause::Unexplained),
            (ThreadUse { minor_faults: 1, ..NOTHING }, Cause::PageFault),
            (off, Cause::Stolen),
            (ThreadUse { waited_ns: Some(49_000), involuntary_switches: 1, ..off }, preempted),
            (ThreadUse { voluntary_switches: 1, ..off }, Cause::Blocked),
            // A thread whose group has no time left is in no queue.
            (
                ThreadUse { throttled_ns: Some(90_000), involuntary_switches: 1, ..off },
                Cause::Throttled,
            ),
            (ThreadUse { throttled_ns: Some(9_000), voluntary_switches: 1, ..off }, Cause::Blocked),
            (ThreadUse { has_moved: true, involuntary_switches: 1, ..off }, Cause::Moved),
            (ThreadUse { has_moved: true, voluntary_switches: 1, ..off }, Cause::Blocked),
            // Woken up, and then still in the queue for a moment.
            (ThreadUse { waited_ns: Some(9_000), voluntary_switches: 1, ..off }, Cause::Blocked),
            (ThreadUse { major_faults: 1, voluntary_switches: 1, ..off }, Cause::MajorFault),
            // A millisecond off the processor was at another moment than these sixty.
            (ThreadUse { run_ns: 0, involuntary_switches: 1, ..NOTHING }, Cause::Unexplained),
            // Ten microseconds off the processor do not explain sixty.
            (ThreadUse { run_ns: 990_000, involuntary_switches: 1, ..NOTHING }, Cause::Unexplained),
        ];
        for (used, cause) in cases {
            assert_eq!(cause_in(60_000, &used), cause, "{used:?}");
        }
    }

    #[test]
    fn moments_that_are_attributed_together_have_a_cause_each() {
        let used = ThreadUse {
            run_ns: 400_000,
            waited_ns: Some(600_000),
            involuntary_switches: 2,
            ..NOTHING
        };
        // Two of 300 us, both preempted; and one of 600 us beside 2 ms that nothing explains.
        let preempted = Cause::Preempted { by: None };
        for (all_ns, part_ns, expected) in [
            (600_000, 300_000, preempted.clone()),
            (2_600_000, 600_000, preempted),
            (2_600_000, 2_000_000, Cause::Unexplained),
        ] {
            let all = Attribution { cause: cause_in(all_ns, &used), used };
            assert_eq!(all.cause_of_part(part_ns), expected, "{all_ns} {part_ns}");
        }
    }

    #[test]
    fn a_thread_that_waited_long_before_it_moved_was_preempted() {
        let used = ThreadUse {
            elapsed_ns: 9_000_000,
            waited_ns: Some(3_000_000),
            run_ns: 6_000_000,
            involuntary_switches: 1,
            has_moved: true,
            ..NOTHING
        };
        assert_eq!(cause_in(3_000_000, &used), Cause::Preempted { by: None });
    }

    #[test]
    fn without_the_time_in_the_queue_the_kind_of_the_switch_decides() {
        let off = ThreadUse { run_ns: 950_000, waited_ns: None, ..NOTHING };
        let one = ThreadUse { involuntary_switches: 1, ..off };
        assert_eq!(cause_in(60_000, &one), Cause::Preempted { by: None });
        assert_eq!(cause_in(60_000, &ThreadUse { voluntary_switches: 1, ..off }), Cause::Blocked);
    }

    #[test]
    fn a_sleep_of_this_thread_is_found() {
        let clock = Clock::calibrate();
        let mut attributor = Attributor::open(&clock);
        let from = clock.stamp_start();
        std::thread::sleep(std::time::Duration::from_millis(60));
        let found = attributor.attribute(&Gap { from, to: clock.stamp() });
        assert_eq!(found.cause, Cause::Blocked, "{found:?}");
    }
}
