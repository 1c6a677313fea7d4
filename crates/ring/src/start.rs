//! Where a reader goes on after it was lapped, and why it cannot join a ring somewhere.

/// Where a reader goes on after the writer lapped it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rejoin {
    /// At the oldest message that is still there: loses least now, and a writer at full speed laps
    /// the reader again at once.
    Oldest,
    /// Half a ring behind the writer: loses at most half a ring more than needed, and has half a
    /// ring of time.
    #[default]
    Halfway,
    /// Behind the last message: for readers that only want what is new.
    Newest,
}

/// Why a reader cannot join where it wants to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nobody has published it.
    #[error("message {sequence} is not published yet: the next one is {next}")]
    NotYet {
        /// What was asked for.
        sequence: u64,
        /// The next sequence number to be published.
        next: u64,
    },
    /// Sequence numbers begin with 1.
    #[error("there is no message 0: sequence numbers start at 1")]
    Zero,
    /// Messages of a ring have no times.
    #[error(
        "a ring keeps no times: start at oldest, newest or a sequence number (a journal finds times)"
    )]
    NoTimes,
    /// The writer went on so quickly that no message stayed long enough to be found.
    #[error(
        "the writer overtook the reader at every attempt: a ring of {capacity_bytes} bytes is too small \
         for its rate"
    )]
    Overtaken {
        /// Size of the ring.
        capacity_bytes: usize,
    },
    /// The ring is damaged.
    #[error(transparent)]
    Damaged(#[from] crate::ReadError),
}
