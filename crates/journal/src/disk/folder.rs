//! The disk that journals are on: a folder of files, mapped.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    ops::Range,
    os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use nanotape_shm::{
    LargePages, OwnedRegion, ReadWord, ReadableWords, Refusal, RegionError, RegionOptions,
    RegionSpec, Word, WritableWords, checksum_bytes, forget, free_bytes, reserve,
    reserve_in_large_pages, shrink, write_zeros,
};

use super::{APPENDER, Disk, Listed, ReadableFile, Room, UPKEEP, WritableFile};

/// The region that says who appends.
pub const APPENDER_KIND: [u8; 8] = *b"JOURNAL ";

/// Changes whenever the meaning of the region `appender` does.
pub const APPENDER_LAYOUT: u64 = u64::from_be_bytes(*b"appender");

/// The region that says who compresses, prunes or repairs.
pub const UPKEEP_KIND: [u8; 8] = *b"UPKEEP  ";

/// Changes whenever the meaning of the region `upkeep` does.
pub const UPKEEP_LAYOUT: u64 = u64::from_be_bytes(*b"upkeep 1");

/// A folder of the file system.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Permission bits of new files; a folder can be searched by whom its files can be read by.
    mode: u32,
    /// Whether new segments are asked for in large pages, and what is known of that.
    large_pages: Option<Arc<LargePages>>,
}

impl Folder {
    /// A folder, there or not; what is made in it has these permission bits.
    pub fn new(path: &Path, mode: u32) -> Self {
        Self { path: path.to_owned(), mode: mode & 0o777, large_pages: None }
    }

    /// The same, where new segments are asked for in large pages.
    #[must_use]
    pub fn with_large_pages(self) -> Self {
        Self { large_pages: Some(Arc::default()), ..self }
    }

    /// Becomes the one who may compress, prune or repair.
    pub(crate) fn lock_upkeep(&self) -> Result<OwnedRegion, RegionError> {
        self.own(UPKEEP, UPKEEP_KIND, UPKEEP_LAYOUT)
    }

    /// Becomes the owner of a region that says who does something, and holds nothing of value.
    fn own(&self, name: &str, kind: [u8; 8], layout: u64) -> Result<OwnedRegion, RegionError> {
        let spec = RegionSpec { kind, layout, parameters: [0; 4], words: 1 };
        let options = RegionOptions { mode: self.mode, ..RegionOptions::default() };
        own_region(&self.path(name), spec, &options)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let search = self.mode & 0o444;
        let mode = self.mode | search >> 2 | 0o100;
        match DirBuilder::new().mode(mode).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            outcome => outcome,
        }
    }

    fn create_new(&self, name: &str) -> io::Result<File> {
        if let Some((folder, _)) = name.split_once('/') {
            self.make_folder(&self.path.join(folder))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(self.mode);
        options.open(self.path(name))
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
        self.make_folder(&self.path)
    }

    fn list(&self) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let bytes = match entry.metadata() {
                Ok(metadata) => metadata.len(),
                // Removed since the folder was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if let Ok(name) = entry.file_name().into_string() {
                listed.push(Listed { name, bytes });
            }
        }
        Ok(listed)
    }

    fn lock(&self) -> Result<OwnedRegion, RegionError> {
        self.own(APPENDER, APPENDER_KIND, APPENDER_LAYOUT)
    }

    fn create(&self, name: &str, bytes: u64, room: Room) -> io::Result<Self::Writable> {
        let file = self.create_new(name)?;
        let prepare = || {
            match &self.large_pages {
                Some(large) => reserve_in_large_pages(&file, bytes, large)?,
                None => reserve(&file, bytes)?,
            }
            if room == Room::Written {
                write_zeros(&file, 0..bytes)?;
                file.sync_data()?;
                forget(&file)?;
            }
            Ok(())
        };
        if let Err(error) = prepare() {
            // The room it took is needed, now more than ever.
            let _ = fs::remove_file(self.path(name));
            return Err(error);
        }
        self.writable(file, bytes)
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<Self::Writable> {
        let file = OpenOptions::new().read(true).write(true).open(self.path(name))?;
        // A file that was copied may have holes where there were zeros.
        reserve(&file, bytes)?;
        self.writable(file, bytes)
    }

    fn view(&self, name: &str) -> io::Result<Self::Readable> {
        let file = File::open(self.path(name))?;
        loop {
            let bytes = file.metadata()?.len();
            let words = usize::try_from(bytes / 8).map_err(|_| io::ErrorKind::OutOfMemory)?;
            match ReadableWords::map(&file, words) {
                Ok(mapped) => return Ok(MappedFile { mapped, file, folder: self.clone() }),
                // Its unused end was given back between the two looks at its length.
                Err(error)
                    if error.kind() == io::ErrorKind::UnexpectedEof
                        && file.metadata()?.len() != bytes => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(name))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.create_new(name)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        if written.is_err() {
            let _ = fs::remove_file(self.path(name));
        }
        written
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if let Some((folder, _)) = to.split_once('/') {
            self.make_folder(&self.path.join(folder))?;
        }
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()> {
        shrink(&OpenOptions::new().write(true).open(self.path(name))?, bytes)
    }

    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(name))?;
        file.write_all_at(&value.to_ne_bytes(), word as u64 * 8)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        File::open(self.path(name))?.sync_data()
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()?;
        match File::open(self.path("cut")) {
            Ok(cut) => cut.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn free_bytes(&self) -> u64 {
        File::open(&self.path).map_or(0, |folder| free_bytes(&folder))
    }

    fn boot(&self) -> u64 {
        // Where the kernel does not say it, every appender takes the machine for one that just started.
        let id = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let half = |seed| u64::from(checksum_bytes(seed, &id));
        if id.is_empty() { 0 } else { (half(0) << 32 | half(1)).max(1) }
    }
}

/// Becomes the owner of a region in which nothing is that may not be lost with the power: what that made of
/// it is replaced, and so is one of another version.
pub(crate) fn own_region(
    path: &Path,
    spec: RegionSpec,
    options: &RegionOptions,
) -> Result<OwnedRegion, RegionError> {
    let region = match OwnedRegion::create(path, spec, options, |_| ()) {
        Err(error) if is_zeros(&error) => {
            let _ = fs::remove_file(path);
            OwnedRegion::create(path, spec, options, |_| ())
        }
        Err(error) if is_of_another_kind(&error) => {
            OwnedRegion::replace(path, spec, options, |_| ()).map_err(|_| error)
        }
        outcome => outcome,
    };
    region.map(|(region, _)| region)
}

fn is_zeros(error: &RegionError) -> bool {
    matches!(error.refusal(), Refusal::NotARegion { found: [0, 0, 0, 0, 0, 0, 0, 0], .. })
}

/// A region that nobody owns, of another version or damaged: nothing of value is in it.
fn is_of_another_kind(error: &RegionError) -> bool {
    use Refusal as R;
    matches!(
        error.refusal(),
        R::Contradiction { .. } | R::TooSmall { .. } | R::Parameters { .. } | R::Layout { .. }
    )
}

/// A mapping, and the file under it.
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
        let same = |there: fs::Metadata| {
            let own = self.file.metadata()?;
            io::Result::Ok((there.dev(), there.ino()) == (own.dev(), own.ino()))
        };
        fs::metadata(self.folder.path(name)).and_then(same).unwrap_or(false)
    }
}
