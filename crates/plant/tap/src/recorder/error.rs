//! Why a ring cannot be recorded, or no longer.

use std::{io, path::PathBuf};

use nanotape_board::FollowerError;
use nanotape_clock::UtcNanos;
use nanotape_history::RunsError;
use nanotape_journal::{ErrorKind, JournalError, KeeperError};
use nanotape_ring::RingError;
use nanotape_shm::{Refusal, RegionError};

use super::origin::TITLE;

/// Why a ring cannot be recorded, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecorderError {
    /// No writer created the ring in time.
    #[error("{}: no such ring", ring.display())]
    NoRing {
        /// The ring.
        ring: PathBuf,
    },
    /// The writer of the ring has ended, and a named recorder needs one that lives.
    #[error("{}: the writer of this ring has ended", ring.display())]
    NoWriter {
        /// The ring.
        ring: PathBuf,
    },
    /// The recorder cannot be a named follower.
    #[error(transparent)]
    Follower(#[from] FollowerError),
    /// The ring's region cannot be opened.
    #[error(transparent)]
    Region(RegionError),
    /// The ring cannot be read.
    #[error("{}: {error}", ring.display())]
    Ring {
        /// The ring.
        ring: PathBuf,
        /// The cause.
        error: Box<RingError>,
    },
    /// The journal cannot be written or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The runs and names beside the journal cannot be read or stored.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// The folder of the journal was renamed while it was recorded.
    #[error(
        "{}: the folder of the journal was renamed to {} while it was recorded; everything up to message \
         {last} is there; move it back, or record into another journal",
        journal.display(),
        now_at.display()
    )]
    Moved {
        /// The path at which it was opened.
        journal: PathBuf,
        /// Its path now.
        now_at: PathBuf,
        /// The last message that was recorded.
        last: u64,
    },
    /// The journal was removed or replaced while it was recorded, and the rest of it cannot be
    /// read. All its messages count as lost.
    #[error(
        "{gone}; all messages count as lost, since the rest of the journal cannot be read: {why}"
    )]
    Unreadable {
        /// What happened to the journal.
        gone: JournalError,
        /// Why it cannot be read.
        why: JournalError,
    },
    /// The journal has messages of another ring.
    #[error(
        "{}: not the ring that {} was recorded from: {why}; record it into a new journal",
        ring.display(),
        journal.display()
    )]
    OtherRing {
        /// The ring.
        ring: PathBuf,
        /// The journal.
        journal: PathBuf,
        /// The evidence.
        why: OriginMismatch,
    },
    /// The file that names the journal's ring has other content.
    #[error(
        "{}: does not name the ring that the journal was recorded from: expected a line \"{TITLE}\", then \
         created_ns and ring; remove the file to compare the journal with the ring instead",
        path.display()
    )]
    Mark {
        /// The file.
        path: PathBuf,
    },
    /// The file that names the journal's ring cannot be read or written.
    #[error("cannot {operation} {}: {error}", path.display())]
    File {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The progress of the recorder cannot be shown.
    #[error("{0}; end the other recorder of this ring first")]
    NotShown(NotShown),
    /// The ring was removed, replaced or truncated while it was recorded.
    #[error(
        "{}: {}; the last recorded message is {last}; record the next ring of this name into a new journal",
        ring.display(),
        what(error)
    )]
    Lost {
        /// The ring.
        ring: PathBuf,
        /// The change.
        error: Box<RegionError>,
        /// The last message that was recorded.
        last: u64,
    },
}

/// Why the progress of a recorder is not shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotShown {
    /// The region cannot be owned: usually another recorder of the ring owns it.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A named recorder shows its position as a follower, so that it never takes the place of the
    /// recorder that a plant starts.
    #[error("a named recorder shows its position as a follower")]
    Follower,
    /// A recorder of a ring that is being written died.
    #[error("the recorder of {} died, and its plant may start it again", journal.display())]
    Dead {
        /// Its journal.
        journal: PathBuf,
    },
}

/// The evidence that a journal has messages of another ring.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OriginMismatch {
    /// The rings were created at different times.
    #[error("that was {ring}, created at {then}, but this ring was created at {now}")]
    Created {
        /// The path of the recorded ring.
        ring: String,
        /// Creation time of the recorded ring.
        then: UtcNanos,
        /// Creation time of this ring.
        now: UtcNanos,
    },
    /// The ring has fewer messages than the journal.
    #[error(
        "the next message of the ring is {ring_next}, but the next excerpt of the journal is {journal_next}"
    )]
    Behind {
        /// The ring's next number.
        ring_next: u64,
        /// The journal's next number.
        journal_next: u64,
    },
    /// There is no message to compare.
    #[error("the journal does not name its ring, and holds no excerpt to compare")]
    NoExcerpt,
    /// The ring has overwritten the message to compare.
    #[error(
        "the journal does not name its ring, and the ring no longer holds message {sequence} to compare"
    )]
    Overwritten {
        /// The number of the journal's last excerpt.
        sequence: u64,
    },
    /// The ring has no such message yet.
    #[error("the ring has not published message {sequence}, the last excerpt of the journal")]
    NotPublished {
        /// The number of the journal's last excerpt.
        sequence: u64,
    },
    /// The ring has another message with the number.
    #[error("message {sequence} of the ring differs from excerpt {sequence} of the journal")]
    Different {
        /// The number of the journal's last excerpt.
        sequence: u64,
    },
}

impl RecorderError {
    /// Whether the journal was removed, replaced or renamed while it was recorded: a recorder that
    /// is started again would begin another journal.
    pub fn is_of_lost_journal(&self) -> bool {
        match self {
            Self::Journal(error) => *error.kind() == ErrorKind::Gone,
            Self::Moved { .. } | Self::Unreadable { .. } => true,
            _ => false,
        }
    }

    /// Whether the disk of the journal is full: a later attempt might succeed.
    pub fn is_full(&self) -> bool {
        let kind = match self {
            Self::Journal(error) => return error.is_full(),
            Self::Runs(RunsError::System { error, .. }) | Self::File { error, .. } => error.kind(),
            _ => return false,
        };
        matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    pub(super) fn of_ring(ring: &std::path::Path, error: RingError) -> Self {
        match error {
            RingError::Region(error) => Self::Region(error),
            error => Self::Ring { ring: ring.to_owned(), error: Box::new(error) },
        }
    }
}

impl From<KeeperError> for RecorderError {
    fn from(error: KeeperError) -> Self {
        match error {
            KeeperError::Journal(error) => Self::Journal(error),
            KeeperError::Moved { journal, now_at, last } => Self::Moved { journal, now_at, last },
        }
    }
}

fn what(error: &RegionError) -> String {
    match error.refusal() {
        Refusal::Removed => "was removed during recording".to_owned(),
        Refusal::Replaced => "was replaced by another region during recording".to_owned(),
        other => other.to_string(),
    }
}
