//! Stores the runs and the names of stocks beside the journal, each before its first record.
//!
//! The names are on the plant's board, which the next run replaces. The plant stores a name there
//! before it publishes the stock's first record, so the recorder always finds it in time.
//! Cost: one lookup for each message of a stock whose name is stored.

use std::path::Path;

use nanotape_board::BoardReader;
use nanotape_history::{Run, RunLog, RunsError};
use nanotape_records::{FIRST_TYPE_ID, Header, Notice, RecordKind, Taint};
use nanotape_tape::Gap;
use nanotape_types::StockLocate;

use crate::symbols::{SymbolTable, symbol_of_definition};

/// The names of the stocks of a recorded ring.
#[derive(Debug)]
pub(super) struct Names {
    journal: std::path::PathBuf,
    mode: u32,
    /// `None` until a plant writes to the ring: other writers have no board and no names.
    log: Option<RunLog>,
    symbols: SymbolTable,
    /// Whether the run of the next message is stored.
    has_run: bool,
}

impl Names {
    pub(super) fn new(ring: &Path, journal: &Path, mode: u32) -> Self {
        let symbols = SymbolTable::new(ring, BoardReader::open(ring).ok(), Vec::new());
        Self { journal: journal.to_owned(), mode, log: None, symbols, has_run: false }
    }

    /// Called before a message is appended. After an error it can be called again.
    #[inline(always)]
    pub(super) fn before(
        &mut self,
        sequence: u64,
        type_id: u16,
        payload: &[u8],
    ) -> Result<(), RunsError> {
        if type_id >= FIRST_TYPE_ID {
            let stored = self.notice(sequence, type_id, payload);
            return stored.inspect_err(|_| self.close());
        }
        let instrument = Header::of(payload).map_or(0, |header| header.instrument_id);
        let locate = StockLocate::new(u16::try_from(instrument).unwrap_or(0));
        let is_named = self.log.as_ref().is_some_and(|log| log.is_named(locate));
        if is_named && type_id != RecordKind::Definitions.type_id() {
            return Ok(());
        }
        let stored = self.learn(sequence, type_id, payload, locate);
        stored.inspect_err(|_| self.close())
    }

    /// A part of a line may have been written: opening the file again removes it.
    #[cold]
    fn close(&mut self) {
        (self.log, self.has_run) = (None, false);
    }

    /// Messages were lost, and maybe a start with them.
    #[cold]
    pub(super) fn lose(&mut self, gap: &Gap) {
        self.has_run &= self.symbols.lose(gap);
    }

    #[cold]
    fn notice(&mut self, sequence: u64, type_id: u16, payload: &[u8]) -> Result<(), RunsError> {
        match Notice::decode(type_id, payload) {
            Some(Notice::Start(start)) => {
                self.symbols.begin(sequence, &start);
                self.begin(&Run::of(sequence, &start))
            }
            // It may be all that a stock has.
            Some(Notice::Taint(Taint { instrument_id, .. })) => {
                let locate = StockLocate::new(u16::try_from(instrument_id).unwrap_or(0));
                let is_named = self.log.as_ref().is_some_and(|log| log.is_named(locate));
                if is_named { Ok(()) } else { self.learn(sequence, type_id, payload, locate) }
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn learn(
        &mut self,
        sequence: u64,
        type_id: u16,
        payload: &[u8],
        locate: StockLocate,
    ) -> Result<(), RunsError> {
        if !self.has_run {
            // The recording began in mid-run, or the start of the run was lost.
            let board = self.symbols.board(sequence).map(|board| *board.run());
            let Some(run) = board else { return Ok(()) };
            self.begin(&run.as_run())?;
        }
        let symbol = match type_id == RecordKind::Definitions.type_id() {
            true => symbol_of_definition(payload),
            false => self.symbols.symbol(locate, sequence),
        };
        match (&mut self.log, symbol) {
            (Some(log), Some(symbol)) if locate.get() != 0 => log.name(locate, symbol),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, run: &Run) -> Result<(), RunsError> {
        self.has_run = true;
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(RunLog::open(&self.journal, self.mode)?),
        };
        log.begin(run)
    }
}
