//! The sources of causes that belong to the machine and not to a thread: which are used, and why
//! others are not.

use std::{fs::File, os::unix::fs::FileExt as _, path::Path};

use crate::{
    attribution::Rung,
    kernel_trace::{KernelTrace, TraceUnavailable},
};

/// The register in which Intel's processors count system management interrupts.
const MSR_SMI_COUNT: u64 = 0x34;

/// The counters of system management interrupts of some processors.
#[derive(Debug)]
pub struct SmiCounts(Vec<File>);

impl SmiCounts {
    /// Opens them; an error is the reason why there are none. `hypervisor`: its name, if the
    /// processor reports one.
    pub fn open(cpus: &[u32], hypervisor: Option<&str>) -> Result<Self, String> {
        if let Some(name) = hypervisor.filter(|name| *name != "none") {
            return Err(format!("a guest of {name} does not see those of the machine"));
        }
        let path = |cpu: &u32| format!("/dev/cpu/{cpu}/msr");
        let opened = cpus.iter().map(|cpu| open_msr(Path::new(&path(cpu))));
        opened.collect::<Result<Vec<_>, _>>().map(Self)
    }

    /// The sum over the processors.
    pub fn read(&self) -> u64 {
        self.0.iter().filter_map(|file| read_msr(file).ok()).map(u64::from).sum()
    }
}

fn open_msr(path: &Path) -> Result<File, String> {
    let file = File::open(path).map_err(|error| {
        format!("cannot open {}: {error} (it needs root and the module msr)", path.display())
    })?;
    match read_msr(&file) {
        Ok(_) => Ok(file),
        Err(error) => Err(format!("this processor does not count them ({error})")),
    }
}

fn read_msr(file: &File) -> std::io::Result<u32> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, MSR_SMI_COUNT)?;
    let [a, b, c, d, ..] = bytes;
    Ok(u32::from_le_bytes([a, b, c, d]))
}

/// The rungs of the machine, for a record.
pub fn rungs(
    trace: Result<&KernelTrace, &TraceUnavailable>,
    smi: Result<&SmiCounts, &String>,
) -> Vec<Rung> {
    const EVENTS: &str = "events of the kernel";
    const SMI: &str = "system management interrupts";
    const PT: &str = "Intel PT";
    let pt = Path::new("/sys/bus/event_source/devices/intel_pt");
    vec![
        match trace {
            Ok(_) => Rung::used(EVENTS),
            Err(reason) => Rung::unused(EVENTS, reason.to_string()),
        },
        Rung::used("counts of interrupts and softirqs"),
        Rung::used("speed of the loop"),
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
    use std::fs;

    use nanotape_harness::Scratch;

    use super::*;

    #[test]
    fn the_count_is_the_low_half_of_the_register() {
        let scratch = Scratch::folder("msr");
        let path = scratch.path().join("msr");
        let mut bytes = vec![0_u8; 0x40];
        bytes[0x34..0x3c].copy_from_slice(&0xffff_ffff_0000_002a_u64.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read_msr(&open_msr(&path).unwrap()).unwrap(), 42);
        fs::write(&path, &bytes[..0x30]).unwrap();
        assert!(open_msr(&path).unwrap_err().starts_with("this processor does not count them"));
        let missing = open_msr(&scratch.path().join("none")).unwrap_err();
        assert!(missing.contains("none") && missing.contains("root"), "{missing}");
    }

    #[test]
    fn a_guest_is_told_that_it_cannot_see_them() {
        let reason = SmiCounts::open(&[0], Some("KVM")).unwrap_err();
        assert_eq!(reason, "a guest of KVM does not see those of the machine");
    }

    #[test]
    fn a_rung_that_is_not_used_has_a_reason() {
        let (trace, smi) = (TraceUnavailable::OtherClock, "no".to_owned());
        let rungs = rungs(Err(&trace), Err(&smi));
        let unused = |name: &str| {
            rungs.iter().find(|rung| rung.name == name).and_then(|rung| rung.unused.clone())
        };
        assert_eq!(unused("system management interrupts").as_deref(), Some("no"));
        assert_eq!(unused("events of the kernel"), Some(trace.to_string()));
        assert_eq!(unused("speed of the loop"), None);
        assert!(unused("Intel PT").is_some());
    }
}
