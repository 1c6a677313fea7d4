//! Writes the events of a subscriber to a DBN file, which Databento's own tools read.
//!
//! ```no_run
//! use nanotape_tap::{DbnFile, Subscription};
//!
//! let symbols = ["AAPL".parse()?, "MSFT".parse()?];
//! let mut subscriber = Subscription::to("equities").symbols(symbols).open()?;
//! let mut file = DbnFile::new(std::fs::File::create("day.dbn")?, &symbols);
//! for _ in 0..1_000 {
//!     let mut next = None;
//!     subscriber.poll(|event| next = next.or(file.add(&event).err()))?;
//!     file.write(&subscriber)?;
//!     if let Some(next) = next {
//!         // Another trade date: `next` has it, and its events belong to the next file.
//!         println!("the file ends before {next}");
//!         break;
//!     }
//! }
//! file.finish(&subscriber)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In Python: `databento.DBNStore.from_file("day.dbn").to_df(schema="mbo")`.
//!
//! Layout: DBN version 3. The metadata is at the front, but names become known later. It is written
//! before the first record of a stock that is not a definition: by then the stocks of the day are
//! known. Each stock also has a `SymbolMappingMsg` before its first record, as in a live stream.
//! Stocks that appear later are named only there. If a file names no schema, some tools (`to_csv`
//! of the Python package) read names only there.
//! A file holds one trade date, and one stock for each instrument number, since readers find names
//! in the metadata by number and day. An event that does not fit is [refused](NextFile), and begins
//! the next file. Events without a DBN record become text: a `SystemMsg` for a start and stop of a
//! plant; an `ErrorMsg` with exact numbers for lost records, gaps in the input and unreliable
//! books.
//! Bounds: at most 8 MiB of records wait in memory for the metadata.
//! Failure: errors come from the output only; after an error the file is incomplete.
//! Cost: a copy of each record and one table lookup.
//!
//! The metadata names no schema, because readers take a schema as the promise that every record has
//! the same length. Databento's Python package reads such a file as one array: after the first
//! start, loss or stop it would return garbage without an error. So the caller must pass the schema
//! to `to_df` and `to_ndarray`, and the file always includes losses.
//!
//! A file [of one kind](DbnFile::of_kind) makes that promise: it has a schema, and records of this
//! kind only. It has no place for a loss, a notice, or a name that comes after the metadata. The
//! caller reports the events that [`add`](DbnFile::add) leaves out, and the [late
//! names](DbnFile::late_names).

mod merged;
mod metadata;

use std::io::{self, Write};

use dbn::{ErrorCode, ErrorMsg, SType, SymbolMappingMsg, SystemMsg, UNDEF_TIMESTAMP};
use nanotape_records::{Header, Notice, PlantStart, Record, RecordKind, TradeDate, symbol_text};
use nanotape_ring::Gap;
use nanotape_types::{LocateTable, Sentinel as _, StockLocate, Symbol};

use crate::{Delivery, Event, Subscriber};
pub use merged::MergedNames;
use metadata::Contents;

/// Writes the events of a subscriber as DBN.
#[derive(Debug)]
pub struct DbnFile<W: Write> {
    output: W,
    /// The selected symbols; empty selects all.
    wanted: Vec<Symbol>,
    /// The kind of all records, if the file promises one.
    kind: Option<RecordKind>,
    /// Stocks that were named after the metadata of a file of one kind.
    late_names: u64,
    /// Records that are not written yet.
    buffer: Vec<u8>,
    has_metadata: bool,
    /// Whether a record was added that must follow the metadata.
    is_under_way: bool,
    /// The name of each stock for a reader of the file, from the metadata and the records so far;
    /// blank if unknown.
    names: LocateTable<Symbol>,
    /// Whether a record with the name was written.
    is_named: LocateTable<bool>,
    /// Whether a record of a stock was added.
    has_stocks: bool,
    run: Option<PlantStart>,
    /// Whether records were lost since the start of `run`: there might be another start among them.
    has_lost: bool,
    /// The trade date as the number YYYYMMDD; `None` if unknown.
    date: Option<u32>,
    /// Of the last record: the best known time for a loss that follows it.
    ts_event: u64,
    /// DBN's number of the feed and the venue; 0 before the first record.
    publisher_id: u16,
    /// Receive time of the first record; 0 before it.
    first_ts_recv: u64,
    ts_recv: u64,
}

/// Why an event begins the next file: a reader of this one would confuse stocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NextFile {
    /// A plant of another trade date begins.
    #[error("message {sequence} of trade date {}", date_text(*date))]
    Date {
        /// The sequence number of its start.
        sequence: u64,
        /// The trade date as the number YYYYMMDD.
        date: u32,
    },
    /// An instrument number now means another stock.
    #[error(
        "message {sequence}: instrument {locate} is {}, but was {before} in the file so far",
        name_text(*symbol)
    )]
    Stock {
        /// The sequence number of the record.
        sequence: u64,
        /// The instrument number.
        locate: u16,
        /// The new stock; `None` if unknown.
        symbol: Option<Symbol>,
        /// The stock of that number in the file so far.
        before: Symbol,
    },
}

/// Limit of record bytes that wait for the metadata: the definitions of a day, with room to spare.
const MOST_WAITING_BYTES: usize = 8 << 20;

impl<W: Write> DbnFile<W> {
    /// A file of the subscribed symbols; empty selects all.
    pub fn new(output: W, symbols: &[Symbol]) -> Self {
        Self {
            output,
            wanted: symbols.to_vec(),
            kind: None,
            late_names: 0,
            buffer: Vec::new(),
            has_metadata: false,
            is_under_way: false,
            names: LocateTable::filled(Symbol::ABSENT),
            is_named: LocateTable::filled(false),
            has_stocks: false,
            run: None,
            has_lost: false,
            date: None,
            ts_event: UNDEF_TIMESTAMP,
            publisher_id: 0,
            first_ts_recv: 0,
            ts_recv: 0,
        }
    }

    /// A file with a schema, which has only records of this kind. `names`: names of stocks that are
    /// known before the first record.
    pub fn of_kind(
        output: W,
        symbols: &[Symbol],
        kind: RecordKind,
        names: impl IntoIterator<Item = (StockLocate, Symbol)>,
    ) -> Self {
        let mut file = Self { kind: Some(kind), ..Self::new(output, symbols) };
        for (locate, symbol) in names {
            if file.is_wanted(symbol) {
                file.names[locate] = printable(symbol);
            }
        }
        file
    }

    /// The number of stocks that a file of one kind has no name for, although one of its records
    /// had it: the metadata was written before.
    pub fn late_names(&self) -> u64 {
        self.late_names
    }

    /// The output.
    pub fn output(&self) -> &W {
        &self.output
    }

    /// Whether an event has a place in the file. A file of one kind has none for losses and
    /// notices.
    pub fn has_room_for(&self, event: &Event<'_>) -> bool {
        let Some(kind) = self.kind else { return true };
        matches!(event, Event::Record(delivery) if delivery.type_id == kind.type_id())
    }

    fn is_wanted(&self, symbol: Symbol) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted.selects(symbol))
    }

    /// Creates the file after this one, with the same symbols. It continues the same run of a plant
    /// unless it begins with a start.
    pub fn following(&self, output: W) -> Self {
        let run = self.run.filter(|_| !self.has_lost);
        let new = Self { kind: self.kind, ..Self::new(output, &self.wanted) };
        Self { run, date: run.map(|start| start.date), ..new }
    }

    /// Adds an event from [`Subscriber::poll`]. An event that begins another file is refused: add
    /// it and all later ones to the [following](Self::following) file, and [`close`](Self::close)
    /// this one.
    #[inline]
    pub fn add(&mut self, event: &Event<'_>) -> Result<(), NextFile> {
        match event {
            Event::Record(Delivery {
                record: Record::Notice(notice), symbol, sequence, ..
            }) => self.notice(notice, *symbol, *sequence),
            Event::Record(delivery) => self.record(delivery),
            Event::Lost(lapped) => {
                self.lost(*lapped);
                Ok(())
            }
            Event::Reported { text, .. } => {
                self.error(ErrorCode::Unset, 0, text);
                Ok(())
            }
            Event::Healed(handover) => {
                self.system(self.ts_event, 0, &handover.to_string());
                Ok(())
            }
        }
    }

    /// Writes the added records. Call it between polls: it reads the names of the subscriber.
    #[inline]
    pub fn write(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        if !self.has_metadata {
            if !self.is_under_way && self.buffer.len() < MOST_WAITING_BYTES {
                return Ok(());
            }
            self.begin(subscriber)?;
        }
        if !self.buffer.is_empty() {
            self.output.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes everything, and returns the output.
    pub fn finish(mut self, subscriber: &Subscriber) -> io::Result<W> {
        self.is_under_way = true;
        self.write(subscriber)?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Like [`finish`](Self::finish), for a file whose [next](NextFile) has begun: the subscriber's
    /// names might already be those of the next file, so the file names only stocks that its own
    /// records named.
    pub fn close(mut self) -> io::Result<W> {
        if !self.has_metadata {
            let midnight_ns = self.run.map(|start| start.midnight_ns);
            self.write_metadata(midnight_ns)?;
        }
        self.output.write_all(&self.buffer)?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    #[cold]
    fn begin(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        self.name_all(subscriber.symbols());
        let midnight_ns = subscriber.midnight_ns().filter(|&midnight_ns| midnight_ns > 0);
        let date = midnight_ns.and_then(TradeDate::of_time).map(TradeDate::number);
        self.date = self.date.or(date);
        self.write_metadata(self.run.map(|start| start.midnight_ns).or(midnight_ns))
    }

    fn write_metadata(&mut self, midnight_ns: Option<u64>) -> io::Result<()> {
        let contents = Contents {
            publisher_id: self.publisher_id,
            midnight_ns: midnight_ns.unwrap_or(0),
            first_ts_recv: self.first_ts_recv,
            wanted: &self.wanted,
            names: &self.names,
            kind: self.kind,
        };
        contents.write(&mut self.output)?;
        self.has_metadata = true;
        Ok(())
    }

    #[inline]
    fn record(&mut self, delivery: &Delivery<'_>) -> Result<(), NextFile> {
        let Delivery { symbol, record, bytes, sequence, .. } = delivery;
        let Some(header) = Header::of(bytes) else { return Ok(()) };
        let locate = StockLocate::new(u16::try_from(header.instrument_id).unwrap_or(0));
        if locate.get() != 0 {
            self.check_name(locate, *symbol, *sequence)?;
        }
        self.ts_event = header.ts_event;
        self.publisher_id = header.publisher_id;
        self.ts_recv = record.ts_recv().unwrap_or(self.ts_recv);
        if self.first_ts_recv == 0 {
            self.first_ts_recv = self.ts_recv;
        }
        if !self.is_under_way {
            self.is_under_way =
                header.instrument_id != 0 && !matches!(record, Record::Definition(_));
        }
        if let Some(symbol) = *symbol
            && locate.get() != 0
            && !self.is_named[locate]
        {
            self.is_named[locate] = true;
            if self.kind.is_none() {
                self.name(locate, symbol);
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Checks that a reader of the file finds the name of this record for its stock. Stores new
    /// names.
    #[inline]
    fn check_name(
        &mut self,
        locate: StockLocate,
        symbol: Option<Symbol>,
        sequence: u64,
    ) -> Result<(), NextFile> {
        let name = &mut self.names[locate];
        if *name != symbol.unwrap_or(Symbol::ABSENT) {
            if *name != Symbol::ABSENT {
                return Err(NextFile::Stock {
                    sequence,
                    locate: locate.get(),
                    symbol,
                    before: *name,
                });
            }
            *name = symbol.unwrap_or(Symbol::ABSENT);
            self.late_names += u64::from(self.kind.is_some() && self.has_metadata);
        }
        self.has_stocks = true;
        Ok(())
    }

    /// Writes the name of a stock.
    #[cold]
    fn name(&mut self, locate: StockLocate, symbol: Symbol) {
        let text = text_of(symbol);
        let midnight_ns = self.run.map_or(u64::MAX, |start| start.midnight_ns);
        // Tables are indexed by exchange time or receive time, depending on the record: the name
        // holds from the earlier one on.
        let start_ts = self.ts_event.min(self.ts_recv).min(midnight_ns);
        let message = SymbolMappingMsg::new(
            u32::from(locate.get()),
            self.ts_event,
            SType::InstrumentId,
            &locate.to_string(),
            SType::RawSymbol,
            &text,
            start_ts,
            UNDEF_TIMESTAMP,
        );
        // Eight letters and five digits always fit.
        if let Ok(message) = message {
            self.buffer.extend_from_slice(message.as_ref());
        }
    }

    #[cold]
    fn lost(&mut self, lapped: Gap) {
        self.has_lost = true;
        let text = format!("{lapped} of the ring, overwritten before they were read");
        self.error(ErrorCode::SkippedRecordsAfterSlowReading, 0, &text);
    }

    #[cold]
    fn notice(
        &mut self,
        notice: &Notice,
        symbol: Option<Symbol>,
        sequence: u64,
    ) -> Result<(), NextFile> {
        match notice {
            Notice::Start(start) => {
                // On another day the same number means another stock.
                if self.has_stocks && self.date != Some(start.date) {
                    return Err(NextFile::Date { sequence, date: start.date });
                }
                (self.run, self.date, self.has_lost) = (Some(*start), Some(start.date), false);
                self.ts_recv = start.started_ns;
                self.publisher_id = start.publisher_id;
                self.system(start.started_ns, 0, &format!("plant start: {start}"));
            }
            Notice::Stop(stop) => {
                self.ts_recv = stop.stopped_ns;
                self.system(stop.stopped_ns, 0, &format!("plant stop: {stop}"));
            }
            Notice::Gap(gap) => {
                self.ts_recv = gap.ts_recv;
                self.error(ErrorCode::Unset, 0, &format!("gap: {gap}"));
            }
            Notice::Taint(taint) => {
                (self.ts_event, self.ts_recv) = (taint.ts_event, taint.ts_recv);
                let stock = stock_text(symbol, taint.instrument_id);
                let text = format!("taint: {stock}: {taint}");
                self.error(ErrorCode::Unset, taint.instrument_id, &text);
            }
            Notice::SessionGap(gap) => {
                self.ts_recv = gap.ts_recv;
                self.system(gap.ts_recv, 0, &format!("session gap: {gap}"));
            }
            Notice::Suspect(suspect) => {
                self.ts_recv = suspect.ts_recv;
                self.system(suspect.ts_recv, 0, &format!("suspect: {suspect}"));
            }
            Notice::Restored(restored) => {
                self.ts_recv = restored.ts_recv;
                let id = restored.instrument_id;
                let text = format!("restored: {}: {restored}", stock_text(symbol, id));
                self.system(restored.ts_event, id, &text);
            }
        }
        if self.first_ts_recv == 0 {
            self.first_ts_recv = self.ts_recv;
        }
        Ok(())
    }

    fn error(&mut self, code: ErrorCode, instrument_id: u32, text: &str) {
        if self.kind.is_some() {
            return;
        }
        let mut message = ErrorMsg::new(self.ts_event, Some(code), text, true);
        message.hd.instrument_id = instrument_id;
        self.buffer.extend_from_slice(message.as_ref());
    }

    fn system(&mut self, ts_event: u64, instrument_id: u32, text: &str) {
        if self.kind.is_some() {
            return;
        }
        // Every notice fits.
        if let Ok(mut message) = SystemMsg::new(ts_event, None, text) {
            message.hd.instrument_id = instrument_id;
            message.hd.publisher_id = self.publisher_id;
            self.buffer.extend_from_slice(message.as_ref());
        }
    }
}

/// The name of a stock in a notice.
fn stock_text(symbol: Option<Symbol>, instrument_id: u32) -> String {
    symbol.map_or_else(|| format!("#{instrument_id}"), text_of)
}

fn date_text(date: u32) -> String {
    TradeDate::of_number(date).map_or_else(|| date.to_string(), |date| date.to_string())
}

fn name_text(symbol: Option<Symbol>) -> String {
    symbol.map_or_else(|| "not known".to_owned(), |symbol| symbol.to_string())
}

/// A symbol in DBN form.
fn text_of(symbol: Symbol) -> String {
    symbol_text(symbol).into_iter().map(char::from).collect()
}

/// A symbol as the records of its stock have it.
fn printable(symbol: Symbol) -> Symbol {
    let mut bytes = [b' '; 8];
    bytes.iter_mut().zip(symbol_text(symbol)).for_each(|(place, byte)| *place = byte);
    Symbol::new(bytes)
}
