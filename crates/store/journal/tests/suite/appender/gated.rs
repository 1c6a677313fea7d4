//! A folder whose operations wait or panic when a test requests it.

use std::{
    io,
    ops::Range,
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use nanotape_journal::{Disk, Folder, Listed, Preallocation, WritableFile};
use nanotape_shm::Word;

type File = <Folder as Disk>::Writable;

/// The behavior when a file is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Making {
    #[default]
    Passes,
    Waits,
    Panics,
}

#[derive(Debug, Default)]
struct Gate {
    making: Mutex<Making>,
    changed: Condvar,
    /// The number of files requested.
    requested: AtomicU64,
    /// How often two threads synced a file at the same time.
    overlaps: AtomicU64,
    /// Length to which each file is cut before it is opened.
    shrunk_bytes: Mutex<Option<u64>>,
    /// The number of files that were cut.
    shrunk: AtomicU64,
    /// Whether syncs of mapped files fail.
    is_failing: AtomicBool,
}

#[derive(Clone, Debug)]
pub(crate) struct GatedFolder {
    folder: Folder,
    gate: Arc<Gate>,
}

/// A file, and the folder's gate.
#[derive(Debug)]
pub(crate) struct GatedFile {
    file: File,
    /// Threads that are syncing it now.
    syncing: AtomicU64,
    gate: Arc<Gate>,
}

impl GatedFolder {
    pub(crate) fn new(path: &Path) -> Self {
        Self { folder: Folder::new(path, 0o600), gate: Arc::default() }
    }

    pub(crate) fn set_making(&self, making: Making) {
        *self.gate.making.lock().unwrap() = making;
        self.gate.changed.notify_all();
    }

    /// The number of files requested.
    pub(crate) fn requested(&self) -> u64 {
        self.gate.requested.load(Ordering::SeqCst)
    }

    /// How often two threads synced a file at the same time.
    pub(crate) fn overlaps(&self) -> u64 {
        self.gate.overlaps.load(Ordering::SeqCst)
    }

    /// Cuts each file to this length before it is opened for writing, as another process could.
    pub(crate) fn shrink_to(&self, bytes: u64) {
        *self.gate.shrunk_bytes.lock().unwrap() = Some(bytes);
    }

    /// The number of files that were cut.
    pub(crate) fn shrunk(&self) -> u64 {
        self.gate.shrunk.load(Ordering::SeqCst)
    }

    /// Sets whether later syncs of mapped files fail.
    pub(crate) fn set_failing(&self, is_failing: bool) {
        self.gate.is_failing.store(is_failing, Ordering::SeqCst);
    }

    fn file(&self, file: File) -> GatedFile {
        GatedFile { file, syncing: AtomicU64::new(0), gate: Arc::clone(&self.gate) }
    }
}

impl Disk for GatedFolder {
    type Writable = GatedFile;
    type Readable = <Folder as Disk>::Readable;
    type Lock = <Folder as Disk>::Lock;

    nanotape_harness::forward_to!(folder);

    fn list(&self) -> io::Result<Vec<Listed>> {
        self.folder.list()
    }

    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<GatedFile> {
        let making = self.gate.making.lock().unwrap();
        self.gate.requested.fetch_add(1, Ordering::SeqCst);
        let making = self.gate.changed.wait_while(making, |making| *making == Making::Waits);
        let now = { *making.unwrap() };
        // The guard is already released: a panic does not poison the gate.
        assert!(now != Making::Panics, "as the test wants it");
        Ok(self.file(self.folder.create(name, bytes, space)?))
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<GatedFile> {
        if let Some(bytes) = *self.gate.shrunk_bytes.lock().unwrap() {
            self.folder.shrink(name, bytes)?;
            self.gate.shrunk.fetch_add(1, Ordering::SeqCst);
        }
        Ok(self.file(self.folder.open(name, bytes)?))
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
        self.folder.sync(name)
    }
}

impl WritableFile for GatedFile {
    fn words(&self) -> &[Word] {
        self.file.words()
    }

    fn touch(&self, words: Range<usize>) {
        self.file.touch(words);
    }

    fn sync(&self, words: Range<usize>) -> io::Result<()> {
        if self.gate.is_failing.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::Other.into());
        }
        if self.syncing.fetch_add(1, Ordering::SeqCst) > 0 {
            self.gate.overlaps.fetch_add(1, Ordering::SeqCst);
        }
        // As on a disk: other threads run meanwhile.
        (0..20).for_each(|_| std::thread::yield_now());
        let synced = self.file.sync(words);
        self.syncing.fetch_sub(1, Ordering::SeqCst);
        synced
    }
}
