//! Upkeep on a disk where the n-th operation and all later ones fail, as if the process were killed
//! there.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use nanotape_harness::Scratch;
use nanotape_journal::{
    CompressOptions, Disk, Folder, JournalError, Listed, Preallocation, PruneOptions, compress_on,
    prune_on, repair_on, uncompress_on,
};
use nanotape_shm::RegionError;

use crate::damage::{self, Record, assert_clean, lengths, read};

/// A folder in which changing operations fail, from a given one on.
#[derive(Clone, Debug)]
struct Failing {
    folder: Folder,
    left: Arc<Mutex<u64>>,
}

impl Failing {
    fn new(path: &Path, operations: u64) -> Self {
        Self { folder: Folder::new(path, 0o600), left: Arc::new(Mutex::new(operations)) }
    }

    fn then<T>(&self, operation: impl FnOnce(&Folder) -> io::Result<T>) -> io::Result<T> {
        let mut left = self.left.lock().unwrap();
        let Some(less) = left.checked_sub(1) else { return Err(io::ErrorKind::StorageFull.into()) };
        *left = less;
        operation(&self.folder)
    }
}

impl Disk for Failing {
    type Writable = <Folder as Disk>::Writable;
    type Readable = <Folder as Disk>::Readable;
    type Lock = <Folder as Disk>::Lock;

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }
    fn make(&self) -> io::Result<()> {
        self.then(|folder| folder.make())
    }
    fn list(&self) -> io::Result<Vec<Listed>> {
        self.folder.list()
    }
    fn lock(&self) -> Result<Self::Lock, RegionError> {
        self.folder.lock()
    }
    fn create(&self, name: &str, bytes: u64, space: Preallocation) -> io::Result<Self::Writable> {
        self.then(|folder| folder.create(name, bytes, space))
    }
    fn open(&self, name: &str, bytes: u64) -> io::Result<Self::Writable> {
        self.then(|folder| folder.open(name, bytes))
    }
    fn view(&self, name: &str) -> io::Result<Self::Readable> {
        self.folder.view(name)
    }
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.folder.read(name)
    }
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.then(|folder| folder.write(name, bytes))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.then(|folder| folder.rename(from, to))
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.then(|folder| folder.remove(name))
    }
    fn shrink(&self, name: &str, bytes: u64) -> io::Result<()> {
        self.then(|folder| folder.shrink(name, bytes))
    }
    fn store(&self, name: &str, word: usize, value: u64) -> io::Result<()> {
        self.then(|folder| folder.store(name, word, value))
    }
    fn sync(&self, name: &str) -> io::Result<()> {
        self.then(|folder| folder.sync(name))
    }
    fn sync_names(&self) -> io::Result<()> {
        self.then(|folder| folder.sync_names())
    }
    fn free_bytes(&self) -> u64 {
        self.folder.free_bytes()
    }
    fn boot(&self) -> u64 {
        self.folder.boot()
    }
}

/// Repeats an operation with one more successful disk operation each time, until it passes; then
/// returns the number.
fn until_it_passes<T: fmt::Debug>(
    prepare: impl Fn(&Path) -> Vec<Record>,
    work: impl Fn(&Failing) -> Result<T, JournalError>,
    check: impl Fn(&Path, &[Record], bool),
) -> u64 {
    for operations in 0.. {
        let place = Scratch::new("faults");
        let records = prepare(place.path());
        let outcome = work(&Failing::new(place.path(), operations));
        if let Err(error) = &outcome {
            assert_eq!(error.to_string().lines().count(), 1);
        }
        check(place.path(), &records, outcome.is_ok());
        // The next run does the rest, with the same result as an uninterrupted one.
        work(&Failing::new(place.path(), u64::MAX)).unwrap();
        check(place.path(), &records, true);
        if outcome.is_ok() {
            return operations;
        }
    }
    unreachable!("it passes")
}

#[test]
fn a_compression_that_fails_anywhere_loses_nothing_and_can_be_gone_on_with() {
    let operations = until_it_passes(
        |path| damage::write(path, &lengths(3, 1)),
        |disk| compress_on(disk, &CompressOptions::default(), |_, _| ()),
        |path, records, is_done| {
            assert_eq!(read(path), records);
            assert_clean(path);
            assert!(!is_done || damage::segments(path).len() == 1);
        },
    );
    assert!(operations >= 10, "{operations}");
}

#[test]
fn an_unpacking_that_fails_anywhere_loses_nothing_and_can_be_gone_on_with() {
    let operations = until_it_passes(
        |path| {
            let records = damage::write(path, &lengths(3, 1));
            nanotape_journal::compress(path, &CompressOptions::default(), |_, _| ()).unwrap();
            records
        },
        |disk| uncompress_on(disk, |_, _| ()),
        |path, records, is_done| {
            assert_eq!(read(path), records);
            assert_clean(path);
            assert!(!is_done || damage::segments(path).len() >= 3);
        },
    );
    assert!(operations >= 10, "{operations}");
}

#[test]
fn a_pruning_that_fails_anywhere_leaves_a_journal_of_the_newest() {
    let options = PruneOptions { keep_bytes: Some(0), ..PruneOptions::default() };
    until_it_passes(
        |path| damage::write(path, &lengths(4, 1)),
        |disk| prune_on(disk, &options, Vec::new()),
        |path, records, is_done| {
            let left = read(path);
            assert!(records.ends_with(&left));
            assert!(!left.is_empty());
            assert_clean(path);
            assert!(!is_done || damage::segments(path).len() == 1);
        },
    );
}

#[test]
fn a_repair_that_fails_anywhere_can_be_gone_on_with() {
    let damaged = |records: &[Record]| vec![records[3].sequence, records.last().unwrap().sequence];
    let operations = until_it_passes(
        |path| {
            let records = damage::write(path, &lengths(3, 1));
            for record in [&records[3], records.last().unwrap()] {
                damage::flip(path, record.segment, record.offset + 9, 1);
            }
            damage::flip(path, 2, 40, 1);
            records
        },
        |disk| repair_on(disk, false, |_, _| ()),
        |path, records, is_done| {
            if is_done {
                assert_clean(path);
                let lost = damaged(records);
                let left = records.iter().filter(|record| !lost.contains(&record.sequence));
                assert_eq!(read(path), left.cloned().collect::<Vec<_>>());
                assert!(!damage::cut(path).is_empty());
            }
        },
    );
    assert!(operations >= 8, "{operations}");
}
