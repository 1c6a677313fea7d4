//! Reads the progress of a recorder from another process.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use nanotape_shm::{Owner, OwnerState, RegionError, SharedRegion, copy_out};

use super::{
    layout::{self, JOURNAL_BYTES, KIND, LAYOUT, WORDS},
    recorder_path,
};

/// The reader's side.
#[derive(Clone, Debug)]
pub struct RecorderReader {
    region: SharedRegion,
}

/// The progress of a recorder at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecorderStat {
    /// The process that records, or did last.
    pub owner: Owner,
    /// Its state.
    pub state: RecorderState,
    /// Creation time of the recorded ring's region, ns since the UNIX epoch; 0 if unknown.
    pub ring_created_ns: u64,
    /// Time of the last update, ns since the UNIX epoch; 0 before the first one.
    pub updated_ns: u64,
    /// The number of the next message to record.
    pub next_sequence: u64,
    /// Its position in the ring, in bytes since the ring was created.
    pub position_bytes: u64,
    /// Messages recorded into this journal by all recorders since the region was created.
    pub recorded: u64,
    /// Messages that were overwritten before they were recorded.
    pub lost: u64,
    /// Number of ranges of lost messages.
    pub gaps: u64,
    /// The absolute path of the journal; empty if it is not stored yet.
    pub journal: PathBuf,
}

/// The state of a recorder, from its region and the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecorderState {
    /// It has joined the ring, and recorded nothing yet.
    Starting,
    /// It records.
    Recording,
    /// The disk is full, and it waits for room.
    WaitingForRoom,
    /// It ended.
    Gone,
    /// Its process exited without an end: it was killed, or it crashed.
    Dead,
    /// It ended because its journal was removed, replaced or renamed while it recorded.
    JournalGone,
}

impl RecorderReader {
    /// Opens the region of the recorder of `ring`. Needs only permission to read the file.
    pub fn open(ring: &Path) -> Result<Self, RegionError> {
        let region = SharedRegion::open_as(&recorder_path(ring), KIND, LAYOUT, WORDS)?;
        Ok(Self::of(region))
    }

    /// The same for the recorder of the ring that was created at this time. `None` without one: its
    /// name might belong to another ring by now.
    pub fn of_ring(ring: &Path, created_ns: u64) -> Option<Self> {
        Self::open(ring).ok().filter(|reader| reader.ring_created_ns() == created_ns)
    }

    pub(super) fn of(region: SharedRegion) -> Self {
        Self { region }
    }

    /// The position of the recorder in the ring, in bytes since the ring was created. One load.
    #[inline]
    pub fn position_bytes(&self) -> u64 {
        self.region.words()[layout::POSITION].load()
    }

    /// The number of the next message to record. One load.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.region.words()[layout::NEXT_SEQUENCE].load()
    }

    /// Creation time of the recorded ring's region, ns since the UNIX epoch; 0 if unknown.
    pub fn ring_created_ns(&self) -> u64 {
        self.region.spec().parameters[0]
    }

    /// The region.
    pub fn region(&self) -> &SharedRegion {
        &self.region
    }

    /// Reads all values. Each number is whole; together they are of about the same time.
    pub fn sample(&self) -> RecorderStat {
        let words = self.region.words();
        let word = |word: usize| words[word].load();
        let owner = self.region.owner();
        RecorderStat {
            owner,
            state: match (owner.state, word(layout::STATE)) {
                (_, layout::JOURNAL_GONE) => RecorderState::JournalGone,
                (OwnerState::Closed, _) => RecorderState::Gone,
                (OwnerState::Dead, _) => RecorderState::Dead,
                (OwnerState::Alive, layout::RECORDING) => RecorderState::Recording,
                (OwnerState::Alive, layout::WAITING_FOR_ROOM) => RecorderState::WaitingForRoom,
                (OwnerState::Alive, _) => RecorderState::Starting,
            },
            ring_created_ns: self.ring_created_ns(),
            updated_ns: word(layout::UPDATED_NS),
            next_sequence: word(layout::NEXT_SEQUENCE),
            position_bytes: word(layout::POSITION),
            recorded: word(layout::RECORDED),
            lost: word(layout::LOST),
            gaps: word(layout::GAPS),
            journal: self.journal(),
        }
    }

    fn journal(&self) -> PathBuf {
        let words = self.region.words();
        let length = words[layout::JOURNAL_LENGTH].load().min(JOURNAL_BYTES as u64) as usize;
        let mut bytes = vec![0; length];
        copy_out(&words[layout::JOURNAL..], &mut bytes);
        Path::new(OsStr::from_bytes(&bytes)).to_owned()
    }
}

impl RecorderState {
    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Recording => "recording",
            Self::WaitingForRoom => "waiting for room",
            Self::Gone => "gone",
            Self::Dead => "dead",
            Self::JournalGone => "journal gone",
        }
    }

    /// All names.
    pub const NAMES: [&str; 6] =
        ["starting", "recording", "waiting for room", "gone", "dead", "journal gone"];
}
