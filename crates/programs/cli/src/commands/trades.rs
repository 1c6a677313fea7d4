//! `nanotape trades`: every print, with the price that the book gives to an execution.
//!
//! A break names a trade by its match number, later than the trade. So a file is read twice: the
//! first reading collects the match numbers of broken trades.

use std::ops::ControlFlow;

use clap::Args;
use nanotape_answers::{Breaks, InputKind, SymbolFilter, symbol_or_locate};
use nanotape_arguments::{
    InputArguments, SpanArguments, SymbolArguments, TimeArguments, Times, input::breaks_of,
};
use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{Execution, MarketEvent, Position, Trade, TradeKind, What};
use nanotape_types::{MatchNumber, Price4, Side};

use crate::{
    output::OutputArguments,
    rows::{Column, Rows},
    status::{Status, note, tell},
    values::counted,
};

/// Match numbers that a line lists.
const LISTED: usize = 10;

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
match numbers. Records also do not tell hidden trades from crosses: their kind is off_book. A trade of
several orders at once, as in DBN files of Databento, is one execution, without an
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
    let mut trades = Trades {
        rows: Rows::new(output, format, columns(times)),
        filter: SymbolFilter::new(symbols),
        times,
        is_of_records: kind != InputKind::Day,
        broken,
        unmarked: Breaks::default(),
        reduced: None,
    };
    let session = input.read(opening, &mut trades)?;
    trades.rows.require_written()?;
    let status = input.conclude(&session, &mut trades.filter)?;
    trades.rows.finish()?;
    if trades.is_of_records {
        note(format_args!(
            "{}: records have no match numbers: broken trades are not marked",
            input.name()
        ));
    }
    tell_unmarked(input.name(), &trades.unmarked);
    Ok(status)
}

/// Reports the broken trades whose rows were written before the break was read.
fn tell_unmarked(name: &str, unmarked: &Breaks) {
    if unmarked.is_empty() {
        return;
    }
    let listed: Vec<_> =
        unmarked.iter().take(LISTED).map(|number| number.get().to_string()).collect();
    let more = if unmarked.len() > LISTED { ", ..." } else { "" };
    tell(format_args!(
        "{name}: {} broken and not marked, because the input is read only once: match numbers \
         {}{more}",
        counted(unmarked.len() as u64, "trade"),
        listed.join(", ")
    ));
}

fn columns(times: Times) -> Vec<Column> {
    vec![
        Column::number("message", 9),
        times.column(),
        Column::word("symbol", 8),
        Column::word("kind", 9),
        Column::number("price", 11),
        Column::number("size", 8),
        Column::word("aggressor", 9),
        Column::number("order_reference_number", 22),
        Column::number("match_number", 12),
        Column::word("broken", 6),
    ]
}

/// Writes a row for each print, as an observer.
struct Trades {
    rows: Rows,
    filter: SymbolFilter,
    times: Times,
    is_of_records: bool,
    /// The match numbers of all broken trades, if the input was read before.
    broken: Option<Breaks>,
    unmarked: Breaks,
    /// The order that the current message executed.
    reduced: Option<Order>,
}

/// A print.
struct Print {
    kind: &'static str,
    price: Option<Price4>,
    shares: u64,
    match_number: MatchNumber,
    /// Of an execution of one order.
    reference: Option<u64>,
    /// The side that took the order.
    aggressor: Option<Side>,
}

impl Observer<DefaultBooks> for Trades {
    fn before(&mut self, _: &BookEngine<DefaultBooks>, _: Position, _: &MarketEvent) {
        self.reduced = None;
    }

    #[inline]
    fn order_reduced(&mut self, order: &Order, _: u32) {
        self.reduced = Some(*order);
    }

    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        if let What::TradeBroken(match_number) = event.what
            && self.broken.is_none()
            && self.filter.accepts(event.stock_locate, engine.directory())
        {
            self.unmarked.insert(match_number);
        }
        let Some(print) = self.print_of(event) else { return ControlFlow::Continue(()) };
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        if !self.filter.accepts(locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        let Print { kind, price, shares, match_number, reference, aggressor } = print;
        let rows = &mut self.rows;
        rows.integer(at.number);
        self.times.write(rows, event.time.map(|time| time.get()));
        rows.text(symbol_or_locate(engine.directory(), locate));
        rows.word(kind.as_bytes());
        match price {
            Some(price) => rows.price(price),
            None => rows.absent(),
        }
        rows.integer(shares);
        match aggressor {
            Some(side) => rows.text(side),
            None => rows.absent(),
        }
        rows.integer_or_absent(reference);
        rows.integer_or_absent(Some(match_number.get()).filter(|_| !self.is_of_records));
        match &self.broken {
            Some(broken) if broken.contains(match_number) => rows.digits(b"true"),
            Some(_) => rows.digits(b"false"),
            None => rows.absent(),
        }
        rows.end_row_or_stop()
    }
}

impl Trades {
    #[inline]
    fn print_of(&self, event: &MarketEvent) -> Option<Print> {
        match event.what {
            What::Execution(Execution { reference, shares, price, is_printed, match_number }) => {
                let price = price.or(self.reduced.map(|order| order.price));
                let shares = u64::from(shares.get());
                let reference = Some(reference.get());
                let aggressor = self.reduced.map(|order| order.side.opposite());
                let kind = "execution";
                let print = Print { kind, price, shares, match_number, reference, aggressor };
                is_printed.then_some(print)
            }
            What::Trade(Trade { shares, price, match_number, kind, aggressor }) => {
                let kind = match kind {
                    TradeKind::Displayed => "execution",
                    _ if self.is_of_records => "off_book",
                    TradeKind::Hidden => "hidden",
                    TradeKind::Auction => "cross",
                };
                let (price, shares, reference) = (Some(price), shares.get(), None);
                let print = Print { kind, price, shares, match_number, reference, aggressor };
                (shares > 0).then_some(print)
            }
            _ => None,
        }
    }
}
