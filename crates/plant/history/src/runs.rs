//! The runs of plants in a journal, and the names of their stocks: the file `runs` in its folder.
//!
//! A journal stores what a ring published. The names of stocks are on the plant's board, which the
//! next run replaces. So a recorder also stores each run and each name, before the first record
//! that needs it. With this file an old journal is read by symbol from any position, and a run is
//! found without a search.
//! Layout: `docs/formats/journal.md`. Lines of text, each with a checksum.
//! Failure: reading ends at the first line that is invalid. What is before it is good, and the
//! error has the number of the line.

mod line;
mod log;

use std::{
    io,
    path::{Path, PathBuf},
};

use nanotape_journal::{JournalError, RUNS, Start, Tail, Tailer, read_beside};
use nanotape_market::StockDirectory;
use nanotape_records::{FIRST_TYPE_ID, Notice, PlantStart, RecordKinds};
use nanotape_types::{LocateTable, StockLocate, Symbol};

use crate::{SnapshotFile, Snapshots};
use line::Line;
pub use log::RunLog;
pub(crate) use log::{good_lines, set_aside};

/// The runs of a journal, the first one first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Runs(Vec<Run>);

/// One run of a plant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The sequence number of its start record. A journal whose recorder began later does not have
    /// that record.
    pub first_sequence: u64,
    /// Start time of the run, ns since the UNIX epoch.
    pub started_ns: u64,
    /// The exchange's midnight of the trade date, ns since the UNIX epoch.
    pub midnight_ns: u64,
    /// The trade date as the number YYYYMMDD.
    pub date: u32,
    /// DBN's number of the feed and the venue.
    pub publisher_id: u16,
    /// The kinds of records that the plant published.
    pub kinds: RecordKinds,
    /// The names of its stocks, as they became known. A later name of a stock replaces an earlier
    /// one.
    pub names: Vec<(StockLocate, Symbol)>,
}

/// Why the runs of a journal cannot be read or stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// A system call failed.
    #[error("cannot {operation} {}: {error}", path.display())]
    System {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A line is invalid.
    #[error(
        "{}, line {line}: not a run or a stock with its checksum; the runs and names from there on \
         are unknown",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl RunsError {
    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Journal(error) => error.is_bad_data(),
            Self::Line { .. } => true,
            Self::System { .. } => false,
        }
    }
}

impl Run {
    /// The run that begins with the record of this number.
    pub fn of(first_sequence: u64, start: &PlantStart) -> Self {
        Self {
            first_sequence,
            started_ns: start.started_ns,
            midnight_ns: start.midnight_ns,
            date: start.date,
            publisher_id: start.publisher_id,
            kinds: start.kinds,
            names: Vec::new(),
        }
    }

    /// The names by stock locate.
    pub fn directory(&self) -> StockDirectory {
        let mut directory = StockDirectory::default();
        self.names.iter().for_each(|&(locate, symbol)| directory.name(locate, symbol));
        directory
    }
}

impl Runs {
    /// Reads the runs of the journal in a folder; none if it has no such file.
    pub fn read(journal: &Path) -> Result<Self, RunsError> {
        let read = Read::of(&journal.join(RUNS))?;
        match read.damaged_line {
            None => Ok(read.runs),
            Some(line) => Err(RunsError::Line { path: journal.join(RUNS), line }),
        }
    }

    /// The same, but an invalid line only ends the reading. For damaged files, to use what is good.
    pub fn read_good(journal: &Path) -> Result<Self, RunsError> {
        Ok(Read::of(&journal.join(RUNS))?.runs)
    }

    /// Whether the file of a journal has a run that begins with this record.
    pub fn lists(journal: &Path, first_sequence: u64) -> bool {
        let runs = Self::read_good(journal);
        runs.is_ok_and(|runs| runs.iter().any(|run| run.first_sequence == first_sequence))
    }

    /// Whether the file of a journal is undamaged and names every stock of a snapshot.
    pub(crate) fn name_all_of(journal: &Path, snapshot: &SnapshotFile) -> bool {
        Read::of(&journal.join(RUNS)).is_ok_and(|read| read.names_all_of(snapshot))
    }

    /// The runs of the journal in a folder: as its recorder stored them, and if that is damaged or
    /// lacks what the last snapshot has, those whose start record it has. For these, all records
    /// are read.
    pub fn of_journal(journal: &Path) -> Result<Self, RunsError> {
        let read = Read::of(&journal.join(RUNS))?;
        let last = Snapshots::list(journal).ok().and_then(|all| all.last_in(0..u64::MAX));
        let has_last = last.is_none_or(|last| read.names_all_of(&last));
        if !read.runs.is_empty() && read.damaged_line.is_none() && has_last {
            return Ok(read.runs);
        }
        Ok(Self::of_starts(journal)?.with_stored(read.runs))
    }

    /// Adds what was stored: names, and runs whose start record is not there any more.
    fn with_stored(mut self, stored: Self) -> Self {
        let listed: Vec<u64> = stored.iter().map(|run| run.first_sequence).collect();
        for mut run in stored.0 {
            let next = self.0.iter().find(|found| found.first_sequence > run.first_sequence);
            if next.is_some_and(|next| !listed.contains(&next.first_sequence)) {
                // Names of the run that is not stored come after those of this one.
                let mut is_named = LocateTable::filled(false);
                run.names.retain(|(locate, _)| !std::mem::replace(&mut is_named[*locate], true));
            }
            let same = |found: &&mut Run| {
                (found.first_sequence, found.started_ns) == (run.first_sequence, run.started_ns)
            };
            match self.0.iter_mut().find(same) {
                Some(found) => found.names = run.names,
                None => self.0.push(run),
            }
        }
        self.0.sort_by_key(|run| run.first_sequence);
        self
    }

    /// The runs whose start record the journal has.
    fn of_starts(journal: &Path) -> Result<Self, RunsError> {
        let mut tailer = Tailer::open(journal, Start::Oldest)?;
        tailer.set_stops_at_end(true);
        let mut runs = Vec::new();
        loop {
            match tailer.next() {
                Ok(Tail::Excerpt(excerpt)) if excerpt.type_id() >= FIRST_TYPE_ID => {
                    let notice = Notice::decode(excerpt.type_id(), &excerpt.to_vec());
                    if let Some(Notice::Start(start)) = notice {
                        runs.push(Run::of(excerpt.sequence(), &start));
                    }
                }
                Ok(Tail::Excerpt(_) | Tail::Gap(_) | Tail::Reused(_)) => {}
                // Damage ends the search. A reader that gets as far as the damage reports it.
                Ok(Tail::Nothing) | Err(_) => return Ok(Self(runs)),
            }
        }
    }

    /// The run that the record of this number belongs to.
    pub fn of_sequence(&self, sequence: u64) -> Option<&Run> {
        self.0.iter().rev().find(|run| run.first_sequence <= sequence)
    }

    /// The sequence number of the start of the next run after this one.
    pub fn after(&self, run: &Run) -> Option<u64> {
        let mut starts = self.0.iter().map(|other| other.first_sequence);
        starts.find(|&first| first > run.first_sequence)
    }

    /// The runs, the first one first.
    pub fn iter(&self) -> std::slice::Iter<'_, Run> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Run(run) => {
                // A recorder that was killed before the start record writes the run again.
                self.0.retain(|earlier| earlier.first_sequence < run.first_sequence);
                self.0.push(run);
            }
            Line::Stock { locate, symbol } => {
                if let Some(run) = self.0.last_mut() {
                    run.names.push((locate, symbol));
                }
            }
        }
    }
}

impl FromIterator<Run> for Runs {
    fn from_iter<I: IntoIterator<Item = Run>>(runs: I) -> Self {
        Self(runs.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Runs {
    type Item = &'a Run;
    type IntoIter = std::slice::Iter<'a, Run>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The runs of all valid lines of a damaged file. After an invalid line that may have been a run,
/// names are not used up to the next one: it is not known whose they are.
pub(crate) fn salvaged(bytes: &[u8]) -> Runs {
    let (mut runs, mut is_known) = (Runs::default(), true);
    for text in bytes.split(|&byte| byte == b'\n').filter(|text| !text.is_empty()) {
        match Line::parse(text) {
            Some(line @ Line::Run(_)) => {
                is_known = true;
                runs.take(line);
            }
            Some(line) if is_known => runs.take(line),
            Some(_) => {}
            None => is_known &= text == line::TITLE.as_bytes() || line::was_stock(text),
        }
    }
    runs
}

/// What a file holds.
#[derive(Debug, Default)]
struct Read {
    runs: Runs,
    /// Bytes of the valid lines.
    good_bytes: usize,
    /// Bytes of the file.
    bytes: usize,
    /// The first complete line that is invalid, from 1.
    damaged_line: Option<usize>,
}

impl Read {
    fn of(path: &Path) -> Result<Self, RunsError> {
        match read_beside(path) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => {
                Err(RunsError::System { operation: "read", path: path.to_owned(), error })
            }
        }
    }

    /// Whether the file is undamaged, and has the run of a snapshot with a name for every stock.
    fn names_all_of(&self, snapshot: &SnapshotFile) -> bool {
        let moment = snapshot.moment();
        let is_of = |run: &&Run| {
            (run.first_sequence, run.started_ns) == (moment.first_sequence, moment.started_ns)
        };
        let run = self.runs.of_sequence(moment.sequence);
        let Some(run) = run.filter(is_of) else { return false };
        let names = run.directory();
        let market = StockLocate::default();
        let has_name = |locate| locate == market || names.symbol(locate).is_some();
        self.damaged_line.is_none() && snapshot.stocks().iter().all(|entry| has_name(entry.locate))
    }

    /// Reads complete lines. A line without its line feed is still being written, or was cut off.
    fn parse(bytes: &[u8]) -> Self {
        let mut read = Self { bytes: bytes.len(), ..Self::default() };
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        for (index, text) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
            let text = &text[..text.len() - 1];
            match Line::parse(text) {
                _ if index == 0 && text == line::TITLE.as_bytes() => {}
                Some(line) if index > 0 => read.runs.take(line),
                _ => {
                    read.damaged_line = Some(index + 1);
                    break;
                }
            }
            read.good_bytes += text.len() + 1;
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::NanosSinceMidnight;
    use proptest::prelude::*;

    use super::*;

    fn run(first_sequence: u64) -> Run {
        Run {
            publisher_id: 2,
            first_sequence,
            started_ns: 1_763_800_000_000_000_001,
            midnight_ns: 1_577_682_000_000_000_000 + NanosSinceMidnight::default().get(),
            date: 20_191_230,
            kinds: RecordKinds::USUAL,
            names: Vec::new(),
        }
    }

    fn text(lines: &[Line]) -> Vec<u8> {
        let mut bytes = format!("{}\n", line::TITLE).into_bytes();
        lines.iter().for_each(|line| bytes.extend_from_slice(line.text().as_bytes()));
        bytes
    }

    fn stock(locate: u16, symbol: [u8; 8]) -> Line {
        Line::Stock { locate: StockLocate::new(locate), symbol: Symbol::new(symbol) }
    }

    #[test]
    fn the_example_of_the_document_is_read() {
        let document = include_str!("../../../../docs/formats/journal.md");
        let (_, example) = document.split_once("```\nnanotape runs 1\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let bytes = format!("{}\n{example}", line::TITLE);
        let read = Read::parse(bytes.as_bytes());
        assert_eq!((read.damaged_line, read.runs.len()), (None, 1));
        assert_eq!(read.runs.0[0].names, [(StockLocate::new(13), "AAPL".parse().unwrap())]);
    }

    #[test]
    fn a_run_that_is_written_again_replaces_itself_and_later_ones() {
        let lines =
            [Line::Run(run(1)), stock(1, *b"A       "), Line::Run(run(9)), Line::Run(run(9))];
        let read = Read::parse(&text(&lines));
        assert_eq!(read.damaged_line, None);
        let starts: Vec<_> = read.runs.iter().map(|run| run.first_sequence).collect();
        assert_eq!(starts, [1, 9]);
        assert_eq!(read.runs.of_sequence(8).map(|run| run.names.len()), Some(1));
        assert_eq!(read.runs.after(&run(1)), Some(9));
        assert_eq!((read.runs.of_sequence(0), read.runs.after(&run(9))), (None, None));
    }

    #[test]
    fn a_changed_byte_ends_the_reading_at_its_line() {
        let lines = [Line::Run(run(1)), stock(1, *b"A       "), stock(2, *b"BB      ")];
        let good = text(&lines);
        let starts: Vec<_> =
            (0..good.len()).filter(|&at| at == 0 || good[at - 1] == b'\n').collect();
        for at in 0..good.len() - 1 {
            let mut bad = good.clone();
            bad[at] ^= 1;
            let line = starts.iter().filter(|&&start| start <= at).count();
            let read = Read::parse(&bad);
            // A line feed that was changed joins two lines.
            assert_eq!(read.damaged_line, Some(line), "byte {at}");
            assert_eq!(read.good_bytes, starts[line - 1]);
        }
    }

    proptest! {
        #[test]
        fn any_name_is_read_as_it_was_written(
            names in prop::collection::vec((any::<u16>(), any::<[u8; 8]>()), 0..20)
        ) {
            let mut lines = vec![Line::Run(run(5))];
            lines.extend(names.iter().map(|&(locate, symbol)| stock(locate, symbol)));
            let bytes = text(&lines);
            let read = Read::parse(&bytes);
            let expected: Vec<_> = names
                .iter()
                .map(|&(locate, symbol)| (StockLocate::new(locate), Symbol::new(symbol)))
                .collect();
            prop_assert_eq!(read.damaged_line, None);
            prop_assert_eq!(&read.runs.0[0].names, &expected);
            // Cut off anywhere, it gives what is whole.
            for cut in 0..bytes.len() {
                let read = Read::parse(&bytes[..cut]);
                prop_assert_eq!(read.damaged_line, None);
                prop_assert!(read.good_bytes <= cut);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let read = Read::parse(&bytes);
            prop_assert!(read.good_bytes <= read.bytes);
        }
    }
}
