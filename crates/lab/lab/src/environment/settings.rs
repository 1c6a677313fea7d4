//! The settings of the machine: frequency, huge pages, random addresses.

use super::{known, read};

/// The bit of a process's personality that turns random addresses off.
const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;

/// The frequency governor of a processor.
pub(super) fn governor(cpu: u32) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    read(path).as_deref().and_then(known)
}

/// Intel's driver reports whether turbo is off, the others whether it is on.
pub(super) fn turbo() -> Option<String> {
    let off = read("/sys/devices/system/cpu/intel_pstate/no_turbo");
    let on = read("/sys/devices/system/cpu/cpufreq/boost");
    turbo_text(off.as_deref(), on.as_deref())
}

fn turbo_text(off: Option<&str>, on: Option<&str>) -> Option<String> {
    let off = off.and_then(flag);
    let on = off.map(|off| !off).or_else(|| on.and_then(flag))?;
    Some(if on { "on" } else { "off" }.to_owned())
}

/// `transparent: madvise; reserved: 0`.
pub(super) fn huge_pages() -> Option<String> {
    let transparent = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let reserved = read("/proc/sys/vm/nr_hugepages");
    huge_pages_text(transparent.as_deref(), reserved.as_deref())
}

fn huge_pages_text(transparent: Option<&str>, reserved: Option<&str>) -> Option<String> {
    let transparent = transparent.and_then(chosen).map(|word| format!("transparent: {word}"));
    let reserved = reserved
        .and_then(|text| text.trim().parse::<u64>().ok())
        .map(|count| format!("reserved: {count}"));
    match (transparent, reserved) {
        (Some(transparent), Some(reserved)) => Some(format!("{transparent}; {reserved}")),
        (one, other) => one.or(other),
    }
}

/// Whether addresses differ from run to run: the kernel's setting, unless this process was started
/// without them, as `setarch -R` and debuggers do.
pub(super) fn aslr() -> Option<String> {
    let kernel = read("/proc/sys/kernel/randomize_va_space");
    let personality = read("/proc/self/personality");
    aslr_text(kernel.as_deref(), personality.as_deref())
}

fn aslr_text(kernel: Option<&str>, personality: Option<&str>) -> Option<String> {
    let bits = personality.and_then(|text| u32::from_str_radix(text.trim(), 16).ok());
    if bits.is_some_and(|bits| bits & ADDR_NO_RANDOMIZE != 0) {
        return Some("off for this process".to_owned());
    }
    let text = match kernel?.trim() {
        "0" => "off",
        "1" => "on, without the heap",
        "2" => "on",
        _ => return None,
    };
    Some(match bits {
        Some(_) => text.to_owned(),
        None => format!("{text}, unless this process was started without"),
    })
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    (!word.is_empty()).then_some(word)
}

fn flag(text: &str) -> Option<bool> {
    match text.trim() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turbo_is_read_from_either_driver() {
        assert_eq!(turbo_text(Some("0\n"), None).as_deref(), Some("on"));
        assert_eq!(turbo_text(Some("1\n"), Some("1\n")).as_deref(), Some("off"));
        assert_eq!(turbo_text(None, Some("0\n")).as_deref(), Some("off"));
        assert_eq!(turbo_text(None, Some("1\n")).as_deref(), Some("on"));
        assert_eq!(turbo_text(Some("rubbish"), None), None);
        assert_eq!(turbo_text(None, None), None);
    }

    #[test]
    fn huge_pages_tell_what_is_known_of_them() {
        let both = huge_pages_text(Some("always [madvise] never\n"), Some("512\n"));
        assert_eq!(both.as_deref(), Some("transparent: madvise; reserved: 512"));
        assert_eq!(huge_pages_text(None, Some("0")).as_deref(), Some("reserved: 0"));
        assert_eq!(huge_pages_text(Some("always madvise never"), Some("many")), None);
        assert_eq!(huge_pages_text(Some("a [] b"), None), None);
    }

    #[test]
    fn a_process_can_be_started_without_random_addresses() {
        assert_eq!(aslr_text(Some("2\n"), Some("00000000\n")).as_deref(), Some("on"));
        assert_eq!(
            aslr_text(Some("2\n"), Some("00040000\n")).as_deref(),
            Some("off for this process")
        );
        assert_eq!(aslr_text(Some("0"), Some("0")).as_deref(), Some("off"));
        assert_eq!(
            aslr_text(Some("2"), None).as_deref(),
            Some("on, unless this process was started without")
        );
        assert_eq!(aslr_text(Some("7"), Some("0")), None);
        assert_eq!(aslr_text(None, Some("zz")), None);
    }
}
