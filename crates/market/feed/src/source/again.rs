//! The bytes of a source once more, for a second reading beside the first one.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{DaySource, Kind};

/// Opens the bytes of a source from their beginning.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    first: First,
    /// Further files of a capture.
    pieces: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
enum First {
    File(FileAgain),
    Memory(Arc<Vec<u8>>),
    /// The bytes come once: those of standard input, and of a pipe.
    Never,
}

/// A regular file that is open.
#[derive(Clone, Debug)]
pub(super) struct FileAgain {
    path: PathBuf,
    /// Its device and its number there.
    id: (u64, u64),
}

impl FileAgain {
    pub(super) fn new(path: &Path, metadata: &Metadata) -> Self {
        Self { path: path.to_owned(), id: (metadata.dev(), metadata.ino()) }
    }
}

impl Again {
    /// `None` if the bytes come once, or if they cannot be opened. A path that names another file
    /// by now has other bytes.
    pub(crate) fn open(&self) -> Option<DaySource> {
        let mut source = match &self.first {
            First::File(file) => {
                let source = DaySource::open(&file.path).ok()?;
                source.file.as_ref().filter(|again| again.id == file.id)?;
                source
            }
            First::Memory(bytes) => DaySource::memory("", Arc::clone(bytes)),
            First::Never => return None,
        };
        source.choice.pieces.clone_from(&self.pieces);
        self.pieces.iter().all(|piece| piece.is_file()).then_some(source)
    }
}

impl DaySource {
    /// What opens the bytes once more.
    pub(crate) fn again(&self) -> Again {
        let first = match (&self.kind, &self.file) {
            (Kind::Memory { bytes, .. }, _) => First::Memory(Arc::clone(bytes)),
            (_, Some(file)) => First::File(file.clone()),
            (_, None) => First::Never,
        };
        Again { first, pieces: self.choice.pieces.clone() }
    }
}
