//! `nanotape inside`: one row for each message that changed a stock's best bid or offer.

use clap::Args;
use nanotape_answers::{BookRows, InsideTable};
use nanotape_arguments::{InputArguments, SpanArguments, SymbolArguments, TimeArguments};

use crate::{
    book_rows::{EveryArguments, WithArguments},
    output::OutputArguments,
    rows::Rows,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape inside day.gz --symbols AAPL,MSFT
  nanotape inside days/equities                a journal that recorded a plant
  nanotape inside xnas-itch.mbo.dbn.zst --from 09:30 --until 10:00 --strict
  nanotape inside day.gz --symbols AAPL --from 09:30 --until 16:00 --every 1s --time utc
  nanotape inside day.gz -o inside.csv.zst
  nanotape inside day.gz --symbols 'BRK*' --with message,orders
  zcat day.gz | nanotape inside - --format json | head

Prints a row when a message changes the price or the size of the best bid or best offer. The inside
is compared once per message, after the whole message, so a replace is at most one change. The
fields of an empty side are empty.

--with message adds the number of the message, the column `message` of depth, trades and inspect: rows
of these tables about one message have the same number. --with orders adds bid_orders and ask_orders.

With --every, a stock has a row at each multiple of the period, whether or not anything changed,
from its first order on. The row has the inside after the last message not later than its time. The
last row is that of the last message, or before --until.

The books are those of the whole run; --from and --until only select rows, and reading stops at
--until.
Format: text on a terminal, CSV otherwise.")]
pub(crate) struct InsideArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    symbols: SymbolArguments,

    #[command(flatten)]
    span: SpanArguments,

    #[command(flatten)]
    every: EveryArguments,

    #[command(flatten)]
    with: WithArguments,

    #[command(flatten)]
    time: TimeArguments,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &InsideArguments) -> anyhow::Result<Status> {
    let InsideArguments { input, span, symbols, every, with, time, output } = arguments;
    let (format, symbols) = (output.row_format()?, &symbols.list());
    let (has_message, has_orders) = (with.has_message(), with.has_orders());
    let opening = input.open((*span).into(), symbols)?;
    let (bounds, times) = (opening.bounds, time.times(input.name(), opening.midnight_ns)?);
    let columns = InsideTable::<Rows>::columns(has_message, has_orders);
    let rows = Rows::with_times(output.open()?, format, columns, times);
    let table = InsideTable::new(rows, has_message, has_orders);
    let mut rows = BookRows::new(symbols, table).every(every.period_ns());
    let session = input.read(opening, &mut rows)?;
    rows.visitor.sink.require_written()?;
    let status = input.conclude(&session, &mut rows.filter)?;
    // An error of the output is kept, and returned at its end.
    let _ = rows.finish(&session, bounds);
    rows.visitor.sink.finish()?;
    Ok(status)
}
