//! Named tailers: the journal stores their positions, and every process can list them.
//!
//! Layout: the region `tailers/NAME` of kind `TAILER `, see `docs/formats/journal.md`. One process
//! at a time owns the name; the name of a dead process can be taken over at once.
//! Meaning: at least once. Reading moves no stored position; [`done`](NamedTailer::done) stores
//! that everything returned so far is handled. The next reader of the name begins after the last
//! `done`: it reads again what a killed process, or a dropped tailer, had read since then.
//! Failure: the position survives the process. A loss of power can move it back, unless
//! [`sync`](NamedTailer::sync) was called. A damaged region is an error: its position is lost. The
//! position has a checksum, so damage does not become another position.

mod position;

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use nanotape_shm::{
    HEADER_BYTES, OwnedRegion, Owner, ReadWord, Refusal, RegionError, RegionInfo, RegionOptions,
    RegionSpec, SharedRegion, Word, as_read_only, inspect,
};

use crate::{
    Bookmark, ErrorKind, JournalError, Resumed, Start, Tail, Tailer,
    appender::prepare::now_ns,
    companion::TAILERS,
    disk::{is_of_another_version, own_region},
    segment::excerpt::MAX_SEQUENCE,
};
use position::{MOVED, POSITION, READ, SLOTS, StoredPosition, WORDS, WrongPosition};

/// The kind of a named tailer's region.
pub const TAILER_KIND: [u8; 8] = *b"TAILER  ";

/// Changes whenever the meaning of any of its words changes.
pub const TAILER_LAYOUT: u64 = u64::from_be_bytes(*b"tailer 3");

/// The layouts in earlier versions of this crate, without checksums: position, time and count; in
/// the second one also the incarnation. With their number of words.
const EARLIER: [(u64, usize); 2] =
    [(u64::from_be_bytes(*b"tailer 1"), 3), (u64::from_be_bytes(*b"tailer 2"), 6)];

/// Offset after the region's header, size and name of each of its words.
pub const TAILER_FIELDS: [(usize, usize, &str); 11] = [
    (POSITION * 8, 8, "position"),
    (MOVED * 8, 8, "moved_ns"),
    (READ * 8, 8, "read"),
    (SLOTS * 8, 8, "journal_0"),
    (SLOTS * 8 + 8, 8, "incarnation_0"),
    (SLOTS * 8 + 16, 8, "incarnation_from_0"),
    (SLOTS * 8 + 24, 8, "check_0"),
    (SLOTS * 8 + 32, 8, "journal_1"),
    (SLOTS * 8 + 40, 8, "incarnation_1"),
    (SLOTS * 8 + 48, 8, "incarnation_from_1"),
    (SLOTS * 8 + 56, 8, "check_1"),
];

const SPEC: RegionSpec =
    RegionSpec { kind: TAILER_KIND, layout: TAILER_LAYOUT, parameters: [0; 4], words: WORDS };

/// Handled excerpts between two reads of the clock.
const READS_PER_TIME: u64 = 256;

/// A tailer whose position is stored in the journal, for delivery at least once.
///
/// [`next`](Self::next) reads, and [`done`](Self::done) stores the position. Call `done` after the
/// excerpts were handled: written and flushed, or stored elsewhere. One call covers everything that
/// was read before it, so a batch needs one call. Dropping the tailer stores nothing: excerpts that
/// were read after the last `done` are read again by the next reader of the name, and pruning keeps
/// them until then.
///
/// ```no_run
/// # fn handle(_: &nanotape_journal::Excerpt<'_>) -> std::io::Result<()> { Ok(()) }
/// # fn read() -> Result<(), Box<dyn std::error::Error>> {
/// use nanotape_journal::{NamedTailer, Start, Tail};
///
/// let (mut tailer, _) = NamedTailer::open("quotes".as_ref(), "audit", Start::Oldest)?;
/// while let Tail::Excerpt(excerpt) = tailer.next()? {
///     handle(&excerpt)?;
///     tailer.done();
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NamedTailer {
    tailer: Tailer,
    region: OwnedRegion,
    /// Excerpts handled under this name, by all of its processes.
    read: u64,
    /// Excerpts that were read after the last call of `done`.
    pending: u64,
    position: StoredPosition,
}

impl NamedTailer {
    /// Opens a journal to read it under a name. Reading continues at the stored position of the
    /// name, or begins at `start` if there is none. It is an error if another process has the name.
    pub fn open(path: &Path, name: &str, start: Start) -> Result<(Self, Resumed), JournalError> {
        let place = place_of(path, name)?;
        // Before anything is created in a folder that is not a journal.
        let mut tailer = Tailer::open(path, Start::Oldest)?;
        make_folder(&path.join(TAILERS))?;
        let region = own(&place)?;
        let words = as_read_only(region.words());
        let stored = position::load(words).map_err(|wrong| of_refusal(&place, wrong.refusal()))?;
        let resumed = match &stored {
            // A stored position of 0 is the beginning of a journal that had no excerpt yet.
            Some(stored) => tailer.resume(stored)?,
            None => {
                tailer.seek(start)?;
                Resumed::New
            }
        };
        let read = words[READ].load();
        let position = StoredPosition::after(words, stored);
        let mut named = Self { tailer, region, read, pending: 0, position };
        named.save();
        named.store_time();
        if resumed == Resumed::New {
            named.sync()?;
        }
        Ok((named, resumed))
    }

    /// As [`Tailer::next`]. The stored position stays where it is until [`done`](Self::done).
    #[expect(clippy::should_implement_trait, reason = "an excerpt borrows its tailer")]
    #[inline]
    pub fn next(&mut self) -> Result<Tail<'_>, JournalError> {
        let tail = self.tailer.next()?;
        self.pending += u64::from(matches!(tail, Tail::Excerpt(_)));
        Ok(tail)
    }

    /// Stores that everything returned so far is handled: the next reader of this name begins after
    /// it.
    #[inline]
    pub fn done(&mut self) {
        let before = self.read;
        self.read += std::mem::take(&mut self.pending);
        self.save();
        if before / READS_PER_TIME != self.read / READS_PER_TIME {
            self.store_time();
        }
    }

    /// Moves to another position, under the same name. An earlier one is stored at once, so that
    /// pruning keeps it; a later one is stored by [`done`](Self::done), because what is between is
    /// not handled before.
    pub fn seek(&mut self, start: Start) -> Result<(), JournalError> {
        self.pending = 0;
        self.tailer.seek(start)?;
        if self.tailer.next_sequence() < self.next_sequence() {
            self.save();
        }
        self.store_time();
        Ok(())
    }

    /// The stored sequence number: the next reader of this name begins there.
    pub fn next_sequence(&self) -> u64 {
        as_read_only(self.region.words())[POSITION].load() & MAX_SEQUENCE
    }

    /// The number of excerpts that were handled under this name. One that was handled twice counts
    /// twice.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// As [`Tailer::recheck`].
    pub fn recheck(&mut self) {
        self.tailer.recheck();
    }

    /// As [`Tailer::set_durable`].
    pub fn set_durable(&mut self, is_durable: bool) {
        self.tailer.set_durable(is_durable);
    }

    /// As [`Tailer::set_stops_at_end`].
    pub fn set_stops_at_end(&mut self, stops_at_end: bool) {
        self.tailer.set_stops_at_end(stops_at_end);
    }

    /// Waits until the position is on disk.
    pub fn sync(&self) -> Result<(), JournalError> {
        let Some(path) = self.region.path() else { return Ok(()) };
        let folder = path.parent().unwrap_or(path);
        let synced = File::open(path)
            .and_then(|file| file.sync_all())
            .and_then(|()| File::open(folder)?.sync_all());
        synced.map_err(JournalError::system(path, "sync"))
    }

    #[inline]
    fn save(&mut self) {
        let words: &[Word] = self.region.words();
        words[READ].store(self.read);
        self.position.store(words, self.tailer.bookmark());
    }

    #[cold]
    fn store_time(&self) {
        self.region.words()[MOVED].store(now_ns());
    }
}

/// Takes ownership of a tailer's region: a new one, one without an owner, or one of an earlier
/// version.
fn own(path: &Path) -> Result<OwnedRegion, JournalError> {
    if has_lost_its_header(path) {
        return Err(JournalError::new(path, ErrorKind::TailerLost(Refusal::HalfCreated)));
    }
    // Before a new owner is stored in it.
    if let Ok(region) = SharedRegion::open(path, TAILER_KIND) {
        position_of(&region).map_err(|refusal| of_refusal(path, refusal))?;
    }
    let options = RegionOptions::default();
    let created = match OwnedRegion::create(path, SPEC, &options, |_| ()) {
        // Its first owner did not return from `open`, which syncs it, so it had no position.
        Err(error) if is_of_zeros(&error) => own_region(path, SPEC, &options),
        Err(error) => match *error.refusal() {
            Refusal::Layout { found, .. } => from_earlier(path, found, &options),
            _ => Err(error),
        },
        outcome => outcome.map(|(region, _)| region),
    };
    created.map_err(|error| of_refusal(path, *error.refusal()))
}

/// The error of a named tailer whose region is refused.
pub(crate) fn of_refusal(path: &Path, refusal: Refusal) -> JournalError {
    if is_of_damage(&refusal) {
        return JournalError::new(path, ErrorKind::TailerLost(refusal));
    }
    RegionError::new(path, refusal).into()
}

/// Whether a file contains only zeros, as after a loss of power before its first sync.
fn is_of_zeros(error: &RegionError) -> bool {
    matches!(error.refusal(), Refusal::NotARegion { .. })
        && fs::read(error.path()).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0))
}

impl TailerInfo {
    /// Whether the stored position is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.refusal.as_ref().is_some_and(is_of_damage) || has_lost_its_header(&self.path)
    }
}

/// Whether the file exists but is no longer a valid region of a tailer.
fn is_of_damage(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NotARegion { .. } | Refusal::Kind { .. })
        || matches!(refusal, Refusal::Words { .. } | Refusal::Checksum { .. })
        || is_of_another_version(refusal)
}

/// Whether a file counts as one that its creator did not finish, but has a position. A new region
/// has none before it is finished.
fn has_lost_its_header(path: &Path) -> bool {
    let is_half = |region: &RegionInfo| region.refusal == Some(Refusal::HalfCreated);
    inspect(path).is_ok_and(|region| is_half(&region))
        && fs::read(path).is_ok_and(|bytes| {
            bytes.get(HEADER_BYTES..).is_some_and(|words| words.iter().any(|byte| *byte != 0))
        })
}

/// Replaces a region of an earlier version by one of this version with the same position. The name
/// always belongs to one of the two, so a process that is killed meanwhile loses no position.
fn from_earlier(
    path: &Path,
    layout: u64,
    options: &RegionOptions,
) -> Result<OwnedRegion, RegionError> {
    let refused = |refusal| RegionError::new(path, refusal);
    let unknown = Refusal::Layout { found: layout, expected: TAILER_LAYOUT };
    let of_layout = EARLIER.iter().find(|(earlier, _)| *earlier == layout);
    let (_, expected) = *of_layout.ok_or(refused(unknown))?;
    let (earlier, _) = OwnedRegion::take_over(path, TAILER_KIND, layout, options)?;
    let words = as_read_only(earlier.words());
    if words.len() != expected {
        let (found, expected) = (words.len() as u64, expected as u64);
        return Err(refused(Refusal::Words { found, expected }));
    }
    let place = earlier_bookmark(words).map_err(|wrong| refused(wrong.refusal()))?;
    let (moved, read) = (words[MOVED].load(), words[READ].load());
    // Not the name of a tailer.
    let temporary = path.with_file_name(format!(
        ".{}.new",
        path.file_name().and_then(OsStr::to_str).unwrap_or_default()
    ));
    let system = |operation| {
        move |error: io::Error| {
            let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
            refused(Refusal::System { operation, errno })
        }
    };
    let initialise = |words: &[Word]| {
        words[READ].store(read);
        words[MOVED].store(moved);
        position::store_first(words, &place);
    };
    let (made, _) = OwnedRegion::replace(&temporary, SPEC, options, initialise)?;
    drop(made);
    File::open(&temporary).and_then(|file| file.sync_all()).map_err(system("sync"))?;
    fs::rename(&temporary, path).map_err(system("rename"))?;
    drop(earlier);
    OwnedRegion::create(path, SPEC, options, |_| ()).map(|(region, _)| region)
}

/// The position in a region of an earlier version. Words that it does not have are unknown.
fn earlier_bookmark(words: &[ReadWord]) -> Result<Bookmark, WrongPosition> {
    let value = |word: usize| words.get(word).map_or(0, ReadWord::load);
    let [next_sequence, _, _, journal, incarnation, incarnation_from] = std::array::from_fn(value);
    if next_sequence > MAX_SEQUENCE + 1 {
        return Err(WrongPosition(next_sequence));
    }
    Ok(Bookmark { journal, incarnation, incarnation_from, next_sequence })
}

impl WrongPosition {
    fn refusal(self) -> Refusal {
        Refusal::Checksum { field: "position", found: self.0 }
    }
}

/// The state of a named tailer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TailerInfo {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The next excerpt to read; 0 if it has found none yet.
    pub next_sequence: u64,
    /// Its complete position, for [`Tailer::resume`].
    pub bookmark: Bookmark,
    /// The last time at which its position changed, in nanoseconds since the UNIX epoch.
    pub moved_ns: u64,
    /// The number of excerpts that were read under this name.
    pub read: u64,
    /// The process that has the name, or had it last; `None` if the file cannot be read.
    pub owner: Option<Owner>,
    /// Why the file cannot be read.
    pub refusal: Option<Refusal>,
}

/// The named tailers of a journal, sorted by name. One with a damaged file has a `refusal`.
pub fn tailers(path: &Path) -> Result<Vec<TailerInfo>, JournalError> {
    let mut tailers = Vec::new();
    for path in list_folder(&path.join(TAILERS))? {
        let name = path.file_name().and_then(OsStr::to_str).filter(|name| is_tailer_name(name));
        if let Some(name) = name.map(str::to_owned) {
            tailers.push(info(name, path));
        }
    }
    Ok(tailers)
}

/// The files in a folder of the journal, sorted by name; empty if the folder does not exist.
pub(crate) fn list_folder(folder: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()
    });
    let mut paths = match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(JournalError::system(folder, "list"))?,
    };
    paths.sort();
    Ok(paths)
}

fn info(name: String, path: PathBuf) -> TailerInfo {
    let mut info = TailerInfo { name, path, ..TailerInfo::default() };
    let known = inspect(&info.path).map(|region| (region.owner(), region.refusal));
    let opened = SharedRegion::open(&info.path, TAILER_KIND);
    match (known, opened) {
        (Ok((owner, _)), Ok(region)) => {
            info.owner = owner;
            match position_of(&region) {
                Ok(bookmark) => {
                    let words = region.words();
                    (info.moved_ns, info.read) = (words[MOVED].load(), words[READ].load());
                    (info.bookmark, info.next_sequence) = (bookmark, bookmark.next_sequence);
                }
                Err(refusal) => info.refusal = Some(refusal),
            }
        }
        (Err(error), _) | (_, Err(error)) => info.refusal = Some(*error.refusal()),
    }
    info
}

/// The position in the region of a tailer of any version; 0 if it has none yet.
fn position_of(region: &SharedRegion) -> Result<Bookmark, Refusal> {
    let (words, layout) = (region.words(), region.spec().layout);
    let earlier = EARLIER.iter().find(|(earlier, _)| *earlier == layout);
    let expected = match earlier {
        Some((_, words)) => *words,
        None if layout == TAILER_LAYOUT => WORDS,
        None => return Err(Refusal::Layout { found: layout, expected: TAILER_LAYOUT }),
    };
    if words.len() != expected {
        let (found, expected) = (words.len() as u64, expected as u64);
        return Err(Refusal::Words { found, expected });
    }
    let found = match earlier {
        Some(_) => earlier_bookmark(words),
        None => position::load(words).map(Option::unwrap_or_default),
    };
    found.map_err(WrongPosition::refusal)
}

/// Removes a named tailer, so that the journal keeps nothing for it. It is an error while a process
/// has the name.
pub fn remove_tailer(path: &Path, name: &str) -> Result<(), JournalError> {
    nanotape_shm::remove(&place_of(path, name)?)?;
    Ok(())
}

fn place_of(path: &Path, name: &str) -> Result<PathBuf, JournalError> {
    if is_tailer_name(name) {
        return Ok(path.join(TAILERS).join(name));
    }
    Err(JournalError::new(name, ErrorKind::Name))
}

/// Whether a name is valid for a tailer: it stays inside the folder and has no special meaning in a
/// shell. 1 to 100 letters, digits, dots, dashes and underscores, and no dot or dash first.
pub fn is_tailer_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=100).contains(&name.len()) && name.bytes().all(is_good) && !name.starts_with(['.', '-'])
}

fn make_folder(folder: &Path) -> Result<(), JournalError> {
    use std::os::unix::fs::DirBuilderExt as _;

    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(JournalError::system(folder, "make")),
    }
}
