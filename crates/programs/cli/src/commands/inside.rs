//! `nanotape inside`: one row for each message that changed a stock's best bid or offer.

mod consolidated;
mod rings;

use std::time::Duration;

use clap::Args;
use nanotape_answers::{BookRows, Given, InsideTable};
use nanotape_arguments::{InputArguments, SpanArguments, SymbolArguments, TimeArguments};

use crate::{
    book_rows::{EveryArguments, WithArguments},
    output::OutputArguments,
    rows::Rows,
    status::Status,
    values::some_duration,
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
  nanotape inside --consolidated nasdaq iex bzx --symbols AAPL        the rings of three plants
  nanotape inside --consolidated day.gz iex.pcap.gz pitch.pcap.zst --symbols AAPL
                                               the best prices over three venues

Prints a row when a message changes the price or the size of the best bid or best offer. The inside
is compared once per message, after the whole message, so a replace is at most one change. The
fields of an empty side are empty.

--with message adds the number of the message, the column `message` of depth, trades and inspect: rows
of these tables about one message have the same number. --with orders adds bid_orders and ask_orders.
--with receipt adds ts_recv, --with reason adds why a row may be wrong: gap or taint.

With --every, a stock has a row at each multiple of the period, whether or not anything changed,
from its first order on. The row has the inside after the last message not later than its time. The
last row is that of the last message, or before --until.

The books are those of the whole run; --from and --until only select rows, and reading stops at
--until.

With --consolidated, the inputs are read together, in the order of the exchanges' times, and a row has
the best bid and offer over all of them: at each change of a best price, of the size at it (the sum of
all venues that have the price), or of those venues. A venue without a message for longer than
--stale-after is stale: its quotes do not count, the column stale names it with the time of its last
message, and each stock that it quotes has a row when it becomes stale and when it is back. Locked and
crossed prices are printed as they are. Inputs are of one trade date. Stocks are the same if their
symbols are. Venues have the names of their markets (XNAS, IEXG, BATS); a second input of one market is
BATS.2. --run, --date, --group and --session apply to the inputs that have what they choose.

With --consolidated the inputs can also be the rings of plants that run and publish bbo. The rows begin
with the next record, and a stock counts at a venue from its first change on. Insides come in the order
in which the plants received them; one waits up to --wait-silent for a ring without records. A venue
is stale if its ring had no record and its plant showed no sign of life for longer than --stale-after.
The command ends with the last plant, or on Ctrl-C.

Format: text on a terminal, CSV otherwise.")]
pub(crate) struct InsideArguments {
    #[command(flatten)]
    input: InputArguments,

    /// Further inputs, with --consolidated
    #[arg(value_name = "INPUTS", requires = "consolidated")]
    more: Vec<Given>,

    /// Print the best bid and offer over all inputs, each of which is a venue
    #[arg(help_heading = "Several venues", long, conflicts_with_all = ["every", "with"])]
    consolidated: bool,

    /// Leave out the quotes of a venue that has had no message for longer than TIME, in the
    /// exchange's time
    #[arg(help_heading = "Several venues", long, value_name = "TIME", default_value = "10s",
        value_parser = some_duration)]
    stale_after: Duration,

    /// How long a record of a ring waits for a ring that is silent
    #[arg(help_heading = "Several venues", long, value_name = "TIME", default_value = "100ms",
        value_parser = some_duration)]
    wait_silent: Duration,

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
    if arguments.consolidated {
        return consolidated::run(arguments);
    }
    let InsideArguments { input, span, symbols, every, with, time, output, .. } = arguments;
    let (format, symbols) = (output.row_format()?, &symbols.list());
    let opening = input.open((*span).into(), symbols)?;
    let (bounds, times) = (opening.bounds, time.times(input.name(), opening.midnight_ns)?);
    let columns = InsideTable::<Rows>::columns(with.more());
    let rows = Rows::with_times(output.open()?, format, columns, times);
    let table = InsideTable::new(rows, with.more());
    let mut rows = BookRows::new(symbols, table).every(every.period_ns());
    let session = input.read(opening, &mut rows)?;
    rows.visitor.sink.require_written()?;
    let status = input.conclude(&session, &mut rows.filter)?;
    // An error of the output is kept, and returned at its end.
    let _ = rows.finish(&session, bounds);
    rows.visitor.sink.finish()?;
    Ok(status)
}
