//! A plain file as a sequence of mapped windows.
//!
//! Each window begins at the first unused byte of the one before, so nothing is copied. While one
//! window is in use, the kernel already reads the next.

use nanotape_shm::{FileWindow, MappableFile};

use super::{Block, Progress, SourceError, WINDOW_BYTES};

#[derive(Debug)]
pub(super) struct MappedBlocks {
    file: MappableFile,
    window: Option<FileWindow>,
    offset: u64,
}

impl MappedBlocks {
    pub(super) fn new(file: MappableFile) -> Self {
        Self { file, window: None, offset: 0 }
    }

    pub(super) fn next_block(&mut self, used_bytes: usize) -> Result<Block<'_>, SourceError> {
        self.offset += used_bytes as u64;
        // Unmapped before the next is mapped, so that only one window exists.
        self.window = None;
        let window = self.window.insert(self.file.map(self.offset, WINDOW_BYTES)?);
        let end = self.offset + window.bytes().len() as u64;
        self.file.will_need(end, WINDOW_BYTES as u64);
        let is_last = end >= self.file.len();
        Ok(Block { offset: self.offset, bytes: window.bytes(), is_last })
    }

    pub(super) fn progress(&self) -> Progress {
        Progress { done_bytes: self.offset, total_bytes: Some(self.file.len()) }
    }
}
