//! The reasons why instructions could not be counted.

use std::{io, path::PathBuf, time::Duration};

/// The reason why valgrind gave no count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallgrindError {
    /// The path has no such program, or none that this user can run. If a folder on the path must
    /// not be searched, the system reports both in the same way.
    #[error("valgrind is not installed, or this user cannot run it")]
    Missing,
    /// It exists, but it does not start.
    #[error("cannot start {command:?}")]
    Start {
        /// The whole command.
        command: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Valgrind, or the program in it, failed.
    #[error("{command:?} ended with {status}: {said}")]
    Failed {
        /// The whole command.
        command: String,
        /// Its exit status.
        status: String,
        /// The end of its standard error.
        said: String,
    },
    /// It exceeded its time limit.
    #[error("{command:?} ran for more than {} s", limit.as_secs())]
    TooLong {
        /// The whole command.
        command: String,
        /// The limit.
        limit: Duration,
    },
    /// Waiting for it failed.
    #[error("cannot wait for valgrind")]
    Wait {
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or directory for its work cannot be created.
    #[error("cannot use {} as a private folder for valgrind", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Its output cannot be read.
    #[error("cannot read valgrind's counts from {}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Its output does not have the expected format.
    #[error(
        "{command:?} wrote no total of instructions (expected lines `events: Ir` and `totals:`)"
    )]
    Totals {
        /// The whole command.
        command: String,
    },
    /// The region was never entered, or its name is not in the program.
    #[error(
        "no instructions counted: {command:?} never called the function {region:?}; a program whose \
         function names were stripped cannot be counted"
    )]
    NothingCounted {
        /// The pattern of the region.
        region: String,
        /// The whole command.
        command: String,
    },
}
