//! Why a region cannot be created, opened or removed: one sentence each, with the path.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::{header, owner::Started};
use crate::word::WORD_BYTES;

/// A refusal, with the path of the region.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {refusal}{}", path.display(), advice(path, refusal))]
pub struct RegionError {
    path: PathBuf,
    refusal: Refusal,
}

impl RegionError {
    /// A refusal for the file at a path.
    pub fn new(path: &Path, refusal: Refusal) -> Self {
        Self { path: path.to_owned(), refusal }
    }

    /// The path of the region.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The reason.
    pub fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        matches!(
            self.refusal,
            Refusal::Contradiction { .. }
                | Refusal::Words { .. }
                | Refusal::TooSmall { .. }
                | Refusal::Truncated { .. }
        )
    }
}

/// What helps against a lack of space, which depends on the path.
fn advice(path: &Path, refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoSpace { .. } if path.starts_with("/dev/shm") => {
            "; request less, or enlarge it (in containers /dev/shm often has 64 MiB: --shm-size)"
        }
        Refusal::NoSpace { .. } => "; request less, or make room",
        _ => "",
    }
}

/// How much space is missing. Reads as the end of a sentence that ends with "needs". A file system
/// with enough bytes refuses a file if it has no inode for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// Bytes that must be free.
    pub needed_bytes: u64,
    /// Bytes that are free.
    pub free_bytes: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed_bytes, free_bytes } = *self;
        if free_bytes < needed_bytes {
            return write!(f, "{needed_bytes} bytes, but {free_bytes} are free");
        }
        write!(
            f,
            "{needed_bytes} bytes and {free_bytes} are free, but the file system allows no more \
             files: check its inodes (df -i)"
        )
    }
}

/// The reason. Reads as the end of a sentence that begins with the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The path does not exist.
    #[error(
        "does not exist; its writer creates it at its start (check that the writer runs, and uses this \
         name)"
    )]
    NotFound,
    /// A directory, a pipe, a device.
    #[error("is {what}, expected a regular file")]
    NotAFile {
        /// The type, with its article.
        what: &'static str,
    },
    /// The machine does not have the memory node.
    #[error(
        "memory node {node} does not exist on this machine: \
         /sys/devices/system/node/online lists its nodes"
    )]
    NoNode {
        /// The requested node.
        node: u32,
    },
    /// The kernel does not keep the pages on a memory node.
    #[error(
        "cannot be kept on memory node {node}: {errno}; the node needs memory, and a container \
         needs permission to call mbind (CAP_SYS_NICE)"
    )]
    NotBound {
        /// The requested node.
        node: u32,
        /// The cause.
        errno: Errno,
    },
    /// A file of another program. Never written, never removed.
    #[error("is not a region: it starts with {}, expected \"nanotape\"", quoted(&found[..usize::from(*length)]))]
    NotARegion {
        /// The first bytes of the file.
        found: [u8; 8],
        /// Number of those bytes.
        length: u8,
    },
    /// Created by a later (or earlier) program.
    #[error(
        "region format version {found}, but this program supports version {}: use the same version for \
         its writer and its readers",
        header::FORMAT_VERSION
    )]
    FormatVersion {
        /// The version in the header.
        found: u64,
    },
    /// Written on a machine of the other byte order.
    #[error("was written on a machine with another byte order; it cannot be read here")]
    ByteOrder,
    /// The region has another kind.
    #[error("is a region of kind {}, expected {}", quoted(found), quoted(expected))]
    Kind {
        /// The kind in the header.
        found: [u8; 8],
        /// The requested kind.
        expected: [u8; 8],
    },
    /// Created by a program with another layout of the words.
    #[error(
        "offset {}: layout {found}, but this program supports layout {expected}: use the same version \
         for its writer and its readers",
        header::at::LAYOUT * WORD_BYTES
    )]
    Layout {
        /// The layout in the header.
        found: u64,
        /// The requested layout.
        expected: u64,
    },
    /// The number of words differs from that of the layout.
    #[error(
        "offset {}: payload_words is {found}, expected {expected}: its header is damaged; remove it, \
         and its next writer creates it again",
        header::at::PAYLOAD_WORDS * WORD_BYTES
    )]
    Words {
        /// The words in the header.
        found: u64,
        /// The words of the layout.
        expected: u64,
    },
    /// The size or the parameters differ from those of the next owner.
    #[error(
        "exists with {found_words} words and parameters {found:?}, expected {expected_words} and \
         {expected:?}; use it as it is, or remove or replace it"
    )]
    Parameters {
        /// The parameters in the header.
        found: [u64; 4],
        /// The words in the header.
        found_words: u64,
        /// The requested parameters.
        expected: [u64; 4],
        /// The requested words.
        expected_words: u64,
    },
    /// No region can have this size here.
    #[error("a region of {words} words is larger than this machine can address")]
    TooLarge {
        /// Requested words.
        words: u64,
    },
    /// A field has a value that no writer stores.
    #[error("its header is damaged: {field} is {found}, which contradicts other fields")]
    Contradiction {
        /// The field's name in the format document.
        field: &'static str,
        /// The value of the field.
        found: u64,
    },
    /// A word that does not match its checksum.
    #[error("is damaged: its {field} is {found:#018x}, which does not match its checksum")]
    Checksum {
        /// The word's name in the format document.
        field: &'static str,
        /// The value of the word.
        found: u64,
    },
    /// The file is shorter than its header requires.
    #[error(
        "the file has {file_bytes} bytes, but its region needs {region_bytes}: the file was truncated; \
         remove it, and its next writer creates it again"
    )]
    TooSmall {
        /// Bytes of the file.
        file_bytes: u64,
        /// Bytes that the header requires, or bytes of a header.
        region_bytes: u64,
    },
    /// Its creator is alive and has not finished.
    #[error("is still being created; try again in a moment")]
    BeingCreated,
    /// Its creator ended before it finished.
    #[error("is incomplete, because its creator ended; the next writer completes it")]
    HalfCreated,
    /// It already has a writer.
    #[error(
        "its owner is alive: process {pid}, started {started} (in containers the process number can \
         differ); a region has one writer at a time"
    )]
    OwnerAlive {
        /// The process number of the owner in its own namespace.
        pid: u32,
        /// The start time of the owner.
        started: Started,
    },
    /// Its owner exited, but another process blocks the take-over, or many processes write it.
    #[error(
        "cannot be taken over: a process that writes it with others, or another one with read access, holds \
         a lock on it; `lslocks` names the process, and mode 0600 keeps other users out"
    )]
    LockedByReader,
    /// The file's mode denies access to this process.
    #[error(
        "permission denied: user {user} cannot {operation} it, because it belongs to user {owner} and \
         has mode {mode:04o}; {}", match *operation {
            _ if user == owner => "change its mode (chmod), or use another name",
            "read" => "its writer can allow reading with --mode 0640 (its group) or 0644 (all users)",
            _ => "run as that user, or use another name",
        }
    )]
    Permission {
        /// `read` or `write`.
        operation: &'static str,
        /// The user of this process.
        user: u32,
        /// The user of the file.
        owner: u32,
        /// The file's permission bits.
        mode: u32,
    },
    /// A file of another user, where this process would write: that user could write to it too.
    #[error(
        "belongs to user {owner}, and this process is of user {user}: use another name, or let user \
         {owner} or root remove it"
    )]
    OfAnotherUser {
        /// The user of this process.
        user: u32,
        /// The user of the file.
        owner: u32,
    },
    /// A file of another user beside a region, which readers would take for a part of it.
    #[error(
        "belongs to user {owner}, but the region beside which it is to user {expected}: it is not of \
         the same plant; let user {owner} or root remove it"
    )]
    BesideOfAnotherUser {
        /// The user of the file.
        owner: u32,
        /// The user of the region.
        expected: u32,
    },
    /// A link: the user that made it chooses the file behind it.
    #[error("is a link of user {owner}, expected a regular file; use the path that it leads to")]
    Link {
        /// The user of the link.
        owner: u32,
    },
    /// The file system is full.
    #[error("no space: the region needs {}", Shortage { needed_bytes: *needed_bytes, free_bytes: *free_bytes })]
    NoSpace {
        /// Requested bytes.
        needed_bytes: u64,
        /// Bytes that the file system has for this user.
        free_bytes: u64,
    },
    /// There are not enough huge pages.
    #[error(
        "no space: the region needs {needed_bytes} bytes in pages of {page_bytes}, but too few are \
         free; see /proc/sys/vm/nr_hugepages"
    )]
    NoHugePages {
        /// Requested bytes.
        needed_bytes: u64,
        /// Bytes of one page.
        page_bytes: u64,
    },
    /// Truncated while in use.
    #[error(
        "the file was truncated to {file_bytes} bytes while in use, but the region needs \
         {region_bytes}; data read from it is no longer valid"
    )]
    Truncated {
        /// Current bytes of the file.
        file_bytes: u64,
        /// Bytes of the region.
        region_bytes: u64,
    },
    /// The path no longer exists.
    #[error(
        "removed while in use: existing mappings stay valid, other processes can no longer open it"
    )]
    Removed,
    /// The path now names another file.
    #[error("replaced by another region while in use; open it again")]
    Replaced,
    /// Other processes keep creating and removing it.
    #[error("other processes keep creating and removing it; gave up after many attempts")]
    Contended,
    /// The name is invalid as a file in /dev/shm.
    #[error("invalid region name: use 1 to 200 characters from ! to ~, or a path with a slash")]
    Name,
    /// A system call failed.
    #[error("cannot {operation} it: {errno}")]
    System {
        /// The operation.
        operation: &'static str,
        /// The cause.
        errno: Errno,
    },
}

#[cfg(not(nanotape_loom))]
impl Refusal {
    /// Whether the writer may be about to create the region, so that a retry might succeed.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::NotFound | Self::BeingCreated | Self::HalfCreated)
    }

    pub(crate) fn system(operation: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::System { operation, errno }
    }

    /// For an error of the kernel in the form of the standard library.
    pub(crate) fn io(operation: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            Self::System { operation, errno }
        }
    }
}

/// Arbitrary bytes as text in quotes.
fn quoted(bytes: &[u8]) -> impl fmt::Display {
    format!("\"{}\"", bytes.escape_ascii())
}
