//! The errors of a journal: one sentence with the path, and a kind to match on.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use nanotape_shm::{Refusal, RegionError, Shortage, WORD_BYTES};
use rustix::io::Errno;
use zstd::zstd_safe::get_error_name;

use crate::{disk::Disk, position::Position};

/// A failed operation, and its file.
///
/// One pointer in size, so that an append that succeeds does not reserve room for it.
#[derive(Clone, Debug)]
pub struct JournalError(Box<(PathBuf, ErrorKind)>);

impl JournalError {
    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self.kind() {
            ErrorKind::Region(error) => error.is_bad_data(),
            ErrorKind::Damaged { .. }
            | ErrorKind::Packed { .. }
            | ErrorKind::TailerLost(_)
            | ErrorKind::Gone => true,
            ErrorKind::System { cause, .. } => cause.is_of_contents(),
            _ => false,
        }
    }

    pub(crate) fn new(path: impl Into<PathBuf>, problem: ErrorKind) -> Self {
        Self(Box::new((path.into(), problem)))
    }

    /// The error of an invalid word of a segment.
    pub(crate) fn damaged<D: Disk>(disk: &D, name: &str, word: usize, damage: Corruption) -> Self {
        Self::new(disk.path(name), ErrorKind::damaged(word, damage))
    }

    pub(crate) fn system<'a>(
        path: impl Into<PathBuf> + 'a,
        operation: &'static str,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| Self::new(path, ErrorKind::system(operation, &error))
    }

    /// The file, or the folder.
    pub fn path(&self) -> &Path {
        &self.0.0
    }

    /// Whether there is no space: a later append might succeed.
    pub fn is_full(&self) -> bool {
        matches!(self.kind(), ErrorKind::NoSpace { .. } | ErrorKind::Quota { .. })
    }

    /// The kind of problem.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.1
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            // The message already has the path.
            ErrorKind::Region(error) => error.fmt(f),
            problem => write!(f, "{}: {problem}", self.path().display()),
        }
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::Region(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RegionError> for JournalError {
    fn from(error: RegionError) -> Self {
        Self::new(error.path().to_owned(), ErrorKind::Region(error))
    }
}

/// The kinds of problems of a journal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no file or folder.
    #[error("no journal; create one with `nanotape journal append` or the library's Appender")]
    NotFound,
    /// A file, or another thing that is no folder.
    #[error(
        "not a folder, so no journal; give the folder that nanotape run --journal or nanotape \
         journal record wrote"
    )]
    NotAFolder,
    /// A folder with other contents.
    #[error("the folder has files but no journal; use an empty or a new folder")]
    NotAJournal,
    /// The region of a named tailer is damaged.
    #[error(
        "the stored position of this named tailer is lost: {0}; remove the file to start again under \
         this name, or restore a copy of it"
    )]
    TailerLost(Refusal),
    /// The region of the appender or of a tailer.
    #[error(transparent)]
    Region(RegionError),
    /// Another process writes to a segment, although it does not hold the lock of the journal.
    #[error(
        "another process appends to this segment, but the file \"appender\" that it locked was removed \
         or replaced; end that process first"
    )]
    Locked,
    /// A thread of the appender panicked.
    #[error(
        "the appender's thread {name} panicked, so segments are no longer prepared or synced; close the \
         appender and open the journal again; committed excerpts stay"
    )]
    ThreadEnded {
        /// The name of the thread.
        name: &'static str,
    },
    /// There is no space for a segment.
    #[error(
        "no space: the next segment needs {}; existing excerpts stay readable, and appending \
         continues when there is space",
        Shortage { needed_bytes: *needed_bytes, free_bytes: *free_bytes }
    )]
    NoSpace {
        /// Bytes that must be free.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },
    /// The user's quota is used up.
    #[error("disk quota exceeded: the next segment needs {needed_bytes} bytes")]
    Quota {
        /// Bytes that must be free.
        needed_bytes: u64,
    },
    /// The next segment is not ready.
    #[error(
        "the next segment is not ready after {} ms, because the disk is slower than the appender; \
         appending continues when it is ready",
        waited.as_millis()
    )]
    NotReady {
        /// The time waited.
        waited: std::time::Duration,
    },
    /// The active segment, or its folder, was removed, replaced or truncated while the appender had
    /// it open.
    #[error(
        "the segment was removed, replaced or truncated while it was written, so excerpts of it are lost; \
         close the appender and open the journal again to continue"
    )]
    Gone,
    /// An operation on the file failed.
    #[error("cannot {operation} it: {cause}")]
    System {
        /// The operation.
        operation: &'static str,
        /// Why it failed.
        cause: Cause,
    },
    /// Committed excerpts might not be on disk.
    #[error(
        "cannot sync it: {cause}; excerpts {from_sequence} to {to_sequence} are committed and readable, \
         but a loss of power can lose them; the next sync retries"
    )]
    NotOnDisk {
        /// The first excerpt that might be lost.
        from_sequence: u64,
        /// The last one.
        to_sequence: u64,
        /// Why the sync failed.
        cause: Cause,
    },
    /// A payload that is too long for any segment.
    #[error("a payload of {length} bytes is too long: a segment takes at most {max} bytes")]
    TooLong {
        /// Bytes of the payload.
        length: usize,
        /// The maximum.
        max: usize,
    },
    /// An excerpt that does not fit into its batch.
    #[error("the batch has no space for {length} more bytes; commit it and start another")]
    BatchFull {
        /// Bytes of the excerpt.
        length: usize,
    },
    /// A sequence number that is already used, or is larger than the maximum.
    #[error("sequence number {sequence} is not possible here: expected {next} to {max}")]
    Sequence {
        /// The requested number.
        sequence: u64,
        /// The next number.
        next: u64,
        /// The maximum.
        max: u64,
    },
    /// A journal whose last number is near the largest one.
    #[error(
        "no sequence numbers are left: the next one would be {next}, and the largest one is {max}; \
         begin another journal"
    )]
    NoNumbers {
        /// The next number.
        next: u64,
        /// The largest one.
        max: u64,
    },
    /// Invalid options.
    #[error("{0}")]
    Options(OptionsError),
    /// Part of a segment is invalid.
    #[error("damaged at offset {offset}: {damage}; run `nanotape journal verify` for details")]
    Damaged {
        /// The position, in bytes from the beginning of the file.
        offset: u64,
        /// The damage.
        damage: Corruption,
    },
    /// An invalid name of a tailer.
    #[error("invalid tailer name: use 1 to 100 letters, digits, dots, dashes or underscores")]
    Name,
    /// The excerpt at which a tailer is to start does not exist yet.
    #[error("excerpt {sequence} does not exist yet: the next one is {next}")]
    NotYet {
        /// The requested number.
        sequence: u64,
        /// The next number to be written.
        next: u64,
    },
    /// A journal that is a copy of another one.
    #[error(
        "a copy of another journal, which only its replication writes; to append to it, end the \
         replication and run `nanotape journal promote`"
    )]
    IsACopy,
    /// Excerpts for a copy that do not begin where it ends.
    #[error("excerpts for {position}, but the copy ends at {end}")]
    NotNext {
        /// The position of the excerpts.
        position: Position,
        /// The end of the copy.
        end: Position,
    },
    /// Excerpts, or the head of a segment, that arrived for a copy and are not valid.
    #[error("what arrived for {position} is not valid, and nothing of it is kept: {damage}")]
    Arrived {
        /// Where it belongs.
        position: Position,
        /// What is wrong with it.
        damage: Corruption,
    },
    /// A compressed segment cannot be unpacked.
    #[error("cannot unpack it: {cause}")]
    Packed {
        /// Why unpacking failed.
        cause: Cause,
    },
}

impl ErrorKind {
    pub(crate) fn system(operation: &'static str, error: &io::Error) -> Self {
        Self::System { operation, cause: error.into() }
    }

    /// Whether the file does not exist.
    pub(crate) fn is_of_no_file(&self) -> bool {
        matches!(self, Self::System { cause: Cause::Errno(Errno::NOENT), .. })
    }

    pub(crate) fn damaged(word: usize, damage: Corruption) -> Self {
        Self::Damaged { offset: (word * WORD_BYTES) as u64, damage }
    }
}

/// Why an operation on a file failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The error number of the operating system.
    #[error("{0}")]
    Errno(Errno),
    /// The kind of an error that has no number.
    #[error("{0}")]
    Kind(io::ErrorKind),
    /// A pipe, a device or a socket has the name of a file.
    #[error("not a file: remove it, or move it away")]
    NotAFile,
    /// The name of an error of zstd.
    #[error("zstd: {0}")]
    Zstd(&'static str),
    /// A compressed segment is longer than its own header allows, or goes on without excerpts.
    #[error("more bytes than its header and its excerpts allow")]
    TooLong,
    /// A compressed segment ends inside a word.
    #[error("its length is not a multiple of {WORD_BYTES} bytes")]
    PartOfWord,
    /// A compressed segment does not contain the bytes that were compressed.
    #[error("other bytes than were compressed; the disk or the memory may be faulty")]
    Different,
}

impl Cause {
    /// Whether the contents of one file cannot be read: a verification reports it and continues.
    pub fn is_of_contents(self) -> bool {
        !matches!(self, Self::Errno(errno) if errno != Errno::IO)
    }
}

impl From<&io::Error> for Cause {
    fn from(error: &io::Error) -> Self {
        if let Some(errno) = Errno::from_io_error(error) {
            return Self::Errno(errno);
        }
        if error.kind() == io::ErrorKind::InvalidInput {
            return Self::NotAFile;
        }
        // The zstd crate keeps only the name. Its codes are the negated numbers up to 120.
        let text = error.to_string();
        let mut names = (1..=120_usize).map(|code| get_error_name(code.wrapping_neg()));
        names.find(|name| *name == text).map_or(Self::Kind(error.kind()), Self::Zstd)
    }
}

/// Invalid options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// An invalid size of segments.
    #[error("invalid segment size {bytes}: use a multiple of 4096 from {min} to {max}")]
    SegmentBytes {
        /// The requested size.
        bytes: u64,
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// A cycle with length 0.
    #[error("invalid roll cycle of 0 ns: use a longer one")]
    NoCycle,
    /// Periodic syncs without a thread for them.
    #[error("`SyncPolicy::Every` needs the pretoucher thread")]
    NoPretoucher,
    /// A sync after 0 excerpts, or with period 0.
    #[error("invalid sync policy of 0: use a larger number")]
    SyncNothing,
}

/// The kinds of damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Corruption {
    /// The file is too short to be a segment.
    #[error("the file is too short for the header of a segment")]
    Short,
    /// Not a segment: the first word is another one.
    #[error("expected a segment, which starts with \"nanojrnl\", but found \"{}\"", .0.to_ne_bytes().escape_ascii())]
    Magic(u64),
    /// Written by a machine with the other byte order.
    #[error("the segment was written on a machine with another byte order")]
    ByteOrder,
    /// Of another version.
    #[error("unknown format version {version} with layout {layout:#018x}")]
    Version {
        /// The version it states.
        version: u64,
        /// The layout it states.
        layout: u64,
    },
    /// A header that is inconsistent.
    #[error("the header is invalid")]
    Header,
    /// Invalid words of the activation.
    #[error("the activation is invalid")]
    Activation,
    /// A number that differs from the name's, or another journal.
    #[error("segment {number} of journal {journal:#018x} does not belong here")]
    Stranger {
        /// The number it states.
        number: u64,
        /// The journal it states.
        journal: u64,
    },
    /// A commit word of an unknown kind.
    #[error("the commit word {0:#018x} has an unknown kind")]
    Commit(u64),
    /// An excerpt length that does not fit there, in bytes.
    #[error("an excerpt of {0} bytes does not fit here")]
    Length(u32),
    /// Bytes that do not match their checksum.
    #[error("the excerpt's bytes have CRC-32C {found:#010x}, expected {expected:#010x}")]
    Checksum {
        /// The stored checksum.
        expected: u32,
        /// The computed checksum.
        found: u32,
    },
    /// A sequence number that is already used, or after which there is no other one.
    #[error("sequence number {found}, expected at least {least} and less than 2^48 - 1")]
    Sequence {
        /// The number found.
        found: u64,
        /// The smallest valid number.
        least: u64,
    },
    /// No excerpt, although later ones exist.
    #[error("no excerpt is committed here, but excerpts follow")]
    Hole,
    /// No end mark, although there is no room for another excerpt.
    #[error("the segment ends here without an end mark")]
    Unended,
    /// Words after the last excerpt that are not zero.
    #[error("bytes after the last excerpt are not zero")]
    Rest,
    /// The file became shorter while it was read.
    #[error("the file was truncated while it was read")]
    Truncated,
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_number_prints_its_kind_and_not_another_number() {
        let print = |error: io::Error| ErrorKind::system("open", &error).to_string();
        let short = io::ErrorKind::UnexpectedEof.into();
        assert_eq!(print(short), "cannot open it: unexpected end of file");
        let numbered = Errno::NOTDIR.into();
        assert_eq!(print(numbered), "cannot open it: Not a directory (os error 20)");
        let of_zstd = io::Error::other("Data corruption detected");
        assert_eq!(print(of_zstd), "cannot open it: zstd: Data corruption detected");
        assert_eq!(print(io::Error::other("odd")), "cannot open it: other error");
    }
}
