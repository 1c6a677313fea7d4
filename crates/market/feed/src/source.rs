//! Where the bytes of a day come from: one type for plain files, compressed files and pipes.
//!
//! A source returns blocks of contiguous bytes. The reader passes how much of the last block it
//! used, and the next block begins exactly there. So a record that straddles two blocks is whole in
//! the second, and no record is copied into a buffer of its own.
//!
//! | input | how |
//! |---|---|
//! | plain file | read into one buffer, block by block; the kernel reads ahead |
//! | `.gz`, `.zst` (detected from the content, not the name) | decompressed on a second thread, several blocks ahead |
//! | standard input, a pipe | read on a second thread, compressed or not |
//!
//! Bounds: a file takes a buffer of 768 KiB; a stream keeps a few blocks of 1 MiB in flight.

mod again;
mod compression;
mod decoder;
mod file;
mod gzip;
mod input;
mod recognise;
mod stream;
mod unchanged;
mod zstandard;

use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub(crate) use again::Again;
use again::FileAgain;
pub use compression::Compression;
use file::FileBlocks;
pub use recognise::{OtherKind, RECORD_WITHIN_BYTES};
use stream::StreamBlocks;
use unchanged::OpenedFile;

use nanotape_market::Venue;

use crate::{capture::CaptureChoice, venues::NASDAQ_ITCH};

/// The most bytes a reader may leave unused in a block that is not the last.
///
/// Room for two maximum-length records. Needing more indicates a bug.
pub const MAX_UNUSED_BYTES: usize = 256 << 10;

/// Bytes of a capture's packets that wait in memory for an earlier one, if nothing else is set.
const KEPT_BYTES: usize = 64 << 20;

/// The name of standard input in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// The bytes of a day, block by block.
#[derive(Debug)]
pub struct DaySource {
    name: String,
    kind: Kind,
    /// What opens a regular file once more.
    file: Option<FileAgain>,
    /// The same file, or the piece that is read.
    opened: Option<OpenedFile>,
    choice: CaptureChoice,
    /// Further pieces that were begun.
    pieces_begun: usize,
    /// Why an earlier piece ended early.
    earlier_fault: Option<SourceError>,
    kept_bytes: usize,
    day_begins_ns: u64,
    venue: &'static Venue,
}

enum Kind {
    File(FileBlocks),
    Stream(StreamBlocks),
    Memory { bytes: Arc<Vec<u8>>, used: usize },
}

/// Omits the bytes.
impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(blocks) => blocks.fmt(f),
            Self::Stream(blocks) => blocks.fmt(f),
            Self::Memory { bytes, used } => {
                f.debug_struct("Memory").field("bytes", &bytes.len()).field("used", used).finish()
            }
        }
    }
}

/// Contiguous bytes of the day.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Offset of the first byte in the (decompressed) stream.
    pub offset: u64,
    /// The bytes, starting with the unused ones of the block before.
    pub bytes: &'a [u8],
    /// Whether this is the last block. Any other block has more bytes than the one before left
    /// unused, unless the source's patience ended.
    pub is_last: bool,
}

/// How far a source has been read, in bytes of the input as stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes used so far.
    pub done_bytes: u64,
    /// Size of the input, if known.
    pub total_bytes: Option<u64>,
}

/// Why a source could not be opened, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A system call failed.
    #[error("cannot {operation} {name}: {source}")]
    System {
        /// The operation that failed.
        operation: &'static str,
        /// The input.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// The path is a directory.
    #[error("{}: is a directory, expected a day file", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// The bytes are not a capture, and only a capture has groups, sessions and pieces.
    #[error(
        "{name}: is not a capture (pcap, pcapng), and only a capture has groups, sessions and pieces"
    )]
    NotACapture {
        /// The input.
        name: String,
    },
    /// The input has no bytes.
    #[error("{name}: is empty, expected a BinaryFILE day or a capture (pcap, pcapng)")]
    Empty {
        /// The input.
        name: String,
    },
    /// The bytes are those of a file of another kind.
    #[error("{name}: {}; {}", kind.what, kind.advice_for(name))]
    NotADay {
        /// The input.
        name: String,
        /// The kind.
        kind: OtherKind,
    },
    /// The bytes are of no known kind.
    #[error("{name}: not a BinaryFILE day: no record in its first {bytes} bytes")]
    NoRecord {
        /// The input.
        name: String,
        /// Bytes that were searched for a record.
        bytes: u64,
    },
    /// The packets of a capture that wait for an earlier one are not next to each other.
    #[error(
        "{name}: its packets are too scattered: those that wait for an earlier one are in more \
         than {most} ranges of numbers (reordercap sorts a file; a file that is no pipe needs less)"
    )]
    Scattered {
        /// The input.
        name: String,
        /// The most ranges.
        most: usize,
    },
    /// The file is shorter than when it was opened.
    #[error(
        "{name}: the file shrank to {now_bytes} bytes while it was read (it had {opened_bytes})"
    )]
    Shrank {
        /// The input.
        name: String,
        /// Length when opened.
        opened_bytes: u64,
        /// Current length.
        now_bytes: u64,
    },
    /// The file was written while it was read.
    #[error("{name}: the file was changed while it was read: read it again when it is complete")]
    Changed {
        /// The input.
        name: String,
    },
    /// The compressed stream ends before its end marker; everything before was delivered.
    #[error(
        "{name}: the {compression} stream is cut off at compressed offset {compressed_offset} \
         ({delivered_bytes} bytes decompressed)"
    )]
    CompressionCut {
        /// The input.
        name: String,
        /// How it is compressed.
        compression: Compression,
        /// Where the compressed bytes end.
        compressed_offset: u64,
        /// Decompressed bytes that were delivered.
        delivered_bytes: u64,
    },
    /// The compressed stream needs a dictionary, or more memory than a hostile file may get.
    #[error(
        "{name}: the {compression} stream needs {what} (compressed offset {compressed_offset})"
    )]
    CompressionNeeds {
        /// The input.
        name: String,
        /// How it is compressed.
        compression: Compression,
        /// Where the part begins that needs it.
        compressed_offset: u64,
        /// What it needs, and what to do.
        what: &'static str,
    },
    /// The compressed stream contradicts itself; everything that decompresses before was delivered.
    #[error(
        "{name}: the {compression} stream is damaged at or before compressed offset \
         {compressed_offset} ({delivered_bytes} bytes decompressed): {source}"
    )]
    CompressionDamaged {
        /// The input.
        name: String,
        /// How it is compressed.
        compression: Compression,
        /// Where the damage was found. For zstd: in the block that begins there, or in the
        /// checksum. For gzip: where the bits became invalid, or at the checksum.
        compressed_offset: u64,
        /// Decompressed bytes that were delivered.
        delivered_bytes: u64,
        /// What the decompressor found.
        source: io::Error,
    },
}

impl SourceError {
    /// Whether the content is bad, rather than its name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        matches!(
            self,
            Self::Changed { .. }
                | Self::CompressionCut { .. }
                | Self::CompressionDamaged { .. }
                | Self::Empty { .. }
                | Self::Shrank { .. }
        )
    }
}

impl DaySource {
    /// Opens a file of any compression.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::open_as(path, true)
    }

    fn open_as(path: &Path, is_whole: bool) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let system = |operation| {
            let name = name.clone();
            move |source| SourceError::System { operation, name, source }
        };
        let mut file = File::open(path).map_err(system("open"))?;
        let metadata = file.metadata().map_err(system("inspect"))?;
        if metadata.is_dir() {
            return Err(SourceError::Directory { path: path.to_owned() });
        }
        if !metadata.is_file() {
            return Self::stream(name, file, None);
        }
        let again = Some(FileAgain::new(path, &metadata));
        let mut first = Vec::with_capacity(Compression::MAGIC_BYTES);
        let limit = Compression::MAGIC_BYTES as u64;
        (&mut file).take(limit).read_to_end(&mut first).map_err(system("read"))?;
        let is_plain = Compression::of(&first) == Compression::None;
        let opened = OpenedFile::new(&name, &file, &metadata, !is_plain);
        let opened = Some(opened.map_err(system("inspect"))?);
        if is_whole && is_plain {
            let blocks = FileBlocks::new(name.clone(), file, metadata.len());
            return Ok(Self { file: again, opened, ..Self::new(name, Kind::File(blocks)) });
        }
        file.seek(SeekFrom::Start(0)).map_err(system("rewind"))?;
        Ok(Self { file: again, opened, ..Self::stream(name, file, Some(metadata.len()))? })
    }

    /// Opens a file that a second thread reads, up to its end at that time: for a day that takes
    /// hours. The reader does not wait for the disk, and another process may truncate the file.
    pub fn open_on_thread(path: &Path) -> Result<Self, SourceError> {
        Self::open_as(path, false)
    }

    /// Reads standard input of any compression.
    pub fn stdin() -> Result<Self, SourceError> {
        Self::stream(STANDARD_INPUT.to_owned(), io::stdin(), None)
    }

    /// Reads any stream on a second thread, of any compression.
    pub fn stream(
        name: String,
        input: impl Read + Send + 'static,
        total_bytes: Option<u64>,
    ) -> Result<Self, SourceError> {
        match StreamBlocks::start(name.clone(), input, total_bytes) {
            Ok(blocks) => Ok(Self::new(name, Kind::Stream(blocks))),
            Err(source) => {
                Err(SourceError::System { operation: "start a thread to read", name, source })
            }
        }
    }

    /// A day that is already in memory, as one block. The bytes are shared, so that it can run
    /// again.
    pub fn memory(name: &str, bytes: impl Into<Arc<Vec<u8>>>) -> Self {
        Self::new(name.to_owned(), Kind::Memory { bytes: bytes.into(), used: 0 })
    }

    fn new(name: String, kind: Kind) -> Self {
        let (choice, kept_bytes) = (CaptureChoice::default(), KEPT_BYTES);
        Self {
            name,
            kind,
            file: None,
            opened: None,
            choice,
            pieces_begun: 0,
            earlier_fault: None,
            kept_bytes,
            day_begins_ns: 0,
            venue: NASDAQ_ITCH,
        }
    }

    /// Chooses what is read if the bytes are a capture.
    pub fn choose(&mut self, choice: &CaptureChoice) {
        self.choice.clone_from(choice);
    }

    /// What of a capture is read.
    pub fn choice(&self) -> &CaptureChoice {
        &self.choice
    }

    /// Bytes of a capture's packets that wait in memory for an earlier one; 64 MiB if nothing is
    /// set. More go to a temporary file.
    pub fn set_kept_bytes(&mut self, bytes: usize) {
        self.kept_bytes = bytes;
    }

    /// Whose messages it has: those of ITCH, if [`find_venue`](Self::find_venue) has found nothing
    /// else.
    pub fn venue(&self) -> &'static Venue {
        self.venue
    }

    /// Finds out whose messages it has. Call it before the first block is read.
    pub fn find_venue(&mut self) -> Result<&'static Venue, SourceError> {
        if let Some(feed) = self.feed()? {
            self.venue = feed.venue();
        }
        Ok(self.venue)
    }

    /// Gives messages that have times of day a date: their day begins at this time, in ns since the
    /// UNIX epoch. Without it, the times of events count from midnight.
    pub fn set_day_begins(&mut self, unix_ns: u64) {
        self.day_begins_ns = unix_ns;
    }

    pub(crate) fn day_begins_ns(&self) -> u64 {
        self.day_begins_ns
    }

    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// The name of the source in messages: a path, or "standard input".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next block, which begins after the first `used_bytes` of the one before.
    ///
    /// A source that fails in mid-stream first returns everything it has, as a last block.
    /// [`DaySource::fault`] then has the reason.
    pub fn next_block(&mut self, used_bytes: usize) -> Result<Block<'_>, SourceError> {
        match &mut self.kind {
            Kind::File(blocks) => blocks.next_block(used_bytes),
            Kind::Stream(blocks) => Ok(blocks.next_block(used_bytes)),
            Kind::Memory { bytes, used } => {
                *used = (*used + used_bytes).min(bytes.len());
                Ok(Block { offset: *used as u64, bytes: &bytes[*used..], is_last: true })
            }
        }
    }

    /// Whether the (decompressed) bytes begin with these. Call it before the first block is read.
    pub fn starts_with(&mut self, first: &[u8]) -> Result<bool, SourceError> {
        loop {
            let block = self.peek(first.len())?;
            if block.bytes.len() >= first.len() || block.is_last {
                return Ok(block.bytes.starts_with(first));
            }
        }
    }

    /// Fails with the reason if the source failed before it delivered anything: then its kind
    /// is unknown. Call it after [`starts_with`](Self::starts_with).
    pub fn require_bytes(&mut self) -> Result<(), SourceError> {
        let block = self.peek(1)?;
        let fault = if block.bytes.is_empty() && block.is_last { self.fault() } else { None };
        fault.map_or(Ok(()), Err)
    }

    /// The first block, which [`next_block`](Self::next_block) returns again. A later call waits
    /// once for more bytes if there are fewer than `needed_bytes`.
    pub(crate) fn peek(&mut self, needed_bytes: usize) -> Result<Block<'_>, SourceError> {
        match &mut self.kind {
            Kind::File(blocks) => blocks.peek(needed_bytes),
            Kind::Stream(blocks) => Ok(blocks.peek(needed_bytes)),
            Kind::Memory { bytes, used } => {
                Ok(Block { offset: *used as u64, bytes: &bytes[*used..], is_last: true })
            }
        }
    }

    /// Returns a block after this time even without new bytes, since a pipe may be silent for
    /// hours. Files never wait.
    pub fn set_patience(&mut self, patience: Duration) {
        if let Kind::Stream(blocks) = &mut self.kind {
            blocks.set_patience(patience);
        }
    }

    /// Why the source ended early, or has bytes of several contents; `None` at its regular end.
    pub fn fault(&mut self) -> Option<SourceError> {
        let fault = match &mut self.kind {
            Kind::Stream(blocks) => blocks.take_fault(),
            Kind::File(_) | Kind::Memory { .. } => None,
        };
        let changed = || self.opened.as_ref().and_then(OpenedFile::fault);
        self.earlier_fault.take().or(fault).or_else(changed)
    }

    /// Opens a file that must be a capture.
    pub(crate) fn open_piece(path: &Path) -> Result<Self, SourceError> {
        let mut piece = Self::open(path)?;
        piece.require_capture()?;
        Ok(piece)
    }

    /// Goes on with the next piece of a capture; `false` after the last one.
    pub(crate) fn next_piece(&mut self) -> Result<bool, SourceError> {
        let Some(path) = self.choice.pieces.get(self.pieces_begun) else { return Ok(false) };
        let piece = Self::open_piece(path)?;
        self.earlier_fault = self.fault();
        self.pieces_begun += 1;
        (self.kind, self.opened) = (piece.kind, piece.opened);
        Ok(true)
    }

    /// How far the source has been read.
    pub fn progress(&self) -> Progress {
        match &self.kind {
            Kind::File(blocks) => blocks.progress(),
            Kind::Stream(blocks) => blocks.progress(),
            Kind::Memory { bytes, used } => {
                Progress { done_bytes: *used as u64, total_bytes: Some(bytes.len() as u64) }
            }
        }
    }
}
