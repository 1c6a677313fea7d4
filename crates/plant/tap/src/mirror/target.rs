//! The ring of a mirror, of either kind, and what a mirror finds at its path.

use std::{os::unix::fs::MetadataExt as _, path::Path};

use nanotape_clock::UtcNanos;
use nanotape_ring::{
    Capacity, Publish as _, PublishError, RingError, RingMonitor, RingSource, Start, slots, stream,
};
use nanotape_shm::{OwnedRegion, OwnerState, Refusal, RegionError, RegionOptions};
use nanotape_tape::{Item, Sink as _, Source as _};

use super::{
    MirrorError, MirrorMismatch,
    origin::{Found, Origin},
};

/// The writer of a ring.
#[derive(Debug)]
pub(super) enum Target {
    Stream(stream::Writer),
    Slots(slots::Writer),
}

macro_rules! either {
    ($self:ident, $writer:ident => $call:expr) => {
        match $self {
            Self::Stream($writer) => $call,
            Self::Slots($writer) => $call,
        }
    };
}

impl Target {
    /// Creates the ring, or takes it over; an empty one if `replaces`.
    pub(super) fn create(
        path: &Path,
        capacity: Capacity,
        options: &RegionOptions,
        replaces: bool,
    ) -> Result<Self, RingError> {
        // No machine has as many bytes: the error names the number.
        let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        Ok(match capacity {
            Capacity::Stream { capacity_bytes } => {
                let make = if replaces { stream::Writer::replace } else { stream::Writer::create };
                Self::Stream(make(path, size(capacity_bytes), options)?.0)
            }
            Capacity::Slots { slots, max_length } => {
                let make = if replaces { slots::Writer::replace } else { slots::Writer::create };
                Self::Slots(make(path, size(slots), size(max_length), options)?.0)
            }
        })
    }

    #[inline]
    pub(super) fn append_at(
        &mut self,
        sequence: u64,
        type_id: u16,
        ts: UtcNanos,
        payload: &[u8],
    ) -> Result<(), PublishError> {
        either!(self, writer => writer.append_at(sequence, type_id, ts, payload))
    }

    pub(super) fn skip_to(&mut self, sequence: u64) -> Result<(), PublishError> {
        either!(self, writer => nanotape_ring::Publish::skip_to(writer, sequence))
    }

    pub(super) fn heartbeat(&mut self, now_ns: u64) {
        either!(self, writer => writer.heartbeat(now_ns));
    }

    pub(super) fn region(&self) -> &OwnedRegion {
        either!(self, writer => writer.region())
    }

    pub(super) fn abandon(self) {
        either!(self, writer => writer.abandon());
    }
}

/// A ring that exists at the path of a mirror, without a writer.
#[derive(Debug)]
pub(super) struct Existing {
    pub(super) capacity: Capacity,
    pub(super) next_sequence: u64,
    created_ns: u64,
    last: Last,
    /// Some messages before it, with their numbers.
    earlier: Vec<(u64, Last)>,
}

/// A message of a ring, such as its last one.
#[derive(Debug)]
enum Last {
    /// The ring had no message yet.
    None,
    Message {
        type_id: u16,
        payload: Vec<u8>,
    },
    /// A number that was skipped.
    Skipped,
}

impl Existing {
    /// The ring at `path`; `None` if there is none.
    pub(super) fn of(path: &Path, source: &Path) -> Result<Option<Self>, MirrorError> {
        if is_same_file(path, source) {
            return Err(MirrorError::Itself { path: path.to_owned() });
        }
        let of_ring = |error| MirrorError::of_ring(path, error);
        let monitor = match RingMonitor::open(path) {
            Ok(monitor) => monitor,
            Err(RingError::Region(error)) if is_absent(error.refusal()) => return Ok(None),
            Err(error) => return Err(of_ring(error)),
        };
        let stat = monitor.sample().map_err(of_ring)?;
        if stat.owner.state == OwnerState::Alive {
            let (pid, started) = (stat.owner.pid, stat.owner.started);
            let alive = Refusal::OwnerAlive { pid, started };
            return Err(MirrorError::Region(RegionError::new(path, alive)));
        }
        let (capacity, next_sequence) = (stat.capacity, stat.next_sequence);
        let last = Last::of(path, next_sequence).map_err(of_ring)?;
        let mut earlier = Vec::new();
        for sequence in earlier_than(next_sequence).filter(|at| *at >= stat.oldest_sequence) {
            earlier.push((sequence, Last::of(path, sequence + 1).map_err(of_ring)?));
        }
        let created_ns = monitor.region().created_ns();
        Ok(Some(Self { capacity, next_sequence, created_ns, last, earlier }))
    }

    /// Whether it has had a message, or has begun after the first numbers.
    pub(super) fn has_begun(&self) -> bool {
        self.next_sequence > 1
    }

    /// Why its messages are not those of the source, as far as that is known. `identity` is the
    /// creation time of the ring of the source, if there is one.
    pub(super) fn mismatch(
        &self,
        origin: &mut Origin,
        identity: Option<u64>,
    ) -> Result<Option<MirrorMismatch>, MirrorError> {
        let Self { next_sequence, created_ns, last, .. } = self;
        if let Some(source_ns) = identity
            && source_ns != *created_ns
        {
            let (then, now) = (UtcNanos::of_unix_ns(*created_ns), UtcNanos::of_unix_ns(source_ns));
            return Ok(Some(MirrorMismatch::Created { then, now }));
        }
        let Some(sequence) = next_sequence.checked_sub(1).filter(|&sequence| sequence > 0) else {
            return Ok(None);
        };
        let unknown = identity.is_none().then_some(MirrorMismatch::NotComparable { sequence });
        Ok(match (origin.find(sequence)?, last) {
            (Found::NotYet { next }, _) => {
                let (source_next, target_next) = (next, *next_sequence);
                Some(MirrorMismatch::Ahead { source_next, target_next })
            }
            (
                Found::Message { type_id, payload },
                Last::Message { type_id: mine, payload: own },
            ) => {
                let is_same = type_id == *mine && payload == *own;
                if is_same {
                    return self.mismatch_before(origin);
                }
                Some(MirrorMismatch::Different { sequence })
            }
            _ => unknown,
        })
    }

    /// The same for some messages before the last one. A source that has given numbers again has
    /// other messages from some number on, and the last of them can be equal.
    fn mismatch_before(&self, origin: &mut Origin) -> Result<Option<MirrorMismatch>, MirrorError> {
        for (sequence, message) in &self.earlier {
            if let (
                Found::Message { type_id, payload },
                Last::Message { type_id: mine, payload: own },
            ) = (origin.find(*sequence)?, message)
                && (type_id, &payload) != (*mine, own)
            {
                return Ok(Some(MirrorMismatch::Different { sequence: *sequence }));
            }
        }
        Ok(None)
    }
}

/// Numbers before the last one: each of the nearest, and then at doubled distances.
fn earlier_than(next_sequence: u64) -> impl Iterator<Item = u64> {
    let last = next_sequence.saturating_sub(1);
    (1..16)
        .chain((4..63).map(|power| 1 << power))
        .map_while(move |distance| last.checked_sub(distance).filter(|&sequence| sequence > 0))
}

impl Last {
    fn of(path: &Path, next_sequence: u64) -> Result<Self, RingError> {
        let Some(sequence) = next_sequence.checked_sub(1).filter(|&sequence| sequence > 0) else {
            return Ok(Self::None);
        };
        let mut source = RingSource::open(path, Start::Sequence(sequence))?;
        let mut last = Self::None;
        let _ = source.poll_one(|item| {
            last = match item {
                Item::Message(message) => {
                    let (type_id, payload) = (message.type_id, message.payload.to_vec());
                    Self::Message { type_id, payload }
                }
                Item::Gap(_) | Item::Reused(_) => Self::Skipped,
            };
        })?;
        Ok(last)
    }
}

/// Whether two paths name one file.
fn is_same_file(left: &Path, right: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    file(left).is_some_and(|left| Some(left) == file(right))
}

/// Whether a new region can be created there.
fn is_absent(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NotFound | Refusal::HalfCreated)
}
