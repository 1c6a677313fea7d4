//! `nanotape book`: the books of some stocks at one moment.

use clap::Args;
use nanotape_answers::{Part, Span, SymbolFilter, book_columns, book_rows, expanded, has_several};
use nanotape_arguments::{InputArguments, SymbolArguments};
use nanotape_plant::Moment;

use crate::{
    book_rows::require_orders, output::OutputArguments, rows::Rows, status::Status, values::count,
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
first later message, of feeds whose times are out of order a second after --at. Bids come first,
then asks, each from the best price. With several stocks, the first column has the symbol. --orders
lists the orders of each level in queue order, the next to be executed first, with the orders and
shares ahead of each. Format: text on a terminal, CSV otherwise.")]
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
    if arguments.orders {
        require_orders(&session, "--orders")?;
    }
    let status = arguments.input.conclude(&session, &mut SymbolFilter::new(symbols))?;
    let part = if arguments.orders { Part::Orders } else { Part::Levels };
    let (has_symbol, levels) = (has_several(symbols), arguments.levels.unwrap_or(usize::MAX));
    let mut rows = Rows::new(output, format, book_columns(part, has_symbol));
    let stocks = expanded(symbols, session.engine.directory());
    // An error of the output is kept, and returned at its end.
    let _ = book_rows(&session.engine, &stocks, (part, has_symbol, levels), &mut rows);
    rows.finish()?;
    Ok(status)
}
