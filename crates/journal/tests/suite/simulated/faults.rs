//! Operations of the disk that fail, by their number.

use std::io;

use rustix::io::Errno;

/// How an operation fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    NoSpace,
    Io,
    /// What was to be written is there in part.
    Short,
}

pub(crate) const FAULTS: [Fault; 3] = [Fault::NoSpace, Fault::Io, Fault::Short];

impl Fault {
    pub(crate) fn error(self) -> io::Error {
        match self {
            Self::NoSpace | Self::Short => Errno::NOSPC.into(),
            Self::Io => Errno::IO.into(),
        }
    }
}

/// Which operations fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// The first one, from 1; 0 for none.
    first: u64,
    /// How many.
    count: u64,
    fault: Option<Fault>,
    /// Operations so far.
    seen: u64,
    /// Whether the last operation failed.
    is_failing: bool,
    /// What failed, for messages.
    failed: Vec<&'static str>,
}

impl Faults {
    /// So many operations from this number on fail.
    pub(crate) fn at(first: u64, count: u64, fault: Fault) -> Self {
        Self { first, count, fault: Some(fault), ..Self::default() }
    }

    /// Whether the operation that comes now fails.
    pub(crate) fn next(&mut self, what: &'static str) -> Option<Fault> {
        self.seen += 1;
        self.is_failing =
            self.first > 0 && self.seen >= self.first && self.seen - self.first < self.count;
        if !self.is_failing {
            return None;
        }
        if self.failed.len() < 16 {
            self.failed.push(what);
        }
        self.fault
    }

    /// Whether the operation that just failed leaves a part of what was to be there.
    pub(crate) fn leaves_a_part(&self) -> bool {
        self.is_failing && self.fault == Some(Fault::Short)
    }

    pub(crate) fn have_come(&self) -> bool {
        !self.failed.is_empty()
    }
}
