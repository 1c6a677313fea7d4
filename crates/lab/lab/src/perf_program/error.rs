//! The reasons why perf could not be used.

use std::{io, path::PathBuf};

/// The reason why perf has no findings, with perf's message: this usually names the setting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfUnavailable {
    /// The path has no such program, or none that this user can run. If a folder on the path must
    /// not be searched, the system reports both in the same way.
    #[error("perf is not installed, or this user cannot run it")]
    Missing,
    /// It exists, but it does not start.
    #[error("cannot start {command:?}")]
    Start {
        /// The whole command.
        command: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It started and then ended without a result.
    #[error("{command:?} ended with {status}: {said}")]
    Refused {
        /// The whole command.
        command: String,
        /// Its exit status.
        status: String,
        /// Its standard error.
        said: String,
    },
    /// It runs, but does not answer.
    #[error("perf did not answer {command} within {} s: {said}", super::ANSWER_WITHIN.as_secs())]
    NoAnswer {
        /// The command.
        command: &'static str,
        /// Its standard error.
        said: String,
    },
    /// Waiting for it failed.
    #[error("cannot wait for perf")]
    Wait {
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or directory for its work cannot be created or used.
    #[error("cannot use {} as a private folder for perf", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A fifo to it cannot be created or used.
    #[error("cannot use {} as a fifo to perf", path.display())]
    Fifo {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}
