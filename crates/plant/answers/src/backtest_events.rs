//! Events of hftbacktest 2, order by order: an array of its `event_dtype` for each stock.
//!
//! Its books accept each order once, and remove or change orders that they have; anything else ends
//! a backtest. The events follow from the changes of our book, so all inputs keep to that. An order
//! that loses a part of its shares is a modification with those that remain, because hftbacktest
//! removes a cancelled order as a whole.
//!
//! Source: the documentation of hftbacktest 2.4 (data, types) and `validate_event_order` of its
//! package.

use std::ops::ControlFlow;

use nanotape_book::Order;
use nanotape_market::Execution;
use nanotape_types::{
    LocateTable, OrderReferenceNumber, Price, Side,
    rows::{Cell, Column, Kind},
};

use crate::{OrderStep, StepAt, StepVisitor};

/// Bits of the member `ev`.
mod kinds {
    pub(super) const TRADE: u64 = 2;
    pub(super) const CLEAR: u64 = 3;
    pub(super) const ADD: u64 = 10;
    pub(super) const CANCEL: u64 = 11;
    pub(super) const MODIFY: u64 = 12;
    pub(super) const FILL: u64 = 13;
    pub(super) const OF_EXCHANGE_AND_LOCAL: u64 = (1 << 31) | (1 << 30);
    pub(super) const BUY: u64 = 1 << 29;
    pub(super) const SELL: u64 = 1 << 28;
}

/// An element of the array. Its members have 8 bytes each, in this order; two more, `ival` and
/// `fval`, are 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BacktestEvent {
    /// The kind, the side, and the clocks at which it counts: always both.
    pub ev: u64,
    /// The exchange's time, in ns since the UNIX epoch.
    pub exch_ts_ns: i64,
    /// When the event was received, in ns since the UNIX epoch.
    pub local_ts_ns: i64,
    /// The price in USD.
    pub price_usd: f64,
    /// Shares.
    pub shares: f64,
    /// The order reference number; 0 for trades.
    pub order: u64,
}

impl BacktestEvent {
    /// The members as columns.
    pub fn columns() -> Vec<Column> {
        let column = |name, kind, doc| Column::new(name, kind, 12, doc);
        vec![
            column("ev", Kind::U64, "Kind, side and clocks of the event, as bits of hftbacktest."),
            column("exch_ts", Kind::I64, "The exchange's time, since 1970.").of("ns"),
            column("local_ts", Kind::I64, "When it was received, since 1970.").of("ns"),
            column("px", Kind::F64, "Price.").of("USD"),
            column("qty", Kind::F64, "Shares; of a modified order those that remain.").of("shares"),
            column("order_id", Kind::U64, "Order reference number; 0 for a trade."),
            column("ival", Kind::I64, "0."),
            column("fval", Kind::F64, "0."),
        ]
    }

    /// The cells of a row.
    pub fn cells(&self) -> [Cell<'static>; 8] {
        [
            Cell::U64(self.ev),
            Cell::I64(self.exch_ts_ns),
            Cell::I64(self.local_ts_ns),
            Cell::F64(self.price_usd),
            Cell::F64(self.shares),
            Cell::U64(self.order),
            Cell::I64(0),
            Cell::F64(0.0),
        ]
    }
}

/// What the times of a reading lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BacktestTimes {
    /// Events of messages without a time of receipt: they have the exchange's time and the latency.
    pub without_receipt: u64,
    /// Events with a clock that went back: they have the time of the event before.
    pub out_of_order: u64,
    /// By how much a time of receipt was before the exchange's time, at most, in ns.
    pub ahead_ns: i64,
}

impl BacktestTimes {
    /// A line for each thing that a backtest must know. `latency`: the option with a latency.
    pub fn lines(&self, has_latency: bool, latency: &str) -> Vec<String> {
        let Self { without_receipt, out_of_order, ahead_ns } = *self;
        let mut lines = Vec::new();
        if without_receipt > 0 && !has_latency {
            lines.push(format!(
                "{without_receipt} events without a time of receipt: local_ts is exch_ts, so that the \
                 feed has no latency; give one with {latency}"
            ));
        }
        if out_of_order > 0 {
            lines.push(format!(
                "{out_of_order} events with a clock that went back: they have the time of the event \
                 before"
            ));
        }
        if ahead_ns > 0 {
            lines.push(format!(
                "times of receipt are up to {ahead_ns} ns before the exchange's: the clocks differ, \
                 which more than that in {latency} makes up for"
            ));
        }
        lines
    }
}

/// Gives the events to a function, as a visitor of steps.
#[derive(Debug)]
pub struct BacktestEvents<F> {
    /// Takes the events.
    pub visit: F,
    /// What the times lack.
    pub times: BacktestTimes,
    /// The times of each stock's last event: the exchange's, and that of receipt.
    clocks: LocateTable<[i64; 2]>,
    midnight_ns: i64,
    latency_ns: i64,
}

impl<F: FnMut(&StepAt<'_>, &BacktestEvent) -> ControlFlow<()>> BacktestEvents<F> {
    /// `midnight_ns`: the exchange's midnight, in ns since the UNIX epoch. `latency_ns` is added to
    /// times of receipt, or to the exchange's time where they are missing.
    pub fn new(midnight_ns: u64, latency_ns: u64, visit: F) -> Self {
        let (midnight_ns, latency_ns) = (nanos(midnight_ns), nanos(latency_ns));
        let clocks = LocateTable::filled([i64::MIN; 2]);
        Self { visit, times: BacktestTimes::default(), clocks, midnight_ns, latency_ns }
    }

    /// Gives an event at the times of a message.
    fn push(
        &mut self,
        at: &StepAt<'_>,
        kind: u64,
        order: u64,
        price: Option<Price>,
        shares: u64,
    ) -> ControlFlow<()> {
        let Self { visit, times, clocks, midnight_ns, latency_ns } = self;
        let exch_ts_ns = midnight_ns.saturating_add(nanos(at.ts_ns.unwrap_or(0)));
        let received = at.ts_recv_ns.map(nanos);
        times.without_receipt += u64::from(received.is_none() && !at.is_of_no_message);
        if let Some(received) = received {
            times.ahead_ns = times.ahead_ns.max(exch_ts_ns.saturating_sub(received));
        }
        let local_ts_ns = received.unwrap_or(exch_ts_ns).saturating_add(*latency_ns);
        let [exch, local] = &mut clocks[at.stock_locate];
        times.out_of_order += u64::from(exch_ts_ns < *exch || local_ts_ns < *local);
        *exch = exch_ts_ns.max(*exch);
        *local = local_ts_ns.max(*local);
        let scale = at.engine.books().price_scale();
        let event = BacktestEvent {
            ev: kind | kinds::OF_EXCHANGE_AND_LOCAL,
            exch_ts_ns: *exch,
            local_ts_ns: *local,
            price_usd: price.map_or(0.0, |price| scale.ten_thousandths(price) as f64 / 1e4),
            shares: shares as f64,
            order,
        };
        visit(at, &event)
    }

    fn of_order(
        &mut self,
        at: &StepAt<'_>,
        kind: u64,
        reference: OrderReferenceNumber,
        order: &Order,
        shares: u32,
    ) -> ControlFlow<()> {
        let kind = kind | side(order.side);
        self.push(at, kind, reference.get(), Some(order.price), shares.into())
    }

    /// The order has fewer shares, or none.
    fn reduced(
        &mut self,
        at: &StepAt<'_>,
        reference: OrderReferenceNumber,
        order: &Order,
        shares: u32,
    ) -> ControlFlow<()> {
        let remaining = order.shares.get().saturating_sub(shares);
        let kind = if remaining == 0 { kinds::CANCEL } else { kinds::MODIFY };
        self.of_order(at, kind, reference, order, remaining)
    }

    fn executed(
        &mut self,
        at: &StepAt<'_>,
        reference: OrderReferenceNumber,
        order: &Order,
        shares: u32,
        execution: &Execution,
    ) -> ControlFlow<()> {
        if execution.is_printed {
            let kind = kinds::TRADE | side(order.side.opposite());
            let price = execution.price.unwrap_or(order.price);
            self.push(at, kind, 0, Some(price), shares.into())?;
        }
        self.of_order(at, kinds::FILL, reference, order, shares)?;
        self.reduced(at, reference, order, shares)
    }
}

impl<F: FnMut(&StepAt<'_>, &BacktestEvent) -> ControlFlow<()>> StepVisitor for BacktestEvents<F> {
    fn begin(&mut self, at: &StepAt<'_>) -> ControlFlow<()> {
        self.push(at, kinds::CLEAR, 0, None, 0)?;
        for (reference, order) in at.engine.books().stock_in_queue_order(at.stock_locate) {
            self.of_order(at, kinds::ADD, reference, &order, order.shares.get())?;
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, at: &StepAt<'_>, step: OrderStep) -> ControlFlow<()> {
        match step {
            OrderStep::Cleared => self.push(at, kinds::CLEAR, 0, None, 0),
            OrderStep::Entered(reference, order) => {
                self.of_order(at, kinds::ADD, reference, &order, order.shares.get())
            }
            OrderStep::Grown(reference, order) => {
                self.of_order(at, kinds::MODIFY, reference, &order, order.shares.get())
            }
            OrderStep::Cancelled(reference, order, shares) => {
                self.reduced(at, reference, &order, shares)
            }
            OrderStep::Executed(reference, order, shares, execution) => {
                self.executed(at, reference, &order, shares, &execution)
            }
            OrderStep::Traded(trade) => {
                let kind = kinds::TRADE | trade.aggressor.map_or(0, side);
                self.push(at, kind, 0, Some(trade.price), trade.shares.get())
            }
        }
    }
}

fn side(side: Side) -> u64 {
    match side {
        Side::Buy => kinds::BUY,
        Side::Sell => kinds::SELL,
    }
}

fn nanos(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
