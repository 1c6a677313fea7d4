//! Why the journal could not be measured.

use std::path::PathBuf;

use nanotape_journal::JournalError;

use crate::{sides::SideError, wait::Silence};

/// Why there is no reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalBenchError {
    /// The journal cannot be opened, appended to or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// An excerpt is not what was appended.
    #[error("excerpt {sequence}, of {length} bytes, is not what was appended")]
    Wrong {
        /// Its number.
        sequence: u64,
        /// Its length, as the journal says.
        length: usize,
    },
    /// Excerpts do not add up.
    #[error("{row}: {complaint}")]
    Unaccounted {
        /// The row.
        row: &'static str,
        /// What does not.
        complaint: String,
    },
    /// It was told to end.
    #[error("ended before everything was measured")]
    Ended,
    /// The processes of a row.
    #[error(transparent)]
    Side(#[from] SideError),
    /// The folder has too little room.
    #[error(
        "{} has {free_bytes} bytes free, and a reading takes {needed_bytes}: give fewer --messages or another \
         folder",
        folder.display()
    )]
    NoRoom {
        /// Where.
        folder: PathBuf,
        /// What is there.
        free_bytes: u64,
        /// What the largest reading takes.
        needed_bytes: u64,
    },
    /// No row of that name.
    #[error("no row is named {name}, and none begins with it; there are {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
}

impl JournalBenchError {
    /// Whether the journal gave a wrong answer: everything else is an obstacle.
    pub fn is_finding(&self) -> bool {
        let is_damage = |error: &JournalError| {
            matches!(error.problem(), nanotape_journal::Problem::Damaged { .. })
        };
        match self {
            Self::Wrong { .. } | Self::Unaccounted { .. } => true,
            Self::Side(SideError::Found { .. }) => true,
            Self::Journal(error) => is_damage(error),
            _ => false,
        }
    }
}

impl From<Silence> for JournalBenchError {
    fn from(silence: Silence) -> Self {
        Self::Side(silence.into())
    }
}
