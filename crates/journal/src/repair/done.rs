//! What a repair did, line by line.

use std::path::PathBuf;

use crate::Damage;

/// What a repair did, or would do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// In the order of the journal.
    pub actions: Vec<Action>,
}

/// One thing that was done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: offset {offset}: {done}", .path.display())]
#[non_exhaustive]
pub struct Action {
    /// The file.
    pub path: PathBuf,
    /// Where in it, in bytes from the beginning.
    pub offset: u64,
    /// What.
    pub done: Done,
}

/// What was done. Paths are where bytes were put that were taken out; there is none in a dry run,
/// nor for bytes that were all zero.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Done {
    /// A header was written again.
    #[error("rewrote the header")]
    Header,
    /// A segment was made active again.
    #[error("reactivated the segment from sequence number {first_sequence} on")]
    Activated {
        /// The sequence number that it begins with.
        first_sequence: u64,
    },
    /// Damage was covered.
    #[error("covered {bytes} damaged bytes ({damage}){}", are_in(.to))]
    Covered {
        /// What was there.
        damage: Damage,
        /// How many bytes.
        bytes: u64,
        /// Where they are now.
        to: Option<PathBuf>,
    },
    /// Damage with nothing good behind it was taken out.
    #[error(
        "ended the excerpts here{}, moved out {bytes} bytes ({damage}){}",
        if *.has_mark { " with an end mark" } else { "" },
        are_in(.to)
    )]
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
    #[error("corrected {entries} index entries")]
    Index {
        /// How many.
        entries: u64,
    },
    /// A whole file was moved out of the way.
    #[error("moved out all {bytes} bytes{}", are_in(.to))]
    Moved {
        /// Its length.
        bytes: u64,
        /// Where it is now.
        to: Option<PathBuf>,
    },
    /// A compressed segment was unpacked, and its file was moved out of the way.
    #[error("unpacked the segment{}", are_in(.to))]
    Unpacked {
        /// Where it is now.
        to: Option<PathBuf>,
    },
}

/// The path of bytes as the end of a sentence.
fn are_in(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(String::new, |path| format!("; they are in {}", path.display()))
}
