//! Why a day file could not be measured.

use std::{io, path::PathBuf};

use nanotape_feed::SourceError;
use nanotape_plant::{RunError, SubscribeError};

use crate::{Silence, sides::SideError};

/// Why there is no reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DayFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is read once for every reading, which a pipe cannot be.
    #[error("{}: not a file that can be read again and again", path.display())]
    NotAFile {
        /// What was given.
        path: PathBuf,
    },
    /// The file is damaged, or has nothing in it.
    #[error("{}: {reason}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Variants gave different answers: at least one of them is wrong.
    #[error("the answers differ: {difference}")]
    Differ {
        /// Which, and how.
        difference: String,
    },
    /// No variant of that name.
    #[error("no variant is named {name}; there are {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// The process of a variant could not be started.
    #[error("a process to measure {variant} in could not be started")]
    Start {
        /// The variant.
        variant: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The process of a variant ended badly, or said something else than a reading.
    #[error("the process that measured {variant} ended with {status} and said: {said}")]
    Worker {
        /// The variant.
        variant: &'static str,
        /// How it ended.
        status: String,
        /// What it wrote.
        said: String,
    },
    /// A plant cannot be made, or not go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A tap cannot read the ring of its plant.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// Nothing came to a tap for too long.
    #[error(transparent)]
    Silence(#[from] Silence),
    /// A processor that was asked for cannot be used.
    #[error(transparent)]
    Cpus(#[from] SideError),
    /// A tap ended badly, or said something else than what it read.
    #[error("a tap ended with {status} and said: {said}")]
    Tap {
        /// How it ended.
        status: String,
        /// What it wrote.
        said: String,
    },
    /// Something around the processes failed.
    #[error("cannot {what}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The environment asks for something that this version does not do.
    #[error("{role:?} is no role of this version")]
    Role {
        /// What was asked for.
        role: String,
    },
}

impl DayFileError {
    /// Whether the data, or what came of it, is bad: everything else is an obstacle.
    pub fn is_finding(&self) -> bool {
        matches!(self, Self::Bad { .. } | Self::Differ { .. })
    }
}
