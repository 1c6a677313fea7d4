//! Scratch paths: a test writes there, and the end of the test removes them.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempDir};

/// What the tests that run at the same time need of `/dev/shm`.
const LARGE_BYTES: u64 = 1 << 30;

/// A unique path. Dropping the value removes it and everything beside it.
#[derive(Debug)]
pub struct Scratch {
    /// The folder that contains the path, for this value alone.
    around: TempDir,
    path: PathBuf,
}

impl Scratch {
    /// A path with this last part, at which nothing exists, in the [`memory_folder`].
    pub fn new(name: &str) -> Self {
        Self::below(&memory_folder(), name)
    }

    /// [`Scratch::new`] for a few MB that must be in memory, also where that is small; `None`, with
    /// a notice, if the machine has none.
    pub fn in_memory(name: &str) -> Option<Self> {
        let memory = Path::new("/dev/shm");
        if rustix::fs::access(memory, rustix::fs::Access::WRITE_OK).is_err() {
            crate::skipped("there is no /dev/shm here that can be written");
            return None;
        }
        Some(Self::below(memory, name))
    }

    /// [`Scratch::new`] on the disk of the build, for behaviour that memory does not have. If only
    /// another user can write there, on the disk of `/var/tmp`.
    pub fn on_disk(name: &str) -> Self {
        let program = std::env::current_exe().expect("a test program has a path");
        let folder = program.parent().expect("a program is in a folder");
        let is_writable = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
        Self::below(if is_writable { folder } else { Path::new("/var/tmp") }, name)
    }

    /// An empty folder with this name, among temporary files.
    pub fn folder(name: &str) -> Self {
        let scratch = Self::below(&std::env::temp_dir(), name);
        std::fs::create_dir(scratch.path()).expect("a folder can be made");
        scratch
    }

    fn below(folder: &Path, name: &str) -> Self {
        let around = Builder::new().prefix("nanotape-test-").tempdir_in(folder);
        let around = around.expect("a folder can be made");
        let path = around.path().join(name);
        Self { around, path }
    }

    /// Lets other users of the machine read and write beside the path.
    #[must_use]
    pub fn open_to_all_users(self) -> Self {
        let all = Permissions::from_mode(0o1777);
        std::fs::set_permissions(self.around.path(), all).expect("the folder is this user's");
        self
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path as text.
    pub fn text(&self) -> &str {
        self.path.to_str().expect("names in tests are text")
    }

    /// A path below it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Removes the file or folder at the path.
    pub fn clear(&self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// `/dev/shm`, or the folder of temporary files if the machine has none or a small one. Containers
/// have one of 64 MB.
pub fn memory_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let is_large = rustix::fs::statvfs(memory)
        .is_ok_and(|memory| memory.f_blocks * memory.f_frsize >= LARGE_BYTES);
    if is_large { memory.to_owned() } else { std::env::temp_dir() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_there_at_first_and_nothing_is_left() {
        let (one, two) = (Scratch::new("same"), Scratch::new("same"));
        assert_ne!(one.path(), two.path());
        assert!(!one.path().exists() && one.path().ends_with("same"));
        let path = one.path().to_owned();
        std::fs::create_dir(&path).unwrap();
        std::fs::write(one.join("file"), "text").unwrap();
        one.clear();
        assert!(!path.exists());
        std::fs::write(&path, "a file now").unwrap();
        drop(one);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }

    #[test]
    fn a_folder_is_there_at_once() {
        for scratch in [Scratch::folder("folder"), Scratch::folder("folder").open_to_all_users()] {
            std::fs::write(scratch.join("file"), scratch.text()).unwrap();
        }
        let on_disk = Scratch::on_disk("disk");
        assert!(!on_disk.path().starts_with("/dev/shm") && !on_disk.path().exists());
    }
}
