//! Reads the file once before anything is measured: whether it is valid, and its sizes.
//!
//! This also brings the file into memory, so that the first reading does not measure the disk.

use core::ops::ControlFlow;
use std::{fs::File, io::Read as _, path::Path};

use nanotape_engine::{DamageLog, DayReport};
use nanotape_feed::{
    Compression, Damage, DayEnd, DaySource, DaySummary, Position, SourceError, source::OtherKind,
};
use nanotape_market::{EventHandler, EventSource as _, MarketEvent, Origin, StockDirectory};
use nanotape_types::{LocateTable, StockLocate, Symbol};

use crate::error::Error;
use nanotape_host::available_memory_bytes;

/// Properties of a valid day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Survey {
    /// Size of the file as stored.
    pub(super) stored_bytes: u64,
    /// Bytes of its messages; of those of a day file also their lengths.
    pub(super) bytes: u64,
    /// Number of messages.
    pub(super) messages: u64,
    /// Messages that are in no packet of a capture.
    pub(super) missing: u64,
    /// Whether it is a capture.
    pub(super) is_capture: bool,
    /// Compression of the file.
    pub(super) compression: Compression,
    /// The stock with the most messages, if the file names its stocks.
    pub(super) busiest: Option<Symbol>,
    /// Memory available to programs, if known.
    pub(super) available_memory_bytes: Option<u64>,
}

/// A synthetic day has about one live order per this many messages at most.
const MESSAGES_PER_LIVE_ORDER: u64 = 20;

/// Bounds of the live orders to make room for. A day of Nasdaq peaks at about two million.
const FEWEST_ORDERS: u64 = 1 << 16;
const MOST_ORDERS: u64 = 1 << 21;

impl Survey {
    /// Reads the whole file. `progress` is called a few times per second.
    pub(super) fn of(path: &Path, progress: impl FnMut(&DaySource)) -> Result<Self, Error> {
        let mut source = DaySource::open(path)?;
        source.check_day()?;
        let is_capture = source.is_capture()?;
        let stored_bytes = source.progress().total_bytes.unwrap_or(0);
        let mut first = Vec::new();
        let first_bytes = Compression::MAGIC_BYTES as u64;
        let opened = File::open(path);
        let read = opened.and_then(|file| file.take(first_bytes).read_to_end(&mut first));
        let name = path.display().to_string();
        read.map_err(|source| SourceError::System { operation: "read", name, source })?;

        let mut count = Count {
            last: 0,
            bytes: 0,
            of_stock: LocateTable::filled(0),
            stocks: StockDirectory::default(),
            damage: DamageLog::default(),
        };
        let summary = source.read(&mut count, progress)?;
        let busiest = count.busiest();
        let summary = refuse_damage(path, DayReport { summary, damage: count.damage })?;
        Ok(Self {
            stored_bytes,
            bytes: if is_capture { count.bytes } else { summary.bytes },
            messages: summary.records,
            missing: summary.session.as_ref().map_or(0, |session| session.missing),
            is_capture,
            compression: Compression::of(&first),
            busiest,
            available_memory_bytes: available_memory_bytes(),
        })
    }

    /// Default number of live orders to make room for.
    pub(super) fn orders(&self) -> u32 {
        (self.messages / MESSAGES_PER_LIVE_ORDER).clamp(FEWEST_ORDERS, MOST_ORDERS) as u32
    }

    /// Whether the file stays in memory between readings, as far as that is known.
    pub(super) fn stays_in_memory(&self) -> bool {
        self.available_memory_bytes.is_none_or(|available| self.stored_bytes < available)
    }
}

/// Refuses a capture, for measurements that need a day file.
pub(super) fn refuse_capture(path: &Path) -> Result<(), Error> {
    if DaySource::open(path)?.is_capture()? {
        let advice = "the measurements need a BinaryFILE day";
        let kind = OtherKind { what: "a capture", advice, command: None };
        return Err(SourceError::NotADay { name: path.display().to_string(), kind }.into());
    }
    Ok(())
}

/// The summary of a valid day; an error with the reason for any other day.
pub(super) fn refuse_damage(path: &Path, report: DayReport) -> Result<DaySummary, Error> {
    let bad = |reason: String| Err(Error::found(path.display(), reason));
    let DayReport { summary, damage } = report;
    if let Some(fault) = summary.fault {
        return Err(fault.into());
    }
    if let Some(first) = damage.first().first() {
        return match damage.total() {
            1 => bad(first.to_string()),
            total => bad(format!("{first}, and {} more damaged places", total - 1)),
        };
    }
    match summary.end {
        end @ DayEnd::Cut { .. } => bad(end.to_string()),
        _ if summary.records == 0 => bad("no messages in the file".to_owned()),
        _ => Ok(summary),
    }
}

struct Count {
    /// The number of the last message: one can have several events.
    last: u64,
    /// The bytes of the messages.
    bytes: u64,
    of_stock: LocateTable<u64>,
    stocks: StockDirectory,
    damage: DamageLog,
}

impl Count {
    /// The stock with the most messages among those whose name is one word.
    fn busiest(&self) -> Option<Symbol> {
        let is_word = |symbol: &Symbol| symbol.to_string().parse().ok() == Some(*symbol);
        let locates = StockLocate::all().skip(1);
        let named = locates
            .filter_map(|locate| Some((locate, self.stocks.symbol(locate).filter(is_word)?)));
        let busiest = named.max_by_key(|&(locate, _)| self.of_stock[locate]);
        busiest.map(|(_, symbol)| symbol)
    }
}

impl EventHandler for Count {
    type Hint = ();

    #[inline]
    fn event(&mut self, at: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()> {
        if core::mem::replace(&mut self.last, at.number) != at.number {
            self.bytes += origin.bytes().len() as u64;
        }
        self.stocks.learn(event);
        self.of_stock[event.stock_locate] += 1;
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.record(damage);
    }
}
