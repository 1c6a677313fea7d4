//! Why the rings could not be measured.

use std::io;

use nanotape_ring::{PublishError, ReadError, RingError};
use nanotape_shm::RegionError;

use crate::wait::Silence;

/// Why there is no reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingBenchError {
    /// The ring cannot be made or joined.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A region beside the ring cannot be made or joined.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The ring does not take a message.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The ring is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A message is not what was published under its number.
    #[error("message {sequence}, of {length} bytes, is not what was published")]
    Wrong {
        /// Its number.
        sequence: u64,
        /// Its length, as the ring says.
        length: u32,
    },
    /// Messages do not add up.
    #[error("{row}: {complaint}")]
    Unaccounted {
        /// The row.
        row: &'static str,
        /// What does not.
        complaint: String,
    },
    /// A message was lost where there is only one at a time.
    #[error("{count} messages were lost on a round trip")]
    Lost {
        /// How many.
        count: u64,
    },
    /// The other process did nothing for too long.
    #[error(transparent)]
    Silence(#[from] Silence),
    /// A processor that was asked for cannot be used.
    #[error("processor {cpu} is not among those allowed ({allowed})")]
    NotAllowed {
        /// Which.
        cpu: u32,
        /// Those that are.
        allowed: String,
    },
    /// A ring of this size holds too few of these messages.
    #[error(
        "a ring of {capacity_bytes} bytes holds {messages} messages of {length} bytes; it takes \
         {fewest} at least to measure something"
    )]
    TooSmall {
        /// Bytes of the ring.
        capacity_bytes: usize,
        /// Bytes of a message.
        length: usize,
        /// Messages that it holds.
        messages: u64,
        /// How many it should.
        fewest: u64,
    },
    /// No row of that name.
    #[error("no row is named {name}, and none begins with it; there are {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
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

impl RingBenchError {
    /// Whether the ring gave a wrong answer: everything else is an obstacle.
    pub fn is_finding(&self) -> bool {
        matches!(
            self,
            Self::Wrong { .. }
                | Self::Unaccounted { .. }
                | Self::Lost { .. }
                | Self::Found { .. }
                | Self::Read(_)
        )
    }
}
