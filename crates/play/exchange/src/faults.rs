//! What goes wrong on a line, as text and as values.
//!
//! The text is a list of faults that commas separate, as in `drop=2%,reorder=1%x4`. The page
//! docs/exchange.md describes each one. Times and durations are those of the exchange: at ten times
//! the pace they pass ten times as fast.

mod server;
pub(crate) mod text;

use std::fmt;

use nanotape_types::NanosSinceMidnight;
pub use server::{ParseServerFaultsError, ServerFaults};

/// A probability in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Chance(u32);

impl Chance {
    /// Never.
    pub const NEVER: Self = Self(0);
    /// Always.
    pub const ALWAYS: Self = Self(1_000_000);

    /// This many millionths, up to [`Chance::ALWAYS`].
    pub fn millionths(millionths: u32) -> Self {
        Self(millionths.min(Self::ALWAYS.0))
    }

    /// The millionths.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// A time in which a line sends nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence {
    /// When it begins.
    pub from: NanosSinceMidnight,
    /// How long it lasts.
    pub for_ns: u64,
}

impl Silence {
    /// Whether it covers this time.
    pub fn covers(&self, time_ns: u64) -> bool {
        time_ns.checked_sub(self.from.get()).is_some_and(|since| since < self.for_ns)
    }
}

/// The faults of one line, or of both lines at once. The default has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// A packet is not sent.
    pub drop: Chance,
    /// A packet and those after it are not sent: the number in all.
    pub burst: (Chance, u32),
    /// A packet is sent twice.
    pub duplicate: Chance,
    /// A packet is sent after up to this number of later ones.
    pub reorder: (Chance, u32),
    /// A packet is sent this many nanoseconds later.
    pub delay: (Chance, u64),
    /// A packet is sent without its end.
    pub truncate: Chance,
    /// The message count of a packet is changed: receivers can detect it.
    pub corrupt: Chance,
    /// One byte of a message is changed: MoldUDP64 has no checksum, so receivers cannot detect it.
    pub flip: Chance,
    /// A packet is sent with the name of another session.
    pub session: Chance,
    /// From this time on, all packets have the name of another session.
    pub session_from: Option<NanosSinceMidnight>,
    /// From this time on, the numbers begin again with 1 in the same session. Only both lines of
    /// IEX can have this.
    pub restart: Option<NanosSinceMidnight>,
    /// Before this time, nothing is sent.
    pub start: Option<NanosSinceMidnight>,
    /// Times in which nothing is sent.
    pub silences: Vec<Silence>,
}

impl Faults {
    /// The longest burst, in packets; for faults of both lines, in messages.
    pub const MOST_BURST: u32 = 1_000;
    /// The most packets that overtake one.
    pub const MOST_REORDER: u32 = 1_000;
    /// The longest delay.
    pub const MOST_DELAY_NS: u64 = 60_000_000_000;
    /// The most silences.
    pub const MOST_SILENCES: usize = 64;

    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The first fault that has a time of day, if there is one.
    pub fn with_a_time(&self) -> Option<&'static str> {
        [
            ("session=@", self.session_from.is_some()),
            ("restart", self.restart.is_some()),
            ("start", self.start.is_some()),
            ("silence", !self.silences.is_empty()),
        ]
        .into_iter()
        .find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The first fault that cannot hit both lines at once, if there is one.
    pub fn not_of_both(&self) -> Option<&'static str> {
        [
            ("dup", self.duplicate),
            ("reorder", self.reorder.0),
            ("delay", self.delay.0),
            ("truncate", self.truncate),
            ("corrupt", self.corrupt),
            ("flip", self.flip),
            ("session", self.session),
        ]
        .into_iter()
        .find_map(|(name, chance)| (chance > Chance::NEVER).then_some(name))
    }
}

/// Why a text is not a list of faults.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{part:?}: {problem}")]
pub struct ParseFaultsError {
    /// The part of the text between two commas.
    pub part: Box<str>,
    /// What is wrong with it.
    pub problem: FaultsProblem,
}

/// What is wrong with one fault of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultsProblem {
    /// The name is not that of a fault.
    Name,
    /// The fault is in the list twice, and only `silence` can be.
    Twice,
    /// The value does not have the form in this example.
    Form(&'static str),
    /// A probability is outside of its range.
    Chance,
    /// A count or a duration is 0 or too large.
    Range(&'static str),
}

impl fmt::Display for FaultsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str(
                "unknown fault: use drop, burst, dup, reorder, delay, truncate, corrupt, flip, \
                 session, restart, start or silence",
            ),
            Self::Twice => f.write_str("given twice: only silence can be repeated"),
            Self::Form(example) => write!(f, "expected a value as in {example}"),
            Self::Chance => {
                f.write_str("expected a probability from 0.0001% to 100%, such as 2% or 0.02")
            }
            Self::Range(range) => write!(f, "expected {range}"),
        }
    }
}
