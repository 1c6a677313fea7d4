//! The processor's time stamp counter, where it can be trusted.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    /// Whether the counter runs at one rate through every power state (CPUID 8000_0007h EDX bit 8).
    pub(crate) fn is_invariant() -> bool {
        let highest = __cpuid(0x8000_0000).eax;
        highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }

    /// Reads the counter once everything before it is done, so that a load under measurement cannot
    /// be overtaken by the stamp behind it.
    #[inline]
    pub(crate) fn read() -> u64 {
        // SAFETY: both instructions exist on every x86-64 processor and touch no memory.
        #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one fenced read")]
        unsafe {
            _mm_lfence();
            _rdtsc()
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{is_invariant, read};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn is_invariant() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn read() -> u64 {
    0
}
