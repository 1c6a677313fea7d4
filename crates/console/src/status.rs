//! Exit statuses, and which error means which.

use std::{
    fmt,
    io::{self, Write as _},
    process::ExitCode,
};

use nanotape_feed::SourceError;

/// How a command ended, for its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// 0: everything asked for was done and nothing was wrong.
    Good,
    /// 1: the data, or what was checked, is bad.
    Bad,
    /// 2: wrong usage, or something that cannot be opened or written.
    Usage,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Good => 0,
            Status::Bad => 1,
            Status::Usage => 2,
        })
    }
}

/// The data is bad in a way that leaves a command nothing to print.
#[derive(Debug)]
pub struct BadData(pub String);

impl fmt::Display for BadData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadData {}

impl Status {
    /// What an error means: bad data, or the environment.
    pub fn of_error(error: &anyhow::Error) -> Self {
        if error.is::<BadData>() {
            return Self::Bad;
        }
        match error.downcast_ref::<SourceError>() {
            Some(
                SourceError::CompressionCut { .. }
                | SourceError::CompressionDamaged { .. }
                | SourceError::Map(nanotape_feed::MapError::Shrank { .. }),
            ) => Self::Bad,
            _ => Self::Usage,
        }
    }
}

/// Prints a line on standard error, in one write, because several programs may write there. Errors
/// are ignored: the reader may be gone.
pub fn tell(line: impl fmt::Display) {
    let line = format!("nanotape: {line}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Whether the reader of the output is gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
