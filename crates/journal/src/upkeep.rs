//! What compression, pruning and repair have in common: only one of them at a time, in the folder
//! as it is.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use nanotape_shm::{OwnedRegion, ReadWord};

use crate::{
    JournalError, Problem,
    appender::prepare::refused,
    disk::{APPENDER, Disk, Folder, Preallocation, WritableFile as _},
    names::{self, Files},
};

/// The folder of a journal that is there, locked so that no other process compresses, prunes or
/// repairs it. What is made in it has the permission bits of what is there.
pub(crate) fn locked(path: &Path) -> Result<(Folder, OwnedRegion), JournalError> {
    let folder = Folder::new(path, 0);
    let files = Files::list(&folder)?;
    if !files.is_journal {
        return Err(JournalError::new(path, Problem::NotFound));
    }
    let first = files.segments.values().next().map(|kept| kept.name());
    let names = first.as_deref().into_iter().chain([APPENDER]);
    let mode = |name| Some(fs::metadata(path.join(name)).ok()?.permissions().mode());
    let folder = Folder::new(path, names.filter_map(mode).next().unwrap_or(0o600));
    let lock = folder.lock_upkeep()?;
    Ok((folder, lock))
}

/// Writes a segment to a file of its own: on the disk and complete before it has its name. Not to
/// one of the name that new segments are made under: an appender that opens removes those.
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
