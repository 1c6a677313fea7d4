//! Settings of the machine: frequencies, huge pages, random addresses.

use crate::{System, chosen};

/// The bit of a process's personality that turns random addresses off.
const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;

/// Frequencies above the nominal one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turbo {
    /// Whether the processor may use them.
    pub is_on: bool,
    /// The file that shows it.
    pub path: &'static str,
    /// Its text.
    pub text: String,
    /// What turns them off there.
    pub off: &'static str,
}

impl System {
    /// The path of a file of a processor's frequency, such as `scaling_governor`.
    pub fn frequency_path(cpu: u32, file: &str) -> String {
        format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}")
    }

    /// Whether frequencies above the nominal one are on; `None` if no driver reports it. Intel's
    /// driver reports whether they are off, the others whether they are on.
    pub fn turbo(&self) -> Option<Turbo> {
        let drivers = [
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
            ("/sys/devices/system/cpu/cpufreq/boost", "0"),
        ];
        drivers.into_iter().find_map(|(path, off)| {
            let text = self.read(path).filter(|text| matches!(text.as_str(), "0" | "1"))?;
            Some(Turbo { is_on: text != off, path, text, off })
        })
    }

    /// `transparent: madvise; reserved: 0`.
    pub fn huge_pages(&self) -> Option<String> {
        let transparent = self.read("/sys/kernel/mm/transparent_hugepage/enabled");
        let transparent = transparent.as_deref().and_then(chosen);
        let reserved = self.read("/proc/sys/vm/nr_hugepages");
        let reserved = reserved.and_then(|text| text.parse::<u64>().ok());
        let words = [
            transparent.map(|word| format!("transparent: {word}")),
            reserved.map(|count| format!("reserved: {count}")),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Whether addresses differ from run to run: the kernel's setting, unless this process was
    /// started without them, as `setarch -R` and debuggers do.
    pub fn address_layout(&self) -> Option<String> {
        let kernel = self.read("/proc/sys/kernel/randomize_va_space");
        let personality = self.read("/proc/self/personality");
        address_layout(kernel.as_deref(), personality.as_deref())
    }
}

fn address_layout(kernel: Option<&str>, personality: Option<&str>) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::machine;

    #[test]
    fn turbo_is_read_from_either_driver() {
        let intel = "sys/devices/system/cpu/intel_pstate/no_turbo";
        let other = "sys/devices/system/cpu/cpufreq/boost";
        let is_on = |files: &[(&str, &str)]| machine(files).1.turbo().map(|turbo| turbo.is_on);
        assert_eq!(is_on(&[(intel, "0\n")]), Some(true));
        assert_eq!(is_on(&[(intel, "1\n"), (other, "1\n")]), Some(false));
        assert_eq!(is_on(&[(other, "0\n")]), Some(false));
        assert_eq!(is_on(&[(other, "1\n")]), Some(true));
        assert_eq!(is_on(&[(intel, "rubbish")]), None);
        assert_eq!(is_on(&[]), None);
    }

    #[test]
    fn huge_pages_show_what_is_known_of_them() {
        let transparent = "sys/kernel/mm/transparent_hugepage/enabled";
        let reserved = "proc/sys/vm/nr_hugepages";
        let text = |files: &[(&str, &str)]| machine(files).1.huge_pages();
        let both = text(&[(transparent, "always [madvise] never\n"), (reserved, "512\n")]);
        assert_eq!(both.as_deref(), Some("transparent: madvise; reserved: 512"));
        assert_eq!(text(&[(reserved, "0")]).as_deref(), Some("reserved: 0"));
        assert_eq!(text(&[(transparent, "always madvise never"), (reserved, "many")]), None);
    }

    #[test]
    fn a_process_can_be_started_without_random_addresses() {
        assert_eq!(address_layout(Some("2\n"), Some("00000000\n")).as_deref(), Some("on"));
        assert_eq!(
            address_layout(Some("2\n"), Some("00040000\n")).as_deref(),
            Some("off for this process")
        );
        assert_eq!(address_layout(Some("0"), Some("0")).as_deref(), Some("off"));
        assert_eq!(
            address_layout(Some("2"), None).as_deref(),
            Some("on, unless this process was started without")
        );
        assert_eq!(address_layout(Some("7"), Some("0")), None);
        assert_eq!(address_layout(None, Some("zz")), None);
    }
}
