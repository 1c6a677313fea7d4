//! A private directory among the temporary files, removed when it is dropped.

use std::{
    env, fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process,
};

/// The most names to try. Each name that exists belongs to this process, or to an earlier process
/// with the same number that did not clean up.
const MOST_NAMES: u32 = 1_000;

/// Only this user can access it.
#[derive(Debug)]
pub(crate) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// An error includes the path that was tried last.
    pub(crate) fn create() -> Result<Self, (PathBuf, io::Error)> {
        let mut last = (env::temp_dir(), io::Error::from(io::ErrorKind::AlreadyExists));
        for number in 0..MOST_NAMES {
            let name = format!("nanotape-lab-{}-{number}", process::id());
            let path = env::temp_dir().join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = (path, error),
                Err(error) => return Err((path, error)),
            }
        }
        Err(last)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_private_its_own_and_gone_in_the_end() {
        let one = PrivateDirectory::create().expect("a directory");
        let other = PrivateDirectory::create().expect("another one");
        assert_ne!(one.path(), other.path());
        let mode = fs::metadata(one.path()).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(one.path().join("file"), "text").expect("a file in it");
        // Another test might take the name again at once, but without the file in it.
        let file = one.path().join("file");
        drop(one);
        assert!(!file.exists());
    }
}
