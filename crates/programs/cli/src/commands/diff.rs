//! `nanotape diff`: the changes of some stocks' books between two moments.

use clap::Args;
use nanotape_answers::{BookState, Part, Span, SymbolFilter, change_columns, change_rows};
use nanotape_arguments::{InputArguments, SymbolArguments};
use nanotape_book::DefaultBooks;
use nanotape_engine::{BookEngine, Observer};
use nanotape_plant::Moment;
use nanotape_types::Symbol;

use crate::{output::OutputArguments, rows::Rows, status::Status};

#[derive(Args, Debug)]
#[command(mut_arg("symbols", |symbols| symbols.required(true)))]
#[command(after_help = "\
Examples:
  nanotape diff day.gz --symbols AAPL 09:30 09:30:01
  nanotape diff days/equities --symbols AAPL,MSFT 15:59:59.999999999 16:00 --orders -o close.csv
  nanotape diff xnas-itch.mbo.dbn.zst --symbols AAPL 2019-12-30T14:30:00Z @1577716201000000000

Compares the book after the last message not later than T1 with the book after the last message not
later than T2: both moments are inclusive. Prints a row for each price level that entered, left or
changed its size or its number of orders; bids first, each side from the best price. With several
stocks, the first column has the symbol. With --orders, prints the orders that entered, left or
changed their price or size, by reference number. Fields of before are empty for what entered, those
of after for what left. If nothing changed, there are no rows, and the status is 0. Format: text on
a terminal, CSV otherwise.")]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    input: InputArguments,

    /// The first moment, after its messages (inclusive): a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970
    #[arg(value_name = "T1")]
    first: Moment,

    /// The second moment, after its messages (inclusive); reading stops there
    #[arg(value_name = "T2")]
    second: Moment,

    #[command(flatten)]
    symbols: SymbolArguments,

    /// List orders instead of price levels
    #[arg(long)]
    orders: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &DiffArguments) -> anyhow::Result<Status> {
    let format = arguments.output.row_format()?;
    let output = arguments.output.open()?;
    let symbols = &arguments.symbols.list_without_patterns("diff")?;
    let mut first = First { symbols, books: None };
    let span = Span::between(arguments.first, arguments.second);
    let session = arguments.input.read(arguments.input.open(span, symbols)?, &mut first)?;
    let status = arguments.input.conclude(&session, &mut SymbolFilter::new(symbols))?;
    let after = states_of(&session.engine, symbols);
    // Without a message between the moments, nothing changed.
    let before = first.books.unwrap_or_else(|| after.clone());
    let has_symbol = symbols.len() > 1;
    let part = if arguments.orders { Part::Orders } else { Part::Levels };
    let mut rows = Rows::new(output, format, change_columns(part, has_symbol));
    for ((symbol, before), after) in symbols.iter().zip(&before).zip(&after) {
        let symbol = has_symbol.then_some(*symbol);
        if change_rows(symbol, part, (before, after), &mut rows).is_break() {
            break;
        }
    }
    rows.finish()?;
    Ok(status)
}

/// Keeps the books at the first moment.
struct First<'a> {
    symbols: &'a [Symbol],
    books: Option<Vec<BookState>>,
}

impl Observer<DefaultBooks> for First<'_> {
    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, _: u64) {
        self.books = Some(states_of(engine, self.symbols));
    }
}

fn states_of(engine: &BookEngine<DefaultBooks>, symbols: &[Symbol]) -> Vec<BookState> {
    symbols.iter().map(|&symbol| BookState::of(engine, symbol)).collect()
}
