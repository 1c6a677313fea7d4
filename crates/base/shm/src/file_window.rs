//! A file to read, and read-only windows over it: a bounded amount of memory mapped at once.
//!
//! Where: FEED reads a day file block by block. Programs that need a part of it as a slice map it.
//! Cost: one system call a read; four a window (fstat, mmap, madvise, munmap). All pages of a
//! window are loaded before it is returned, so that the reader takes no page faults.
//! Failure: a file that shrank since it was opened is an error with its path. One that shrinks
//! while a window over the lost part is in use raises SIGBUS, as with any mapping. The length is
//! checked at each window, so this needs a truncation in the milliseconds of its use.

use std::{
    ffi::c_void,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    ptr::NonNull,
};

use rustix::{
    fs::{Advice as FileAdvice, fadvise},
    io::Errno,
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap},
};

/// A regular file to read, or to map windows from.
#[derive(Debug)]
pub struct MappableFile {
    file: File,
    path: PathBuf,
    length_bytes: u64,
    page_bytes: u64,
}

/// Why a file or a part of it could not be read or mapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// A system call failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    System {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is shorter than when it was opened.
    #[error("{}: the file shrank to {now_bytes} bytes while it was read (it had {opened_bytes})", path.display())]
    Shrank {
        /// The file.
        path: PathBuf,
        /// Length when opened.
        opened_bytes: u64,
        /// Current length.
        now_bytes: u64,
    },
}

impl MappableFile {
    /// Opens a file. Later appends do not change its length here.
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let system =
            |operation| move |source| MapError::System { operation, path: path.to_owned(), source };
        let file = File::open(path).map_err(system("open"))?;
        let length_bytes = file.metadata().map_err(system("inspect"))?.len();
        // Only advice: if it is refused, reading is slower.
        let _ = fadvise(&file, 0, None, FileAdvice::Sequential);
        let page_bytes = rustix::param::page_size() as u64;
        Ok(Self { file, path: path.to_owned(), length_bytes, page_bytes })
    }

    /// Length in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.length_bytes
    }

    /// Whether it had no bytes when it was opened.
    pub fn is_empty(&self) -> bool {
        self.length_bytes == 0
    }

    /// Maps up to `length` bytes from `offset`, fewer at the end of the file.
    pub fn map(&self, offset: u64, length: usize) -> Result<FileWindow, MapError> {
        let now_bytes = self.file.metadata().map_err(|e| self.system("inspect", e))?.len();
        if now_bytes < self.length_bytes {
            return Err(self.shrank(now_bytes));
        }
        let end = offset.saturating_add(length as u64).min(self.length_bytes);
        if offset >= end {
            return Ok(FileWindow { mapping: None, skip: 0 });
        }
        let start = offset - offset % self.page_bytes;
        let (bytes, skip) = ((end - start) as usize, (offset - start) as usize);
        // SAFETY: a null hint lets the kernel choose an unused address range; the length is not
        // zero and the offset is a multiple of the page size, both computed above.
        let address = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::PRIVATE, &self.file, start)
        }
        .map_err(|errno| self.system("map", errno.into()))?;
        let Some(address) = NonNull::new(address.cast::<u8>()) else {
            return Err(self.system("map", Errno::NOMEM.into()));
        };
        let mapping = Mapping { address, bytes };
        // SAFETY: the range is the new mapping, which is not shared yet.
        let populated =
            unsafe { madvise(mapping.start(), mapping.bytes, Advice::LinuxPopulateRead) };
        if populated == Err(Errno::FAULT) {
            let now_bytes = self.file.metadata().map_err(|e| self.system("inspect", e))?.len();
            return Err(self.shrank(now_bytes));
        }
        // Any other error (a kernel before 5.14) means page faults later, not wrong bytes.
        Ok(FileWindow { mapping: Some(mapping), skip })
    }

    /// Reads bytes from `offset` until `buffer` is full or the file ends. Returns their number.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, MapError> {
        let rest = self.length_bytes.saturating_sub(offset);
        let length = buffer.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        match self.file.read_exact_at(&mut buffer[..length], offset) {
            Ok(()) => Ok(length),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let now_bytes = self.file.metadata().map_err(|e| self.system("inspect", e))?.len();
                Err(self.shrank(now_bytes))
            }
            Err(error) => Err(self.system("read", error)),
        }
    }

    fn system(&self, operation: &'static str, source: io::Error) -> MapError {
        MapError::System { operation, path: self.path.clone(), source }
    }

    fn shrank(&self, now_bytes: u64) -> MapError {
        let (path, opened_bytes) = (self.path.clone(), self.length_bytes);
        MapError::Shrank { path, opened_bytes, now_bytes }
    }
}

/// A mapped part of a file; unmapped when dropped.
#[derive(Debug)]
pub struct FileWindow {
    mapping: Option<Mapping>,
    /// Bytes between the page boundary and the requested offset.
    skip: usize,
}

impl FileWindow {
    /// The requested bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.mapping {
            Some(mapping) => &mapping.as_slice()[self.skip..],
            None => &[],
        }
    }
}

/// One mmap and its munmap.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is readable from any thread and owned by this value alone.
unsafe impl Send for Mapping {}
// SAFETY: shared access only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn start(&self) -> *mut c_void {
        self.address.as_ptr().cast()
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        // SAFETY: address and length are those of a live, readable mapping, unmapped only when
        // `self` is dropped. The mapping is private and read-only, so this process never writes it.
        // Another process that rewrites the file in place could change bytes of the slice. That is
        // outside the language's model, as for every mapped file, and harmless to the code that
        // uses it: decoders treat every value as hostile and read it once.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped, and no slice of it outlives `self`.
        let unmapped = unsafe { munmap(self.start(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of an own mapping cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    fn file_of(name: &str, bytes: &[u8]) -> Scratch {
        let scratch = Scratch::new(name);
        std::fs::write(scratch.path(), bytes).unwrap();
        scratch
    }

    #[test]
    fn windows_and_reads_start_anywhere_and_end_with_the_file() {
        let content: Vec<u8> = (0..20_000u32).map(|i| (i % 251) as u8).collect();
        let scratch = file_of("windows", &content);
        let file = MappableFile::open(scratch.path()).unwrap();
        for (offset, length) in
            [(0, 20_000), (1, 10), (4095, 2), (4096, 4096), (19_999, 500), (5, 0)]
        {
            let end = (offset + length).min(content.len());
            let window = file.map(offset as u64, length).unwrap();
            assert_eq!(window.bytes(), &content[offset..end], "{length} bytes from {offset}");
            let mut buffer = vec![0; length];
            let read = file.read(offset as u64, &mut buffer).unwrap();
            assert_eq!(buffer[..read], content[offset..end], "{length} bytes read from {offset}");
        }
        assert!(file.map(20_000, 1).unwrap().bytes().is_empty());
        assert!(file.map(u64::MAX, usize::MAX).unwrap().bytes().is_empty());
        assert_eq!(file.read(20_000, &mut [0]).unwrap(), 0);
        assert_eq!(file.read(u64::MAX, &mut [0]).unwrap(), 0);
    }

    #[test]
    fn an_empty_file_has_an_empty_window() {
        let scratch = file_of("empty", b"");
        let file = MappableFile::open(scratch.path()).unwrap();
        assert!(file.is_empty() && file.map(0, 4096).unwrap().bytes().is_empty());
    }

    #[test]
    fn a_file_that_shrank_is_an_error_with_its_path() {
        let scratch = file_of("shrinks", &[7; 10_000]);
        let file = MappableFile::open(scratch.path()).unwrap();
        std::fs::OpenOptions::new().write(true).open(scratch.path()).unwrap().set_len(100).unwrap();
        let read = file.read(0, &mut [0; 10_000]).unwrap_err();
        for error in [file.map(0, 10_000).unwrap_err(), read] {
            let error = error.to_string();
            assert!(error.contains("shrank to 100 bytes") && error.contains("shrinks"), "{error}");
        }
    }
}
