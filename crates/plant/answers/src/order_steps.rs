//! What messages do to single orders, step by step, under the references of the orders: for formats
//! of other programs, whose rows are such steps.

use std::ops::ControlFlow;

use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer, RestoredStock};
use nanotape_market::{Execution, MarketEvent, Modified, Position, Priority, Trade, What};
use nanotape_types::{BookEvent, LocateTable, OrderReferenceNumber, StockLocate, Symbol};

use crate::{Doubts, SymbolFilter, doubts::keep_doubts};

/// What happened to an order or a stock.
#[derive(Clone, Copy, Debug)]
pub enum OrderStep {
    /// All orders left.
    Cleared,
    /// An order entered at the end of the queue of its level.
    Entered(OrderReferenceNumber, Order),
    /// An order has more shares, and keeps its place. The order is as it is now.
    Grown(OrderReferenceNumber, Order),
    /// Shares of an order were cancelled. The order is as it was before.
    Cancelled(OrderReferenceNumber, Order, u32),
    /// Shares of an order were executed. The order is as it was before.
    Executed(OrderReferenceNumber, Order, u32, Execution),
    /// A trade that removes no displayed shares by itself.
    Traded(Trade),
}

/// Collects what a message does to orders: at most one loses shares, and then one enters.
#[derive(Clone, Copy, Default, Debug)]
pub struct OrderChanges {
    left: Option<(Order, u32)>,
    came: Option<Order>,
}

impl OrderChanges {
    /// An order entered, as [`Observer::order_entered`] has it.
    #[inline]
    pub fn entered(&mut self, order: &Order) {
        self.came = Some(*order);
    }

    /// An order lost shares, as [`Observer::order_reduced`] has it.
    #[inline]
    pub fn reduced(&mut self, order: &Order, shares: u32) {
        self.left = Some((*order, shares)).filter(|_| shares > 0);
    }

    /// The steps of the message, in their order. What was collected is gone then.
    #[inline]
    pub fn take(&mut self, event: &MarketEvent) -> [Option<OrderStep>; 2] {
        let Self { left, came } = std::mem::take(self);
        match event.what {
            What::BookCleared => return [Some(OrderStep::Cleared), None],
            What::Trade(trade) => {
                return [Some(OrderStep::Traded(trade)).filter(|_| trade.shares.get() > 0), None];
            }
            _ if left.is_none() && came.is_none() => return [None, None],
            _ => {}
        }
        let reference = event.reference().unwrap_or_default();
        let (of_left, of_came) = match event.what {
            What::Order(BookEvent::Replace { replacement, .. }) => (reference, replacement),
            What::OrderModified(Modified { reference, .. }) => (reference, reference),
            What::PriceOutOfRange(of) => (of.unwrap_or_default(), of.unwrap_or_default()),
            _ => (reference, reference),
        };
        if let (Some((left, _)), Some(came)) = (left, came)
            && let What::OrderModified(Modified { priority, .. }) = event.what
            && left.price == came.price
            && (priority == Priority::Kept || !event.is_last)
        {
            return [Some(OrderStep::Grown(of_came, came)), None];
        }
        let left = left.map(|(order, shares)| match event.what {
            What::Execution(execution) => OrderStep::Executed(of_left, order, shares, execution),
            _ => OrderStep::Cancelled(of_left, order, shares),
        });
        let came = came.map(|order| OrderStep::Entered(of_came, order));
        if left.is_some() { [left, came] } else { [came, None] }
    }
}

/// Where a step takes place.
#[derive(Debug)]
pub struct StepAt<'e> {
    /// The books after the message of the step.
    pub engine: &'e BookEngine<DefaultBooks>,
    /// The stock.
    pub stock_locate: StockLocate,
    /// The exchange's time, in ns since its midnight; `None` before the first time.
    pub ts_ns: Option<u64>,
    /// When the message was received, in ns since the UNIX epoch, if that is known.
    pub ts_recv_ns: Option<u64>,
    /// Whether the step is of no message, because the span begins after the last one: it was never
    /// received.
    pub is_of_no_message: bool,
}

/// Takes steps.
pub trait StepVisitor {
    /// The book of a stock is that of the engine: before the first step of the stock, and when a
    /// snapshot replaced the book.
    fn begin(&mut self, at: &StepAt<'_>) -> ControlFlow<()>;

    /// Takes a step. `Break` ends the reading.
    fn step(&mut self, at: &StepAt<'_>, step: OrderStep) -> ControlFlow<()>;
}

/// Gives the steps of the selected stocks to a visitor, as an observer.
#[derive(Debug)]
pub struct OrderSteps<V> {
    /// The selected stocks.
    pub filter: SymbolFilter,
    /// The visitor.
    pub visitor: V,
    /// The number of messages with steps of books that may be wrong.
    pub doubtful: u64,
    doubts: Doubts,
    has_begun: LocateTable<bool>,
    ts_ns: Option<u64>,
    changes: OrderChanges,
    /// Whether the visitor ended the reading outside of a message.
    is_over: bool,
    /// Whether all messages were read.
    is_after_all: bool,
}

impl<V: StepVisitor> OrderSteps<V> {
    /// The steps of these stocks; of all if there are none.
    pub fn new(symbols: &[Symbol], visitor: V) -> Self {
        Self {
            filter: SymbolFilter::new(symbols),
            visitor,
            doubtful: 0,
            doubts: Doubts::default(),
            has_begun: LocateTable::filled(false),
            ts_ns: None,
            changes: OrderChanges::default(),
            is_over: false,
            is_after_all: false,
        }
    }

    /// Gives the books at the begin of a span without a message. `from_ns`: the begin, in ns since
    /// the exchange's midnight; 0 without one.
    pub fn finish(&mut self, engine: &BookEngine<DefaultBooks>, from_ns: u64) {
        let has_begun = self.has_begun.iter().any(|(_, has_begun)| *has_begun);
        if from_ns > 0 && !has_begun {
            // The last message was received before the begin.
            self.doubts.ts_recv_ns = None;
            self.is_after_all = true;
            self.begin(engine, from_ns);
        }
    }

    fn at<'e>(
        &self,
        engine: &'e BookEngine<DefaultBooks>,
        stock_locate: StockLocate,
    ) -> StepAt<'e> {
        StepAt {
            engine,
            stock_locate,
            ts_ns: self.ts_ns,
            ts_recv_ns: self.doubts.ts_recv_ns,
            is_of_no_message: self.is_after_all,
        }
    }

    fn begin_stock(&mut self, engine: &BookEngine<DefaultBooks>, stock_locate: StockLocate) {
        let at = self.at(engine, stock_locate);
        self.has_begun[stock_locate] = true;
        self.is_over |= self.visitor.begin(&at).is_break();
    }
}

impl<V: StepVisitor> Observer<DefaultBooks> for OrderSteps<V> {
    fn follows_books(&mut self) -> bool {
        true
    }

    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, nanos: u64) {
        self.ts_ns = Some(nanos);
        for (locate, _) in engine.directory().iter() {
            if self.filter.accepts(locate, engine.directory()) {
                self.begin_stock(engine, locate);
            }
        }
    }

    #[inline]
    fn before(&mut self, engine: &BookEngine<DefaultBooks>, _: Position, event: &MarketEvent) {
        let locate = event.stock_locate;
        self.ts_ns = event.time.map(|time| engine.time_of_day_ns(time)).or(self.ts_ns);
        if !self.has_begun[locate]
            && locate != StockLocate::default()
            && self.filter.accepts(locate, engine.directory())
        {
            self.begin_stock(engine, locate);
        }
    }

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
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.doubts.outcome(outcome);
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        let steps = self.changes.take(event);
        if self.is_over {
            return ControlFlow::Break(());
        }
        if steps[0].is_none() || !self.filter.accepts(locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        let at = self.at(engine, locate);
        self.doubtful += u64::from(self.doubts.reason(locate).is_some());
        steps.into_iter().flatten().try_for_each(|step| self.visitor.step(&at, step))
    }

    fn restored(&mut self, engine: &BookEngine<DefaultBooks>, stock: &RestoredStock<'_>) {
        let locate = stock.stock_locate;
        if stock.is_replaced && self.filter.accepts(locate, engine.directory()) {
            self.begin_stock(engine, locate);
        }
    }

    keep_doubts!();
}
