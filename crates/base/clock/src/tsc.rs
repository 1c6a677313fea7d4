//! The processor's time stamp counter: its instructions, and the processor's flags for it.
//!
//! `choice` decides, before the first read, whether the counter may be read. If a kernel forbids
//! `rdtsc` to programs, executing it raises SIGSEGV.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    /// Whether this module has a counter to read.
    pub(crate) const EXISTS: bool = true;

    /// Whether the counter runs at one rate through every power state (CPUID 8000_0007h EDX bit 8).
    pub(crate) fn is_invariant() -> bool {
        let highest = __cpuid(0x8000_0000).eax;
        highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }

    /// Reads the counter; the processor may do so before or after its position in the program.
    #[inline(always)]
    pub(crate) fn read_unfenced() -> u64 {
        // SAFETY: `rdtsc` is part of the x86-64 architecture, so the instruction exists wherever
        // this module is compiled. It takes no operand and touches no memory. A kernel that forbids
        // it ends the process with a signal, which is not undefined behaviour.
        unsafe { _rdtsc() }
    }

    /// Reads the counter after everything before it is done, so that the stamp does not overtake a
    /// load under measurement.
    #[inline(always)]
    pub(crate) fn read_end() -> u64 {
        fence();
        read_unfenced()
    }

    /// Reads the counter after everything before it is done, and before anything later begins.
    #[inline(always)]
    pub(crate) fn read_start() -> u64 {
        fence();
        let ticks = read_unfenced();
        fence();
        ticks
    }

    /// Completes every earlier instruction before any later one starts. On AMD processors this
    /// holds because Linux sets the bit that makes `lfence` serializing.
    #[inline(always)]
    fn fence() {
        // SAFETY: the intrinsic needs SSE2, which is part of the x86-64 architecture and so of
        // every target this module is compiled for. It takes no operand and touches no memory.
        unsafe { _mm_lfence() }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{EXISTS, is_invariant, read_end, read_start, read_unfenced};

/// Other architectures have none, so `choice` takes the operating system's clock and never calls
/// the readers.
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    pub(crate) const EXISTS: bool = false;

    pub(crate) fn is_invariant() -> bool {
        false
    }

    pub(crate) fn read_unfenced() -> u64 {
        0
    }

    pub(crate) fn read_end() -> u64 {
        0
    }

    pub(crate) fn read_start() -> u64 {
        0
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use elsewhere::{EXISTS, is_invariant, read_end, read_start, read_unfenced};
