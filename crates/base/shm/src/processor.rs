//! The maker of the processor, for the few places whose best way depends on it.

use std::sync::OnceLock;

/// Whether AMD designed the processor, or its licensee Hygon. The first call takes some
/// microseconds in a virtual machine.
pub fn is_amd() -> bool {
    static IS_AMD: OnceLock<bool> = OnceLock::new();
    *IS_AMD.get_or_init(|| maker().is_some_and(|name| is_of_amd(&name)))
}

fn is_of_amd(maker: &[u8; 12]) -> bool {
    matches!(maker, b"AuthenticAMD" | b"HygonGenuine")
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn maker() -> Option<[u8; 12]> {
    let leaf = core::arch::x86_64::__cpuid(0);
    let mut name = [0; 12];
    for (part, register) in name.chunks_exact_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
        part.copy_from_slice(&register.to_le_bytes());
    }
    Some(name)
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn maker() -> Option<[u8; 12]> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maker_is_that_of_the_kernel() {
        assert!(is_of_amd(b"AuthenticAMD") && !is_of_amd(b"GenuineIntel"));
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = maker().map(|name| String::from_utf8_lossy(&name).into_owned());
        if let Some(line) = text.lines().find(|line| line.starts_with("vendor_id")) {
            assert_eq!(line.split(": ").nth(1), name.as_deref());
        }
    }
}
