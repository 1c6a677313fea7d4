//! What a journal asks of a disk: all of it goes through here.
//!
//! Where: [`Folder`] is the real one. Tests use a simulated disk, which forgets unsynced data,
//! tears writes and fails on request.

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

/// The name of the file that says who appends.
pub(crate) const APPENDER: &str = "appender";

/// The name of the file that says who compresses, prunes or repairs.
pub(crate) const UPKEEP: &str = "upkeep";

/// A folder of files on some disk. Names have no slash, but for those in folders that the journal
/// has: `cut/NAME`, which is made when it is needed.
pub trait Disk: Clone + fmt::Debug + Send + Sync + 'static {
    /// A file mapped to be written.
    type Writable: WritableFile;
    /// A file mapped to be read.
    type Readable: ReadableFile;
    /// Held by the one who may append, as long as the value lives.
    type Lock: fmt::Debug + Send;

    /// What a name is called in messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Makes the folder if it is not there. From now on names are names in this folder, wherever it
    /// is moved to.
    fn make(&self) -> io::Result<()>;

    /// Waits until the folder's own name is on the disk.
    fn sync_parent(&self) -> io::Result<()> {
        Ok(())
    }

    /// Everything in the folder itself.
    fn list(&self) -> io::Result<Vec<Listed>>;

    /// The process that may append, or that could last. `None` where no process ever could, and on
    /// a disk with one process.
    fn appender(&self) -> Option<Owner> {
        None
    }

    /// Becomes the one who may append.
    fn lock(&self) -> Result<Self::Lock, RegionError>;

    /// Locks a file for the one who writes it, whatever becomes of its name; nothing where another
    /// one has it locked. A disk with one process needs no locks.
    fn lock_file(&self, _name: &str) -> io::Result<Option<FileLock>> {
        Ok(Some(FileLock::default()))
    }

    /// A new file of so many zeros, all of whose room is reserved, mapped. It is an error if the
    /// name is there.
    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<Self::Writable>;

    /// Maps a file that is there to be written, and gives it this length and all its room again.
    fn open(&self, name: &str, bytes: u64) -> io::Result<Self::Writable>;

    /// Maps a file that is there to be read.
    fn view(&self, name: &str) -> io::Result<Self::Readable>;

    /// Reads a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// A new file of these bytes, on the disk when this returns but for its name.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Gives a file another name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Cuts a file to this length.
    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()>;

    /// Stores one word of a file, beside whoever has it mapped.
    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()>;

    /// Waits until a file is on the disk.
    fn sync(&self, name: &str) -> io::Result<()>;

    /// Waits until all names in the folder are on the disk.
    fn sync_names(&self) -> io::Result<()>;

    /// What there is room for.
    fn free_bytes(&self) -> u64;

    /// A number that another start of the kernel does not have.
    fn boot(&self) -> u64;
}

/// A file in a list.
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
    /// It is reserved. To sync what is stored there the first time, the disk must note that it is
    /// used.
    Reserved,
    /// It is written full of zeros and synced: more work now, and less at each sync.
    Written,
}

/// A file mapped to be written.
pub trait WritableFile: fmt::Debug + Send + Sync + 'static {
    /// All of it.
    fn words(&self) -> &[Word];

    /// Brings pages in, so that storing to them takes no page fault. Only a hint.
    fn touch(&self, _words: Range<usize>) {}

    /// Begins to bring pages in, and does not wait for them. Only a hint.
    fn expect(&self, _words: Range<usize>) {}

    /// Waits until words are on the disk.
    fn sync(&self, words: Range<usize>) -> io::Result<()>;
}

/// A file mapped to be read.
pub trait ReadableFile: fmt::Debug + Send + Sync + 'static {
    /// All of it: whole words only.
    fn words(&self) -> &[ReadWord];

    /// Brings pages in. Only a hint.
    fn touch(&self, _words: Range<usize>) {}

    /// Whether the file was cut below what is mapped, as far as that is known.
    fn is_lost(&self) -> bool;

    /// Whether this is still the file that has the name.
    fn is_at(&self, name: &str) -> bool;
}
