//! The actions of a repair, one line each.

use std::path::PathBuf;

use crate::Corruption;

/// The actions that a repair did, or would do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Repaired {
    /// In the order of the journal.
    pub actions: Vec<Action>,
}

/// One action.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: offset {offset}: {done}", .path.display())]
#[non_exhaustive]
pub struct Action {
    /// The file.
    pub path: PathBuf,
    /// The position in it, in bytes from the beginning.
    pub offset: u64,
    /// The action.
    pub done: Done,
}

/// The kind of an action. Paths are the files that bytes were moved to. There is no path in a dry
/// run, nor for bytes that were all zero.
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
        /// The damage.
        damage: Corruption,
        /// How many bytes.
        bytes: u64,
        /// The file that now contains them.
        to: Option<PathBuf>,
    },
    /// Damage without a valid excerpt after it was moved out.
    #[error(
        "ended the excerpts here{}, moved out {bytes} bytes ({damage}){}",
        if *.has_mark { " with an end mark" } else { "" },
        are_in(.to)
    )]
    Ended {
        /// The damage.
        damage: Corruption,
        /// How many bytes that were not zero.
        bytes: u64,
        /// The file that now contains them.
        to: Option<PathBuf>,
        /// Whether an end mark was written.
        has_mark: bool,
    },
    /// Index entries were stored or removed.
    #[error("corrected {entries} index entries")]
    Index {
        /// How many.
        entries: u64,
    },
    /// A whole segment got the name that its header states.
    #[error("gave the segment its own name, {}", .to.display())]
    Renamed {
        /// Its name.
        to: PathBuf,
    },
    /// A whole file was moved out.
    #[error("moved out all {bytes} bytes{}", are_in(.to))]
    Moved {
        /// Its length.
        bytes: u64,
        /// Its new path.
        to: Option<PathBuf>,
    },
    /// A compressed segment was unpacked, and its file was moved out.
    #[error("unpacked the segment{}", are_in(.to))]
    Unpacked {
        /// The new path of the compressed file.
        to: Option<PathBuf>,
    },
}

/// The path of moved bytes as the end of a sentence.
fn are_in(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(String::new, |path| format!("; they are in {}", path.display()))
}
