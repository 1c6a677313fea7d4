//! The findings of a verification: position, severity, and expectation.

use std::path::PathBuf;

use nanotape_shm::Refusal;

use crate::{Cause, Corruption, Gap};

/// One finding of a verification.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: offset {offset}: {found}", .path.display())]
#[non_exhaustive]
pub struct Finding {
    /// The file, or the folder.
    pub path: PathBuf,
    /// The position in bytes from the beginning; of a compressed segment, in its unpacked words.
    pub offset: u64,
    /// The kind of finding.
    pub found: Found,
}

impl Finding {
    /// The severity of the finding.
    pub fn severity(&self) -> Severity {
        use Found as F;
        match &self.found {
            F::Corruption(_)
            | F::Unpackable(_)
            | F::Unreadable(_)
            | F::Tailer(_)
            | F::Inactive
            | F::Missing { .. }
            | F::Skipped { .. } => Severity::Fault,
            F::WrongEntry | F::Time { .. } => Severity::Hint,
            _ => Severity::Note,
        }
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum Severity {
    /// It is valid, and worth reporting.
    #[error("note")]
    Note,
    /// It is wrong, but readers can ignore it.
    #[error("hint")]
    Hint,
    /// It is wrong, and readers stop there or miss later excerpts.
    #[error("fault")]
    Fault,
}

/// The kind of a finding.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Found {
    /// A part that is invalid.
    #[error("{0}")]
    Corruption(Corruption),
    /// The same, with valid excerpts after it.
    #[error("{damage}; valid excerpts continue at offset {to}")]
    Skipped {
        /// The damage.
        damage: Corruption,
        /// The next valid excerpt, in bytes from the beginning of the file.
        to: u64,
    },
    /// A compressed segment that cannot be unpacked.
    #[error("cannot unpack it: {0}")]
    Unpackable(Cause),
    /// A file that cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(Cause),
    /// The stored position of a named tailer, which is lost.
    #[error(
        "the position of this named tailer is lost: {0}; remove the file to start again under this name, \
         or restore a copy of it"
    )]
    Tailer(Refusal),
    /// A segment that never became active, before one that did.
    #[error("the segment is only prepared, but a later one is active")]
    Inactive,
    /// Segments without a file, between others. Those that a repair moved out are not meant.
    #[error("there is no such file{}: its excerpts are missing; restore a copy", up_to(*.from, *.to))]
    Missing {
        /// The number of the first one.
        from: u64,
        /// The number of the last one.
        to: u64,
    },
    /// A wrong entry of the index.
    #[error("the index entry here does not match the excerpts")]
    WrongEntry,
    /// A segment whose largest earlier time is too small.
    #[error("the largest time before this segment is {found}, expected at least {least}")]
    Time {
        /// The time that the segment states, in ns since the UNIX epoch.
        found: u64,
        /// The largest time of the excerpts before it.
        least: u64,
    },
    /// An incarnation whose checksum is wrong.
    #[error(
        "the incarnation of this segment is unknown, so that readers cannot see reused sequence numbers: \
         written by an earlier version, changed, or lost with the power until the next appender opens it"
    )]
    Incarnation,
    /// Missing entries of the index.
    #[error("the index lacks {0} entries, starting here")]
    MissingEntries(u64),
    /// Sequence numbers that no excerpt has.
    #[error("excerpts {} to {} are missing: skipped, removed or lost", .0.from, .0.to)]
    Gap(Gap),
    /// Damage that was covered by a repair.
    #[error("{bytes} damaged bytes were covered by a repair; they are in the folder cut")]
    Lost {
        /// The bytes, including the excerpts that cover them.
        bytes: u64,
    },
    /// Nonzero bytes after the last excerpt.
    #[error("{bytes} bytes after the end are not zero: an excerpt in progress or not committed")]
    Rest {
        /// How many.
        bytes: u64,
    },
    /// A segment that is being created, or that a killed process left.
    #[error("an incomplete segment: in progress, or left by a killed process")]
    Part,
    /// A segment that exists both plain and compressed.
    #[error("the segment also exists uncompressed, which is the copy in use")]
    Twice,
    /// A file that is not the journal's.
    #[error("not a file of a journal; ignored")]
    Foreign,
    /// Data that recovery or repair moved out.
    #[error("{bytes} bytes that recovery or repair moved here")]
    Quarantined {
        /// How many.
        bytes: u64,
    },
}

/// The end of a range of segments, if there is more than one.
fn up_to(from: u64, to: u64) -> String {
    if from == to { String::new() } else { format!(", nor any up to number {to}") }
}
