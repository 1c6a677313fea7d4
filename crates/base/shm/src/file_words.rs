//! Files as words: mapped for writing by one process and for reading by others, without a header.
//!
//! Where: JOURNAL keeps its segments in such files, with its own headers. Regions for RING and
//! LATEST have an owner and a header of this crate: see `region.rs`.
//! Failure: a store to a page that the file system has no room for ends the process with SIGBUS, so
//! [`reserve`] comes first. A file that is truncated while it is mapped has the same effect on
//! readers, unless [`guard_against_truncation`](crate::guard_against_truncation) was called.
//! Cost: no page is loaded before it is accessed or requested with `touch`.

use std::{fs::File, io, ops::Range, os::unix::fs::FileExt as _};

use rustix::{
    fs::{Advice as FileAdvice, FallocateFlags, fadvise, fallocate, fstatfs, ftruncate},
    io::Errno,
    mm::{Advice, MsyncFlags},
    process::{Resource, getrlimit},
};

use crate::{
    large_pages::{LARGE_PAGE_BYTES, LargePages},
    region::{Access, Mapping},
    word::{ReadWord, WORD_BYTES, Word, as_read_only},
};

/// Words of a file, mapped for writing.
#[derive(Debug)]
pub struct WritableWords {
    mapping: Mapping,
    words: usize,
}

/// Words of a file mapped read-only.
#[derive(Debug)]
pub struct ReadableWords {
    mapping: Mapping,
    words: usize,
}

impl WritableWords {
    /// Maps the first `words` words of a file, at least one; the file must be long enough.
    pub fn map(file: &File, words: usize) -> io::Result<Self> {
        let mapping = map(file, words, Access::Write)?;
        // Loads pages one by one. The kernel treats pages that it loads together as one, and a
        // store to any part would make a sync write all of it.
        mapping.advise(0..words * WORD_BYTES, Advice::Random);
        Ok(Self { mapping, words })
    }

    /// All words.
    #[inline(always)]
    pub fn words(&self) -> &[Word] {
        self.mapping.words(self.words)
    }

    /// Begins to load pages, several with one read of the disk, without waiting. Only a hint.
    pub fn expect(&self, range: Range<usize>) {
        self.mapping.advise(bytes(&range, self.words), Advice::WillNeed);
    }

    /// Loads pages and makes them writable now, so that a store takes no page fault. Only a hint:
    /// if the kernel does not support it, stores take page faults.
    pub fn touch(&self, range: Range<usize>) {
        // Otherwise each page would be a separate read.
        self.expect(range.clone());
        self.mapping.advise(bytes(&range, self.words), Advice::LinuxPopulateWrite);
    }

    /// Waits until the current or later values of these words are on the disk.
    pub fn sync(&self, range: Range<usize>) -> io::Result<()> {
        Ok(self.mapping.sync(bytes(&range, self.words), MsyncFlags::SYNC)?)
    }
}

impl ReadableWords {
    /// Maps the first `words` words of a file, at least one; the file must be long enough.
    pub fn map(file: &File, words: usize) -> io::Result<Self> {
        Ok(Self { mapping: map(file, words, Access::Read)?, words })
    }

    /// All words.
    #[inline(always)]
    pub fn words(&self) -> &[ReadWord] {
        as_read_only(self.mapping.words(self.words))
    }

    /// Loads pages now, so that a load takes no page fault. Only a hint.
    pub fn touch(&self, range: Range<usize>) {
        self.mapping.advise(bytes(&range, self.words), Advice::LinuxPopulateRead);
    }

    /// Whether the file was truncated below the mapped length, if the guard is installed.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.mapping.is_lost()
    }
}

/// Gives a file this length and reserves room for all of it; new parts are zeros. If there is not
/// enough room, the error has the required and the available bytes: see [`free_bytes`].
///
/// If the file system cannot reserve room, zeros are written. A copy-on-write file system needs
/// room at every store in spite of any reservation, and may end the process with SIGBUS then.
pub fn reserve(file: &File, file_bytes: u64) -> io::Result<()> {
    check_room(file, file_bytes)?;
    allocate(file, file_bytes)
}

/// The same for a new file, in large pages if it is in memory and they are available soon enough.
pub fn reserve_in_large_pages(file: &File, file_bytes: u64, large: &LargePages) -> io::Result<()> {
    check_room(file, file_bytes)?;
    large.fill(file, file_bytes);
    allocate(file, file_bytes)
}

/// Whether the request can succeed.
fn check_room(file: &File, file_bytes: u64) -> io::Result<()> {
    let limit_bytes = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    if file_bytes > limit_bytes || i64::try_from(file_bytes).is_err() {
        // Otherwise the kernel sends the signal SIGXFSZ.
        return Err(Errno::FBIG.into());
    }
    // Checked first: on tmpfs the kernel would fill the memory before it fails.
    let has_bytes = std::os::unix::fs::MetadataExt::blocks(&file.metadata()?) * 512;
    if file_bytes.saturating_sub(has_bytes) > free_bytes(file) {
        return Err(Errno::NOSPC.into());
    }
    Ok(())
}

fn allocate(file: &File, file_bytes: u64) -> io::Result<()> {
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, file_bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    write_zeros(file, file.metadata()?.len()..file_bytes)
}

/// Writes zeros to a range of a file, so that the disk allocates its blocks; later writes only
/// overwrite them.
pub fn write_zeros(file: &File, range: Range<u64>) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut offset = range.start;
    while offset < range.end {
        let length = (range.end - offset).min(zeros.len() as u64);
        file.write_all_at(&zeros[..length as usize], offset)?;
        offset += length;
    }
    Ok(())
}

/// Stores one word of a file that other processes may have mapped, like a store to a mapping.
pub fn store_in_file(file: &File, word: usize, value: u64) -> io::Result<()> {
    #[cfg(feature = "kill-points")]
    crate::kill_points::about_to_write();
    file.write_all_at(&value.to_ne_bytes(), (word * WORD_BYTES) as u64)
}

/// Removes the stored parts of a file from the page cache. Later stores load it page by page; data
/// that was written in one piece is cached in large pieces, each of which a sync writes as a whole
/// (bench: journal/sync).
pub fn forget(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, FileAdvice::DontNeed)?)
}

/// Truncates a file to this length.
pub fn shrink(file: &File, file_bytes: u64) -> io::Result<()> {
    Ok(ftruncate(file, file_bytes)?)
}

/// Bytes that the file system has free for this user; the maximum if it does not report them.
pub fn free_bytes(file: &File) -> u64 {
    match fstatfs(file) {
        Ok(said) if said.f_blocks > 0 => {
            let block_bytes = u64::try_from(said.f_bsize).unwrap_or(0);
            said.f_bavail.saturating_mul(block_bytes)
        }
        _ => u64::MAX,
    }
}

fn map(file: &File, words: usize, access: Access) -> io::Result<Mapping> {
    let too_short = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let length = words.checked_mul(WORD_BYTES).filter(|&bytes| bytes > 0).ok_or_else(too_short)?;
    if (length as u64) > file.metadata()?.len() {
        return Err(too_short());
    }
    // A shorter file cannot contain a whole large page.
    if length >= LARGE_PAGE_BYTES
        && let Ok(mapping) = Mapping::aligned(file, length, access, LARGE_PAGE_BYTES)
    {
        return Ok(mapping);
    }
    Ok(Mapping::plain(file, length, access)?)
}

fn bytes(range: &Range<usize>, words: usize) -> Range<usize> {
    range.start.min(words) * WORD_BYTES..range.end.min(words) * WORD_BYTES
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nanotape_harness::Scratch;

    use super::*;

    fn new_file(path: &Path) -> File {
        File::options().read(true).write(true).create_new(true).open(path).unwrap()
    }

    #[test]
    fn what_one_mapping_stores_the_file_and_other_mappings_have() {
        let scratch = Scratch::new("words");
        let file = new_file(scratch.path());
        reserve(&file, 3 * 4096).unwrap();
        let owned = WritableWords::map(&file, 1000).unwrap();
        let seen = ReadableWords::map(&File::open(scratch.path()).unwrap(), 1000).unwrap();
        owned.expect(0..5000);
        owned.touch(0..5000);
        seen.touch(10..20);
        owned.words()[999].store(77);
        assert_eq!(seen.words()[999].load(), 77);
        owned.sync(999..1000).unwrap();
        owned.sync(5000..6000).unwrap();
        let mut read = [0; 8];
        file.read_exact_at(&mut read, 999 * 8).unwrap();
        assert_eq!(u64::from_ne_bytes(read), 77);
        shrink(&file, 8000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 8000);
        assert!(WritableWords::map(&file, 1001).is_err(), "more than the file has");
        assert!(ReadableWords::map(&file, 0).is_err());
        assert!(!seen.is_lost());
    }

    #[test]
    fn room_that_is_not_there_is_an_error_that_leaves_the_file_alone() {
        let scratch = Scratch::new("room");
        let file = new_file(scratch.path());
        let error = reserve(&file, 1 << 60).unwrap_err();
        assert!(matches!(Errno::from_io_error(&error), Some(Errno::NOSPC | Errno::FBIG)));
        assert_eq!(file.metadata().unwrap().len(), 0);
        write_zeros(&file, 5..2_000_000).unwrap();
        forget(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 2_000_000);
        assert!(free_bytes(&file) > 0);
    }
}
