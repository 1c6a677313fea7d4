//! Rows of trades: every print, with the price that the book gives to an execution.
//!
//! A break names a trade by its match number, later than the trade. So the match numbers of broken
//! trades come from a reading before this one: [`Opening::breaks`](crate::Opening::breaks).

use std::ops::ControlFlow;

use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{Execution, MarketEvent, Position, Trade, TradeKind, What};
use nanotape_types::{
    MatchNumber, Price, Side, Symbol,
    rows::{Cell, Column, Kind, Sink},
};

use crate::{
    Breaks, Doubts, MoreColumns, Reason, SymbolFilter,
    book_tables::{message_column, receipt_column, symbol_column, time_column},
    doubts::{give, keep_doubts},
    symbol_or_locate,
};

/// Gives a row for each print to a sink, as an observer.
#[derive(Debug)]
pub struct TradeRows<S> {
    /// The selected stocks.
    pub filter: SymbolFilter,
    /// Takes the rows.
    pub sink: S,
    /// Breaks of selected stocks whose trades could not be marked, because the breaks were not
    /// known before.
    pub unmarked: Breaks,
    is_of_records: bool,
    broken: Option<Breaks>,
    is_marked_later: bool,
    /// The order that the current message executed.
    reduced: Option<Order>,
    /// Those of receipt and reason.
    more: MoreColumns,
    doubts: Doubts,
}

/// A print.
struct Print {
    kind: &'static str,
    price: Option<Price>,
    shares: u64,
    match_number: MatchNumber,
    /// Of an execution of one order.
    reference: Option<u64>,
    /// The side that took the order.
    aggressor: Option<Side>,
}

impl<S> TradeRows<S> {
    /// Rows of these stocks; of all if there are none. `is_of_records`: records do not distinguish
    /// hidden trades from crosses, and have no match numbers. `broken`: all broken trades, if they
    /// are known. `more`: of these columns, those of receipt and reason.
    pub fn new(
        symbols: &[Symbol],
        sink: S,
        is_of_records: bool,
        broken: Option<Breaks>,
        more: MoreColumns,
    ) -> Self {
        Self {
            filter: SymbolFilter::new(symbols),
            sink,
            unmarked: Breaks::default(),
            is_of_records,
            broken,
            is_marked_later: false,
            reduced: None,
            more,
            doubts: Doubts::default(),
        }
    }

    /// The caller marks the trades of [`unmarked`](Self::unmarked) breaks at the end, so that
    /// others have false until then. For rows of messages to the end of the input.
    #[must_use]
    pub fn marked_later(self) -> Self {
        Self { is_marked_later: true, ..self }
    }

    /// The columns.
    pub fn columns(more: MoreColumns) -> Vec<Column> {
        let mut columns = vec![message_column(), time_column()];
        columns.extend(more.receipt.then(receipt_column));
        columns.extend(Self::own_columns());
        columns.extend(more.reason.then(Reason::column));
        columns
    }

    fn own_columns() -> Vec<Column> {
        vec![
            symbol_column(),
            Column::new(
                "kind",
                Kind::Text,
                9,
                "execution of a displayed order, hidden (against an order that is not displayed), \
                 cross (an auction), trade (any of them, if the exchange does not state it), or off_book \
                 (hidden or cross, of records).",
            ),
            Column::new(
                "price",
                Kind::Price,
                11,
                "Price of the trade. Absent if the book does not have the executed order.",
            )
            .of("USD"),
            Column::new("size", Kind::U64, 8, "Shares of the trade.").of("shares"),
            Column::new(
                "aggressor",
                Kind::Text,
                9,
                "Side that took the order: buy or sell. Absent if it is unknown.",
            ),
            Column::new(
                "order_reference_number",
                Kind::U64,
                22,
                "The executed order. Absent for hidden trades, crosses, and several orders at once.",
            ),
            Column::new(
                "match_number",
                Kind::U64,
                12,
                "The exchange's number of the trade, which a break names. Absent for records.",
            ),
            Column::new(
                "broken",
                Kind::Flag,
                6,
                "Whether the exchange voided the trade, at any time. Absent if it is unknown: for \
                 records, standard input and pipes.",
            ),
        ]
    }
}

impl<S: Sink> Observer<DefaultBooks> for TradeRows<S> {
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
        self.doubts.outcome(outcome);
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
        let broken = match &self.broken {
            Some(broken) => Some(broken.contains(match_number)),
            None => self.is_marked_later.then_some(false),
        };
        let time = Cell::time(event.time.map(|time| engine.time_of_day_ns(time)));
        let receipt = self.doubts.receipt();
        let cells = [
            Cell::U64(at.number),
            time,
            receipt,
            Cell::Stock(symbol_or_locate(engine.directory(), locate)),
            Cell::Text(kind),
            Cell::price(price.map(|price| engine.books().price_scale().ten_thousandths(price))),
            Cell::U64(shares),
            aggressor.map_or(Cell::Absent, |side| Cell::Text(side.name())),
            Cell::u64(reference),
            Cell::u64(Some(match_number.get()).filter(|_| !self.is_of_records)),
            broken.map_or(Cell::Absent, Cell::Flag),
            Reason::cell(self.doubts.reason(locate)),
        ];
        let end = cells.len() - usize::from(!self.more.reason);
        give(&mut self.sink, self.more.receipt, cells, end)
    }

    keep_doubts!();
}

impl<S> TradeRows<S> {
    #[inline]
    fn print_of(&self, event: &MarketEvent) -> Option<Print> {
        match event.what {
            What::Execution(execution) => {
                let Execution { reference, shares, price, is_printed, match_number, .. } =
                    execution;
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
                    TradeKind::Unstated => "trade",
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
