//! Reasons for a benchmark without a result.

use std::io;

use nanotape_console::status::BadData;
use nanotape_exchange::server::ExchangeError;
use nanotape_feed::{SourceError, udp::UdpError};
use nanotape_history::{JournalRunError, RunsError, SnapshotError, SnapshotterError};
use nanotape_journal::{ErrorKind, JournalError};
use nanotape_lab::text::in_full;
use nanotape_latest::LatestError;
use nanotape_link::{CertificatesError, IdentityError};
use nanotape_plant::{RecordingError, RunError};
use nanotape_replication::{FollowError, LeaderError, ReplicateError, ServeError};
use nanotape_ring::{PublishError, ReadError, RingError, StartError};
use nanotape_shm::{Refusal, RegionError};
use nanotape_tap::{MirrorError, RecorderError, SubscribeError};
use nanotape_trace::{flight::FlightError, spans::TraceError};

use crate::engine::TimedOut;

/// Why a reading failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Ring(#[from] RingError),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Latest(#[from] LatestError),
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Snapshotter(#[from] SnapshotterError),
    #[error(transparent)]
    Runs(#[from] RunsError),
    #[error(transparent)]
    Udp(#[from] UdpError),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Flight(#[from] FlightError),
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Leader(#[from] LeaderError),
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Replicate(#[from] ReplicateError),
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A reader received other bytes than the writer wrote.
    #[error("message {sequence}: its {length} bytes differ from what was written")]
    Wrong { sequence: u64, length: usize },
    /// Messages were lost although at most one is in progress.
    #[error("{count} messages were lost on a round trip")]
    Lost { count: u64 },
    /// A row does not account for every message or has a wrong answer, or a file is damaged.
    #[error("{subject}: {finding}")]
    Found { subject: String, finding: String },
    #[error("cannot {what}")]
    System { what: &'static str, source: io::Error },
    /// A process failed, or its answer cannot be read.
    #[error("a process of {row} ended with {status}: {output}")]
    Worker { row: &'static str, status: String, output: String },
    #[error("ended before everything was measured")]
    Interrupted,
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    pub(crate) fn found(subject: impl ToString, finding: impl ToString) -> Self {
        Self::Found { subject: subject.to_string(), finding: finding.to_string() }
    }

    /// Whether the error is a wrong answer; all others are obstacles.
    pub(crate) fn is_finding(&self) -> bool {
        match self {
            Self::Wrong { .. } | Self::Lost { .. } | Self::Found { .. } | Self::Read(_) => true,
            Self::Ring(error) => match error {
                RingError::Read(_) | RingError::Words { .. } => true,
                RingError::Start(error) => matches!(error, StartError::Damaged(_)),
                RingError::Region(error) => is_damaged(error),
                _ => false,
            },
            Self::Latest(error) => error.is_bad_data(),
            Self::Journal(error)
            | Self::Runs(RunsError::Journal(error))
            | Self::Snapshotter(SnapshotterError::Journal(error)) => match error.kind() {
                ErrorKind::Damaged { .. } | ErrorKind::Packed { .. } => true,
                ErrorKind::Region(error) => is_damaged(error),
                _ => false,
            },
            Self::Snapshotter(SnapshotterError::Record { .. })
            | Self::Snapshot(SnapshotError::Damaged { .. })
            | Self::Runs(RunsError::Line { .. })
            | Self::Recording(
                RecordingError::Incomplete { .. } | RecordingError::ProgressLost { .. },
            ) => true,
            _ => false,
        }
    }

    /// Attaches the exit status of this error.
    pub(crate) fn judged(self) -> anyhow::Error {
        match self {
            Self::Source(error) => error.into(),
            error if error.is_finding() => BadData(in_full(&error)).into(),
            error => error.into(),
        }
    }
}

impl From<JournalRunError> for Error {
    fn from(error: JournalRunError) -> Self {
        match error {
            JournalRunError::Journal(error) => error.into(),
            JournalRunError::Snapshot(error) => error.into(),
            error => Self::found("the journal", error),
        }
    }
}

fn is_damaged(error: &RegionError) -> bool {
    matches!(
        error.refusal(),
        Refusal::Contradiction { .. }
            | Refusal::Words { .. }
            | Refusal::TooSmall { .. }
            | Refusal::Truncated { .. }
    )
}

/// An error with the exit status that it implies.
pub(crate) fn failed(error: impl Into<Error>) -> anyhow::Error {
    error.into().judged()
}
