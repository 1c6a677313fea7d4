//! What can be wrong with a book event, counted by kind and stock.
//!
//! None of these stops anything: a feed with a gap, or a file joined in mid-session, is full of
//! them, and what can be built must be built. But a book that has seen one cannot be trusted, and
//! says so.

use core::fmt;

/// One way in which an event did not fit the book.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Anomaly {
    /// An execution, cancel, delete or replace of an order that is not live. No effect.
    UnknownReference,
    /// An order entered under a reference that is live. The live order stays, the new one is
    /// dropped.
    DuplicateReference,
    /// More shares executed than the order had. The order is removed.
    OverExecution,
    /// More shares cancelled than the order had. The order is removed.
    OverCancel,
    /// An order entered with no shares. It is not stored.
    ZeroShares,
    /// A message about a live order named another stock locate. Applied to the order's own stock.
    LocateMismatch,
    /// An order entered with a side that is neither buy nor sell. It is not stored.
    UnknownSide,
}

impl Anomaly {
    /// Every kind, in the order of their counts.
    pub const ALL: [Self; 7] = [
        Self::UnknownReference,
        Self::DuplicateReference,
        Self::OverExecution,
        Self::OverCancel,
        Self::ZeroShares,
        Self::LocateMismatch,
        Self::UnknownSide,
    ];

    /// The name used in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownReference => "unknown_reference",
            Self::DuplicateReference => "duplicate_reference",
            Self::OverExecution => "over_execution",
            Self::OverCancel => "over_cancel",
            Self::ZeroShares => "zero_shares",
            Self::LocateMismatch => "locate_mismatch",
            Self::UnknownSide => "unknown_side",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How often each kind occurred. Counts stop at 2^32 - 1 rather than wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AnomalyCounts([u32; Anomaly::ALL.len()]);

impl AnomalyCounts {
    /// How often `kind` occurred.
    pub const fn of(&self, kind: Anomaly) -> u32 {
        self.0[kind as usize]
    }

    /// Counts one more.
    pub fn record(&mut self, kind: Anomaly) {
        let count = &mut self.0[kind as usize];
        *count = count.saturating_add(1);
    }

    /// Whether any was counted.
    pub fn any(&self) -> bool {
        self.0.iter().any(|&count| count > 0)
    }

    /// All kinds together.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&count| u64::from(count)).sum()
    }

    /// The kinds that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Anomaly, u32)> + '_ {
        Anomaly::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|&(_, count)| count > 0)
    }
}
