//! `nanotape inside`: one row for each message that changed a stock's best bid or offer.

use clap::Args;
use nanotape_answers::SymbolFilter;
use nanotape_arguments::{InputArguments, SpanArguments, SymbolArguments, TimeArguments};
use nanotape_book::{Inside, Outcome};
use nanotape_console::line::{Line, PlainSymbol};
use nanotape_types::Side;

use crate::{
    book_rows::{BookRow, BookRows, Cells, EveryArguments, WithArguments},
    output::OutputArguments,
    rows::{Column, Rows},
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
    let InsideArguments { input, span, symbols, every, with, time, output, .. } = arguments;
    let (format, symbols) = (output.row_format()?, &symbols.list());
    let cells = InsideCells { has_message: with.has_message(), has_orders: with.has_orders() };
    let opening = input.open((*span).into(), symbols)?;
    let (bounds, times) = (opening.bounds, time.times(input.name(), opening.midnight_ns)?);
    let message = cells.has_message.then(|| Column::number("message", 9));
    let mut columns: Vec<_> = message.into_iter().collect();
    columns.extend([times.column(), Column::word("symbol", 8)]);
    for side in ["bid", "ask"] {
        columns.push(Column::number(format!("{side}_price"), 11));
        columns.push(Column::number(format!("{side}_size"), 8));
        if cells.has_orders {
            columns.push(Column::number(format!("{side}_orders"), 6));
        }
    }
    let rows = Rows::new(output.open()?, format, columns);
    let filter = SymbolFilter::new(symbols);
    let mut rows = BookRows::new(rows, cells, filter, times, *every);
    let session = input.read(opening, &mut rows)?;
    rows.require_written()?;
    let status = input.conclude(&session, &mut rows.filter)?;
    rows.finish(&session, bounds)?;
    Ok(status)
}

struct InsideCells {
    has_message: bool,
    has_orders: bool,
}

impl Cells for InsideCells {
    #[inline]
    fn is_row(&self, outcome: &Outcome) -> bool {
        outcome.inside_changed
    }

    #[inline]
    fn write(&self, rows: &mut Rows, row: &BookRow<'_>) {
        let inside = row.book.inside();
        if self.has_message || self.has_orders {
            return self.write_all(rows, row);
        }
        if let (true, Some(nanos), Some(symbol)) =
            (row.times.is_a_number(), row.nanos, row.stock.symbol().and_then(PlainSymbol::of))
            && rows.line(|line| write_line(line, nanos, symbol, inside))
        {
            return;
        }
        row.times.write(rows, row.nanos);
        rows.text(row.stock);
        for side in Side::BOTH {
            rows.level(inside.side(side).map(|quote| (quote.price, quote.shares.get())));
        }
    }
}

impl InsideCells {
    fn write_all(&self, rows: &mut Rows, row: &BookRow<'_>) {
        if self.has_message {
            rows.integer_or_absent(row.message);
        }
        row.times.write(rows, row.nanos);
        rows.text(row.stock);
        for side in Side::BOTH {
            let level = row.book.depth(side).next();
            rows.level(level.map(|level| (level.price, level.shares.get())));
            if self.has_orders {
                rows.integer_or_absent(level.map(|level| level.orders.get().into()));
            }
        }
    }
}

/// The cells of a row of CSV, which most rows are.
#[inline(always)]
fn write_line(line: &mut Line<'_>, nanos: u64, symbol: PlainSymbol, inside: Inside) {
    line.integer(nanos);
    line.symbol(symbol);
    for side in Side::BOTH {
        match inside.side(side) {
            Some(quote) => {
                line.price(quote.price);
                line.integer(quote.shares.get());
            }
            None => {
                line.absent();
                line.absent();
            }
        }
    }
}
