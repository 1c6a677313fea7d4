//! Why perf could not be used.

use std::{io, path::PathBuf};

/// Why there are no findings of perf. Its own words are kept: they usually name the setting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfUnavailable {
    /// There is no such program on the path, or none that this user may run: with a folder on the
    /// path that may not be searched, the system does not tell these apart.
    #[error("perf is not installed, or this user cannot run it")]
    Missing,
    /// There is one, but it does not start.
    #[error("cannot start {command:?}")]
    Start {
        /// The whole command.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// It started and ended without doing its work.
    #[error("{command:?} ended with {status}: {said}")]
    Refused {
        /// The whole command.
        command: String,
        /// How it ended.
        status: String,
        /// What it wrote to its standard error.
        said: String,
    },
    /// It runs and does not answer.
    #[error("perf did not answer {command} within {} s: {said}", super::ANSWER_WITHIN.as_secs())]
    NoAnswer {
        /// What it was told.
        command: &'static str,
        /// What it wrote to its standard error.
        said: String,
    },
    /// It cannot be waited for.
    #[error("cannot wait for perf")]
    Wait {
        /// What the system said.
        source: io::Error,
    },
    /// A file or directory for its work cannot be made or used.
    #[error("cannot use {} as a private folder for perf", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A fifo to it cannot be made or used.
    #[error("cannot use {} as a fifo to perf", path.display())]
    Fifo {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
