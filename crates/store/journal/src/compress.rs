//! Compresses closed segments with zstd. Readers unpack them without any setting.
//!
//! Protocol: a compressed segment is complete, on disk, unpacked and compared before it has its
//! name; only then is the plain file removed. If both exist, the plain file counts. It is on disk
//! before it is removed, because a loss of power can restore it.
//! Bounds: one compressed segment is in memory at a time.
//! Failure: the next compression removes the files of a killed one.

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use nanotape_shm::ReadWord;

use crate::{
    Cause, Corruption, ErrorKind, JournalError,
    appender::{prepare::refused, sync},
    catalog::Catalog,
    disk::Disk,
    names::{self, Kept},
    segment::layout::{at, position_bytes},
    stored, upkeep,
};

/// Words that are compressed or compared at a time.
const CHUNK_WORDS: usize = 1 << 13;

/// How segments are compressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompressOptions {
    /// The zstd level: 1 is fast, 19 is small.
    pub level: i32,
    /// How many of the newest closed segments stay uncompressed.
    pub keep_plain: u64,
}

impl Default for CompressOptions {
    fn default() -> Self {
        Self { level: 3, keep_plain: 0 }
    }
}

/// A segment that was compressed, or unpacked.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Compressed {
    /// Its number.
    pub number: u64,
    /// Its current file.
    pub path: PathBuf,
    /// Bytes up to and including the end mark.
    pub plain_bytes: u64,
    /// Bytes of the compressed file.
    pub packed_bytes: u64,
}

/// Compresses the closed segments of a journal, which can be in use; the oldest first. `progress`
/// receives the completed and the total bytes.
pub fn compress(
    path: &Path,
    options: &CompressOptions,
    progress: impl FnMut(u64, u64),
) -> Result<Vec<Compressed>, JournalError> {
    let (folder, _upkeep) = upkeep::locked(path)?;
    compress_on(&folder, options, progress)
}

/// The same on another disk. The caller ensures that no process prunes or repairs meanwhile.
pub fn compress_on<D: Disk>(
    disk: &D,
    options: &CompressOptions,
    progress: impl FnMut(u64, u64),
) -> Result<Vec<Compressed>, JournalError> {
    let catalog = Catalog::read(disk)?;
    remove_parts(disk, &catalog)?;
    let closed = &catalog.listed[..catalog.last_active().unwrap_or(0)];
    let kept =
        closed.len() - usize::try_from(options.keep_plain).unwrap_or(usize::MAX).min(closed.len());
    let plain: Vec<Kept> =
        closed[..kept].iter().map(|listed| listed.kept).filter(|kept| !kept.is_packed).collect();
    each(&plain, progress, |kept| compress_one(disk, kept, options.level))
}

/// Applies an operation to each segment in turn.
fn each(
    segments: &[Kept],
    mut progress: impl FnMut(u64, u64),
    change: impl Fn(&Kept) -> Result<Compressed, JournalError>,
) -> Result<Vec<Compressed>, JournalError> {
    let (total, mut done) = (segments.iter().map(|kept| kept.bytes).sum(), 0);
    let changed = segments.iter().map(|kept| {
        let compressed = change(kept)?;
        done += kept.bytes;
        progress(done, total);
        Ok(compressed)
    });
    changed.collect()
}

/// Unpacks the compressed segments of a journal; the oldest first.
pub fn uncompress(
    path: &Path,
    progress: impl FnMut(u64, u64),
) -> Result<Vec<Compressed>, JournalError> {
    let (folder, _upkeep) = upkeep::locked(path)?;
    uncompress_on(&folder, progress)
}

/// The same on another disk. The caller ensures that no process prunes or repairs meanwhile.
pub fn uncompress_on<D: Disk>(
    disk: &D,
    progress: impl FnMut(u64, u64),
) -> Result<Vec<Compressed>, JournalError> {
    let catalog = Catalog::read(disk)?;
    remove_parts(disk, &catalog)?;
    let packed: Vec<Kept> =
        catalog.listed.iter().map(|listed| listed.kept).filter(|kept| kept.is_packed).collect();
    each(&packed, progress, |kept| {
        let number = kept.number;
        let stored = stored::open_kept(disk, kept)?;
        let end = read_to_end(disk, kept, stored.words())?;
        let (words, plain_bytes) = (&stored.words()[..end], position_bytes(end));
        upkeep::write_plain(disk, number, words, plain_bytes)?;
        remove(disk, &kept.name())?;
        let path = disk.path(&names::segment(number));
        Ok(Compressed { number, path, plain_bytes, packed_bytes: kept.bytes })
    })
}

/// Removes the files of a killed compression, unpacking or repair.
fn remove_parts<D: Disk>(disk: &D, catalog: &Catalog) -> Result<(), JournalError> {
    catalog.files.packed_parts.iter().try_for_each(|part| remove(disk, part))
}

fn remove<D: Disk>(disk: &D, name: &str) -> Result<(), JournalError> {
    disk.remove(name).map_err(JournalError::system(disk.path(name), "remove"))
}

fn compress_one<D: Disk>(disk: &D, kept: &Kept, level: i32) -> Result<Compressed, JournalError> {
    let number = kept.number;
    let (name, part) = (kept.name(), names::packed_part(number));
    let stored = stored::open_kept(disk, kept)?;
    let end = read_to_end(disk, kept, stored.words())?;
    let words = &stored.words()[..end];
    let packed = pack(words, level).map_err(JournalError::system(disk.path(&name), "compress"))?;
    let packed_bytes = packed.len() as u64;
    disk.write(&part, &packed).map_err(|error| refused(disk, &part, packed_bytes, &error))?;
    let is_same = disk.read(&part).and_then(|packed| is_same(&packed, words));
    let is_same = is_same.map_err(JournalError::system(disk.path(&part), "read"))?;
    if !is_same {
        let _ = disk.remove(&part);
        let problem = ErrorKind::Packed { cause: Cause::Different };
        return Err(JournalError::new(disk.path(&part), problem));
    }
    let to = names::packed(number);
    let named = disk.rename(&part, &to).and_then(|()| disk.sync_names());
    named.map_err(JournalError::system(disk.path(&to), "name"))?;
    // Readers treat excerpts of a compressed segment as durable.
    sync::seal(disk, number, false).map_err(|failure| failure.into_error(disk, number))?;
    remove(disk, &name)?;
    let plain_bytes = position_bytes(end);
    Ok(Compressed { number, path: disk.path(&to), plain_bytes, packed_bytes })
}

/// The word after the end mark of a segment whose excerpts are all valid.
fn read_to_end<D: Disk>(disk: &D, kept: &Kept, words: &[ReadWord]) -> Result<usize, JournalError> {
    let name = kept.name();
    let damaged = |(word, damage)| JournalError::damaged(disk, &name, word, damage);
    let view = stored::view(disk, &name, words, kept.number, None)?;
    let view = view.ok_or_else(|| damaged((at::ACTIVATION, Corruption::Activation)))?;
    view.check_closed().map_err(damaged)
}

/// The words of a segment for compression, in chunks. The file is on disk before it has its name,
/// so its words state that it is synced.
fn chunks(words: &[ReadWord]) -> impl Iterator<Item = Vec<u8>> + '_ {
    words.chunks(CHUNK_WORDS).enumerate().map(|(number, chunk)| {
        let values = chunk.iter().enumerate().map(|(word, value)| {
            if number * CHUNK_WORDS + word == at::SEALED { 1 } else { value.load() }
        });
        values.flat_map(u64::to_ne_bytes).collect()
    })
}

fn pack(words: &[ReadWord], level: i32) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), level)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(position_bytes(words.len())))?;
    for chunk in chunks(words) {
        encoder.write_all(&chunk)?;
    }
    encoder.finish()
}

/// Whether `packed` unpacks to exactly these words.
fn is_same(packed: &[u8], words: &[ReadWord]) -> io::Result<bool> {
    let mut decoder = zstd::Decoder::new(packed)?;
    for expected in chunks(words) {
        let mut found = vec![0; expected.len()];
        decoder.read_exact(&mut found)?;
        if found != expected {
            return Ok(false);
        }
    }
    Ok(decoder.read(&mut [0])? == 0)
}
