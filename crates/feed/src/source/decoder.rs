//! What every decompressor promises: good bytes first, then the fault and where it is.
//!
//! The readers of `flate2` and `zstd` drop what they have decompressed if the same call finds a
//! fault, which may be a megabyte. These give it.

use std::io;

use super::Compression;

/// Why a compressed stream ends before its end.
#[derive(Debug)]
pub(super) enum Fault {
    /// It could not be read.
    Read(io::Error),
    /// It ends before its end marker, at this offset as it is stored.
    Cut { offset: u64 },
    /// It contradicts itself, and that was found at this offset as it is stored.
    Damaged { offset: u64, source: io::Error },
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Decompresses a stream, or copies it.
pub(super) trait Decode {
    /// Puts the next bytes into `buffer`, which is not empty, and tells how many. No bytes without
    /// a fault: the end. Those that are there are good also if a fault comes with them; after it
    /// the stream is over.
    fn decode(&mut self, buffer: &mut [u8]) -> (usize, Result<(), Fault>);
}

/// A fault of the format, with the words for it.
pub(super) fn damaged(offset: u64, what: &str) -> Fault {
    Fault::Damaged { offset, source: io::Error::new(io::ErrorKind::InvalidData, what) }
}

impl Fault {
    /// As readers of days see it.
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
