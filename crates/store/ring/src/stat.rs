//! Statistics of a ring from another process, without an effect on its writer or its readers.

use std::path::Path;

use nanotape_shm::{Owner, RegionSpec, SharedRegion};

use crate::{ReadError, RingError, StartError, Verified, any::open_any, slots, stream};

/// Limit of retries if the writer overtakes each attempt. A monitor, unlike a reader, has time to
/// retry.
const ATTEMPTS: u32 = 1_000;

/// A ring that is monitored, not read.
#[derive(Clone, Debug)]
pub struct RingMonitor {
    region: SharedRegion,
}

/// The state of a ring at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stat {
    /// The capacity.
    pub capacity: Capacity,
    /// The writer's process, and whether it is alive.
    pub owner: Owner,
    /// The oldest message at which a reader can join.
    pub oldest_sequence: u64,
    /// The number of the next message.
    pub next_sequence: u64,
    /// Bytes that hold messages with their headers; the whole capacity once the ring is full.
    pub used_bytes: u64,
    /// Time of the last message in ns since the UNIX epoch, as the writer set it; 0 if unset.
    pub ts_publish_ns: u64,
    /// Time of the writer's last heartbeat in ns since the UNIX epoch; 0 before the first.
    pub heartbeat_ns: u64,
}

/// The capacity of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// A stream ring.
    Stream {
        /// Bytes of messages, including 16 of header for each.
        capacity_bytes: u64,
    },
    /// A slot ring.
    Slots {
        /// Number of messages.
        slots: u64,
        /// The longest payload in bytes.
        max_length: u64,
    },
}

impl Capacity {
    /// That of the ring in a region.
    pub fn of(spec: &RegionSpec) -> Self {
        let [first, second, ..] = spec.parameters;
        match spec.kind {
            slots::KIND => Self::Slots { slots: first, max_length: second },
            _ => Self::Stream { capacity_bytes: first },
        }
    }
}

impl RingMonitor {
    /// Opens the ring at `path`, of either kind.
    pub fn open(path: &Path) -> Result<Self, RingError> {
        Ok(Self { region: open_any(path)? })
    }

    /// The region that contains the ring.
    pub fn region(&self) -> &SharedRegion {
        &self.region
    }

    /// The current state.
    pub fn sample(&self) -> Result<Stat, RingError> {
        for _ in 1..ATTEMPTS {
            match self.try_sample() {
                Err(RingError::Start(StartError::Overtaken { .. })) => {}
                sampled => return sampled,
            }
        }
        self.try_sample()
    }

    fn try_sample(&self) -> Result<Stat, RingError> {
        let capacity = Capacity::of(self.region.spec());
        let seen = match capacity {
            Capacity::Slots { .. } => slots::sample(&self.region)?,
            Capacity::Stream { .. } => stream::sample(&self.region)?,
        };
        let Seen { oldest_sequence, next_sequence, used_bytes, ts_publish_ns, heartbeat_ns } = seen;
        let owner = self.region.owner();
        Ok(Stat {
            capacity,
            owner,
            oldest_sequence,
            next_sequence,
            used_bytes,
            ts_publish_ns,
            heartbeat_ns,
        })
    }

    /// Checks everything that is currently readable: counters, index, frames or slots, and that
    /// sequence numbers are consecutive. Messages that the writer overwrites meanwhile are not
    /// damage.
    pub fn verify(&self) -> Result<Verified, RingError> {
        let verified = match self.region.spec().kind {
            slots::KIND => slots::verify(&self.region),
            _ => stream::verify(&self.region),
        };
        if self.region.is_lost() {
            return Err(ReadError::Truncated { sequence: 0 }.into());
        }
        verified
    }
}

/// Statistics from the words of a ring.
pub(crate) struct Seen {
    pub(crate) oldest_sequence: u64,
    pub(crate) next_sequence: u64,
    pub(crate) used_bytes: u64,
    pub(crate) ts_publish_ns: u64,
    pub(crate) heartbeat_ns: u64,
}
