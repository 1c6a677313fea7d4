//! What keeps a plant from overwriting messages that others still need: its recorder, its named
//! followers, or the one reader of a private ring.
//!
//! Protocol: the plant waits when the slowest of them is half a ring behind, until it is a quarter
//! of a ring behind. Positions only grow, so after the gate has compared them, the plant can
//! publish up to half a ring beyond the slowest without another comparison.
//! Cost: one comparison of numbers of this process per check. One load per recorder and follower
//! when the plant has used up the distance.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use nanotape_board::{FollowerReader, Waiting};

use crate::{
    followers::Shared,
    recording::{RecorderHold, reopen},
};

/// The distance that a plant keeps from those that it waits for.
#[derive(Debug)]
pub(crate) struct Gate {
    /// The distance at which the plant waits.
    limit_bytes: u64,
    /// Up to this position the gate is open without another comparison.
    open_until: u64,
    recorder: Option<RecorderHold>,
    followers: Option<FollowersHold>,
    /// A reader in this process.
    reader: Option<ReaderPosition>,
    /// The longest wait, if there is a limit.
    patience: Option<Duration>,
    /// The slowest at the last comparison.
    slowest: Slowest,
    waited_for_recorder_ns: u64,
    waited_for_followers_ns: u64,
}

/// Whom a plant waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slowest {
    Recorder,
    Follower,
}

/// The named followers of a ring, in other processes.
#[derive(Debug)]
struct FollowersHold {
    shared: Arc<Shared>,
    version: u64,
    readers: Vec<FollowerReader>,
}

/// The position of a reader in this process, which its plant waits for. Stored by the reader.
#[derive(Clone, Default, Debug)]
pub struct ReaderPosition(Arc<AtomicU64>);

impl ReaderPosition {
    /// Shows that everything before this position was read.
    #[inline]
    pub fn show(&self, position_bytes: u64) {
        self.0.store(position_bytes, Ordering::Relaxed);
    }
}

impl Gate {
    /// A gate for a ring of this size: the plant waits at half of it.
    fn of_ring(capacity_bytes: u64) -> Self {
        Self {
            limit_bytes: capacity_bytes / 2,
            open_until: 0,
            recorder: None,
            followers: None,
            reader: None,
            patience: None,
            slowest: Slowest::Recorder,
            waited_for_recorder_ns: 0,
            waited_for_followers_ns: 0,
        }
    }

    /// The gate of a ring in shared memory; `None` if the plant waits for nothing.
    pub(crate) fn new(
        capacity_bytes: u64,
        recorder: Option<RecorderHold>,
        followers: Option<Arc<Shared>>,
    ) -> Option<Self> {
        if recorder.is_none() && followers.is_none() {
            return None;
        }
        let (version, readers) = (0, Vec::new());
        let followers = followers.map(|shared| FollowersHold { shared, version, readers });
        Some(Self { recorder, followers, ..Self::of_ring(capacity_bytes) })
    }

    /// The same gate, for which the plant never waits longer than this at a time.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The longest wait, if there is a limit.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// The gate of a private ring.
    pub(crate) fn of_reader(position: ReaderPosition, capacity_bytes: u64) -> Self {
        Self { reader: Some(position), ..Self::of_ring(capacity_bytes) }
    }

    /// Whether a plant at this position of its ring has to wait.
    #[inline]
    pub(crate) fn is_closed(&mut self, position_bytes: u64) -> bool {
        position_bytes > self.open_until && self.compare(position_bytes) > self.limit_bytes
    }

    /// Whether a plant that waits has to wait longer: until half of the distance is left. Otherwise
    /// it would wait again after a few messages.
    pub(crate) fn stays_closed(&mut self, position_bytes: u64) -> bool {
        self.compare(position_bytes) > self.limit_bytes / 2
    }

    /// The distance of the slowest.
    #[cold]
    fn compare(&mut self, position_bytes: u64) -> u64 {
        // No order is needed: a reader checks for itself whether it was lapped. The regions are
        // untrusted: a position beyond that of the plant closes nothing.
        let mut slowest = (position_bytes, self.slowest);
        let mut take = |position: u64, who| {
            if position < slowest.0 {
                slowest = (position, who);
            }
        };
        if let Some(recorder) = &self.recorder {
            take(recorder.reader.position_bytes(), Slowest::Recorder);
        }
        if let Some(followers) = &mut self.followers {
            if let Some(readers) = followers.shared.newer(&mut followers.version) {
                followers.readers = readers;
            }
            for reader in &followers.readers {
                take(reader.position_bytes(), Slowest::Follower);
            }
        }
        if let Some(ReaderPosition(position)) = &self.reader {
            take(position.load(Ordering::Relaxed), Slowest::Recorder);
        }
        let (position, who) = slowest;
        self.slowest = who;
        self.open_until = position.saturating_add(self.limit_bytes);
        position_bytes - position
    }

    /// Whom the plant waits for, if it waits.
    pub(crate) fn waiting(&self) -> Waiting {
        match self.slowest {
            Slowest::Recorder => Waiting::Recorder,
            Slowest::Follower => Waiting::Follower,
        }
    }

    /// Opens the recorder's region again if its file was replaced. Two system calls.
    pub(crate) fn refresh(&mut self) {
        if let Some(RecorderHold { ring, reader, .. }) = &mut self.recorder {
            reopen(ring, reader);
        }
    }

    /// Waits for nothing any more.
    pub(crate) fn let_go(&mut self) {
        (self.recorder, self.followers, self.reader) = (None, None, None);
        self.open_until = u64::MAX;
    }

    /// Counts a wait for the slowest.
    pub(crate) fn add_wait(&mut self, who: Waiting, nanos: u64) {
        let waited = match who {
            Waiting::Follower => &mut self.waited_for_followers_ns,
            _ => &mut self.waited_for_recorder_ns,
        };
        *waited = waited.saturating_add(nanos);
    }

    /// How long the plant waited for its recorder.
    pub(crate) fn waited_for_recorder_ns(&self) -> u64 {
        self.waited_for_recorder_ns
    }

    /// How long the plant waited for its named followers.
    pub(crate) fn waited_for_followers_ns(&self) -> u64 {
        self.waited_for_followers_ns
    }
}
