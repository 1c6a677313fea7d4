//! What can be seen of a ring from outside, without disturbing its writer or its readers.

use std::path::Path;

use nanotape_shm::{Owner, SharedRegion};

use crate::{ReadError, RingError, StartError, Verified, any::open_any, slots, stream};

/// How often to retry if the writer overtakes each try. A monitor, unlike a reader, has time to
/// retry.
const LOOKS: u32 = 1_000;

/// A ring that is looked at, not read.
#[derive(Clone, Debug)]
pub struct RingMonitor {
    region: SharedRegion,
}

/// What a ring looked like at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stat {
    /// How it is built.
    pub capacity: Capacity,
    /// Who writes it, and whether that process lives.
    pub owner: Owner,
    /// The oldest message that a reader can join at.
    pub oldest_sequence: u64,
    /// The number that the next message will have; one more than that of the last.
    pub next_sequence: u64,
    /// Bytes that hold messages, with what the ring keeps beside them; all of them once it is full.
    pub used_bytes: u64,
    /// Time of the last message in ns since the UNIX epoch, as the writer told it; 0 if it told
    /// none.
    pub ts_publish_ns: u64,
    /// Time of the writer's last heartbeat in ns since the UNIX epoch; 0 if there was none.
    pub heartbeat_ns: u64,
}

/// How large a ring is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// A stream ring.
    Stream {
        /// Bytes of messages, with 16 in front of each.
        capacity_bytes: u64,
    },
    /// A slot ring.
    Slots {
        /// How many messages it holds.
        slots: u64,
        /// The longest payload in bytes.
        max_length: u64,
    },
}

impl RingMonitor {
    /// Opens the ring at `path`, of either kind.
    pub fn open(path: &Path) -> Result<Self, RingError> {
        Ok(Self { region: open_any(path)? })
    }

    /// The region that the ring is in.
    pub fn region(&self) -> &SharedRegion {
        &self.region
    }

    /// Looks at it now.
    pub fn look(&self) -> Result<Stat, RingError> {
        for _ in 1..LOOKS {
            match self.try_look() {
                Err(RingError::Start(StartError::Overtaken { .. })) => {}
                looked => return looked,
            }
        }
        self.try_look()
    }

    fn try_look(&self) -> Result<Stat, RingError> {
        let [first, second, ..] = self.region.spec().parameters;
        let (capacity, seen) = if self.region.spec().kind == slots::KIND {
            (Capacity::Slots { slots: first, max_length: second }, slots::look(&self.region)?)
        } else {
            (Capacity::Stream { capacity_bytes: first }, stream::look(&self.region)?)
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

    /// Goes over everything that can be read now: counters, index, frames or slots, and whether
    /// sequence numbers follow each other. What the writer overwrites meanwhile is no damage.
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

/// What the words of a ring say.
pub(crate) struct Seen {
    pub(crate) oldest_sequence: u64,
    pub(crate) next_sequence: u64,
    pub(crate) used_bytes: u64,
    pub(crate) ts_publish_ns: u64,
    pub(crate) heartbeat_ns: u64,
}
