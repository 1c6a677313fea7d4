//! A plain file, read block by block into one buffer.
//!
//! The reader takes its bytes from the second-level cache, where a block stays. To map the pages of
//! a file and unmap them takes longer than to copy their bytes; see
//! docs/decisions/0046-day-files-are-read-block-by-block.md.
//!
//! ```text
//! [ ............. unused bytes | next bytes of the file ... ]
//! ```
//!
//! Bounds: `MAX_UNUSED_BYTES + BLOCK_BYTES` and a cache line; more only while a reader searches for
//! the first record, or if it leaves more unused than it may.

use std::{fmt, fs::File, io, os::unix::fs::FileExt};

use rustix::fs::{Advice, fadvise};

use super::{Block, MAX_UNUSED_BYTES, Progress, SourceError};

/// Bytes that are read at once. With the books' most used memory they fit in a second-level cache.
const BLOCK_BYTES: usize = 512 << 10;

/// The kernel copies faster to the beginning of a cache line.
const LINE_BYTES: usize = 64;

pub(super) struct FileBlocks {
    name: String,
    file: File,
    /// Length when it was opened. Later appends are not read.
    length_bytes: u64,
    buffer: Vec<u8>,
    /// The range of the current block in the buffer.
    start: usize,
    end: usize,
    /// Offset of its first byte in the file.
    offset: u64,
    /// Whether the current block is returned once more.
    is_peeked: bool,
}

/// Omits the buffer.
impl fmt::Debug for FileBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBlocks")
            .field("name", &self.name)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

impl FileBlocks {
    pub(super) fn new(name: String, file: File, length_bytes: u64) -> Self {
        // Only advice: if it is refused, reading is slower.
        let _ = fadvise(&file, 0, None, Advice::Sequential);
        let buffer = vec![0; MAX_UNUSED_BYTES + LINE_BYTES + BLOCK_BYTES];
        let (start, end) = (MAX_UNUSED_BYTES, MAX_UNUSED_BYTES);
        Self { name, file, length_bytes, buffer, start, end, offset: 0, is_peeked: false }
    }

    pub(super) fn next_block(&mut self, used_bytes: usize) -> Result<Block<'_>, SourceError> {
        let used_bytes = used_bytes.min(self.end - self.start);
        self.start += used_bytes;
        self.offset += used_bytes as u64;
        if !std::mem::take(&mut self.is_peeked) {
            self.read()?;
        }
        Ok(self.block())
    }

    /// The next block, which the next call of `next_block` returns again. So does the next call of
    /// this, unless the block has fewer than `needed_bytes`: then it gets longer.
    pub(super) fn peek(&mut self, needed_bytes: usize) -> Result<Block<'_>, SourceError> {
        if !self.is_peeked || self.end - self.start < needed_bytes {
            self.read()?;
            self.is_peeked = true;
        }
        Ok(self.block())
    }

    fn block(&self) -> Block<'_> {
        let is_last = self.read_bytes() >= self.length_bytes;
        Block { offset: self.offset, bytes: &self.buffer[self.start..self.end], is_last }
    }

    /// Bytes of the file that have been read.
    fn read_bytes(&self) -> u64 {
        self.offset + (self.end - self.start) as u64
    }

    /// Reads the next bytes, and puts the unused ones of the current block before them.
    fn read(&mut self) -> Result<(), SourceError> {
        let read_bytes = self.read_bytes();
        let unused = self.start..self.end;
        let mut place = MAX_UNUSED_BYTES.max(unused.len());
        let needed_bytes = place + LINE_BYTES + BLOCK_BYTES;
        if self.buffer.len() < needed_bytes {
            self.buffer.resize(needed_bytes, 0);
        }
        place += self.buffer[place..].as_ptr().align_offset(LINE_BYTES) % LINE_BYTES;
        (self.start, self.end) = (place - unused.len(), place);
        self.buffer.copy_within(unused, self.start);
        let rest = self.length_bytes.saturating_sub(read_bytes);
        let length = usize::try_from(rest).unwrap_or(usize::MAX).min(BLOCK_BYTES);
        let space = &mut self.buffer[place..place + length];
        self.file.read_exact_at(space, read_bytes).map_err(|error| self.failed(error))?;
        self.end += length;
        Ok(())
    }

    #[cold]
    fn failed(&self, source: io::Error) -> SourceError {
        let (name, opened_bytes) = (self.name.clone(), self.length_bytes);
        match self.file.metadata() {
            Ok(now) if source.kind() == io::ErrorKind::UnexpectedEof => {
                SourceError::Shrank { name, opened_bytes, now_bytes: now.len() }
            }
            _ => SourceError::System { operation: "read", name, source },
        }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress { done_bytes: self.offset, total_bytes: Some(self.length_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    #[test]
    fn a_file_that_shrank_is_an_error_with_its_path() {
        let scratch = Scratch::new("shrinks");
        std::fs::write(scratch.path(), [7; 10_000]).unwrap();
        let file = File::options().read(true).write(true).open(scratch.path()).unwrap();
        file.set_len(100).unwrap();
        let mut blocks = FileBlocks::new(scratch.path().display().to_string(), file, 10_000);
        let error = blocks.next_block(0).unwrap_err();
        assert!(error.is_bad_data());
        let text = error.to_string();
        assert!(text.contains("shrank to 100 bytes") && text.contains("shrinks"), "{text}");
    }
}
