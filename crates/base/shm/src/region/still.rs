//! A region that no process writes for a while: to copy it, and to put the copy in its place.
//!
//! Protocol: `docs/formats/region.md`. The lock of the owner, held alone, keeps owners and writers
//! out. Every process that joins afterwards checks that the path still names its file, so that it
//! gets the copy.
//! Failure: a process that ends at any point leaves the region or the copy at the path, whole.

use std::{
    fs::File,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    file::RegionFile,
    mapping::Access,
    refusal::{Refusal, RegionError},
};

/// Limit of attempts while other processes keep replacing the file.
const ATTEMPTS: usize = 16;

/// A region without a writer. None can join while this value lives; readers can.
#[derive(Debug)]
pub struct StillRegion {
    file: RegionFile,
}

impl StillRegion {
    /// Holds the region at a path, of this user. A writer or an owner that is alive is an error:
    /// [`Refusal::LockedByReader`] or [`Refusal::OwnerAlive`].
    pub fn hold(path: &Path) -> Result<Self, RegionError> {
        for _ in 0..ATTEMPTS {
            let file = RegionFile::open(path, Access::Write)?;
            file.refuse_foreign(&file.metadata()?)?;
            file.take_lock()?;
            if file.is_at_its_path()? {
                return Ok(Self { file });
            }
        }
        Err(RegionError::new(path, Refusal::Contended))
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Permission bits of the file.
    pub fn mode(&self) -> Result<u32, RegionError> {
        Ok(self.file.metadata()?.mode() & 0o777)
    }

    /// Puts another region of the same file system at its path. The other one is on the disk first,
    /// so that a loss of power leaves one of both. Readers of this one keep their words;
    /// [`check`](crate::SharedRegion::check) returns an error.
    pub fn replace_with(self, other: &Path) -> Result<(), RegionError> {
        let path = &self.file.path;
        let synced = File::open(other).and_then(|file| file.sync_all());
        synced.map_err(|error| RegionError::new(other, Refusal::io("sync")(error)))?;
        if !self.file.is_at_its_path()? {
            return Err(self.file.refuse(Refusal::Replaced));
        }
        let renamed = std::fs::rename(other, path);
        renamed.map_err(|error| RegionError::new(other, Refusal::io("rename")(error)))?;
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let synced = File::open(&folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| RegionError::new(&folder, Refusal::io("sync")(error)))
    }
}
