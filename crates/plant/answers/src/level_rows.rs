//! Rows of whole books: the levels or the orders of stocks at one moment, and what changed between
//! two moments.

use std::{collections::BTreeMap, ops::ControlFlow};

use nanotape_book::{DefaultBooks, OrderStore as _};
use nanotape_engine::BookEngine;
use nanotape_types::{
    Price, PriceScale, Side, StockLocate, Symbol,
    rows::{Cell, Column, Kind, Sink, StockName},
};

use crate::book_tables::symbol_column;

/// What the rows of a book are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Of its levels.
    Levels,
    /// Of its orders.
    Orders,
}

const PRICE: &str = "Price of the level or of the order.";
const SHARES: &str = "Displayed shares.";
const REFERENCE: &str = "Order reference number.";

fn side_column() -> Column {
    Column::new("side", Kind::Text, 4, "Side of the book: bid or ask.")
}

/// The columns of rows of books.
pub fn book_columns(part: Part, has_symbol: bool) -> Vec<Column> {
    let price = Column::new("price", Kind::Price, 11, PRICE).of("USD");
    let size = Column::new("size", Kind::U64, 10, SHARES).of("shares");
    let mut columns: Vec<_> = has_symbol.then(symbol_column).into_iter().collect();
    columns.extend([side_column(), price]);
    match part {
        Part::Levels => columns.extend([
            size,
            Column::new("orders", Kind::U64, 6, "Number of orders at the price.").of("orders"),
        ]),
        Part::Orders => columns.extend([
            Column::new("order_reference_number", Kind::U64, 22, REFERENCE),
            size,
            Column::new("orders_ahead", Kind::U64, 12, "Orders that are executed before it.")
                .of("orders"),
            Column::new("shares_ahead", Kind::U64, 12, "Shares that are executed before it.")
                .of("shares"),
        ]),
    }
    columns
}

/// Gives the books of stocks, each from the best price of both sides, up to a number of levels.
pub fn book_rows(
    engine: &BookEngine<DefaultBooks>,
    symbols: &[Symbol],
    (part, has_symbol, levels): (Part, bool, usize),
    sink: &mut impl Sink,
) -> ControlFlow<()> {
    let mut cells = Vec::new();
    for &symbol in symbols {
        let Some(locate) = engine.directory().locate(symbol) else { continue };
        cells.clear();
        cells.extend(has_symbol.then_some(stock(symbol)));
        match part {
            Part::Levels => level_rows(engine, locate, levels, &mut cells, sink)?,
            Part::Orders => order_rows(engine, locate, levels, &mut cells, sink)?,
        }
    }
    ControlFlow::Continue(())
}

fn stock(symbol: Symbol) -> Cell<'static> {
    Cell::Stock(StockName::new(Some(symbol), 0))
}

fn level_rows(
    engine: &BookEngine<DefaultBooks>,
    locate: StockLocate,
    levels: usize,
    cells: &mut Vec<Cell<'static>>,
    sink: &mut impl Sink,
) -> ControlFlow<()> {
    let first = cells.len();
    for side in Side::BOTH {
        for level in engine.books().book(locate).depth(side).take(levels) {
            cells.truncate(first);
            cells.extend([
                Cell::Text(side.quote_name()),
                Cell::Price(engine.books().price_scale().ten_thousandths(level.price)),
                Cell::U64(level.shares.get()),
                match engine.has_orders() {
                    true => Cell::U64(level.orders.get().into()),
                    false => Cell::Absent,
                },
            ]);
            sink.row(cells)?;
        }
    }
    ControlFlow::Continue(())
}

fn order_rows(
    engine: &BookEngine<DefaultBooks>,
    locate: StockLocate,
    levels: usize,
    cells: &mut Vec<Cell<'static>>,
    sink: &mut impl Sink,
) -> ControlFlow<()> {
    let first = cells.len();
    let orders = engine.books().stock_in_queue_order(locate);
    for side in orders.chunk_by(|(_, a), (_, b)| a.side == b.side) {
        for level in side.chunk_by(|(_, a), (_, b)| a.price == b.price).take(levels) {
            let mut shares_ahead = 0;
            for (ahead, (reference, order)) in level.iter().enumerate() {
                cells.truncate(first);
                cells.extend([
                    Cell::Text(order.side.quote_name()),
                    Cell::Price(engine.books().price_scale().ten_thousandths(order.price)),
                    Cell::U64(reference.get()),
                    Cell::U64(order.shares.get().into()),
                    Cell::U64(ahead as u64),
                    Cell::U64(shares_ahead),
                ]);
                sink.row(cells)?;
                shares_ahead += u64::from(order.shares.get());
            }
        }
    }
    ControlFlow::Continue(())
}

/// The book of a stock at one moment. Keys begin with the side, bids first.
#[derive(Clone, Default, Debug)]
pub struct BookState {
    /// By rank: shares and number of orders.
    levels: BTreeMap<(usize, u32), (u64, u64)>,
    /// By reference: price and shares.
    orders: BTreeMap<(usize, u64), (Price, u64)>,
    scale: PriceScale,
    /// Whether the exchange shows levels only: they have no number of orders.
    is_of_levels: bool,
}

impl BookState {
    /// The book of a stock now; an empty one if no message named it.
    pub fn of(engine: &BookEngine<DefaultBooks>, symbol: Symbol) -> Self {
        let Some(locate) = engine.directory().locate(symbol) else { return Self::default() };
        let books = engine.books();
        let book = books.book(locate);
        let levels = Side::BOTH.into_iter().flat_map(|side| {
            book.depth(side).map(move |level| {
                let size = (level.shares.get(), u64::from(level.orders.get()));
                ((side as usize, rank_of(side, level.price)), size)
            })
        });
        let orders = books.orders().iter().filter(|(_, order)| order.stock_locate == locate);
        let orders = orders.map(|(reference, order)| {
            let size = u64::from(order.shares.get());
            ((order.side as usize, reference.get()), (order.price, size))
        });
        let is_of_levels = !engine.has_orders();
        let (levels, orders) = (levels.collect(), orders.collect());
        Self { levels, orders, scale: books.price_scale(), is_of_levels }
    }
}

/// The columns of rows of changes.
pub fn change_columns(part: Part, has_symbol: bool) -> Vec<Column> {
    let price = |name: String| Column::new(name, Kind::Price, 11, PRICE).of("USD");
    let size = |name: String| Column::new(name, Kind::U64, 10, SHARES).of("shares");
    let mut columns: Vec<_> = has_symbol.then(symbol_column).into_iter().collect();
    columns.push(side_column());
    columns.push(match part {
        Part::Levels => price("price".to_owned()),
        Part::Orders => Column::new("order_reference_number", Kind::U64, 22, REFERENCE),
    });
    let change = "Whether it entered, left or changed between the two moments.";
    columns.push(Column::new("change", Kind::Text, 7, change));
    for when in ["before", "after"] {
        let orders = "Number of orders at the price.";
        columns.extend(match part {
            Part::Levels => [
                size(format!("size_{when}")),
                Column::new(format!("orders_{when}"), Kind::U64, 6, orders).of("orders"),
            ],
            Part::Orders => [price(format!("price_{when}")), size(format!("size_{when}"))],
        });
    }
    columns
}

/// Gives what differs between two states of a book. Values before are absent for what entered,
/// those after for what left.
pub fn change_rows(
    symbol: Option<Symbol>,
    part: Part,
    (before, after): (&BookState, &BookState),
    sink: &mut impl Sink,
) -> ControlFlow<()> {
    let mut cells: Vec<_> = symbol.map(stock).into_iter().collect();
    let first = cells.len();
    let is_of_levels = before.is_of_levels || after.is_of_levels;
    // A state without orders has no scale of its own.
    let is_empty = before.levels.is_empty() && before.orders.is_empty();
    let scale = if is_empty { after.scale } else { before.scale };
    let price = |price: Price| Cell::Price(scale.ten_thousandths(price));
    let mut row = |head: [Cell<'static>; 3], tail: [Cell<'static>; 4]| {
        cells.truncate(first);
        cells.extend(head);
        cells.extend(tail);
        sink.row(&cells)
    };
    match part {
        Part::Levels => {
            for ((side, rank), (before, after)) in changes(&before.levels, &after.levels) {
                let side = Side::BOTH[side];
                let price = price(Price::new(rank_of(side, Price::new(rank))));
                let ([a, b], [c, d]) = (pair(before, Cell::U64), pair(after, Cell::U64));
                let [b, d] = if is_of_levels { [Cell::Absent; 2] } else { [b, d] };
                let change = change_of(before.is_some(), after.is_some());
                row([Cell::Text(side.quote_name()), price, change], [a, b, c, d])?;
            }
        }
        Part::Orders => {
            for ((side, reference), (before, after)) in changes(&before.orders, &after.orders) {
                let ([a, b], [c, d]) = (pair(before, price), pair(after, price));
                let change = change_of(before.is_some(), after.is_some());
                let side = Cell::Text(Side::BOTH[side].quote_name());
                row([side, Cell::U64(reference), change], [a, b, c, d])?;
            }
        }
    }
    ControlFlow::Continue(())
}

fn pair<T>(of: Option<(T, u64)>, first: impl Fn(T) -> Cell<'static>) -> [Cell<'static>; 2] {
    of.map_or([Cell::Absent; 2], |(value, number)| [first(value), Cell::U64(number)])
}

fn change_of(was: bool, is: bool) -> Cell<'static> {
    Cell::Text(match (was, is) {
        (false, _) => "entered",
        (_, false) => "left",
        _ => "changed",
    })
}

/// The best price of a side has the lowest rank, and the price is the rank of its rank.
fn rank_of(side: Side, price: Price) -> u32 {
    match side {
        Side::Buy => !price.code(),
        Side::Sell => price.code(),
    }
}

/// What differs, by key: the values before and after.
fn changes<K: Ord + Copy, V: PartialEq + Copy>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) -> BTreeMap<K, (Option<V>, Option<V>)> {
    let keys = before.keys().chain(after.keys());
    let both = keys.map(|key| (*key, (before.get(key).copied(), after.get(key).copied())));
    both.filter(|(_, (before, after))| before != after).collect()
}
