//! Why a ring or a journal cannot be mirrored, or no longer.

use std::{
    io,
    path::{Path, PathBuf},
};

use nanotape_clock::UtcNanos;
use nanotape_journal::{ErrorKind, JournalError};
use nanotape_ring::{PublishError, RingError};
use nanotape_shm::{Refusal, RegionError};

use crate::RecorderError;

/// Why a ring or a journal cannot be mirrored, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// A region cannot be opened or created.
    #[error(transparent)]
    Region(RegionError),
    /// A ring cannot be read or created.
    #[error("{}: {error}", path.display())]
    Ring {
        /// The ring.
        path: PathBuf,
        /// The cause.
        error: Box<RingError>,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The file that names the journal's ring cannot be read.
    #[error(transparent)]
    Mark(Box<RecorderError>),
    /// The target is the source.
    #[error("{}: the target is the source itself: give another name", path.display())]
    Itself {
        /// The path of both.
        path: PathBuf,
    },
    /// The target has other messages than the source.
    #[error(
        "{}: does not continue {}: {why}; replace it with --replace, or mirror onto another name",
        target.display(),
        origin.display()
    )]
    OtherStream {
        /// The ring of the mirror.
        target: PathBuf,
        /// The source.
        origin: PathBuf,
        /// The evidence.
        why: MirrorMismatch,
    },
    /// A message cannot be published.
    #[error(
        "{}: message {sequence} of the source: {error}; use a larger --capacity or --max-length with \
         --replace",
        target.display()
    )]
    Publish {
        /// The ring of the mirror.
        target: PathBuf,
        /// The number of the message.
        sequence: u64,
        /// The cause.
        error: PublishError,
    },
    /// The ring of the source was removed, replaced or truncated.
    #[error("{}: {}; the last mirrored message is {last}", origin.display(), what(error))]
    Lost {
        /// The source.
        origin: PathBuf,
        /// The change.
        error: Box<RegionError>,
        /// The last message that was mirrored.
        last: u64,
    },
    /// The ring of the mirror was removed, replaced or truncated.
    #[error("the ring of this mirror is lost: {error}")]
    TargetGone {
        /// The change.
        error: RegionError,
    },
    /// No thread could be started to check the ring.
    #[error("cannot start a thread: {error}")]
    Thread {
        /// The cause.
        error: io::Error,
    },
}

/// The evidence that a ring does not continue a source.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorMismatch {
    /// It mirrors a ring that was created at another time.
    #[error(
        "it has messages of a ring created at {then}, but the source is of one created at {now}"
    )]
    Created {
        /// The creation time that it has.
        then: UtcNanos,
        /// The creation time of the source.
        now: UtcNanos,
    },
    /// It has more messages than the source.
    #[error("its next message is {target_next}, but the next one of the source is {source_next}")]
    Ahead {
        /// The source's next number.
        source_next: u64,
        /// The ring's next number.
        target_next: u64,
    },
    /// It has another message with the number.
    #[error("its last message, {sequence}, differs from message {sequence} of the source")]
    Different {
        /// The number of its last message.
        sequence: u64,
    },
    /// The source has no message to compare, and names no ring.
    #[error(
        "the source names no ring, and its message {sequence} is not there to compare with the last one"
    )]
    NotComparable {
        /// The number of its last message.
        sequence: u64,
    },
}

impl MirrorError {
    /// Whether the writer of the source may be about to create it.
    pub fn is_pending(&self) -> bool {
        match self {
            Self::Region(error) => error.refusal().is_pending(),
            Self::Ring { error, .. } => error.is_pending(),
            Self::Journal(error) => *error.kind() == ErrorKind::NotFound,
            _ => false,
        }
    }

    pub(super) fn of_ring(path: &Path, error: RingError) -> Self {
        match error {
            RingError::Region(error) => Self::Region(error),
            error => Self::Ring { path: path.to_owned(), error: Box::new(error) },
        }
    }

    pub(super) fn other_stream(target: &Path, origin: &Path, why: MirrorMismatch) -> Self {
        Self::OtherStream { target: target.to_owned(), origin: origin.to_owned(), why }
    }

    pub(super) fn publish(target: &Path, sequence: u64, error: PublishError) -> Self {
        Self::Publish { target: target.to_owned(), sequence, error }
    }

    /// Whether it is the loss of the file of a ring that was read.
    pub(super) fn is_lost_ring(&self) -> bool {
        match self {
            Self::Region(error) => {
                matches!(error.refusal(), Refusal::Removed | Refusal::Replaced)
            }
            _ => false,
        }
    }

    /// The same with the last message that was mirrored, if it is the loss of the source.
    pub(super) fn at(self, origin: &Path, last: u64) -> Self {
        match self {
            Self::Region(error) => {
                let error = Box::new(error);
                Self::Lost { origin: origin.to_owned(), error, last }
            }
            other => other,
        }
    }
}

fn what(error: &RegionError) -> String {
    match error.refusal() {
        Refusal::Removed => "was removed while it was mirrored".to_owned(),
        Refusal::Replaced => "was replaced by another region while it was mirrored".to_owned(),
        other => other.to_string(),
    }
}
