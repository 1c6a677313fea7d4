//! What every decompressor guarantees: the good bytes first, then the fault and its offset.
//!
//! The readers of `flate2` and `zstd` drop up to a megabyte of decompressed bytes if the same call
//! finds a fault. These decompressors return those bytes.

use std::io;

use super::Compression;

/// Why a compressed stream ended early.
#[derive(Debug)]
pub(super) enum Fault {
    /// Reading the input failed.
    Read(io::Error),
    /// The input ends before the end marker, at this offset of the stored bytes.
    Cut { offset: u64 },
    /// The compressed data are invalid; found at this offset of the stored bytes.
    Damaged { offset: u64, source: io::Error },
    /// The data from this offset of the stored bytes on need something that is not there.
    Unmet { offset: u64, what: &'static str },
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Decompresses a stream, or copies it.
pub(super) trait Decode {
    /// Puts the next bytes into `buffer`, which is not empty, and returns how many. Zero bytes
    /// without a fault mean the end. Bytes that come with a fault are good; the stream ends after
    /// it.
    fn decode(&mut self, buffer: &mut [u8]) -> (usize, Result<(), Fault>);
}

/// A fault of the format, with its description.
pub(super) fn damaged(offset: u64, what: &str) -> Fault {
    Fault::Damaged { offset, source: io::Error::new(io::ErrorKind::InvalidData, what) }
}

impl Fault {
    /// Converts the fault to the error that readers of days receive.
    pub(super) fn into_error(
        self,
        name: &str,
        compression: Compression,
        delivered_bytes: u64,
    ) -> super::SourceError {
        let name = name.to_owned();
        match self {
            Self::Read(source) => super::SourceError::System { operation: "read", name, source },
            Self::Cut { offset: compressed_offset } => super::SourceError::CompressionCut {
                name,
                compression,
                compressed_offset,
                delivered_bytes,
            },
            Self::Unmet { offset: compressed_offset, what } => {
                super::SourceError::CompressionNeeds { name, compression, compressed_offset, what }
            }
            Self::Damaged { offset: compressed_offset, source } => {
                super::SourceError::CompressionDamaged {
                    name,
                    compression,
                    compressed_offset,
                    delivered_bytes,
                    source,
                }
            }
        }
    }
}
