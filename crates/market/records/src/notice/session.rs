//! Notices of a live session: gaps and what filled them, and since when which books are reliable.

use nanotape_market::SessionGap;

/// A gap of a session was declared, or is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapNotice {
    /// When the plant reported it, ns since the UNIX epoch.
    pub ts_recv: u64,
    /// The gap; open if it has no time at which it was closed.
    pub gap: SessionGap,
}

/// From now on any book may lack messages, and every record has the flag `MAYBE_BAD_BOOK`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspectNotice {
    /// When the plant reported it, ns since the UNIX epoch.
    pub ts_recv: u64,
    /// The reason.
    pub reason: SuspectReason,
    /// The number of the first missing message.
    pub first: u64,
    /// The number of the first message after it that is there.
    pub next: u64,
}

/// Why any book may lack messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SuspectReason {
    /// Messages are missing, and their stocks are unknown.
    Gap,
    /// The session had begun before it was joined.
    LateJoin,
    /// A reason of a later version.
    Unknown(u32),
}

/// A book is reliable again, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestoredNotice {
    /// The stock; 0 for all.
    pub instrument_id: u32,
    /// The exchange's time of the last message, ns since the UNIX epoch.
    pub ts_event: u64,
    /// When the plant reported it, ns since the UNIX epoch.
    pub ts_recv: u64,
    /// The cause.
    pub cause: RestoredCause,
    /// The number of the next message.
    pub next: u64,
}

/// Why a book is reliable again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RestoredCause {
    /// All stocks: the missing messages came. Stocks that were tainted before stay so.
    Complete,
    /// One stock: its book is that of the snapshot.
    Same,
    /// One stock: its book differed, and the snapshot replaced it. Its orders were published
    /// before.
    Replaced,
    /// All stocks: every book is that of the snapshot.
    Snapshot,
    /// A cause of a later version.
    Unknown(u32),
}

impl SuspectReason {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Gap => 0,
            Self::LateJoin => 1,
            Self::Unknown(code) => code,
        }
    }

    pub(super) fn of(code: u32) -> Self {
        match code {
            0 => Self::Gap,
            1 => Self::LateJoin,
            code => Self::Unknown(code),
        }
    }
}

impl RestoredCause {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Complete => 0,
            Self::Same => 1,
            Self::Replaced => 2,
            Self::Snapshot => 3,
            Self::Unknown(code) => code,
        }
    }

    pub(super) fn of(code: u32) -> Self {
        match code {
            0 => Self::Complete,
            1 => Self::Same,
            2 => Self::Replaced,
            3 => Self::Snapshot,
            code => Self::Unknown(code),
        }
    }
}
