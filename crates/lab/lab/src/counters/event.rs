//! The events that are counted, and their names in the kernel.

use perf_event::{
    Builder,
    events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software},
};

/// An event that can be counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// Cycles of the processor, at its actual frequency.
    Cycles,
    /// Completed instructions.
    Instructions,
    /// Completed branch instructions.
    Branches,
    /// Branches that the processor predicted wrongly.
    BranchMisses,
    /// References to the last-level cache.
    CacheReferences,
    /// Misses of the last-level cache.
    CacheMisses,
    /// Reads that missed the first-level cache.
    L1dReadMisses,
    /// Reads that missed the cache of address translations.
    DtlbReadMisses,
    /// Positions for micro-operations, several in each cycle.
    Slots,
    /// Slots that did useful work.
    Retiring,
    /// Slots whose work was thrown away.
    BadSpeculation,
    /// Slots that waited for instructions.
    FrontEndBound,
    /// Slots that waited for data or for a unit.
    BackEndBound,
    /// Pages that had to be read or set up.
    PageFaults,
    /// The number of times that the thread left its processor.
    ContextSwitches,
    /// The number of times that it moved to another processor.
    CpuMigrations,
}

impl Event {
    /// All events, in the order of the record.
    pub const ALL: [Self; 16] = [
        Self::Cycles,
        Self::Instructions,
        Self::Branches,
        Self::BranchMisses,
        Self::CacheReferences,
        Self::CacheMisses,
        Self::L1dReadMisses,
        Self::DtlbReadMisses,
        Self::Slots,
        Self::Retiring,
        Self::BadSpeculation,
        Self::FrontEndBound,
        Self::BackEndBound,
        Self::PageFaults,
        Self::ContextSwitches,
        Self::CpuMigrations,
    ];

    /// Its name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::Branches => "branches",
            Self::BranchMisses => "branch_misses",
            Self::CacheReferences => "cache_references",
            Self::CacheMisses => "cache_misses",
            Self::L1dReadMisses => "l1d_read_misses",
            Self::DtlbReadMisses => "dtlb_read_misses",
            Self::Slots => "slots",
            Self::Retiring => "retiring_slots",
            Self::BadSpeculation => "bad_speculation_slots",
            Self::FrontEndBound => "front_end_bound_slots",
            Self::BackEndBound => "back_end_bound_slots",
            Self::PageFaults => "page_faults",
            Self::ContextSwitches => "context_switches",
            Self::CpuMigrations => "cpu_migrations",
        }
    }

    /// Whether the processor counts it, not the kernel.
    pub fn is_of_hardware(self) -> bool {
        !matches!(self, Self::PageFaults | Self::ContextSwitches | Self::CpuMigrations)
    }

    /// The kernel's description of the event; None for slots, which differ between processors and
    /// are opened in [`super::topdown`].
    pub(super) fn builder(self) -> Option<Builder<'static>> {
        let read_misses =
            |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
        let mut builder = match self {
            Self::Cycles => Builder::new(Hardware::CPU_CYCLES),
            Self::Instructions => Builder::new(Hardware::INSTRUCTIONS),
            Self::Branches => Builder::new(Hardware::BRANCH_INSTRUCTIONS),
            Self::BranchMisses => Builder::new(Hardware::BRANCH_MISSES),
            Self::CacheReferences => Builder::new(Hardware::CACHE_REFERENCES),
            Self::CacheMisses => Builder::new(Hardware::CACHE_MISSES),
            Self::L1dReadMisses => Builder::new(read_misses(CacheId::L1D)),
            Self::DtlbReadMisses => Builder::new(read_misses(CacheId::DTLB)),
            Self::PageFaults => Builder::new(Software::PAGE_FAULTS),
            Self::ContextSwitches => Builder::new(Software::CONTEXT_SWITCHES),
            Self::CpuMigrations => Builder::new(Software::CPU_MIGRATIONS),
            Self::Slots
            | Self::Retiring
            | Self::BadSpeculation
            | Self::FrontEndBound
            | Self::BackEndBound => return None,
        };
        // These happen only inside the kernel: counted in user mode they would always be 0.
        if matches!(self, Self::ContextSwitches | Self::CpuMigrations) {
            builder.include_kernel();
        }
        Some(builder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_all_are_listed() {
        let mut names = Event::ALL.map(Event::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Event::ALL.len());
        assert!(Event::ALL.is_sorted());
    }

    #[test]
    fn only_slots_have_no_builder() {
        let without = Event::ALL.iter().filter(|event| event.builder().is_none()).count();
        assert_eq!(without, 5);
    }
}
