//! Writes the runs and names of a journal, line by line.
//!
//! Protocol: one recorder writes the file, since it holds the lock of the journal's appender. A
//! line is written with one system call. Readers ignore a line without its line feed.
//! Failure: a recorder that was killed leaves at most one incomplete line, which the next one
//! removes. Lines after damage are moved to the folder `cut`, never deleted.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use nanotape_journal::{Folder, QUARANTINE, RUNS};
use nanotape_types::{LocateTable, Maybe, Sentinel as _, StockLocate, Symbol};

use super::{
    Read, Run, Runs, RunsError,
    line::{Line, TITLE},
};

/// The writer of the runs of a journal.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: File,
    /// The first record of the current run; 0 if there is none.
    first_sequence: u64,
    started_ns: u64,
    known: LocateTable<Maybe<Symbol>>,
    /// Where the part after damage was moved to.
    moved: Option<PathBuf>,
}

impl RunLog {
    /// Opens the file in the folder of a journal, or creates it. The caller holds the lock of the
    /// journal's appender.
    pub fn open(journal: &Path, mode: u32) -> Result<Self, RunsError> {
        let (path, files) = (journal.join(RUNS), Folder::new(journal, mode));
        let system = |operation, path: &Path| {
            let path = path.to_owned();
            move |error| RunsError::System { operation, path, error }
        };
        let read = Read::of(&path)?;
        let moved = match read.damaged_line {
            Some(_) => Some(set_aside(&files, &path).map_err(system("move", &path))?),
            None => None,
        };
        let mut file = files.append_to(RUNS).map_err(system("open", &path))?;
        if moved.is_some() {
            file.write_all(&good_lines(&read.runs)).map_err(system("write", &path))?;
        } else if read.good_bytes < read.bytes {
            file.set_len(read.good_bytes as u64).map_err(system("truncate", &path))?;
        }
        if read.good_bytes == 0 && moved.is_none() {
            file.write_all(format!("{TITLE}\n").as_bytes()).map_err(system("write", &path))?;
        }
        let mut log = Self {
            path,
            file,
            first_sequence: 0,
            started_ns: 0,
            known: LocateTable::filled(Maybe::NONE),
            moved,
        };
        if let Some(last) = read.runs.0.last() {
            log.enter(last);
        }
        Ok(log)
    }

    /// The copy of a damaged file, if it was damaged.
    pub fn moved(&self) -> Option<&Path> {
        self.moved.as_deref()
    }

    /// A run begins, or has begun: stores it, unless it is the current one.
    pub fn begin(&mut self, run: &Run) -> Result<(), RunsError> {
        if (self.first_sequence, self.started_ns) == (run.first_sequence, run.started_ns) {
            return Ok(());
        }
        self.known.fill(Maybe::NONE);
        self.enter(run);
        self.write(&Line::Run(Run { names: Vec::new(), ..run.clone() }))?;
        run.names.iter().try_for_each(|&(locate, symbol)| self.name(locate, symbol))
    }

    /// Whether a name of the stock is stored.
    #[inline]
    pub fn is_named(&self, locate: StockLocate) -> bool {
        self.known[locate].is_some()
    }

    /// Stores the name of a stock of the current run, unless it is stored.
    pub fn name(&mut self, locate: StockLocate, symbol: Symbol) -> Result<(), RunsError> {
        if self.known[locate].get() == Some(symbol) || symbol == Symbol::ABSENT {
            return Ok(());
        }
        self.known[locate] = Maybe::of(symbol);
        self.write(&Line::Stock { locate, symbol })
    }

    fn enter(&mut self, run: &Run) {
        (self.first_sequence, self.started_ns) = (run.first_sequence, run.started_ns);
        for &(locate, symbol) in &run.names {
            self.known[locate] = Maybe::of(symbol);
        }
    }

    fn write(&mut self, line: &Line) -> Result<(), RunsError> {
        self.file.write_all(line.text().as_bytes()).map_err(|error| RunsError::System {
            operation: "write",
            path: self.path.clone(),
            error,
        })
    }
}

/// The lines of runs, with the title.
pub(crate) fn good_lines(runs: &Runs) -> Vec<u8> {
    let mut bytes = format!("{TITLE}\n").into_bytes();
    for run in runs {
        bytes.extend_from_slice(Line::Run(run.clone()).text().as_bytes());
        for &(locate, symbol) in &run.names {
            bytes.extend_from_slice(Line::Stock { locate, symbol }.text().as_bytes());
        }
    }
    bytes
}

/// Moves a file to the first free name in the folder `cut`.
pub(crate) fn set_aside(files: &Folder, path: &Path) -> io::Result<PathBuf> {
    let folder = files.folder(QUARANTINE)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let free = (1_u32..).map(|number| folder.join(format!("{name}-{number}")));
    let to = free.into_iter().find(|path| !path.exists()).unwrap_or_else(|| folder.join(RUNS));
    fs::rename(path, &to)?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;
    use nanotape_records::RecordKinds;

    use super::*;

    fn run(first_sequence: u64) -> Run {
        Run {
            publisher_id: 2,
            first_sequence,
            started_ns: first_sequence + 7,
            midnight_ns: 3,
            date: 20_191_230,
            kinds: RecordKinds::ALL,
            names: Vec::new(),
        }
    }

    fn symbol(text: &str) -> Symbol {
        text.parse().unwrap()
    }

    #[test]
    fn a_log_continues_where_an_earlier_one_ended_or_was_cut_off() {
        let folder = Scratch::folder("run_log");
        let (one, two) = (StockLocate::new(1), StockLocate::new(2));
        {
            let mut log = RunLog::open(folder.path(), 0o600).unwrap();
            log.begin(&run(1)).unwrap();
            log.name(one, symbol("A")).unwrap();
            log.name(one, symbol("A")).unwrap();
        }
        let path = folder.join(RUNS);
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut log = RunLog::open(folder.path(), 0o600).unwrap();
            assert_eq!(log.moved(), None, "{cut}");
            log.begin(&run(1)).unwrap();
            log.name(one, symbol("A")).unwrap();
            assert!(log.is_named(one) && !log.is_named(two));
            log.begin(&run(9)).unwrap();
            assert!(!log.is_named(one));
            log.name(two, symbol("B")).unwrap();
            let runs = Runs::read(folder.path()).unwrap();
            assert_eq!(runs.len(), 2, "{cut}");
            assert_eq!(runs.0[0].names, [(one, symbol("A"))]);
            assert_eq!(runs.0[1].names, [(two, symbol("B"))]);
        }
    }

    #[test]
    fn a_damaged_file_is_kept_and_its_good_lines_are_used() {
        let folder = Scratch::folder("run_log_damaged");
        let mut log = RunLog::open(folder.path(), 0o600).unwrap();
        log.begin(&run(1)).unwrap();
        log.name(StockLocate::new(1), symbol("A")).unwrap();
        log.name(StockLocate::new(2), symbol("B")).unwrap();
        drop(log);
        let path = folder.join(RUNS);
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 4;
        bytes[last] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(Runs::read(folder.path()), Err(RunsError::Line { line: 4, .. })));
        assert_eq!(Runs::read_good(folder.path()).unwrap().0[0].names.len(), 1);
        let log = RunLog::open(folder.path(), 0o600).unwrap();
        assert_eq!(fs::read(log.moved().unwrap()).unwrap(), bytes);
        assert_eq!(Runs::read(folder.path()).unwrap().0[0].names.len(), 1);
    }
}
