//! Why a region cannot be created, opened or removed: one sentence each, with the path.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::{header, owner::Started};

/// A refusal, and the path it is about.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {refusal}", path.display())]
pub struct RegionError {
    path: PathBuf,
    refusal: Refusal,
}

impl RegionError {
    /// A refusal of what is at a path.
    pub fn new(path: &Path, refusal: Refusal) -> Self {
        Self { path: path.to_owned(), refusal }
    }

    /// The path it is about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The reason.
    pub fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

/// Why not. Reads as the end of a sentence that begins with the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing has this path.
    #[error(
        "no such region; its writer creates it at its start (check that the writer runs, and uses this \
         name)"
    )]
    NotFound,
    /// A directory, a pipe, a device.
    #[error("is {what}, expected a regular file")]
    NotAFile {
        /// With its article.
        what: &'static str,
    },
    /// A file of something else. Never written to, never removed.
    #[error("is not a region: it starts with {}, expected \"nanotape\"", quoted(&found[..usize::from(*length)]))]
    NotARegion {
        /// Its first bytes.
        found: [u8; 8],
        /// How many of them it has.
        length: u8,
    },
    /// Of a later (or earlier) program.
    #[error(
        "region format version {found}, but this program supports version {}: use the same version for \
         its writer and its readers",
        header::FORMAT_VERSION
    )]
    FormatVersion {
        /// The version that it states.
        found: u64,
    },
    /// Written on a machine of the other byte order.
    #[error("was written on a machine with another byte order; it cannot be read here")]
    ByteOrder,
    /// Something else is built on it.
    #[error("is a region of kind {}, expected {}", quoted(found), quoted(expected))]
    Kind {
        /// The kind that it states.
        found: [u8; 8],
        /// The kind that was asked for.
        expected: [u8; 8],
    },
    /// Of a program that gives its words another meaning.
    #[error(
        "its words have layout {found}, but this program supports layout {expected}: use the same \
         version for its writer and its readers"
    )]
    Layout {
        /// The layout that it states.
        found: u64,
        /// The layout that was asked for.
        expected: u64,
    },
    /// Of another size or with other parameters than its next owner wants.
    #[error(
        "exists with {found_words} words and parameters {found:?}, expected {expected_words} and \
         {expected:?}; use it as it is, or remove or replace it"
    )]
    Parameters {
        /// The parameters that it states.
        found: [u64; 4],
        /// The words that it states.
        found_words: u64,
        /// The parameters that were asked for.
        expected: [u64; 4],
        /// The words that were asked for.
        expected_words: u64,
    },
    /// No region can have this size here.
    #[error("a region of {words} words is larger than this machine can address")]
    TooLarge {
        /// Words asked for.
        words: u64,
    },
    /// A field has a value that no writer stores.
    #[error("its header is damaged: {field} is {found}, which contradicts other fields")]
    Contradiction {
        /// The field's name in the format document.
        field: &'static str,
        /// Its value.
        found: u64,
    },
    /// The file is shorter than its header says.
    #[error(
        "the file has {file_bytes} bytes, but its region needs {region_bytes}: the file was truncated; \
         remove it, and its next writer creates it again"
    )]
    TooSmall {
        /// Bytes of the file.
        file_bytes: u64,
        /// Bytes that the header states, or bytes of a header.
        region_bytes: u64,
    },
    /// Its creator is alive and not done.
    #[error("is still being created; try again in a moment")]
    BeingCreated,
    /// Its creator ended before it was done.
    #[error("is incomplete, because its creator ended; the next writer completes it")]
    HalfCreated,
    /// It has a writer, and there is one at a time.
    #[error(
        "its owner is alive: process {pid}, started {started} (in containers the process number can \
         differ); a region has one writer at a time"
    )]
    OwnerAlive {
        /// The number that the owner has for itself.
        pid: u32,
        /// When it started.
        started: Started,
    },
    /// Its owner is gone, and something that is no owner is in the way of the next one.
    #[error(
        "cannot be taken over: a process with read access, which is not a nanotape program, holds a lock \
         on it; `lslocks` names the process, and mode 0600 keeps other users out"
    )]
    LockedByReader,
    /// The file's mode keeps this process out.
    #[error(
        "permission denied: user {user} cannot {operation} it, because it belongs to user {owner} and \
         has mode {mode:04o}; {}", if *operation == "read" {
            "its writer can allow reading with --mode 0640 (its group) or 0644 (all users)"
        } else {
            "run as that user, or use another name"
        }
    )]
    Permission {
        /// `read` or `write`.
        operation: &'static str,
        /// The user that this process runs as.
        user: u32,
        /// The user that the file belongs to.
        owner: u32,
        /// The file's permission bits.
        mode: u32,
    },
    /// To be taken over, and of another user with another mode than was asked for.
    #[error(
        "cannot be taken over: it belongs to user {owner} and has mode {mode:04o}, but user {user} \
         requested mode {asked:04o}; remove it first, request mode {mode:04o}, or use another name"
    )]
    OfAnotherUser {
        /// The user that this process runs as.
        user: u32,
        /// The user that the file belongs to.
        owner: u32,
        /// The file's permission bits.
        mode: u32,
        /// Those that were asked for.
        asked: u32,
    },
    /// The file system is full.
    #[error(
        "no space: the region needs {asked_bytes} bytes, but the file system has {free_bytes} free; \
         request less, or enlarge it (in containers /dev/shm often has 64 MiB: --shm-size)"
    )]
    NoSpace {
        /// Bytes asked for.
        asked_bytes: u64,
        /// Bytes that the file system has for this user.
        free_bytes: u64,
    },
    /// There are not enough huge pages.
    #[error(
        "no space: the region needs {asked_bytes} bytes in pages of {page_bytes}, but too few are \
         free; see /proc/sys/vm/nr_hugepages"
    )]
    NoHugePages {
        /// Bytes asked for.
        asked_bytes: u64,
        /// Bytes of one page.
        page_bytes: u64,
    },
    /// Cut while in use.
    #[error(
        "the file was truncated to {file_bytes} bytes while in use, but the region needs \
         {region_bytes}; data read from it is no longer valid"
    )]
    Truncated {
        /// Bytes that the file has now.
        file_bytes: u64,
        /// Bytes of the region.
        region_bytes: u64,
    },
    /// The path names nothing now.
    #[error(
        "removed while in use: existing mappings stay valid, other processes can no longer open it"
    )]
    Removed,
    /// The path names another file now.
    #[error("replaced by another region while in use; open it again")]
    Replaced,
    /// Others created and removed it all the time.
    #[error("other processes keep creating and removing it; gave up after many attempts")]
    Contended,
    /// The name would not be a file in /dev/shm.
    #[error("invalid region name: use 1 to 200 characters from ! to ~, or a path with a slash")]
    Name,
    /// The operating system refused.
    #[error("cannot {operation} it: {errno}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// The reason given.
        errno: Errno,
    },
}

#[cfg(not(nanotape_loom))]
impl Refusal {
    /// Whether the writer may be about to create the region: then a retry may succeed.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::NotFound | Self::BeingCreated | Self::HalfCreated)
    }

    pub(crate) fn system(operation: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::System { operation, errno }
    }

    /// Of an error that the standard library passes on from the kernel.
    pub(crate) fn io(operation: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            Self::System { operation, errno }
        }
    }
}

/// Bytes as text in quotes, whatever they are.
fn quoted(bytes: &[u8]) -> impl fmt::Display {
    format!("\"{}\"", bytes.escape_ascii())
}
