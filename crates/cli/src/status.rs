//! Exit statuses, and which error means which.

use std::{
    fmt,
    io::{self, Write as _},
    process::ExitCode,
};

use nanotape_feed::SourceError;

/// How a command ended, for whoever called it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
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
pub(crate) struct BadData(pub(crate) String);

impl fmt::Display for BadData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadData {}

impl Status {
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
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

/// Says a line on standard error. In one piece, for several programs may write there; and if nobody reads
/// it any more, that is no reason to fail.
pub(crate) fn tell(line: impl fmt::Display) {
    let line = format!("nanotape: {line}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
