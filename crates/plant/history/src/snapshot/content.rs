//! The bytes of a snapshot, in a plain file or unpacked from a compressed one.
//!
//! Protocol: the header comes first and is checked before anything depends on it. It states the
//! length, which bounds what is unpacked.
//! Bounds: an unpacked snapshot has at most [`MAX_UNPACKED_BYTES`]; larger ones are not compressed.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use nanotape_journal::{checksum_bytes, open_beside};

use super::{SnapshotError, layout, store};

/// The largest snapshot that is compressed: 67 million live orders.
pub(super) const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// A snapshot, opened.
#[derive(Debug)]
pub(super) struct Content {
    path: PathBuf,
    bytes: Bytes,
    length: u64,
}

#[derive(Debug)]
enum Bytes {
    Plain(File),
    Unpacked(Vec<u8>),
}

impl Content {
    /// Opens a file, and returns its header, which is valid. If there is none of this name, the
    /// compressed file of the same snapshot is opened.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<u8>), SnapshotError> {
        let mut path = path.to_owned();
        let file = match open_beside(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !store::is_packed(&path) => {
                let packed = store::packed_path(&path);
                open_beside(&packed).inspect(|_| path = packed).map_err(|_| error)
            }
            opened => opened,
        };
        let file = file.map_err(SnapshotError::system("open", &path))?;
        if store::is_packed(&path) {
            return Self::unpack(path, file);
        }
        let length = file.metadata().map_err(SnapshotError::system("read", &path))?.len();
        let content = Self { path, bytes: Bytes::Plain(file), length };
        let mut header = vec![0; layout::HEADER_BYTES];
        content.read_at(&mut header, 0)?;
        check_header(&content.path, &header)?;
        Ok((content, header))
    }

    fn unpack(path: PathBuf, file: File) -> Result<(Self, Vec<u8>), SnapshotError> {
        let decoder = zstd::stream::read::Decoder::new(file);
        let mut decoder = decoder.map_err(SnapshotError::system("unpack", &path))?;
        let mut header = vec![0; layout::HEADER_BYTES];
        read_packed(&path, 0, decoder.read_exact(&mut header))?;
        check_header(&path, &header)?;
        let stated = |at| layout::word_at(&header, at);
        let stated = layout::stated_bytes(stated(layout::STOCKS), stated(layout::ORDERS));
        let length = stated.filter(|&bytes| bytes <= MAX_UNPACKED_BYTES).ok_or_else(|| {
            let what = "the header states more than a compressed snapshot can have";
            SnapshotError::Damaged { path: path.clone(), offset: 0, what }
        })?;
        let mut bytes = header.clone();
        // One byte more shows that the file is longer than its header states.
        let rest = decoder.take(length + 1 - layout::HEADER_BYTES as u64).read_to_end(&mut bytes);
        read_packed(&path, layout::HEADER_BYTES as u64, rest)?;
        let length = bytes.len() as u64;
        Ok((Self { path, bytes: Bytes::Unpacked(bytes), length }, header))
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes before compression; more than the header states if the file is too long.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Fills `bytes` from an offset of the uncompressed snapshot.
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), SnapshotError> {
        let read = match &self.bytes {
            Bytes::Plain(file) => file.read_exact_at(bytes, offset),
            Bytes::Unpacked(all) => {
                let from = all.get(offset as usize..).unwrap_or_default();
                from.get(..bytes.len())
                    .map(|from| bytes.copy_from_slice(from))
                    .ok_or(io::ErrorKind::UnexpectedEof.into())
            }
        };
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ends_early(&self.path, offset),
            _ => SnapshotError::system("read", &self.path)(error),
        })
    }
}

fn ends_early(path: &Path, offset: u64) -> SnapshotError {
    let what = "the file ends too early";
    SnapshotError::Damaged { path: path.to_owned(), offset, what }
}

/// The result of a read of a compressed file. zstd reports damage as an error of its own.
fn read_packed<T>(path: &Path, offset: u64, read: io::Result<T>) -> Result<T, SnapshotError> {
    read.map_err(|error| match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::UnexpectedEof, _) => ends_early(path, offset),
        (_, None) => {
            let what = "the compressed stream is damaged";
            SnapshotError::Damaged { path: path.to_owned(), offset, what }
        }
        _ => SnapshotError::system("read", path)(error),
    })
}

fn check_header(path: &Path, header: &[u8]) -> Result<(), SnapshotError> {
    let damaged = |offset: usize, what| {
        Err(SnapshotError::Damaged { path: path.to_owned(), offset: offset as u64, what })
    };
    if header[..layout::WORD] != layout::MAGIC {
        return damaged(0, "not a snapshot, expected nanosnap");
    }
    if layout::word_at(header, 1) != layout::LAYOUT {
        return damaged(layout::WORD, "a layout of another version, expected snap   2");
    }
    let at = layout::HEADER_CHECK * layout::WORD;
    let check = u64::from(checksum_bytes(0, &header[..at])) | layout::HEAD << 32;
    if layout::word_at(header, layout::HEADER_CHECK) != check {
        return damaged(at, "the checksum of the header is wrong");
    }
    Ok(())
}
