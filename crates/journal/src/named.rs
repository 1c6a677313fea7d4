//! Named tailers: the journal stores their positions, and every process can list them.
//!
//! Layout: the region `tailers/NAME` of kind `TAILER `, see `docs/formats/journal.md`. One process
//! at a time owns the name; the name of a dead process can be taken over at once.
//! Meaning: an excerpt counts as read at the next read, or at [`done`](NamedTailer::done). If a
//! process is killed while it handles an excerpt, its successor reads that excerpt again, but no
//! other one.
//! Failure: the position survives the process. A loss of power can move it back, unless
//! [`sync`](NamedTailer::sync) was called. A damaged region is an error: its position is lost.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use nanotape_shm::{
    OwnedRegion, Owner, ReadWord, Refusal, RegionError, RegionOptions, RegionSpec, SharedRegion,
    Word, as_read_only, inspect,
};

use crate::{
    Bookmark, ErrorKind, JournalError, Resumed, Start, Tail, Tailer,
    appender::prepare::now_ns,
    disk::{is_of_another_version, own_region},
    names::TAILERS,
};

/// The kind of a named tailer's region.
pub const TAILER_KIND: [u8; 8] = *b"TAILER  ";

/// Changes whenever the meaning of any of its words changes.
pub const TAILER_LAYOUT: u64 = u64::from_be_bytes(*b"tailer 2");

/// The layout in earlier versions of this crate: only the first three words.
const EARLIER_LAYOUT: u64 = u64::from_be_bytes(*b"tailer 1");

/// Offset after the region's header, size and name of each of its words.
pub const TAILER_FIELDS: [(usize, usize, &str); 6] = [
    (NEXT * 8, 8, "next_sequence"),
    (MOVED * 8, 8, "moved_ns"),
    (READ * 8, 8, "read"),
    (JOURNAL * 8, 8, "journal"),
    (INCARNATION * 8, 8, "incarnation"),
    (FROM * 8, 8, "incarnation_from"),
];

const NEXT: usize = 0;
const MOVED: usize = 1;
const READ: usize = 2;
const JOURNAL: usize = 3;
const INCARNATION: usize = 4;
const FROM: usize = 5;
const WORDS: usize = 6;

const SPEC: RegionSpec =
    RegionSpec { kind: TAILER_KIND, layout: TAILER_LAYOUT, parameters: [0; 4], words: WORDS };

/// The number of words in the earlier layout.
const EARLIER_WORDS: usize = 3;

/// Excerpts between two reads of the clock.
const READS_PER_LOOK: u64 = 256;

/// A tailer whose position is stored in the journal.
#[derive(Debug)]
pub struct NamedTailer {
    tailer: Tailer,
    region: OwnedRegion,
    /// Excerpts read under this name, by all of its processes.
    read: u64,
    /// Excerpts of the last read that are not counted yet, if its position is not stored yet.
    pending: Option<u64>,
    /// The stored position, except for its sequence number.
    stored: Bookmark,
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
        let stored = bookmark(as_read_only(region.words()));
        // A stored position of 0 is the beginning of a journal that had no excerpt yet.
        let is_new = stored.next_sequence == 0 && value(&region, MOVED) == 0;
        let resumed = if is_new {
            tailer.seek(start)?;
            Resumed::New
        } else {
            tailer.resume(&stored)?
        };
        let read = value(&region, READ);
        let mut named = Self { tailer, region, read, pending: None, stored };
        named.save();
        named.look_at_clock();
        if resumed == Resumed::New {
            named.sync()?;
        }
        Ok((named, resumed))
    }

    /// As [`Tailer::next`]; also marks the previous result as read.
    #[expect(clippy::should_implement_trait, reason = "an excerpt borrows its tailer")]
    #[inline]
    pub fn next(&mut self) -> Result<Tail<'_>, JournalError> {
        self.done();
        let tail = self.tailer.next()?;
        self.pending = match tail {
            Tail::Excerpt(_) => Some(1),
            Tail::Gap(_) | Tail::Reused(_) => Some(0),
            Tail::Nothing => None,
        };
        Ok(tail)
    }

    /// Marks the last result as read, without reading more.
    #[inline]
    pub fn done(&mut self) {
        if let Some(read) = self.pending.take() {
            self.read += read;
            self.save();
            if self.read.is_multiple_of(READS_PER_LOOK) {
                self.look_at_clock();
            }
        }
    }

    /// Moves to another position, under the same name.
    pub fn seek(&mut self, start: Start) -> Result<(), JournalError> {
        self.pending = None;
        self.tailer.seek(start)?;
        self.save();
        self.look_at_clock();
        Ok(())
    }

    /// The sequence number of the next unread excerpt: the next reader of this name begins there.
    pub fn next_sequence(&self) -> u64 {
        value(&self.region, NEXT)
    }

    /// The number of excerpts that were read under this name.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// As [`Tailer::ask`].
    pub fn ask(&mut self) {
        self.tailer.ask();
    }

    /// As [`Tailer::set_durable`].
    pub fn set_durable(&mut self, is_durable: bool) {
        self.tailer.set_durable(is_durable);
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
        let place = self.tailer.bookmark();
        if (place.journal, place.incarnation) == (self.stored.journal, self.stored.incarnation) {
            words[NEXT].store(place.next_sequence);
        } else {
            self.save_all(place);
        }
    }

    /// Stores a position in another incarnation. If the process is killed between two of these
    /// stores, the next reader might read too much again, but never too little.
    #[cold]
    fn save_all(&mut self, place: Bookmark) {
        let words = self.region.words();
        let is_back = place.next_sequence < value(&self.region, NEXT);
        if is_back {
            words[NEXT].store(place.next_sequence);
        }
        words[FROM].store(place.incarnation_from);
        words[INCARNATION].store(place.incarnation);
        words[JOURNAL].store(place.journal);
        if !is_back {
            words[NEXT].store(place.next_sequence);
        }
        self.stored = place;
    }

    #[cold]
    fn look_at_clock(&self) {
        self.region.words()[MOVED].store(now_ns());
    }
}

fn value(region: &OwnedRegion, word: usize) -> u64 {
    region.words()[word].as_read_only().load()
}

/// The position in a region. Words that an earlier layout does not have are unknown.
fn bookmark(words: &[ReadWord]) -> Bookmark {
    let value = |word: usize| words.get(word).map_or(0, ReadWord::load);
    Bookmark {
        journal: value(JOURNAL),
        incarnation: value(INCARNATION),
        incarnation_from: value(FROM),
        next_sequence: value(NEXT),
    }
}

/// Takes ownership of a tailer's region: a new one, one without an owner, or one of an earlier
/// version.
fn own(path: &Path) -> Result<OwnedRegion, JournalError> {
    let options = RegionOptions::default();
    let created = match OwnedRegion::create(path, SPEC, &options, |_| ()) {
        // Its first owner did not return from `open`, which syncs it, so it had no position.
        Err(error) if is_of_zeros(&error) => own_region(path, SPEC, &options),
        Err(error) if matches!(error.refusal(), Refusal::Layout { found: EARLIER_LAYOUT, .. }) => {
            from_earlier(path, &options)
        }
        outcome => outcome.map(|(region, _)| region),
    };
    created.map_err(|error| {
        let refusal = *error.refusal();
        if is_of_damage(&refusal) {
            return JournalError::new(path, ErrorKind::TailerLost(refusal));
        }
        error.into()
    })
}

/// Whether a file contains only zeros, as after a loss of power before its first sync.
fn is_of_zeros(error: &RegionError) -> bool {
    matches!(error.refusal(), Refusal::NotARegion { .. })
        && fs::read(error.path()).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0))
}

/// Whether the file exists but is no longer a valid region of a tailer.
fn is_of_damage(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NotARegion { .. } | Refusal::Kind { .. })
        || is_of_another_version(refusal)
}

/// Replaces a region of an earlier version by one of this version with the same position.
fn from_earlier(path: &Path, options: &RegionOptions) -> Result<OwnedRegion, RegionError> {
    let (earlier, _) = OwnedRegion::take_over(path, TAILER_KIND, EARLIER_LAYOUT, options)?;
    if earlier.words().len() < EARLIER_WORDS {
        let refusal = Refusal::Layout { found: EARLIER_LAYOUT, expected: TAILER_LAYOUT };
        return Err(RegionError::new(path, refusal));
    }
    let values: Vec<u64> = as_read_only(earlier.words()).iter().map(ReadWord::load).collect();
    drop(earlier);
    let initialise = |words: &[Word]| {
        words.iter().zip(&values[..EARLIER_WORDS]).for_each(|(word, value)| word.store(*value));
    };
    OwnedRegion::replace(path, SPEC, options, initialise).map(|(region, _)| region)
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
        (Ok((owner, _)), Ok(region)) if region.words().len() >= EARLIER_WORDS => {
            let words = region.words();
            (info.owner, info.bookmark) = (owner, bookmark(words));
            info.next_sequence = info.bookmark.next_sequence;
            (info.moved_ns, info.read) = (words[MOVED].load(), words[READ].load());
        }
        (Err(error), _) | (_, Err(error)) => info.refusal = Some(*error.refusal()),
        (Ok((owner, refusal)), Ok(_)) => (info.owner, info.refusal) = (owner, refusal),
    }
    info
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
