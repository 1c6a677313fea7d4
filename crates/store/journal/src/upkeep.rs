//! What compression, pruning and repair share: only one of them runs at a time, in the existing
//! folder.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use nanotape_shm::{OwnedRegion, ReadWord};

use crate::{
    ErrorKind, JournalError,
    appender::prepare::refused,
    companion::APPENDER,
    disk::{Disk, Folder, Preallocation, WritableFile as _},
    names::{self, Files},
};

/// The folder of an existing journal, locked so that no other process compresses, prunes or repairs
/// it.
pub(crate) fn locked(path: &Path) -> Result<(Folder, OwnedRegion), JournalError> {
    let folder = existing(path)?;
    let lock = folder.lock_upkeep()?;
    Ok((folder, lock))
}

/// The same if nothing is changed: a process that does this now is an error, and one that begins
/// later is not.
pub(crate) fn unlocked(path: &Path) -> Result<Folder, JournalError> {
    let folder = existing(path)?;
    folder.check_no_upkeep()?;
    Ok(folder)
}

/// The folder of an existing journal, locked unless nothing is changed.
pub(crate) fn locked_unless(
    is_dry_run: bool,
    path: &Path,
) -> Result<(Folder, Option<OwnedRegion>), JournalError> {
    match is_dry_run {
        true => Ok((unlocked(path)?, None)),
        false => locked(path).map(|(folder, lock)| (folder, Some(lock))),
    }
}

/// The folder of an existing journal. New files get the permission bits of the existing ones.
fn existing(path: &Path) -> Result<Folder, JournalError> {
    let folder = Folder::new(path, 0);
    let files = Files::list(&folder)?;
    if !files.is_journal {
        return Err(JournalError::new(path, ErrorKind::NotFound));
    }
    let first = files.segments.values().next().map(|kept| kept.name());
    let names = first.as_deref().into_iter().chain([APPENDER]);
    let mode = |name| Some(fs::metadata(path.join(name)).ok()?.permissions().mode());
    Ok(Folder::new(path, names.filter_map(mode).next().unwrap_or(0o600)))
}

/// Writes a segment to a new file that is complete and on disk before it has its name. The
/// temporary name differs from those of new segments, because an appender that opens removes these.
pub(crate) fn write_plain<D: Disk>(
    disk: &D,
    number: u64,
    words: &[ReadWord],
    bytes: u64,
) -> Result<(), JournalError> {
    let (part, name) = (names::packed_part(number), names::segment(number));
    let write = || {
        let file = disk.create(&part, bytes, Preallocation::Reserved)?;
        for (word, from) in file.words().iter().zip(words) {
            word.store(from.load());
        }
        file.sync(0..file.words().len())
    };
    if let Err(error) = disk.remove(&part)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(JournalError::system(disk.path(&part), "remove")(error));
    }
    write().map_err(|error| {
        let _ = disk.remove(&part);
        refused(disk, &name, bytes, &error)
    })?;
    let named = disk.rename(&part, &name).and_then(|()| disk.sync_names());
    named.map_err(JournalError::system(disk.path(&name), "name"))
}
