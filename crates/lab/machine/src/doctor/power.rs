//! Power: frequencies, idle states, and devices that sleep.

use nanotape_host::Turbo;

use super::{
    Change, Check, Finding, System, Verdict, View, When,
    settings::{USB_POWER, chosen},
    shown,
};

/// Names in a finding.
const MOST_NAMES: usize = 4;

/// The governor, and the preference, that keep the highest frequency.
const PERFORMANCE: &str = "performance";

/// An idle state that is left later costs a thread more than a cache miss or two.
const MOST_LATENCY_US: u64 = 2;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![
        governor(view),
        energy(view),
        turbo(view),
        idle(view),
        devices(view),
        links(view),
        USB_POWER[0].find(view),
        throttled(view),
    ]
}

fn governor(view: &View<'_>) -> Finding {
    let check = Check {
        name: "governor",
        title: "frequency governor of the hot processors",
        good: PERFORMANCE,
        why: "a processor that was idle needs 10 to 500 us to become fast",
        when: When::Now,
    };
    let absent = || match view.facts.hypervisor.as_deref() {
        Some("none") => check.unknown("the hot processors have no cpufreq"),
        _ => check.found(Verdict::Info, "no cpufreq: the host decides"),
    };
    performance(view, check, "scaling_governor", Verdict::Fail).unwrap_or_else(absent)
}

fn energy(view: &View<'_>) -> Finding {
    let check = Check {
        name: "energy-preference",
        title: "preference of the hot processors for energy or speed",
        good: PERFORMANCE,
        why: "the processor lowers its frequency by itself, whatever the governor",
        when: When::Now,
    };
    performance(view, check, "energy_performance_preference", Verdict::Warn).unwrap_or_else(|| {
        match view.system.has("/sys/devices/system/cpu/online") {
            true => check.found(Verdict::Ok, "the hot processors have none"),
            false => view.absent(check, "/sys/devices/system/cpu/online", ""),
        }
    })
}

/// Whether a file of cpufreq has `performance` for each hot processor; `None` without such a file.
fn performance(view: &View<'_>, check: Check, file: &str, otherwise: Verdict) -> Option<Finding> {
    let change = |cpu: u32| {
        let path = System::frequency_path(cpu, file);
        Some(Change::new(path.clone(), view.read(&path)?, PERFORMANCE))
    };
    let found: Vec<Change> = view.hot.iter().filter_map(change).collect();
    let is_good = |one: &&Change| one.before == PERFORMANCE;
    let worst = found.iter().find(|one| !is_good(one)).or(found.first())?;
    let read = format!("{} in {}", worst.before, worst.path);
    Some(check.judged(is_good(&worst), otherwise, read).changes(&found))
}

fn turbo(view: &View<'_>) -> Finding {
    let check = Check {
        name: "turbo",
        title: "frequencies above the nominal one",
        good: "known: off for equal times, on for short ones",
        why: "the frequency depends on how many cores work and how warm they are",
        when: When::Now,
    };
    match view.system.turbo() {
        Some(Turbo { is_on: true, path, text, off }) => check
            .found(Verdict::Info, format!("on: {text} in {path}"))
            .fix(format!("echo {off} > {path}"))
            .undo(format!("echo {text} > {path}")),
        Some(Turbo { path, text, .. }) => {
            check.found(Verdict::Ok, format!("off: {text} in {path}"))
        }
        None => check.found(Verdict::Info, "not reported by this kernel: the host decides"),
    }
}

fn idle(view: &View<'_>) -> Finding {
    let check = Check {
        name: "idle-states",
        title: "deepest idle state of the hot processors",
        good: "one that is left in 2 us or less; none but POLL in a guest",
        why: "a thread that sleeps wakes up late, with cold caches",
        when: When::Now,
    };
    let path = "/sys/devices/system/cpu/cpuidle/current_driver";
    let driver = view.read(path);
    let is_read = driver.is_some();
    let driver = driver.as_deref().unwrap_or("none");
    let is_virtual = driver == "haltpoll" || view.facts.hypervisor.as_deref() != Some("none");
    // A guest that sleeps exits to its host, whatever the latency that its driver states.
    let most_us = if is_virtual { 0 } else { MOST_LATENCY_US };
    let states: Vec<IdleState> =
        view.hot.iter().filter_map(|cpu| IdleState::deepest(view, cpu)).collect();
    let Some(deepest) = states.iter().max_by_key(|state| state.latency_us) else {
        return match driver {
            "none" if !is_read => view.absent(check, path, "CONFIG_CPU_IDLE"),
            "none" => check.found(Verdict::Ok, "no driver in /sys/devices/system/cpu/cpuidle"),
            _ => check.unknown("cannot read /sys/devices/system/cpu/cpuN/cpuidle"),
        };
    };
    let IdleState { cpu, name, latency_us, .. } = deepest;
    let read = format!("{name} on processor {cpu}, left in {latency_us} us, by {driver}");
    let change = |state: &IdleState| {
        let fixed = if is_virtual { "n/a".to_owned() } else { MOST_LATENCY_US.to_string() };
        Some(Change::new(latency_path(state.cpu), state.limit.clone()?, fixed))
    };
    let deep = states.iter().filter(|state| state.latency_us > most_us);
    let changes: Vec<Change> = deep.filter_map(change).collect();
    let finding = check.judged(*latency_us <= most_us, Verdict::Warn, read);
    match (changes.is_empty(), is_virtual) {
        (false, _) => finding.changes(&changes),
        (true, true) => finding.fix("idle=poll on the kernel command line"),
        (true, false) => {
            finding.fix("intel_idle.max_cstate=1 processor.max_cstate=1 on the kernel command line")
        }
    }
}

/// The file with the longest latency that a processor may need to leave an idle state, in
/// microseconds. It has `0` for no limit, and `n/a` for a limit of 0. All governors respect it;
/// haltpoll ignores the files that switch states off.
fn latency_path(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

/// An idle state that a processor may enter.
struct IdleState {
    cpu: u32,
    name: String,
    latency_us: u64,
    /// The text of the file with the longest latency.
    limit: Option<String>,
}

impl IdleState {
    /// The one that is left last, of those that are neither switched off nor beyond the limit.
    fn deepest(view: &View<'_>, cpu: u32) -> Option<Self> {
        let limit = view.read(&latency_path(cpu));
        let own_us = match limit.as_deref() {
            None | Some("0") => u64::MAX,
            Some("n/a") => 0,
            Some(text) => text.parse().unwrap_or(u64::MAX),
        };
        // A program such as tuned can hold a limit for all processors.
        let most_us = view.system.latency_limit_us().unwrap_or(u64::MAX).min(own_us);
        let governor = view.read("/sys/devices/system/cpu/cpuidle/current_governor");
        let can_disable = governor.as_deref() != Some("haltpoll");
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let names = view.system.names(&folder).into_iter().filter(|name| name.starts_with("state"));
        let states = names.filter_map(|state| {
            let read = |name: &str| view.read(&format!("{folder}/{state}/{name}"));
            let latency_us: u64 = read("latency")?.parse().ok()?;
            let is_disabled = can_disable && read("disable").as_deref() == Some("1");
            let may_enter = !is_disabled && latency_us <= most_us;
            let name = read("name").unwrap_or_else(|| state.clone());
            may_enter.then(|| Self { cpu, name, latency_us, limit: limit.clone() })
        });
        states.max_by_key(|state| state.latency_us)
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
        return match view.system.has(folder) {
            true => check.found(Verdict::Ok, format!("no devices in {folder}")),
            false => view.absent(check, folder, "CONFIG_PCI"),
        };
    }
    let path = |name: &str| format!("{folder}/{name}/power/control");
    let is_auto = |name: &String| view.read(&path(name)).as_deref() == Some("auto");
    let (auto, on): (Vec<String>, Vec<String>) = names.into_iter().partition(is_auto);
    let read = match auto.len() {
        0 => format!("on for all {} in {folder}/*/power/control", on.len()),
        count => {
            let shown = shown(&auto, MOST_NAMES);
            format!("auto for {count} in {folder}/*/power/control: {shown}")
        }
    };
    let change = |name: &String| Change::new(path(name), "auto".to_owned(), "on");
    let changes: Vec<Change> = auto.iter().map(change).collect();
    check.judged(auto.is_empty(), Verdict::Warn, read).changes(&changes)
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
        None => view.absent_in(check, "/sys/module", path),
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
