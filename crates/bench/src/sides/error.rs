//! Why the processes of a row could not be measured.

use std::io;

use nanotape_shm::RegionError;

use crate::wait::Silence;

/// Why the processes of a row have nothing to tell.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SideError {
    /// The other process did nothing for too long.
    #[error(transparent)]
    Silence(#[from] Silence),
    /// A region beside what is measured cannot be made or joined.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A processor that was asked for cannot be used.
    #[error("processor {cpu} is not among those allowed ({allowed})")]
    NotAllowed {
        /// Which.
        cpu: u32,
        /// Those that are.
        allowed: String,
    },
    /// Something around the processes failed.
    #[error("cannot {what}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A process ended badly, or said something else than a reading.
    #[error("a process of {row} ended with {status} and said: {said}")]
    Worker {
        /// The row.
        row: &'static str,
        /// How it ended.
        status: String,
        /// What it wrote.
        said: String,
    },
    /// A process found a wrong answer.
    #[error("{row}: {said}")]
    Found {
        /// The row.
        row: &'static str,
        /// What it said.
        said: String,
    },
    /// The environment asks for something that this version does not do.
    #[error("{role:?} is no role of this version")]
    Role {
        /// What was asked for.
        role: String,
    },
    /// Stamps of two processes would not be of one clock.
    #[error("this process has another clock than the one that started it")]
    OtherClock,
}

impl SideError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
