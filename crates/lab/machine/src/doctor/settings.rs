//! Settings that are one number, word or list of processors in a file: a row each.

use super::{Check, CpuList, Finding, TOO_MANY_HOT, Verdict, View, When};

/// A file with one value, and the value that is good.
pub(super) struct Setting {
    check: Check,
    path: &'static str,
    absent: Absent,
    /// Whether a value is good.
    /// `None` for what is no value of the setting.
    is_good: fn(&str) -> Option<bool>,
    /// The value to write.
    value: &'static str,
    /// What it is if it is not good.
    otherwise: Verdict,
}

/// What it means that there is no such file.
enum Absent {
    /// It is good if the kernel was built without this option; empty: a kernel always has it.
    Kernel(&'static str),
    /// It is good if this folder is there.
    Folder(&'static str),
    /// It cannot be read.
    Unknown,
}

/// The time of a second in which real-time threads may run.
const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// What the fix of it risks, whether it is done or not.
const RT_CAUTION: &str = "; caution: with -1 a real-time thread that never sleeps can hang the \
    machine: keep a processor without such threads";

/// The file whose number is in seconds.
const USB: &str = "/sys/module/usbcore/parameters/autosuspend";

/// Declares settings: name, title, what is good, why, the file, what its absence means, the good
/// values, the value to write, and the verdict for others.
macro_rules! settings {
    ($($name:literal, $title:literal, $good:literal, $why:literal, $path:expr,
        $absent:ident$(($of:literal))?, $kind:ident |$it:ident| $is_good:expr, $value:literal,
        $otherwise:ident;)*) => {
        [$(Setting {
            check: Check {
                name: $name,
                title: $title,
                good: $good,
                why: $why,
                when: When::Now,
            },
            path: $path,
            absent: Absent::$absent$(($of))?,
            is_good: settings!(@ $kind |$it| $is_good),
            value: $value,
            otherwise: Verdict::$otherwise,
        }),*]
    };
    (@ text |$it:ident| $is_good:expr) => { |$it| Some($is_good) };
    (@ number |$it:ident| $is_good:expr) => {
        |text| text.parse().ok().map(|$it: i64| $is_good)
    };
}

/// All settings that stand together, in the order of the report.
const SETTINGS: &[Setting] = &settings! {
    "rt-throttle", "share of time for real-time threads", "-1, or a real-time thread that sleeps",
        "a real-time thread that spins is stopped for the rest of each period", RT_RUNTIME,
        Kernel(""), number |number| number == -1, "-1", Warn;
    "stat-interval", "interval of the statistics of memory", "10 seconds or more",
        "a kernel thread runs on each processor in each interval", "/proc/sys/vm/stat_interval",
        Kernel("CONFIG_SMP"), number |seconds| seconds >= 10, "120", Warn;
    "timer-migration", "timers of idle processors on busy ones", "0",
        "a busy processor runs the timers of others", "/proc/sys/kernel/timer_migration",
        Kernel("CONFIG_NO_HZ_COMMON"), number |number| number == 0, "0", Warn;
    "watchdog", "watchdog of hanging processors", "0, or a mask without the hot processors",
        "a timer and a thread of the highest class run on each processor every four seconds",
        "/proc/sys/kernel/watchdog", Kernel("CONFIG_LOCKUP_DETECTOR"),
        number |number| number == 0, "0", Warn;
    "nmi-watchdog", "watchdog by non-maskable interrupts", "0",
        "it interrupts each processor, and takes one of its counters",
        "/proc/sys/kernel/nmi_watchdog", Kernel("CONFIG_HARDLOCKUP_DETECTOR"),
        number |number| number == 0, "0", Warn;
    "thp", "transparent huge pages", "never, with huge pages that programs request",
        "the kernel moves and clears pages of 2 MiB while a program runs",
        "/sys/kernel/mm/transparent_hugepage/enabled", Kernel("CONFIG_TRANSPARENT_HUGEPAGE"),
        text |text| text == "never", "never", Warn;
    "thp-defrag", "moving memory for huge pages", "never",
        "a page fault waits until memory has been moved together",
        "/sys/kernel/mm/transparent_hugepage/defrag", Kernel("CONFIG_TRANSPARENT_HUGEPAGE"),
        text |text| text == "never", "never", Warn;
    "khugepaged", "moving memory for huge pages in the background", "0",
        "a kernel thread moves pages of running programs",
        "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        Kernel("CONFIG_TRANSPARENT_HUGEPAGE"), number |number| number == 0, "0", Info;
    "autogroup", "equal shares of time for sessions instead of threads", "0",
        "the share of a thread depends on the terminal that started it",
        "/proc/sys/kernel/sched_autogroup_enabled", Kernel("CONFIG_SCHED_AUTOGROUP"),
        number |number| number == 0, "0", Info;
    "numa-balancing", "moving pages to the node that uses them", "0",
        "the kernel unmaps pages to see who uses them: each is a page fault",
        "/proc/sys/kernel/numa_balancing", Kernel("CONFIG_NUMA_BALANCING"),
        number |number| number == 0, "0", Fail;
    "ksm", "sharing of equal pages", "0",
        "a kernel thread reads all memory, and a store to a shared page is a page fault",
        "/sys/kernel/mm/ksm/run", Kernel("CONFIG_KSM"), number |number| number == 0, "0", Warn;
    "compaction", "moving memory together in advance", "0",
        "a kernel thread moves pages, and processors flush their address caches",
        "/proc/sys/vm/compaction_proactiveness", Kernel("CONFIG_COMPACTION"),
        number |number| number == 0, "0", Warn;
    "swappiness", "moving memory of programs to disk", "10 or less",
        "a page that was moved out is read from the disk when it is used",
        "/proc/sys/vm/swappiness", Kernel("CONFIG_SWAP"), number |share| (0..=10).contains(&share), "10", Info;
    "writeback", "interval of writing files to disk", "15 seconds or more",
        "kernel threads wake up in each interval", "/proc/sys/vm/dirty_writeback_centisecs",
        Kernel(""), number |hundredths| hundredths == 0 || hundredths >= 1_500, "1500", Info;
    "hung-task", "search for hanging tasks", "0, or 600 seconds or more",
        "a kernel thread checks all tasks in each interval",
        "/proc/sys/kernel/hung_task_timeout_secs", Kernel("CONFIG_DETECT_HUNG_TASK"),
        number |seconds| seconds == 0 || seconds >= 600, "600", Info;
    "split-lock", "slowing down of locks across two cache lines",
        "0 if the program is known to have none", "a thread with such a lock sleeps",
        "/proc/sys/kernel/split_lock_mitigate", Kernel("CONFIG_CPU_SUP_INTEL"),
        number |number| number == 0, "0", Info;
    "busy-poll", "polling of sockets by the kernel", "50, unless the program polls by itself",
        "without it a packet waits for an interrupt and a wake-up",
        "/proc/sys/net/core/busy_poll", Kernel("CONFIG_NET_RX_BUSY_POLL"),
        number |micros| micros > 0, "50", Info;
    "busy-read", "polling of blocking reads by the kernel",
        "50, unless the program polls by itself",
        "without it a packet waits for an interrupt and a wake-up",
        "/proc/sys/net/core/busy_read", Kernel("CONFIG_NET_RX_BUSY_POLL"),
        number |micros| micros > 0, "50", Info;
    "machine-check", "search for corrected errors of memory", "0",
        "each processor is interrupted in each interval",
        "/sys/devices/system/machinecheck/machinecheck0/check_interval", Kernel("CONFIG_X86_MCE"),
        text |text| matches!(text, "0" | "0x0"), "0", Info;
    "lru-gen", "search for pages that were not used for long", "0",
        "a kernel thread reads the page tables of running programs",
        "/sys/kernel/mm/lru_gen/enabled", Kernel("CONFIG_LRU_GEN"),
        text |text| matches!(text, "0" | "0x0000"), "0x0000", Info;
    "dirty-pages", "share of memory at which files are written to disk in the background",
        "3% or less",
        "much is written at once, and a program that writes more has to wait for it",
        "/proc/sys/vm/dirty_background_ratio", Kernel(""), number |share| share <= 3, "3", Info;
    "least-frequency", "lowest frequency, as a share of the highest one", "100%",
        "a processor that was idle begins at a low frequency",
        "/sys/devices/system/cpu/intel_pstate/min_perf_pct", Kernel("CONFIG_X86_INTEL_PSTATE"),
        number |number| number == 100, "100", Info;
    "address-layout", "random addresses of programs", "0 while programs are compared",
        "each start of a program has other conflicts in caches and in the tables of branches",
        "/proc/sys/kernel/randomize_va_space", Kernel(""), number |number| number == 0, "0", Info;
    "corrected-errors", "interrupts for corrected errors of memory", "1: ignored",
        "each processor is interrupted for an error that needs nothing",
        "/sys/devices/system/machinecheck/machinecheck0/ignore_ce", Kernel("CONFIG_X86_MCE"),
        number |number| number == 1, "1", Info;
};

/// A setting of memory.
pub(super) const HUGE_PAGES: [Setting; 1] = settings! {
    "huge-pages", "reserved huge pages", "as many as the rings and tables need",
        "each small page takes an entry of the address cache", "/proc/sys/vm/nr_hugepages",
        Unknown, number |pages| pages > 0, "512", Info;
};

/// A setting of devices.
pub(super) const USB_POWER: [Setting; 1] = settings! {
    "usb-power", "USB devices that sleep when they are idle", "-1: never",
        "their controllers interrupt a processor to switch them", USB, Folder("/sys/module"),
        text |text| text.starts_with('-'), "-1", Info;
};

/// A file with the processors of some work, which should not be the hot ones.
pub(super) struct Processors {
    pub(super) check: Check,
    path: &'static str,
    absent: Absent,
    /// Whether it is a mask; otherwise it is a list.
    is_mask: bool,
}

pub(super) const WORKQUEUES: Processors = Processors {
    check: Check {
        name: "workqueues",
        title: "processors of the kernel's unbound work",
        good: "not the hot ones",
        why: "deferred work of devices and file systems runs there",
        when: When::Now,
    },
    path: "/sys/devices/virtual/workqueue/cpumask",
    absent: Absent::Unknown,
    is_mask: true,
};

pub(super) const NEW_INTERRUPTS: Processors = Processors {
    check: Check {
        name: "default-irq-affinity",
        title: "processors of the interrupts of new devices",
        good: "not the hot ones",
        why: "a device that is added later interrupts them",
        when: When::Now,
    },
    path: "/proc/irq/default_smp_affinity",
    absent: Absent::Unknown,
    is_mask: true,
};

pub(super) const WATCHDOG: Processors = Processors {
    check: Check {
        name: "watchdog-mask",
        title: "processors of the watchdog",
        good: "not the hot ones",
        why: "its thread has the highest class",
        when: When::Now,
    },
    path: "/proc/sys/kernel/watchdog_cpumask",
    absent: Absent::Kernel("CONFIG_LOCKUP_DETECTOR"),
    is_mask: false,
};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    SETTINGS.iter().map(|setting| setting.find(view)).collect()
}

impl Absent {
    fn find(&self, view: &View<'_>, check: Check, path: &str) -> Finding {
        match self {
            Self::Kernel(option) => view.absent(check, path, option),
            Self::Folder(folder) => view.absent_in(check, folder, path),
            Self::Unknown => check.unknown(format!("cannot read {path}")),
        }
    }
}

impl Setting {
    pub(super) fn find(&self, view: &View<'_>) -> Finding {
        let path = self.path;
        let Some(text) = view.read(path).filter(|text| !text.is_empty()) else {
            return self.absent.find(view, self.check, path);
        };
        let value = chosen(&text);
        let Some(is_good) = (self.is_good)(value) else {
            return self.check.unknown(format!("{path} has {value:?}, which is no number"));
        };
        let (unit, caution) = match path {
            USB => (" seconds", ""),
            RT_RUNTIME => ("", RT_CAUTION),
            _ => ("", ""),
        };
        self.check
            .judged(is_good, self.otherwise, format!("{value}{unit} in {path}{caution}"))
            .fix(format!("echo {} > {path}", self.value))
            .undo(format!("echo {value} > {path}"))
    }
}

impl Processors {
    pub(super) fn find(&self, view: &View<'_>) -> Finding {
        let Self { check, path, is_mask, .. } = *self;
        let Some(text) = view.read(path) else {
            return self.absent.find(view, check, path);
        };
        let (parsed, kind) = match is_mask {
            true => (CpuList::parse_mask(&text), "mask"),
            false => (CpuList::parse(&text), "list"),
        };
        let Some(cpus) = parsed else {
            return check.unknown(format!("{path} has {text:?}, which is no {kind}"));
        };
        let others = CpuList::parse(&view.others()).unwrap_or_default();
        let fix = match (others.is_empty(), is_mask) {
            (true, _) => TOO_MANY_HOT.to_owned(),
            (_, true) => format!("echo {} > {path}", others.mask()),
            (_, false) => format!("echo {others} > {path}"),
        };
        check
            .judged(!cpus.has_any_of(view.hot), Verdict::Warn, format!("{text} in {path}"))
            .fix(fix)
            .undo(format!("echo {text} > {path}"))
    }
}

/// The word in brackets of `always [madvise] never`, or the whole text.
pub(super) fn chosen(text: &str) -> &str {
    nanotape_host::chosen(text).unwrap_or(text)
}
