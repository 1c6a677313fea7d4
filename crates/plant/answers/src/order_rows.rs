//! Rows of single orders: what each message did to them, and each trade, as DBN's mbo records.
//!
//! The rows of a message are those of the records that a plant publishes of it. A trade or a fill
//! changes no book; the cancel after a fill does.

use std::ops::ControlFlow;

use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{Execution, MarketEvent, Modified, Position, Priority, Trade, What};
use nanotape_types::{
    BookEvent, OrderReferenceNumber, Price, Side, StockLocate, Symbol,
    rows::{Cell, Column, Kind, Sink},
};

use crate::{
    Doubts, Reason, SymbolFilter,
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
    /// The changes of the current message: at most one order that lost shares, and then one that
    /// entered.
    changes: [Change; 2],
    count: usize,
}

/// A change of an order, or a trade.
#[derive(Clone, Copy, Debug)]
struct Change {
    action: u8,
    side: u8,
    price: Option<Price>,
    size: u64,
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
        let none = Change { action: b'N', side: b'N', price: None, size: 0 };
        Self {
            filter: SymbolFilter::new(symbols),
            sink,
            doubts: Doubts::default(),
            has_receipt,
            changes: [none; 2],
            count: 0,
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

    #[inline]
    fn push(&mut self, action: u8, order: &Order, shares: u32) {
        let (side, price) = (letter(order.side), Some(order.price));
        let change = Change { action, side, price, size: shares.into() };
        self.changes[self.count % 2] = change;
        self.count += usize::from(shares > 0);
    }
}

impl<S: Sink> Observer<DefaultBooks> for OrderRows<S> {
    #[inline]
    fn order_entered(&mut self, order: &Order) {
        self.push(b'A', order, order.shares.get());
    }

    #[inline]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        self.push(b'C', order, shares);
    }

    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.doubts.outcome(outcome);
        let count = std::mem::take(&mut self.count);
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        let is_trade = matches!(event.what, What::Trade(_));
        let is_about_orders = count > 0 || matches!(event.what, What::BookCleared);
        if !is_trade && !is_about_orders || !self.filter.accepts(locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        let ts_ns = event.time.map(|time| engine.time_of_day_ns(time));
        let common = Common { engine, message: at.number, ts_ns, locate };
        let reference = event.reference().unwrap_or_default();
        match event.what {
            What::Trade(Trade { shares, .. }) if shares.get() == 0 => ControlFlow::Continue(()),
            What::Trade(Trade { shares, price, aggressor, .. }) => {
                let (side, price) = (aggressor.map_or(b'N', letter), Some(price));
                let trade = Change { action: b'T', side, price, size: shares.get() };
                self.row(&common, trade, OrderReferenceNumber::default(), flags::LAST)
            }
            What::Execution(execution) => self.execution(&common, execution),
            What::BookCleared => {
                let cleared = Change { action: b'R', side: b'N', price: None, size: 0 };
                self.row(&common, cleared, OrderReferenceNumber::default(), flags::LAST)
            }
            What::OrderModified(change) => self.modified(&common, change, event.is_last, count),
            What::PriceOutOfRange(of) => {
                let reference = of.unwrap_or_default();
                self.one_or_two(&common, reference, reference, count)
            }
            What::Order(BookEvent::Replace { replacement, .. }) => {
                self.one_or_two(&common, reference, replacement, count)
            }
            _ => self.one_or_two(&common, reference, reference, count),
        }
    }

    keep_doubts!();
}

impl<S: Sink> OrderRows<S> {
    /// An order entered or lost shares; with two changes, one left and another entered.
    #[inline]
    fn one_or_two(
        &mut self,
        common: &Common<'_>,
        left: OrderReferenceNumber,
        came: OrderReferenceNumber,
        count: usize,
    ) -> ControlFlow<()> {
        let [first, second] = self.changes;
        if count == 1 {
            return self.row(common, first, left, flags::LAST);
        }
        self.row(common, first, left, 0)?;
        self.row(common, second, came, flags::LAST)
    }

    fn execution(&mut self, common: &Common<'_>, execution: Execution) -> ControlFlow<()> {
        let [left, _] = self.changes;
        let price = execution.price.or(left.price);
        let opposite = if left.side == b'B' { b'A' } else { b'B' };
        let traded = Change { action: b'T', side: opposite, price, ..left };
        if execution.is_printed {
            self.row(common, traded, OrderReferenceNumber::default(), 0)?;
        }
        self.row(common, Change { action: b'F', price, ..left }, execution.reference, 0)?;
        self.row(common, left, execution.reference, flags::LAST)
    }

    /// A modified order lost shares, or left and entered again at the end of its queue. Only one
    /// that grows in its place has an action of its own.
    #[cold]
    fn modified(
        &mut self,
        common: &Common<'_>,
        modified: Modified,
        is_last: bool,
        count: usize,
    ) -> ControlFlow<()> {
        let Modified { reference, priority, .. } = modified;
        let [left, came] = self.changes;
        let is_in_place = priority == Priority::Kept && left.price == came.price;
        let last = if is_last { flags::LAST } else { 0 };
        match count {
            2 if is_in_place || !is_last => {
                let grown = Change { action: b'M', ..came };
                self.row(common, grown, reference, last | flags::GROWS_IN_PLACE)
            }
            1 if !is_last => self.row(common, left, reference, 0),
            _ => self.one_or_two(common, reference, reference, count),
        }
    }

    #[inline]
    fn row(
        &mut self,
        common: &Common<'_>,
        change: Change,
        reference: OrderReferenceNumber,
        flags: u64,
    ) -> ControlFlow<()> {
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
            Cell::u64(Some(reference.get()).filter(|&reference| reference > 0)),
            Cell::U64(flags | doubtful),
            Reason::cell(reason),
        ];
        let end = cells.len();
        give(&mut self.sink, self.has_receipt, cells, end)
    }
}

fn letter(side: Side) -> u8 {
    match side {
        Side::Buy => b'B',
        Side::Sell => b'A',
    }
}
