//! A folder for the processes of one reading to meet in.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A folder of its own for each reading, removed as soon as possible, and at the end in any case.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// In /dev/shm, where there is one; `purpose` is a part of its name.
    pub(crate) fn new(purpose: &str) -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Self::new_in(memory, purpose),
            false => Self::new_in(&std::env::temp_dir(), purpose),
        }
    }

    /// In this one.
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
        // It is removed twice, and the second time it is not there.
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
