//! Why instructions could not be counted.

use std::{io, path::PathBuf, time::Duration};

/// Why there is no number from valgrind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallgrindError {
    /// There is no such program on the path, or none that this user may run: with a folder on the
    /// path that may not be searched, the system does not tell these apart.
    #[error("valgrind is not installed, or this user cannot run it")]
    Missing,
    /// There is one, but it does not start.
    #[error("cannot start {command:?}")]
    Start {
        /// The whole command.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// Valgrind, or the program in it, ended badly.
    #[error("{command:?} ended with {status}: {said}")]
    Failed {
        /// The whole command.
        command: String,
        /// How it ended.
        status: String,
        /// The end of what was written to its standard error.
        said: String,
    },
    /// It was ended.
    #[error("{command:?} ran for more than {} s", limit.as_secs())]
    TooLong {
        /// The whole command.
        command: String,
        /// What it was given.
        limit: Duration,
    },
    /// It cannot be waited for.
    #[error("cannot wait for valgrind")]
    Wait {
        /// What the system said.
        source: io::Error,
    },
    /// A file or directory for its work cannot be made.
    #[error("cannot use {} as a private folder for valgrind", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What it wrote cannot be read.
    #[error("cannot read valgrind's counts from {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What it wrote is not what it usually writes.
    #[error(
        "{command:?} wrote no total of instructions (expected lines `events: Ir` and `totals:`)"
    )]
    Totals {
        /// The whole command.
        command: String,
    },
    /// The region was never entered, or its name is not in the program.
    #[error("no instructions counted: {command:?} never called the function {region:?}")]
    NothingCounted {
        /// The pattern that was looked for.
        region: String,
        /// The whole command.
        command: String,
    },
}
