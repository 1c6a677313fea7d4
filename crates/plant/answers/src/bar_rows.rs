//! Rows of bars: the first, highest, lowest and last price of the trades of a period, of a number
//! of trades, or of a volume.
//!
//! Broken trades, if they are known, and trades without a price count for no bar. A trade is never
//! divided: the one that completes a bar of trades or shares is its last one. Bars of time are of
//! multiples of the period since midnight, and a period without a trade has none. The times of some
//! feeds are out of order: a bar of time is given when the latest time is [`LATE_NS`] after its
//! end.

use std::{collections::BTreeMap, ops::ControlFlow};

use nanotape_types::{
    Symbol,
    rows::{Cell, Column, Kind, Sink, StockName},
};

use crate::{
    MoreColumns, Reason,
    book_tables::{symbol_column, time_column},
};

/// What completes a bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarBy {
    /// A period, in ns.
    Time(u64),
    /// A number of trades.
    Trades(u64),
    /// A number of shares, at least.
    Volume(u64),
}

/// Collects the rows of [`TradeRows`](crate::TradeRows) as bars, which another sink takes.
#[derive(Debug)]
pub struct Bars<S> {
    /// Takes the bars.
    pub sink: S,
    by: BarBy,
    /// Those that are not complete, in the order of their periods and stocks.
    open: BTreeMap<Key, Bar>,
    /// The latest time.
    last_ns: u64,
    /// When the first open bar of time can be given.
    due_ns: u64,
}

/// How late a trade can be for the bar of its period: as much as units and stocks of a feed are out
/// of order. A later one has a bar of its own.
const LATE_NS: u64 = 1_000_000_000;

/// The begin of the period, 0 for bars of trades and shares; and the stock: by its symbol, or by
/// its number if it has none.
type Key = (u64, Option<Symbol>, u32);

#[derive(Clone, Copy, Debug)]
struct Bar {
    stock: StockName,
    begins_ns: u64,
    last_ns: u64,
    /// In units of 0.0001, as the other prices.
    open: u64,
    high: u64,
    low: u64,
    close: u64,
    volume: u128,
    trades: u64,
    /// Prices times shares; of shares that no market has, the most that fits.
    value: u128,
    /// That of its first trade that has one.
    reason: Option<Reason>,
}

/// The places of cells in a row of trades.
mod place {
    pub(super) const TIME: usize = 1;
    pub(super) const STOCK: usize = 2;
    pub(super) const PRICE: usize = 4;
    pub(super) const SIZE: usize = 5;
    pub(super) const BROKEN: usize = 9;
    pub(super) const REASON: usize = 10;
}

impl<S> Bars<S> {
    /// The columns that the rows of trades must have.
    pub const OF_TRADES: MoreColumns =
        MoreColumns { message: true, orders: false, receipt: false, reason: true };

    /// Bars of this kind.
    pub fn new(by: BarBy, sink: S) -> Self {
        let by = match by {
            BarBy::Time(period) => BarBy::Time(period.max(1)),
            BarBy::Trades(count) => BarBy::Trades(count.max(1)),
            BarBy::Volume(shares) => BarBy::Volume(shares.max(1)),
        };
        Self { sink, by, open: BTreeMap::new(), last_ns: 0, due_ns: u64::MAX }
    }

    /// The columns.
    pub fn columns() -> Vec<Column> {
        let price = |name, doc| Column::new(name, Kind::Price, 11, doc).of("USD");
        let begin = "Begin of the period; of bars of trades or shares, time of the first trade.";
        let last = Column::new("ts_last", Kind::Time, 14, "Time of the last trade.");
        vec![
            Column { doc: begin.into(), ..time_column() },
            last.of("ns since midnight"),
            symbol_column(),
            price("open", "Price of the first trade."),
            price("high", "Highest price."),
            price("low", "Lowest price."),
            price("close", "Price of the last trade."),
            Column::new("volume", Kind::U64, 9, "Shares of all trades.").of("shares"),
            Column::new("trades", Kind::U64, 7, "Number of trades."),
            Column::new("vwap", Kind::Price9, 11, "Average price by shares, rounded to 1e-9.")
                .of("USD"),
            Reason::column(),
        ]
    }
}

impl<S: Sink> Bars<S> {
    /// Gives the bars that are not complete.
    pub fn finish(&mut self) -> ControlFlow<()> {
        let open = std::mem::take(&mut self.open);
        open.values().try_for_each(|bar| bar.give(&mut self.sink))
    }

    /// Gives the bars of periods that are over.
    #[cold]
    fn give_due(&mut self, period_ns: u64) -> ControlFlow<()> {
        while let Some(first) = self.open.first_entry() {
            self.due_ns = due_ns(first.key().0, period_ns);
            if self.due_ns > self.last_ns {
                return ControlFlow::Continue(());
            }
            first.remove().give(&mut self.sink)?;
        }
        self.due_ns = u64::MAX;
        ControlFlow::Continue(())
    }
}

impl<S: Sink> Sink for Bars<S> {
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()> {
        let (Cell::Stock(stock), Cell::Price(price), Cell::U64(shares)) =
            (cells[place::STOCK], cells[place::PRICE], cells[place::SIZE])
        else {
            return ControlFlow::Continue(());
        };
        if cells[place::BROKEN] == Cell::Flag(true) {
            return ControlFlow::Continue(());
        }
        let ts_ns = if let Cell::Time(nanos) = cells[place::TIME] { nanos } else { 0 };
        let reason = match cells[place::REASON] {
            Cell::Text(reason) => Reason::of_name(reason),
            _ => None,
        };
        self.last_ns = self.last_ns.max(ts_ns);
        let period_begins_ns = match self.by {
            BarBy::Time(period_ns) => {
                if self.last_ns >= self.due_ns {
                    self.give_due(period_ns)?;
                }
                let begins_ns = ts_ns / period_ns * period_ns;
                self.due_ns = self.due_ns.min(due_ns(begins_ns, period_ns));
                Some(begins_ns)
            }
            BarBy::Trades(_) | BarBy::Volume(_) => None,
        };
        let begins_ns = period_begins_ns.unwrap_or(ts_ns);
        let period = period_begins_ns.unwrap_or_default();
        let key = match stock.symbol() {
            Some(symbol) => (period, Some(symbol), 0),
            None => (period, None, stock.instrument_id()),
        };
        let bar = self.open.entry(key).or_insert(Bar {
            stock,
            begins_ns,
            last_ns: ts_ns,
            open: price,
            high: price,
            low: price,
            close: price,
            volume: 0,
            trades: 0,
            value: 0,
            reason: None,
        });
        bar.last_ns = bar.last_ns.max(ts_ns);
        (bar.high, bar.low) = (bar.high.max(price), bar.low.min(price));
        bar.close = price;
        bar.volume = bar.volume.saturating_add(shares.into());
        bar.trades += 1;
        bar.value = bar.value.saturating_add(u128::from(price) * u128::from(shares));
        bar.reason = bar.reason.or(reason);
        let is_complete = match self.by {
            BarBy::Time(_) => false,
            BarBy::Trades(count) => bar.trades >= count,
            BarBy::Volume(shares) => bar.volume >= shares.into(),
        };
        if !is_complete {
            return ControlFlow::Continue(());
        }
        let bar = *bar;
        self.open.remove(&key);
        bar.give(&mut self.sink)
    }
}

/// When the bars of a period can be given.
fn due_ns(begins_ns: u64, period_ns: u64) -> u64 {
    begins_ns.saturating_add(period_ns).saturating_add(LATE_NS)
}

impl Bar {
    fn give(&self, sink: &mut impl Sink) -> ControlFlow<()> {
        let volume = self.volume.max(1);
        // From units of 1e-4 to those of 1e-9, rounded to the nearest.
        let (whole, rest) = (self.value / volume, self.value % volume);
        let vwap = whole * 100_000 + (rest.saturating_mul(200_000) / volume).div_ceil(2);
        sink.row(&[
            Cell::Time(self.begins_ns),
            Cell::Time(self.last_ns),
            Cell::Stock(self.stock),
            Cell::Price(self.open),
            Cell::Price(self.high),
            Cell::Price(self.low),
            Cell::Price(self.close),
            Cell::U64(u64::try_from(self.volume).unwrap_or(u64::MAX)),
            Cell::U64(self.trades),
            Cell::Price9(i64::try_from(vwap).unwrap_or(i64::MAX)),
            Reason::cell(self.reason),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trade of stock 1: its time, price, size and whether it is broken.
    fn trade(bars: &mut Bars<impl Sink>, ts_ns: u64, price: u64, size: u64, broken: Option<bool>) {
        let flow = bars.row(&[
            Cell::U64(1),
            Cell::Time(ts_ns),
            Cell::Stock(StockName::new(None, 1)),
            Cell::Text("hidden"),
            Cell::Price(price),
            Cell::U64(size),
            Cell::Absent,
            Cell::Absent,
            Cell::U64(7),
            broken.map_or(Cell::Absent, Cell::Flag),
            Cell::Absent,
        ]);
        assert!(flow.is_continue());
    }

    /// Begin, last, open, high, low, close, volume, trades and average of each bar.
    fn bars_of(by: BarBy, trades: &[(u64, u64, u64, Option<bool>)]) -> Vec<[u64; 9]> {
        let mut rows = Vec::new();
        let mut bars = Bars::new(by, |cells: &[Cell<'_>]| {
            let number = |place: usize| match cells[place] {
                Cell::Time(value) | Cell::Price(value) | Cell::U64(value) => value,
                Cell::Price9(value) => value.unsigned_abs(),
                other => panic!("{other:?} at {place}"),
            };
            rows.push([0, 1, 3, 4, 5, 6, 7, 8, 9].map(number));
            ControlFlow::Continue(())
        });
        for &(ts_ns, price, size, broken) in trades {
            trade(&mut bars, ts_ns, price, size, broken);
        }
        assert!(bars.finish().is_continue());
        drop(bars);
        rows
    }

    #[test]
    fn a_bar_of_time_has_the_trades_of_its_period_that_are_not_broken() {
        let trades = [
            (9, 50, 100, None),
            (10, 40, 300, Some(false)),
            (12, 90, 100, Some(true)),
            (19, 60, 100, None),
            (45, 70, 1, None),
        ];
        let rows = bars_of(BarBy::Time(10), &trades);
        let second = (40 * 300 + 60 * 100) * 100_000 / 400;
        assert_eq!(
            rows,
            [
                [0, 9, 50, 50, 50, 50, 100, 1, 5_000_000],
                [10, 19, 40, 60, 40, 60, 400, 2, second],
                [40, 45, 70, 70, 70, 70, 1, 1, 7_000_000],
            ]
        );
    }

    #[test]
    fn a_trade_out_of_order_counts_for_its_period_for_a_second() {
        let second = 1_000_000_000;
        let period = 5 * second;
        let trades = [
            (5 * second, 50, 1, None),
            (5 * second - 1, 40, 2, None),
            (10 * second + 1, 60, 4, None),
            // Later than a second.
            (4 * second, 70, 8, None),
        ];
        let rows = bars_of(BarBy::Time(period), &trades);
        let begins: Vec<_> = rows.iter().map(|row| (row[0] / second, row[6])).collect();
        assert_eq!(begins, [(0, 2), (0, 8), (5, 1), (10, 4)]);
    }

    #[test]
    fn a_volume_that_no_market_has_is_the_most_that_fits_and_its_average_is_right() {
        let rows =
            bars_of(BarBy::Trades(2), &[(1, 150_000, 1, None), (2, 150_000, u64::MAX, None)]);
        assert_eq!((rows[0][6], rows[0][8]), (u64::MAX, 15_000_000_000));
    }

    #[test]
    fn the_trade_that_completes_a_bar_is_its_last_one() {
        let trades = [(1, 10, 60, None), (2, 20, 60, None), (3, 30, 250, None), (4, 5, 1, None)];
        let volumes =
            |by| bars_of(by, &trades).iter().map(|row| (row[0], row[6])).collect::<Vec<_>>();
        assert_eq!(volumes(BarBy::Volume(100)), [(1, 120), (3, 250), (4, 1)]);
        assert_eq!(volumes(BarBy::Trades(3)), [(1, 370), (4, 1)]);
    }

    #[test]
    fn an_average_is_rounded_to_the_nearest_unit() {
        let rows = bars_of(BarBy::Trades(2), &[(1, 1, 1, None), (2, 2, 2, None)]);
        // 5 / 3 of 1e-4 is 166,666.67 of 1e-9.
        assert_eq!(rows[0][8], 166_667);
    }
}
