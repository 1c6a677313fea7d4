//! A folder on a disk that is full, cannot make files for now, or cannot sync, when a test requests
//! it.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use nanotape_journal::{Disk, Folder, Listed, Preallocation};

#[derive(Clone, Debug)]
pub(crate) struct FullDisk {
    folder: Folder,
    is_full: Arc<AtomicBool>,
    is_broken: Arc<AtomicBool>,
    /// Whether the creation of a file waits, and its condition.
    held: Arc<(Mutex<bool>, Condvar)>,
    refused: Arc<AtomicU64>,
}

impl FullDisk {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            folder: Folder::new(path, 0o600),
            is_full: Arc::default(),
            is_broken: Arc::default(),
            held: Arc::default(),
            refused: Arc::default(),
        }
    }

    pub(crate) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Sets whether the creation of files waits.
    pub(crate) fn set_held(&self, is_held: bool) {
        *self.held.0.lock().unwrap() = is_held;
        self.held.1.notify_all();
    }

    /// Whether files of closed segments can be synced.
    pub(crate) fn set_broken(&self, is_broken: bool) {
        self.is_broken.store(is_broken, Ordering::Relaxed);
    }

    /// How often it refused to create or sync a file.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Disk for FullDisk {
    type Writable = <Folder as Disk>::Writable;
    type Readable = <Folder as Disk>::Readable;
    type Lock = <Folder as Disk>::Lock;

    nanotape_harness::forward_to!(folder);

    fn list(&self) -> io::Result<Vec<Listed>> {
        self.folder.list()
    }

    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<Self::Writable> {
        drop(self.held.1.wait_while(self.held.0.lock().unwrap(), |is_held| *is_held).unwrap());
        if self.is_full.load(Ordering::Relaxed) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(rustix::io::Errno::NOSPC.into());
        }
        self.folder.create(name, bytes, space)
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<Self::Writable> {
        self.folder.open(name, bytes)
    }

    fn view(&self, name: &str) -> io::Result<Self::Readable> {
        self.folder.view(name)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.folder.read(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.folder.rename(from, to)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        if self.is_broken.load(Ordering::Relaxed) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(rustix::io::Errno::IO.into());
        }
        self.folder.sync(name)
    }
}
