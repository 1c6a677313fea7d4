//! Reads the positions of followers from another process.

use std::path::Path;

use nanotape_journal::is_tailer_name;
use nanotape_shm::{Owner, Refusal, SharedRegion};

use super::{
    layout::{self, KIND, LAYOUT, WORDS},
    named::{FollowerError, MARK, follower_path},
};
use crate::beside::names_beside;

/// The reader's side.
#[derive(Clone, Debug)]
pub struct FollowerReader {
    region: SharedRegion,
}

/// The position of a follower at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FollowerStat {
    /// The process that follows, or did last.
    pub owner: Owner,
    /// Creation time of the ring's region, ns since the UNIX epoch; 0 if unknown.
    pub ring_created_ns: u64,
    /// The writer of the ring that is followed; `None`: every writer.
    pub writer_epoch: Option<u64>,
    /// The first message to read.
    pub first_sequence: u64,
    /// The number of the next message to read.
    pub next_sequence: u64,
    /// Its position in the ring, in bytes since the ring was created.
    pub position_bytes: u64,
    /// Messages that were overwritten before they were read.
    pub lost: u64,
    /// The number of the last one of them; 0: none.
    pub last_lost_sequence: u64,
}

impl FollowerReader {
    /// Opens the region of a follower of `ring`. Needs only permission to read the file.
    pub fn open(ring: &Path, name: &str) -> Result<Self, FollowerError> {
        let path = follower_path(ring, name)?;
        let opened = SharedRegion::open_as(&path, KIND, LAYOUT, WORDS);
        Ok(Self { region: opened.map_err(FollowerError::Region)? })
    }

    /// The position of the follower in the ring, in bytes since the ring was created. One load.
    #[inline]
    pub fn position_bytes(&self) -> u64 {
        self.region.words()[layout::POSITION].load()
    }

    /// Whether its file was truncated, so that its words may be zeros. Two system calls.
    pub fn is_truncated(&self) -> bool {
        let check = self.region.check();
        check.is_err_and(|error| matches!(error.refusal(), Refusal::Truncated { .. }))
    }

    /// Reads all values. Each number is whole; together they are of about the same time.
    pub fn sample(&self) -> FollowerStat {
        let word = |word: usize| self.region.words()[word].load();
        let parameter = |place: usize| self.region.spec().parameters[place];
        // First: an owner that has ended stores nothing more.
        let owner = self.region.owner();
        FollowerStat {
            owner,
            ring_created_ns: parameter(layout::RING_CREATED_NS),
            writer_epoch: Some(parameter(layout::WRITER_EPOCH)).filter(|&epoch| epoch != 0),
            first_sequence: parameter(layout::FIRST_SEQUENCE),
            next_sequence: word(layout::NEXT_SEQUENCE),
            position_bytes: word(layout::POSITION),
            lost: word(layout::LOST),
            last_lost_sequence: word(layout::LAST_LOST),
        }
    }
}

impl FollowerStat {
    /// Whether it follows the writer of this number of the ring that was created at this time.
    pub fn follows(&self, ring_created_ns: u64, writer_epoch: u64) -> bool {
        self.ring_created_ns == ring_created_ns
            && self.writer_epoch.is_none_or(|epoch| epoch == writer_epoch)
    }
}

/// The names of all followers of a ring, also of those that ended, sorted. Empty if the folder of
/// the ring cannot be read.
pub fn follower_names(ring: &Path) -> Vec<String> {
    names_beside(ring, MARK, is_tailer_name)
}
