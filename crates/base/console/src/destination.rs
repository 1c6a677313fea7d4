//! What the path of `-o FILE` names, with links followed.
//!
//! The path can be in a folder that other users write to. A link or a FIFO of another user is
//! refused: that user would choose which file is overwritten, or read the output. A file is never
//! opened for writing: a new one takes its name when it is complete, with the permissions of the
//! file that it replaces.
//!
//! Failure: a link that is its own target, or a chain of more than [`MOST_LINKS`], is an error of
//! the system, as it is for every program.

use std::{
    fs::{self, File, Metadata, Permissions},
    io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use rustix::{
    fs::{Gid, OFlags, PROC_SUPER_MAGIC, fchown, statfs},
    io::Errno,
    process::geteuid,
};

use crate::interrupt::Unfinished;

/// Links that are followed, as many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Permissions of a new file, before the umask.
const NEW_FILE: u32 = 0o666;

/// What a path names.
#[derive(Debug)]
pub(crate) enum Destination {
    /// A device or a pipe, or a file that is open already, such as `/dev/stdout`.
    Direct(Direct),
    /// A file, or a name for a new one.
    Named(Named),
}

#[derive(Debug)]
pub(crate) struct Direct {
    path: PathBuf,
    /// Whether the path names a file that a process has open.
    is_open: bool,
}

#[derive(Debug)]
pub(crate) struct Named {
    /// The name, which is not a link.
    path: PathBuf,
    /// The file that has the name.
    existing: Option<Metadata>,
}

impl Destination {
    /// Follows the links of a path.
    pub(crate) fn of(path: &Path) -> anyhow::Result<Self> {
        let cannot = || format!("cannot write {}", path.display());
        let mut at = path.to_owned();
        for _ in 0..=MOST_LINKS {
            let metadata = match fs::symlink_metadata(&at) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self::Named(Named { path: at, existing: None }));
                }
                found => found.with_context(cannot)?,
            };
            let kind = metadata.file_type();
            if kind.is_file() {
                return Ok(Self::Named(Named { path: at, existing: Some(metadata) }));
            }
            if !kind.is_symlink() {
                if kind.is_fifo() {
                    require_own(&at, &metadata, "FIFO", None)?;
                }
                return Ok(Self::Direct(Direct { path: at, is_open: false }));
            }
            if is_open_file(&at).with_context(cannot)? {
                return Ok(Self::Direct(Direct { path: at, is_open: true }));
            }
            let target = fs::read_link(&at).with_context(cannot)?;
            let target = at.parent().unwrap_or(Path::new("")).join(target);
            require_own(&at, &metadata, "link", Some(&target))?;
            at = target;
        }
        Err(io::Error::from(Errno::LOOP)).with_context(cannot)
    }
}

impl Direct {
    /// Opens it for writing. A file that is open already is appended to, so that nothing in it is
    /// overwritten.
    pub(crate) fn open(&self) -> io::Result<File> {
        let mut options = File::options();
        if self.is_open {
            return options.append(true).open(&self.path);
        }
        let file = options.write(true).custom_flags(flags(OFlags::NOFOLLOW)).open(&self.path)?;
        if file.metadata()?.is_file() {
            return Err(io::Error::other("it was replaced by a file while it was opened"));
        }
        Ok(file)
    }
}

impl Named {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn exists(&self) -> bool {
        self.existing.is_some()
    }

    /// Creates the unfinished file, with the permissions of the file that it will replace. They are
    /// never wider: a file of another user gives away no more than a new one does.
    pub(crate) fn create(&self) -> io::Result<(Unfinished, File)> {
        let Some(existing) = &self.existing else {
            return Unfinished::create(&self.path, NEW_FILE);
        };
        let mode = existing.mode() & 0o777;
        if existing.uid() != geteuid().as_raw() {
            return Unfinished::create(&self.path, mode & NEW_FILE);
        }
        // The group may be another one until it is changed.
        let (unfinished, file) = Unfinished::create(&self.path, mode & !0o070)?;
        let new = file.metadata()?;
        let group = Gid::from_raw(existing.gid());
        let is_same_group = new.gid() == existing.gid() || fchown(&file, None, Some(group)).is_ok();
        let mode = if is_same_group { mode } else { mode & !0o070 };
        if new.mode() & 0o777 != mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok((unfinished, file))
    }
}

/// Refuses what another user made. Root is trusted, as it is by the kernel.
fn require_own(
    path: &Path,
    metadata: &Metadata,
    kind: &str,
    target: Option<&Path>,
) -> anyhow::Result<()> {
    let owner = metadata.uid();
    if owner == 0 || owner == geteuid().as_raw() {
        return Ok(());
    }
    let name = path.display();
    match target {
        Some(target) => bail!(
            "{name} is a {kind} of user {owner} to {}; give the path that it leads to",
            target.display()
        ),
        None => bail!("{name} is a {kind} of user {owner}; give another path"),
    }
}

/// Whether a link is one of the kernel's, to a file that a process has open.
fn is_open_file(link: &Path) -> io::Result<bool> {
    let folder = link.parent().filter(|folder| !folder.as_os_str().is_empty());
    let system = statfs(folder.unwrap_or(Path::new(".")))?;
    Ok(system.f_type == PROC_SUPER_MAGIC)
}

/// Flags for the standard library.
fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}
