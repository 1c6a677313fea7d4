//! What the kernel counts of processors, of memory and of processes.

use std::fs;

use crate::text::{bytes, value};

/// Time of a processor, or of all, since the start of the machine, in the kernel's ticks, usually
/// of 10 ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ticks {
    /// Used by processes: user, nice and system, without interrupts.
    pub busy: u64,
    /// Used by interrupts, if the kernel counts them apart.
    pub interrupts: u64,
    /// Requested, but given to another guest by the hypervisor.
    pub stolen: u64,
    /// All of it, idle time included.
    pub all: u64,
}

impl Ticks {
    /// From the text of `/proc/stat`: those of a processor, without one the sum of all.
    pub fn of(stat: &str, cpu: Option<u32>) -> Option<Self> {
        let name = cpu.map_or("cpu".to_owned(), |cpu| format!("cpu{cpu}"));
        let mut words = stat
            .lines()
            .map(str::split_whitespace)
            .find_map(|mut words| (words.next() == Some(name.as_str())).then_some(words))?;
        let mut fields = [0_u64; 8];
        for field in &mut fields {
            *field = words.next()?.parse().ok()?;
        }
        let [user, nice, system, _, _, interrupts, _, stolen] = fields;
        let all = fields.iter().try_fold(0_u64, |sum, one| sum.checked_add(*one))?;
        Some(Self { busy: user + nice + system, interrupts, stolen, all })
    }
}

/// The text of `/proc/PID/stat` or `/proc/PID/task/TID/stat`.
#[derive(Clone, Debug)]
pub struct ProcessStat<'a> {
    /// The name of the program.
    pub name: &'a str,
    /// The fields from the third one on.
    fields: Vec<&'a str>,
}

impl<'a> ProcessStat<'a> {
    /// The second field is a name with any characters, so the fields are counted from its last
    /// bracket.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (head, rest) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        Some(Self { name, fields: rest.split_whitespace().collect() })
    }

    /// A field by its number in the manual, from 3.
    pub fn field(&self, number: usize) -> Option<&'a str> {
        self.fields.get(number.checked_sub(3)?).copied()
    }

    /// The same as a number.
    pub fn number(&self, number: usize) -> Option<u64> {
        self.field(number)?.parse().ok()
    }
}

/// When this process started, in seconds since 1970: the boot of the kernel, and the start in
/// hundredths of a second after it.
pub fn process_start_unix_s() -> Option<u64> {
    start_in(&fs::read_to_string("/proc/self/stat").ok()?, &fs::read_to_string("/proc/stat").ok()?)
}

fn start_in(own: &str, system: &str) -> Option<u64> {
    const TICKS_PER_SECOND: u64 = 100;
    let boot = system.lines().find_map(|line| line.strip_prefix("btime "))?;
    let boot: u64 = boot.trim().parse().ok()?;
    boot.checked_add(ProcessStat::parse(own)?.number(22)? / TICKS_PER_SECOND)
}

/// A value of the `some` line of a file of `/proc/pressure`: `avg10` or `total`.
pub fn pressure<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// Bytes that programs can get before the machine swaps or drops cached files.
pub fn available_memory_bytes() -> Option<u64> {
    bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// A set of bits in the status of this process: `CapEff`, `SigIgn`.
pub fn status_mask(key: &str) -> Option<u64> {
    mask(&fs::read_to_string("/proc/self/status").ok()?, key)
}

fn mask(status: &str, key: &str) -> Option<u64> {
    u64::from_str_radix(value(status, key)?, 16).ok()
}

/// The control groups that limit the processor time of a process, from the text of its file
/// `cgroup`: controllers and path of each. A group of version 2 has no controllers there.
pub fn processor_groups(text: &str) -> impl Iterator<Item = (&str, &str)> {
    // Lines are NUMBER:CONTROLLERS:GROUP.
    let groups = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    groups.filter(|(controllers, _)| {
        controllers.is_empty() || controllers.split(',').any(|one| one == "cpu")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  41633 191 6945 488284 776 0 103 31 0 0\n\
        cpu0 19842 62 3259 245663 135 0 11 11 0 0\n\
        cpu1 21791 129 3685 242620 641 0 92 19 0 0\n\
        cpu10 1 2 3 4 5 6 7 8 0 0\nintr 8885917 17\nbtime 1000\n";

    #[test]
    fn ticks_are_of_the_one_processor() {
        let ticks = |cpu| Ticks::of(STAT, cpu).map(|one| (one.busy, one.stolen, one.interrupts));
        assert_eq!(ticks(Some(1)), Some((21791 + 129 + 3685, 19, 0)));
        assert_eq!(ticks(Some(10)), Some((6, 8, 6)));
        assert_eq!(ticks(None), Some((41633 + 191 + 6945, 31, 0)));
        assert_eq!(ticks(Some(2)), None);
        assert_eq!(Ticks::of(STAT, Some(10)).map(|one| one.all), Some(36));
    }

    #[test]
    fn rubbish_has_no_ticks() {
        let huge = format!("cpu0 {0} {0} 0 0 0 0 0 0", u64::MAX);
        for text in ["", "cpu0", "cpu0 1 2 3 4 5 6 7", "cpu0 a 2 3 4 5 6 7 8", &huge] {
            assert_eq!(Ticks::of(text, Some(0)), None, "{text:?}");
        }
    }

    #[test]
    fn a_program_may_be_named_anything() {
        let text = "7 (a ) b) S 1 7 7 0 -1 4194304 101 102 0 0 11 12 130 14 20 0 1 0 450";
        let stat = ProcessStat::parse(text).expect("a process");
        assert_eq!((stat.name, stat.field(3), stat.number(10)), ("a ) b", Some("S"), Some(101)));
        assert_eq!((stat.field(8), stat.number(8), stat.field(2)), (Some("-1"), None, None));
        assert_eq!((stat.number(22), stat.number(23)), (Some(450), None));
        assert_eq!(start_in(text, STAT), Some(1_004));
        for rubbish in ["", "42 (a", "42 a)"] {
            assert!(ProcessStat::parse(rubbish).is_none(), "{rubbish:?}");
        }
        assert_eq!(start_in(text, "btime x"), None);
        assert_eq!(start_in("7 (a) S 1", STAT), None);
    }

    #[test]
    fn pressure_is_that_of_some() {
        let text = "some avg10=5.69 avg60=20.26 avg300=12.71 total=64470010\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(
            (pressure(text, "total"), pressure(text, "avg10")),
            (Some("64470010"), Some("5.69"))
        );
        for rubbish in ["", "some", "full total=1", "some totals=1"] {
            assert_eq!(pressure(rubbish, "total"), None, "{rubbish:?}");
        }
    }

    #[test]
    fn masks_are_hexadecimal() {
        assert_eq!(
            mask("CapPrm:\t1\nCapEff:\t000001fffeffffff\n", "CapEff"),
            Some(0x1ff_feff_ffff)
        );
        for status in ["", "CapEff:", "CapEff:\tzz", "CapPrm:\t000001fffeffffff"] {
            assert_eq!(mask(status, "CapEff"), None, "{status:?}");
        }
    }

    #[test]
    fn groups_of_other_controllers_are_left_out() {
        let text = "4:memory:/x\n3:cpu,cpuacct:/a/b\n0::/a:b\nrubbish\n";
        let groups: Vec<_> = processor_groups(text).collect();
        assert_eq!(groups, [("cpu,cpuacct", "/a/b"), ("", "/a:b")]);
    }

    #[test]
    fn this_process_can_be_read() {
        assert!(process_start_unix_s().is_some_and(|start| start > 1_000_000_000));
        assert!(available_memory_bytes().is_some_and(|bytes| bytes > 0));
        assert!(status_mask("SigIgn").is_some());
    }
}
