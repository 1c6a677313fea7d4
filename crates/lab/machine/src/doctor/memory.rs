//! Memory: what is locked, what is reserved, and the threads that move it.

use super::{Check, Finding, Verdict, View, When, settings::HUGE_PAGES};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![memlock(view), swaps(view), HUGE_PAGES[0].find(view), monitors(view), balloon(view)]
}

fn memlock(view: &View<'_>) -> Finding {
    let check = Check {
        name: "memlock-limit",
        title: "limit of locked memory",
        good: "no limit, or CAP_IPC_LOCK",
        why: "memory that is not locked can be moved to the disk",
        when: When::Now,
    };
    let limit = view.facts.memlock_limit;
    let read = match limit {
        None => "no limit".to_owned(),
        Some(bytes) => format!("{} KiB in RLIMIT_MEMLOCK", bytes / 1_024),
    };
    check
        .judged(view.facts.is_privileged || limit.is_none(), Verdict::Warn, read)
        .fix("a line `USER - memlock unlimited` in /etc/security/limits.d/nanotape.conf, and a new login")
        .undo("remove that line")
}

fn swaps(view: &View<'_>) -> Finding {
    let check = Check {
        name: "swaps",
        title: "disks for memory that is moved out",
        good: "none",
        why: "a page that was moved out takes milliseconds when it is used",
        when: When::Now,
    };
    let Some(text) = view.read("/proc/swaps") else {
        return check.unknown("cannot read /proc/swaps");
    };
    let count = text.lines().skip(1).filter(|line| !line.trim().is_empty()).count();
    check
        .judged(
            count == 0,
            Verdict::Warn,
            match count {
                0 => "none in /proc/swaps".to_owned(),
                count => format!("{count} in /proc/swaps"),
            },
        )
        .fix("swapoff -a")
        .undo("swapon -a")
}

fn monitors(view: &View<'_>) -> Finding {
    let check = Check {
        name: "memory-monitors",
        title: "threads of the kernel that watch the use of memory",
        good: "none",
        why: "they clear the marks of pages, and each mark that comes back is work of the processor",
        when: When::Now,
    };
    let is_monitor = |process: &String| {
        let name = view.read(&format!("/proc/{process}/comm")).unwrap_or_default();
        name.starts_with("kdamond").then_some(name)
    };
    let running: Vec<String> = view.system.names("/proc").iter().filter_map(is_monitor).collect();
    if let Some(why) = view.hidden_processes().filter(|_| running.is_empty()) {
        return check.unknown(why);
    }
    check
        .judged(
            running.is_empty(),
            Verdict::Warn,
            match running.is_empty() {
                true => "none in /proc/*/comm".to_owned(),
                false => format!("{} in /proc/*/comm", running.join(", ")),
            },
        )
        .fix("for f in /sys/kernel/mm/damon/admin/kdamonds/*/state; do echo off > $f; done")
        .undo("for f in /sys/kernel/mm/damon/admin/kdamonds/*/state; do echo on > $f; done")
}

fn balloon(view: &View<'_>) -> Finding {
    let check = Check {
        name: "balloon",
        title: "memory that goes back to the host",
        good: "no balloon, no reporting of free pages",
        why: "the first touch of such a page takes 10 to 100 us",
        when: When::Firmware,
    };
    let mut found = Vec::new();
    if view.system.names("/sys/bus").is_empty() || view.read("/proc/cmdline").is_none() {
        return check.unknown("cannot read /sys/bus, or /proc/cmdline");
    }
    if !view
        .system
        .names("/sys/bus/virtio/drivers/virtio_balloon")
        .iter()
        .all(|name| !name.starts_with("virtio"))
    {
        found.push("a balloon device");
    }
    if view.system.kernel_word("page_reporting.page_reporting_order").is_some() {
        found.push("page_reporting on the kernel command line");
    }
    check
        .judged(
            found.is_empty(),
            Verdict::Warn,
            match found.is_empty() {
                true => "neither in /sys/bus/virtio nor in /proc/cmdline".to_owned(),
                false => found.join(", "),
            },
        )
        .fix("a machine without a balloon; else touch all memory at the start")
}
