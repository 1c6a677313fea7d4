//! Readers of a journal while other actors change it: at every operation of the disk another actor
//! takes a step.

use std::{
    fmt, io,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use nanotape_harness::campaign;
use nanotape_journal::{
    Appender, CompressOptions, Disk, Listed, Preallocation, PruneOptions, ReadableFile, RollCycle,
    Start, SyncPolicy, Tailer, Verified, WritableFile, compress_on, prune_on, uncompress_on,
    verify_on,
};
use nanotape_shm::{ReadWord, Word};

use crate::simulated::{
    dice::Dice,
    disk::{Lock, Mapped, SimulatedDisk},
    history::options,
    reading::read_all,
};

type Step = Arc<Mutex<dyn FnMut(&str) + Send>>;

/// A disk with other actors: before each reading operation they take a step.
#[derive(Clone)]
struct Busy {
    disk: SimulatedDisk,
    step: Step,
    /// Whether the next mapped file is cut while it is read.
    is_cut_next: Arc<AtomicBool>,
}

impl fmt::Debug for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Busy")
    }
}

/// A mapping of this disk.
#[derive(Debug)]
struct BusyFile {
    mapped: Mapped,
    is_lost: bool,
}

impl Busy {
    fn new(disk: &SimulatedDisk, step: impl FnMut(&str) + Send + 'static) -> Self {
        let (disk, step) = (disk.clone(), Arc::new(Mutex::new(step)));
        Self { disk, step, is_cut_next: Arc::default() }
    }

    fn step(&self, what: &str) {
        (self.step.lock().unwrap())(what);
    }
}

impl Disk for Busy {
    type Writable = BusyFile;
    type Readable = BusyFile;
    type Lock = Lock;

    nanotape_harness::forward_to!(disk);

    fn list(&self) -> io::Result<Vec<Listed>> {
        self.step("list");
        self.disk.list()
    }

    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<BusyFile> {
        self.disk.create(name, bytes, space).map(|mapped| BusyFile { mapped, is_lost: false })
    }

    fn open(&self, name: &str, bytes: u64) -> io::Result<BusyFile> {
        self.disk.open(name, bytes).map(|mapped| BusyFile { mapped, is_lost: false })
    }

    fn view(&self, name: &str) -> io::Result<BusyFile> {
        self.step(name);
        let is_lost = self.is_cut_next.swap(false, Ordering::Relaxed);
        self.disk.view(name).map(|mapped| BusyFile { mapped, is_lost })
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.step(name);
        self.disk.read(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step("rename");
        self.disk.rename(from, to)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.disk.sync(name)
    }
}

impl WritableFile for BusyFile {
    fn words(&self) -> &[Word] {
        WritableFile::words(&self.mapped)
    }

    fn sync(&self, words: Range<usize>) -> io::Result<()> {
        self.mapped.sync(words)
    }
}

impl ReadableFile for BusyFile {
    fn words(&self) -> &[ReadWord] {
        ReadableFile::words(&self.mapped)
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn is_at(&self, name: &str) -> bool {
        self.mapped.is_at(name)
    }
}

/// A journal of some segments, and its appender.
fn journal(count: u64) -> (SimulatedDisk, Appender<SimulatedDisk>) {
    let disk = SimulatedDisk::new(11);
    let options = options(SyncPolicy::Never, RollCycle::Size);
    let mut appender = Appender::open_on(disk.clone(), &options).unwrap();
    append(&mut appender, count);
    (disk, appender)
}

fn append(appender: &mut Appender<SimulatedDisk>, count: u64) {
    for _ in 0..count {
        let sequence = appender.next_sequence();
        appender.append(1, sequence, &[sequence as u8; 3000]).unwrap();
    }
}

fn check(verified: &Verified, what: impl fmt::Debug) {
    let is_good = verified.is_clean() && verified.missing == 0;
    assert!(is_good, "{what:?}: {:?}", verified.findings);
}

/// The same, with a prepared segment after the last one, as a pretoucher creates it.
fn journal_with_spare(count: u64) -> (SimulatedDisk, Appender<SimulatedDisk>) {
    let (disk, mut appender) = journal(count);
    let end = Tailer::open_on(disk.clone(), Start::Newest).unwrap().position();
    appender.roll().unwrap();
    let spare = appender.segment();
    disk.kill(appender);
    disk.words(&name(spare))[11..].iter().for_each(|word| word.store(0));
    let mark = usize::try_from(end.1).unwrap() / 8;
    disk.words(&name(end.0))[mark..mark + 3].iter().for_each(|word| word.store(0));
    let options = options(SyncPolicy::Never, RollCycle::Size);
    let appender = Appender::open_on(disk.clone(), &options).unwrap();
    assert_eq!((appender.segment(), appender.next_sequence()), (end.0, count + 1));
    (disk, appender)
}

fn name(number: u64) -> String {
    format!("{number:010}.segment")
}

#[test]
fn excerpts_that_are_appended_while_the_last_segment_is_left_are_not_missing() {
    for at in 0..24 {
        let (disk, mut appender) = journal_with_spare(30);
        let mut calls = 0;
        let busy = Busy::new(&disk, move |_| {
            calls += 1;
            if calls == at {
                append(&mut appender, 40);
            }
        });
        let verified = verify_on(&busy, |_, _| ()).unwrap();
        check(&verified, at);
        assert_eq!(verified.next_sequence, verified.first_sequence + verified.excerpts);
    }
}

#[test]
fn a_file_whose_end_is_given_back_while_it_is_read_is_read_again() {
    let (disk, _appender) = journal(50);
    let busy = Busy::new(&disk, |_| ());
    let calm = verify_on(&busy, |_, _| ()).unwrap();
    for cut_at in 0..30 {
        let (is_cut_next, mut views) = (Arc::<AtomicBool>::default(), 0);
        let within = Arc::clone(&is_cut_next);
        let mut busy = Busy::new(&disk, move |name| {
            views += u64::from(name != "list");
            within.store(views == cut_at, Ordering::Relaxed);
        });
        busy.is_cut_next = is_cut_next;
        let verified = verify_on(&busy, |_, _| ()).unwrap();
        assert_eq!(verified, calm, "cut in view {cut_at}");
    }
}

#[test]
fn what_is_pruned_while_it_is_verified_is_not_missing() {
    for at in 0..24 {
        let (disk, _appender) = journal(120);
        let (within, mut calls) = (disk.clone(), 0);
        let busy = Busy::new(&disk, move |_| {
            calls += 1;
            if calls == at {
                let options = PruneOptions { before_sequence: Some(60), ..PruneOptions::default() };
                prune_on(&within, &options, Vec::new()).unwrap();
            }
        });
        check(&verify_on(&busy, |_, _| ()).unwrap(), at);
    }
}

#[test]
fn an_appender_that_opens_meanwhile_does_not_stop_an_unpacking() {
    let (disk, appender) = journal(60);
    disk.kill(appender);
    compress_on(&disk, &CompressOptions::default(), |_, _| ()).unwrap();
    let (within, mut appender) = (disk.clone(), None);
    let busy = Busy::new(&disk, move |what| {
        if what == "rename" {
            let options = options(SyncPolicy::Never, RollCycle::Size);
            drop(appender.take());
            appender.replace(Appender::open_on(within.clone(), &options).unwrap());
        }
    });
    let unpacked = uncompress_on(&busy, |_, _| ()).unwrap();
    assert!(unpacked.len() > 1);
    assert_eq!(read_all(&disk).unwrap().len(), 60);
}

/// Random steps of other actors before a read.
fn disturb(disk: &SimulatedDisk, appender: &mut Appender<SimulatedDisk>, dice: &mut Dice) {
    match dice.below(12) {
        0..5 => append(appender, dice.below(30)),
        5 => appender.roll().unwrap(),
        6 => drop(compress_on(disk, &CompressOptions::default(), |_, _| ()).unwrap()),
        7 => drop(uncompress_on(disk, |_, _| ()).unwrap()),
        8 => {
            let before = appender.next_sequence().saturating_sub(60);
            let options = PruneOptions { before_sequence: Some(before), ..PruneOptions::default() };
            drop(prune_on(disk, &options, Vec::new()).unwrap());
        }
        _ => {}
    }
}

#[test]
fn a_healthy_journal_is_found_healthy_whatever_others_do_meanwhile() {
    for seed in 1..=campaign(60) {
        let mut dice = Dice::new(seed);
        let (disk, mut appender) = journal_with_spare(1 + dice.below(120));
        let within = disk.clone();
        let busy = Busy::new(&disk, move |_| disturb(&within, &mut appender, &mut dice));
        let verified = verify_on(&busy, |_, _| ()).unwrap();
        check(&verified, seed);
    }
}
