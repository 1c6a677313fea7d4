//! Where a reader continues after a lap, and why it cannot join a ring at a position.

/// Where a reader continues after a lap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rejoin {
    /// At the oldest remaining message: loses least now, but a writer at full speed laps the reader
    /// again at once.
    Oldest,
    /// Half a ring before the newest message: loses at most half a ring more than necessary, and
    /// gains half a ring of time.
    #[default]
    Halfway,
    /// After the last message: for readers that only need new ones.
    Newest,
}

/// Why a reader cannot join at a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The message is not yet published.
    #[error("message {sequence} is not published yet: the next one is {next}")]
    NotYet {
        /// The requested number.
        sequence: u64,
        /// The number of the next message.
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
    /// The writer overtook the reader at each attempt to join.
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
