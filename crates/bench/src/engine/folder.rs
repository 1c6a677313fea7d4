//! The folder in which the processes of one reading meet.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The folder of one reading, removed as early as possible and at the latest on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a folder in /dev/shm if that exists; `purpose` is part of its name.
    pub(crate) fn new(purpose: &str) -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Self::new_in(memory, purpose),
            false => Self::new_in(&std::env::temp_dir(), purpose),
        }
    }

    /// Creates a folder in `parent`.
    pub(crate) fn new_in(parent: &Path, purpose: &str) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("nanotape-bench-{purpose}-{}-{count}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn remove(&self) {
        // The second removal finds no folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_everything_in_it() {
        let (one, other) = (Folder::new("test").unwrap(), Folder::new("test").unwrap());
        assert_ne!(one.path(), other.path());
        fs::write(one.path().join("ring"), "words").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }
}
