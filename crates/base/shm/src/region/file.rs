//! The file of a region: opened, identified and locked, before anything of it is mapped.

use std::{
    fs::{File, Metadata},
    os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};

use super::{
    header::{HEADER_BYTES, Header},
    mapping::{Access, huge_block_bytes},
    owner::Started,
    refusal::{Refusal, RegionError},
};
use crate::owner_lock::{Holder, OwnerLock};

/// Only the owning user: not even the group may read until the creator sets the final mode.
const FIRST_MODE: Mode = Mode::from_raw_mode(0o600);

/// An open file that may be a region.
#[derive(Debug)]
pub(crate) struct RegionFile {
    /// Absolute, so that it stays valid when the process changes its directory.
    pub(crate) path: PathBuf,
    pub(crate) lock: OwnerLock,
}

/// The path as an absolute one.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, RegionError> {
    std::path::absolute(path).map_err(|e| RegionError::new(path, Refusal::io("find")(e)))
}

impl RegionFile {
    /// Opens the file at a path, which is not a link: another user could have made it. Children do
    /// not inherit the file, a pipe does not block it.
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self, RegionError> {
        let path = absolute(path)?;
        let flags = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let how = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
        };
        let opened = open(&path, flags | how, Mode::empty());
        let file = opened.map_err(|errno| refused_open(&path, access, errno))?;
        let file = Self { path, lock: OwnerLock::of(File::from(file)) };
        let kind = file.metadata()?.file_type();
        if kind.is_file() {
            return Ok(file);
        }
        let what = match kind {
            kind if kind.is_dir() => "a directory",
            kind if kind.is_fifo() => "a pipe",
            _ => "a device",
        };
        Err(file.refuse(Refusal::NotAFile { what }))
    }

    /// Creates an empty file; returns `None` if the path exists. The path is absolute.
    pub(crate) fn create(path: &Path) -> Result<Option<Self>, RegionError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match open(path, flags, FIRST_MODE) {
            Ok(file) => {
                let lock = OwnerLock::of(File::from(file));
                Ok(Some(Self { path: path.to_owned(), lock }))
            }
            Err(Errno::EXIST) => Ok(None),
            Err(errno) => Err(RegionError::new(path, Refusal::system("create")(errno))),
        }
    }

    pub(crate) fn refuse(&self, refusal: Refusal) -> RegionError {
        RegionError::new(&self.path, refusal)
    }

    pub(crate) fn file(&self) -> &File {
        self.lock.file()
    }

    pub(crate) fn metadata(&self) -> Result<Metadata, RegionError> {
        self.file().metadata().map_err(|e| self.refuse(Refusal::io("inspect")(e)))
    }

    /// Takes the owner's lock, or fails with its holder.
    pub(crate) fn take_lock(&self) -> Result<(), RegionError> {
        let taken = self.lock.try_take().map_err(|e| self.refuse(Refusal::system("lock")(e)))?;
        if taken {
            return Ok(());
        }
        let holder =
            self.lock.holder().map_err(|e| self.refuse(Refusal::system("read the lock")(e)))?;
        if holder == Holder::Reader {
            return Err(self.refuse(Refusal::LockedByReader));
        }
        Err(self.refuse(match self.parsed()? {
            Ok(Header { owner_pid: pid, owner_started: started, .. }) => {
                Refusal::OwnerAlive { pid, started }
            }
            Err(Refusal::HalfCreated) => Refusal::BeingCreated,
            Err(refusal @ Refusal::NotARegion { .. }) => refusal,
            // The file is damaged or truncated, but its owner is still responsible for it.
            Err(_) => Refusal::OwnerAlive { pid: 0, started: Started::at_unix_s(0) },
        }))
    }

    /// Shares the owner's lock with other writers.
    pub(crate) fn share_lock(&self) -> Result<(), RegionError> {
        let shared = self.lock.try_share().map_err(|e| self.refuse(Refusal::system("lock")(e)))?;
        if shared { Ok(()) } else { Err(self.refuse(Refusal::BeingCreated)) }
    }

    /// Whether the path still names this file. A file that another process removed before the lock
    /// was taken has a separate lock, which does not protect the path.
    pub(crate) fn is_at_its_path(&self) -> Result<bool, RegionError> {
        let own = self.metadata()?;
        match std::fs::symlink_metadata(&self.path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.refuse(Refusal::io("inspect")(error))),
        }
    }

    /// Refuses the file of another user, which could keep it open and write to it. The user of the
    /// folder is trusted with the files in it, which root may own for that user; such a file has
    /// to have the requested mode, since it could admit more users.
    pub(crate) fn require_own(&self, mode: u32) -> Result<(), RegionError> {
        let own = self.metadata()?;
        let folder = self.path.parent().and_then(|folder| std::fs::metadata(folder).ok());
        let is_of_folder = folder.is_some_and(|folder| folder.uid() == own.uid());
        if is_of_folder && own.mode() & 0o7777 == mode & 0o777 {
            return Ok(());
        }
        self.refuse_foreign(&own)
    }

    /// Refuses the file of another user.
    pub(crate) fn refuse_foreign(&self, own: &Metadata) -> Result<(), RegionError> {
        let (user, owner) = (rustix::process::geteuid().as_raw(), own.uid());
        if owner == user {
            return Ok(());
        }
        Err(self.refuse(Refusal::OfAnotherUser { user, owner }))
    }

    /// Reads the header without a mapping; the inner error is a problem of its contents.
    pub(crate) fn parsed(&self) -> Result<Result<Header, Refusal>, RegionError> {
        let mut bytes = [0; HEADER_BYTES];
        let mut length = 0;
        while length < bytes.len() {
            match self.file().read_at(&mut bytes[length..], length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.refuse(Refusal::io("read")(error))),
            }
        }
        Ok(match Header::parse(&bytes[..length]) {
            // Such a file cannot be written before it has its full length.
            Err(Refusal::NotARegion { found: [0, 0, 0, 0, 0, 0, 0, 0], length: 8 })
                if huge_block_bytes(self.file()).is_some() =>
            {
                Err(Refusal::HalfCreated)
            }
            parsed => parsed,
        })
    }

    /// Like [`parsed`](Self::parsed), and checks that the file has the length in the header.
    pub(crate) fn header(&self) -> Result<Result<Header, Refusal>, RegionError> {
        let file_bytes = self.metadata()?.len();
        Ok(self.parsed()?.and_then(|header| match header.spec.region_bytes() {
            Some(region_bytes) if region_bytes <= file_bytes => Ok(header),
            region_bytes => {
                let region_bytes = region_bytes.unwrap_or(u64::MAX);
                Err(Refusal::TooSmall { file_bytes, region_bytes })
            }
        }))
    }

    /// Removes the path. The caller must hold the lock and have checked that the path names this
    /// file.
    pub(crate) fn unlink(&self) -> Result<(), RegionError> {
        match rustix::fs::unlink(&self.path) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno @ (Errno::PERM | Errno::ACCESS)) => {
                // In a folder with the sticky bit only the owner of a file removes it.
                self.refuse_foreign(&self.metadata()?)?;
                Err(self.refuse(Refusal::system("remove")(errno)))
            }
            Err(errno) => Err(self.refuse(Refusal::system("remove")(errno))),
        }
    }
}

/// The error for a file that could not be opened.
fn refused_open(path: &Path, access: Access, errno: Errno) -> RegionError {
    let there = std::fs::symlink_metadata(path);
    let refusal = match errno {
        Errno::LOOP => match there {
            Ok(link) if link.is_symlink() => Refusal::Link { owner: link.uid() },
            _ => Refusal::System { operation: "open", errno },
        },
        Errno::NOENT => Refusal::NotFound,
        Errno::ISDIR => Refusal::NotAFile { what: "a directory" },
        Errno::NXIO => Refusal::NotAFile { what: "a socket or a device" },
        Errno::ACCESS | Errno::PERM => match there {
            Ok(there) => Refusal::Permission {
                operation: if access == Access::Read { "read" } else { "write" },
                user: rustix::process::geteuid().as_raw(),
                owner: there.uid(),
                mode: there.mode() & 0o7777,
            },
            Err(_) => Refusal::System { operation: "open", errno },
        },
        errno => Refusal::System { operation: "open", errno },
    };
    RegionError::new(path, refusal)
}
