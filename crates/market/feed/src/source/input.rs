//! The stored bytes of a stream, in a buffer, with the offset of each.
//!
//! Decompressors read through it, so that they can report the offset of a fault.

use std::io::{self, Read};

/// Bytes read at once, and the maximum of one request: more than a block of zstd.
const INPUT_BYTES: usize = 256 << 10;

pub(super) struct Input<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of the first byte that was not consumed.
    offset: u64,
    ended: bool,
}

impl<R: Read> Input<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; INPUT_BYTES], start: 0, end: 0, offset: 0, ended: false }
    }

    /// At least `bytes` bytes, unless the input ends before.
    pub(super) fn at_least(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let wanted = bytes.clamp(1, INPUT_BYTES);
        while self.end - self.start < wanted && !self.ended {
            if self.start + wanted > INPUT_BYTES || self.start == self.end {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Marks `bytes` bytes as consumed.
    pub(super) fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Offset of the first byte that was not consumed.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}
