//! What the kernel's command line says, and what its words imply without saying it.

use super::{Check, CpuList, Finding, Verdict, View, When};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    vec![ticks(view), callbacks(view), implied(view), quiet_words(view), iommu(view)]
}

fn ticks(view: &View<'_>) -> Finding {
    let check = Check {
        name: "nohz-full",
        title: "processors without a tick while one thread runs",
        good: "the hot processors, if the kernel can",
        why: "250 to 1,000 timer interrupts a second, of 1 us on a real machine and 25 us on a \
              virtual one",
        when: When::KernelCommandLine,
    };
    let path = "/sys/devices/system/cpu/nohz_full";
    let Some(text) = view.read(path) else {
        return match view.configured("CONFIG_NO_HZ_FULL") {
            Some((source, false)) => check
                .found(Verdict::Fail, format!("this kernel has no CONFIG_NO_HZ_FULL in {source}"))
                .fix("a kernel with NO_HZ_FULL, then nohz_full=LIST on its command line"),
            _ => view.absent(check, path, ""),
        };
    };
    let list = CpuList::parse(&text).unwrap_or_default();
    let listed = if list.is_empty() { "none".to_owned() } else { list.to_string() };
    check
        .judged(list.has_all_of(view.hot), Verdict::Fail, format!("{listed} in {path}"))
        .fix(view.kernel_words(&format!("nohz_full={}", view.hot)))
        .undo("remove nohz_full from the kernel command line")
}

/// The processors whose callbacks run elsewhere. `nohz_full` has the same effect.
fn callbacks(view: &View<'_>) -> Finding {
    let check = Check {
        name: "rcu-nocbs",
        title: "processors whose deferred frees run elsewhere",
        good: "the hot processors",
        why: "the callbacks run in softirqs after an interrupt",
        when: When::KernelCommandLine,
    };
    let list = |word: &str| {
        let value = view.system.kernel_word(word)?;
        if value == "all" { Some(view.system.online()) } else { CpuList::parse(&value) }
    };
    let (own, implied) = (list("rcu_nocbs"), list("nohz_full"));
    if let Some(own) = own.as_ref().filter(|own| own.has_all_of(view.hot)) {
        return check.found(Verdict::Ok, format!("rcu_nocbs={own} in /proc/cmdline"));
    }
    if let Some(implied) = implied.filter(|implied| implied.has_all_of(view.hot)) {
        return check
            .found(Verdict::Ok, format!("implied by nohz_full={implied} in /proc/cmdline"));
    }
    if view.system.read("/proc/cmdline").is_none() {
        return check.unknown("cannot read /proc/cmdline");
    }
    check
        .found(
            Verdict::Fail,
            match own {
                Some(own) => format!("rcu_nocbs={own} in /proc/cmdline"),
                None => "no rcu_nocbs and no nohz_full in /proc/cmdline".to_owned(),
            },
        )
        .fix(view.kernel_words(&format!("rcu_nocbs={}", view.hot)))
        .undo("remove rcu_nocbs from the kernel command line")
}

/// Words that have no effect, or half of it, without another one.
fn implied(view: &View<'_>) -> Finding {
    let check = Check {
        name: "half-settings",
        title: "words of the kernel command line that need another one",
        good: "none",
        why: "a setting that seems active and is not",
        when: When::KernelCommandLine,
    };
    if view.read("/proc/cmdline").is_none() {
        return check.unknown("cannot read /proc/cmdline");
    }
    let list = |word: &str| {
        let value = view.system.kernel_word(word)?;
        // isolcpus has flags before its list.
        let numbers =
            value.split(',').filter(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        CpuList::parse(&numbers.collect::<Vec<_>>().join(","))
    };
    let (isolated, ticks) = (list("isolcpus"), list("nohz_full"));
    let mut findings = Vec::new();
    if let Some(ticks) = &ticks {
        if !view.system.has("/sys/devices/system/cpu/nohz_full") {
            findings.push("nohz_full is given, and this kernel was built without it".to_owned());
        }
        let is_isolated = isolated.as_ref().is_some_and(|isolated| isolated.has_all_of(ticks));
        let active =
            view.read("/sys/devices/system/cpu/isolated").and_then(|text| CpuList::parse(&text));
        if !is_isolated && !active.is_some_and(|active| active.has_all_of(ticks)) {
            findings.push(format!(
                "nohz_full={ticks} without isolcpus: a second thread brings the tick back"
            ));
        }
        if view
            .system
            .kernel_word("rcu_nocbs")
            .is_some_and(|value| CpuList::parse(&value).is_some_and(|own| ticks.has_all_of(&own)))
        {
            findings.push("rcu_nocbs repeats a part of nohz_full".to_owned());
        }
    }
    if let Some(isolated) = isolated.filter(|isolated| !isolated.is_empty()) {
        if isolated.has_all_of(&view.system.online()) {
            findings.push(format!(
                "isolcpus={isolated} names every processor: no one is left for other threads"
            ));
        }
        let value = view.system.kernel_word("isolcpus").unwrap_or_default();
        let moves_interrupts =
            value.contains("managed_irq") || view.system.kernel_word("irqaffinity").is_some();
        if !moves_interrupts {
            findings.push(format!(
                "isolcpus={isolated} without managed_irq or irqaffinity: interrupts of devices stay"
            ));
        }
    }
    if view.system.kernel_word("nohz").as_deref() == Some("off") && ticks.is_some() {
        findings.push("nohz=off switches nohz_full off".to_owned());
    }
    match findings.is_empty() {
        true => check.found(Verdict::Ok, "none in /proc/cmdline"),
        false => check
            .found(Verdict::Warn, findings.join("; "))
            .fix("complete or remove the words that are named"),
    }
}

fn quiet_words(view: &View<'_>) -> Finding {
    let check = Check {
        name: "quiet-words",
        title: "words that keep processors from disturbing each other",
        good: "skew_tick=1 rcupdate.rcu_normal_after_boot=1",
        why: "ticks of all processors at the same moment meet at the same locks, and expedited \
              frees interrupt every processor",
        when: When::KernelCommandLine,
    };
    if view.read("/proc/cmdline").is_none() {
        return check.unknown("cannot read /proc/cmdline");
    }
    let wanted = ["skew_tick", "rcupdate.rcu_normal_after_boot"];
    let missing: Vec<String> = wanted
        .iter()
        .filter(|word| view.system.kernel_word(word).as_deref() != Some("1"))
        .map(|word| format!("{word}=1"))
        .collect();
    check
        .judged(
            missing.is_empty(),
            Verdict::Warn,
            match missing.is_empty() {
                true => "both in /proc/cmdline".to_owned(),
                false => format!("not in /proc/cmdline: {}", missing.join(" ")),
            },
        )
        .fix(format!("{} on the kernel command line", missing.join(" ")))
        .undo("remove them from the kernel command line")
}

fn iommu(view: &View<'_>) -> Finding {
    let check = Check {
        name: "iommu",
        title: "translation of the addresses of devices",
        good: "off, or passed through",
        why: "each packet's buffer is mapped and unmapped",
        when: When::KernelCommandLine,
    };
    let folder = "/sys/kernel/iommu_groups";
    let groups = view.system.names(folder);
    if groups.is_empty() {
        return match view.system.has(folder) {
            true => check.found(Verdict::Ok, format!("none in {folder}")),
            false => view.absent(check, folder, "CONFIG_IOMMU_SUPPORT"),
        };
    }
    let is_identity = groups.iter().all(|group| {
        view.read(&format!("/sys/kernel/iommu_groups/{group}/type")).as_deref() == Some("identity")
    });
    check
        .judged(
            is_identity,
            Verdict::Info,
            match is_identity {
                true => "identity in /sys/kernel/iommu_groups/*/type".to_owned(),
                false => format!("{} groups with translation", groups.len()),
            },
        )
        .fix("iommu=pt on the kernel command line")
        .undo("remove iommu=pt from the kernel command line")
}
