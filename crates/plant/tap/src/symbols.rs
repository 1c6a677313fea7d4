//! The selected stocks and their names, from the board of the run that a record belongs to, and
//! from definitions on the ring.
//!
//! A name holds for one run of a plant, since on another day the same locate is another stock. A
//! record belongs to the board's run if its sequence number is not below that of the run's first
//! record, and there was no other start since.

mod stored_names;

use std::path::{Path, PathBuf};

use dbn::InstrumentDefMsg;
use nanotape_board::BoardReader;
use nanotape_records::{PlantStart, Record, RecordBuffer, RecordKind, UNSTATED_PUBLISHER_ID};
use nanotape_shm::{Refusal, RegionError};
use nanotape_tape::Gap;
use nanotape_types::{LocateTable, Maybe, StockLocate, Symbol};

use stored_names::StoredNames;

/// Polls of a reader between two checks of the board, 16 KiB each.
const POLLS_PER_CHECK: u32 = 16;

/// Whether a stock is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Wanted {
    /// The name is not yet known.
    Undecided,
    Yes,
    No,
}

/// Symbols of stocks, and which of them are selected.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    ring: PathBuf,
    board: Option<BoardReader>,
    /// The first record after the board's run, if known.
    ends_before: u64,
    /// The selected symbols; empty selects all.
    wanted: Vec<Symbol>,
    decided: LocateTable<Wanted>,
    /// Half the size of a table of options: it is read for each record.
    known: LocateTable<Maybe<Symbol>>,
    /// The names beside a journal.
    stored: Option<StoredNames>,
    polls: u32,
}

impl SymbolTable {
    pub(crate) fn new(ring: &Path, board: Option<BoardReader>, symbols: Vec<Symbol>) -> Self {
        Self {
            ring: ring.to_owned(),
            board,
            ends_before: u64::MAX,
            wanted: symbols,
            decided: LocateTable::filled(Wanted::Undecided),
            known: LocateTable::filled(Maybe::NONE),
            stored: None,
            polls: 0,
        }
    }

    /// [`check`](Self::check), after some polls only: it makes two system calls.
    #[inline]
    pub(crate) fn check_sometimes(&mut self) -> Result<(), RegionError> {
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS_PER_CHECK) { self.check() } else { Ok(()) }
    }

    /// Refuses a board whose file was truncated: names that are gone would leave out records of
    /// selected stocks. One that was removed or replaced has its names.
    #[cold]
    pub(crate) fn check(&self) -> Result<(), RegionError> {
        match self.board.as_ref().map_or(Ok(()), |board| board.region().check()) {
            Err(error) if matches!(error.refusal(), Refusal::Truncated { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    /// Also uses the names beside a journal, for runs that are not on the board.
    pub(crate) fn completed_from(mut self, journal: &Path) -> Self {
        self.stored = Some(StoredNames::of(journal));
        self
    }

    /// Whether records of a stock, or records without a stock, are wanted.
    #[inline]
    pub(crate) fn is_wanted(&mut self, locate: Option<StockLocate>, sequence: u64) -> bool {
        locate.is_none_or(|locate| self.wanted(locate, sequence) == Wanted::Yes)
    }

    /// Whether stocks are selected, and the names of the run of a record are gone: those on the
    /// board of an earlier run, without a journal that stores them. Then it is unknown whether the
    /// record of a stock is wanted. A DBN file has its names in itself.
    #[inline]
    pub(crate) fn has_lost_names(&self, locate: Option<StockLocate>, sequence: u64) -> bool {
        let is_decided = |locate| self.decided[locate] != Wanted::Undecided;
        let has_runs = self.board.is_some() || self.stored.is_some();
        !locate.is_none_or(is_decided) && has_runs && self.midnight_ns(sequence).is_none()
    }

    #[inline]
    fn wanted(&mut self, locate: StockLocate, sequence: u64) -> Wanted {
        if self.wanted.is_empty() {
            return Wanted::Yes;
        }
        match self.decided[locate] {
            Wanted::Undecided => self.decide(locate, sequence),
            decided => decided,
        }
    }

    #[cold]
    fn decide(&mut self, locate: StockLocate, sequence: u64) -> Wanted {
        let Some(symbol) = self.symbol(locate, sequence) else { return Wanted::Undecided };
        let is_wanted = self.wanted.iter().any(|wanted| wanted.selects(symbol));
        let wanted = if is_wanted { Wanted::Yes } else { Wanted::No };
        self.decided[locate] = wanted;
        wanted
    }

    /// The name of a stock.
    #[inline]
    pub(crate) fn symbol(&mut self, locate: StockLocate, sequence: u64) -> Option<Symbol> {
        if locate.get() == 0 {
            return None;
        }
        self.known[locate].get().or_else(|| self.find(locate, sequence))
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, locate: StockLocate, sequence: u64) -> Option<Symbol> {
        let on_board = self.board(sequence).and_then(|board| board.symbol(locate));
        let stored = || self.stored.as_mut()?.symbol(locate, sequence);
        let found = on_board.or_else(stored)?;
        self.known[locate] = Maybe::of(found);
        Some(found)
    }

    /// All known names.
    pub(crate) fn all(&self, sequence: u64) -> Vec<(StockLocate, Symbol)> {
        let board = self.board(sequence);
        let locates = StockLocate::all().skip(1);
        let stored = self.stored.as_ref().map(|stored| stored.directory(sequence));
        let symbol = |locate: StockLocate| {
            let on_board = || board.and_then(|board| board.symbol(locate));
            self.known[locate].get().or_else(on_board).or_else(|| stored.as_ref()?.symbol(locate))
        };
        locates.filter_map(|locate| Some((locate, symbol(locate)?))).collect()
    }

    /// The board of the run that a record belongs to.
    pub(crate) fn board(&self, sequence: u64) -> Option<&BoardReader> {
        let is_its =
            |board: &&BoardReader| (board.first_sequence()..self.ends_before).contains(&sequence);
        self.board.as_ref().filter(is_its)
    }

    /// The exchange's midnight of the run that a record belongs to, if it is known.
    pub(crate) fn midnight_ns(&self, sequence: u64) -> Option<u64> {
        let of_board = self.board(sequence).map(|board| board.run().midnight_ns);
        of_board.or_else(|| self.stored.as_ref()?.midnight_ns(sequence))
    }

    /// DBN's number of the feed and the venue of the run that a record belongs to.
    pub(crate) fn publisher_id(&self, sequence: u64) -> u16 {
        let of_board = self.board(sequence).map(|board| board.run().publisher_id);
        let of_run = || self.stored.as_ref()?.publisher_id(sequence);
        of_board.or_else(of_run).unwrap_or(UNSTATED_PUBLISHER_ID)
    }

    /// Learns the name in a definition.
    pub(crate) fn learn(&mut self, locate: StockLocate, definition: &InstrumentDefMsg) {
        if let Ok(Ok(symbol)) = definition.raw_symbol().map(str::parse) {
            self.know(locate, symbol);
        }
    }

    /// Stores a name.
    pub(crate) fn know(&mut self, locate: StockLocate, symbol: Symbol) {
        if self.known[locate].get() != Some(symbol) {
            self.known[locate] = Maybe::of(symbol);
            self.decided[locate] = Wanted::Undecided;
        }
    }

    /// A run begins with the record of that number: names of the previous run are invalid.
    #[cold]
    pub(crate) fn begin(&mut self, sequence: u64, start: &PlantStart) {
        self.forget();
        // Each new ring begins with message 1, so the number alone does not identify a run: the
        // board of the previous ring exists until the plant has created its own.
        let is_its = |board: &BoardReader| {
            board.first_sequence() == sequence && board.run().started_ns == start.started_ns
        };
        if self.board.as_ref().is_some_and(is_its) {
            self.ends_before = u64::MAX;
            return;
        }
        self.reopen();
        // A board of another run is of an earlier run, or of a later one.
        let is_past = |board: &BoardReader| !is_its(board) && board.first_sequence() <= sequence;
        if self.board.as_ref().is_some_and(is_past) {
            self.ends_before = sequence;
        }
    }

    /// Records were lost, and maybe a start with them. Returns whether earlier names still hold:
    /// they are of the board's run, and no other run has begun since.
    #[cold]
    pub(crate) fn lose(&mut self, lost: &Gap) -> bool {
        let was_its = self.board(lost.from).is_some();
        let is_stored = |stored: &mut StoredNames| stored.is_one_run(lost.from, lost.to + 1);
        if was_its && self.is_current() || self.stored.as_mut().is_some_and(is_stored) {
            return true;
        }
        self.forget();
        self.reopen();
        if !self.is_current() {
            // A run has begun whose board is unavailable: its names are unknown.
            self.ends_before = self.ends_before.min(lost.from);
        }
        false
    }

    /// Whether the board is that of the latest run. Two system calls.
    fn is_current(&self) -> bool {
        self.board.as_ref().is_some_and(|board| board.region().check().is_ok())
    }

    /// Opens the board of the latest run.
    fn reopen(&mut self) {
        if !self.is_current()
            && let Ok(board) = BoardReader::open(&self.ring)
        {
            self.board = Some(board);
            self.ends_before = u64::MAX;
        }
    }

    fn forget(&mut self) {
        self.decided.fill(Wanted::Undecided);
        self.known.fill(Maybe::NONE);
    }
}

/// The symbol in a definition record.
pub(crate) fn symbol_of_definition(payload: &[u8]) -> Option<Symbol> {
    let mut buffer = RecordBuffer::default();
    let type_id = RecordKind::Definitions.type_id();
    match buffer.decode(0, type_id, payload) {
        Ok(Some(Record::Definition(definition))) => definition.raw_symbol().ok()?.parse().ok(),
        _ => None,
    }
}
