//! A disk that keeps synced data, and loses any part of the rest when the power fails.
//!
//! A file has the contents that processes see (words in memory that all its mappings share) and the
//! contents on disk. `sync` copies the first to the second. Pages can also be written back at any
//! other moment, even between two stores of an append. Names work in the same way: changes since
//! `sync_names` are partly on disk.
//!
//! After a failed sync, pages count as clean that are not on disk, as in Linux. Only a store makes
//! such a page dirty again, whatever the value. The watcher of `kill_points` sees every store of
//! the test's thread and of the appender's threads, with its address, so this is exact.
//!
//! The eviction of a page after a failed sync, which restores its old contents, is modelled only if
//! a test requests it: see `evict`.
//!
//! Not modelled: the SIGBUS after the end of a truncated file (a mapping keeps its words); a folder
//! whose sync failed and whose names then count as written; file systems where `sync` of a file
//! makes its name durable too.

mod file;
mod image;
mod operations;

use std::{
    cell::Cell,
    collections::BTreeMap,
    io,
    ops::{Deref, DerefMut},
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use file::{File, PAGE_WORDS};
use image::Renaming;
pub(crate) use image::{Image, Tear};
use nanotape_shm::{
    Word,
    kill_points::{self, Store},
};
pub(crate) use operations::{Lock, Mapped};

use crate::simulated::{
    dice::Dice,
    faults::{Fault, Faults},
    sites::{self, SharedSites, What},
};

/// A machine with one folder on one disk. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDisk(Arc<Mutex<Machine>>);

#[derive(Debug)]
struct Machine {
    dice: Dice,
    boot: u64,
    files: Vec<File>,
    /// The file of each name, as processes see it and as the disk has it.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    pending: Vec<Renaming>,
    /// Whether the folder's own name is on disk.
    is_folder_durable: bool,
    is_locked: bool,
    /// Whether actions of the appender no longer have an effect.
    is_dead: bool,
    faults: Faults,
    /// The call of the journal that has no effect.
    sites: SharedSites,
    crash: Option<Crash>,
    image: Option<Image>,
    /// Stores until the next page is written back spontaneously.
    until_write_back: u64,
    /// Whether nothing is written back before it is synced.
    is_lazy: bool,
    /// The progress that the test knows.
    progress: Progress,
}

/// Counts of committed records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) committed: usize,
    /// Of those, how many must outlive a loss of power.
    pub(crate) promised: usize,
    /// Records after them that might be committed already.
    pub(crate) in_flight: usize,
}

/// The moment at which everything stops.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Crash {
    /// Before this store, counted from now.
    AtStore(u64),
    /// Before this operation of the disk, counted from now.
    AtOperation(u64),
}

fn not_found() -> io::Error {
    rustix::io::Errno::NOENT.into()
}

impl Machine {
    fn file(&mut self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(not_found)
    }

    /// Every operation begins here: it can fail, the machine can crash, pages can be written back.
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

    /// Whether the caller's call is left out in this run.
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

    /// Returns whether the store takes effect.
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
            // Only the file of this store is written back.
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

    /// Makes this disk the only one that observes the stores of this thread.
    pub(crate) fn watch(&self) {
        let machine = Arc::downgrade(&self.0);
        kill_points::watch(Some(Box::new(move |store| {
            let Some(machine) = machine.upgrade() else { return true };
            // Locked by this thread: a store of the disk itself, not one of a process.
            HAS_LOCKED.get() || Locked::lock(&machine).before_store(store)
        })));
    }

    /// Stops writing pages back before they are synced.
    pub(crate) fn be_lazy(&self) {
        self.machine().is_lazy = true;
    }

    pub(crate) fn crash(&self, crash: Crash) {
        self.machine().crash = Some(crash);
    }

    /// The image of the crash, or of this moment if no crash happened.
    pub(crate) fn image(&self) -> Image {
        let mut machine = self.machine();
        machine.take_image();
        machine.image.take().unwrap()
    }

    /// Whether a crash happened.
    pub(crate) fn has_crashed(&self) -> bool {
        self.machine().image.is_some()
    }

    /// Replaces the faults; returns the earlier ones.
    pub(crate) fn set_faults(&self, faults: Faults) -> Faults {
        std::mem::replace(&mut self.machine().faults, faults)
    }

    /// Whether a fault has occurred.
    pub(crate) fn has_failed(&self) -> bool {
        self.machine().faults.have_come()
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        self.machine().progress = progress;
    }

    /// Ends an appender as the kernel does: nothing that it does afterwards has an effect.
    pub(crate) fn kill<T>(&self, appender: T) {
        self.machine().is_dead = true;
        drop(appender);
        let mut machine = self.machine();
        (machine.is_dead, machine.is_locked) = (false, false);
    }

    /// Drops the pages that a failed sync left clean from memory: processes then see the disk's
    /// contents.
    pub(crate) fn evict(&self) {
        for file in &mut self.machine().files {
            for page in std::mem::take(&mut file.taken_clean) {
                for at in page * PAGE_WORDS..((page + 1) * PAGE_WORDS).min(file.words.len()) {
                    file.words[at].store(file.durable[at]);
                }
            }
        }
    }

    /// The words of a file, for changes by a test.
    pub(crate) fn words(&self, name: &str) -> Arc<[Word]> {
        let mut machine = self.machine();
        let file = machine.file(name).unwrap();
        Arc::clone(&machine.files[file].words)
    }

    /// Creates a file with these words.
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

    /// The name and the bytes of every file.
    pub(crate) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let machine = self.machine();
        let files = &machine.files;
        let named = |(name, &file): (&String, &usize)| (name.clone(), files[file].contents());
        machine.names.iter().map(named).collect()
    }
}

thread_local! {
    /// Whether this thread was registered: an appender's threads are watched from their first
    /// operation.
    static IS_KNOWN: Cell<bool> = const { Cell::new(false) };

    /// Whether this thread has locked a disk.
    static HAS_LOCKED: Cell<bool> = const { Cell::new(false) };
}

fn is_of_an_appender(thread: &std::thread::Thread) -> bool {
    thread.name().is_some_and(|name| name.starts_with("journal-"))
}

/// A disk that is locked by this thread. Watched threads do not store meanwhile.
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
