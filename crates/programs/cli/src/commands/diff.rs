//! `nanotape diff`: the changes of some stocks' books between two moments.

use std::{collections::BTreeMap, io};

use clap::Args;
use nanotape_answers::{Span, SymbolFilter};
use nanotape_arguments::{InputArguments, SymbolArguments};
use nanotape_book::{DefaultBooks, OrderStore as _};
use nanotape_engine::{BookEngine, Observer};
use nanotape_plant::Moment;
use nanotape_types::{Price4, Side, Symbol};

use crate::{
    output::OutputArguments,
    rows::{Column, Rows},
    status::Status,
};

#[derive(Args, Debug)]
#[command(mut_arg("symbols", |symbols| symbols.required(true)))]
#[command(after_help = "\
Examples:
  nanotape diff day.gz --symbols AAPL 09:30 09:30:01
  nanotape diff days/equities --symbols AAPL,MSFT 15:59:59.999999999 16:00 --orders -o close.csv
  nanotape diff xnas-itch.mbo.dbn.zst --symbols AAPL 2019-12-30T14:30:00Z @1577716201000000000

Compares the book after the last message not later than T1 with the book after the last message not
later than T2: both moments are inclusive. Prints a row for each price level that entered, left or
changed its size or its number of orders; bids first, each side from the best price. With several
stocks, the first column has the symbol. With --orders, prints the orders that entered, left or
changed their price or size, by reference number. Fields of before are empty for what entered, those
of after for what left. If nothing changed, there are no rows, and the status is 0. Format: text on
a terminal, CSV otherwise.")]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    input: InputArguments,

    /// The first moment, after its messages (inclusive): a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970
    #[arg(value_name = "T1")]
    first: Moment,

    /// The second moment, after its messages (inclusive); reading stops there
    #[arg(value_name = "T2")]
    second: Moment,

    #[command(flatten)]
    symbols: SymbolArguments,

    /// List orders instead of price levels
    #[arg(long)]
    orders: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &DiffArguments) -> anyhow::Result<Status> {
    let format = arguments.output.row_format()?;
    let output = arguments.output.open()?;
    let symbols = &arguments.symbols.list_without_patterns("diff")?;
    let mut first = First { symbols, books: None };
    let span = Span::between(arguments.first, arguments.second);
    let session = arguments.input.read(arguments.input.open(span, symbols)?, &mut first)?;
    let status = arguments.input.conclude(&session, &mut SymbolFilter::new(symbols))?;
    let after = states_of(&session.engine, symbols);
    // Without a message between the moments, nothing changed.
    let before = first.books.unwrap_or_else(|| after.clone());
    let has_symbol = symbols.len() > 1;
    let mut rows = Rows::new(output, format, columns(arguments.orders, has_symbol));
    for ((symbol, before), after) in symbols.iter().zip(&before).zip(&after) {
        let symbol = has_symbol.then_some(*symbol);
        if arguments.orders {
            write_orders(&mut rows, symbol, before, after)?;
        } else {
            write_levels(&mut rows, symbol, before, after)?;
        }
    }
    rows.finish()?;
    Ok(status)
}

fn write_orders(
    rows: &mut Rows,
    symbol: Option<Symbol>,
    before: &BookState,
    after: &BookState,
) -> io::Result<()> {
    for ((side, reference), change) in changes(&before.orders, &after.orders) {
        symbol.into_iter().for_each(|symbol| rows.text(symbol));
        rows.text(Side::BOTH[side].quote_name());
        rows.integer(reference);
        rows.text(change.name());
        rows.level(change.before);
        rows.level(change.after);
        rows.end_row()?;
    }
    Ok(())
}

fn write_levels(
    rows: &mut Rows,
    symbol: Option<Symbol>,
    before: &BookState,
    after: &BookState,
) -> io::Result<()> {
    for ((side, rank), change) in changes(&before.levels, &after.levels) {
        let side = Side::BOTH[side];
        symbol.into_iter().for_each(|symbol| rows.text(symbol));
        rows.text(side.quote_name());
        rows.price(price_of_rank(side, rank));
        rows.text(change.name());
        for (size, orders) in [change.before, change.after].map(Option::unzip) {
            rows.integer_or_absent(size);
            rows.integer_or_absent(orders);
        }
        rows.end_row()?;
    }
    Ok(())
}

/// Keeps the books at the first moment.
struct First<'a> {
    symbols: &'a [Symbol],
    books: Option<Vec<BookState>>,
}

impl Observer<DefaultBooks> for First<'_> {
    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, _: u64) {
        self.books = Some(states_of(engine, self.symbols));
    }
}

fn states_of(engine: &BookEngine<DefaultBooks>, symbols: &[Symbol]) -> Vec<BookState> {
    symbols.iter().map(|&symbol| BookState::of(engine, symbol)).collect()
}

/// The book of a stock at one moment. Keys begin with the side, bids first.
#[derive(Clone, Default)]
struct BookState {
    /// By rank: shares and number of orders.
    levels: BTreeMap<(usize, u32), (u64, u64)>,
    /// By reference: price and shares.
    orders: BTreeMap<(usize, u64), (Price4, u64)>,
}

impl BookState {
    fn of(engine: &BookEngine<DefaultBooks>, symbol: Symbol) -> Self {
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
        Self { levels: levels.collect(), orders: orders.collect() }
    }
}

/// The best price of a side has the lowest rank.
fn rank_of(side: Side, price: Price4) -> u32 {
    match side {
        Side::Buy => !price.get(),
        Side::Sell => price.get(),
    }
}

fn price_of_rank(side: Side, rank: u32) -> Price4 {
    Price4::new(rank_of(side, Price4::new(rank)))
}

/// A level or an order before and after; absent if it was not in the book.
struct Change<V> {
    before: Option<V>,
    after: Option<V>,
}

impl<V> Change<V> {
    fn name(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "entered",
            (_, None) => "left",
            _ => "changed",
        }
    }
}

/// What differs, by key.
fn changes<K: Ord + Copy, V: PartialEq + Copy>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) -> BTreeMap<K, Change<V>> {
    let keys = before.keys().chain(after.keys());
    let both = keys.map(|key| {
        (*key, Change { before: before.get(key).copied(), after: after.get(key).copied() })
    });
    both.filter(|(_, change)| change.before != change.after).collect()
}

fn columns(orders: bool, has_symbol: bool) -> Vec<Column> {
    let first = if orders { ("order_reference_number", 22) } else { ("price", 11) };
    let pair = if orders { [("price", 11), ("size", 10)] } else { [("size", 10), ("orders", 6)] };
    let mut columns: Vec<_> = has_symbol.then(|| Column::word("symbol", 8)).into_iter().collect();
    columns.extend([
        Column::word("side", 4),
        Column::number(first.0, first.1),
        Column::word("change", 7),
    ]);
    for when in ["before", "after"] {
        columns.extend(pair.map(|(name, width)| Column::number(format!("{name}_{when}"), width)));
    }
    columns
}
