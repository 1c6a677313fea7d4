//! The bounds of a simulation, and the errors of options outside of them.

/// Service times of one simulation.
pub const LANES: usize = 60;

/// The longest service time.
pub const MAX_SERVICE_NS: u64 = 10_000_000;

/// Limits of one simulation.
pub const MAX_LIMITS: usize = 4;

/// Windows that are kept.
pub const MAX_WINDOWS: usize = 20_000;

/// Cores of a receiver.
pub const MAX_CORES: usize = 256;

/// Messages in the ring of a core, and in a batch.
pub const MAX_RING: usize = 1 << 20;

/// Quantiles of one type.
pub const MAX_STEPS: usize = 1_024;

/// The reason why a simulation is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The number of service times is wrong.
    #[error("{count} service times: use 1 to {LANES}")]
    Services {
        /// The number.
        count: usize,
    },
    /// A service time is out of range.
    #[error("a service time of {ns} ns: use 1 ns to 10 ms")]
    Service {
        /// The service time.
        ns: u64,
    },
    /// There are too many limits.
    #[error("{count} limits: use at most {MAX_LIMITS}")]
    Limits {
        /// The number.
        count: usize,
    },
    /// The number of cores is wrong.
    #[error("{count} cores: use 1 to {MAX_CORES}")]
    Cores {
        /// The number.
        count: usize,
    },
    /// The length of the ring is wrong.
    #[error("a ring of {messages} messages: use 1 to {MAX_RING}")]
    Ring {
        /// The messages.
        messages: usize,
    },
    /// The size of a batch is wrong.
    #[error("a batch of {messages} messages: use 1 to {MAX_RING}")]
    Batch {
        /// The messages.
        messages: usize,
    },
    /// Quantiles are no distribution.
    #[error("quantiles must grow with their times, from above 0 to 1, at most {MAX_STEPS} of them")]
    Quantiles,
    /// The window has no length.
    #[error("a window of 0 ns: use at least 1 ns")]
    Window,
}
