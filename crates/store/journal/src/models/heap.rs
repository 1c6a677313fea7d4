//! A disk of words on the heap, for models: files never change their length or name.

use std::{io, ops::Range, path::PathBuf, sync::Arc};

use nanotape_shm::{ReadWord, RegionError, Word, as_read_only};

use super::{Disk, Listed, Preallocation, ReadableFile, WritableFile};

/// Names, and the words of each file.
#[derive(Clone, Debug)]
pub struct Heap(pub(crate) Arc<Vec<(String, HeapFile)>>);

/// The words of a file, shared by all its mappings.
#[derive(Clone, Debug)]
pub struct HeapFile(pub(crate) Arc<[Word]>);

impl Heap {
    fn file(&self, name: &str) -> io::Result<HeapFile> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, file)| file.clone()).ok_or_else(|| rustix::io::Errno::NOENT.into())
    }
}

/// The error of operations that models do not support.
fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Disk for Heap {
    type Writable = HeapFile;
    type Readable = HeapFile;
    type Lock = ();

    fn path(&self, name: &str) -> PathBuf {
        name.into()
    }

    fn make(&self) -> io::Result<()> {
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<Listed>> {
        let listed = |(name, file): &(String, HeapFile)| Listed {
            name: name.clone(),
            bytes: (file.0.len() * 8) as u64,
        };
        Ok(self.0.iter().map(listed).collect())
    }

    fn lock(&self) -> Result<(), RegionError> {
        Ok(())
    }

    fn create(&self, _: &str, _: u64, _: Preallocation) -> io::Result<HeapFile> {
        refused()
    }

    fn open(&self, name: &str, _: u64) -> io::Result<HeapFile> {
        self.file(name)
    }

    fn view(&self, name: &str) -> io::Result<HeapFile> {
        self.file(name)
    }

    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Err(rustix::io::Errno::NOENT.into())
    }

    fn write(&self, _: &str, _: &[u8]) -> io::Result<()> {
        refused()
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        refused()
    }

    fn shrink(&self, _: &str, _: u64) -> io::Result<()> {
        refused()
    }

    fn store(&self, _: &str, _: usize, _: u64) -> io::Result<()> {
        refused()
    }

    fn sync(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> u64 {
        0
    }

    fn boot(&self) -> u64 {
        1
    }
}

impl WritableFile for HeapFile {
    fn words(&self) -> &[Word] {
        &self.0
    }

    fn sync(&self, _: Range<usize>) -> io::Result<()> {
        Ok(())
    }
}

impl ReadableFile for HeapFile {
    fn words(&self) -> &[ReadWord] {
        as_read_only(&self.0)
    }

    fn is_lost(&self) -> bool {
        false
    }

    fn is_at(&self, _: &str) -> bool {
        true
    }
}
