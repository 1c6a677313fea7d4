//! Processor time by process: the kernel's accounts before and after a run.
//!
//! Cost: one pass over `/proc/stat` and three small files for each thread of this process.

use std::{collections::BTreeMap, fs};

use nanotape_host::{CpuList, ProcessStat, Ticks, pressure, value};

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
        let read = |path| fs::read_to_string(path).ok();
        let stat = read("/proc/self/stat");
        let stat = stat.as_deref().and_then(ProcessStat::parse);
        Self {
            ticks: cpu.and_then(|cpu| Ticks::of(&read("/proc/stat")?, Some(cpu))),
            process_ns: u64::try_from(nanos).unwrap_or(0),
            threads: threads(),
            children_ticks: stat.as_ref().and_then(children_in),
            faults: stat.as_ref().and_then(faults_in),
            waiting_us: read("/proc/pressure/cpu")
                .and_then(|text| pressure(&text, "total")?.parse().ok()),
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
        let status = fs::read_to_string(entry.path().join("status")).ok();
        let schedule = fs::read_to_string(entry.path().join("schedstat")).ok();
        if let Some(thread) = status.and_then(|text| thread_in(&text, schedule.as_deref())) {
            threads.insert(number, thread);
        }
    }
    Some(threads)
}

/// From `/proc/self/task/N/status`, and the first number of `schedstat` next to it.
fn thread_in(status: &str, schedule: Option<&str>) -> Option<Thread> {
    Some(Thread {
        run_ns: schedule.and_then(|text| text.split_whitespace().next()?.parse().ok()),
        involuntary_switches: value(status, "nonvoluntary_ctxt_switches")?.parse().ok()?,
        allowed: CpuList::parse(value(status, "Cpus_allowed_list")?)?,
    })
}

/// Minor and major ones.
fn faults_in(stat: &ProcessStat<'_>) -> Option<(u64, u64)> {
    Some((stat.number(10)?, stat.number(12)?))
}

/// User and system time.
fn children_in(stat: &ProcessStat<'_>) -> Option<u64> {
    stat.number(16)?.checked_add(stat.number(17)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_and_faults_are_numbers_of_the_process() {
        let text = "7 (a) S 1 7 7 0 -1 4194304 101 102 3 0 11 12 130 14 20 0 1 0";
        let stat = ProcessStat::parse(text).expect("a process");
        assert_eq!((children_in(&stat), faults_in(&stat)), (Some(144), Some((101, 3))));
        let text = "7 (a) S 1 7 7 0 -1 4 x 1 0 0 11 12 x y";
        let stat = ProcessStat::parse(text).expect("a process");
        assert_eq!((children_in(&stat), faults_in(&stat)), (None, None));
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
    fn the_accounts_of_this_process_can_be_read() {
        let accounts = Accounts::read(None);
        assert_eq!(accounts.ticks, None);
        assert!(accounts.process_ns > 0);
        assert!(accounts.threads.is_some_and(|threads| !threads.is_empty()));
        assert!(accounts.faults.is_some_and(|(minor, _)| minor > 0));
    }
}
