//! The clock: whether stamps are cheap, and comparable between processors.

use nanotape_host::CLOCK_SOURCES;

use super::{Check, Finding, Verdict, View, When};

/// A stamp that costs more is not just the instruction.
const MOST_STAMP_NS: f64 = 40.0;

/// Stamps of two processors that differ by more cannot be compared.
const MOST_OFFSET_NS: f64 = 100.0;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![source(view), counter(view), stamp(view), offset(view), discipline(view)]
}

fn source(view: &View<'_>) -> Finding {
    let check = Check {
        name: "clocksource",
        title: "source of the kernel's clock",
        good: "tsc",
        why: "with another source each reading of the time is a system call or a trap",
        when: When::Now,
    };
    let path = format!("{CLOCK_SOURCES}/current_clocksource");
    let Some(text) = view.read(&path) else { return check.unknown(format!("cannot read {path}")) };
    let has_tsc = view
        .read(&format!("{CLOCK_SOURCES}/available_clocksource"))
        .is_some_and(|text| text.split_whitespace().any(|word| word == "tsc"));
    let is_arm = text == "arch_sys_counter";
    let finding = check.judged(text == "tsc" || is_arm, Verdict::Fail, format!("{text} in {path}"));
    if has_tsc {
        finding.fix(format!("echo tsc > {path}")).undo(format!("echo {text} > {path}"))
    } else {
        finding
            .fix("tsc=reliable on the kernel command line, if the counter is known to be invariant")
    }
}

fn counter(view: &View<'_>) -> Finding {
    let check = Check {
        name: "tsc",
        title: "the processor's counter as a clock",
        good: "invariant, permitted and not trapped",
        why: "other clocks cost more, and are coarser",
        when: When::Firmware,
    };
    match &view.facts.counter {
        Ok(()) => check.found(Verdict::Ok, "invariant, readable and not trapped"),
        Err(why) => check
            .found(Verdict::Fail, why.clone())
            .fix("a setting of the hypervisor or the firmware"),
    }
}

fn stamp(view: &View<'_>) -> Finding {
    let check = Check {
        name: "stamp-cost",
        title: "cost of a stamp",
        good: "40 ns or less",
        why: "each measurement has two of them",
        when: When::Firmware,
    };
    let cost = view.facts.stamp_ns;
    check
        .judged(cost <= MOST_STAMP_NS, Verdict::Fail, format!("{cost:.1} ns, measured"))
        .fix("a hypervisor that does not trap the counter")
}

fn offset(view: &View<'_>) -> Finding {
    let check = Check {
        name: "tsc-offsets",
        title: "difference of the counters of two processors",
        good: "100 ns or less",
        why: "stamps of two threads are compared",
        when: When::Firmware,
    };
    match view.facts.offset_ns {
        None => check.unknown("this process may use one processor only"),
        Some(offset) => check
            .judged(
                offset <= MOST_OFFSET_NS,
                Verdict::Fail,
                format!("{offset:.1} ns at most, measured"),
            )
            .fix("firmware that sets all counters at the same time; tsc=reliable only then"),
    }
}

/// Whether a program keeps the clock of the day by slewing it.
fn discipline(view: &View<'_>) -> Finding {
    let check = Check {
        name: "time-sync",
        title: "program that keeps the clock of the day",
        good: "one that slews: chrony, ntpd or ptp4l",
        why: "a clock that is set jumps, and one that is not kept drifts",
        when: When::Now,
    };
    let known = ["chronyd", "ntpd", "ptp4l", "phc2sys", "systemd-timesyn"];
    let running: Vec<String> = view
        .system
        .names("/proc")
        .iter()
        .filter_map(|process| view.read(&format!("/proc/{process}/comm")))
        .filter(|name| known.contains(&name.as_str()))
        .collect();
    match running.is_empty() {
        true => match view.hidden_processes() {
            Some(why) => check.unknown(why),
            None => check
                .found(Verdict::Info, "none runs here")
                .fix(format!("systemctl enable --now {}", chrony(view))),
        },
        false => check.found(Verdict::Ok, format!("{} runs", running.join(", "))),
    }
}

/// The unit of chrony: Debian and what is made from it name it otherwise than its program.
fn chrony(view: &View<'_>) -> &'static str {
    let release = view.read("/etc/os-release").or_else(|| view.read("/usr/lib/os-release"));
    let is_debian = release.unwrap_or_default().lines().any(|line| {
        let ids = line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE="));
        let mut words = ids.unwrap_or_default().trim_matches('"').split_whitespace();
        words.any(|id| ["debian", "ubuntu"].contains(&id))
    });
    if is_debian { "chrony" } else { "chronyd" }
}
