//! The processor itself: whether it is real, shared, and whose.

use std::path::Path;

use nanotape_host::{self as host, Ticks, processor_groups};

use super::{Check, CpuList, Finding, Verdict, View, When};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![
        hypervisor(view),
        stolen(view),
        isolated(view),
        smt(view),
        numa(view),
        cache(view),
        mitigations(view),
        microcode(view),
        bios(view),
        quota(view),
        pressure(view),
    ]
}

fn hypervisor(view: &View<'_>) -> Finding {
    let check = Check {
        name: "hypervisor",
        title: "a hypervisor below the kernel",
        good: "none",
        why: "it takes the processor without a trace in this kernel, and makes each timer \
              interrupt ten times as long",
        when: When::Firmware,
    };
    match view.facts.hypervisor.as_deref() {
        None => check.unknown("this processor does not report one or none"),
        Some("none") => check.found(Verdict::Ok, "none, by the processor"),
        Some(name) => check
            .found(Verdict::Fail, format!("{name}, by the processor"))
            .fix("a machine of its own; else a dedicated host with pinned processors"),
    }
}

fn stolen(view: &View<'_>) -> Finding {
    let check = Check {
        name: "stolen",
        title: "time that the hypervisor gave to others since the start",
        good: "0",
        why: "the processor was taken for milliseconds",
        when: When::Firmware,
    };
    let Some(text) = view.read("/proc/stat") else {
        return check.unknown("cannot read /proc/stat");
    };
    let Some(Ticks { stolen, all, .. }) = Ticks::of(&text, None) else {
        return check.unknown("/proc/stat has no sum of all processors");
    };
    let share = 100.0 * stolen as f64 / all.max(1) as f64;
    check
        .judged(stolen == 0, Verdict::Warn, format!("{share:.2}% in /proc/stat"))
        .fix("pinned processors on the host")
}

fn isolated(view: &View<'_>) -> Finding {
    let check = Check {
        name: "isolated",
        title: "processors that the scheduler leaves alone",
        good: "the hot processors are isolated",
        why: "the scheduler moves other threads to them",
        when: When::KernelCommandLine,
    };
    let path = "/sys/devices/system/cpu/isolated";
    let Some(isolated) = view.read(path).and_then(|text| CpuList::parse(&text)) else {
        return check.unknown(format!("cannot read {path}"));
    };
    let listed = if isolated.is_empty() { "none".to_owned() } else { isolated.to_string() };
    if isolated.has_all_of(&view.system.online()) {
        return check
            .found(
                Verdict::Fail,
                format!(
                    "{listed} in {path}: every processor, so that no one is \
                left for other threads and interrupts"
                ),
            )
            .fix("isolcpus with fewer processors on the kernel command line");
    }
    let words = format!("isolcpus=managed_irq,domain,{}", view.hot);
    check
        .judged(isolated.has_all_of(view.hot), Verdict::Fail, format!("{listed} in {path}"))
        .fix(view.kernel_words(&words))
        .undo("remove isolcpus from the kernel command line")
}

fn smt(view: &View<'_>) -> Finding {
    let check = Check {
        name: "smt",
        title: "hardware threads that share a core with a hot processor",
        good: "none, or idle ones",
        why: "two threads of a core share its execution units and its first caches",
        when: When::Now,
    };
    let siblings: Vec<u32> = view
        .hot
        .iter()
        .filter_map(|cpu| view.system.siblings(cpu))
        .flat_map(|list| list.iter().collect::<Vec<_>>())
        .collect();
    if siblings.is_empty() {
        return check.unknown("cannot read thread_siblings_list of the hot processors");
    }
    let others = CpuList::of(siblings.into_iter().filter(|&cpu| !view.hot.contains(cpu)));
    let shared = view.hot.iter().any(|cpu| {
        let list = view.system.siblings(cpu).unwrap_or_default();
        list.iter().any(|other| other != cpu && view.hot.contains(other))
    });
    if others.is_empty() && !shared {
        let hidden = match view.facts.hypervisor.as_deref() {
            Some("none") => "",
            _ => "; a guest cannot see all",
        };
        return check.found(
            if hidden.is_empty() { Verdict::Ok } else { Verdict::Info },
            format!("none in thread_siblings_list{hidden}"),
        );
    }
    let read = if shared {
        "two hot processors share a core".to_owned()
    } else {
        format!("processors {others}")
    };
    check
        .found(Verdict::Warn, read)
        .fix("echo off > /sys/devices/system/cpu/smt/control")
        .undo("echo on > /sys/devices/system/cpu/smt/control")
}

fn numa(view: &View<'_>) -> Finding {
    let check = Check {
        name: "numa",
        title: "memory nodes",
        good: "hot processors, their memory and their network card on one node",
        why: "each access to another node takes 100 ns more",
        when: When::Now,
    };
    let names = view.system.names("/sys/devices/system/node");
    let nodes = names.iter().filter(|name| {
        name.strip_prefix("node").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    });
    match nodes.count() {
        0 => check.unknown("cannot read /sys/devices/system/node"),
        1 => check.found(Verdict::Ok, "one node in /sys/devices/system/node"),
        count => check
            .found(Verdict::Info, format!("{count} nodes in /sys/devices/system/node"))
            .fix("numactl --cpunodebind=N --membind=N PROGRAM"),
    }
}

/// A share of the third cache for the hot processors alone (resctrl).
fn cache(view: &View<'_>) -> Finding {
    let check = Check {
        name: "cache-allocation",
        title: "share of the third cache that only the hot processors use",
        good: "an exclusive group of resctrl for the hot processors",
        why: "programs on other processors displace its lines, each a miss to memory",
        when: When::Now,
    };
    let folder = "/sys/fs/resctrl";
    match view.system.has_flag("cat_l3") {
        None => return check.unknown("/proc/cpuinfo cannot be read, or has no line flags"),
        Some(false) => {
            return check
                .found(Verdict::Ok, "this processor does not report cat_l3 in /proc/cpuinfo");
        }
        Some(true) => {}
    }
    let group = format!(
        "mkdir {folder}/hot; echo {} > {folder}/hot/cpus_list; give disjoint L3 masks to \
         {folder}/schemata and {folder}/hot/schemata; echo exclusive > {folder}/hot/mode",
        view.hot
    );
    if !view.system.has(&format!("{folder}/schemata")) {
        return check
            .found(Verdict::Info, format!("nothing is mounted at {folder}"))
            .fix(format!("mount -t resctrl resctrl {folder}; {group}"))
            .undo(format!("umount {folder}"));
    }
    let read = |group: &str, name: &str| view.read(&format!("{folder}/{group}/{name}"));
    let groups = view.system.folders(folder).into_iter();
    let exclusive = groups.filter(|group| read(group, "mode").as_deref() == Some("exclusive"));
    let cpus = exclusive.filter_map(|group| CpuList::parse(&read(&group, "cpus_list")?));
    let cpus = CpuList::of(cpus.flat_map(|list| list.iter().collect::<Vec<_>>()));
    let listed = if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() };
    check
        .judged(
            cpus.has_all_of(view.hot),
            Verdict::Info,
            format!("processors in exclusive groups of {folder}: {listed}"),
        )
        .fix(group)
        .undo(format!("rmdir {folder}/hot"))
}

fn mitigations(view: &View<'_>) -> Finding {
    let check = Check {
        name: "mitigations",
        title: "mitigations of processor bugs",
        good: "known; off only where all programs are trusted",
        why: "they make each system call and each interrupt longer",
        when: When::KernelCommandLine,
    };
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = view.system.names(folder);
    if names.is_empty() {
        return check.unknown(format!("cannot read {folder}"));
    }
    let active = names.iter().filter(|name| {
        view.read(&format!("{folder}/{name}")).is_some_and(|text| text.starts_with("Mitigation"))
    });
    let count = active.count();
    check
        .judged(count == 0, Verdict::Info, format!("{count} active in {folder}"))
        .fix("mitigations=off on the kernel command line, if every program here is trusted")
        .undo("remove mitigations=off from the kernel command line")
}

fn microcode(view: &View<'_>) -> Finding {
    let check = Check {
        name: "microcode",
        title: "revision of the microcode",
        good: "that of the vendor's last release",
        why: "old ones have slow mitigations and bugs of timers",
        when: When::Firmware,
    };
    match view.system.processor_value("microcode") {
        None => check.unknown("/proc/cpuinfo does not show it"),
        Some(revision) => check.found(Verdict::Info, format!("{revision} in /proc/cpuinfo")),
    }
}

fn bios(view: &View<'_>) -> Finding {
    let check = Check {
        name: "bios",
        title: "version of the firmware",
        good: "that of the vendor's last release, with its profile for low latency",
        why: "it decides about frequencies, idle states, and interrupts that no kernel sees",
        when: When::Firmware,
    };
    let folder = "/sys/class/dmi/id";
    let words: Vec<String> = ["bios_vendor", "bios_version", "bios_date"]
        .iter()
        .filter_map(|name| view.read(&format!("{folder}/{name}")))
        .filter(|word| !word.is_empty())
        .collect();
    match words.is_empty() {
        true => check.unknown(format!("cannot read {folder}")),
        false => check.found(Verdict::Info, format!("{} in {folder}", words.join(" "))),
    }
}

fn quota(view: &View<'_>) -> Finding {
    let check = Check {
        name: "cpu-quota",
        title: "limit of processor time of this control group",
        good: "no limit",
        why: "a group that has used its share is stopped until the next period",
        when: When::Now,
    };
    let Some(text) = view.read("/proc/self/cgroup") else {
        return check.unknown("cannot read /proc/self/cgroup");
    };
    let (mut first, mut second) = (None, None);
    for (controllers, group) in processor_groups(&text) {
        match controllers {
            "" => second = Some(group),
            _ => first = Some((controllers, group)),
        }
    }
    let (folder, group, file, none) = match (first, second) {
        (Some((controllers, group)), _) => {
            (format!("/sys/fs/cgroup/{controllers}"), group, "cpu.cfs_quota_us", "-1")
        }
        (None, Some(group)) => ("/sys/fs/cgroup".to_owned(), group, "cpu.max", "max"),
        (None, None) => return check.unknown("/proc/self/cgroup has no group for processor time"),
    };
    // The limit of a group holds for all groups in it.
    for above in Path::new(group).ancestors() {
        let path = format!("{folder}{}/{file}", above.display().to_string().trim_end_matches('/'));
        if let Some(text) = view.read(&path).filter(|text| !text.starts_with(none)) {
            return check
                .found(Verdict::Fail, format!("{text} in {path}"))
                .fix(format!("echo {none} > {path}"))
                .undo(format!("echo '{text}' > {path}"));
        }
    }
    // Only the first group of a machine has no limit and no file.
    let own = format!("{folder}{}", group.trim_end_matches('/'));
    let is_first = group == "/" && view.system.has(&format!("{folder}/cgroup.controllers"));
    if !is_first && !view.system.has(&format!("{own}/{file}")) {
        return view.absent(check, &format!("{own}/{file}"), "CONFIG_CFS_BANDWIDTH");
    }
    check.found(Verdict::Ok, format!("no limit in {file} of {folder}{group} and the groups above"))
}

fn pressure(view: &View<'_>) -> Finding {
    let check = Check {
        name: "pressure",
        title: "share of time in which some task waits for a processor",
        good: "below 1%",
        why: "more threads want to run than there are processors",
        when: When::Now,
    };
    let path = "/proc/pressure/cpu";
    let Some(text) = view.read(path) else { return check.unknown(format!("cannot read {path}")) };
    match host::pressure(&text, "avg10").and_then(|word| word.parse::<f64>().ok()) {
        None => check.unknown(format!("{path} has no average")),
        Some(share) => check
            .judged(share < 1.0, Verdict::Warn, format!("{share}% of the last 10 s in {path}"))
            .fix("fewer threads, or taskset to keep them from the hot processors"),
    }
}
