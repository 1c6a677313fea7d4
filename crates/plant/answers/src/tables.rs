//! Several tables from one reading of an input: their names, their columns, and one observer that
//! gives the rows of all of them.

use std::{fmt, ops::ControlFlow, str::FromStr};

use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{Damage, Doubt, MarketEvent, Position, SessionChange};
use nanotape_plant::records::RecordKind;
use nanotape_types::{
    Symbol,
    rows::{Column, Sink},
};

use crate::{
    BarBy, Bars, BookRows, Breaks, DepthTable, EventRows, EventTable, InputReport, InsideTable,
    MoreColumns, OrderRows, Session, SymbolFilter, TradeRows,
};

/// A table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Table {
    /// The inside after each change.
    Bbo,
    /// Every print.
    Trades,
    /// Changes of single orders, and trades.
    Mbo,
    /// The first levels.
    Depth,
    /// Bars of trades.
    Bars,
    /// Trading states.
    Status,
    /// The instruments of the day.
    Definitions,
    /// Auctions before they take place.
    Imbalance,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Bbo,
        Self::Trades,
        Self::Mbo,
        Self::Depth,
        Self::Bars,
        Self::Status,
        Self::Definitions,
        Self::Imbalance,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bbo => "bbo",
            Self::Trades => "trades",
            Self::Mbo => "mbo",
            Self::Depth => "depth",
            Self::Bars => "bars",
            Self::Status => "status",
            Self::Definitions => "definitions",
            Self::Imbalance => "imbalance",
        }
    }

    /// Its columns.
    pub fn columns(self, options: &TableOptions) -> Vec<Column> {
        let (more, has_receipt) = (options.more(), options.has_receipt);
        match self {
            Self::Bbo => InsideTable::<()>::columns(more),
            Self::Trades => TradeRows::<()>::columns(more),
            Self::Mbo => OrderRows::<()>::columns(has_receipt),
            Self::Depth => DepthTable::<()>::columns(options.levels, true, more),
            Self::Bars => Bars::<()>::columns(),
            Self::Status => EventRows::<()>::columns(EventTable::Status, has_receipt),
            Self::Definitions => EventRows::<()>::columns(EventTable::Definitions, has_receipt),
            Self::Imbalance => EventRows::<()>::columns(EventTable::Imbalance, has_receipt),
        }
    }

    /// Whether the input has what its rows are made of: a plant can leave kinds of records out.
    pub fn is_recorded(self, report: &InputReport) -> bool {
        let kind = match self {
            Self::Status => RecordKind::Status,
            Self::Definitions => RecordKind::Definitions,
            Self::Imbalance => RecordKind::Imbalances,
            // They follow from the records of orders, without which an input is not read.
            Self::Bbo | Self::Trades | Self::Mbo | Self::Depth | Self::Bars => return true,
        };
        match report {
            InputReport::Day(_) => true,
            InputReport::Records(recorded) => {
                recorded.summary.start.is_none_or(|start| start.kinds.has(kind))
            }
        }
    }

    /// Whether its rows need the orders of an exchange, which not all show.
    pub fn needs_orders(self) -> bool {
        self == Self::Mbo
    }
}

impl From<EventTable> for Table {
    fn from(table: EventTable) -> Self {
        match table {
            EventTable::Status => Self::Status,
            EventTable::Definitions => Self::Definitions,
            EventTable::Imbalance => Self::Imbalance,
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no table has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no table {0:?}; expected bbo, trades, mbo, depth, bars, status, definitions or imbalance")]
pub struct UnknownTable(String);

impl FromStr for Table {
    type Err = UnknownTable;

    fn from_str(name: &str) -> Result<Self, UnknownTable> {
        let name = if name == "imbalances" { "imbalance" } else { name };
        Self::ALL
            .into_iter()
            .find(|table| table.name() == name)
            .ok_or_else(|| UnknownTable(name.to_owned()))
    }
}

/// What the rows of tables have.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The selected stocks; all if there are none.
    pub symbols: Vec<Symbol>,
    /// Levels of each side of [`Table::Depth`].
    pub levels: u32,
    /// Rows of [`Table::Bbo`] and [`Table::Depth`] at each multiple of this period since midnight,
    /// in ns, instead of one for each change.
    pub every_ns: Option<u64>,
    /// What completes a bar.
    pub bars: BarBy,
    /// Whether rows have the time of receipt.
    pub has_receipt: bool,
    /// Whether the input has records, which lack what messages have.
    pub is_of_records: bool,
    /// Whether the caller marks broken trades at the end: see [`TradeRows::marked_later`].
    pub marks_later: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            symbols: Vec::new(),
            levels: 10,
            every_ns: None,
            bars: BarBy::Time(60_000_000_000),
            has_receipt: false,
            is_of_records: false,
            marks_later: false,
        }
    }
}

impl TableOptions {
    fn more(&self) -> MoreColumns {
        MoreColumns { message: true, orders: true, receipt: self.has_receipt, reason: true }
    }
}

/// Gives the rows of several tables to a sink of each, as one observer.
#[derive(Debug)]
pub struct Tables<S> {
    /// The selected stocks, for the end of a reading.
    pub filter: SymbolFilter,
    bbo: Option<BookRows<InsideTable<S>>>,
    trades: Option<TradeRows<S>>,
    mbo: Option<OrderRows<S>>,
    depth: Option<BookRows<DepthTable<S>>>,
    bars: Option<TradeRows<Bars<S>>>,
    events: Vec<EventRows<S>>,
}

impl<S: Sink> Tables<S> {
    /// No table yet.
    pub fn new(options: &TableOptions) -> Self {
        Self {
            filter: SymbolFilter::new(&options.symbols),
            bbo: None,
            trades: None,
            mbo: None,
            depth: None,
            bars: None,
            events: Vec::new(),
        }
    }

    /// Adds a table with its sink. `broken`: all broken trades, if they are known.
    pub fn add(&mut self, table: Table, sink: S, options: &TableOptions, broken: Option<&Breaks>) {
        let TableOptions { symbols, levels, every_ns, has_receipt, is_of_records, .. } = options;
        let more = options.more();
        let mut event = |table, sink| {
            self.events.push(EventRows::new(table, symbols, sink, (*has_receipt, *is_of_records)));
        };
        match table {
            Table::Bbo => {
                let rows = BookRows::new(symbols, InsideTable::new(sink, more));
                self.bbo = Some(rows.every(*every_ns));
            }
            Table::Depth => {
                let rows = BookRows::new(symbols, DepthTable::new(sink, *levels, true, more));
                self.depth = Some(rows.every(*every_ns));
            }
            Table::Trades => {
                let broken = broken.cloned();
                let rows = TradeRows::new(symbols, sink, *is_of_records, broken, more);
                let is_marked_later = options.marks_later;
                self.trades = Some(if is_marked_later { rows.marked_later() } else { rows });
            }
            Table::Bars => {
                let (bars, broken) = (Bars::new(options.bars, sink), broken.cloned());
                let columns = Bars::<S>::OF_TRADES;
                self.bars = Some(TradeRows::new(symbols, bars, *is_of_records, broken, columns));
            }
            Table::Mbo => self.mbo = Some(OrderRows::new(symbols, sink, *has_receipt)),
            Table::Status => event(EventTable::Status, sink),
            Table::Definitions => event(EventTable::Definitions, sink),
            Table::Imbalance => event(EventTable::Imbalance, sink),
        }
    }

    /// Gives the rows after the last message. `bounds`: those of the [opening](crate::Opening).
    pub fn finish(&mut self, session: &Session, bounds: (u64, u64)) -> ControlFlow<()> {
        if let Some(bbo) = &mut self.bbo {
            bbo.finish(session, bounds)?;
        }
        if let Some(depth) = &mut self.depth {
            depth.finish(session, bounds)?;
        }
        self.bars.as_mut().map_or(ControlFlow::Continue(()), |bars| bars.sink.finish())
    }

    /// The tables with their sinks.
    pub fn sinks(&mut self) -> impl Iterator<Item = (Table, &mut S)> {
        let Self { bbo, trades, mbo, depth, bars, events, .. } = self;
        let bbo = bbo.iter_mut().map(|rows| (Table::Bbo, &mut rows.visitor.sink));
        let trades = trades.iter_mut().map(|rows| (Table::Trades, &mut rows.sink));
        let mbo = mbo.iter_mut().map(|rows| (Table::Mbo, &mut rows.sink));
        let depth = depth.iter_mut().map(|rows| (Table::Depth, &mut rows.visitor.sink));
        let bars = bars.iter_mut().map(|rows| (Table::Bars, &mut rows.sink.sink));
        let events = events.iter_mut().map(|rows| (rows.table.into(), &mut rows.sink));
        bbo.chain(trades).chain(mbo).chain(depth).chain(bars).chain(events)
    }

    /// The same without the rows.
    pub fn into_sinks(self) -> Vec<(Table, S)> {
        let Self { bbo, trades, mbo, depth, bars, events, .. } = self;
        let mut sinks = Vec::new();
        sinks.extend(bbo.map(|rows| (Table::Bbo, rows.visitor.sink)));
        sinks.extend(trades.map(|rows| (Table::Trades, rows.sink)));
        sinks.extend(mbo.map(|rows| (Table::Mbo, rows.sink)));
        sinks.extend(depth.map(|rows| (Table::Depth, rows.visitor.sink)));
        sinks.extend(bars.map(|rows| (Table::Bars, rows.sink.sink)));
        sinks.extend(events.into_iter().map(|rows| (rows.table.into(), rows.sink)));
        sinks
    }

    /// Broken trades that could not be marked, because the breaks were not known before.
    pub fn unmarked(&self) -> Option<&Breaks> {
        let of_bars = self.bars.as_ref().map(|bars| &bars.unmarked);
        self.trades.as_ref().map(|trades| &trades.unmarked).or(of_bars)
    }
}

/// Calls a method of each table.
macro_rules! each {
    ($own:ident, |$rows:ident| $call:expr) => {
        if let Some($rows) = &mut $own.bbo {
            $call
        }
        if let Some($rows) = &mut $own.trades {
            $call
        }
        if let Some($rows) = &mut $own.mbo {
            $call
        }
        if let Some($rows) = &mut $own.depth {
            $call
        }
        if let Some($rows) = &mut $own.bars {
            $call
        }
        for $rows in &mut $own.events {
            $call
        }
    };
}

impl<S: Sink> Observer<DefaultBooks> for Tables<S> {
    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, nanos: u64) {
        each!(self, |rows| rows.begin(engine, nanos));
    }

    #[inline]
    fn before(&mut self, engine: &BookEngine<DefaultBooks>, at: Position, event: &MarketEvent) {
        each!(self, |rows| rows.before(engine, at, event));
    }

    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        self.filter.accepts(locate, engine.directory());
        each!(self, |rows| rows.after(engine, at, event, outcome)?);
        ControlFlow::Continue(())
    }

    #[inline]
    fn order_entered(&mut self, order: &Order) {
        each!(self, |rows| rows.order_entered(order));
    }

    #[inline]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        each!(self, |rows| rows.order_reduced(order, shares));
    }

    #[inline]
    fn received(&mut self, ts_recv_ns: u64) {
        each!(self, |rows| rows.received(ts_recv_ns));
    }

    fn damage(&mut self, damage: Damage) {
        each!(self, |rows| rows.damage(damage));
    }

    fn session(&mut self, change: &SessionChange) {
        each!(self, |rows| rows.session(change));
    }

    fn doubt(&mut self, doubt: Doubt) {
        each!(self, |rows| rows.doubt(doubt));
    }
}
