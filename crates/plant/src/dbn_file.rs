//! A DBN file of what a subscriber gets: what Databento's own tools read.
//!
//! ```no_run
//! use nanotape_plant::{DbnFile, Subscription};
//!
//! let symbols = ["AAPL".parse()?, "MSFT".parse()?];
//! let mut subscriber = Subscription::to("equities").symbols(symbols).open()?;
//! let mut file = DbnFile::new(std::fs::File::create("day.dbn")?, &symbols);
//! for _ in 0..1_000 {
//!     let mut next = None;
//!     subscriber.poll(|event| next = next.or(file.add(&event).err()))?;
//!     file.write(&subscriber)?;
//!     if let Some(next) = next {
//!         // Another trade date: `next` says which, and belongs into a file of its own.
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
//! Layout: DBN version 3. The metadata is at the front, and names become known on the way: it is
//! written with the first record about a stock that is no definition, for by then the stocks of the
//! day have been read. Each stock also has a `SymbolMappingMsg` in front of its first record, as in
//! a live stream: names of stocks that appear later are told only there, and where a file names no
//! schema, some tools (`to_csv` of the Python package) look for names nowhere else.
//! A file holds one trade date, and one stock for each instrument number: readers look for names in
//! the metadata, by number and day. What does not belong into it is [refused](NextFile), and begins
//! the next file. What DBN has no record for is text: a plant's start and stop in a `SystemMsg`;
//! lost records, gaps in the input and books that cannot be trusted in an `ErrorMsg`, with the
//! exact numbers. Bounds: 8 MiB of records wait in memory for the metadata.
//! Failure: of the output only; after an error the file is as far as it was written.
//! Cost: a copy of each record and one look into a table.
//!
//! The metadata names no schema, also where only one kind of record was asked for. Readers take a
//! schema as the promise that every record has the same length: Databento's Python package reads
//! such a file as one array, and the first start, loss or stop in it would turn everything behind
//! it into nonsense without an error. So `to_df` and `to_ndarray` have to be told the schema, and
//! loss is never left out.

mod metadata;

use std::io::{self, Write};

use dbn::{ErrorCode, ErrorMsg, SType, SymbolMappingMsg, SystemMsg, UNDEF_TIMESTAMP};
use nanotape_ring::Gap;
use nanotape_types::{LocateTable, Sentinel as _, StockLocate, Symbol};

use crate::{
    Delivery, Event, Subscriber, TradeDate,
    records::{Header, Notice, PlantStart, Record, symbol_text},
};
use metadata::Contents;

/// Writes what a subscriber gets as DBN.
#[derive(Debug)]
pub struct DbnFile<W: Write> {
    output: W,
    /// Empty: all of them.
    wanted: Vec<Symbol>,
    /// Records that are not written yet.
    buffer: Vec<u8>,
    has_metadata: bool,
    /// Whether a record has come that the metadata must stand in front of.
    is_under_way: bool,
    /// What a reader of the file calls each stock: by the metadata and by the records so far; blank
    /// where they have no name.
    names: LocateTable<Symbol>,
    /// Whether a record has told the name.
    is_told: LocateTable<bool>,
    /// Whether a record about a stock has come.
    has_stocks: bool,
    run: Option<PlantStart>,
    /// Whether records were lost since then: perhaps another start among them.
    has_lost: bool,
    /// The trade date as the number YYYYMMDD, once it is known.
    date: Option<u32>,
    /// Of the last record: when a loss behind it was noticed is not known better.
    ts_event: u64,
    /// Of the first record, in our own time; 0 while there is none.
    first_ts_recv: u64,
    ts_recv: u64,
}

/// Why an event begins the next file: a reader of this one would take its stocks for others.
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
    /// An instrument number stands for another stock than before.
    #[error(
        "message {sequence}: instrument {locate} is {}, but was {before} in the file so far",
        name_text(*symbol)
    )]
    Stock {
        /// The sequence number of the record.
        sequence: u64,
        /// The instrument number.
        locate: u16,
        /// The stock; `None` if unknown.
        symbol: Option<Symbol>,
        /// What the file calls that number.
        before: Symbol,
    },
}

/// Bytes of records that wait for the metadata: the definitions of a day, and more.
const MOST_WAITING_BYTES: usize = 8 << 20;

impl<W: Write> DbnFile<W> {
    /// A file of these stocks, as they were subscribed to; none is all of them.
    pub fn new(output: W, symbols: &[Symbol]) -> Self {
        Self {
            output,
            wanted: symbols.to_vec(),
            buffer: Vec::new(),
            has_metadata: false,
            is_under_way: false,
            names: LocateTable::filled(Symbol::ABSENT),
            is_told: LocateTable::filled(false),
            has_stocks: false,
            run: None,
            has_lost: false,
            date: None,
            ts_event: UNDEF_TIMESTAMP,
            first_ts_recv: 0,
            ts_recv: 0,
        }
    }

    /// The file after this one: of the same stocks, and in the middle of the same run of a plant
    /// unless it begins with a start.
    pub fn following(&self, output: W) -> Self {
        let run = self.run.filter(|_| !self.has_lost);
        Self { run, date: run.map(|start| start.date), ..Self::new(output, &self.wanted) }
    }

    /// Takes what [`Subscriber::poll`] has told. An event that begins another file is not taken:
    /// give it to the [following](Self::following) file, with all that come after it, and
    /// [`close`](Self::close) this one.
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
        }
    }

    /// Writes what was taken: to be called between polls, for the names are the subscriber's.
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

    /// Writes everything, and gives the output back.
    pub fn finish(mut self, subscriber: &Subscriber) -> io::Result<W> {
        self.is_under_way = true;
        self.write(subscriber)?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// The same for a file whose [next](NextFile) has begun: the names that a subscriber knows by
    /// then may be those of the next file, so it names the stocks that its own records have named.
    pub fn close(mut self) -> io::Result<W> {
        if !self.has_metadata {
            let midnight_ns = self.run.map(|start| start.midnight_ns);
            self.write_metadata(midnight_ns)?;
        }
        self.output.write_all(&self.buffer)?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Hands what was written on to where it is stored.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    #[cold]
    fn begin(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        for (locate, symbol) in subscriber.symbols() {
            let is_wanted = self.wanted.is_empty() || self.wanted.contains(&symbol);
            let name = &mut self.names[locate];
            if is_wanted && *name == Symbol::ABSENT {
                *name = symbol;
            }
        }
        let board = subscriber.board().map(|board| *board.run());
        self.date = self.date.or(board.map(|run| run.date));
        let midnight_ns = self.run.map(|start| start.midnight_ns);
        self.write_metadata(midnight_ns.or(board.map(|run| run.midnight_ns)))
    }

    fn write_metadata(&mut self, midnight_ns: Option<u64>) -> io::Result<()> {
        let contents = Contents {
            midnight_ns: midnight_ns.unwrap_or(0),
            first_ts_recv: self.first_ts_recv,
            wanted: &self.wanted,
            names: &self.names,
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
            && !self.is_told[locate]
        {
            self.name(locate, symbol);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether a reader of the file gives a stock the name that it has in this record. Notes names.
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
        }
        self.has_stocks = true;
        Ok(())
    }

    /// Tells what a stock is called.
    #[cold]
    fn name(&mut self, locate: StockLocate, symbol: Symbol) {
        self.is_told[locate] = true;
        let text = text_of(symbol);
        let midnight_ns = self.run.map_or(u64::MAX, |start| start.midnight_ns);
        // Tables are indexed by the exchange's time or by ours, whichever a record has: the name
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
                // On another day the same number is another stock.
                if self.has_stocks && self.date != Some(start.date) {
                    return Err(NextFile::Date { sequence, date: start.date });
                }
                (self.run, self.date, self.has_lost) = (Some(*start), Some(start.date), false);
                self.ts_recv = start.started_ns;
                self.system(start.started_ns, &format!("plant start: {start}"));
            }
            Notice::Stop(stop) => {
                self.ts_recv = stop.stopped_ns;
                self.system(stop.stopped_ns, &format!("plant stop: {stop}"));
            }
            Notice::Gap(gap) => {
                self.ts_recv = gap.ts_recv;
                self.error(ErrorCode::Unset, 0, &format!("gap: {gap}"));
            }
            Notice::Taint(taint) => {
                (self.ts_event, self.ts_recv) = (taint.ts_event, taint.ts_recv);
                let stock = match symbol {
                    Some(symbol) => text_of(symbol),
                    None => format!("#{}", taint.instrument_id),
                };
                let text = format!("taint: {stock}: {taint}");
                self.error(ErrorCode::Unset, taint.instrument_id, &text);
            }
        }
        if self.first_ts_recv == 0 {
            self.first_ts_recv = self.ts_recv;
        }
        Ok(())
    }

    fn error(&mut self, code: ErrorCode, instrument_id: u32, text: &str) {
        let mut message = ErrorMsg::new(self.ts_event, Some(code), text, true);
        message.hd.instrument_id = instrument_id;
        self.buffer.extend_from_slice(message.as_ref());
    }

    fn system(&mut self, ts_event: u64, text: &str) {
        // No notice says as much as would not fit.
        if let Ok(message) = SystemMsg::new(ts_event, None, text) {
            self.buffer.extend_from_slice(message.as_ref());
        }
    }
}

fn date_text(date: u32) -> String {
    TradeDate::of_number(date).map_or_else(|| date.to_string(), |date| date.to_string())
}

fn name_text(symbol: Option<Symbol>) -> String {
    symbol.map_or_else(|| "not known".to_owned(), |symbol| symbol.to_string())
}

/// A symbol as DBN has it.
fn text_of(symbol: Symbol) -> String {
    symbol_text(symbol).into_iter().map(char::from).collect()
}
