//! `nanotape inside`: one row for each message that changed a stock's best bid or offer.

use std::ops::ControlFlow;

use clap::Args;
use nanotape_book::{Books, DefaultBooks, OrderStore, Outcome, PriceLevels};
use nanotape_market::{MarketEvent, Position};
use nanotape_plant::{BookEngine, Observer};
use nanotape_types::{Side, Symbol};

use crate::{
    input::{InputArguments, Session},
    output::OutputArguments,
    rows::{Column, Rows},
    span::SpanArguments,
    status::Status,
    structures::StructureArguments,
    symbols::{SymbolFilter, symbol_or_locate},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape inside day.gz --symbols AAPL,MSFT
  nanotape inside days/equities                a journal that recorded a plant
  nanotape inside xnas-itch.mbo.dbn.zst --from 09:30 --to 10:00 --strict
  nanotape inside day.gz -o inside.csv.zst
  zcat day.gz | nanotape inside - --format json | head
  nanotape inside day.gz -o inside.csv --levels tick-indexed --orders hash-map

Prints a row when a message changes the price or the size of the best bid or best offer. The inside
is compared once per message, after the whole message, so a replace is at most one change. ts_ns is
nanoseconds since midnight, as in the message. The fields of an empty side are empty.
The books are those of the whole run; --from and --to only select rows, and reading stops at --to.
Format: text on a terminal, CSV otherwise.")]
pub(crate) struct InsideArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// Only these stocks
    #[arg(long, value_name = "A,B", value_delimiter = ',', alias = "symbol")]
    symbols: Vec<Symbol>,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    structures: StructureArguments,
}

pub(crate) fn run(arguments: &InsideArguments) -> anyhow::Result<Status> {
    match arguments.structures.chosen(arguments.input.orders()) {
        None => run_with(arguments, DefaultBooks::with_capacity(arguments.input.orders())),
        Some(books) => run_with(arguments, books),
    }
}

fn run_with<L: PriceLevels, S: OrderStore>(
    arguments: &InsideArguments,
    books: Books<L, S>,
) -> anyhow::Result<Status> {
    let format = arguments.output.row_format()?;
    let columns = vec![
        Column::number("ts_ns", 14),
        Column::word("symbol", 8),
        Column::number("bid_price", 11),
        Column::number("bid_size", 8),
        Column::number("ask_price", 11),
        Column::number("ask_size", 8),
    ];
    let rows = Rows::new(arguments.output.open()?, format, columns);
    let filter = SymbolFilter::new(&arguments.symbols);
    let mut insides = Insides { rows, filter };
    let (span, symbols) = (arguments.span.into(), &arguments.symbols);
    let session = Session::run(&arguments.input, span, symbols, books, &mut insides)?;
    let status = session.conclude(&mut insides.filter)?;
    insides.rows.finish()?;
    Ok(status)
}

struct Insides {
    rows: Rows,
    filter: SymbolFilter,
}

impl<L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for Insides {
    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let Some(outcome) = outcome else { return ControlFlow::Continue(()) };
        let locate = outcome.stock_locate;
        if !outcome.inside_changed || !self.filter.accepts(locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        self.rows.integer_or_absent(event.time.map(|time| time.get()));
        self.rows.text(symbol_or_locate(engine.directory(), locate));
        let inside = engine.books().book(locate).inside();
        for side in Side::BOTH {
            self.rows.level(inside.side(side).map(|quote| (quote.price, quote.shares.get())));
        }
        self.rows.end_row_or_stop()
    }
}
