//! Why a benchmark has no result.

use std::{io, path::PathBuf};

use nanotape_console::status::BadData;
use nanotape_feed::SourceError;
use nanotape_journal::{JournalError, Problem};
use nanotape_lab::text::in_full;
use nanotape_plant::{RunError, SubscribeError};
use nanotape_ring::{PublishError, ReadError, RingError, StartError};
use nanotape_shm::{Refusal, RegionError};

use crate::engine::TimedOut;

/// Why there is no reading.
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
    Region(#[from] RegionError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A reader got other bytes than the writer wrote.
    #[error("message {sequence}: its {length} bytes differ from what was written")]
    Wrong { sequence: u64, length: usize },
    /// Messages were lost although at most one at a time is under way.
    #[error("{count} messages were lost on a round trip")]
    Lost { count: u64 },
    /// The processes of a row do not account for every message.
    #[error("{row}: {complaint}")]
    Unaccounted { row: &'static str, complaint: String },
    /// A process found a wrong answer.
    #[error("{row}: {output}")]
    Found { row: &'static str, output: String },
    /// Rows gave different answers: at least one of them is wrong.
    #[error("the answers differ: {difference}")]
    Differ { difference: String },
    /// The file is damaged or empty.
    #[error("{}: {reason}", path.display())]
    Bad { path: PathBuf, reason: String },
    /// Every reading reads the file again, which a pipe does not allow.
    #[error("{}: not a regular file, which every reading could read again", path.display())]
    NotAFile { path: PathBuf },
    #[error("processor {cpu} is not among those allowed ({allowed})")]
    NotAllowed { cpu: u32, allowed: String },
    #[error("no {noun} is named {name}{hint}; use one of {known}")]
    Unknown { noun: &'static str, name: String, hint: &'static str, known: String },
    #[error(
        "a ring of {capacity_bytes} bytes holds {messages} messages of {length} bytes; a \
         measurement needs at least {fewest}"
    )]
    TooSmall { capacity_bytes: usize, length: usize, messages: u64, fewest: u64 },
    #[error(
        "{} has {free_bytes} bytes free, but a reading takes {needed_bytes}: use fewer --messages \
         or another folder",
        folder.display()
    )]
    NoRoom { folder: PathBuf, free_bytes: u64, needed_bytes: u64 },
    #[error("cannot {what}")]
    System { what: &'static str, source: io::Error },
    /// A process ended badly, or its answer cannot be read.
    #[error("a process of {row} ended with {status}: {output}")]
    Worker { row: &'static str, status: String, output: String },
    /// Stamps of the processes of a row would be of different clocks.
    #[error("this process uses another clock than the process that started it")]
    OtherClock,
    #[error("ended before everything was measured")]
    Interrupted,
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    /// Whether what is measured gave a wrong answer: everything else is an obstacle.
    pub(crate) fn is_finding(&self) -> bool {
        match self {
            Self::Wrong { .. }
            | Self::Lost { .. }
            | Self::Unaccounted { .. }
            | Self::Found { .. }
            | Self::Differ { .. }
            | Self::Bad { .. }
            | Self::Read(_) => true,
            Self::Ring(error) => match error {
                RingError::Read(_) | RingError::Words { .. } => true,
                RingError::Start(error) => matches!(error, StartError::Damaged(_)),
                RingError::Region(error) => is_damaged(error),
                _ => false,
            },
            Self::Journal(error) => match error.problem() {
                Problem::Damaged { .. } | Problem::Packed { .. } => true,
                Problem::Region(error) => is_damaged(error),
                _ => false,
            },
            _ => false,
        }
    }

    /// With the exit status that it means.
    pub(crate) fn judged(self) -> anyhow::Error {
        match self {
            Self::Source(error) => error.into(),
            error if error.is_finding() => BadData(in_full(&error)).into(),
            error => error.into(),
        }
    }
}

fn is_damaged(error: &RegionError) -> bool {
    matches!(
        error.refusal(),
        Refusal::Contradiction { .. } | Refusal::TooSmall { .. } | Refusal::Truncated { .. }
    )
}

/// What an error of a journal, or of something else, means for the exit status.
pub(crate) fn failed(error: impl Into<Error>) -> anyhow::Error {
    error.into().judged()
}
