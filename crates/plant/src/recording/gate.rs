//! What keeps a plant from overwriting messages that its recorder, or the one reader of a private
//! ring, still needs.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::process::Supervised;
use crate::RecorderReader;

/// The distance that a plant keeps from a follower.
#[derive(Debug)]
pub(crate) struct Gate {
    follower: Follower,
    /// The distance at which the plant waits.
    limit_bytes: u64,
    waited_ns: u64,
}

#[derive(Debug)]
enum Follower {
    /// The recorder of a ring, in another process.
    Recorder { ring: PathBuf, reader: RecorderReader, supervised: Arc<Supervised> },
    /// A reader in this process.
    Reader(ReaderPosition),
}

/// The position of a reader in this process, which its plant waits for. Stored by the reader.
#[derive(Clone, Default, Debug)]
pub(crate) struct ReaderPosition(Arc<AtomicU64>);

impl ReaderPosition {
    /// Shows that everything before this position was read.
    #[inline]
    pub(crate) fn show(&self, position_bytes: u64) {
        self.0.store(position_bytes, Ordering::Relaxed);
    }
}

impl Gate {
    pub(super) fn new(
        ring: &Path,
        reader: RecorderReader,
        limit_bytes: u64,
        supervised: Arc<Supervised>,
    ) -> Self {
        let follower = Follower::Recorder { ring: ring.to_owned(), reader, supervised };
        Self { follower, limit_bytes, waited_ns: 0 }
    }

    /// The gate of a private ring: the plant waits when the reader is half a ring behind.
    pub(crate) fn of_reader(position: ReaderPosition, capacity_bytes: u64) -> Self {
        let limit_bytes = capacity_bytes / 2;
        Self { follower: Follower::Reader(position), limit_bytes, waited_ns: 0 }
    }

    /// Whether a plant at this position of its ring has to wait. One load.
    #[inline]
    pub(crate) fn is_closed(&self, position_bytes: u64) -> bool {
        self.distance_bytes(position_bytes) > self.limit_bytes
    }

    /// Whether a plant that waits has to wait longer: until half of the distance is left. Otherwise
    /// it would wait again after a few messages.
    #[inline]
    pub(crate) fn stays_closed(&self, position_bytes: u64) -> bool {
        self.distance_bytes(position_bytes) > self.limit_bytes / 2
    }

    #[inline]
    fn distance_bytes(&self, position_bytes: u64) -> u64 {
        // No order is needed: a reader checks for itself whether it was lapped. The region is
        // untrusted: a position beyond that of the plant closes nothing.
        let follower = match &self.follower {
            Follower::Recorder { reader, .. } => reader.position_bytes(),
            Follower::Reader(ReaderPosition(position)) => position.load(Ordering::Relaxed),
        };
        position_bytes.saturating_sub(follower)
    }

    /// Opens the region again if its file was replaced. Two system calls.
    pub(crate) fn refresh(&mut self) {
        if let Follower::Recorder { ring, reader, .. } = &mut self.follower {
            reopen(ring, reader);
        }
    }

    /// Whether the recorder has failed for good.
    pub(crate) fn has_failed(&self) -> bool {
        match &self.follower {
            Follower::Recorder { supervised, .. } => supervised.has_failed(),
            Follower::Reader(_) => false,
        }
    }

    pub(crate) fn add_wait(&mut self, nanos: u64) {
        self.waited_ns = self.waited_ns.saturating_add(nanos);
    }

    /// How long the plant waited.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.waited_ns
    }
}

/// Opens the region of a ring's recorder again if its file was replaced.
pub(super) fn reopen(ring: &Path, reader: &mut RecorderReader) {
    if reader.region().check().is_err()
        && let Ok(current) = RecorderReader::open(ring)
    {
        *reader = current;
    }
}
