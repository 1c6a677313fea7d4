//! The board beside a mirror: a copy of that of the plant, or made from what a journal has.
//!
//! Protocol: the name of a stock is on the board before the first record about the stock is on the
//! ring, as the plant does it. A start begins the board of the next run before it is on the ring.
//! The counters of a plant's board are copied four times a second, by the thread that checks the
//! file of the ring. A journal has no counters: its board counts the records that were mirrored.
//! Failure: a ring whose writer is not a plant has no board, and its mirror has none.
//! Cost: one lookup for each message of a stock whose name is stored.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nanotape_board::{Board, BoardReader, BoardSpec, Counts};
use nanotape_clock::Timeline;
use nanotape_history::{Run, Runs};
use nanotape_journal::{Tail, Tailer};
use nanotape_records::{FIRST_TYPE_ID, Header, Notice, PlantStart, RecordKind};
use nanotape_ring::Start;
use nanotape_shm::{RegionError, RegionOptions};
use nanotape_tape::{Gap, WriterState};
use nanotape_types::{LocateTable, StockLocate};

use super::{MirrorError, origin::Origin};
use crate::symbols::{SymbolTable, symbol_of_definition};

/// A board and its original.
#[derive(Debug)]
struct Copy {
    board: Arc<Board>,
    original: BoardReader,
}

/// The board of the current run.
#[derive(Debug)]
pub(super) struct MirroredBoard {
    /// The ring of the mirror.
    ring: PathBuf,
    options: RegionOptions,
    /// The journal, if that is the source.
    journal: Option<PathBuf>,
    symbols: SymbolTable,
    board: Option<Arc<Board>>,
    spec: BoardSpec,
    /// What the checking thread copies; `None` without an original.
    copy: Arc<Mutex<Option<Copy>>>,
    /// Whether the run of the next message is known.
    is_joined: bool,
    /// The number of the mirror among the writers of its ring.
    writer_epoch: u64,
    /// The stocks whose name is on the board.
    is_named: LocateTable<bool>,
    counts: Counts,
}

impl MirroredBoard {
    pub(super) fn new(
        source: &Path,
        ring: &Path,
        options: &RegionOptions,
        origin: &Origin,
    ) -> Self {
        let journal = origin.is_journal().then(|| source.to_owned());
        let symbols = match &journal {
            Some(journal) => SymbolTable::new(source, None, Vec::new()).completed_from(journal),
            None => SymbolTable::new(source, BoardReader::open(source).ok(), Vec::new()),
        };
        Self {
            ring: ring.to_owned(),
            // A board identifies its run by its parameters.
            options: RegionOptions { created_ns: None, ..options.clone() },
            journal,
            symbols,
            board: None,
            spec: BoardSpec::default(),
            copy: Arc::default(),
            is_joined: false,
            writer_epoch: 0,
            is_named: LocateTable::filled(false),
            counts: Counts::default(),
        }
    }

    /// What the checking thread does after each check.
    pub(super) fn copying(&self) -> impl FnMut() + Send + 'static {
        let copy = Arc::clone(&self.copy);
        move || {
            if let Some(Copy { board, original }) = &*lock(&copy) {
                board.copy_from(original);
            }
        }
    }

    /// The mirror became the writer of its ring.
    pub(super) fn enter(&mut self, writer_epoch: u64) {
        (self.writer_epoch, self.is_joined) = (writer_epoch, false);
    }

    /// The mirror begins an empty ring: the next message may belong to any run.
    pub(super) fn begin_again(&mut self) {
        self.is_named.fill(false);
        self.counts = Counts::default();
    }

    /// Ends as the plant did, with its last counters.
    pub(super) fn release(&mut self, state: WriterState) {
        self.copying()();
        *lock(&self.copy) = None;
        let board = self.board.take().and_then(Arc::into_inner);
        match (board, state) {
            (Some(board), WriterState::Dead) => board.abandon(),
            (board, _) => drop(board),
        }
    }

    /// Messages were lost, and maybe a start with them.
    #[cold]
    pub(super) fn lose(&mut self, gap: &Gap) {
        self.is_joined &= self.symbols.lose(gap);
    }

    /// Called before a message is on the ring.
    #[inline(always)]
    pub(super) fn before(
        &mut self,
        sequence: u64,
        type_id: u16,
        payload: &[u8],
    ) -> Result<(), MirrorError> {
        if !self.is_joined || type_id >= FIRST_TYPE_ID {
            self.enter_run(sequence, type_id, payload)?;
        }
        if self.board.is_none() {
            return Ok(());
        }
        if self.journal.is_some() {
            self.count(type_id, payload);
        }
        let instrument = Header::of(payload).map_or(0, |header| header.instrument_id);
        let locate = StockLocate::new(u16::try_from(instrument).unwrap_or(0));
        if type_id < FIRST_TYPE_ID && !self.is_named[locate] {
            self.name(locate, sequence, type_id, payload);
        }
        Ok(())
    }

    #[cold]
    fn enter_run(
        &mut self,
        sequence: u64,
        type_id: u16,
        payload: &[u8],
    ) -> Result<(), MirrorError> {
        let notice = match type_id >= FIRST_TYPE_ID {
            true => Notice::decode(type_id, payload),
            false => None,
        };
        match notice {
            Some(Notice::Start(start)) => {
                self.symbols.begin(sequence, &start);
                let board = self.symbols.board(sequence).cloned();
                let spec = board.as_ref().map_or(BoardSpec::of(&start, sequence), |it| *it.run());
                self.begin(spec, board).map_err(MirrorError::Region)?;
            }
            _ if !self.is_joined => self.join(sequence)?,
            _ => {}
        }
        if let (Some(Notice::Stop(stop)), Some(board), true) =
            (notice, &self.board, self.journal.is_some())
        {
            board.stop(&stop);
        }
        self.is_joined = true;
        Ok(())
    }

    /// Finds the run of a message in the middle of it.
    fn join(&mut self, sequence: u64) -> Result<(), MirrorError> {
        let board = self.symbols.board(sequence).cloned();
        let spec = match (&board, &self.journal) {
            (Some(board), _) => Some(*board.run()),
            (None, Some(journal)) => spec_of(journal, sequence),
            (None, None) => None,
        };
        match spec {
            Some(spec) if self.board.is_some() && spec == self.spec => Ok(()),
            Some(spec) => self.begin(spec, board).map_err(MirrorError::Region),
            None => Ok(()),
        }
    }

    /// Begins the board of a run, with everything that its original has.
    fn begin(&mut self, spec: BoardSpec, original: Option<BoardReader>) -> Result<(), RegionError> {
        // The board of the run before it has the path.
        *lock(&self.copy) = None;
        self.board = None;
        let board = Board::mirror(&self.ring, &spec, self.writer_epoch, &self.options)?;
        self.is_named.fill(false);
        let board = Arc::new(board);
        match original {
            Some(original) => {
                board.copy_from(&original);
                let copy = Copy { board: Arc::clone(&board), original };
                *lock(&self.copy) = Some(copy);
            }
            None => {
                // Continues the counters of a mirror that was killed.
                let stat = board.reader().sample();
                self.counts = Counts {
                    records: stat.records,
                    notices: stat.notices,
                    ts_event: stat.ts_event,
                    ..Counts::default()
                };
            }
        }
        (self.board, self.spec) = (Some(board), spec);
        Ok(())
    }

    /// Stores the name of a stock, if it is known.
    #[cold]
    fn name(&mut self, locate: StockLocate, sequence: u64, type_id: u16, payload: &[u8]) {
        let is_definition = type_id == RecordKind::Definitions.type_id();
        let known = self.symbols.symbol(locate, sequence);
        let symbol = known.or_else(|| is_definition.then(|| symbol_of_definition(payload))?);
        if let (Some(board), Some(symbol)) = (&self.board, symbol) {
            board.name(locate, symbol);
            self.is_named[locate] = true;
        }
    }

    fn count(&mut self, type_id: u16, payload: &[u8]) {
        match RecordKind::of_type_id(type_id) {
            Some(kind) => self.counts.records[kind as usize] += 1,
            None => self.counts.notices += 1,
        }
        if type_id < FIRST_TYPE_ID
            && let Some(header) = Header::of(payload)
        {
            self.counts.ts_event = header.ts_event;
        }
    }

    /// After a poll: shows what was counted.
    pub(super) fn show(&self, timeline: &mut Timeline) {
        if let (Some(board), true) = (&self.board, self.journal.is_some()) {
            board.show(&self.counts, timeline.now_ns());
        }
    }
}

/// The values of the run of a message of a journal: from its start record, or if that was pruned,
/// from the list of the runs.
fn spec_of(journal: &Path, sequence: u64) -> Option<BoardSpec> {
    let runs = Runs::read_good(journal).ok()?;
    let run = runs.of_sequence(sequence)?;
    let of_start = start_of(journal, run).map(|start| BoardSpec::of(&start, run.first_sequence));
    Some(of_start.unwrap_or_else(|| BoardSpec::of_run(run)))
}

fn start_of(journal: &Path, run: &Run) -> Option<PlantStart> {
    let mut tailer = Tailer::open(journal, Start::Sequence(run.first_sequence)).ok()?;
    let Ok(Tail::Excerpt(excerpt)) = tailer.next() else { return None };
    match Notice::decode(excerpt.type_id(), &excerpt.to_vec()) {
        Some(Notice::Start(start)) if start.started_ns == run.started_ns => Some(start),
        _ => None,
    }
}

/// A panic of the other thread leaves the value whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
