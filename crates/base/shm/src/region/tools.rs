//! Functions of command line tools for regions of any kind: name, inspect and remove them.
//!
//! They map nothing: a file that is damaged, truncated or of another version is harmless.

use std::{
    ffi::{OsStr, OsString},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use super::{
    file::{RegionFile, absolute},
    header::Header,
    mapping::Access,
    owner::{Owner, OwnerState},
    refusal::{Refusal, RegionError},
};

/// The folder of regions whose name is not a path.
const FOLDER: &str = "/dev/shm";

/// The state of a region, seen from another process.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RegionInfo {
    /// Its absolute path.
    pub path: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Permission bits of the file.
    pub mode: u32,
    /// The user of the file.
    pub user: u32,
    /// The header, if this program can read it.
    pub header: Option<Header>,
    /// Whether a process owns or creates it.
    pub is_owned: bool,
    /// Why a reader would be refused; `None` if readable.
    pub refusal: Option<Refusal>,
}

impl RegionInfo {
    /// The user of the file, if this process is of another one: that user decides what is in it.
    pub fn other_user(&self) -> Option<u32> {
        (self.user != rustix::process::geteuid().as_raw()).then_some(self.user)
    }

    /// Its latest owner, if the header is readable.
    pub fn owner(&self) -> Option<Owner> {
        let header = self.header?;
        Some(header.owner(match (self.is_owned, header.is_closed) {
            (true, _) => OwnerState::Alive,
            (false, true) => OwnerState::Closed,
            (false, false) => OwnerState::Dead,
        }))
    }
}

/// A removed region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Removed {
    /// Bytes of its file.
    pub file_bytes: u64,
    /// Its last owner, if the header was readable.
    pub owner: Option<Owner>,
}

/// The path of a region: a name without a slash is a file `nanotape-NAME` in /dev/shm, which is
/// memory; anything with a slash is a path.
pub fn named(name: &(impl AsRef<OsStr> + ?Sized)) -> Result<PathBuf, RegionError> {
    let name = name.as_ref();
    let bytes = name.as_bytes();
    if bytes.contains(&b'/') {
        return Ok(name.into());
    }
    let is_good = (1..=200).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    if is_good {
        let mut file = OsString::from("nanotape-");
        file.push(name);
        return Ok(Path::new(FOLDER).join(file));
    }
    Err(RegionError::new(Path::new(name), Refusal::Name))
}

/// The path of a file that belongs to the region at `path`, beside it: that path and `suffix`.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(suffix);
    beside.into()
}

/// The state of the region at a path, of any kind and state. A file that is not a region is an
/// error; a damaged, incomplete or different version is not.
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
        is_owned: file
            .lock
            .is_held()
            .map_err(|e| file.refuse(Refusal::system("read the lock")(e)))?,
        header,
        refusal,
        path: file.path,
    })
}

/// Removes the region at a path, damaged or not, unless its owner is alive. Never removes a file
/// that is not a region. Its readers keep their words, and [`check`](crate::SharedRegion::check)
/// returns an error.
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
