//! Settings that are one number or word in a file.

use super::{Check, Finding, Verdict, View, When};

/// A file with one value, and the value that is good.
struct Setting {
    check: Check,
    path: &'static str,
    /// The option of the kernel without which there is no such file; empty if there always is.
    option: &'static str,
    /// Whether a value is good.
    is_good: fn(&str) -> bool,
    /// The value to write.
    value: &'static str,
    /// What it is if it is not good.
    otherwise: Verdict,
}

/// The time of a second in which real-time threads may run.
const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// What the mend of it risks, whether it is done or not.
const RT_CAUTION: &str = "; caution: with -1 a real-time thread that never sleeps can hang the \
    machine: keep a processor without such threads";

fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// All settings, in the order of the report.
const SETTINGS: [Setting; 24] = [
    now(
        "rt-throttle",
        "share of time for real-time threads",
        "-1, or a real-time thread that sleeps",
        "a real-time thread that spins is stopped for the rest of each period",
        RT_RUNTIME,
        "",
        |text| number(text) == Some(-1),
        "-1",
        Verdict::Warn,
    ),
    now(
        "stat-interval",
        "interval of the statistics of memory",
        "10 seconds or more",
        "a kernel thread runs on each processor in each interval",
        "/proc/sys/vm/stat_interval",
        "CONFIG_SMP",
        |text| number(text).is_some_and(|seconds| seconds >= 10),
        "120",
        Verdict::Warn,
    ),
    now(
        "timer-migration",
        "timers of idle processors on busy ones",
        "0",
        "a busy processor runs the timers of others",
        "/proc/sys/kernel/timer_migration",
        "CONFIG_NO_HZ_COMMON",
        |text| number(text) == Some(0),
        "0",
        Verdict::Warn,
    ),
    now(
        "watchdog",
        "watchdog of hanging processors",
        "0, or a mask without the hot processors",
        "a timer and a thread of the highest class run on each processor every four seconds",
        "/proc/sys/kernel/watchdog",
        "CONFIG_LOCKUP_DETECTOR",
        |text| number(text) == Some(0),
        "0",
        Verdict::Warn,
    ),
    now(
        "nmi-watchdog",
        "watchdog by non-maskable interrupts",
        "0",
        "it interrupts each processor, and takes one of its counters",
        "/proc/sys/kernel/nmi_watchdog",
        "CONFIG_HARDLOCKUP_DETECTOR",
        |text| number(text) == Some(0),
        "0",
        Verdict::Warn,
    ),
    now(
        "thp",
        "transparent huge pages",
        "never, with huge pages that programs ask for",
        "the kernel moves and clears pages of 2 MiB while a program runs",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "CONFIG_TRANSPARENT_HUGEPAGE",
        |text| text == "never",
        "never",
        Verdict::Warn,
    ),
    now(
        "thp-defrag",
        "moving memory for huge pages",
        "never",
        "a page fault waits until memory has been moved together",
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "CONFIG_TRANSPARENT_HUGEPAGE",
        |text| text == "never",
        "never",
        Verdict::Warn,
    ),
    now(
        "khugepaged",
        "moving memory for huge pages in the background",
        "0",
        "a kernel thread moves pages of running programs",
        "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        "CONFIG_TRANSPARENT_HUGEPAGE",
        |text| number(text) == Some(0),
        "0",
        Verdict::Info,
    ),
    now(
        "autogroup",
        "equal shares of time for sessions instead of threads",
        "0",
        "the share of a thread depends on the terminal that started it",
        "/proc/sys/kernel/sched_autogroup_enabled",
        "CONFIG_SCHED_AUTOGROUP",
        |text| number(text) == Some(0),
        "0",
        Verdict::Info,
    ),
    now(
        "numa-balancing",
        "moving pages to the node that uses them",
        "0",
        "the kernel unmaps pages to see who uses them: each is a page fault",
        "/proc/sys/kernel/numa_balancing",
        "CONFIG_NUMA_BALANCING",
        |text| number(text) == Some(0),
        "0",
        Verdict::Fail,
    ),
    now(
        "ksm",
        "sharing of equal pages",
        "0",
        "a kernel thread reads all memory, and a store to a shared page is a page fault",
        "/sys/kernel/mm/ksm/run",
        "CONFIG_KSM",
        |text| number(text) == Some(0),
        "0",
        Verdict::Warn,
    ),
    now(
        "compaction",
        "moving memory together in advance",
        "0",
        "a kernel thread moves pages, and processors flush their address caches",
        "/proc/sys/vm/compaction_proactiveness",
        "CONFIG_COMPACTION",
        |text| number(text) == Some(0),
        "0",
        Verdict::Warn,
    ),
    now(
        "swappiness",
        "moving memory of programs to disk",
        "10 or less",
        "a page that was moved out is read from the disk when it is used",
        "/proc/sys/vm/swappiness",
        "CONFIG_SWAP",
        |text| number(text).is_some_and(|share| share <= 10),
        "10",
        Verdict::Info,
    ),
    now(
        "writeback",
        "interval of writing files to disk",
        "15 seconds or more",
        "kernel threads wake up in each interval",
        "/proc/sys/vm/dirty_writeback_centisecs",
        "",
        |text| number(text).is_some_and(|hundredths| hundredths == 0 || hundredths >= 1_500),
        "1500",
        Verdict::Info,
    ),
    now(
        "hung-task",
        "search for hanging tasks",
        "0, or 600 seconds or more",
        "a kernel thread looks at all tasks in each interval",
        "/proc/sys/kernel/hung_task_timeout_secs",
        "CONFIG_DETECT_HUNG_TASK",
        |text| number(text).is_some_and(|seconds| seconds == 0 || seconds >= 600),
        "600",
        Verdict::Info,
    ),
    now(
        "split-lock",
        "slowing down of locks across two cache lines",
        "0 if the program is known to have none",
        "a thread with such a lock sleeps",
        "/proc/sys/kernel/split_lock_mitigate",
        "CONFIG_CPU_SUP_INTEL",
        |text| number(text) == Some(0),
        "0",
        Verdict::Info,
    ),
    now(
        "busy-poll",
        "polling of sockets by the kernel",
        "50, unless the program polls by itself",
        "without it a packet waits for an interrupt and a wake-up",
        "/proc/sys/net/core/busy_poll",
        "CONFIG_NET_RX_BUSY_POLL",
        |text| number(text).is_some_and(|micros| micros > 0),
        "50",
        Verdict::Info,
    ),
    now(
        "busy-read",
        "polling of blocking reads by the kernel",
        "50, unless the program polls by itself",
        "without it a packet waits for an interrupt and a wake-up",
        "/proc/sys/net/core/busy_read",
        "CONFIG_NET_RX_BUSY_POLL",
        |text| number(text).is_some_and(|micros| micros > 0),
        "50",
        Verdict::Info,
    ),
    now(
        "machine-check",
        "search for corrected errors of memory",
        "0",
        "each processor is interrupted in each interval",
        "/sys/devices/system/machinecheck/machinecheck0/check_interval",
        "CONFIG_X86_MCE",
        |text| matches!(text, "0" | "0x0"),
        "0",
        Verdict::Info,
    ),
    now(
        "lru-gen",
        "search for pages that were not used for long",
        "0",
        "a kernel thread reads the page tables of running programs",
        "/sys/kernel/mm/lru_gen/enabled",
        "CONFIG_LRU_GEN",
        |text| matches!(text, "0" | "0x0000"),
        "0x0000",
        Verdict::Info,
    ),
    now(
        "dirty-pages",
        "share of memory at which files are written to disk in the background",
        "3% or less",
        "much is written at once, and a program that writes more has to wait for it",
        "/proc/sys/vm/dirty_background_ratio",
        "",
        |text| number(text).is_some_and(|share| share <= 3),
        "3",
        Verdict::Info,
    ),
    now(
        "least-frequency",
        "lowest frequency, as a share of the highest one",
        "100%",
        "a processor that was idle begins at a low frequency",
        "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
        "CONFIG_X86_INTEL_PSTATE",
        |text| number(text) == Some(100),
        "100",
        Verdict::Info,
    ),
    now(
        "address-layout",
        "random addresses of programs",
        "0 while programs are compared",
        "each start of a program has other conflicts in caches and in the tables of branches",
        "/proc/sys/kernel/randomize_va_space",
        "",
        |text| number(text) == Some(0),
        "0",
        Verdict::Info,
    ),
    now(
        "corrected-errors",
        "interrupts for corrected errors of memory",
        "1: ignored",
        "each processor is interrupted for an error that needs nothing",
        "/sys/devices/system/machinecheck/machinecheck0/ignore_ce",
        "CONFIG_X86_MCE",
        |text| number(text) == Some(1),
        "1",
        Verdict::Info,
    ),
];

#[expect(clippy::too_many_arguments, reason = "a line of the table")]
const fn now(
    name: &'static str,
    title: &'static str,
    good: &'static str,
    why: &'static str,
    path: &'static str,
    option: &'static str,
    is_good: fn(&str) -> bool,
    value: &'static str,
    otherwise: Verdict,
) -> Setting {
    let check = Check { name, title, good, why, when: When::Now };
    Setting { check, path, option, is_good, value, otherwise }
}

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    SETTINGS.iter().map(|setting| setting.find(view)).collect()
}

impl Setting {
    fn find(&self, view: &View<'_>) -> Finding {
        let path = self.path;
        let Some(text) = view.read(path).filter(|text| !text.is_empty()) else {
            return view.absent(self.check, path, self.option);
        };
        let value = chosen(&text);
        let verdict = if (self.is_good)(value) { Verdict::Ok } else { self.otherwise };
        let caution = if path == RT_RUNTIME { RT_CAUTION } else { "" };
        self.check
            .found(verdict, format!("{value} in {path}{caution}"))
            .fix(format!("echo {} > {path}", self.value))
            .undo(format!("echo {value} > {path}"))
    }
}

/// The word in brackets of `always [madvise] never`, or the whole text.
pub(super) fn chosen(text: &str) -> &str {
    nanotape_host::chosen(text).unwrap_or(text)
}
