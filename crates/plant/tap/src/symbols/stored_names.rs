//! The names of stocks beside a journal, read again when the recorder has stored more.
//!
//! Cost: a stock whose name is not stored makes one system call, once for each run. In a run that
//! is not stored, one of 1,024 searches does.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nanotape_history::{Run, Runs};
use nanotape_journal::RUNS;
use nanotape_market::StockDirectory;
use nanotape_types::{LocateTable, StockLocate, Symbol};

/// Searches for a name, in a run that is not stored, for each look at the file.
const SEARCHES_PER_READING: u32 = 1_024;

/// The names of the runs of a journal.
#[derive(Debug)]
pub(super) struct StoredNames {
    journal: PathBuf,
    runs: Runs,
    /// Bytes of the file when it was read.
    bytes: u64,
    /// The first record of the run whose names are in `names`.
    first_sequence: u64,
    names: StockDirectory,
    /// Whether a missing name was searched for in this run.
    is_missing: LocateTable<bool>,
    /// Searches for names in a run that the file does not have.
    unknown: u32,
}

impl StoredNames {
    pub(super) fn of(journal: &Path) -> Self {
        let mut stored = Self {
            journal: journal.to_owned(),
            runs: Runs::default(),
            bytes: 0,
            first_sequence: 0,
            names: StockDirectory::default(),
            is_missing: LocateTable::filled(false),
            unknown: 0,
        };
        stored.read_again();
        stored
    }

    /// The name of a stock in the run of a record.
    #[cold]
    pub(super) fn symbol(&mut self, locate: StockLocate, sequence: u64) -> Option<Symbol> {
        if !self.enter(sequence) {
            return None;
        }
        if let Some(symbol) = self.names.symbol(locate) {
            return Some(symbol);
        }
        if std::mem::replace(&mut self.is_missing[locate], true) || !self.read_again() {
            return None;
        }
        self.names = self.directory(sequence);
        self.names.symbol(locate)
    }

    /// Whether two records belong to the same run.
    pub(super) fn is_one_run(&mut self, from: u64, to: u64) -> bool {
        self.read_again();
        let first = |sequence| self.runs.of_sequence(sequence).map(|run| run.first_sequence);
        first(from).is_some() && first(from) == first(to)
    }

    /// The exchange's midnight of the run of a record.
    pub(super) fn midnight_ns(&self, sequence: u64) -> Option<u64> {
        self.runs.of_sequence(sequence).map(|run| run.midnight_ns)
    }

    /// DBN's number of the feed and the venue of the run of a record.
    pub(super) fn publisher_id(&self, sequence: u64) -> Option<u16> {
        self.runs.of_sequence(sequence).map(|run| run.publisher_id)
    }

    /// All names of the run of a record.
    pub(super) fn directory(&self, sequence: u64) -> StockDirectory {
        self.runs.of_sequence(sequence).map(Run::directory).unwrap_or_default()
    }

    /// Uses the names of the run of a record; `false` if the file does not have the run.
    fn enter(&mut self, sequence: u64) -> bool {
        let first = |runs: &Runs| runs.of_sequence(sequence).map_or(0, |run| run.first_sequence);
        if first(&self.runs) == 0 {
            // Each record of the run asks. The recorder may still write the run.
            let is_due = self.unknown.is_multiple_of(SEARCHES_PER_READING);
            self.unknown = self.unknown.wrapping_add(1);
            if !is_due || !self.read_again() || first(&self.runs) == 0 {
                return false;
            }
        }
        if first(&self.runs) != self.first_sequence {
            self.read_again();
            self.first_sequence = first(&self.runs);
            self.names = self.directory(sequence);
            self.is_missing.fill(false);
        }
        self.first_sequence > 0
    }

    /// Reads the file if it has grown. Returns whether it was read.
    fn read_again(&mut self) -> bool {
        let bytes = fs::metadata(self.journal.join(RUNS)).map_or(0, |metadata| metadata.len());
        let has_grown = bytes != self.bytes;
        if has_grown {
            self.bytes = bytes;
            // Names of damaged lines are unknown; `journal verify` reports them.
            self.runs = Runs::read_good(&self.journal).unwrap_or_default();
        }
        has_grown
    }
}
