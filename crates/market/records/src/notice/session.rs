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

/// No line showed it: the answer of a server did.
const SEEN_BY_SERVER: u64 = 0xFF;

/// The words of a notice after its header.
pub(super) const GAP_WORDS: usize = 14;

impl GapNotice {
    pub(super) fn words(&self) -> [u64; GAP_WORDS] {
        let Self { ts_recv, gap } = self;
        let [a, b, c, d] = gap.lines;
        [
            dbn::UNDEF_TIMESTAMP,
            *ts_recv,
            gap.first,
            gap.next,
            gap.seen_ns,
            gap.closed_ns,
            gap.seen_by.map_or(SEEN_BY_SERVER, u64::from) | u64::from(gap.requests) << 32,
            a,
            b,
            c,
            d,
            gap.retransmitted,
            gap.snapshot,
            gap.lost,
        ]
    }

    pub(super) fn of_words(word: impl Fn(usize) -> Option<u64>) -> Option<Self> {
        let packed = word(7)?;
        let seen_by = u8::try_from(packed & SEEN_BY_SERVER).ok();
        let gap = SessionGap {
            first: word(3)?,
            next: word(4)?,
            seen_ns: word(5)?,
            closed_ns: word(6)?,
            seen_by: seen_by.filter(|&line| u64::from(line) != SEEN_BY_SERVER),
            requests: (packed >> 32) as u32,
            lines: [word(8)?, word(9)?, word(10)?, word(11)?],
            retransmitted: word(12)?,
            snapshot: word(13)?,
            lost: word(14)?,
        };
        Some(Self { ts_recv: word(2)?, gap })
    }
}

impl SuspectNotice {
    pub(super) fn words(&self) -> [u64; 5] {
        let Self { ts_recv, reason, first, next } = *self;
        [dbn::UNDEF_TIMESTAMP, ts_recv, reason.code().into(), first, next]
    }

    pub(super) fn of_words(word: impl Fn(usize) -> Option<u64>) -> Option<Self> {
        let reason = SuspectReason::of(word(3)? as u32);
        Some(Self { ts_recv: word(2)?, reason, first: word(4)?, next: word(5)? })
    }
}

impl RestoredNotice {
    pub(super) fn words(&self) -> [u64; 4] {
        [self.ts_event, self.ts_recv, self.cause.code().into(), self.next]
    }

    pub(super) fn of_words(word: impl Fn(usize) -> Option<u64>) -> Option<Self> {
        Some(Self {
            instrument_id: (word(0)? >> 32) as u32,
            ts_event: word(1)?,
            ts_recv: word(2)?,
            cause: RestoredCause::of(word(3)? as u32),
            next: word(4)?,
        })
    }
}

impl SuspectReason {
    fn code(self) -> u32 {
        match self {
            Self::Gap => 0,
            Self::LateJoin => 1,
            Self::Unknown(code) => code,
        }
    }

    fn of(code: u32) -> Self {
        match code {
            0 => Self::Gap,
            1 => Self::LateJoin,
            code => Self::Unknown(code),
        }
    }
}

impl RestoredCause {
    fn code(self) -> u32 {
        match self {
            Self::Complete => 0,
            Self::Same => 1,
            Self::Replaced => 2,
            Self::Snapshot => 3,
            Self::Unknown(code) => code,
        }
    }

    fn of(code: u32) -> Self {
        match code {
            0 => Self::Complete,
            1 => Self::Same,
            2 => Self::Replaced,
            3 => Self::Snapshot,
            code => Self::Unknown(code),
        }
    }
}
