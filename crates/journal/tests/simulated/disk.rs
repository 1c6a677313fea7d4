//! A disk that remembers what was synced, and forgets any part of the rest when the power fails.
//!
//! A file has what processes see (words in memory that all its mappings share) and what is on the disk.
//! `sync` makes the second like the first; at any other moment pages may be written back, between two stores
//! of an append too. Names are like that as well: what was done to them since `sync_names` is on the disk in
//! part.
//!
//! After a sync that failed, pages are taken as clean that are not on the disk, as Linux does. Only a store
//! makes such a page dirty again, whatever the value: the watcher of `kill_points` sees every store of the
//! test's thread, and of those that an appender starts, with its address, so that this is exact.
//!
//! A page that is evicted after a failed sync, and read back as it was before, is modelled only where a test
//! says so: see `evict`.
//!
//! Not modelled: the SIGBUS behind the end of a file that was cut (a mapping keeps its words); a folder
//! whose sync failed and whose names are then taken as written; that `sync` of a file makes its name durable
//! too, which some file systems do.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    io,
    ops::{Deref, DerefMut, Range},
    panic::Location,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nanotape_journal::{Disk, Listed, ReadableFile, Room, WritableFile};
use nanotape_shm::{
    ReadWord, RegionError, Word, as_read_only,
    kill_points::{self, Store},
};

use crate::{
    dice::Dice,
    faults::{Fault, Faults},
    sites::{self, SharedSites, What},
};

const PAGE_WORDS: usize = 512;

/// How much of a file is written at once: the rest of it may be lost.
const UNIT_WORDS: [usize; 3] = [PAGE_WORDS, 64, 1];

/// How a loss of power tears what was not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tear {
    /// How much is kept or lost together.
    pub(crate) unit_words: usize,
    /// How many of sixteen are kept.
    pub(crate) kept: u64,
}

impl Tear {
    /// One page of two is kept, which is how most disks lose them.
    pub(crate) const HALF_OF_THE_PAGES: Self = Self { unit_words: PAGE_WORDS, kept: 8 };
}

/// A machine with one folder on one disk. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDisk(Arc<Mutex<Machine>>);

#[derive(Debug)]
struct Machine {
    dice: Dice,
    boot: u64,
    files: Vec<File>,
    /// Which file has which name, as processes see it and as the disk has it.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    pending: Vec<Renaming>,
    /// Whether the folder's own name is on the disk.
    is_folder_durable: bool,
    is_locked: bool,
    /// What the appender does has no effect any more.
    is_dead: bool,
    faults: Faults,
    /// Which call of the journal has no effect.
    sites: SharedSites,
    crash: Option<Crash>,
    image: Option<Image>,
    /// Stores until the next page is written back for no reason.
    until_write_back: u64,
    /// Nothing is written back until it is synced.
    is_lazy: bool,
    /// What the one who drives it knows now.
    progress: Progress,
}

/// How much was committed, by number of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) committed: usize,
    /// Of those, how many must outlive a loss of power.
    pub(crate) promised: usize,
    /// Behind them: may be committed by now.
    pub(crate) in_flight: usize,
}

/// When everything stops.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Crash {
    /// Before this store from now on.
    AtStore(u64),
    /// Before this operation of the disk from now on.
    AtOperation(u64),
}

/// What there is after a crash; what goes on in the machine that crashed is of no interest.
#[derive(Debug)]
pub(crate) struct Image {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    pending: Vec<Renaming>,
    is_folder_durable: bool,
    pub(crate) progress: Progress,
    /// The name of the thread that was about to take the step before which this is.
    pub(crate) thread: String,
}

#[derive(Clone, Debug)]
struct Renaming {
    from: Option<String>,
    to: Option<String>,
    file: usize,
}

#[derive(Debug)]
struct File {
    words: Arc<[Word]>,
    bytes: u64,
    durable: Vec<u64>,
    durable_bytes: u64,
    /// Pages that a failed sync did not write, and that the kernel takes for written.
    taken_clean: BTreeSet<usize>,
}

/// What one file has as words.
type Words = Arc<[Word]>;

fn words_of(values: &[u64]) -> Words {
    values.iter().map(|&value| Word::new(value)).collect()
}

fn not_found() -> io::Error {
    rustix::io::Errno::NOENT.into()
}

impl File {
    fn new(bytes: u64) -> Self {
        let words = usize::try_from(bytes.div_ceil(8)).unwrap();
        let zeros = vec![0; words];
        let words = words_of(&zeros);
        Self { words, bytes, durable: zeros, durable_bytes: 0, taken_clean: BTreeSet::new() }
    }

    fn copied(&self) -> Self {
        let values: Vec<u64> = (0..self.words.len()).map(|at| self.live(at)).collect();
        Self {
            words: words_of(&values),
            bytes: self.bytes,
            durable: self.durable.clone(),
            durable_bytes: self.durable_bytes,
            taken_clean: self.taken_clean.clone(),
        }
    }

    fn live(&self, at: usize) -> u64 {
        self.words[at].as_read_only().load()
    }

    /// Makes room for so many bytes; words that were cut off are zero.
    fn resize(&mut self, bytes: u64) {
        let words = usize::try_from(bytes.div_ceil(8)).unwrap();
        if words > self.words.len() {
            let mut values: Vec<u64> = (0..self.words.len()).map(|at| self.live(at)).collect();
            values.resize(words, 0);
            self.durable.resize(words, 0);
            self.words = words_of(&values);
        }
        for at in words..self.words.len() {
            self.words[at].store(0);
        }
        self.bytes = bytes;
    }

    /// Writes a page, or as much of it as there is.
    fn write_back(&mut self, page: usize) {
        if self.taken_clean.contains(&page) {
            return;
        }
        for at in page * PAGE_WORDS..((page + 1) * PAGE_WORDS).min(self.words.len()) {
            self.durable[at] = self.live(at);
        }
    }

    fn sync(&mut self, words: Range<usize>) {
        for page in words.start / PAGE_WORDS..words.end.div_ceil(PAGE_WORDS) {
            self.write_back(page);
        }
        self.durable_bytes = self.bytes;
    }

    /// Writes some pages, and forgets of the others that they are to be written.
    fn fail_to_sync(&mut self, words: Range<usize>, dice: &mut Dice) {
        for page in words.start / PAGE_WORDS..words.end.div_ceil(PAGE_WORDS) {
            if dice.one_in(2) {
                self.write_back(page);
            } else {
                self.taken_clean.insert(page);
            }
        }
    }

    /// Writes some part of what was stored.
    fn write_back_some(&mut self, dice: &mut Dice) {
        let unit = UNIT_WORDS[dice.index(3)];
        let end = self.words.len();
        for begin in (0..end).step_by(unit) {
            let range = begin..(begin + unit).min(end);
            let is_dirty = range.clone().any(|at| self.durable[at] != self.live(at));
            let page = begin / PAGE_WORDS;
            if is_dirty && !self.taken_clean.contains(&page) && dice.one_in(2) {
                for at in range {
                    self.durable[at] = self.live(at);
                }
            }
        }
    }
}

impl Machine {
    fn file(&mut self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(not_found)
    }

    /// Every operation begins here: it may fail, the machine may crash, pages may be written back.
    fn begin(&mut self, what: &'static str) -> io::Result<()> {
        if self.is_dead {
            return Err(Fault::Io.error());
        }
        if let Some(Crash::AtOperation(number)) = &mut self.crash {
            match number {
                0 => self.take_image(),
                _ => *number -= 1,
            }
        }
        if self.dice.one_in(8) && !self.files.is_empty() && !self.is_lazy {
            let file = self.dice.index(self.files.len());
            self.files[file].write_back_some(&mut self.dice);
        }
        match self.faults.next(what) {
            Some(fault) => Err(fault.error()),
            None => Ok(()),
        }
    }

    /// Whether the caller's call has no effect in this run.
    #[track_caller]
    fn leaves_out(&self, what: What) -> bool {
        sites::is_left_out(&self.sites, what, Location::caller())
    }

    fn take_image(&mut self) {
        if self.image.is_some() {
            return;
        }
        self.crash = None;
        self.image = Some(Image {
            files: self.files.iter().map(File::copied).collect(),
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            pending: self.pending.clone(),
            is_folder_durable: self.is_folder_durable,
            progress: self.progress,
            thread: std::thread::current().name().unwrap_or_default().to_owned(),
        });
    }

    /// Returns whether the store is made.
    fn before_store(&mut self, store: Store) -> bool {
        if self.is_dead {
            return true;
        }
        let address = store.address;
        if sites::is_left_out(&self.sites, What::Store(store.value), store.site) {
            return false;
        }
        for file in &mut self.files {
            if file.taken_clean.is_empty() {
                continue;
            }
            let begin = file.words.as_ptr().addr();
            let end = begin + file.words.len() * 8;
            if (begin..end).contains(&address) {
                file.taken_clean.remove(&((address - begin) / 8 / PAGE_WORDS));
            }
        }
        if let Some(Crash::AtStore(number)) = &mut self.crash {
            match number {
                0 => self.take_image(),
                _ => *number -= 1,
            }
        }
        self.until_write_back = self.until_write_back.saturating_sub(1);
        if self.until_write_back == 0 && !self.is_lazy {
            self.until_write_back = 1 + self.dice.below(400);
            // The file that is written to; which one that is makes no difference for others.
            let is_in = |file: &&mut File| {
                let begin = file.words.as_ptr().addr();
                (begin..begin + file.words.len() * 8).contains(&address)
            };
            if let Some(file) = self.files.iter_mut().find(is_in) {
                file.write_back_some(&mut self.dice);
            }
        }
        true
    }

    fn rename(&mut self, from: Option<&str>, to: Option<&str>, file: usize) {
        let (from, to) = (from.map(str::to_owned), to.map(str::to_owned));
        let renaming = Renaming { from, to, file };
        renaming.apply(&mut self.names);
        self.pending.push(renaming);
    }
}

impl Renaming {
    /// To names of which any other change may have been lost.
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        if let Some(from) = &self.from
            && names.get(from) == Some(&self.file)
        {
            names.remove(from);
        }
        if let Some(to) = &self.to {
            names.insert(to.clone(), self.file);
        }
    }
}

impl Image {
    /// What the machine finds when it has power again, in another boot.
    pub(crate) fn after_power_loss(self, dice: &mut Dice, boot: u64) -> SimulatedDisk {
        let tear =
            Tear { unit_words: UNIT_WORDS[dice.index(3)], kept: [0, 1, 8, 15, 16][dice.index(5)] };
        self.torn(tear, dice, boot)
    }

    /// The same, torn in this way.
    pub(crate) fn torn(self, tear: Tear, dice: &mut Dice, boot: u64) -> SimulatedDisk {
        let mut names = self.durable_names;
        let (is_prefix, end) = (dice.one_in(2), dice.index(self.pending.len() + 1));
        for (index, renaming) in self.pending.iter().enumerate() {
            if if is_prefix { index < end } else { dice.one_in(2) } {
                renaming.apply(&mut names);
            }
        }
        if !self.is_folder_durable && dice.one_in(2) {
            names.clear();
        }
        let Tear { unit_words: unit, kept } = tear;
        let mut files = Vec::new();
        for file in self.files {
            let (mut durable, bytes, durable_bytes) =
                (file.durable.clone(), file.bytes, file.durable_bytes);
            for (index, old) in durable.chunks_mut(unit).enumerate() {
                let begin = index * unit;
                let is_clean = file.taken_clean.contains(&(begin / PAGE_WORDS));
                if !is_clean && dice.below(16) < kept {
                    for (at, old) in (begin..).zip(old) {
                        *old = file.live(at);
                    }
                }
            }
            // Its length is as it was or as it became; of one that was never synced anything between.
            let bytes = match dice.below(3) {
                0 => bytes,
                1 if durable_bytes == 0 => dice.below(bytes / 8 + 1) * 8,
                _ => durable_bytes,
            };
            durable[usize::try_from(bytes.div_ceil(8)).unwrap()..].fill(0);
            let words = words_of(&durable);
            let taken_clean = BTreeSet::new();
            files.push(File { words, bytes, durable, durable_bytes: bytes, taken_clean });
        }
        let durable_names = names.clone();
        // If the name is there, the disk has it; if not, the folder is made again.
        let is_folder_durable = !names.is_empty();
        let disk = SimulatedDisk::of(dice.number(), boot, files, names, durable_names, Vec::new());
        disk.machine().is_folder_durable = is_folder_durable;
        disk
    }

    /// The same machine after its processes were killed; those that map its files are not in it.
    pub(crate) fn after_death(self, dice: &mut Dice, boot: u64) -> SimulatedDisk {
        let Self { files, names, durable_names, pending, is_folder_durable, .. } = self;
        let disk = SimulatedDisk::of(dice.number(), boot, files, names, durable_names, pending);
        disk.machine().is_folder_durable = is_folder_durable;
        disk
    }
}

impl SimulatedDisk {
    pub(crate) fn new(seed: u64) -> Self {
        Self::of(seed, 1, Vec::new(), BTreeMap::new(), BTreeMap::new(), Vec::new())
    }

    fn of(
        seed: u64,
        boot: u64,
        files: Vec<File>,
        names: BTreeMap<String, usize>,
        durable_names: BTreeMap<String, usize>,
        pending: Vec<Renaming>,
    ) -> Self {
        let mut dice = Dice::new(seed);
        Self(Arc::new(Mutex::new(Machine {
            until_write_back: 1 + dice.below(400),
            is_lazy: false,
            dice,
            boot,
            files,
            names,
            durable_names,
            pending,
            is_folder_durable: false,
            is_locked: false,
            is_dead: false,
            faults: Faults::default(),
            sites: sites::current(),
            crash: None,
            image: None,
            progress: Progress::default(),
        })))
    }

    fn machine(&self) -> Locked<'_> {
        if !IS_KNOWN.replace(true) && is_of_an_appender(&std::thread::current()) {
            self.watch();
        }
        Locked::lock(&self.0)
    }

    /// From now on this one hears of the stores of this thread, and no other.
    pub(crate) fn watch(&self) {
        let machine = Arc::downgrade(&self.0);
        kill_points::watch(Some(Box::new(move |store| {
            let Some(machine) = machine.upgrade() else { return true };
            // Locked by this thread: a store of the machine itself, not one of a process.
            HAS_LOCKED.get() || Locked::lock(&machine).before_store(store)
        })));
    }

    /// From now on nothing is written back until it is synced.
    pub(crate) fn be_lazy(&self) {
        self.machine().is_lazy = true;
    }

    pub(crate) fn crash(&self, crash: Crash) {
        self.machine().crash = Some(crash);
    }

    /// The image of the crash; of this moment if it did not come to one.
    pub(crate) fn image(&self) -> Image {
        let mut machine = self.machine();
        machine.take_image();
        machine.image.take().unwrap()
    }

    /// Whether a crash came.
    pub(crate) fn has_crashed(&self) -> bool {
        self.machine().image.is_some()
    }

    /// Other faults from now on; returns those that there were.
    pub(crate) fn set_faults(&self, faults: Faults) -> Faults {
        std::mem::replace(&mut self.machine().faults, faults)
    }

    /// Whether an operation failed that was told to.
    pub(crate) fn has_failed(&self) -> bool {
        self.machine().faults.have_come()
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        self.machine().progress = progress;
    }

    /// Lets an appender end as the kernel ends it: nothing that it does any more has an effect.
    pub(crate) fn kill<T>(&self, appender: T) {
        self.machine().is_dead = true;
        drop(appender);
        let mut machine = self.machine();
        (machine.is_dead, machine.is_locked) = (false, false);
    }

    /// Drops the pages that a failed sync left clean from memory: processes find what the disk has.
    pub(crate) fn evict(&self) {
        for file in &mut self.machine().files {
            for page in std::mem::take(&mut file.taken_clean) {
                for at in page * PAGE_WORDS..((page + 1) * PAGE_WORDS).min(file.words.len()) {
                    file.words[at].store(file.durable[at]);
                }
            }
        }
    }

    /// The words of a file, to be changed by hand.
    pub(crate) fn words(&self, name: &str) -> Arc<[Word]> {
        let mut machine = self.machine();
        let file = machine.file(name).unwrap();
        Arc::clone(&machine.files[file].words)
    }

    /// Puts a file there by hand.
    pub(crate) fn put(&self, name: &str, values: &[u64], bytes: u64) {
        let mut machine = self.machine();
        let mut file = File::new(bytes);
        for (word, value) in file.words.iter().zip(values) {
            word.store(*value);
        }
        file.sync(0..file.words.len());
        machine.files.push(file);
        let file = machine.files.len() - 1;
        machine.names.insert(name.to_owned(), file);
        machine.durable_names.insert(name.to_owned(), file);
    }

    /// Every file: its name and its bytes.
    pub(crate) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let machine = self.machine();
        let bytes = |file: &File| {
            let mut bytes = Vec::with_capacity(file.words.len() * 8);
            (0..file.words.len())
                .for_each(|at| bytes.extend_from_slice(&file.live(at).to_ne_bytes()));
            bytes.truncate(usize::try_from(file.bytes).unwrap());
            bytes
        };
        let named = |(name, &file): (&String, &usize)| (name.clone(), bytes(&machine.files[file]));
        machine.names.iter().map(named).collect()
    }
}

thread_local! {
    /// Whether this thread was looked at: those of an appender are watched from their first operation on.
    static IS_KNOWN: Cell<bool> = const { Cell::new(false) };

    /// Whether this thread has a machine locked.
    static HAS_LOCKED: Cell<bool> = const { Cell::new(false) };
}

fn is_of_an_appender(thread: &std::thread::Thread) -> bool {
    thread.name().is_some_and(|name| name.starts_with("journal-"))
}

/// A machine that is locked by this thread. No thread stores meanwhile, if it is watched.
struct Locked<'a>(MutexGuard<'a, Machine>);

impl<'a> Locked<'a> {
    fn lock(machine: &'a Mutex<Machine>) -> Self {
        let locked = machine.lock().unwrap_or_else(PoisonError::into_inner);
        HAS_LOCKED.set(true);
        Self(locked)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        HAS_LOCKED.set(false);
    }
}

impl Deref for Locked<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.0
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Machine {
        &mut self.0
    }
}

/// Held while an appender lives.
#[derive(Debug)]
pub(crate) struct Lock(SimulatedDisk);

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.machine().is_locked = false;
    }
}

/// A mapping of a file.
#[derive(Debug)]
pub(crate) struct Mapped {
    disk: SimulatedDisk,
    file: usize,
    words: Words,
    /// How many of them there were when it was mapped.
    count: usize,
}

impl SimulatedDisk {
    fn map(&self, machine: &Machine, file: usize, bytes: u64) -> io::Result<Mapped> {
        let count = usize::try_from(bytes / 8).unwrap();
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let words = Arc::clone(&machine.files[file].words);
        Ok(Mapped { disk: self.clone(), file, words, count })
    }
}

impl Disk for SimulatedDisk {
    type Writable = Mapped;
    type Readable = Mapped;
    type Lock = Lock;

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("/simulated").join(name)
    }

    fn make(&self) -> io::Result<()> {
        self.machine().begin("make")
    }

    #[track_caller]
    fn sync_parent(&self) -> io::Result<()> {
        let mut machine = self.machine();
        // Nothing is written where it is there already.
        if !machine.is_folder_durable {
            machine.begin("sync_parent")?;
            machine.is_folder_durable = !machine.leaves_out(What::SyncNames);
        }
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<Listed>> {
        let mut machine = self.machine();
        machine.begin("list")?;
        let is_here = |(name, _): &(&String, &usize)| !name.contains('/');
        let listed = |(name, file): (&String, &usize)| Listed {
            name: name.clone(),
            bytes: machine.files[*file].bytes,
        };
        Ok(machine.names.iter().filter(is_here).map(listed).collect())
    }

    fn lock(&self) -> Result<Lock, RegionError> {
        let mut machine = self.machine();
        assert!(!machine.is_locked, "two appenders at a time");
        machine.is_locked = true;
        Ok(Lock(self.clone()))
    }

    fn create(&self, name: &str, bytes: u64, room: Room) -> io::Result<Mapped> {
        let mut machine = self.machine();
        if machine.names.contains_key(name) {
            machine.begin("create")?;
            return Err(rustix::io::Errno::EXIST.into());
        }
        if let Err(error) = machine.begin("create") {
            if machine.faults.leaves_a_part() {
                machine.files.push(File::new(bytes / 2 / 8 * 8));
                let file = machine.files.len() - 1;
                machine.rename(None, Some(name), file);
            }
            return Err(error);
        }
        let mut file = File::new(bytes);
        if room == Room::Written {
            file.sync(0..0);
        }
        machine.files.push(file);
        let file = machine.files.len() - 1;
        machine.rename(None, Some(name), file);
        self.map(&machine, file, bytes)
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<Mapped> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("open")?;
        if bytes > machine.files[file].bytes {
            machine.files[file].resize(bytes);
        }
        self.map(&machine, file, bytes)
    }

    fn view(&self, name: &str) -> io::Result<Mapped> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("view")?;
        let bytes = machine.files[file].bytes;
        self.map(&machine, file, bytes)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.machine().begin("read")?;
        let mut contents = self.contents();
        let found = contents.iter().position(|(other, _)| other == name).ok_or_else(not_found)?;
        Ok(contents.swap_remove(found).1)
    }

    #[track_caller]
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut machine = self.machine();
        assert!(!machine.names.contains_key(name), "{name} is there already");
        let begun = machine.begin("write");
        let written = match &begun {
            Ok(()) => bytes,
            Err(_) if machine.faults.leaves_a_part() => &bytes[..bytes.len() / 2],
            Err(_) => return begun,
        };
        let mut file = File::new(written.len() as u64);
        for (word, chunk) in file.words.iter().zip(written.chunks(8)) {
            let mut value = [0; 8];
            value[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_ne_bytes(value));
        }
        if begun.is_ok() && !machine.leaves_out(What::Write) {
            file.sync(0..file.words.len());
        }
        machine.files.push(file);
        let file = machine.files.len() - 1;
        machine.rename(None, Some(name), file);
        begun
    }

    #[track_caller]
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(from)?;
        machine.begin("rename")?;
        if machine.leaves_out(What::Rename) {
            return Ok(());
        }
        machine.rename(Some(from), Some(to), file);
        Ok(())
    }

    #[track_caller]
    fn remove(&self, name: &str) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("remove")?;
        if machine.leaves_out(What::Remove) {
            return Ok(());
        }
        machine.rename(Some(name), None, file);
        Ok(())
    }

    #[track_caller]
    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("shrink")?;
        if machine.leaves_out(What::Shrink) {
            return Ok(());
        }
        machine.files[file].resize(bytes);
        Ok(())
    }

    #[track_caller]
    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        machine.begin("store")?;
        if machine.leaves_out(What::StoreInFile) {
            return Ok(());
        }
        let file = &mut machine.files[file];
        file.taken_clean.remove(&(word / PAGE_WORDS));
        file.words[word].store(value);
        Ok(())
    }

    #[track_caller]
    fn sync(&self, name: &str) -> io::Result<()> {
        let mut machine = self.machine();
        let file = machine.file(name)?;
        let words = machine.files[file].words.len();
        machine.sync(file, 0..words)
    }

    #[track_caller]
    fn sync_names(&self) -> io::Result<()> {
        let mut machine = self.machine();
        machine.begin("sync_names")?;
        if machine.leaves_out(What::SyncNames) {
            return Ok(());
        }
        machine.durable_names = machine.names.clone();
        machine.pending.clear();
        Ok(())
    }

    fn free_bytes(&self) -> u64 {
        1 << 30
    }

    fn boot(&self) -> u64 {
        self.machine().boot
    }
}

impl Machine {
    #[track_caller]
    fn sync(&mut self, file: usize, words: Range<usize>) -> io::Result<()> {
        if self.is_dead {
            return Err(Fault::Io.error());
        }
        let begun = self.begin("sync");
        if self.leaves_out(What::Sync) {
            return begun;
        }
        let file = &mut self.files[file];
        match &begun {
            Ok(()) => file.sync(words),
            Err(_) => file.fail_to_sync(words, &mut self.dice),
        }
        begun
    }
}

impl WritableFile for Mapped {
    fn words(&self) -> &[Word] {
        &self.words[..self.count]
    }

    #[track_caller]
    fn sync(&self, words: Range<usize>) -> io::Result<()> {
        self.disk.machine().sync(self.file, words)
    }
}

impl ReadableFile for Mapped {
    fn words(&self) -> &[ReadWord] {
        as_read_only(&self.words[..self.count])
    }

    fn is_lost(&self) -> bool {
        false
    }

    fn is_at(&self, name: &str) -> bool {
        self.disk.machine().names.get(name) == Some(&self.file)
    }
}
