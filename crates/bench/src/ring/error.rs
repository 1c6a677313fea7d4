//! Why the rings could not be measured.

use nanotape_ring::{PublishError, ReadError, RingError};

use crate::{sides::SideError, wait::Silence};

/// Why there is no reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingBenchError {
    /// The ring cannot be made or joined.
    #[error(transparent)]
    Ring(#[from] RingError),
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
    /// The processes of a row.
    #[error(transparent)]
    Side(#[from] SideError),
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
}

impl RingBenchError {
    /// Whether the ring gave a wrong answer: everything else is an obstacle.
    pub fn is_finding(&self) -> bool {
        matches!(
            self,
            Self::Wrong { .. }
                | Self::Unaccounted { .. }
                | Self::Lost { .. }
                | Self::Read(_)
                | Self::Side(SideError::Found { .. })
        )
    }
}

impl From<Silence> for RingBenchError {
    fn from(silence: Silence) -> Self {
        Self::Side(silence.into())
    }
}
