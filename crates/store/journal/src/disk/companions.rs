//! Files that other crates keep in the folder of a journal: snapshots, runs, the origin of a
//! recording.
//!
//! They get the permissions of the journal's own files, whatever the umask: what belongs to a
//! journal has the same readers and the same writers. None is opened through a link.

use std::{fs::File, io, path::PathBuf};

use rustix::fs::OFlags;

use super::folder::{ATTEMPTS, Folder};

impl Folder {
    /// Makes a folder in that of the journal, or finds it; returns its path.
    pub fn folder(&self, name: &str) -> io::Result<PathBuf> {
        self.make_folder(name)?;
        Ok(self.absolute().join(name))
    }

    /// Creates a file, and removes one that has the name: the rest of an earlier attempt.
    pub fn new_file(&self, name: &str) -> io::Result<File> {
        match self.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.create_new(name, OFlags::WRONLY),
        }
    }

    /// Opens a file to append to it, or creates it.
    pub fn append_to(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND;
        for _ in 0..ATTEMPTS {
            match self.open_file(name, flags | OFlags::NOFOLLOW) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => return outcome,
            }
            match self.create_new(name, flags) {
                // Another process created it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => return outcome,
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }
}
