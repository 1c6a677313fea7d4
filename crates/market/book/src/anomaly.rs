//! Ways in which a book can be wrong, counted by kind and stock.
//!
//! An anomaly stops nothing: a feed with a gap, or a file joined in mid-session, has many of them,
//! and the rest of the book must still be built. But a book that has seen one is unreliable, and is
//! marked as such.

use core::fmt;

/// One way in which an event did not fit the book, or a book was found to be wrong.
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
    /// Messages of the stock are missing: a snapshot of the exchange differs from the book.
    MissedMessages,
    /// The price of an order or a level is none that a book can have. It is not stored, and an
    /// order that had another price leaves.
    PriceOutOfRange,
}

impl Anomaly {
    /// All kinds, in the order of their counts.
    pub const ALL: [Self; 9] = [
        Self::UnknownReference,
        Self::DuplicateReference,
        Self::OverExecution,
        Self::OverCancel,
        Self::ZeroShares,
        Self::LocateMismatch,
        Self::UnknownSide,
        Self::MissedMessages,
        Self::PriceOutOfRange,
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
            Self::MissedMessages => "missed_messages",
            Self::PriceOutOfRange => "price_out_of_range",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Count of each kind. Counts saturate at 2^32 - 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AnomalyCounts([u32; Anomaly::ALL.len()]);

impl AnomalyCounts {
    /// How often `kind` occurred.
    pub const fn of(&self, kind: Anomaly) -> u32 {
        self.0[kind as usize]
    }

    /// Counts one anomaly.
    pub fn record(&mut self, kind: Anomaly) {
        let count = &mut self.0[kind as usize];
        *count = count.saturating_add(1);
    }

    /// These counts and others, together.
    #[must_use]
    pub fn plus(&self, others: &Self) -> Self {
        Self(std::array::from_fn(|kind| self.0[kind].saturating_add(others.0[kind])))
    }

    /// Whether any anomaly was counted.
    pub fn any(&self) -> bool {
        self.0.iter().any(|&count| count > 0)
    }

    /// The sum over all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&count| u64::from(count)).sum()
    }

    /// The kinds that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Anomaly, u32)> + '_ {
        Anomaly::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|&(_, count)| count > 0)
    }
}
