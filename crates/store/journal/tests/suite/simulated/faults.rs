//! Operations of the disk that fail, by their number.

use std::io;

use rustix::io::Errno;

/// How an operation fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    NoSpace,
    Io,
    /// Only a part of the data is written.
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

/// The operations that fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// The first failing operation, from 1; 0 for none.
    first: u64,
    /// The number of failing operations.
    count: u64,
    fault: Option<Fault>,
    /// Operations so far.
    seen: u64,
    /// Whether the last operation failed.
    is_failing: bool,
    /// The operations that failed, for messages.
    failed: Vec<&'static str>,
}

impl Faults {
    /// Fails `count` operations from operation `first` on.
    pub(crate) fn at(first: u64, count: u64, fault: Fault) -> Self {
        Self { first, count, fault: Some(fault), ..Self::default() }
    }

    /// Whether the next operation fails.
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

    /// Whether the operation that failed leaves a part of its data.
    pub(crate) fn leaves_a_part(&self) -> bool {
        self.is_failing && self.fault == Some(Fault::Short)
    }

    pub(crate) fn have_come(&self) -> bool {
        !self.failed.is_empty()
    }
}
