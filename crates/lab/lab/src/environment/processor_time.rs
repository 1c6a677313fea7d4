//! Processor time by process: the kernel's accounts before and after a run.
//!
//! Cost: one pass over `/proc/stat` and three small files for each thread of this process.

use std::{collections::BTreeMap, fs};

use super::read;
use crate::CpuList;

/// The accounts at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    /// Ticks of the watched processor.
    pub(super) ticks: Option<Ticks>,
    /// Processor time of all threads of this process, including ended ones, in nanoseconds.
    pub(super) process_ns: u64,
    /// Ticks of processes that this one started and waited for.
    pub(super) children_ticks: Option<u64>,
    /// Every live thread, by its number; None if threads could not be listed.
    pub(super) threads: Option<BTreeMap<u32, Thread>>,
    /// Minor and major page faults of this process.
    pub(super) faults: Option<(u64, u64)>,
    /// Time with at least one task of the machine waiting for a processor, in microseconds.
    pub(super) waiting_us: Option<u64>,
}

/// Time of one processor in the kernel's ticks, usually of 10 ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Ticks {
    /// Used by processes: user, nice and system, without interrupts.
    pub(super) busy: u64,
    /// Requested, but given to another guest by the hypervisor.
    pub(super) stolen: u64,
}

/// The time and placement of one thread of this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Thread {
    /// None on kernels that do not count it.
    pub(super) run_ns: Option<u64>,
    pub(super) involuntary_switches: u64,
    pub(super) allowed: CpuList,
}

impl Accounts {
    pub(super) fn read(cpu: Option<u32>) -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let nanos = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        let stat = read("/proc/self/stat");
        Self {
            ticks: cpu.and_then(|cpu| ticks_of(&read("/proc/stat")?, cpu)),
            process_ns: u64::try_from(nanos).unwrap_or(0),
            threads: threads(),
            children_ticks: stat.as_deref().and_then(children_in),
            faults: stat.as_deref().and_then(faults_in),
            waiting_us: read("/proc/pressure/cpu").as_deref().and_then(waiting_in),
        }
    }
}

/// A thread that ends meanwhile is left out.
fn threads() -> Option<BTreeMap<u32, Thread>> {
    let mut threads = BTreeMap::new();
    for entry in fs::read_dir("/proc/self/task").ok()? {
        let Ok(entry) = entry else { continue };
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let status = read(entry.path().join("status"));
        let schedule = read(entry.path().join("schedstat"));
        if let Some(thread) = status.and_then(|text| thread_in(&text, schedule.as_deref())) {
            threads.insert(number, thread);
        }
    }
    Some(threads)
}

/// The line of one processor in `/proc/stat`: user, nice, system, idle, iowait, irq, softirq,
/// steal.
fn ticks_of(stat: &str, cpu: u32) -> Option<Ticks> {
    let name = format!("cpu{cpu}");
    let mut words = stat
        .lines()
        .map(str::split_whitespace)
        .find_map(|mut words| (words.next() == Some(name.as_str())).then_some(words))?;
    let mut fields = [0_u64; 8];
    for field in &mut fields {
        *field = words.next()?.parse().ok()?;
    }
    let [user, nice, system, _, _, _, _, stolen] = fields;
    Some(Ticks { busy: user.checked_add(nice)?.checked_add(system)?, stolen })
}

/// From `/proc/self/task/N/status`, and the first number of `schedstat` next to it.
fn thread_in(status: &str, schedule: Option<&str>) -> Option<Thread> {
    let value = |key: &str| {
        status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
    };
    Some(Thread {
        run_ns: schedule.and_then(|text| text.split_whitespace().next()?.parse().ok()),
        involuntary_switches: value("nonvoluntary_ctxt_switches")?.parse().ok()?,
        allowed: CpuList::parse(value("Cpus_allowed_list")?)?,
    })
}

/// Fields 10 and 12 of `/proc/self/stat`. The second field is a name with any characters, so
/// counting starts after its last bracket.
fn faults_in(stat: &str) -> Option<(u64, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some((minor, major))
}

/// Fields 16 and 17 of `/proc/self/stat`: user and system time.
fn children_in(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    user.checked_add(fields.next()?.parse().ok()?)
}

/// The total of the `some` line of `/proc/pressure/cpu`.
fn waiting_in(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  41633 191 6945 488284 776 0 103 31 0 0\n\
        cpu0 19842 62 3259 245663 135 0 11 11 0 0\n\
        cpu1 21791 129 3685 242620 641 0 92 19 0 0\n\
        cpu10 1 2 3 4 5 6 7 8 0 0\nintr 8885917 17\n";

    #[test]
    fn ticks_are_of_the_one_processor() {
        assert_eq!(ticks_of(STAT, 1), Some(Ticks { busy: 21791 + 129 + 3685, stolen: 19 }));
        assert_eq!(ticks_of(STAT, 10), Some(Ticks { busy: 6, stolen: 8 }));
        assert_eq!(ticks_of(STAT, 2), None);
    }

    #[test]
    fn the_time_of_children_is_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 101 102 0 0 11 12 130 14 20 0 1 0";
        assert_eq!(children_in(stat), Some(144));
        assert_eq!(faults_in(stat), Some((101, 0)));
        for text in ["", "7 (a", "7 (a) S 1 2 3", "7 (a) S 1 7 7 0 -1 4 1 1 0 0 11 12 x y"] {
            assert_eq!(children_in(text), None, "{text:?}");
        }
    }

    #[test]
    fn rubbish_has_no_ticks() {
        let huge = format!("cpu0 {0} {0} 0 0 0 0 0 0", u64::MAX);
        for text in ["", "cpu0", "cpu0 1 2 3 4 5 6 7", "cpu0 a 2 3 4 5 6 7 8", &huge] {
            assert_eq!(ticks_of(text, 0), None, "{text:?}");
        }
    }

    #[test]
    fn threads_say_where_they_may_run() {
        let status = "Name:\tbook\nCpus_allowed:\t2\nCpus_allowed_list:\t1\n\
            voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        let thread = thread_in(status, Some("123456 99 4\n")).expect("a thread");
        assert_eq!((thread.run_ns, thread.involuntary_switches), (Some(123_456), 7));
        assert!(thread.allowed.is_only(1));
        assert!(thread_in(status, None).is_some_and(|thread| thread.run_ns.is_none()));
        assert_eq!(thread_in("Name:\tbook\n", None), None);
        assert_eq!(
            thread_in("nonvoluntary_ctxt_switches:\t-1\nCpus_allowed_list:\t0\n", None),
            None
        );
    }

    #[test]
    fn a_program_may_be_named_anything() {
        let stat = "42 (a) S (b 1) R 1 42 42 0 -1 4194304 1000 7 3 9 20 30 0 0 20 0 1 0 88\n";
        assert_eq!(faults_in(stat), Some((1000, 3)));
        for rubbish in ["", "42 (a", "42 (a) R 1 2", "42 (a) R 1 42 42 0 -1 4 x 7 3"] {
            assert_eq!(faults_in(rubbish), None, "{rubbish:?}");
        }
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=5.69 avg60=20.26 avg300=12.71 total=64470010\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(waiting_in(text), Some(64_470_010));
        for rubbish in ["", "some", "full total=1", "some total=", "some total=x"] {
            assert_eq!(waiting_in(rubbish), None, "{rubbish:?}");
        }
    }

    #[test]
    fn the_accounts_of_this_process_can_be_read() {
        let accounts = Accounts::read(None);
        assert_eq!(accounts.ticks, None);
        assert!(accounts.process_ns > 0);
        assert!(accounts.threads.is_some_and(|threads| !threads.is_empty()));
        assert!(accounts.faults.is_some_and(|(minor, _)| minor > 0));
    }
}
