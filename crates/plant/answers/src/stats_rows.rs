//! Rows of statistics: the figures of all stocks together, then those of each stock.

use std::{cmp::Reverse, ops::ControlFlow};

use nanotape_book::{Anomaly, DefaultBooks};
use nanotape_engine::{Activity, BookEngine, DayFigures, Histogram, StockStatistics};
use nanotape_types::{
    Side,
    rows::{Cell, Column, Kind, Sink},
};

use crate::{SymbolFilter, symbol_or_locate};

/// The columns: the symbol, the figures, and the messages that did not fit the book, by kind.
pub fn stats_columns() -> Vec<Column> {
    let anomalies = Anomaly::ALL
        .map(|kind| Column::new(kind.name(), Kind::U64, 0, doc_of(kind)).of("messages"));
    let figures = Figures::all().0.into_iter().map(|(column, _)| column);
    let symbol = "Symbol of the stock, or # and its stock locate; * for all stocks together.";
    let symbol = Column::new("symbol", Kind::Text, 8, symbol);
    [symbol].into_iter().chain(figures).chain(anomalies).collect()
}

/// Gives the row of all stocks, whose symbol is `*`, and those of the selected stocks with the most
/// messages, up to a number of stocks.
pub fn stats_rows(
    engine: &BookEngine<DefaultBooks>,
    statistics: &DayFigures,
    filter: &mut SymbolFilter,
    stocks: usize,
    sink: &mut impl Sink,
) -> ControlFlow<()> {
    let (books, directory) = (engine.books(), engine.directory());
    let mut selected: Vec<_> =
        statistics.stocks().filter(|(locate, _)| filter.accepts(*locate, directory)).collect();
    selected.sort_by_key(|(locate, stock)| (Reverse(stock.messages.count()), *locate));
    let total = (Cell::Text("*"), statistics.total(), books.anomalies());
    let selected = selected.into_iter().take(stocks).map(|(locate, stock)| {
        let name = Cell::Stock(symbol_or_locate(directory, locate));
        (name, stock, books.book(locate).anomalies())
    });
    let figures = Figures::all().0;
    for (name, stock, anomalies) in [total].into_iter().chain(selected) {
        let mut cells = vec![name];
        cells.extend(figures.iter().map(|(_, value)| value(stock)));
        cells.extend(Anomaly::ALL.map(|kind| Cell::U64(anomalies.of(kind).into())));
        sink.row(&cells)?;
    }
    ControlFlow::Continue(())
}

fn doc_of(anomaly: Anomaly) -> &'static str {
    match anomaly {
        Anomaly::UnknownReference => "Changes of an order that is not live.",
        Anomaly::DuplicateReference => "Entries of an order whose reference number is live.",
        Anomaly::OverExecution => "Executions of more shares than the order had.",
        Anomaly::OverCancel => "Cancels of more shares than the order had.",
        Anomaly::ZeroShares => "Entries of an order without shares.",
        Anomaly::LocateMismatch => "Changes of an order that name another stock.",
        Anomaly::UnknownSide => "Entries of an order that is neither buy nor sell.",
        Anomaly::MissedMessages => "Snapshots of the exchange that differ from the book.",
        Anomaly::PriceOutOfRange => "Orders and levels whose price no book can have.",
    }
}

/// A figure of a stock.
type Value = Box<dyn Fn(&StockStatistics) -> Cell<'static>>;

/// The figures, in the order of their columns.
#[derive(Default)]
struct Figures(Vec<(Column, Value)>);

impl Figures {
    #[rustfmt::skip]
    fn all() -> Self {
        let mut all = Self::default();
        all.number(("messages", Kind::U64, "messages", 9), "All messages of the stock.",
            |stock| Cell::U64(stock.messages.count()));
        all.number(("inside_changes", Kind::U64, "messages", 9),
            "Messages that changed the price or the shares of the best bid or offer.",
            |stock| Cell::U64(stock.inside_changes.count()));
        all.number(("trades", Kind::I64, "trades", 7),
            "Trades, by the rule E + C (printable) + P + Q less B.",
            |stock| Cell::I64(stock.trades));
        all.number(("volume_shares", Kind::I64, "shares", 12), "Shares of these trades.",
            |stock| Cell::I64(stock.volume_shares));
        all.activity("", "messages", |stock| &stock.messages);
        all.quantiles("depth_ticks", "ticks of 0.01", 7, &[0.25, 0.5, 0.75, 0.9, 0.99, 0.999],
            "distance from the best price of the order's own side before a message",
            |stock| &stock.event_depth_ticks);
        all.number(("crossed_ns", Kind::U64, "ns", 9), "Time with the best bid above the best offer.",
            |stock| Cell::U64(stock.crossed_nanos));
        all.number(("locked_ns", Kind::U64, "ns", 9), "Time with the best bid equal to the best offer.",
            |stock| Cell::U64(stock.locked_nanos));
        all.activity("inside_", "messages that changed the inside", |stock| &stock.inside_changes);
        for side in Side::BOTH {
            all.quantiles(&format!("{}_levels", side.quote_name()), "levels", 7, &[1.0, 0.99, 0.5],
                "number of price levels of the side after a message about the book",
                move |stock| stock.levels.of(side));
        }
        all
    }

    /// Rates, gaps and processing times of some messages.
    #[rustfmt::skip]
    fn activity(&mut self, prefix: &str, what: &str, of: fn(&StockStatistics) -> &Activity) {
        const RATE: &[f64] = &[1.0, 0.999, 0.99];
        let name = |name: &str| format!("{prefix}{name}");
        let rate = |window| format!("number of {what} in a {window} that has one");
        self.quantiles(&name("per_second"), "messages", 7, RATE, &rate("second"),
            move |stock| of(stock).per_second());
        self.quantiles(&name("per_ms"), "messages", 7, RATE, &rate("millisecond"),
            move |stock| of(stock).per_millisecond());
        self.quantiles(&name("per_us"), "messages", 7, RATE, &rate("microsecond"),
            move |stock| of(stock).per_microsecond());
        self.quantiles(&name("gap_ns"), "ns", 11, &[0.01, 0.5, 0.99],
            &format!("time between {what}, at the exchange"), move |stock| of(stock).gap_nanos());
        self.quantiles(&name("process_ns"), "ns", 7, &[0.5, 0.9, 0.99, 0.999, 1.0],
            &format!("processing time of {what}, with one clock stamp"),
            move |stock| of(stock).processing_nanos());
    }

    /// The values of a histogram that these shares of all its values do not exceed.
    fn quantiles(
        &mut self,
        name: &str,
        unit: &'static str,
        width: usize,
        shares: &[f64],
        what: &str,
        of: impl Fn(&StockStatistics) -> &Histogram + Copy + 'static,
    ) {
        for &share in shares {
            let percent = (100.0 * share).to_string();
            let (suffix, quantile) = match share {
                1.0 => ("max".to_owned(), "Largest".to_owned()),
                _ => (
                    format!("p{}", percent.replace('.', "")),
                    format!("{percent}% quantile of the"),
                ),
            };
            let doc = format!("{quantile} {what}. Absent if there is none.");
            let column = Column::new(format!("{name}_{suffix}"), Kind::U64, width, doc).of(unit);
            self.0.push((column, Box::new(move |stock| Cell::u64(of(stock).quantile(share)))));
        }
    }

    fn number(
        &mut self,
        (name, kind, unit, width): (&'static str, Kind, &'static str, usize),
        doc: &'static str,
        value: fn(&StockStatistics) -> Cell<'static>,
    ) {
        self.0.push((Column::new(name, kind, width, doc).of(unit), Box::new(value)));
    }
}
