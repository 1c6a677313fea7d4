//! What a repair did, line by line.

use std::{fmt, path::PathBuf};

use crate::Damage;

/// What a repair did, or would do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// In the order of the journal.
    pub actions: Vec<Action>,
}

/// One thing that was done.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Action {
    /// The file.
    pub path: PathBuf,
    /// Where in it, in bytes from the beginning.
    pub offset: u64,
    /// What.
    pub done: Done,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, done } = self;
        write!(f, "{}: offset {offset}: {done}", path.display())
    }
}

/// What was done. Paths are where bytes were put that were taken out; there is none in a dry run,
/// nor for bytes that were all zero.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Done {
    /// A header was written again.
    Header,
    /// A segment was made active again.
    Activated {
        /// The sequence number that it begins with.
        first_sequence: u64,
    },
    /// Damage was covered.
    Covered {
        /// What was there.
        damage: Damage,
        /// How many bytes.
        bytes: u64,
        /// Where they are now.
        to: Option<PathBuf>,
    },
    /// Damage with nothing good behind it was taken out.
    Ended {
        /// What was there.
        damage: Damage,
        /// How many bytes that were not zero.
        bytes: u64,
        /// Where they are now.
        to: Option<PathBuf>,
        /// Whether an end mark was written.
        has_mark: bool,
    },
    /// Entries of the index were stored or removed.
    Index {
        /// How many.
        entries: u64,
    },
    /// A whole file was moved out of the way.
    Moved {
        /// Its length.
        bytes: u64,
        /// Where it is now.
        to: Option<PathBuf>,
    },
    /// A compressed segment was unpacked, and its file was moved out of the way.
    Unpacked {
        /// Where it is now.
        to: Option<PathBuf>,
    },
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("rewrote the header"),
            Self::Activated { first_sequence } => {
                write!(f, "reactivated the segment from sequence number {first_sequence} on")
            }
            Self::Covered { damage, bytes, to } => {
                write!(f, "covered {bytes} damaged bytes ({damage}){}", Place(to))
            }
            Self::Ended { damage, bytes, to, has_mark } => {
                let mark = if *has_mark { " with an end mark" } else { "" };
                write!(
                    f,
                    "ended the excerpts here{mark}, moved out {bytes} bytes ({damage}){}",
                    Place(to)
                )
            }
            Self::Index { entries } => write!(f, "corrected {entries} index entries"),
            Self::Moved { bytes, to } => write!(f, "moved out all {bytes} bytes{}", Place(to)),
            Self::Unpacked { to } => write!(f, "unpacked the segment{}", Place(to)),
        }
    }
}

/// Where bytes are, as the end of a sentence.
struct Place<'a>(&'a Option<PathBuf>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(path) => write!(f, "; they are in {}", path.display()),
            None => Ok(()),
        }
    }
}
