//! Power: frequencies, idle states, and devices that sleep.

use super::{Check, Finding, Verdict, View, When, settings::chosen};

/// Names in a finding.
const MOST_NAMES: usize = 4;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![
        governor(view),
        turbo(view),
        idle(view),
        devices(view),
        links(view),
        usb(view),
        throttled(view),
    ]
}

fn governor(view: &View<'_>) -> Finding {
    let check = Check {
        name: "governor",
        title: "frequency governor of the hot processors",
        good: "performance",
        why: "a processor that was idle needs 10 to 500 us to become fast",
        when: When::Now,
    };
    let path = |cpu: u32| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let found: Vec<(u32, String)> =
        view.hot.iter().filter_map(|cpu| Some((cpu, view.read(&path(cpu))?))).collect();
    let Some((_, first)) = found.first() else {
        return match view.facts.hypervisor.as_deref() {
            Some("none") => check.unknown("the hot processors have no cpufreq"),
            _ => check.found(Verdict::Info, "no cpufreq: the host decides"),
        };
    };
    let is_good = found.iter().all(|(_, governor)| governor == "performance");
    let commands = |value: &dyn Fn(&str) -> String| {
        found
            .iter()
            .map(|(cpu, now)| format!("echo {} > {}", value(now), path(*cpu)))
            .collect::<Vec<_>>()
            .join("; ")
    };
    check
        .judged(is_good, Verdict::Fail, format!("{first} in {}", path(found[0].0)))
        .fix(commands(&|_| "performance".to_owned()))
        .undo(commands(&|now| now.to_owned()))
}

fn turbo(view: &View<'_>) -> Finding {
    let check = Check {
        name: "turbo",
        title: "frequencies above the nominal one",
        good: "known: off for equal times, on for short ones",
        why: "the frequency depends on how many cores work and how warm they are",
        when: When::Now,
    };
    let intel = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    let other = "/sys/devices/system/cpu/cpufreq/boost";
    match (view.read(intel).as_deref(), view.read(other).as_deref()) {
        (Some("1"), _) => check.found(Verdict::Ok, format!("off: 1 in {intel}")),
        (Some(text), _) => check
            .found(Verdict::Info, format!("on: {text} in {intel}"))
            .fix(format!("echo 1 > {intel}"))
            .undo(format!("echo 0 > {intel}")),
        (None, Some("0")) => check.found(Verdict::Ok, format!("off: 0 in {other}")),
        (None, Some(text)) => check
            .found(Verdict::Info, format!("on: {text} in {other}"))
            .fix(format!("echo 0 > {other}"))
            .undo(format!("echo 1 > {other}")),
        (None, None) => check.found(Verdict::Info, "not reported by this kernel: the host decides"),
    }
}

fn idle(view: &View<'_>) -> Finding {
    let check = Check {
        name: "idle-states",
        title: "deepest idle state of the hot processors",
        good: "one that is left in 2 us or less, or none",
        why: "a thread that sleeps wakes up late, with cold caches",
        when: When::Now,
    };
    let Some(cpu) = view.hot.iter().next() else { return check.unknown("no hot processor") };
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let states: Vec<(String, u64)> = view
        .system
        .names(&folder)
        .into_iter()
        .filter(|state| state.starts_with("state"))
        .filter(|state| view.read(&format!("{folder}/{state}/disable")).as_deref() != Some("1"))
        .filter_map(|state| {
            let latency = view.read(&format!("{folder}/{state}/latency"))?.parse().ok()?;
            Some((view.read(&format!("{folder}/{state}/name")).unwrap_or(state), latency))
        })
        .collect();
    let driver = view.read("/sys/devices/system/cpu/cpuidle/current_driver");
    let driver = driver.as_deref().unwrap_or("none");
    match states.iter().max_by_key(|(_, latency)| *latency) {
        None if driver == "none" => {
            check.found(Verdict::Ok, "no driver in /sys/devices/system/cpu/cpuidle")
        }
        None => check.unknown(format!("cannot read {folder}")),
        Some((name, latency)) => {
            let is_virtual =
                driver == "haltpoll" || view.facts.hypervisor.as_deref() != Some("none");
            let read = format!("{name}, left in {latency} us, by {driver} in {folder}");
            check
                .judged(*latency <= 2 && !is_virtual, Verdict::Warn, read)
                .fix("hold /dev/cpu_dma_latency open with 0, as `doctor try idle-states` does; else intel_idle.max_cstate=1 processor.max_cstate=1 on the kernel command line")
                .undo("close it")
        }
    }
}

/// Devices on the bus that may be switched off when they are idle.
fn devices(view: &View<'_>) -> Finding {
    let check = Check {
        name: "device-power",
        title: "devices that sleep when they are idle",
        good: "none: on",
        why: "a network card or disk that sleeps answers late",
        when: When::Now,
    };
    let folder = "/sys/bus/pci/devices";
    let names = view.system.names(folder);
    if names.is_empty() {
        return check.found(Verdict::Ok, format!("no devices in {folder}"));
    }
    let auto: Vec<&String> = names
        .iter()
        .filter(|name| {
            view.read(&format!("{folder}/{name}/power/control")).as_deref() == Some("auto")
        })
        .collect();
    let shown =
        auto.iter().take(MOST_NAMES).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    check
        .judged(
            auto.is_empty(),
            Verdict::Warn,
            match auto.is_empty() {
                true => format!("on for all {} in {folder}/*/power/control", names.len()),
                false => format!("auto for {} in {folder}/*/power/control: {shown}", auto.len()),
            },
        )
        .fix(format!("for f in {folder}/*/power/control; do echo on > $f; done"))
        .undo(
            auto.iter()
                .map(|name| format!("echo auto > {folder}/{name}/power/control"))
                .collect::<Vec<_>>()
                .join("; "),
        )
}

fn links(view: &View<'_>) -> Finding {
    let check = Check {
        name: "pcie-power",
        title: "power management of the links to devices",
        good: "performance, or off",
        why: "a link that sleeps needs microseconds to wake up",
        when: When::KernelCommandLine,
    };
    let path = "/sys/module/pcie_aspm/parameters/policy";
    match view.read(path) {
        None => check.found(Verdict::Ok, format!("there is no {path}")),
        Some(text) => {
            let policy = chosen(&text);
            check
                .judged(
                    policy == "performance"
                        || view.system.kernel_word("pcie_aspm").as_deref() == Some("off"),
                    Verdict::Warn,
                    format!("{policy} in {path}"),
                )
                .fix("pcie_aspm=off on the kernel command line")
                .undo("remove pcie_aspm=off from the kernel command line")
        }
    }
}

fn usb(view: &View<'_>) -> Finding {
    let check = Check {
        name: "usb-power",
        title: "USB devices that sleep when they are idle",
        good: "-1: never",
        why: "their controllers interrupt a processor to switch them",
        when: When::Now,
    };
    let path = "/sys/module/usbcore/parameters/autosuspend";
    match view.read(path) {
        None => check.found(Verdict::Ok, format!("there is no {path}")),
        Some(text) => check
            .judged(text.starts_with('-'), Verdict::Info, format!("{text} seconds in {path}"))
            .fix(format!("echo -1 > {path}"))
            .undo(format!("echo {text} > {path}")),
    }
}

fn throttled(view: &View<'_>) -> Finding {
    let check = Check {
        name: "thermal",
        title: "slow-downs of the hot processors because of heat",
        good: "0",
        why: "the frequency drops in the middle of the work",
        when: When::Firmware,
    };
    let path =
        |cpu: u32| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count");
    let counts: Vec<u64> =
        view.hot.iter().filter_map(|cpu| view.read(&path(cpu))?.parse().ok()).collect();
    if counts.is_empty() {
        return check.found(Verdict::Info, "not counted by this kernel");
    }
    let sum: u64 = counts.iter().fold(0, |sum, count| sum.saturating_add(*count));
    check
        .judged(sum == 0, Verdict::Fail, format!("{sum} in thermal_throttle/core_throttle_count"))
        .fix("better cooling, or a lower frequency")
}
