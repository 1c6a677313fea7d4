//! System management interrupts: the firmware stops all processors at the same time, and no event
//! of the kernel shows it.
//!
//! The processor only counts them. An interruption is given to the firmware if nothing else
//! explains it, if all processors have it at the same moment, and if the count of the firmware is
//! not smaller than the number of such moments.
//! Failure: without the register, in a guest and for an ordinary user the answer is a text with the
//! reason.

use std::{fs::File, os::unix::fs::FileExt as _, path::Path};

use crate::{cause::Cause, gaps::Gap, rungs::is_guest, spin::ProcessorGaps, watch::Interruption};

/// The register in which Intel's processors count them.
const MSR_SMI_COUNT: u64 = 0x34;

/// The counters of some processors.
#[derive(Debug)]
pub struct SmiCounts(Vec<File>);

impl SmiCounts {
    /// Opens them; an error is the reason why there are none. `hypervisor`: its name, if the
    /// processor reports one.
    pub fn open(cpus: &[u32], hypervisor: Option<&str>) -> Result<Self, String> {
        if let Some(name) = hypervisor.filter(|_| is_guest(hypervisor)) {
            return Err(format!("a guest of {name} does not see those of the machine"));
        }
        let path = |cpu: &u32| format!("/dev/cpu/{cpu}/msr");
        let opened = cpus.iter().map(|cpu| open_msr(Path::new(&path(cpu))));
        opened.collect::<Result<Vec<_>, _>>().map(Self)
    }

    /// The counts now, in the order of the processors; 0 for one that cannot be read any more.
    pub fn read(&self) -> Vec<u32> {
        self.0.iter().map(|file| read_msr(file).unwrap_or(0)).collect()
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

/// Keeps the counts of a measurement, and gives the interruptions of all processors that nothing
/// else explains to the firmware, as far as it counted.
pub fn explain(found: &mut [ProcessorGaps], before: &[u32], after: &[u32]) {
    let counted = before.iter().zip(after).map(|(before, after)| after.wrapping_sub(*before));
    for (one, count) in found.iter_mut().zip(counted) {
        one.system_management = Some(count.into());
    }
    let most = found.iter().filter_map(|one| one.system_management).max().unwrap_or(0);
    let Some((first, others)) = found.split_first() else { return };
    if others.is_empty() {
        return;
    }
    let is_common = |gap: &Gap| others.iter().all(|other| in_common(other.kept(), gap).is_some());
    let common: Vec<Gap> = first
        .kept()
        .iter()
        .filter(|one| one.cause == Cause::Unexplained && is_common(&one.gap))
        .map(|one| one.gap)
        .collect();
    if common.len() as u64 > most {
        return;
    }
    for processor in found {
        let kept = &mut processor.watched.kept;
        for gap in &common {
            if let Some(index) = in_common(kept, gap) {
                kept[index].cause = Cause::SystemManagement;
            }
        }
    }
}

/// The interruption without an explanation that has a moment in common with another one.
fn in_common(kept: &[Interruption], gap: &Gap) -> Option<usize> {
    let first = kept.partition_point(|one| one.gap.to <= gap.from);
    let near = kept[first..].iter().take_while(|one| one.gap.from < gap.to);
    let index = near.into_iter().position(|one| one.cause == Cause::Unexplained)?;
    Some(first + index)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nanotape_clock::Stamp;
    use nanotape_harness::Scratch;

    use super::*;
    use crate::{speed::Speed, watch::Watched};

    #[test]
    fn the_count_is_the_low_half_of_the_register() {
        let scratch = Scratch::folder("msr");
        let path = scratch.path().join("msr");
        let mut bytes = vec![0_u8; 0x40];
        bytes[0x34..0x3c].copy_from_slice(&0xffff_ffff_0000_002a_u64.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let counts = SmiCounts(vec![open_msr(&path).unwrap()]);
        assert_eq!(counts.read(), [42]);
        fs::write(&path, &bytes[..0x30]).unwrap();
        assert!(open_msr(&path).unwrap_err().starts_with("this processor does not count them"));
        let missing = open_msr(&scratch.path().join("none")).unwrap_err();
        assert!(missing.contains("none") && missing.contains("root"), "{missing}");
    }

    #[test]
    fn a_guest_cannot_read_them_and_reports_it() {
        let reason = SmiCounts::open(&[0], Some("KVM")).unwrap_err();
        assert_eq!(reason, "a guest of KVM does not see those of the machine");
    }

    fn processor(cpu: u32, gaps: &[(u64, u64, Cause)]) -> ProcessorGaps {
        let gap = |from, to| Gap { from: Stamp::from_ticks(from), to: Stamp::from_ticks(to) };
        let kept = gaps.iter().map(|(from, to, cause)| Interruption {
            gap: gap(*from, *to),
            cpu,
            cause: cause.clone(),
        });
        let watched = Watched { thread: 1, kept: kept.collect(), not_kept: 0, rungs: Vec::new() };
        ProcessorGaps {
            cpu,
            is_pinned: true,
            whole: gap(0, 1_000),
            watched,
            turns: 1,
            speed: Speed::default(),
            speed_changes: Vec::new(),
            interrupts: None,
            system_management: None,
            events: None,
            refused: Vec::new(),
        }
    }

    fn causes(processor: &ProcessorGaps) -> Vec<Cause> {
        processor.kept().iter().map(|one| one.cause.clone()).collect()
    }

    /// A moment of both at 100, one of each alone, and one that a timer explains at one of them.
    fn both() -> [ProcessorGaps; 2] {
        use Cause::{Timer, Unexplained};
        [
            processor(
                0,
                &[(100, 150, Unexplained), (300, 310, Unexplained), (500, 550, Unexplained)],
            ),
            processor(1, &[(90, 140, Unexplained), (400, 410, Unexplained), (510, 540, Timer)]),
        ]
    }

    #[test]
    fn what_all_processors_have_at_once_is_the_firmware_if_it_counted() {
        use Cause::{SystemManagement, Timer, Unexplained};
        let mut found = both();
        explain(&mut found, &[u32::MAX, 7], &[0, 8]);
        assert_eq!(causes(&found[0]), [SystemManagement, Unexplained, Unexplained]);
        assert_eq!(causes(&found[1]), [SystemManagement, Unexplained, Timer]);
        assert_eq!(found.map(|one| one.system_management), [Some(1), Some(1)]);
    }

    #[test]
    fn what_the_firmware_did_not_count_is_not_given_to_it() {
        let mut found = both();
        explain(&mut found, &[7, 7], &[7, 7]);
        assert!(causes(&found[0]).iter().all(|cause| *cause == Cause::Unexplained));
        assert_eq!(found[0].system_management, Some(0));
    }

    #[test]
    fn one_processor_does_not_decide() {
        let [mut one, _] = both().map(|one| [one]);
        explain(&mut one, &[7], &[9]);
        assert!(causes(&one[0]).iter().all(|cause| *cause == Cause::Unexplained));
        assert_eq!(one[0].system_management, Some(2));
    }
}
