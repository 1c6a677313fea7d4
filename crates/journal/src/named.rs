//! Tailers with a name: their place survives them, and everybody can see who reads what and how far.
//!
//! Layout: the region `tailers/NAME` of kind `TAILER  `, see `docs/formats/journal.md`. One process at a time
//! has the name; a dead one's is taken over at once.
//! Meaning: an excerpt counts as read when the next one is asked for, or [`done`](NamedTailer::done) is said.
//! So a process that is killed at its work on an excerpt gets the same one again, and no other twice.
//! Failure: the place is in memory that outlives the process; a loss of power may set it back to an earlier
//! one, unless [`sync`](NamedTailer::sync) was called.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use nanotape_shm::{
    OwnedRegion, Owner, Refusal, RegionOptions, RegionSpec, SharedRegion, Word, inspect,
};

use crate::{
    JournalError, Problem, Start, Tail, Tailer, appender::prepare::now_ns, disk::own_region,
    names::TAILERS,
};

/// The region of a named tailer.
pub const TAILER_KIND: [u8; 8] = *b"TAILER  ";

/// Changes whenever the meaning of any of its words does.
pub const TAILER_LAYOUT: u64 = u64::from_be_bytes(*b"tailer 1");

/// Offset behind the region's header, size and name of each of its words.
pub const TAILER_FIELDS: [(usize, usize, &str); 3] =
    [(NEXT * 8, 8, "next_sequence"), (MOVED * 8, 8, "moved_ns"), (READ * 8, 8, "read")];

const NEXT: usize = 0;
const MOVED: usize = 1;
const READ: usize = 2;
const WORDS: usize = 3;

/// How many excerpts are read between two looks at the clock.
const READS_PER_LOOK: u64 = 256;

/// A tailer whose place survives it.
#[derive(Debug)]
pub struct NamedTailer {
    tailer: Tailer,
    region: OwnedRegion,
    /// How many were read, by all who had the name.
    read: u64,
    /// Whether the last read returned an excerpt, which is not counted yet.
    is_pending: bool,
}

/// Where a named tailer begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumed {
    /// Nobody had the name before: where its caller wanted.
    New,
    /// At the next excerpt that was not read under this name.
    At(u64),
    /// At the end: the place was behind it, because a loss of power took what was not synced. Numbers from
    /// `next` on are given again, to other excerpts than those that were read.
    Beyond {
        /// What would have been read next.
        sequence: u64,
        /// The next excerpt to be written.
        next: u64,
    },
}

impl NamedTailer {
    /// Opens a journal to read it under a name, from where the last reader of this name was; from `start`
    /// if there was none. It is an error if another process has the name.
    pub fn open(path: &Path, name: &str, start: Start) -> Result<(Self, Resumed), JournalError> {
        let place = place_of(path, name)?;
        // Before anything is made in a folder that is no journal.
        let mut tailer = Tailer::open(path, Start::Beginning)?;
        make_folder(&path.join(TAILERS))?;
        let spec = RegionSpec {
            kind: TAILER_KIND,
            layout: TAILER_LAYOUT,
            parameters: [0; 4],
            words: WORDS,
        };
        let region = own_region(&place, spec, &RegionOptions::default())?;
        let stored = value(&region, NEXT);
        let resumed = if stored == 0 {
            tailer.seek(start)?;
            Resumed::New
        } else {
            resume(&mut tailer, stored)?
        };
        let read = value(&region, READ);
        let named = Self { tailer, region, read, is_pending: false };
        named.save();
        named.look_at_clock();
        if resumed == Resumed::New {
            named.sync()?;
        }
        Ok((named, resumed))
    }

    /// As [`Tailer::next`]; what was returned before it is read with this.
    #[expect(clippy::should_implement_trait, reason = "an excerpt borrows its tailer")]
    #[inline]
    pub fn next(&mut self) -> Result<Tail<'_>, JournalError> {
        self.done();
        let tail = self.tailer.next()?;
        match tail {
            Tail::Excerpt(_) => self.is_pending = true,
            Tail::Gap(gap) => self.region.words()[NEXT].store(gap.to + 1),
            Tail::Nothing => {}
        }
        Ok(tail)
    }

    /// Says that the excerpt that was returned last is done with, without asking for another.
    #[inline]
    pub fn done(&mut self) {
        if self.is_pending {
            self.is_pending = false;
            self.read += 1;
            self.save();
            if self.read.is_multiple_of(READS_PER_LOOK) {
                self.look_at_clock();
            }
        }
    }

    /// Goes on elsewhere, under the same name.
    pub fn seek(&mut self, start: Start) -> Result<(), JournalError> {
        self.is_pending = false;
        self.tailer.seek(start)?;
        self.save();
        self.look_at_clock();
        Ok(())
    }

    /// The sequence number of the next excerpt that is not read: where who has the name after this begins.
    pub fn next_sequence(&self) -> u64 {
        value(&self.region, NEXT)
    }

    /// How many excerpts were read under this name.
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

    /// Waits until the place is on the disk.
    pub fn sync(&self) -> Result<(), JournalError> {
        let Some(path) = self.region.path() else { return Ok(()) };
        let folder = path.parent().unwrap_or(path);
        let synced = File::open(path)
            .and_then(|file| file.sync_all())
            .and_then(|()| File::open(folder)?.sync_all());
        synced.map_err(JournalError::system(path, "sync"))
    }

    #[inline]
    fn save(&self) {
        let words: &[Word] = self.region.words();
        words[READ].store(self.read);
        words[NEXT].store(self.tailer.next_sequence());
    }

    #[cold]
    fn look_at_clock(&self) {
        self.region.words()[MOVED].store(now_ns());
    }
}

fn value(region: &OwnedRegion, word: usize) -> u64 {
    region.words()[word].as_read_only().load()
}

fn resume(tailer: &mut Tailer, stored: u64) -> Result<Resumed, JournalError> {
    match tailer.seek(Start::Sequence(stored)) {
        Ok(()) => Ok(Resumed::At(stored)),
        Err(error) => match error.problem() {
            Problem::NotYet { next, .. } => {
                let next = *next;
                tailer.seek(Start::End)?;
                Ok(Resumed::Beyond { sequence: stored, next })
            }
            _ => Err(error),
        },
    }
}

/// What is known of a named tailer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TailerInfo {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The next excerpt that it has not read; 0: it has found none yet.
    pub next_sequence: u64,
    /// When it was last seen to move, in nanoseconds since the UNIX epoch.
    pub moved_ns: u64,
    /// How many excerpts were read under this name.
    pub read: u64,
    /// Who has the name, or had it last; nothing where the file cannot be read.
    pub owner: Option<Owner>,
    /// Why the file cannot be read.
    pub refusal: Option<Refusal>,
}

/// The named tailers of a journal, by name. One whose file is damaged is there too, and says so.
pub fn tailers(path: &Path) -> Result<Vec<TailerInfo>, JournalError> {
    let folder = path.join(TAILERS);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JournalError::system(folder, "list")(error)),
    };
    let mut tailers = Vec::new();
    for entry in entries {
        let entry = entry.map_err(JournalError::system(&folder, "list"))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_name(&name) {
            tailers.push(info(name, entry.path()));
        }
    }
    tailers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tailers)
}

fn info(name: String, path: PathBuf) -> TailerInfo {
    let mut info = TailerInfo {
        name,
        next_sequence: 0,
        moved_ns: 0,
        read: 0,
        owner: None,
        refusal: None,
        path,
    };
    let known = inspect(&info.path).map(|region| (region.owner(), region.refusal));
    let opened = SharedRegion::open(&info.path, TAILER_KIND);
    match (known, opened) {
        (Ok((owner, _)), Ok(region)) if region.words().len() >= WORDS => {
            let words = region.words();
            info.owner = owner;
            (info.next_sequence, info.moved_ns, info.read) =
                (words[NEXT].load(), words[MOVED].load(), words[READ].load());
        }
        (Err(error), _) | (_, Err(error)) => info.refusal = Some(*error.refusal()),
        (Ok((owner, refusal)), Ok(_)) => (info.owner, info.refusal) = (owner, refusal),
    }
    info
}

/// Forgets a named tailer, so that nothing is kept for it any more. It is an error while a process has the
/// name.
pub fn remove_tailer(path: &Path, name: &str) -> Result<(), JournalError> {
    nanotape_shm::remove(&place_of(path, name)?)?;
    Ok(())
}

fn place_of(path: &Path, name: &str) -> Result<PathBuf, JournalError> {
    if is_name(name) {
        return Ok(path.join(TAILERS).join(name));
    }
    Err(JournalError::new(name, Problem::Name))
}

/// Nothing that leads out of the folder, and nothing that a shell takes for something else.
fn is_name(name: &str) -> bool {
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
