//! What makes the recorder copy its spans.

use std::fmt;

use nanotape_clock::Stamp;

/// Most conditions of a recorder: a bit of a message each.
pub const MAX_CONDITIONS: usize = 30;

/// A condition of a trigger. Times are in ns, and a message triggers above them, once for each
/// condition; for [`Condition::Thread`] once in each thread, and for [`Condition::Site`] with each
/// span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// A message from its first begin to its last end, over all threads.
    Message {
        /// The budget.
        above_ns: u64,
    },
    /// A message from its first begin to its last end in a thread.
    Thread {
        /// The budget.
        above_ns: u64,
    },
    /// A span of a site.
    Site {
        /// The name of the site, in any thread.
        site: String,
        /// The budget.
        above_ns: u64,
    },
}

impl Condition {
    /// The budget.
    pub const fn above_ns(&self) -> u64 {
        match self {
            Self::Message { above_ns }
            | Self::Thread { above_ns }
            | Self::Site { above_ns, .. } => *above_ns,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { above_ns } => write!(f, "a message above {above_ns} ns"),
            Self::Thread { above_ns } => write!(f, "a message in a thread above {above_ns} ns"),
            Self::Site { site, above_ns } => write!(f, "{site} above {above_ns} ns"),
        }
    }
}

/// The cause of a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The condition at this place of [`Options::conditions`](super::Options::conditions).
    Condition(usize),
    /// A request from outside, with its source.
    Request(&'static str),
    /// Spans were overwritten before they were read.
    Lost(u64),
}

/// A trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// Its cause.
    pub cause: Cause,
    /// The place of its thread among those of the recorder; `None` for a request.
    pub thread: Option<usize>,
    /// The number of the message; 0 without one.
    pub number: u64,
    /// How long the message or its span took, in ns; 0 without one.
    pub took_ns: u64,
    pub(super) at: When,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    Stamp(Stamp),
    UtcNs(u64),
}

/// Triggers of a cause: `fired` is the sum of the others.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// All triggers.
    pub fired: u64,
    /// Those that started a copy.
    pub copied: u64,
    /// Those that fell into a copy that another one had started.
    pub shared: u64,
    /// Those without a copy: no token, no memory free, or the recorder was off.
    pub dropped: u64,
}
