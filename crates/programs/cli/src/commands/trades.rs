//! `nanotape trades`: every print, with the price that the book gives to an execution.

use clap::Args;
use nanotape_answers::{InputKind, MoreColumns, TradeRows};
use nanotape_arguments::{
    InputArguments, SpanArguments, SymbolArguments, TimeArguments, input::breaks_of,
    verdict::report_unmarked,
};

use crate::{
    output::OutputArguments,
    rows::Rows,
    status::{Status, note},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trades day.gz --symbols AAPL,MSFT -o trades.csv
  nanotape trades 12302019.NASDAQ_ITCH50.gz --from 09:30 --until 16:00 --time utc
  nanotape trades day.gz --format json | jq 'select(.broken)'
  nanotape trades days/equities --symbols AAPL                a journal that recorded a plant

Prints a row for each trade that counts as volume:
  execution   of a displayed order (E, and C if it is printable). The price of an E is that of the
              order in the book. aggressor is the side that took the order
  hidden      against an order that is not displayed (P)
  cross       an auction with shares (Q)
Executions that are not printable are part of a cross and have no row. broken is true if the exchange
voided the match number, also before --from and after --until: leave those rows out of a volume. A
break voids every trade with its number, a cross too. The sum of size over the other rows is
volume_shares of nanotape stats.

broken is empty for standard input and pipes, which are read only once, and for records, which have no
match numbers. Records also do not distinguish hidden trades from crosses: their kind is off_book.
A trade of several orders at once, as in DBN files of Databento, is one execution, without an
order_reference_number. The price of an execution is empty if the book does not have the order, as in a file that begins in mid-session.
Format: text on a terminal, CSV otherwise.")]
pub(crate) struct TradesArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    symbols: SymbolArguments,

    #[command(flatten)]
    span: SpanArguments,

    #[command(flatten)]
    time: TimeArguments,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &TradesArguments) -> anyhow::Result<Status> {
    let TradesArguments { input, span, symbols, time, output, .. } = arguments;
    let (format, symbols) = (output.row_format()?, &symbols.list());
    let opening = input.open((*span).into(), symbols)?;
    let kind = opening.kind();
    let times = time.times(input.name(), opening.midnight_ns)?;
    let output = output.open()?;
    let broken = breaks_of(&opening)?;
    let more = MoreColumns::default();
    let rows = Rows::with_times(output, format, TradeRows::<Rows>::columns(more), times);
    let is_of_records = kind != InputKind::Day;
    let mut trades = TradeRows::new(symbols, rows, is_of_records, broken, more);
    let session = input.read(opening, &mut trades)?;
    trades.sink.require_written()?;
    let status = input.conclude(&session, &mut trades.filter)?;
    trades.sink.finish()?;
    if is_of_records {
        note(format_args!(
            "{}: records have no match numbers: broken trades are not marked",
            input.name()
        ));
    }
    report_unmarked(input.name(), &trades.unmarked);
    Ok(status)
}
