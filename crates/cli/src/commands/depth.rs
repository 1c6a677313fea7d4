//! `nanotape depth`: the first levels of one stock's book after every message about it.

use std::ops::ControlFlow;

use clap::Args;
use nanotape_book::{
    Books, DefaultBooks, LevelStructure, OrderStore, OrderStructure, Outcome, PriceLevels,
};
use nanotape_market::{MarketEvent, Position};
use nanotape_plant::{BookEngine, Observer};
use nanotape_types::{Side, Symbol};

use crate::{
    input::{InputArguments, Session},
    output::OutputArguments,
    rows::{Column, Rows},
    span::SpanArguments,
    status::Status,
    structures::{self, Levels, LevelsParser},
    symbols::SymbolFilter,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape depth day.gz --symbol AAPL --levels 10 -o aapl.csv
  nanotape depth day.gz --symbol AAPL --levels 1 --format json
  nanotape depth day.gz --symbol AAPL --levels 5 --levels sorted-map
  nanotape depth days/equities --symbol AAPL --from 09:30 --to 09:30:00.000000001

Prints one row for each message of the stock's book (types A F E C X D U), even if the levels shown
do not change. message is the message's number in the file; it counts every message from 1. Columns
run level by level, ask before bid, as in LOBSTER's order book files. The fields of an absent level
are empty. In records, a message has the number that the exchange's message had.
The books are those of the whole run; --from and --to only select rows, and reading stops at --to.
Format: text on a terminal, CSV otherwise.")]
pub(crate) struct DepthArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// Symbol of the stock
    #[arg(long, value_name = "S", alias = "symbols")]
    symbol: Symbol,

    /// A number: levels to show on each side [default: 10]. A name: the structure that stores the
    /// levels. Give the option twice for both
    #[arg(long, value_name = "N|NAME", value_parser = LevelsParser::up_to(1_000))]
    levels: Vec<Levels>,

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
        visible_alias = "order-structure",
        value_name = "NAME",
        value_parser = structures::order_structure(),
        help = structures::order_help(),
        help_heading = structures::HEADING
    )]
    orders: Option<OrderStructure>,

    #[command(flatten)]
    output: OutputArguments,
}

/// Default number of levels on each side.
const SHOWN: u32 = 10;

pub(crate) fn run(arguments: &DepthArguments) -> anyhow::Result<Status> {
    let (levels, structure) =
        structures::shown_and_kept(&arguments.levels, arguments.level_structure)?;
    let levels = levels.unwrap_or(SHOWN) as usize;
    match structures::chosen(structure, arguments.orders, arguments.input.orders()) {
        None => run_with(arguments, levels, DefaultBooks::with_capacity(arguments.input.orders())),
        Some(books) => run_with(arguments, levels, books),
    }
}

fn run_with<L: PriceLevels, S: OrderStore>(
    arguments: &DepthArguments,
    levels: usize,
    books: Books<L, S>,
) -> anyhow::Result<Status> {
    let format = arguments.output.row_format()?;
    let mut columns = vec![Column::number("message", 9), Column::number("ts_ns", 14)];
    for level in 1..=levels {
        for side in ["ask", "bid"] {
            columns.push(Column::number(format!("{side}_price_{level}"), 11));
            columns.push(Column::number(format!("{side}_size_{level}"), 8));
        }
    }
    let rows = Rows::new(arguments.output.open()?, format, columns);
    let filter = SymbolFilter::new(&[arguments.symbol]);
    let mut depth = Depth { rows, filter, levels };
    let (span, symbols) = (arguments.span.into(), [arguments.symbol]);
    let session = Session::run(&arguments.input, span, &symbols, books, &mut depth)?;
    let status = session.conclude(&mut depth.filter)?;
    depth.rows.finish()?;
    Ok(status)
}

struct Depth {
    rows: Rows,
    filter: SymbolFilter,
    levels: usize,
}

impl<L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for Depth {
    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let Some(outcome) = outcome else { return ControlFlow::Continue(()) };
        if !self.filter.accepts(outcome.stock_locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        self.rows.integer(at.number);
        self.rows.integer_or_absent(event.time.map(|time| time.get()));
        let book = engine.books().book(outcome.stock_locate);
        let [mut bids, mut asks] = [book.depth(Side::Buy), book.depth(Side::Sell)];
        for _ in 0..self.levels {
            for level in [asks.next(), bids.next()] {
                self.rows.level(level.map(|level| (level.price, level.shares.get())));
            }
        }
        self.rows.end_row_or_stop()
    }
}
