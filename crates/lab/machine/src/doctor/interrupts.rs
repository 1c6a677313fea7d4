//! Which processors take the interrupts of devices.

use super::{
    Change, Check, CpuList, Finding, TOO_MANY_HOT, Verdict, View, When, settings::NEW_INTERRUPTS,
    shown,
};

/// Names in a finding.
const MOST_NAMES: usize = 6;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![device_interrupts(view), NEW_INTERRUPTS.find(view), irqbalance(view)]
}

fn device_interrupts(view: &View<'_>) -> Finding {
    let check = Check {
        name: "irq-affinity",
        title: "interrupts of devices on the hot processors",
        good: "none but those of the program's own network queue",
        why: "each takes 10 to 20 us with the work that follows it",
        when: When::Now,
    };
    let numbers: Vec<String> = view
        .system
        .names("/proc/irq")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    if numbers.is_empty() {
        return check.unknown("cannot read /proc/irq");
    }
    let list = |number: &str, name: &str| {
        let text = view.read(&format!("/proc/irq/{number}/{name}"))?;
        Some((CpuList::parse(&text)?, text))
    };
    let is_hot = |number: &String| {
        let effective =
            list(number, "effective_affinity_list").filter(|(cpus, _)| !cpus.is_empty());
        effective
            .or_else(|| list(number, "smp_affinity_list"))
            .is_some_and(|(cpus, _)| cpus.has_any_of(view.hot))
    };
    let (mut handlers, mut changes) = (Vec::new(), Vec::new());
    let others = view.others();
    for number in numbers.iter().filter(|number| is_hot(number)) {
        // An interrupt with a handler has a folder with the handler's name.
        let folder = format!("/proc/irq/{number}");
        let Some(handler) = view.system.folders(&folder).pop() else { continue };
        handlers.push(handler);
        if let Some((_, before)) = list(number, "smp_affinity_list") {
            let path = format!("{folder}/smp_affinity_list");
            changes.push(Change::new(path, before, &*others));
        }
    }
    if handlers.is_empty() {
        return check.found(Verdict::Ok, "none in /proc/irq/*/effective_affinity_list");
    }
    let read = format!("{} of them: {}", handlers.len(), shown(&handlers, MOST_NAMES));
    let finding = check.found(Verdict::Fail, read);
    match (others.is_empty(), changes.is_empty()) {
        (true, _) => finding.fix(TOO_MANY_HOT),
        (_, true) => finding.fix(format!("irqaffinity={others} on the kernel command line")),
        (false, false) => finding.changes(&changes),
    }
}

fn irqbalance(view: &View<'_>) -> Finding {
    let check = Check {
        name: "irqbalance",
        title: "a program that moves interrupts",
        good: "stopped, or set to leave the hot processors alone",
        why: "it moves interrupts back to the hot processors",
        when: When::Now,
    };
    let is_running = view.system.names("/proc").iter().any(|process| {
        process.bytes().all(|byte| byte.is_ascii_digit())
            && view.read(&format!("/proc/{process}/comm")).as_deref() == Some("irqbalance")
    });
    let banned = ["/etc/default/irqbalance", "/etc/sysconfig/irqbalance"].iter().any(|path| {
        view.read(path).is_some_and(|text| {
            text.lines().any(|line| line.trim_start().starts_with("IRQBALANCE_BANNED_CPULIST="))
        })
    });
    match (is_running, banned) {
        (false, _) => match view.hidden_processes() {
            Some(why) => check.unknown(why),
            None => check.found(Verdict::Ok, "it does not run"),
        },
        (true, true) => check.found(Verdict::Info, "it runs, with banned processors"),
        (true, false) => check
            .found(Verdict::Warn, "it runs")
            .fix("systemctl disable --now irqbalance")
            .undo("systemctl enable --now irqbalance"),
    }
}
