//! Interrupts and softirqs of each processor, from the kernel's counts.
//!
//! A read costs tens of microseconds, so the counts are for a whole measurement and not for one
//! interruption.

use std::{collections::BTreeMap, fs};

/// Counts at one moment: by processor and name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InterruptCounts(BTreeMap<(u32, String), u64>);

impl InterruptCounts {
    /// Reads the counts; empty if the kernel's files cannot be read.
    pub fn read() -> Self {
        let mut counts = Self::default();
        for path in ["/proc/interrupts", "/proc/softirqs"] {
            counts.add(&fs::read_to_string(path).unwrap_or_default());
        }
        counts
    }

    /// Whether there are counts of interrupts: in a container the file can be there and empty.
    pub fn has_interrupts(&self) -> bool {
        self.0.keys().any(|(_, name)| !name.starts_with(SOFTIRQ))
    }

    /// The counts of one processor since `earlier`, largest first, without those that are zero.
    pub fn since(&self, earlier: &Self, cpu: u32) -> Vec<(String, u64)> {
        let own = self.0.iter().filter(|((of, _), _)| *of == cpu);
        let mut grown: Vec<(String, u64)> = own
            .map(|(key, now)| {
                (key.1.clone(), now.saturating_sub(earlier.0.get(key).copied().unwrap_or(0)))
            })
            .filter(|(_, count)| *count > 0)
            .collect();
        grown.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        grown
    }

    /// The number of interrupts among such counts: softirqs follow an interrupt.
    pub fn interrupts_in(counts: &[(String, u64)]) -> u64 {
        counts.iter().filter(|(name, _)| !name.starts_with(SOFTIRQ)).map(|(_, count)| count).sum()
    }

    /// Adds the lines of one of the files. The first line names the processors.
    fn add(&mut self, text: &str) {
        let mut lines = text.lines();
        let Some(head) = lines.next() else { return };
        let cpus: Vec<u32> = head
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
            .collect();
        for line in lines {
            let Some((label, rest)) = line.split_once(':') else { continue };
            let mut words = rest.split_whitespace();
            let counts: Vec<u64> =
                words.by_ref().take(cpus.len()).map_while(|word| word.parse().ok()).collect();
            // Lines such as `ERR` have one count for the whole machine.
            if counts.len() != cpus.len() {
                continue;
            }
            let name = name_of(label.trim(), &words.collect::<Vec<_>>());
            for (&cpu, count) in cpus.iter().zip(counts) {
                let known = self.0.entry((cpu, name.clone())).or_default();
                *known = known.saturating_add(count);
            }
        }
    }
}

/// Names of softirqs begin so: their lines have no words behind the counts.
const SOFTIRQ: &str = "softirq ";

/// `virtio0-input.0` of a device, `Local timer interrupts` of the processor.
fn name_of(label: &str, words: &[&str]) -> String {
    match words {
        [] => format!("{SOFTIRQ}{label}"),
        _ if label.bytes().all(|byte| byte.is_ascii_digit()) => {
            // The driver's name stands behind the chip, the number and the trigger.
            words.last().copied().unwrap_or(label).to_owned()
        }
        _ => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "           CPU0       CPU1\n\
        \x20  4:          1        100   IO-APIC   4-edge      ttyS0\n\
        \x20 25:          0          0   PCI-MSIX-0000:00:02.0   1-edge      virtio0-input.0\n\
        \x20LOC:     100000     200000   Local timer interrupts\n\
        \x20ERR:          7\n";
    const SOFTIRQS: &str = "                    CPU0       CPU1\n\
        \x20         HI:          0          1\n\
        \x20      TIMER:        500        600\n";

    fn counts(interrupts: &str) -> InterruptCounts {
        let mut counts = InterruptCounts::default();
        counts.add(interrupts);
        counts.add(SOFTIRQS);
        counts
    }

    #[test]
    fn counts_are_of_one_processor_largest_first() {
        let after =
            BEFORE.replace("200000", "200750").replace("          0   PCI", "          9   PCI");
        let grown = counts(&after).since(&counts(BEFORE), 1);
        let expected =
            [("Local timer interrupts".to_owned(), 750), ("virtio0-input.0".to_owned(), 9)];
        assert_eq!(grown, expected);
        assert_eq!(InterruptCounts::interrupts_in(&grown), 759);
        assert_eq!(counts(&after).since(&counts(BEFORE), 0), []);
    }

    #[test]
    fn softirqs_are_not_counted_twice() {
        let none = InterruptCounts::default();
        let all = counts(BEFORE).since(&none, 0);
        assert!(all.contains(&("softirq TIMER".to_owned(), 500)));
        assert_eq!(InterruptCounts::interrupts_in(&all), 100_001);
    }

    #[test]
    fn a_masked_file_is_not_the_same_as_no_interrupt() {
        assert!(counts(BEFORE).has_interrupts());
        assert!(!counts("").has_interrupts());
    }

    #[test]
    fn rubbish_is_left_out() {
        for text in ["", "\n\n", "CPU0\nLOC: x y", "CPUx CPU1\n1: 5", "\u{0}:\u{0}\n:::"] {
            counts(text);
        }
    }
}
