//! The folder in which the processes of one reading meet, and the folders that a user names.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use tempfile::Builder;

/// The folder of one reading, removed as early as possible and at the latest on drop.
#[derive(Debug)]
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
        // For this user only, and under a name that no other user can have taken before.
        let folder = Builder::new()
            .prefix(&format!("nanotape-bench-{purpose}-{}-", std::process::id()))
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        Ok(Self(folder.keep()))
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

/// The full path of a folder, to pass to other processes.
pub(crate) fn real(folder: &Path) -> anyhow::Result<PathBuf> {
    let real = folder.canonicalize().with_context(|| format!("{}", folder.display()))?;
    if !real.is_dir() {
        bail!("{}: not a folder", folder.display());
    }
    Ok(real)
}

/// Whether the kernel reports a file system without a disk for a folder.
pub(crate) fn is_memory(folder: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    rustix::fs::statfs(folder).is_ok_and(|found| [TMPFS, RAMFS].contains(&found.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_everything_in_it() {
        let (one, other) = (Folder::new("test").unwrap(), Folder::new("test").unwrap());
        assert_ne!(one.path(), other.path());
        let mode = |folder: &Folder| fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!((mode(&one) & 0o777, mode(&other) & 0o777), (0o700, 0o700));
        fs::write(one.path().join("ring"), "words").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }
}
