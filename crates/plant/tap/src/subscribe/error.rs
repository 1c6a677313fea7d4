//! Why a plant or its journal cannot be read.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
};

use nanotape_board::FollowerError;
use nanotape_history::{DbnError, SnapshotError};
use nanotape_journal::JournalError;
use nanotape_plant::RunError;
use nanotape_records::BadRecord;
use nanotape_ring::{ReadError, RingError, StartError};
use nanotape_shm::RegionError;

use crate::{RecorderError, states::CopyError};

/// Why a plant cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// A shutdown was requested before the plant started.
    #[error("a shutdown was requested before the plant started")]
    Shutdown,
    /// The plant of the ring has ended, and a named follower needs one that runs.
    #[error("{}: the plant of this ring has ended, and a named follower joins a running plant", path.display())]
    NoPlant {
        /// The ring.
        path: PathBuf,
    },
    /// The subscriber cannot be a named follower.
    #[error(transparent)]
    Follower(#[from] FollowerError),
    /// The ring or the board cannot be opened, or the name is invalid.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The ring cannot be joined at the requested start.
    #[error("{}: {error}", path.display())]
    Ring {
        /// The ring.
        path: PathBuf,
        /// The cause.
        error: Box<RingError>,
    },
    /// The ring is damaged.
    #[error("{}: {error}", path.display())]
    Read {
        /// The ring.
        path: PathBuf,
        /// The damage.
        error: ReadError,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(JournalError),
    /// The snapshot that the subscriber begins with cannot be read.
    #[error(transparent)]
    Snapshot(SnapshotError),
    /// The map of the newest states cannot be read.
    #[error("{}: {error}", map.display())]
    Latest {
        /// The map.
        map: PathBuf,
        /// The cause.
        error: Box<CopyError>,
    },
    /// The map has the states of another run of the plant.
    #[error(
        "{}: has the states of another run than {}; start its keeper (nanotape latest keep), or wait \
         for it with a longer wait",
        map.display(),
        path.display()
    )]
    OtherRun {
        /// The map.
        map: PathBuf,
        /// The ring or the journal.
        path: PathBuf,
    },
    /// The journal was recorded from another ring, or the file that names its ring cannot be read.
    #[error(transparent)]
    Origin(Box<RecorderError>),
    /// A DBN file cannot be read on.
    #[error("{}: {error}", path.display())]
    Dbn {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: Box<DbnError>,
    },
    /// A stream that is received cannot be received any more.
    #[error("{}: {error}", path.display())]
    Received {
        /// The address of the stream.
        path: PathBuf,
        /// The cause.
        error: Arc<dyn Error + Send + Sync>,
    },
    /// The plant of a day file cannot run.
    #[error(transparent)]
    Plant(Box<RunError>),
    /// A message of the ring is not a valid record of its type.
    #[error("{}: {error}", path.display())]
    Record {
        /// The ring.
        path: PathBuf,
        /// The problem.
        error: BadRecord,
    },
}

impl SubscribeError {
    /// Whether the subscription can succeed later: the plant or the record can still come.
    pub fn is_pending(&self) -> bool {
        match self {
            Self::Region(error) => error.refusal().is_pending(),
            Self::Ring { error, .. } => {
                matches!(**error, RingError::Start(StartError::NotYet { .. }))
            }
            Self::NoPlant { .. } => true,
            _ => false,
        }
    }

    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Region(error) => error.is_bad_data(),
            Self::Ring { error, .. } => error.is_bad_data(),
            Self::Journal(error) => error.is_bad_data(),
            Self::Snapshot(error) => error.is_bad_data(),
            Self::Dbn { error, .. } => error.is_bad_data(),
            Self::Plant(error) => error.is_bad_data(),
            Self::Latest { error, .. } => error.is_bad_data(),
            Self::Read { .. } | Self::Record { .. } | Self::Received { .. } => true,
            Self::Shutdown
            | Self::NoPlant { .. }
            | Self::Follower(_)
            | Self::Origin(_)
            | Self::OtherRun { .. } => false,
        }
    }
}

/// Why a poll failed.
#[derive(Debug)]
pub(super) enum Failed {
    Ring(RingError),
    Journal(JournalError),
    Snapshot(SnapshotError),
    Dbn(DbnError),
    Origin(RecorderError),
    /// The file of the board was truncated.
    Board(RegionError),
    Received(Arc<dyn Error + Send + Sync>),
    Bad(BadRecord),
}

impl From<RingError> for Failed {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}

impl Failed {
    pub(super) fn on(self, path: &Path) -> SubscribeError {
        let path = path.to_owned();
        match self {
            Self::Ring(RingError::Region(error)) => SubscribeError::Region(error),
            Self::Ring(RingError::Read(error)) => SubscribeError::Read { path, error },
            Self::Ring(error) => SubscribeError::Ring { path, error: Box::new(error) },
            Self::Journal(error) => SubscribeError::Journal(error),
            Self::Snapshot(error) => SubscribeError::Snapshot(error),
            Self::Dbn(error) => SubscribeError::Dbn { path, error: Box::new(error) },
            Self::Origin(error) => SubscribeError::Origin(Box::new(error)),
            Self::Board(error) => SubscribeError::Region(error),
            Self::Received(error) => SubscribeError::Received { path, error },
            Self::Bad(error) => SubscribeError::Record { path, error },
        }
    }
}
