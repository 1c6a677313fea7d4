//! What a verification finds: where, how bad, and what was expected.

use std::path::PathBuf;

use crate::{Cause, Damage, Gap};

/// Something that a verification came upon.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: offset {offset}: {found}", .path.display())]
#[non_exhaustive]
pub struct Finding {
    /// The file, or the folder.
    pub path: PathBuf,
    /// Where in it, in bytes from the beginning; of a compressed segment as it was before.
    pub offset: u64,
    /// What it is.
    pub found: Found,
}

impl Finding {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        use Found as F;
        match &self.found {
            F::Damage(_)
            | F::Unpackable(_)
            | F::Unreadable(_)
            | F::Inactive
            | F::Skipped { .. } => Severity::Fault,
            F::WrongEntry | F::Time { .. } => Severity::Hint,
            _ => Severity::Note,
        }
    }
}

/// How bad something is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum Severity {
    /// It is as it may be, and worth knowing.
    #[error("note")]
    Note,
    /// It is wrong, and readers do without it.
    #[error("hint")]
    Hint,
    /// It is wrong, and readers stop there or miss what is behind it.
    #[error("fault")]
    Fault,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Found {
    /// Something that is not what it must be.
    #[error("{0}")]
    Damage(Damage),
    /// The same, with good excerpts behind it.
    #[error("{damage}; valid excerpts continue at offset {to}")]
    Skipped {
        /// What is there.
        damage: Damage,
        /// Where excerpts check again, in bytes from the beginning of the file.
        to: u64,
    },
    /// A compressed segment that cannot be unpacked.
    #[error("cannot unpack it: {0}")]
    Unpackable(Cause),
    /// A file that cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(Cause),
    /// A segment that never became active, in front of one that did.
    #[error("the segment is only prepared, but a later one is active")]
    Inactive,
    /// An entry of the index that is wrong.
    #[error("the index entry here does not match the excerpts")]
    WrongEntry,
    /// A segment that does not know of times before it.
    #[error("the largest time before this segment is {found}, expected at least {least}")]
    Time {
        /// What the segment states, in ns since the UNIX epoch.
        found: u64,
        /// What excerpts before it have.
        least: u64,
    },
    /// Entries of the index that are missing.
    #[error("the index lacks {0} entries, starting here")]
    MissingEntries(u64),
    /// Sequence numbers that no excerpt has.
    #[error("excerpts {} to {} are missing: skipped, removed or lost", .0.from, .0.to)]
    Gap(Gap),
    /// Damage that was covered by a repair.
    #[error("{bytes} damaged bytes were covered by a repair; they are in the folder cut")]
    Lost {
        /// How many, with what covers them.
        bytes: u64,
    },
    /// Something behind the last excerpt.
    #[error("{bytes} bytes after the end are not zero: an excerpt in progress or not committed")]
    Rest {
        /// How many.
        bytes: u64,
    },
    /// A file that is being made, or was left by who was killed then.
    #[error("an incomplete segment: in progress, or left by a killed process")]
    Part,
    /// A segment that is there twice.
    #[error("the segment also exists uncompressed, which is the copy in use")]
    Twice,
    /// A file that is not the journal's.
    #[error("not a file of a journal; ignored")]
    Foreign,
    /// Something that recovery or repair took out.
    #[error("{bytes} bytes that recovery or repair moved here")]
    Quarantined {
        /// How many.
        bytes: u64,
    },
}
