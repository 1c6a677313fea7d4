//! A disk that remembers what was synced, and forgets any part of the rest when the power fails.
//!
//! A file has what processes see (words in memory that all its mappings share) and what is on the
//! disk. `sync` makes the second like the first; at any other moment pages may be written back,
//! between two stores of an append too. Names are like that as well: what was done to them since
//! `sync_names` is on the disk in part.
//!
//! After a sync that failed, pages are taken as clean that are not on the disk, as Linux does. Only
//! a store makes such a page dirty again, whatever the value: the watcher of `kill_points` sees
//! every store of the test's thread, and of those that an appender starts, with its address, so
//! that this is exact.
//!
//! A page that is evicted after a failed sync, and read back as it was before, is modelled only
//! where a test says so: see `evict`.
//!
//! Not modelled: the SIGBUS behind the end of a file that was cut (a mapping keeps its words); a
//! folder whose sync failed and whose names are then taken as written; that `sync` of a file makes
//! its name durable too, which some file systems do.

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

fn not_found() -> io::Error {
    rustix::io::Errno::NOENT.into()
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
    /// Whether this thread was looked at: those of an appender are watched from their first
    /// operation on.
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
