//! The interface of a journal to its disk: every access goes through it.
//!
//! Where: [`Folder`] is the real one. Tests use a simulated disk, which forgets unsynced data,
//! tears writes and fails on request.

#[cfg(not(nanotape_loom))]
mod companions;
#[cfg(not(nanotape_loom))]
mod folder;
#[cfg(nanotape_loom)]
#[path = "models/heap.rs"]
pub(crate) mod heap;
mod lock;

use std::{fmt, io, ops::Range, path::PathBuf};

use nanotape_shm::{Owner, ReadWord, RegionError, Word};

#[cfg(not(nanotape_loom))]
pub use folder::{APPENDER_KIND, APPENDER_LAYOUT, Folder, UPKEEP_KIND, UPKEEP_LAYOUT};
#[cfg(not(nanotape_loom))]
pub(crate) use folder::{is_of_another_version, own_region};
#[cfg(nanotape_loom)]
pub use heap::Heap as Folder;
pub use lock::FileLock;

/// A folder of files on a disk. Names have no slash, except in folders of the journal: `cut/NAME`,
/// whose folder is created when needed.
pub trait Disk: Clone + fmt::Debug + Send + Sync + 'static {
    /// A file mapped for writing.
    type Writable: WritableFile;
    /// A file mapped for reading.
    type Readable: ReadableFile;
    /// Held by the appender as long as the value lives.
    type Lock: fmt::Debug + Send;

    /// The path of a name, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Creates the folder if it does not exist. Later names are in this folder, even if it is
    /// moved.
    fn make(&self) -> io::Result<()>;

    /// Waits until the folder's own name is on disk.
    fn sync_parent(&self) -> io::Result<()> {
        Ok(())
    }

    /// All entries of the folder itself.
    fn list(&self) -> io::Result<Vec<Listed>>;

    /// The process that appends, or that appended last. `None` if there was none, and on a disk
    /// with one process.
    fn appender(&self) -> Option<Owner> {
        None
    }

    /// Takes the lock of the appender.
    fn lock(&self) -> Result<Self::Lock, RegionError>;

    /// Excludes compression, pruning and repair as long as the value lives. A disk with one process
    /// needs no lock for that.
    fn exclude_upkeep(&self) -> Result<Option<Self::Lock>, RegionError> {
        Ok(None)
    }

    /// An error if a process has the lock of the appender. Writes nothing.
    fn check_unlocked(&self) -> Result<(), RegionError> {
        Ok(())
    }

    /// Locks a file for its writer, independent of its name; `None` if another process has it
    /// locked. A disk with one process needs no locks.
    fn lock_file(&self, _name: &str) -> io::Result<Option<FileLock>> {
        Ok(Some(FileLock::default()))
    }

    /// Creates and maps a file of `bytes` zeros, with its space reserved. It is an error if the
    /// name exists.
    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<Self::Writable>;

    /// Gives a closed segment that is pruned another name, so that it can become the next segment.
    /// Returns false, and changes nothing, on a disk where a new file is as good. The caller has
    /// checked that an appender runs.
    fn spare(&self, _segment: &str, _spare: &str) -> io::Result<bool> {
        Ok(false)
    }

    /// Makes a file of `bytes` zeros of a spare one, as [`create`](Self::create) does. `None` if
    /// there is none, or if a process still has it open: then it is removed.
    fn reuse(&self, _spare: &str, _name: &str, _bytes: u64) -> Option<Self::Writable> {
        None
    }

    /// Removes a spare file, if there is one.
    fn discard(&self, _spare: &str) {}

    /// Maps an existing file for writing; sets its length and reserves its space again.
    fn open(&self, name: &str, bytes: u64) -> io::Result<Self::Writable>;

    /// Maps an existing file for reading.
    fn view(&self, name: &str) -> io::Result<Self::Readable>;

    /// Reads a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Creates a file of these bytes. The bytes are on disk when this returns, but the name might
    /// not be.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Renames a file.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Truncates a file to this length.
    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()>;

    /// Stores one word of a file, which other processes can have mapped.
    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()>;

    /// Waits until a file is on disk.
    fn sync(&self, name: &str) -> io::Result<()>;

    /// Waits until all names in the folder are on disk.
    fn sync_names(&self) -> io::Result<()>;

    /// Bytes of free space.
    fn free_bytes(&self) -> u64;

    /// A number that is different after each start of the kernel.
    fn boot(&self) -> u64;

    /// Where other processes find the folder, and in it the file of this name. On a disk with one
    /// process no other one moves them.
    fn whereabouts(&self, _name: &str, _file: &Self::Writable) -> Whereabouts {
        Whereabouts::InPlace
    }
}

/// Where other processes find an open file of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whereabouts {
    /// Under its name in the folder, which is at its path. Also if that cannot be found out.
    InPlace,
    /// Under its name in the folder, which has this path now.
    Moved(PathBuf),
    /// Nowhere: the name is gone, or belongs to another file, or the file was truncated.
    Gone,
}

/// An entry of the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// How the space of a new file is allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preallocation {
    /// The space is reserved. The first sync of each part also writes metadata.
    Reserved,
    /// The file is written with zeros and synced: more work now, less at each sync.
    Written,
}

/// A file mapped for writing.
pub trait WritableFile: fmt::Debug + Send + Sync + 'static {
    /// All words of the file.
    fn words(&self) -> &[Word];

    /// Brings pages into memory, so that stores to them take no page fault. Only a hint.
    fn touch(&self, _words: Range<usize>) {}

    /// Begins to bring pages into memory, without waiting. Only a hint.
    fn expect(&self, _words: Range<usize>) {}

    /// Waits until words are on disk.
    fn sync(&self, words: Range<usize>) -> io::Result<()>;
}

/// A file mapped for reading.
pub trait ReadableFile: fmt::Debug + Send + Sync + 'static {
    /// All whole words of the file.
    fn words(&self) -> &[ReadWord];

    /// Brings pages into memory. Only a hint.
    fn touch(&self, _words: Range<usize>) {}

    /// Whether the file is known to be truncated below the mapped length.
    fn is_lost(&self) -> bool;

    /// Whether the name still belongs to this file.
    fn is_at(&self, name: &str) -> bool;
}
