//! One run in a journal as a stream of records: from its start, or from the last snapshot before a
//! moment; of all stocks, or of some.
//!
//! Where: between a journal and a [`RecordedRun`](crate::RecordedRun).
//! Protocol: a stream that begins with a snapshot first has the start of the run, then what was
//! lost before the snapshot, then its orders as records, and then the records after it.
//! Cost: records of other stocks are skipped in place, after their checksums were verified.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_journal::{Excerpt, JournalError, Start, Tailer, TailerSource};
use nanotape_records::{FIRST_TYPE_ID, Notice, PlantStart, Predecessor, RecordKind, Taint};
use nanotape_tape::{Message, Progress, Tape as _};
use nanotape_types::{LocateTable, StockLocate, Symbol};

use crate::{
    Entry, Moment, RecordStream, Run, Runs, SnapshotError, SnapshotFile, Snapshots,
    snapshot::SnapshotRecords,
};

/// The type of notices about one stock.
const TAINT: u16 = FIRST_TYPE_ID + 1;

/// What is needed of a run.
#[derive(Clone, Debug)]
pub struct RunSpan {
    /// The books are needed from this moment on, in ns since the UNIX epoch; earlier events are
    /// not. `None`: all events since the start of the run.
    pub books_at_ns: Option<u64>,
    /// Nothing is needed after this moment.
    pub until_ns: u64,
    /// The stocks; empty: all of them.
    pub symbols: Vec<Symbol>,
}

impl Default for RunSpan {
    fn default() -> Self {
        Self { books_at_ns: None, until_ns: u64::MAX, symbols: Vec::new() }
    }
}

/// A run in a journal, or a part of it.
#[derive(Debug)]
pub struct JournalRun {
    journal: PathBuf,
    /// The start of the next run, if it is known.
    next_run: Option<u64>,
    source: TailerSource,
    opening: Option<Opening>,
    /// The stocks whose records are read; `None`: all.
    only: Option<LocateTable<bool>>,
    /// Whether insides and trades are skipped: they follow from the order records.
    has_orders: bool,
    until_ns: u64,
}

/// What comes before the first record of the journal.
#[derive(Debug)]
struct Opening {
    run: Run,
    has_begun: bool,
    records: SnapshotRecords,
}

/// Why a run in a journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalRunError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl JournalRunError {
    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Journal(error) => error.is_bad_data(),
            Self::Snapshot(error) => error.is_bad_data(),
        }
    }
}

impl JournalRun {
    /// Opens a run of a journal; `None` for the runs is that of a journal without a start record.
    pub fn open(
        journal: &Path,
        runs: &Runs,
        run: Option<&Run>,
        span: &RunSpan,
    ) -> Result<Self, JournalRunError> {
        let only = run.and_then(|run| locates(run, &span.symbols));
        let snapshot = match (run, span.books_at_ns) {
            (Some(run), Some(at_ns)) => {
                let end = runs.after(run).unwrap_or(u64::MAX);
                last_of(&Snapshots::list(journal)?, run, end, at_ns)
            }
            _ => None,
        };
        let after_snapshot = snapshot.as_ref().map(SnapshotFile::next_sequence);
        let first = after_snapshot.or(run.map(|run| run.first_sequence));
        let start = first.map_or(Start::Oldest, Start::Sequence);
        let mut tailer = Tailer::open(journal, start)?;
        tailer.set_stops_at_end(true);
        let source = TailerSource::new(tailer);
        let opening = run.zip(snapshot).map(|(run, snapshot)| Opening::of(run, snapshot, &only));
        let has_orders = run.is_some_and(|run| run.kinds.has(RecordKind::Mbo));
        let journal = journal.to_owned();
        let next_run = run.and_then(|run| runs.after(run));
        Ok(Self { journal, next_run, source, opening, only, has_orders, until_ns: span.until_ns })
    }

    /// The folder of the journal.
    pub fn journal(&self) -> &Path {
        &self.journal
    }

    /// Whether a run that begins with this record was known, or is listed now.
    pub fn knows(&self, next_run: u64) -> bool {
        self.next_run == Some(next_run) || Runs::lists(&self.journal, next_run)
    }

    /// The position of the snapshot that the stream begins with.
    pub fn snapshot(&self) -> Option<&Moment> {
        self.opening.as_ref().map(|opening| opening.records.file().moment())
    }

    /// The sequence number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.source.next_sequence()
    }

    /// The sequence number after the current last record of the journal.
    pub fn end(&self) -> Result<u64, JournalError> {
        self.source.end()
    }
}

/// The last snapshot of a run before `end` and up to a moment. One of another run is that of a run
/// which the list of runs lacks.
fn last_of(all: &Snapshots, run: &Run, mut end: u64, at_ns: u64) -> Option<SnapshotFile> {
    loop {
        let file = all.last_named_until(run.first_sequence..end, at_ns)?;
        match file.moment().first_sequence {
            first if first <= run.first_sequence => return Some(file),
            first => end = first,
        }
    }
}

/// The stock locates of these symbols; `None` if all stocks are needed, or one is a pattern or not
/// known.
fn locates(run: &Run, symbols: &[Symbol]) -> Option<LocateTable<bool>> {
    if symbols.is_empty() || symbols.iter().any(|symbol| symbol.is_pattern()) {
        return None;
    }
    let directory = run.directory();
    let mut only = LocateTable::filled(false);
    // Records about the whole market.
    only[StockLocate::default()] = true;
    for &symbol in symbols {
        only[directory.locate(symbol)?] = true;
    }
    Some(only)
}

impl RecordStream for JournalRun {
    type Error = JournalRunError;

    fn poll(
        &mut self,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, JournalRunError> {
        if let Some(opening) = &mut self.opening {
            let progress = opening.poll(visit)?;
            if progress == Progress::Nothing {
                self.opening = None;
                return Ok(Progress::Read);
            }
            return Ok(progress);
        }
        let Self { source, only, until_ns, has_orders, .. } = self;
        let is_wanted = |excerpt: &Excerpt<'_>| match only {
            _ if *has_orders && is_derived(excerpt.type_id()) => false,
            None => true,
            Some(only) => is_wanted(excerpt, only, *until_ns),
        };
        Ok(source.poll_where(is_wanted, |item| visit(Entry::Item(item)))?)
    }
}

/// Whether records of a type follow from order records.
#[inline]
fn is_derived(type_id: u16) -> bool {
    const BBO: u16 = RecordKind::Bbo.type_id();
    const TRADES: u16 = RecordKind::Trades.type_id();
    matches!(type_id, BBO | TRADES)
}

/// Whether a record is of a wanted stock, is a notice, or is the first one after the span, which
/// ends the reading.
#[inline]
fn is_wanted(excerpt: &Excerpt<'_>, only: &LocateTable<bool>, until_ns: u64) -> bool {
    let words = excerpt.words();
    let (Some(first), Some(ts_event)) = (words.first(), words.get(1)) else { return true };
    let ts_event = ts_event.load();
    match u16::try_from(first.load() >> 32) {
        Ok(locate) if only[StockLocate::new(locate)] => true,
        _ if excerpt.type_id() >= FIRST_TYPE_ID => excerpt.type_id() != TAINT,
        _ => ts_event > until_ns && ts_event != u64::MAX,
    }
}

impl Opening {
    fn of(run: &Run, file: SnapshotFile, only: &Option<LocateTable<bool>>) -> Self {
        let is_wanted = |locate| only.as_ref().is_none_or(|only| only[locate]);
        let records = SnapshotRecords::new(file, run.publisher_id, is_wanted);
        Self { run: run.clone(), has_begun: false, records }
    }

    /// Visits what comes next; nothing if all was visited.
    fn poll(
        &mut self,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, SnapshotError> {
        /// Records of one poll.
        const BATCH: usize = 1 << 14;
        if !self.has_begun {
            self.has_begun = true;
            return Ok(Progress::of(self.begin(visit)));
        }
        let sequence = self.records.file().moment().sequence;
        for number in 0..BATCH {
            let Some(words) = self.records.next()? else {
                return Ok(if number == 0 { Progress::Nothing } else { Progress::Read });
            };
            let (type_id, payload) = (RecordKind::Mbo.type_id(), words.as_flattened());
            let message = Message { sequence, type_id, ts: None, payload };
            if visit(Entry::Opening(message)).is_break() {
                return Ok(Progress::Stopped);
            }
        }
        Ok(Progress::Read)
    }

    /// The start of the run, and what was lost and tainted before the snapshot.
    fn begin(&self, mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let Run { first_sequence, started_ns, midnight_ns, date, publisher_id, kinds, .. } =
            self.run;
        let start = PlantStart {
            publisher_id,
            started_ns,
            midnight_ns,
            date,
            kinds,
            predecessor: Predecessor::None,
            pace_milli: 0,
        };
        visit(Entry::Notice { sequence: first_sequence, notice: Notice::Start(start) })?;
        let moment = *self.records.file().moment();
        if moment.losses > 0 {
            let text = format!(
                "{} times records or input were lost before record {}",
                moment.losses, moment.sequence
            );
            visit(Entry::Loss { sequence: moment.first_loss, text: &text })?;
        }
        for entry in self.records.stocks().filter(|entry| entry.tainted > 0) {
            let taint = Taint {
                instrument_id: entry.locate.get().into(),
                ts_event: moment.ts_event,
                ts_recv: 0,
                anomaly: None,
                message: 0,
            };
            visit(Entry::Notice { sequence: entry.tainted, notice: Notice::Taint(taint) })?;
        }
        ControlFlow::Continue(())
    }
}
