//! How a process opens a region for reading.

use std::{os::unix::fs::MetadataExt as _, path::Path};

use super::{
    SharedRegion,
    create::{RegionOptions, same_meaning},
    file::RegionFile,
    mapping::{Access, Mapping},
    memory::{MappedFile, Memory},
    refusal::{Refusal, RegionError},
};

impl SharedRegion {
    /// Opens a region for reading only, both file and mapping. A region whose owner exited is
    /// readable; [`owner`](Self::owner) returns its state.
    pub fn open(path: &Path, kind: [u8; 8]) -> Result<Self, RegionError> {
        let file = RegionFile::open(path, Access::Read)?;
        let header = match file.header()? {
            Ok(header) => header,
            Err(Refusal::HalfCreated) => return Err(file.refuse(file.half_created()?)),
            Err(refusal) => return Err(file.refuse(refusal)),
        };
        let spec = header.spec;
        if spec.kind != kind {
            return Err(file.refuse(Refusal::Kind { found: spec.kind, expected: kind }));
        }
        let region_bytes = spec.region_bytes().unwrap_or(u64::MAX);
        let options = RegionOptions::default();
        let mapped = Mapping::new(file.file(), region_bytes, Access::Read, &options);
        let (mapping, _) = mapped.map_err(|refusal| file.refuse(refusal))?;
        let memory = Memory::of_file(MappedFile { mapping, file, region_bytes }, spec.words);
        // The header was read with a system call. This load in the mapping also orders the
        // creator's earlier stores before all loads of this process.
        if memory.is_ready() {
            return Ok(Self { memory, spec });
        }
        Err(RegionError::new(path, Refusal::HalfCreated))
    }

    /// Opens a region for reading, if it also has this layout.
    pub fn open_meaning(path: &Path, kind: [u8; 8], layout: u64) -> Result<Self, RegionError> {
        let region = Self::open(path, kind)?;
        same_meaning(&region.spec, kind, layout).map_err(|r| RegionError::new(path, r))?;
        Ok(region)
    }

    /// The same, if it also has this number of words: a reader can then access each word by its
    /// number.
    pub fn open_as(
        path: &Path,
        kind: [u8; 8],
        layout: u64,
        words: usize,
    ) -> Result<Self, RegionError> {
        let region = Self::open_meaning(path, kind, layout)?;
        if region.spec.words != words {
            let (found, expected) = (region.spec.words as u64, words as u64);
            return Err(RegionError::new(path, Refusal::Words { found, expected }));
        }
        Ok(region)
    }
}

impl RegionFile {
    /// The refusal of an incomplete region, which depends on whether its creator is alive.
    pub(crate) fn half_created(&self) -> Result<Refusal, RegionError> {
        let is_held =
            self.lock.is_held().map_err(|e| self.refuse(Refusal::system("read the lock")(e)))?;
        Ok(if is_held { Refusal::BeingCreated } else { Refusal::HalfCreated })
    }
}

impl MappedFile {
    /// The user of the file.
    pub(crate) fn user(&self) -> Option<u32> {
        self.file.metadata().ok().map(|metadata| metadata.uid())
    }

    /// Checks that the file has its full length, and that its path still names it.
    pub(crate) fn check(&self) -> Result<(), RegionError> {
        let own = self.file.metadata()?;
        let (file_bytes, region_bytes) = (own.len(), self.region_bytes);
        if file_bytes < region_bytes || self.mapping.is_lost() {
            return Err(self.file.refuse(Refusal::Truncated { file_bytes, region_bytes }));
        }
        match std::fs::symlink_metadata(&self.file.path) {
            Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => Ok(()),
            Ok(_) => Err(self.file.refuse(Refusal::Replaced)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(self.file.refuse(Refusal::Removed))
            }
            Err(error) => Err(self.file.refuse(Refusal::io("inspect")(error))),
        }
    }
}
