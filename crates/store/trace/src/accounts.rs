//! The kernel's accounts of one thread: its faults, its switches, its time on the processor and its
//! time in the queue.
//!
//! All of them can be read without privileges, by the thread itself.
//! Cost: two system calls, half a microsecond with warm caches. The time in the queue is in a file,
//! whose read takes as long again, and so is the time in which a control group had none
//! left. They are read only if the thread was switched out: without a switch it has not waited.

mod groups;

use std::{fs::File, os::unix::fs::FileExt as _};

use nanotape_clock::{Clock, Stamp};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use rustix::{
    thread::{gettid, sched_getcpu},
    time::{ClockId, clock_gettime},
};

use groups::Groups;

/// The accounts of the thread that opened them.
#[derive(Debug)]
pub struct Accounts {
    /// `None` on kernels that do not count the time in the queue.
    queue: Option<File>,
    groups: Groups,
}

/// The counts at one moment, since the thread began.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    at: Stamp,
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    run_ns: u64,
    waited_ns: Option<u64>,
    throttled_ns: Option<u64>,
    cpu: Option<u32>,
}

/// What happened to a thread between two moments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadUse {
    /// Time between the two moments, in nanoseconds.
    pub elapsed_ns: u64,
    /// Time on the processor, without stolen time, in nanoseconds.
    pub run_ns: u64,
    /// Time in the queue for a processor, in nanoseconds; `None` if this kernel does not count it.
    pub waited_ns: Option<u64>,
    /// Page faults without a read from a disk.
    pub minor_faults: u64,
    /// Page faults with one.
    pub major_faults: u64,
    /// Switches to another thread because this one slept, waited or was stopped.
    pub voluntary_switches: u64,
    /// Switches to another thread because the kernel preferred that one.
    pub involuntary_switches: u64,
    /// Time in which the control groups of the thread had used up their share of the processors, in
    /// nanoseconds; `None` if it cannot be read. It is a sum over the processors of a group.
    pub throttled_ns: Option<u64>,
    /// Whether the thread is on another processor than before.
    pub has_moved: bool,
}

/// The site of the spans of questions to the kernel, in a thread that queries it.
pub const QUERY: &str = "kernel.ask";

/// The sites whose spans have the answers as values, in the order of [`ThreadUse::counts`].
pub const COUNTS: [&str; 9] = [
    "kernel.elapsed",
    "kernel.ran",
    "kernel.queued",
    "kernel.minor-faults",
    "kernel.major-faults",
    "kernel.slept",
    "kernel.preempted",
    "kernel.throttled",
    "kernel.moved",
];

/// The value of a count that the kernel does not have.
const UNKNOWN: u64 = u64::MAX;

impl ThreadUse {
    /// The values of the [`COUNTS`].
    pub fn counts(&self) -> [u64; COUNTS.len()] {
        [
            self.elapsed_ns,
            self.run_ns,
            self.waited_ns.unwrap_or(UNKNOWN),
            self.minor_faults,
            self.major_faults,
            self.voluntary_switches,
            self.involuntary_switches,
            self.throttled_ns.unwrap_or(UNKNOWN),
            self.has_moved.into(),
        ]
    }

    /// Takes the value of a count, by its place in [`COUNTS`].
    pub fn set_count(&mut self, place: usize, value: u64) {
        match place {
            0 => self.elapsed_ns = value,
            1 => self.run_ns = value,
            2 => self.waited_ns = (value != UNKNOWN).then_some(value),
            3 => self.minor_faults = value,
            4 => self.major_faults = value,
            5 => self.voluntary_switches = value,
            6 => self.involuntary_switches = value,
            7 => self.throttled_ns = (value != UNKNOWN).then_some(value),
            _ => self.has_moved = value != 0,
        }
    }
}

impl Accounts {
    /// The file of the calling thread.
    const QUEUE: &str = "/proc/thread-self/schedstat";

    /// Opens the accounts of the calling thread.
    pub fn open() -> Self {
        let mut accounts = Self { queue: File::open(Self::QUEUE).ok(), groups: Groups::open() };
        // A kernel without the counts has the file, with zeros or without numbers.
        if accounts.waited_ns().is_none() {
            accounts.queue = None;
        }
        accounts
    }

    /// Whether the time in the queue is counted.
    pub fn has_queue(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether the time in which a control group had used up its share can be read; else why not.
    pub fn throttling(&self) -> Result<(), &'static str> {
        self.groups.are_counted()
    }

    /// The counts now; `earlier`: the last ones, for what has not changed since.
    pub fn read(&self, clock: &Clock, earlier: Option<&Counts>) -> Counts {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok();
        let number = |of: fn(&Usage) -> i64| {
            usage.as_ref().and_then(|usage| u64::try_from(of(usage)).ok()).unwrap_or(0)
        };
        let voluntary_switches = number(Usage::voluntary_context_switches);
        let involuntary_switches = number(Usage::involuntary_context_switches);
        let is_same = |earlier: &&Counts| {
            usage.is_some()
                && earlier.voluntary_switches == voluntary_switches
                && earlier.involuntary_switches == involuntary_switches
        };
        let (waited_ns, throttled_ns) = match earlier.filter(is_same) {
            Some(earlier) => (earlier.waited_ns, earlier.throttled_ns),
            None => (self.waited_ns(), self.groups.throttled_ns()),
        };
        Counts {
            at: clock.stamp(),
            minor_faults: number(Usage::minor_page_faults),
            major_faults: number(Usage::major_page_faults),
            voluntary_switches,
            involuntary_switches,
            run_ns: thread_run_ns(),
            waited_ns,
            throttled_ns,
            cpu: cpu(),
        }
    }

    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0_u8; 96];
        let length = self.queue.as_ref()?.read_at(&mut text, 0).ok()?;
        waited_in(text.get(..length)?)
    }
}

/// Time of the calling thread on a processor since it began, without stolen time, in nanoseconds.
/// One system call.
pub fn thread_run_ns() -> u64 {
    let run = clock_gettime(ClockId::ThreadCPUTime);
    let run_ns = i128::from(run.tv_sec) * 1_000_000_000 + i128::from(run.tv_nsec);
    u64::try_from(run_ns).unwrap_or(0)
}

/// The kernel's number of the calling thread. One system call.
pub fn thread_id() -> u32 {
    gettid().as_raw_nonzero().get().unsigned_abs()
}

/// The processor of the calling thread; `None` if the kernel does not say. No system call where the
/// C library reads it in the process.
pub fn cpu() -> Option<u32> {
    u32::try_from(sched_getcpu()).ok()
}

/// The second number of `schedstat`.
fn waited_in(text: &[u8]) -> Option<u64> {
    let mut words = text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    words.next()?;
    str::from_utf8(words.next()?).ok()?.parse().ok()
}

impl Counts {
    /// What happened since `earlier`.
    pub fn since(&self, earlier: &Self, clock: &Clock) -> ThreadUse {
        let difference = |of: fn(&Self) -> u64| of(self).saturating_sub(of(earlier));
        let waited = self.waited_ns.zip(earlier.waited_ns);
        let throttled = self.throttled_ns.zip(earlier.throttled_ns);
        ThreadUse {
            elapsed_ns: clock.nanos_between(earlier.at, self.at),
            run_ns: difference(|counts| counts.run_ns),
            waited_ns: waited.map(|(now, before)| now.saturating_sub(before)),
            minor_faults: difference(|counts| counts.minor_faults),
            major_faults: difference(|counts| counts.major_faults),
            voluntary_switches: difference(|counts| counts.voluntary_switches),
            involuntary_switches: difference(|counts| counts.involuntary_switches),
            throttled_ns: throttled.map(|(now, before)| now.saturating_sub(before)),
            has_moved: self.cpu.zip(earlier.cpu).is_some_and(|(now, before)| now != before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_the_queue_is_the_second_number() {
        assert_eq!(waited_in(b"123456 789 42\n"), Some(789));
        for rubbish in [&b""[..], b"1", b"1 x 2", b"\xff\xff \xff", b"1 -2 3"] {
            assert_eq!(waited_in(rubbish), None);
        }
    }

    #[test]
    fn counts_come_back_from_their_values() {
        let used = ThreadUse {
            elapsed_ns: 1,
            run_ns: 2,
            waited_ns: Some(3),
            minor_faults: 4,
            major_faults: 5,
            voluntary_switches: 6,
            involuntary_switches: 7,
            throttled_ns: Some(8),
            has_moved: true,
        };
        let without = ThreadUse { waited_ns: None, throttled_ns: None, has_moved: false, ..used };
        for used in [used, without] {
            let mut back = ThreadUse::default();
            let values = used.counts().into_iter().enumerate();
            values.for_each(|(place, value)| back.set_count(place, value));
            assert_eq!(back, used);
        }
    }

    #[test]
    fn a_sleep_is_a_switch_and_not_time_on_the_processor() {
        let clock = Clock::calibrate();
        let accounts = Accounts::open();
        let before = accounts.read(&clock, None);
        std::thread::sleep(std::time::Duration::from_millis(5));
        let used = accounts.read(&clock, Some(&before)).since(&before, &clock);
        assert!(used.voluntary_switches >= 1, "{used:?}");
        assert!(used.elapsed_ns >= 5_000_000, "{used:?}");
        assert!(used.elapsed_ns - used.run_ns >= 4_000_000, "{used:?}");
    }
}
