//! Compression, detected from the content: file names are often wrong, magic numbers rarely.

use std::{
    fmt,
    io::{self, Read},
};

use super::{
    decoder::{Decode, Fault},
    gzip::GzipDecoder,
    zstandard::ZstdDecoder,
};

/// How an input is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip, of one or more members (RFC 1952).
    Gzip,
    /// Zstandard, of one or more frames (RFC 8878).
    Zstd,
}

impl Compression {
    /// How many bytes [`Compression::of`] checks.
    pub const MAGIC_BYTES: usize = 4;

    /// Detects the compression from the first bytes. As a record length, either magic number would
    /// be thousands of bytes, and the longest ITCH message has 50: a plain day is never taken for a
    /// compressed one.
    pub fn of(first: &[u8]) -> Self {
        match first {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A skippable frame may come first (pzstd writes one).
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Wraps `input`, which still begins with the bytes that were checked.
    pub(super) fn decoder<'a>(self, input: impl Read + 'a) -> io::Result<Box<dyn Decode + 'a>> {
        Ok(match self {
            Self::None => Box::new(Stored(input)),
            Self::Gzip => Box::new(GzipDecoder::new(input)),
            Self::Zstd => Box::new(ZstdDecoder::new(input)?),
        })
    }
}

/// Bytes that are not compressed.
struct Stored<R>(R);

impl<R: Read> Decode for Stored<R> {
    fn decode(&mut self, buffer: &mut [u8]) -> (usize, Result<(), Fault>) {
        loop {
            match self.0.read(buffer) {
                Ok(bytes) => return (bytes, Ok(())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (0, Err(error.into())),
            }
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "uncompressed",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}
