//! Rows of single orders: what each message did to them, and each trade, as DBN's mbo records.
//!
//! The rows of a message are those of the records that a plant publishes of it. A trade or a fill
//! changes no book; the cancel after a fill does.

use std::ops::ControlFlow;

use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{Execution, MarketEvent, Position, What};
use nanotape_types::{
    OrderReferenceNumber, Price, Side, StockLocate, Symbol,
    rows::{Cell, Column, Kind, Sink},
};

use crate::{
    Doubts, OrderChanges, OrderStep, Reason, SymbolFilter,
    book_tables::{message_column, receipt_column, symbol_column, time_column},
    doubts::{give, keep_doubts},
    symbol_or_locate,
};

/// The flags of DBN that rows have.
mod flags {
    pub(super) const LAST: u64 = 1 << 7;
    pub(super) const MAYBE_BAD_BOOK: u64 = 1 << 2;
    /// A modified order has more shares and keeps its place in the queue.
    pub(super) const GROWS_IN_PLACE: u64 = 1 << 1;
}

/// Gives a row for each change of an order and each trade to a sink, as an observer.
#[derive(Debug)]
pub struct OrderRows<S> {
    /// The selected stocks.
    pub filter: SymbolFilter,
    /// Takes the rows.
    pub sink: S,
    doubts: Doubts,
    has_receipt: bool,
    changes: OrderChanges,
}

/// A change of an order, or a trade.
#[derive(Clone, Copy, Debug)]
struct Change {
    action: u8,
    side: u8,
    price: Option<Price>,
    size: u64,
    reference: OrderReferenceNumber,
}

/// What the rows of a message have in common.
struct Common<'e> {
    engine: &'e BookEngine<DefaultBooks>,
    message: u64,
    ts_ns: Option<u64>,
    locate: StockLocate,
}

impl<S> OrderRows<S> {
    /// Rows of these stocks; of all if there are none. `has_receipt`: whether rows have the time of
    /// receipt.
    pub fn new(symbols: &[Symbol], sink: S, has_receipt: bool) -> Self {
        Self {
            filter: SymbolFilter::new(symbols),
            sink,
            doubts: Doubts::default(),
            has_receipt,
            changes: OrderChanges::default(),
        }
    }

    /// The columns.
    pub fn columns(has_receipt: bool) -> Vec<Column> {
        let text = |name, doc| Column::new(name, Kind::Text, 6, doc);
        let mut columns = vec![message_column(), time_column()];
        columns.extend(has_receipt.then(receipt_column));
        columns.extend([
            symbol_column(),
            text("action", "A add, C cancel, M modify, R clear, T trade, F fill."),
            text("side", "B bid, A ask, N none; of a trade, that of the aggressor."),
            Column::new("price", Kind::Price, 11, "Price of the order or the trade.").of("USD"),
            Column::new("size", Kind::U64, 8, "Shares that came, left or were traded.")
                .of("shares"),
            Column::new("order_reference_number", Kind::U64, 22, "The order. Absent for a trade."),
            Column::new(
                "flags",
                Kind::U64,
                5,
                "Flags of DBN, as a sum of bits: 128 the last row \
                of its message, 4 the book may be wrong, 2 the order grows in its place.",
            ),
            Reason::column(),
        ]);
        columns
    }
}

impl<S: Sink> Observer<DefaultBooks> for OrderRows<S> {
    #[inline]
    fn order_entered(&mut self, order: &Order) {
        self.changes.entered(order);
    }

    #[inline]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        self.changes.reduced(order, shares);
    }

    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.doubts.outcome(outcome);
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        let [first, second] = self.changes.take(event);
        let Some(first) = first.filter(|_| self.filter.accepts(locate, engine.directory())) else {
            return ControlFlow::Continue(());
        };
        let ts_ns = event.time.map(|time| engine.time_of_day_ns(time));
        let common = Common { engine, message: at.number, ts_ns, locate };
        // A modification can have a second part.
        let is_whole = event.is_last || !matches!(event.what, What::OrderModified(_));
        let last = if is_whole { flags::LAST } else { 0 };
        self.rows(&common, first, if second.is_some() { 0 } else { last })?;
        second.map_or(ControlFlow::Continue(()), |second| self.rows(&common, second, last))
    }

    keep_doubts!();
}

impl<S: Sink> OrderRows<S> {
    /// The rows of a step; `last`: the flag of its last row.
    #[inline]
    fn rows(&mut self, common: &Common<'_>, step: OrderStep, last: u64) -> ControlFlow<()> {
        let change = match step {
            OrderStep::Entered(reference, order) => {
                Change::of(b'A', reference, &order, order.shares.get())
            }
            OrderStep::Cancelled(reference, order, shares) => {
                Change::of(b'C', reference, &order, shares)
            }
            OrderStep::Executed(reference, order, shares, execution) => {
                let left = Change::of(b'C', reference, &order, shares);
                self.before_cancel(common, left, execution)?;
                left
            }
            OrderStep::Grown(reference, order) => {
                let grown = Change::of(b'M', reference, &order, order.shares.get());
                return self.row(common, grown, last | flags::GROWS_IN_PLACE);
            }
            OrderStep::Traded(trade) => Change {
                action: b'T',
                side: trade.aggressor.map_or(b'N', letter),
                price: Some(trade.price),
                size: trade.shares.get(),
                reference: OrderReferenceNumber::default(),
            },
            OrderStep::Cleared => Change {
                action: b'R',
                side: b'N',
                price: None,
                size: 0,
                reference: OrderReferenceNumber::default(),
            },
        };
        self.row(common, change, last)
    }

    /// The trade of an execution, unless it is not printed, and the fill.
    fn before_cancel(
        &mut self,
        common: &Common<'_>,
        left: Change,
        execution: Execution,
    ) -> ControlFlow<()> {
        let price = execution.price.or(left.price);
        if execution.is_printed {
            let side = if left.side == b'B' { b'A' } else { b'B' };
            let reference = OrderReferenceNumber::default();
            self.row(common, Change { action: b'T', side, price, reference, ..left }, 0)?;
        }
        self.row(common, Change { action: b'F', price, ..left }, 0)
    }

    #[inline]
    fn row(&mut self, common: &Common<'_>, change: Change, flags: u64) -> ControlFlow<()> {
        let Common { engine, message, ts_ns, locate } = *common;
        let reason = self.doubts.reason(locate);
        let doubtful = reason.map_or(0, |_| flags::MAYBE_BAD_BOOK);
        let scale = engine.books().price_scale();
        let cells = [
            Cell::U64(message),
            Cell::time(ts_ns),
            self.doubts.receipt(),
            Cell::Stock(symbol_or_locate(engine.directory(), locate)),
            Cell::Letter(change.action),
            Cell::Letter(change.side),
            Cell::price(change.price.map(|price| scale.ten_thousandths(price))),
            Cell::U64(change.size),
            Cell::u64(Some(change.reference.get()).filter(|&reference| reference > 0)),
            Cell::U64(flags | doubtful),
            Reason::cell(reason),
        ];
        let end = cells.len();
        give(&mut self.sink, self.has_receipt, cells, end)
    }
}

impl Change {
    fn of(action: u8, reference: OrderReferenceNumber, order: &Order, shares: u32) -> Self {
        let (side, price) = (letter(order.side), Some(order.price));
        Self { action, side, price, size: shares.into(), reference }
    }
}

fn letter(side: Side) -> u8 {
    match side {
        Side::Buy => b'B',
        Side::Sell => b'A',
    }
}
