//! Who else may run on the hot processors, and what the scheduler takes from a thread there.

use std::collections::BTreeMap;

use nanotape_host::{ProcessStat, value};

use super::{
    Change, Check, CpuList, Finding, TOO_MANY_HOT, Verdict, View, When,
    settings::{WATCHDOG, WORKQUEUES},
};

/// The first release with the fair server.
const FAIR_SERVER: (u32, u32) = (6, 12);

/// Names in a finding.
const MOST_NAMES: usize = 6;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let tasks = tasks(view);
    vec![
        fair_server(view, &tasks),
        foreign_threads(view, &tasks),
        bound_threads(view, &tasks),
        WORKQUEUES.find(view),
        real_time_limit(view),
        preemption(view),
        watchdog_mask(view),
    ]
}

/// A thread of the machine, without those of this process.
struct Task {
    name: String,
    state: char,
    /// The processor that it ran on last.
    cpu: u32,
    is_kernel: bool,
    is_real_time: bool,
    allowed: CpuList,
}

fn tasks(view: &View<'_>) -> Vec<Task> {
    let own = std::process::id().to_string();
    let system = view.system;
    let processes = system
        .names("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own);
    let threads = processes.flat_map(|process| {
        let folder = format!("/proc/{process}/task");
        system
            .names(&folder)
            .into_iter()
            .map(move |thread| format!("/proc/{process}/task/{thread}"))
    });
    threads.filter_map(|folder| task_in(view, &folder)).collect()
}

/// A thread that ends meanwhile is left out.
fn task_in(view: &View<'_>, folder: &str) -> Option<Task> {
    const PF_KTHREAD: u64 = 0x0020_0000;
    let stat = view.read(&format!("{folder}/stat"))?;
    let stat = ProcessStat::parse(&stat)?;
    let status = view.read(&format!("{folder}/status"))?;
    Some(Task {
        name: stat.name.to_owned(),
        state: stat.field(3)?.chars().next()?,
        cpu: u32::try_from(stat.number(39)?).ok()?,
        is_kernel: stat.number(9)? & PF_KTHREAD != 0,
        is_real_time: stat.number(40)? > 0,
        allowed: CpuList::parse(value(&status, "Cpus_allowed_list")?)?,
    })
}

/// Names with their counts, the most frequent first.
fn names<'a>(tasks: impl Iterator<Item = &'a Task>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for task in tasks {
        *counts.entry(task.name.split('/').next().unwrap_or_default()).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
    let text = |(name, count): &(&str, usize)| match count {
        1 => (*name).to_owned(),
        count => format!("{count} of {name}"),
    };
    let shown: Vec<String> = counts.iter().take(MOST_NAMES).map(text).collect();
    let more = if counts.len() > MOST_NAMES { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Since Linux 6.12 a server of the deadline class runs normal threads that had to wait for a
/// second, whatever the limit on real-time threads.
fn fair_server(view: &View<'_>, tasks: &[Task]) -> Finding {
    let check = Check {
        name: "fair-server",
        title: "time that normal threads get from a real-time thread that spins",
        good: "0 for the hot processors, or no normal thread that can run there",
        why: "since Linux 6.12 the fair server takes up to 50 ms of each second, whatever \
              sched_rt_runtime_us says",
        when: When::Now,
    };
    let Some(release) = release(&view.facts.kernel) else {
        return check
            .unknown(format!("the release {:?} of the kernel has no number", view.facts.kernel));
    };
    if release < FAIR_SERVER {
        return check.found(Verdict::Ok, format!("Linux {}.{} has none", release.0, release.1));
    }
    let mut changes = Vec::new();
    for cpu in view.hot.iter() {
        let path = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime");
        match view.system.read_or_error(&path) {
            Ok(before) => changes.push(Change::new(path, before, "0")),
            Err(error) => {
                let can_run = tasks.iter().filter(|task| can_take(task, view.hot)).count();
                let why = match view.system.has("/sys/kernel/debug/sched") {
                    true => format!("the kernel refuses {path}: {error} (lockdown)"),
                    false => "debugfs is not mounted, or needs root".to_owned(),
                };
                let read = format!(
                    "Linux {}.{} has it; its setting cannot be read, because {why}; {can_run} normal \
                     threads may run on the hot processors",
                    release.0, release.1
                );
                if let Some(why) = view.hidden_processes().filter(|_| can_run == 0) {
                    return check.unknown(format!("{read}; {why}"));
                }
                return check.judged(can_run == 0, Verdict::Fail, read).fix(
                    "mount -t debugfs none /sys/kernel/debug; echo 0 > \
                     /sys/kernel/debug/sched/fair_server/cpuN/runtime for each hot processor N; or \
                     sleep 100 ms of each second",
                );
            }
        }
    }
    let is_off = changes.iter().all(|change| change.before == "0");
    let text = |change: &Change| format!("{} ns in {}", change.before, change.path);
    let texts: Vec<String> = changes.iter().map(text).collect();
    check.judged(is_off, Verdict::Fail, texts.join(", ")).changes(&changes)
}

/// Whether a normal thread may run on one of these processors. Threads of the kernel that belong to
/// one processor cannot be kept from it.
fn can_take(task: &Task, hot: &CpuList) -> bool {
    !task.is_real_time && !task.is_kernel && task.allowed.has_any_of(hot)
}

/// `(6, 12)` of `6.12.3-rt`.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn foreign_threads(view: &View<'_>, tasks: &[Task]) -> Finding {
    let check = Check {
        name: "foreign-threads",
        title: "other threads that may run on the hot processors",
        good: "none",
        why: "each of them takes the processor for milliseconds",
        when: When::Now,
    };
    if tasks.is_empty() {
        return check.unknown("cannot read the threads in /proc");
    }
    let may: Vec<&Task> = tasks.iter().filter(|task| can_take(task, view.hot)).collect();
    let there = may.iter().filter(|task| task.state == 'R' && view.hot.contains(task.cpu)).count();
    let read = format!(
        "{} threads, {there} of them running there now: {}",
        may.len(),
        names(may.iter().copied())
    );
    if may.is_empty() {
        return match view.hidden_processes() {
            Some(why) => check.unknown(why),
            None => check.found(Verdict::Ok, "none in /proc/*/task/*/status"),
        };
    }
    let others = view.others();
    let command = match others.as_str() {
        "" => TOO_MANY_HOT.to_owned(),
        others => format!(
            "systemctl set-property --runtime system.slice AllowedCPUs={others}; taskset -apc {others} PID"
        ),
    };
    check.found(if there > 0 { Verdict::Fail } else { Verdict::Warn }, read).fix(command)
}

/// Threads that somebody has bound to processors that are isolated: isolation does not keep them
/// away.
fn bound_threads(view: &View<'_>, tasks: &[Task]) -> Finding {
    let check = Check {
        name: "bound-threads",
        title: "other people's threads bound to isolated processors",
        good: "none",
        why: "isolation keeps the scheduler away, and not threads that are bound to the processor",
        when: When::Now,
    };
    let path = "/sys/devices/system/cpu/isolated";
    let Some(isolated) = view.read(path).and_then(|text| CpuList::parse(&text)) else {
        return view.absent(check, path, "");
    };
    if let Some(why) = view.hidden_processes().filter(|_| !isolated.is_empty()) {
        return check.unknown(why);
    }
    if isolated.is_empty() {
        return check.found(Verdict::Ok, "no processor is isolated");
    }
    let bound: Vec<&Task> = tasks
        .iter()
        .filter(|task| !task.is_kernel && task.allowed.has_any_of(&isolated))
        .filter(|task| isolated.has_all_of(&task.allowed))
        .collect();
    check
        .judged(
            bound.is_empty(),
            Verdict::Warn,
            match bound.is_empty() {
                true => format!("none on {isolated}"),
                false => format!("{} on {isolated}: {}", bound.len(), names(bound.iter().copied())),
            },
        )
        .fix(format!("taskset -apc {} PID", view.others()))
}

fn real_time_limit(view: &View<'_>) -> Finding {
    let check = Check {
        name: "rtprio-limit",
        title: "limit of the real-time priority",
        good: "49 or more, or CAP_SYS_NICE",
        why: "without it a program cannot choose the real-time class",
        when: When::Now,
    };
    let limit = view.facts.rtprio_limit;
    let read = match limit {
        None => "no limit".to_owned(),
        Some(limit) => format!("{limit} in RLIMIT_RTPRIO"),
    };
    let is_good = view.facts.is_privileged || limit.is_none_or(|limit| limit >= 49);
    check
        .judged(is_good, Verdict::Warn, read)
        .fix("a line `USER - rtprio 49` in /etc/security/limits.d/nanotape.conf, and a new login")
        .undo("remove that line")
}

fn preemption(view: &View<'_>) -> Finding {
    let check = Check {
        name: "preemption",
        title: "preemption model and tick of the kernel",
        good: "known",
        why: "they bound how late a thread that was woken up runs",
        when: When::KernelCommandLine,
    };
    let version = view.read("/proc/version").unwrap_or_default();
    let model =
        ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"].iter().find(|word| version.contains(**word));
    let hertz = [100, 250, 300, 1_000].into_iter().find_map(|hertz| {
        let (source, has) = view.configured(&format!("CONFIG_HZ_{hertz}"))?;
        has.then(|| format!("{hertz} ticks a second in {source}"))
    });
    let tick = hertz.unwrap_or_else(|| {
        "tick unknown: neither /proc/config.gz nor /boot/config-RELEASE can be read".to_owned()
    });
    let model = model.unwrap_or(&"no preemption named");
    check.found(Verdict::Info, format!("{model} in /proc/version, {tick}"))
}

fn watchdog_mask(view: &View<'_>) -> Finding {
    match view.read("/proc/sys/kernel/watchdog").as_deref() {
        Some("0") => WATCHDOG.check.found(Verdict::Ok, "the watchdog is off"),
        _ => WATCHDOG.find(view),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_two_numbers() {
        assert_eq!(release("6.12.3-rt5"), Some((6, 12)));
        assert_eq!(release("5.4"), Some((5, 4)));
        assert_eq!(release("next"), None);
        assert!(release("6.9.0").unwrap() < FAIR_SERVER);
    }
}
