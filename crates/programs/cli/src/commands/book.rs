//! `nanotape book`: the books of some stocks at one moment.

use clap::Args;
use nanotape_answers::{Span, SymbolFilter, expanded, has_several};
use nanotape_arguments::{InputArguments, SymbolArguments};
use nanotape_book::{DefaultBooks, Order};
use nanotape_plant::Moment;
use nanotape_types::{OrderReferenceNumber, Side, StockLocate, Symbol};

use crate::{
    output::OutputArguments,
    rows::{Column, Rows},
    status::Status,
    values::count,
};

#[derive(Args, Debug)]
#[command(mut_arg("symbols", |symbols| symbols.required(true)))]
#[command(after_help = "\
Examples:
  nanotape book day.gz --symbols AAPL --at 09:45:00.123456789 --levels 5
  nanotape book day.gz --symbols AAPL --at 15:59:59 --orders -o orders.csv
  nanotape book day.gz --symbols AAPL,MSFT         (at the end of the file)
  nanotape book days/equities --symbols AAPL --run 1 --at 2019-12-30T14:45:00Z --strict

Prints the book after the last message with a timestamp not later than --at; reading stops at the
first later message. Bids come first, then asks, each from the best price. With several stocks, the
first column has the symbol. --orders lists the orders of each level in queue order, the next to be
executed first, with the orders and shares ahead of each. Format: text on a terminal, CSV otherwise.")]
pub(crate) struct BookArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    symbols: SymbolArguments,

    /// The moment, after its messages (inclusive): a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970 [default: the end]
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    /// Levels to show on each side [default: all]
    #[arg(long, value_name = "N", value_parser = count::<usize>(1..))]
    levels: Option<usize>,

    /// List the orders of each level
    #[arg(long)]
    orders: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &BookArguments) -> anyhow::Result<Status> {
    let format = arguments.output.row_format()?;
    let output = arguments.output.open()?;
    let (span, symbols) = (Span::up_to(arguments.at), &arguments.symbols.list());
    let session = arguments.input.read(arguments.input.open(span, symbols)?, &mut ())?;
    let status = arguments.input.conclude(&session, &mut SymbolFilter::new(symbols))?;
    let engine = &session.engine;
    let levels = arguments.levels.unwrap_or(usize::MAX);
    let has_symbol = has_several(symbols);
    let mut columns = if arguments.orders { order_columns() } else { level_columns() };
    if has_symbol {
        columns.insert(0, Column::word("symbol", 8));
    }
    let mut rows = Rows::new(output, format, columns);
    for symbol in expanded(symbols, engine.directory()) {
        let Some(locate) = engine.directory().locate(symbol) else { continue };
        let symbol = has_symbol.then_some(symbol);
        if arguments.orders {
            let orders = engine.books().stock_in_queue_order(locate);
            write_orders(&mut rows, symbol, &orders, levels)?;
        } else {
            write_levels(&mut rows, symbol, engine.books(), locate, levels)?;
        }
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

/// Writes the levels of both sides, from the best price. `symbol`: the first cell, if there is one.
fn write_levels(
    rows: &mut Rows,
    symbol: Option<Symbol>,
    books: &DefaultBooks,
    locate: StockLocate,
    levels: usize,
) -> anyhow::Result<()> {
    for side in Side::BOTH {
        for level in books.book(locate).depth(side).take(levels) {
            symbol.into_iter().for_each(|symbol| rows.text(symbol));
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
    symbol: Option<Symbol>,
    orders: &[(OrderReferenceNumber, Order)],
    levels: usize,
) -> anyhow::Result<()> {
    for side in orders.chunk_by(|(_, a), (_, b)| a.side == b.side) {
        for level in side.chunk_by(|(_, a), (_, b)| a.price == b.price).take(levels) {
            let mut shares_ahead = 0;
            for (ahead, (reference, order)) in level.iter().enumerate() {
                symbol.into_iter().for_each(|symbol| rows.text(symbol));
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
