//! The columns of rows of books: the inside, and the first levels.

use std::ops::ControlFlow;

use nanotape_book::{DepthLevel, Outcome, Quote};
use nanotape_types::{
    PriceScale, Side,
    rows::{Cell, Column, Kind, Sink},
};

use crate::{BookRow, BookVisitor, Reason};

/// The column of the number of a message, the same in all tables of messages.
pub fn message_column() -> Column {
    let doc = "Number of the message in the input, from 1. Rows of other tables about the same \
               message have the same number. Absent for a row of a time before its first message.";
    Column::new("message", Kind::U64, 9, doc)
}

/// The column of the exchange's time.
pub fn time_column() -> Column {
    let doc = "Time of the message at the exchange. Absent before the first message with a time.";
    Column::new("ts_ns", Kind::Time, 14, doc).of("ns since midnight")
}

/// The column of a stock.
pub fn symbol_column() -> Column {
    let doc = "Symbol of the stock, or # and its stock locate if no message has named it.";
    Column::new("symbol", Kind::Text, 8, doc)
}

/// The column of the time of receipt.
pub fn receipt_column() -> Column {
    let doc = "When the message was received. Absent in an input without receive times.";
    Column::new("ts_recv", Kind::UnixTime, 0, doc).of("ns since 1970, UTC")
}

/// Columns that a table of books or trades has on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MoreColumns {
    /// The number of the message.
    pub message: bool,
    /// The number of orders of each level.
    pub orders: bool,
    /// When the message was received.
    pub receipt: bool,
    /// Why the row may be wrong.
    pub reason: bool,
}

/// The columns of rows of messages. Those of the fields of the message follow.
pub fn message_columns() -> Vec<Column> {
    let offset = "Offset of the record of the message in its file.";
    vec![
        message_column(),
        Column::new("offset", Kind::U64, 0, offset).of("bytes"),
        Column::new("type", Kind::Text, 0, "The type: a letter, or a number such as 0x21."),
        time_column(),
        symbol_column(),
    ]
}

/// Rows of the best prices: one when a message changes the price or the size of a side.
#[derive(Debug)]
pub struct InsideTable<S> {
    /// Takes the rows.
    pub sink: S,
    more: MoreColumns,
    cells: Vec<Cell<'static>>,
}

impl<S> InsideTable<S> {
    /// A table with these columns besides its own.
    pub fn new(sink: S, more: MoreColumns) -> Self {
        Self { sink, more, cells: Vec::new() }
    }

    /// Its columns.
    pub fn columns(more: MoreColumns) -> Vec<Column> {
        let mut columns: Vec<_> = more.message.then(message_column).into_iter().collect();
        columns.push(time_column());
        columns.extend(more.receipt.then(receipt_column));
        columns.push(symbol_column());
        for side in ["bid", "ask"] {
            columns.extend(level_columns(side, "", more.orders));
        }
        columns.extend(more.reason.then(Reason::column));
        columns
    }
}

impl<S: Sink> BookVisitor for InsideTable<S> {
    #[inline]
    fn visit(&mut self, row: &BookRow<'_>) -> ControlFlow<()> {
        if self.more == MoreColumns::default() {
            let inside = row.book.inside();
            let [bid, offer] = Side::BOTH.map(|side| inside.side(side));
            let scale = row.book.price_scale();
            let price = |quote: Option<Quote>| {
                Cell::price(quote.map(|quote| scale.ten_thousandths(quote.price)))
            };
            let size = |quote: Option<Quote>| Cell::u64(quote.map(|quote| quote.shares.get()));
            return self.sink.row(&[
                Cell::time(row.ts_ns),
                Cell::Stock(row.stock),
                price(bid),
                size(bid),
                price(offer),
                size(offer),
            ]);
        }
        let cells = &mut self.cells;
        cells.clear();
        if self.more.message {
            cells.push(Cell::u64(row.message));
        }
        push_times(cells, row, self.more);
        cells.push(Cell::Stock(row.stock));
        for side in Side::BOTH {
            push_level(
                cells,
                (row.book.depth(side).next(), row.book.price_scale()),
                self.more.orders.then_some(row.has_orders),
            );
        }
        if self.more.reason {
            cells.push(Reason::cell(row.reason));
        }
        self.sink.row(cells)
    }
}

/// Rows of the first levels of a book: one for each message about its stock.
#[derive(Debug)]
pub struct DepthTable<S> {
    /// Takes the rows.
    pub sink: S,
    levels: u32,
    has_symbol: bool,
    more: MoreColumns,
    cells: Vec<Cell<'static>>,
}

impl<S> DepthTable<S> {
    /// A table of this many levels, with or without the symbol, and with these columns besides its
    /// own. The number of the message is one of its own.
    pub fn new(sink: S, levels: u32, has_symbol: bool, more: MoreColumns) -> Self {
        Self { sink, levels, has_symbol, more, cells: Vec::new() }
    }

    /// Its columns.
    pub fn columns(levels: u32, has_symbol: bool, more: MoreColumns) -> Vec<Column> {
        let mut columns = vec![message_column(), time_column()];
        columns.extend(more.receipt.then(receipt_column));
        columns.extend(has_symbol.then(symbol_column));
        for level in 1..=levels {
            for side in ["ask", "bid"] {
                columns.extend(level_columns(side, &format!("_{level}"), more.orders));
            }
        }
        columns.extend(more.reason.then(Reason::column));
        columns
    }
}

impl<S: Sink> BookVisitor for DepthTable<S> {
    #[inline]
    fn is_row(&self, _: &Outcome) -> bool {
        true
    }

    #[inline]
    fn visit(&mut self, row: &BookRow<'_>) -> ControlFlow<()> {
        let cells = &mut self.cells;
        cells.clear();
        cells.push(Cell::u64(row.message));
        push_times(cells, row, self.more);
        if self.has_symbol {
            cells.push(Cell::Stock(row.stock));
        }
        let [mut bids, mut offers] = [row.book.depth(Side::Buy), row.book.depth(Side::Sell)];
        let scale = row.book.price_scale();
        for _ in 0..self.levels {
            let orders = self.more.orders.then_some(row.has_orders);
            push_level(cells, (offers.next(), scale), orders);
            push_level(cells, (bids.next(), scale), orders);
        }
        if self.more.reason {
            cells.push(Reason::cell(row.reason));
        }
        self.sink.row(cells)
    }
}

fn push_times(cells: &mut Vec<Cell<'static>>, row: &BookRow<'_>, more: MoreColumns) {
    cells.push(Cell::time(row.ts_ns));
    if more.receipt {
        cells.push(row.ts_recv_ns.map_or(Cell::Absent, Cell::UnixTime));
    }
}

fn level_columns(side: &str, suffix: &str, has_orders: bool) -> impl Iterator<Item = Column> {
    let name = |what: &str| format!("{side}_{what}{suffix}");
    let price = "Price of the level. Absent if the side has no such level.";
    let size = "Displayed shares of all orders at the price. Absent without a price.";
    let orders = "Number of displayed orders at the price. Absent without a price, and if the \
                  exchange shows no orders.";
    let first = [
        Column::new(name("price"), Kind::Price, 11, price).of("USD"),
        Column::new(name("size"), Kind::U64, 8, size).of("shares"),
    ];
    let orders = has_orders.then(|| Column::new(name("orders"), Kind::U64, 6, orders).of("orders"));
    first.into_iter().chain(orders)
}

/// `orders`: whether the levels have a number of orders; `None` without a column for it.
fn push_level(
    cells: &mut Vec<Cell<'static>>,
    (level, scale): (Option<DepthLevel>, PriceScale),
    orders: Option<bool>,
) {
    cells.push(Cell::price(level.map(|level| scale.ten_thousandths(level.price))));
    cells.push(Cell::u64(level.map(|level| level.shares.get())));
    if let Some(has_orders) = orders {
        let level = level.filter(|_| has_orders);
        cells.push(Cell::u64(level.map(|level| level.orders.get().into())));
    }
}
