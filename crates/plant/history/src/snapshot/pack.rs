//! Compresses snapshots with zstd. Readers unpack them without any setting.
//!
//! Protocol: a compressed file is complete, on disk, unpacked and compared before it has its name.
//! Only then is the plain file removed. If both exist, the plain file counts.
//! Bounds: one snapshot in memory, plain and compressed.
//! Failure: the next compression replaces what a killed one has left.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::PathBuf};

use nanotape_journal::read_beside;

use super::{
    Listed, SnapshotError, SnapshotFile, Snapshots,
    content::MAX_UNPACKED_BYTES,
    store::{self, PART},
};

/// A snapshot that was compressed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PackedSnapshot {
    /// Its current file.
    pub path: PathBuf,
    /// The last record that it includes.
    pub sequence: u64,
    /// Bytes before compression.
    pub plain_bytes: u64,
    /// Bytes of the compressed file.
    pub packed_bytes: u64,
}

impl Snapshots {
    /// Compresses the plain snapshots, the oldest first, but for the newest `keep_plain`. A damaged
    /// one stays as it is. The level is that of zstd.
    pub fn pack(
        &self,
        level: i32,
        keep_plain: usize,
    ) -> Result<Vec<PackedSnapshot>, SnapshotError> {
        let older = &self.as_slice()[..self.len().saturating_sub(keep_plain)];
        let plain = older.iter().filter(|listed| !store::is_packed(&listed.path));
        plain.filter_map(|listed| pack(listed, level).transpose()).collect()
    }
}

/// Compresses one snapshot; `None` if it was removed meanwhile, is damaged or too large.
fn pack(listed: &Listed, level: i32) -> Result<Option<PackedSnapshot>, SnapshotError> {
    let path = &listed.path;
    let is_good = match SnapshotFile::open(path) {
        Ok(file) => file.path() == path && file.bytes() <= MAX_UNPACKED_BYTES && is_whole(&file)?,
        Err(SnapshotError::System { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            false
        }
        Err(SnapshotError::Damaged { .. }) => false,
        Err(error) => return Err(error),
    };
    if !is_good {
        return Ok(None);
    }
    let plain = read_beside(path).map_err(SnapshotError::system("read", path))?;
    let mode = fs::metadata(path).map_err(SnapshotError::system("read", path))?.permissions();
    let packed = zstd::bulk::compress(&plain, level);
    let packed = packed.map_err(SnapshotError::system("compress", path))?;
    let is_same = zstd::bulk::decompress(&packed, plain.len()).is_ok_and(|bytes| bytes == plain);
    if !is_same {
        let error = io::Error::other("the compressed bytes do not unpack to the same snapshot");
        return Err(SnapshotError::system("compress", path)(error));
    }
    let to = store::packed_path(path);
    let mut part = to.clone().into_os_string();
    part.push(format!(".{PART}"));
    store::complete(&PathBuf::from(part), &to, mode.mode() & 0o7777, &packed)
        .map_err(SnapshotError::system("write", &to))?;
    fs::remove_file(path)
        .and_then(|()| store::sync_names(path))
        .map_err(SnapshotError::system("remove", path))?;
    Ok(Some(PackedSnapshot {
        path: to,
        sequence: listed.sequence,
        plain_bytes: plain.len() as u64,
        packed_bytes: packed.len() as u64,
    }))
}

/// Whether the orders of all stocks have their checksums.
fn is_whole(file: &SnapshotFile) -> Result<bool, SnapshotError> {
    for entry in file.stocks() {
        match file.orders_of(entry) {
            Ok(_) => {}
            Err(SnapshotError::Damaged { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
