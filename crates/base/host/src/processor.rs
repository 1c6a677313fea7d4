//! The processor: its model, and the hypervisor below it.

use crate::{System, text::known};

impl System {
    /// The model of the processor. Arm processors have no name in `/proc/cpuinfo`, only numbers of
    /// their maker and part, which identify them too.
    pub fn processor_model(&self) -> Option<String> {
        let value = |key| known(&self.processor_value(key)?);
        value("model name").or_else(|| {
            Some(format!("implementer {}, part {}", value("CPU implementer")?, value("CPU part")?))
        })
    }
}

/// The hypervisor of this machine, from the processor, the kernel, and the name of the board;
/// `none` only if an x86 processor reports that there is none.
pub fn hypervisor() -> Option<String> {
    let system = System::default();
    let flagged = system.has_flag("hypervisor");
    if flagged == Some(false) {
        return Some("none".to_owned());
    }
    let read = |path| known(&system.read(path)?);
    let name = vendor_from_processor(flagged).or_else(|| read("/sys/hypervisor/type"));
    let board = board(read("/sys/class/dmi/id/sys_vendor"), read("/sys/class/dmi/id/product_name"));
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

fn board(vendor: Option<String>, product: Option<String>) -> Option<String> {
    match (vendor, product) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (one, other) => one.or(other),
    }
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
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "read on x86 only"))]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::machine;

    const VIRTUAL: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\n\
        model name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu vme hypervisor lahf_lm\n\n\
        processor\t: 1\nmodel name\t: Something else\n";
    const METAL: &str = "model name\t: AMD Ryzen 9 7950X\nflags\t\t: fpu nohypervisor lahf_lm\n";
    const ARM: &str = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\
        CPU architecture: 8\nCPU part\t: 0xd40\n";

    fn with<T>(cpu_info: &str, report: impl FnOnce(&System) -> T) -> T {
        let (_root, system) = machine(&[("proc/cpuinfo", cpu_info)]);
        report(&system)
    }

    #[test]
    fn processors_have_names_or_numbers() {
        let model = |text| with(text, System::processor_model);
        assert_eq!(model(VIRTUAL).as_deref(), Some("Intel(R) Xeon(R) Processor"));
        assert_eq!(model(ARM).as_deref(), Some("implementer 0x41, part 0xd40"));
        for rubbish in ["", "model name", "model name\t: \n", "\u{fffd}\0\u{1}:::\n"] {
            assert_eq!(model(rubbish), None);
        }
    }

    #[test]
    fn the_flag_is_a_word_of_its_own() {
        let flagged = |text| with(text, |system| system.has_flag("hypervisor"));
        assert_eq!(
            [flagged(VIRTUAL), flagged(METAL), flagged(ARM)],
            [Some(true), Some(false), None]
        );
    }

    #[test]
    fn a_board_alone_proves_a_hypervisor_only_with_the_flag() {
        let board = || board(Some("Amazon EC2".into()), Some("m7i.large".into()));
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
}
