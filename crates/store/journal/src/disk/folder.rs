//! The disk of real journals: a folder of mapped files.

use std::{
    borrow::Cow,
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Write as _},
    ops::Range,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd},
        unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use nanotape_shm::{
    LargePages, OwnedRegion, Owner, OwnerState, ReadWord, ReadableWords, Refusal, RegionError,
    RegionOptions, RegionSpec, Word, WritableWords, checksum_bytes, forget, free_bytes,
    is_in_memory, is_open_once, reserve, reserve_in_large_pages, shrink, store_in_file,
    write_zeros,
};
use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmodat, fchmod, fstat, mkdirat, openat,
        renameat, statat, syncfs, unlinkat,
    },
    io::{Errno, retry_on_intr},
};

use super::{Disk, FileLock, Listed, Preallocation, ReadableFile, Whereabouts, WritableFile};
use crate::{
    beside,
    companion::{APPENDER, QUARANTINE, UPKEEP},
};

/// The kind of the region that states which process appends.
pub const APPENDER_KIND: [u8; 8] = *b"JOURNAL ";

/// Changes whenever the meaning of the region `appender` changes.
pub const APPENDER_LAYOUT: u64 = u64::from_be_bytes(*b"appender");

/// The kind of the region that states which process compresses, prunes or repairs.
pub const UPKEEP_KIND: [u8; 8] = *b"UPKEEP  ";

/// Changes whenever the meaning of the region `upkeep` changes.
pub const UPKEEP_LAYOUT: u64 = u64::from_be_bytes(*b"upkeep 1");

/// Only for the owner, until the file has its final mode.
const FIRST_MODE: Mode = Mode::from_raw_mode(0o600);
const FIRST_FOLDER_MODE: Mode = Mode::from_raw_mode(0o700);

/// Attempts to open a file whose name moves to another file meanwhile.
pub(super) const ATTEMPTS: usize = 16;

/// A folder of the file system.
///
/// Names are resolved from its absolute path, which does not change when the process changes its
/// directory. After [`make`](Disk::make) they are resolved in the open folder, which stays the same
/// even if it is renamed: a file that is not found there does not exist.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The path as given, for messages.
    path: PathBuf,
    absolute: PathBuf,
    /// The open folder, once it was created or found.
    opened: Arc<OnceLock<File>>,
    /// Permission bits of new files; a folder is searchable for users that can read its files.
    mode: u32,
    /// Whether to request large pages for new segments, and what is known about them.
    large_pages: Option<Arc<LargePages>>,
}

impl Folder {
    /// A folder, existing or not; new files get these permission bits.
    pub fn new(path: &Path, mode: u32) -> Self {
        // Fails for an empty path and without a current directory: then each operation returns the
        // error.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let opened = Arc::default();
        Self { path: path.to_owned(), absolute, opened, mode: mode & 0o777, large_pages: None }
    }

    /// The same, with large pages requested for new segments.
    #[must_use]
    pub fn with_large_pages(self) -> Self {
        Self { large_pages: Some(Arc::default()), ..self }
    }

    /// Locks the journal for compression, pruning or repair.
    pub(crate) fn lock_upkeep(&self) -> Result<OwnedRegion, RegionError> {
        self.own(UPKEEP, UPKEEP_KIND, UPKEEP_LAYOUT)
    }

    /// An error if a process compresses, prunes or repairs the journal. Writes nothing.
    pub(crate) fn check_no_upkeep(&self) -> Result<(), RegionError> {
        self.check_unowned(UPKEEP)
    }

    /// An error if a region has an owner.
    fn check_unowned(&self, name: &str) -> Result<(), RegionError> {
        let path = self.absolute.join(name);
        let owner = match nanotape_shm::inspect(&path) {
            Err(error) if *error.refusal() == Refusal::NotFound => None,
            found => found?.owner(),
        };
        match owner {
            Some(Owner { pid, started, state: OwnerState::Alive, .. }) => {
                Err(RegionError::new(&path, Refusal::OwnerAlive { pid, started }))
            }
            _ => Ok(()),
        }
    }

    /// Takes ownership of a region that only states an owner and stores no data.
    fn own(&self, name: &str, kind: [u8; 8], layout: u64) -> Result<OwnedRegion, RegionError> {
        let spec = RegionSpec { kind, layout, parameters: [0; 4], words: 1 };
        let options = RegionOptions { mode: self.mode, ..RegionOptions::default() };
        own_region(&self.absolute.join(name), spec, &options)
    }

    /// Runs an operation on a name: in the open folder, or from the absolute path.
    fn at<T>(
        &self,
        name: &str,
        operation: impl Fn(BorrowedFd<'_>, &Path) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let (folder, path) = match self.opened.get() {
            Some(folder) if name.is_empty() => (folder.as_fd(), Cow::Borrowed(Path::new("."))),
            Some(folder) => (folder.as_fd(), Cow::Borrowed(Path::new(name))),
            None if name.is_empty() => (CWD, Cow::Borrowed(self.absolute.as_path())),
            None => (CWD, Cow::Owned(self.absolute.join(name))),
        };
        Ok(retry_on_intr(|| operation(folder, &path))?)
    }

    pub(super) fn open_file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // A pipe under a name of the journal would wait for its other end.
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = self.at(name, |folder, path| openat(folder, path, flags, FIRST_MODE))?;
        let file = File::from(opened);
        let kind = file.metadata()?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Err(beside::not_a_file());
        }
        Ok(file)
    }

    /// Opens a file that has this name after it is open. Otherwise a file that was renamed
    /// meanwhile could become another segment unnoticed: see [`is_open_once`].
    fn open_named(&self, name: &str, flags: OFlags) -> io::Result<File> {
        for _ in 0..ATTEMPTS {
            let file = self.open_file(name, flags)?;
            if self.is_named(&file, name) {
                return Ok(file);
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Whether the name belongs to this file.
    fn is_named(&self, file: &File, name: &str) -> bool {
        self.stat(name, AtFlags::empty()).is_ok_and(|there| is_same(&there, file))
    }

    fn open_folder(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn stat(&self, name: &str, flags: AtFlags) -> io::Result<Stat> {
        self.at(name, |folder, path| statat(folder, path, flags))
    }

    /// Creates a folder with its exact mode, whatever the umask, or finds it.
    pub(super) fn make_folder(&self, name: &str) -> io::Result<()> {
        match self.at(name, |folder, path| mkdirat(folder, path, FIRST_FOLDER_MODE)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = FileType::from_raw_mode(self.stat(name, AtFlags::empty())?.st_mode);
                return if found.is_dir() { Ok(()) } else { Err(error) };
            }
            Err(error) => return Err(error),
        }
        let search = self.mode & 0o444;
        // Keep the bits that are inherited from its parent, such as set-group-ID.
        let of_parent = self.stat(name, AtFlags::empty())?.st_mode & 0o7000;
        let mode = Mode::from_raw_mode(of_parent | self.mode | search >> 2 | 0o100);
        self.at(name, |folder, path| chmodat(folder, path, mode, AtFlags::empty()))
    }

    /// Creates the folder that contains a name.
    fn make_folder_of(&self, name: &str) -> io::Result<()> {
        match name.split_once('/') {
            Some((folder, _)) => self.make_folder(folder),
            None => Ok(()),
        }
    }

    /// Creates a file with its exact mode, whatever the umask. `how`: the access.
    pub(super) fn create_new(&self, name: &str, how: OFlags) -> io::Result<File> {
        self.make_folder_of(name)?;
        let file = self.open_file(name, how | OFlags::CREATE | OFlags::EXCL)?;
        if let Err(errno) = fchmod(&file, Mode::from_raw_mode(self.mode)) {
            let _ = self.remove_file(name);
            return Err(errno.into());
        }
        Ok(file)
    }

    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        self.at(name, |folder, path| unlinkat(folder, path, AtFlags::empty()))
    }

    pub(super) fn absolute(&self) -> &Path {
        &self.absolute
    }

    fn writable(&self, file: File, bytes: u64) -> io::Result<MappedFile<WritableWords>> {
        let words = usize::try_from(bytes / 8).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mapped = WritableWords::map(&file, words)?;
        Ok(MappedFile { mapped, file, folder: self.clone() })
    }
}

impl Disk for Folder {
    type Writable = MappedFile<WritableWords>;
    type Readable = MappedFile<ReadableWords>;
    type Lock = OwnedRegion;

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    fn make(&self) -> io::Result<()> {
        if let Some(folder) = self.opened.get() {
            let is_removed = folder.metadata()?.nlink() == 0;
            return if is_removed { Err(Errno::NOENT.into()) } else { Ok(()) };
        }
        self.make_folder("")?;
        let opened = self.open_folder("")?;
        let _ = self.opened.set(opened);
        Ok(())
    }

    fn sync_parent(&self) -> io::Result<()> {
        match self.open_folder("..") {
            Ok(parent) => parent.sync_all(),
            // A process that cannot list the parent folder cannot sync it alone.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(syncfs(self.open_folder("")?)?)
            }
            Err(error) => Err(error),
        }
    }

    fn list(&self) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in Dir::read_from(self.open_folder("")?)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let Some(name) = name.to_str().filter(|name| !matches!(*name, "." | "..")) else {
                continue;
            };
            let bytes = match self.stat(name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => u64::try_from(found.st_size).unwrap_or(0),
                // Removed since the folder was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            listed.push(Listed { name: name.to_owned(), bytes });
        }
        Ok(listed)
    }

    fn appender(&self) -> Option<Owner> {
        nanotape_shm::inspect(&self.absolute.join(APPENDER)).ok()?.owner()
    }

    fn lock(&self) -> Result<OwnedRegion, RegionError> {
        let lock = self.own(APPENDER, APPENDER_KIND, APPENDER_LAYOUT)?;
        // While there is space: pruning needs the file, and is what helps when there is none.
        if self.stat(UPKEEP, AtFlags::SYMLINK_NOFOLLOW).is_err() {
            let _ = self.lock_upkeep();
        }
        Ok(lock)
    }

    fn exclude_upkeep(&self) -> Result<Option<OwnedRegion>, RegionError> {
        self.lock_upkeep().map(Some)
    }

    fn check_unlocked(&self) -> Result<(), RegionError> {
        self.check_unowned(APPENDER)
    }

    fn lock_file(&self, name: &str) -> io::Result<Option<FileLock>> {
        FileLock::of(self.open_file(name, OFlags::RDONLY)?)
    }

    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<Self::Writable> {
        let file = self.create_new(name, OFlags::RDWR)?;
        let prepare = || {
            match &self.large_pages {
                Some(large) => reserve_in_large_pages(&file, bytes, large)?,
                None => reserve(&file, bytes)?,
            }
            if space == Preallocation::Written {
                write_zeros(&file, 0..bytes)?;
                file.sync_data()?;
                forget(&file)?;
            }
            Ok(())
        };
        if let Err(error) = prepare() {
            // Free its space: the disk is full.
            let _ = self.remove(name);
            return Err(error);
        }
        self.writable(file, bytes)
    }

    fn spare(&self, segment: &str, spare: &str) -> io::Result<bool> {
        // On a disk the old content would have to be read or written first, and could return after
        // a loss of power.
        Ok(is_in_memory(&self.open_folder("")?) && self.rename(segment, spare).map(|()| true)?)
    }

    fn reuse(&self, spare: &str, name: &str, bytes: u64) -> Option<Self::Writable> {
        let file = self.open_file(spare, OFlags::RDWR | OFlags::NOFOLLOW).ok()?;
        let reused = self.rename(spare, name).and_then(|()| {
            // No process opens it by the name of its segment any more. A hard link is a copy to
            // keep.
            if !is_open_once(&file)? || file.metadata()?.nlink() > 1 {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            fchmod(&file, Mode::from_raw_mode(self.mode))?;
            if file.metadata()?.len() > bytes {
                shrink(&file, bytes)?;
            }
            reserve(&file, bytes)?;
            let file = self.writable(file, bytes)?;
            file.touch(0..file.words().len());
            file.words().iter().for_each(|word| word.store(0));
            Ok(file)
        });
        if reused.is_err() {
            // Under either name; a new file takes its place.
            let _ = self.remove(name);
            self.discard(spare);
        }
        reused.ok()
    }

    fn discard(&self, spare: &str) {
        let _ = self.remove(spare);
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<Self::Writable> {
        let file = self.open_named(name, OFlags::RDWR)?;
        // A copied file can have holes instead of zeros.
        reserve(&file, bytes)?;
        self.writable(file, bytes)
    }

    fn view(&self, name: &str) -> io::Result<Self::Readable> {
        let file = self.open_named(name, OFlags::RDONLY)?;
        loop {
            let bytes = file.metadata()?.len();
            let words = usize::try_from(bytes / 8).map_err(|_| io::ErrorKind::OutOfMemory)?;
            match ReadableWords::map(&file, words) {
                Ok(mapped) => return Ok(MappedFile { mapped, file, folder: self.clone() }),
                // Its unused end was freed between the two reads of its length.
                Err(error)
                    if error.kind() == io::ErrorKind::UnexpectedEof
                        && file.metadata()?.len() != bytes => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut file = self.open_file(name, OFlags::RDONLY)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.create_new(name, OFlags::RDWR)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        if written.is_err() {
            let _ = self.remove(name);
        }
        written
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.make_folder_of(to)?;
        self.at(from, |folder, from| match self.opened.get() {
            Some(_) => renameat(folder, from, folder, to),
            None => renameat(folder, from, CWD, self.absolute.join(to)),
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.remove_file(name)
    }

    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()> {
        shrink(&self.open_named(name, OFlags::WRONLY)?, bytes)
    }

    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()> {
        store_in_file(&self.open_named(name, OFlags::WRONLY)?, word, value)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.open_file(name, OFlags::RDONLY)?.sync_data()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.open_folder("")?.sync_all()?;
        match self.open_folder(QUARANTINE) {
            Ok(cut) => cut.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn free_bytes(&self) -> u64 {
        self.open_folder("").map_or(0, |folder| free_bytes(&folder))
    }

    fn boot(&self) -> u64 {
        // If the kernel does not provide it, every appender assumes that the machine was restarted.
        let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let half = |seed| u64::from(checksum_bytes(seed, &id));
        if id.is_empty() { 0 } else { (half(0) << 32 | half(1)).max(1) }
    }

    fn whereabouts(&self, name: &str, file: &Self::Writable) -> Whereabouts {
        let Some(folder) = self.opened.get() else { return Whereabouts::InPlace };
        match self.stat(name, AtFlags::empty()) {
            Ok(there) if is_same(&there, &file.file) && is_whole(&there, file) => {}
            Ok(_) => return Whereabouts::Gone,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Whereabouts::Gone,
            Err(_) => return Whereabouts::InPlace,
        }
        let there = statat(CWD, &self.absolute, AtFlags::empty());
        let is_moved = match &there {
            Ok(there) => !is_same(there, folder),
            Err(errno) => matches!(*errno, Errno::NOENT | Errno::NOTDIR),
        };
        if !is_moved {
            return Whereabouts::InPlace;
        }
        let now_at = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Whereabouts::Moved(now_at.unwrap_or_default())
    }
}

/// Whether a file has all the bytes that are mapped.
fn is_whole(there: &Stat, file: &impl WritableFile) -> bool {
    u64::try_from(there.st_size).is_ok_and(|bytes| bytes >= size_of_val(file.words()) as u64)
}

/// Whether an open file is the one that was found.
fn is_same(there: &Stat, file: &File) -> bool {
    fstat(file).is_ok_and(|own| (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino))
}

/// Takes ownership of a region without data that must survive a loss of power: a region damaged by
/// one is replaced, and so is one of another version.
pub(crate) fn own_region(
    path: &Path,
    spec: RegionSpec,
    options: &RegionOptions,
) -> Result<OwnedRegion, RegionError> {
    let region = match OwnedRegion::create(path, spec, options, |_| ()) {
        Err(error) if is_zeros(&error) => OwnedRegion::replace_zeros(path, spec, options, |_| ()),
        Err(error) if is_of_another_version(error.refusal()) => {
            OwnedRegion::replace(path, spec, options, |_| ()).map_err(|_| error)
        }
        outcome => outcome,
    };
    region.map(|(region, _)| region)
}

fn is_zeros(error: &RegionError) -> bool {
    matches!(error.refusal(), Refusal::NotARegion { found: [0, 0, 0, 0, 0, 0, 0, 0], .. })
}

/// A region without an owner that has another version or is damaged.
pub(crate) fn is_of_another_version(refusal: &Refusal) -> bool {
    use Refusal as R;
    matches!(
        refusal,
        R::Contradiction { .. } | R::TooSmall { .. } | R::Parameters { .. } | R::Layout { .. }
    )
}

/// A mapping and its file.
#[derive(Debug)]
pub struct MappedFile<M> {
    mapped: M,
    file: File,
    folder: Folder,
}

impl WritableFile for MappedFile<WritableWords> {
    #[inline(always)]
    fn words(&self) -> &[Word] {
        self.mapped.words()
    }

    fn touch(&self, words: Range<usize>) {
        self.mapped.touch(words);
    }

    fn expect(&self, words: Range<usize>) {
        self.mapped.expect(words);
    }

    fn sync(&self, words: Range<usize>) -> io::Result<()> {
        self.mapped.sync(words)
    }
}

impl ReadableFile for MappedFile<ReadableWords> {
    #[inline(always)]
    fn words(&self) -> &[ReadWord] {
        self.mapped.words()
    }

    fn touch(&self, words: Range<usize>) {
        self.mapped.touch(words);
    }

    fn is_lost(&self) -> bool {
        self.mapped.is_lost()
    }

    fn is_at(&self, name: &str) -> bool {
        self.folder.is_named(&self.file, name)
    }
}
