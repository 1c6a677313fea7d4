//! The machine: its processor, its hypervisor, its load.

use super::{known, read};

/// The model from the text of `/proc/cpuinfo`. Arm processors have no name there, only numbers of
/// their maker and part, which identify them too.
pub(super) fn cpu_model(text: &str) -> Option<String> {
    if let Some(name) = value(text, "model name").and_then(known) {
        return Some(name);
    }
    let (maker, part) = (value(text, "CPU implementer")?, value(text, "CPU part")?);
    Some(format!("implementer {}, part {}", known(maker)?, known(part)?))
}

/// The hypervisor, from the processor, the kernel, and the name of the board; `none` only if an x86
/// processor reports that there is none.
pub(super) fn hypervisor(cpu_info: Option<&str>) -> Option<String> {
    let flagged = cpu_info.and_then(has_hypervisor_flag);
    if flagged == Some(false) {
        return Some("none".to_owned());
    }
    let name = vendor_from_processor(flagged)
        .or_else(|| read("/sys/hypervisor/type").as_deref().and_then(known));
    let board = board(
        read("/sys/class/dmi/id/sys_vendor").as_deref(),
        read("/sys/class/dmi/id/product_name").as_deref(),
    );
    describe(flagged, name, board)
}

/// Without the processor's flag (not x86) a board's name is no proof, so it is not used alone.
fn describe(flagged: Option<bool>, name: Option<String>, board: Option<String>) -> Option<String> {
    match (name, board) {
        (Some(name), Some(board)) => Some(format!("{name} ({board})")),
        (Some(name), None) => Some(name),
        (None, Some(board)) if flagged == Some(true) => Some(board),
        (None, _) if flagged == Some(true) => Some("one without a name".to_owned()),
        (None, _) => None,
    }
}

fn board(vendor: Option<&str>, product: Option<&str>) -> Option<String> {
    match (vendor.and_then(known), product.and_then(known)) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (one, other) => one.or(other),
    }
}

/// Whether the processor reports a hypervisor; None if it reports no flags, as on Arm.
fn has_hypervisor_flag(cpu_info: &str) -> Option<bool> {
    let flags = value(cpu_info, "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The leaf is defined only if the flag is set: otherwise it returns other data.
#[cfg(target_arch = "x86_64")]
fn vendor_from_processor(flagged: Option<bool>) -> Option<String> {
    if flagged != Some(true) {
        return None;
    }
    let leaf = core::arch::x86_64::__cpuid(0x4000_0000);
    let mut name = [0; 12];
    for (bytes, register) in name.chunks_exact_mut(4).zip([leaf.ebx, leaf.ecx, leaf.edx]) {
        bytes.copy_from_slice(&register.to_le_bytes());
    }
    vendor(&name)
}

#[cfg(not(target_arch = "x86_64"))]
fn vendor_from_processor(_flagged: Option<bool>) -> Option<String> {
    None
}

/// The usual name of a hypervisor, from the twelve letters of its leaf.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "asked of x86 only"))]
fn vendor(letters: &[u8; 12]) -> Option<String> {
    let name = match letters {
        b"KVMKVMKVM\0\0\0" => "KVM",
        b"Microsoft Hv" => "Hyper-V",
        b"VMwareVMware" => "VMware",
        b"XenVMMXenVMM" => "Xen",
        b"VBoxVBoxVBox" => "VirtualBox",
        b"TCGTCGTCGTCG" => "QEMU",
        b"bhyve bhyve " => "bhyve",
        b"ACRNACRNACRN" => "ACRN",
        other => {
            let text = str::from_utf8(other).ok()?.trim_matches('\0');
            return known(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    };
    Some(name.to_owned())
}

/// The load over one minute, from the text of `/proc/loadavg`.
pub(super) fn load_average(text: &str) -> Option<f64> {
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    (load.is_finite() && load >= 0.0).then_some(load)
}

/// The first `key : value` line of `/proc/cpuinfo` with this key.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIRTUAL: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\n\
        model name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu vme hypervisor lahf_lm\n\n\
        processor\t: 1\nmodel name\t: Something else\n";
    const METAL: &str = "model name\t: AMD Ryzen 9 7950X\nflags\t\t: fpu nohypervisor lahf_lm\n";
    const ARM: &str = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\
        CPU architecture: 8\nCPU part\t: 0xd40\n";

    #[test]
    fn processors_have_names_or_numbers() {
        assert_eq!(cpu_model(VIRTUAL).as_deref(), Some("Intel(R) Xeon(R) Processor"));
        assert_eq!(cpu_model(ARM).as_deref(), Some("implementer 0x41, part 0xd40"));
        for rubbish in ["", "model name", "model name\t: \n", "\u{fffd}\0\u{1}:::\n"] {
            assert_eq!(cpu_model(rubbish), None);
        }
    }

    #[test]
    fn the_flag_is_a_word_of_its_own() {
        assert_eq!(has_hypervisor_flag(VIRTUAL), Some(true));
        assert_eq!(has_hypervisor_flag(METAL), Some(false));
        assert_eq!(has_hypervisor_flag(ARM), None);
        assert_eq!(hypervisor(Some(METAL)).as_deref(), Some("none"));
    }

    #[test]
    fn a_board_alone_proves_a_hypervisor_only_with_the_flag() {
        let board = || board(Some("Amazon EC2\n"), Some("m7i.large"));
        assert_eq!(
            describe(Some(true), Some("KVM".into()), board()).as_deref(),
            Some("KVM (Amazon EC2 m7i.large)")
        );
        assert_eq!(describe(Some(true), None, board()).as_deref(), Some("Amazon EC2 m7i.large"));
        assert_eq!(describe(None, None, board()), None);
        assert_eq!(describe(Some(true), None, None).as_deref(), Some("one without a name"));
    }

    #[test]
    fn vendors_have_names() {
        assert_eq!(vendor(b"KVMKVMKVM\0\0\0").as_deref(), Some("KVM"));
        assert_eq!(vendor(b"NewVendor\0\0\0").as_deref(), Some("NewVendor"));
        assert_eq!(vendor(&[0; 12]), None);
        assert_eq!(vendor(&[255; 12]), None);
    }

    #[test]
    fn load_is_the_first_number() {
        assert_eq!(load_average("0.52 0.58 0.59 1/467 12345\n"), Some(0.52));
        for rubbish in ["", "x", "-1", "nan", "inf 0"] {
            assert_eq!(load_average(rubbish), None, "{rubbish:?}");
        }
    }
}
