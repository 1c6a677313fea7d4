//! A path that nobody else has, whose folder is removed at the end.
//!
//! Included by tests, with `#[path = "../../testkit/place.rs"]`, and called after their package.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A path in memory, or on the disk, that nobody else has.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{name}-{number}", env!("CARGO_PKG_NAME"), std::process::id());
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Self(folder.join(name))
    }

    /// A path on the disk that the build is on, for what memory does not show. For the tests in `tests/`:
    /// cargo names no such folder to others.
    #[allow(dead_code, reason = "not every test needs a disk")]
    pub(crate) fn on_disk(name: &str) -> Self {
        let Self(place) = &Self::new(name);
        let Some(folder) = option_env!("CARGO_TARGET_TMPDIR") else {
            panic!("only tests in tests/ have a folder on the disk")
        };
        Self(Path::new(folder).join(place.file_name().unwrap()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
