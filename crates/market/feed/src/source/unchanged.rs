//! Whether a regular file is still the one that was opened. A file that another process writes in
//! place gives bytes of before and of after, which can be a day that decodes well.

use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
};

use super::SourceError;

/// A file as it was when it was opened.
#[derive(Debug)]
pub(super) struct OpenedFile {
    name: String,
    file: File,
    length_bytes: u64,
    modified: (i64, i64),
    /// Whether bytes that are appended are read too.
    reads_appended: bool,
}

impl OpenedFile {
    pub(super) fn new(
        name: &str,
        file: &File,
        metadata: &Metadata,
        reads_appended: bool,
    ) -> io::Result<Self> {
        let (length_bytes, modified) = (metadata.len(), modified(metadata));
        let (name, file) = (name.to_owned(), file.try_clone()?);
        Ok(Self { name, file, length_bytes, modified, reads_appended })
    }

    /// The fault of a file whose bytes can be others by now. One that grows keeps them.
    pub(super) fn fault(&self) -> Option<SourceError> {
        let now = self.file.metadata().ok()?;
        let is_changed = match now.len() > self.length_bytes {
            true => self.reads_appended,
            false => modified(&now) != self.modified || now.len() < self.length_bytes,
        };
        is_changed.then(|| SourceError::Changed { name: self.name.clone() })
    }
}

fn modified(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}
