//! What command line tools do with regions of any kind: name, inspect and remove them.
//!
//! Nothing is mapped here: a file that is damaged, cut or of another version cannot do harm.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    file::{RegionFile, absolute},
    header::Header,
    mapping::Access,
    owner::{Owner, OwnerState},
    refusal::{Refusal, RegionError},
};

/// Where a region with a name that is not a path is.
const FOLDER: &str = "/dev/shm";

/// What can be known of a region from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RegionInfo {
    /// Its absolute path.
    pub path: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Permission bits of the file.
    pub mode: u32,
    /// The user it belongs to.
    pub user: u32,
    /// What it states, as far as this program can read it.
    pub header: Option<Header>,
    /// Whether a process owns it, or creates it.
    pub is_owned: bool,
    /// Why a reader would be refused; nothing where it would not.
    pub refusal: Option<Refusal>,
}

impl RegionInfo {
    /// Its latest owner, where the header could be read.
    pub fn owner(&self) -> Option<Owner> {
        let header = self.header?;
        Some(header.owner(match (self.is_owned, header.is_closed) {
            (true, _) => OwnerState::Alive,
            (false, true) => OwnerState::Closed,
            (false, false) => OwnerState::Dead,
        }))
    }
}

/// A region that is no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Removed {
    /// Bytes that its file had.
    pub file_bytes: u64,
    /// Its last owner, where the header could be read.
    pub owner: Option<Owner>,
}

/// The path of a region: a name without a slash is a file `nanotape-NAME` in /dev/shm, which is
/// memory; anything with a slash is a path as it is.
pub fn named(name: &str) -> Result<PathBuf, RegionError> {
    if name.contains('/') {
        return Ok(name.into());
    }
    let is_good = (1..=200).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if is_good {
        return Ok(Path::new(FOLDER).join(format!("nanotape-{name}")));
    }
    Err(RegionError::new(Path::new(name), Refusal::Name))
}

/// What can be known of the region at a path, whatever its kind and state. A file that is not a
/// region is an error; one that is damaged, half-created or of another version is not.
pub fn inspect(path: &Path) -> Result<RegionInfo, RegionError> {
    let file = RegionFile::open(path, Access::Read)?;
    let metadata = file.metadata()?;
    let (header, refusal) = match (file.parsed()?, file.header()?) {
        (Err(refusal @ Refusal::NotARegion { .. }), Err(Refusal::NotARegion { .. })) => {
            return Err(file.refuse(refusal));
        }
        (_, Err(Refusal::HalfCreated)) => (None, Some(file.half_created()?)),
        (parsed, complete) => (parsed.ok(), complete.err()),
    };
    Ok(RegionInfo {
        file_bytes: metadata.len(),
        mode: metadata.mode() & 0o7777,
        user: metadata.uid(),
        is_owned: file.lock.is_held().map_err(|e| file.refuse(Refusal::system("ask")(e)))?,
        header,
        refusal,
        path: file.path,
    })
}

/// Removes the region at a path, damaged or not, unless its owner lives. Never removes a file that
/// is not a region. Who reads it keeps its words, and learns of it from
/// [`check`](crate::SharedRegion::check).
pub fn remove(path: &Path) -> Result<Removed, RegionError> {
    let path = &absolute(path)?;
    let file = RegionFile::open(path, Access::Write)?;
    file.take_lock()?;
    if !file.is_at_its_path()? {
        return Err(file.refuse(Refusal::NotFound));
    }
    let info = inspect(path)?;
    file.unlink()?;
    let owner = info.header.map(|header| {
        header.owner(if header.is_closed { OwnerState::Closed } else { OwnerState::Dead })
    });
    Ok(Removed { file_bytes: info.file_bytes, owner })
}
