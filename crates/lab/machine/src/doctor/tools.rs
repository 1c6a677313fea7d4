//! Programs that set or watch the machine: what they promise, and what they cost.

use super::{Check, Finding, Verdict, View, When, settings::chosen};

/// What the profiles of tuned for short times promise: a file, and the value that it then has.
/// Source: the profiles network-latency, latency-performance and realtime of tuned.
const PROMISES: [(&str, &str, &[&str]); 6] = [
    ("/sys/kernel/mm/transparent_hugepage/enabled", "never", &["network-latency"]),
    ("/proc/sys/kernel/numa_balancing", "0", &["network-latency", "cpu-partitioning"]),
    ("/proc/sys/vm/stat_interval", "10", &["network-latency", "cpu-partitioning", "realtime"]),
    ("/proc/sys/kernel/timer_migration", "0", &["network-latency", "cpu-partitioning", "realtime"]),
    ("/proc/sys/net/core/busy_read", "50", &["network-latency"]),
    ("/proc/sys/kernel/sched_rt_runtime_us", "-1", &["realtime", "cpu-partitioning"]),
];

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![tuned(view), tracing(view), audit(view), lockdown(view)]
}

/// A profile that is active and whose values are not there: it failed, or something changed them.
fn tuned(view: &View<'_>) -> Finding {
    let check = Check {
        name: "tuned",
        title: "profile of tuned",
        good: "one for short times, whose values are there",
        why: "a profile that is active and did nothing seems to be a machine that is set",
        when: When::Now,
    };
    let paths = ["/etc/tuned/active_profile", "/run/tuned/active_profile"];
    let Some((path, profile)) = paths.iter().find_map(|path| Some((path, view.read(path)?))) else {
        return check.found(Verdict::Info, "tuned is not used here");
    };
    let profile = profile.split_whitespace().next().unwrap_or_default().to_owned();
    let promised = PROMISES.iter().filter(|(.., profiles)| profiles.contains(&profile.as_str()));
    let mut count = 0;
    let broken: Vec<String> = promised
        .filter_map(|(file, value, _)| {
            count += 1;
            let now = view.read(file)?;
            let now = chosen(&now);
            (now != *value).then(|| format!("{file} has {now} and not {value}"))
        })
        .collect();
    match (count, broken.is_empty()) {
        (0, _) => check
            .found(Verdict::Warn, format!("{profile} in {path}, which is not for short times"))
            .fix("tuned-adm profile network-latency")
            .undo(format!("tuned-adm profile {profile}")),
        (_, true) => {
            check.found(Verdict::Ok, format!("{profile} in {path}, and its values are there"))
        }
        (_, false) => check
            .found(
                Verdict::Fail,
                format!("{profile} in {path} is active, but {}", broken.join("; ")),
            )
            .fix("systemctl restart tuned, and read its log; else write the values"),
    }
}

fn tracing(view: &View<'_>) -> Finding {
    let check = Check {
        name: "tracing",
        title: "traces of the kernel that are on",
        good: "none",
        why: "each event costs up to a microsecond where it happens",
        when: When::Now,
    };
    let folder = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .into_iter()
        .find(|path| view.system.has(&format!("{path}/events")));
    let Some(folder) = folder else {
        return match view.configured("CONFIG_TRACING") {
            Some((_, false)) => view.absent(check, "/sys/kernel/tracing/events", "CONFIG_TRACING"),
            _ => check.unknown(
                "no tracefs at /sys/kernel/tracing or /sys/kernel/debug/tracing: events that are on \
                 cannot be seen",
            ),
        };
    };
    let instances = view.system.names(&format!("{folder}/instances"));
    let enabled = view.read(&format!("{folder}/events/enable"));
    let tracer = view.read(&format!("{folder}/current_tracer"));
    let is_off =
        matches!(enabled.as_deref(), Some("0")) && matches!(tracer.as_deref(), Some("nop"));
    if enabled.is_none() {
        return check.unknown(format!("cannot read {folder}/events/enable (it needs root)"));
    }
    check
        .judged(
            is_off && instances.is_empty(),
            Verdict::Info,
            match is_off && instances.is_empty() {
                true => format!("none in {folder}"),
                false => format!(
                    "events {}, tracer {}, {} instances in {folder}",
                    enabled.unwrap_or_default(),
                    tracer.unwrap_or_default(),
                    instances.len()
                ),
            },
        )
        .fix(format!("echo 0 > {folder}/events/enable; echo nop > {folder}/current_tracer"))
}

fn audit(view: &View<'_>) -> Finding {
    let check = Check {
        name: "audit",
        title: "audit of system calls",
        good: "off: audit=0 on the kernel command line",
        why: "each system call does more work",
        when: When::KernelCommandLine,
    };
    let is_running =
        view.system.names("/proc").iter().any(|process| {
            view.read(&format!("/proc/{process}/comm")).as_deref() == Some("auditd")
        });
    if let Some(why) = view.hidden_processes().filter(|_| !is_running) {
        return check.unknown(why);
    }
    check
        .judged(
            !is_running,
            Verdict::Info,
            if is_running { "auditd runs" } else { "no auditd runs" },
        )
        .fix("systemctl disable --now auditd; audit=0 on the kernel command line")
        .undo("systemctl enable --now auditd")
}

fn lockdown(view: &View<'_>) -> Finding {
    let check = Check {
        name: "lockdown",
        title: "settings that the kernel refuses even to root",
        good: "none",
        why: "the files of debugfs, such as those of the fair server, cannot be written then",
        when: When::Firmware,
    };
    let path = "/sys/kernel/security/lockdown";
    match view.read(path) {
        None if view.system.has("/sys/kernel/security/lsm") => {
            check.found(Verdict::Ok, format!("there is no {path}"))
        }
        None => view.absent(check, path, "CONFIG_SECURITY_LOCKDOWN_LSM"),
        Some(text) => check
            .judged(
                chosen(&text) == "none",
                Verdict::Info,
                format!("{} in /sys/kernel/security/lockdown", chosen(&text)),
            )
            .fix("a machine that starts without secure boot"),
    }
}
