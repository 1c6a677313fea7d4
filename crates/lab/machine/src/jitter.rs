//! Round trips between two threads over two rings: the pinger sends a number, the ponger adds one
//! and sends it back, the pinger adds one. Nothing else happens, so what a round trip takes beyond
//! its usual time is the machine's.
//!
//! ```text
//!   pinger, processor A  --- ring ---->  ponger, processor B
//!        ^  stamps                          |  adds one
//!        +------------------- ring ---------+
//! ```
//!
//! Both threads watch for their own interruptions while they wait, so that a slow round trip is
//! traced to a side and to a cause.
//! Bounds: a turn ends after its time or after [`TurnOptions::most_round_trips`].

pub mod cells;
mod lane;
mod series;
pub mod session;
pub mod summary;
mod turn;

use core::fmt;

pub use series::{Series, Slow};
pub use turn::{Side, Turn, TurnOptions, run_turn};

/// The ring between the two threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RingKind {
    /// Eight-byte cells: one atomic word a message.
    Cells,
    /// The slot ring, with messages of eight bytes.
    Slots,
    /// The stream ring, with messages of eight bytes.
    Stream,
}

/// What a thread does between two polls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wait {
    /// Nothing.
    Spin,
    /// A pause instruction.
    Pause,
    /// A system call that gives the processor to others that want it.
    Yield,
}

/// A way to run the round trips.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variant {
    /// The ring.
    pub ring: RingKind,
    /// The wait of both threads.
    pub wait: Wait,
    /// The processors of pinger and ponger; `None`: any.
    pub cpus: Option<(u32, u32)>,
    /// The priority in the real-time class SCHED_FIFO; `None` leaves the class as it is.
    pub real_time_priority: Option<u8>,
    /// Whether the rings are in huge pages.
    pub huge_pages: bool,
}

/// Why a turn failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JitterError {
    /// A ring could not be made.
    #[error("cannot make a ring of {kind}: {reason}")]
    Ring {
        /// Its kind.
        kind: RingKind,
        /// The reason.
        reason: String,
    },
    /// A message did not arrive.
    #[error("a message was lost between the two threads")]
    Lost,
    /// A message arrived with another value.
    #[error("a message arrived with the value {found}, expected {expected}")]
    Wrong {
        /// The value.
        found: u64,
        /// The expected value.
        expected: u64,
    },
    /// A thread ended early.
    #[error("a measuring thread ended early")]
    Thread,
}

impl RingKind {
    /// All kinds, with their names.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Cells, "cells"), (Self::Slots, "slots"), (Self::Stream, "stream")];
}

impl Wait {
    /// All ways, with their names.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Spin, "spin"), (Self::Pause, "pause"), (Self::Yield, "yield")];
}

fn name_of<T: Copy + PartialEq>(one: T, all: &[(T, &'static str)]) -> &'static str {
    all.iter().find(|(known, _)| *known == one).map_or("", |(_, name)| name)
}

impl fmt::Display for RingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(*self, &Self::ALL))
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(*self, &Self::ALL))
    }
}

/// `cells, pause, pinned, fifo 40, huge pages`
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pinned = if self.cpus.is_some() { "pinned" } else { "not pinned" };
        write!(f, "{}, {}, {pinned}, ", self.ring, self.wait)?;
        match self.real_time_priority {
            Some(priority) => write!(f, "fifo {priority}")?,
            None => f.write_str("normal")?,
        }
        if self.huge_pages { f.write_str(", huge pages") } else { Ok(()) }
    }
}
