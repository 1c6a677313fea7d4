//! The sources of causes that belong to the machine and not to a thread: which are used, and why
//! others are not.

use std::path::Path;

use crate::{
    attribution::Rung,
    interrupts::InterruptCounts,
    kernel_trace::{KernelTrace, TraceUnavailable},
    smi::SmiCounts,
};

/// Whether there is a hypervisor below this kernel, by the name that the processor reports.
pub fn is_guest(hypervisor: Option<&str>) -> bool {
    hypervisor.is_some_and(|name| name != "none")
}

/// The rungs of the machine, for a record. `hypervisor`: its name, if the processor reports one.
pub fn rungs(
    trace: Result<&KernelTrace, &TraceUnavailable>,
    smi: Result<&SmiCounts, &String>,
    hypervisor: Option<&str>,
) -> Vec<Rung> {
    const EVENTS: &str = "events of the kernel";
    const INTERRUPTS: &str = "counts of interrupts and softirqs";
    const FREQUENCY: &str = "frequency of single interruptions";
    const SMI: &str = "system management interrupts";
    const PT: &str = "Intel PT";
    let pt = Path::new("/sys/bus/event_source/devices/intel_pt");
    vec![
        match trace {
            Ok(_) => Rung::used(EVENTS),
            Err(reason) => Rung::unused(EVENTS, reason.to_string()),
        },
        match InterruptCounts::read().has_interrupts() {
            true => Rung::used(INTERRUPTS),
            false => Rung::unused(INTERRUPTS, "/proc/interrupts is empty or cannot be read"),
        },
        Rung::used("speed of the loop"),
        match is_guest(hypervisor) {
            false => Rung::used(FREQUENCY),
            true => Rung::unused(FREQUENCY, "in a guest it can be the host that moves a processor"),
        },
        match smi {
            Ok(_) => Rung::used(SMI),
            Err(reason) => Rung::unused(SMI, reason.as_str()),
        },
        match pt.exists() {
            true => Rung::unused(
                PT,
                "present: perf record --snapshot -e intel_pt//k -a shows the kernel's path",
            ),
            false => Rung::unused(PT, "this machine has no intel_pt"),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_that_is_not_used_has_a_reason() {
        let (trace, smi) = (TraceUnavailable::OtherClock, "no".to_owned());
        let rungs = rungs(Err(&trace), Err(&smi), Some("KVM"));
        let unused = |name: &str| {
            rungs.iter().find(|rung| rung.name == name).and_then(|rung| rung.unused.clone())
        };
        assert_eq!(unused("system management interrupts").as_deref(), Some("no"));
        assert_eq!(unused("events of the kernel"), Some(trace.to_string()));
        assert_eq!(unused("speed of the loop"), None);
        assert!(unused("frequency of single interruptions").is_some());
        assert!(unused("Intel PT").is_some());
    }
}
