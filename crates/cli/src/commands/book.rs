//! `nanotape book`: the book of one stock at one moment.

use clap::Args;
use nanotape_book::{
    Books, DefaultBooks, LevelStructure, Order, OrderStore, OrderStructure, PriceLevels,
};
use nanotape_types::{OrderReferenceNumber, Side, StockLocate, Symbol};

use crate::{
    input::{InputArguments, Session},
    output::OutputArguments,
    rows::{Column, Rows},
    span::{Moment, Span},
    status::Status,
    structures::{self, Levels, LevelsParser},
    symbols::SymbolFilter,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape book day.gz --symbol AAPL --at 09:45:00.123456789 --levels 5
  nanotape book day.gz --symbol AAPL --at 15:59:59 --orders -o orders.csv
  nanotape book day.gz --symbol AAPL              (at the end of the file)
  nanotape book days/equities --symbol AAPL --run 1 --at 2019-12-30T14:45:00Z --strict
  nanotape book day.gz --symbol AAPL --levels 5 --levels sorted-map --order-structure hash-map

Prints the book after the last message with a timestamp not later than --at; reading stops at the
first later message. Bids come first, then asks, each from the best price. --orders lists the orders
of each level in queue order, the next to be executed first, with the orders and shares ahead of
each. Format: text on a terminal, CSV otherwise.")]
pub(crate) struct BookArguments {
    #[command(flatten)]
    input: InputArguments,

    /// Symbol of the stock
    #[arg(long, value_name = "S", alias = "symbols")]
    symbol: Symbol,

    /// The moment, after its messages (inclusive): a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970 [default: the end]
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    /// A number: levels to show on each side [default: all]. A name: the structure that stores the
    /// levels. Give the option twice for both
    #[arg(long, value_name = "N|NAME", value_parser = LevelsParser::up_to(u32::MAX))]
    levels: Vec<Levels>,

    /// List the orders of each level
    #[arg(long)]
    orders: bool,

    #[arg(
        long,
        value_name = "NAME",
        value_parser = structures::level_structure(),
        help = structures::level_help(),
        help_heading = structures::HEADING
    )]
    level_structure: Option<LevelStructure>,

    #[arg(
        long,
        value_name = "NAME",
        value_parser = structures::order_structure(),
        help = structures::order_help(),
        help_heading = structures::HEADING
    )]
    order_structure: Option<OrderStructure>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &BookArguments) -> anyhow::Result<Status> {
    let (levels, structure) =
        structures::shown_and_kept(&arguments.levels, arguments.level_structure)?;
    let levels = levels.map_or(usize::MAX, |levels| levels as usize);
    match structures::chosen(structure, arguments.order_structure, arguments.input.orders()) {
        None => run_with(arguments, levels, DefaultBooks::with_capacity(arguments.input.orders())),
        Some(books) => run_with(arguments, levels, books),
    }
}

fn run_with<L: PriceLevels, S: OrderStore>(
    arguments: &BookArguments,
    levels: usize,
    books: Books<L, S>,
) -> anyhow::Result<Status> {
    let format = arguments.output.row_format()?;
    let output = arguments.output.open()?;
    let (span, symbols) = (Span::up_to(arguments.at), [arguments.symbol]);
    let session = Session::run(&arguments.input, span, &symbols, books, &mut ())?;
    let status = session.conclude(&mut SymbolFilter::new(&[arguments.symbol]))?;
    let engine = &session.engine;
    let Some(locate) = engine.directory().locate(arguments.symbol) else { return Ok(status) };
    let columns = if arguments.orders { order_columns() } else { level_columns() };
    let mut rows = Rows::new(output, format, columns);
    if arguments.orders {
        write_orders(&mut rows, &engine.books().stock_in_queue_order(locate), levels)?;
    } else {
        write_levels(&mut rows, engine.books(), locate, levels)?;
    }
    rows.finish()?;
    Ok(status)
}

fn level_columns() -> Vec<Column> {
    vec![
        Column::word("side", 4),
        Column::number("price", 11),
        Column::number("size", 10),
        Column::number("orders", 6),
    ]
}

fn order_columns() -> Vec<Column> {
    vec![
        Column::word("side", 4),
        Column::number("price", 11),
        Column::number("order_reference_number", 22),
        Column::number("size", 10),
        Column::number("orders_ahead", 12),
        Column::number("shares_ahead", 12),
    ]
}

/// Writes the levels of both sides, from the best price.
fn write_levels<L: PriceLevels, S: OrderStore>(
    rows: &mut Rows,
    books: &Books<L, S>,
    locate: StockLocate,
    levels: usize,
) -> anyhow::Result<()> {
    for side in Side::BOTH {
        for level in books.book(locate).depth(side).take(levels) {
            rows.text(side.quote_name());
            rows.price(level.price);
            rows.integer(level.shares.get());
            rows.integer(u64::from(level.orders.get()));
            rows.end_row()?;
        }
    }
    Ok(())
}

/// Writes the orders of a stock, given in queue order, of the best `levels` levels of each side.
fn write_orders(
    rows: &mut Rows,
    orders: &[(OrderReferenceNumber, Order)],
    levels: usize,
) -> anyhow::Result<()> {
    for side in orders.chunk_by(|(_, a), (_, b)| a.side == b.side) {
        for level in side.chunk_by(|(_, a), (_, b)| a.price == b.price).take(levels) {
            let mut shares_ahead = 0;
            for (ahead, (reference, order)) in level.iter().enumerate() {
                rows.text(order.side.quote_name());
                rows.price(order.price);
                rows.integer(reference.get());
                rows.integer(u64::from(order.shares.get()));
                rows.integer(ahead as u64);
                rows.integer(shares_ahead);
                rows.end_row()?;
                shares_ahead += u64::from(order.shares.get());
            }
        }
    }
    Ok(())
}
