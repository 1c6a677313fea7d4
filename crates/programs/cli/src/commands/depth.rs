//! `nanotape depth`: the first levels of some stocks' books after every message about them.

mod lobster;

use std::path::PathBuf;

use clap::Args;
use nanotape_answers::{BookRows, DepthTable, has_several};
use nanotape_arguments::{InputArguments, SpanArguments, SymbolArguments, TimeArguments};

use crate::{
    book_rows::{EveryArguments, WithArguments},
    output::OutputArguments,
    rows::Rows,
    status::Status,
    values::count,
};

#[derive(Args, Debug)]
#[command(mut_arg("symbols", |symbols| symbols.required(true)))]
#[command(after_help = "\
Examples:
  nanotape depth day.gz --symbols AAPL --levels 10 -o aapl.csv
  nanotape depth day.gz --symbols AAPL,MSFT --levels 1 --format json
  nanotape depth day.gz --symbols AAPL --from 09:30 --until 16:00 --every 100ms --time utc
  nanotape depth days/equities --symbols AAPL --from 09:30 --until 09:30:00.000000001
  nanotape depth 12302019.NASDAQ_ITCH50.gz --symbols AAPL --from 09:30 --until 16:00 \\
      --lobster lobster/                        message and orderbook files as LOBSTER's

Prints one row for each message of the stocks' books (types A F E C X D U), even if the levels shown
do not change. message is the message's number in the file; it counts every message from 1. With
several stocks, a column has the symbol. Columns run level by level, ask before bid, as in LOBSTER's
order book files. --with orders adds the number of orders of each level, --with receipt the time of
receipt, --with reason why a row may be wrong: gap or taint. The fields of an absent level are empty. In records, a message has the number that
the exchange's message had.

With --every, a stock has a row at each multiple of the period, whether or not anything changed,
from its first order on: the book after the last message not later than the row's time.

--lobster writes two files for each stock: SYMBOL_DATE_START_END_message_LEVELS.csv and
..._orderbook_LEVELS.csv, with START and END in milliseconds since midnight, no header, and one row
for each event that changes the levels. docs/formats/lobster.md describes both.

The books are those of the whole run; --from and --until only select rows, and reading stops at
--until.
Format: text on a terminal, CSV otherwise.")]
pub(crate) struct DepthArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    symbols: SymbolArguments,

    /// Levels to show on each side
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..=1_000))]
    levels: u32,

    #[command(flatten)]
    span: SpanArguments,

    #[command(flatten)]
    every: EveryArguments,

    #[command(flatten)]
    with: WithArguments,

    #[command(flatten)]
    time: TimeArguments,

    /// Write LOBSTER's pair of files for each stock into this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "format", "every", "time", "with"])]
    lobster: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &DepthArguments) -> anyhow::Result<Status> {
    let DepthArguments { input, span, symbols, every, with, time, output, .. } = arguments;
    let symbols = &symbols.list();
    let opening = input.open((*span).into(), symbols)?;
    if let Some(folder) = &arguments.lobster {
        return lobster::run(arguments, folder, opening);
    }
    let format = output.row_format()?;
    let (bounds, times) = (opening.bounds, time.times(input.name(), opening.midnight_ns)?);
    let (has_symbol, more) = (has_several(symbols), with.more());
    let columns = DepthTable::<Rows>::columns(arguments.levels, has_symbol, more);
    let rows = Rows::with_times(output.open()?, format, columns, times);
    let table = DepthTable::new(rows, arguments.levels, has_symbol, more);
    let mut rows = BookRows::new(symbols, table).every(every.period_ns());
    let session = input.read(opening, &mut rows)?;
    rows.visitor.sink.require_written()?;
    let status = input.conclude(&session, &mut rows.filter)?;
    // An error of the output is kept, and returned at its end.
    let _ = rows.finish(&session, bounds);
    rows.visitor.sink.finish()?;
    Ok(status)
}
