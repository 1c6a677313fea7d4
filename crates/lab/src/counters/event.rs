//! The events that are counted, and what the kernel calls them.

use perf_event::{
    Builder,
    events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software},
};

/// One thing that can be counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// Of the processor, at the speed it ran.
    Cycles,
    /// That were completed.
    Instructions,
    /// Of them, those that may jump.
    Branches,
    /// That went where the processor did not expect.
    BranchMisses,
    /// To the last level.
    CacheReferences,
    /// Of the last level.
    CacheMisses,
    /// Reads that the first level did not have.
    L1dReadMisses,
    /// Reads whose address translation was not at hand.
    DtlbReadMisses,
    /// Places for micro-operations, several in each cycle.
    Slots,
    /// Slots that did useful work.
    Retiring,
    /// Slots that did work which was thrown away.
    BadSpeculation,
    /// Slots that waited for instructions.
    FrontEndBound,
    /// Slots that waited for data or for a unit.
    BackEndBound,
    /// Pages that had to be brought in or set up.
    PageFaults,
    /// Times the thread left its processor.
    ContextSwitches,
    /// Times it came to another one.
    CpuMigrations,
}

impl Event {
    /// All, in the order of the record.
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

    /// How the kernel is asked for it; None for slots, which differ from processor to processor and
    /// are asked for in [`super::topdown`].
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
        // These happen inside the kernel only: counted in user mode they would always be 0.
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
