//! Events about orders: order records, prints, insides.

use dbn::Action;
use nanotape_book::{Books, OrderStore, Outcome, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_market::{Execution, Modified, Priority};
use nanotape_ring::Publish;
use nanotape_types::{OrderReferenceNumber, PriceScale};

use super::{Publisher, Stock, session::CLEARED};
use crate::records::{
    Common, RecordKind,
    encode::{BestLevels, Change, GROWS_IN_PLACE, LAST, mbo, mbp1, opposite, trade},
};

impl<W: Publish> Publisher<W> {
    /// An order was entered, or lost shares without an execution; for a replace, both at once.
    #[inline(always)]
    pub(super) fn order<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        reference: OrderReferenceNumber,
        replacement: OrderReferenceNumber,
        outcome: Outcome,
    ) {
        if engine.books().price_scale() == PriceScale::ITCH {
            self.order_in::<_, _, true>(engine, reference, replacement, outcome);
        } else {
            self.order_in::<_, _, false>(engine, reference, replacement, outcome);
        }
    }

    /// Shares of an order were executed, at its own price or another.
    #[inline(always)]
    pub(super) fn execution<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        execution: Execution,
        outcome: Outcome,
    ) {
        if engine.books().price_scale() == PriceScale::ITCH {
            self.execution_in::<_, _, true>(engine, execution, outcome);
        } else {
            self.execution_in::<_, _, false>(engine, execution, outcome);
        }
    }

    /// Not inlined into the read loop, which has no free register.
    #[inline(never)]
    fn order_in<L: PriceLevels, S: OrderStore, const IS_ITCH: bool>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        reference: OrderReferenceNumber,
        replacement: OrderReferenceNumber,
        outcome: Outcome,
    ) {
        let Some(flags) = self.order_flags(engine, outcome) else { return };
        if self.changes.count() != 1 {
            let orders = (reference, replacement);
            return self.replaced::<_, _, IS_ITCH>(engine, flags, outcome, orders);
        }
        let common = Common { flags, ..self.common(outcome.stock_locate) };
        let scale = scale_of::<_, _, IS_ITCH>(engine);
        let change = self.changes.first(scale);
        let kinds = self.kinds;
        let mut outbox = self.outbox();
        if kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(&common, LAST, reference.get(), change));
        }
        // Whether an inside changes cannot be guessed. A wrong guess costs less after work that is
        // needed in both cases.
        if outcome.inside_changed && kinds.has(RecordKind::Bbo) {
            outbox.push(RecordKind::Bbo, inside(engine, (&common, scale), outcome, change));
        }
        outbox.publish();
    }

    /// The flags of the records of an event about an order; `None` if none is published.
    ///
    /// Not all common fields: they would be written to memory field by field and read in larger
    /// parts right after, which waits for the stores.
    #[inline(always)]
    pub(super) fn order_flags<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        outcome: Outcome,
    ) -> Option<u8> {
        if self.stocks[outcome.stock_locate] == Stock::Wanted && outcome.anomaly.is_none() {
            return Some(0);
        }
        self.unusual(engine, outcome)
    }

    /// A new order replaced another. If the new one does not fit, the books refuse it; then only
    /// the old one was removed.
    #[inline(never)]
    fn replaced<L: PriceLevels, S: OrderStore, const IS_ITCH: bool>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        flags: u8,
        outcome: Outcome,
        (reference, replacement): (OrderReferenceNumber, OrderReferenceNumber),
    ) {
        if self.changes.count() == 0 {
            return;
        }
        let common = &Common { flags, ..self.common(outcome.stock_locate) };
        let scale = scale_of::<_, _, IS_ITCH>(engine);
        let (left, came) = (self.changes.first(scale), self.changes.second(scale));
        let kinds = self.kinds;
        let mut outbox = self.outbox();
        if kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(common, 0, reference.get(), left));
            outbox.push(RecordKind::Mbo, mbo(common, LAST, replacement.get(), came));
        }
        if outcome.inside_changed && kinds.has(RecordKind::Bbo) {
            let change = Change { action: Action::Modify, ..came };
            outbox.push(RecordKind::Bbo, inside(engine, (common, scale), outcome, change));
        }
        outbox.publish();
    }

    #[inline(never)]
    fn execution_in<L: PriceLevels, S: OrderStore, const IS_ITCH: bool>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        execution: Execution,
        outcome: Outcome,
    ) {
        let Some(flags) = self.order_flags(engine, outcome) else { return };
        if self.changes.count() == 0 {
            return;
        }
        let common = Common { flags, ..self.common(outcome.stock_locate) };
        let scale = scale_of::<_, _, IS_ITCH>(engine);
        let (left, reference) = (self.changes.first(scale), execution.reference.get());
        let price = execution.price.map_or(left.price, |price| scale.nanos(price));
        let aggressor = opposite(left.side);
        let traded = Change { action: Action::Trade, side: aggressor, price, size: left.size };
        let filled = Change { action: Action::Fill, price, ..left };
        let kinds = self.kinds;
        let mut outbox = self.outbox();
        if kinds.has(RecordKind::Mbo) {
            if execution.is_printed {
                outbox.push(RecordKind::Mbo, mbo(&common, 0, 0, traded));
            }
            outbox.push(RecordKind::Mbo, mbo(&common, 0, reference, filled));
            outbox.push(RecordKind::Mbo, mbo(&common, LAST, reference, left));
        }
        if execution.is_printed && kinds.has(RecordKind::Trades) {
            outbox.push(RecordKind::Trades, trade(&common, LAST, traded));
        }
        if outcome.inside_changed && kinds.has(RecordKind::Bbo) {
            outbox.push(RecordKind::Bbo, inside(engine, (&common, scale), outcome, left));
        }
        outbox.publish();
    }

    /// An order has other shares at its place in the queue. `last`: [`LAST`], or 0 if an execution
    /// that states what remains follows.
    #[cold]
    #[inline(never)]
    pub(super) fn in_its_place<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        (reference, last): (OrderReferenceNumber, u8),
        outcome: Outcome,
    ) {
        let Some(flags) = self.order_flags(engine, outcome) else { return };
        let common = &Common { flags, ..self.common(outcome.stock_locate) };
        let (kinds, scale) = (self.kinds, engine.books().price_scale());
        let (of_order, change) = match self.changes.count() {
            0 => return,
            1 => (*common, self.changes.first(scale)),
            _ => {
                let grown = Change { action: Action::Modify, ..self.changes.second(scale) };
                (Common { flags: flags | GROWS_IN_PLACE, ..*common }, grown)
            }
        };
        let mut outbox = self.outbox();
        if kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(&of_order, last, reference.get(), change));
        }
        if outcome.inside_changed && kinds.has(RecordKind::Bbo) {
            outbox.push(RecordKind::Bbo, inside(engine, (common, scale), outcome, change));
        }
        outbox.publish();
    }

    /// All orders of a book left, or an order was modified. A modified order lost shares, or left
    /// and entered again at the end of its queue: its records are those of a cancel or a replace.
    /// Only one that grows in its place has a record of its own.
    #[cold]
    #[inline(never)]
    pub(super) fn cleared_or_modified<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        modified: Option<Modified>,
        outcome: Outcome,
    ) {
        if let Some(Modified { reference, priority, .. }) = modified {
            let scale = engine.books().price_scale();
            let (left, came) = (self.changes.first(scale), self.changes.second(scale));
            let is_two = self.changes.count() == 2;
            if is_two && priority == Priority::Kept && left.price == came.price {
                return self.in_its_place(engine, (reference, LAST), outcome);
            }
            return self.order(engine, reference, reference, outcome);
        }
        let Some(flags) = self.order_flags(engine, outcome) else { return };
        let common = Common { flags, ..self.common(outcome.stock_locate) };
        let (kinds, scale) = (self.kinds, engine.books().price_scale());
        let mut outbox = self.outbox();
        if kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(&common, LAST, 0, CLEARED));
        }
        if outcome.inside_changed && kinds.has(RecordKind::Bbo) {
            outbox.push(RecordKind::Bbo, inside(engine, (&common, scale), outcome, CLEARED));
        }
        outbox.publish();
    }

    /// Handles a message that did not fit its book, or whose stock is not in state `Wanted`.
    /// Returns the flags of its records; `None` if they are not wanted.
    #[cold]
    #[inline(never)]
    fn unusual<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        outcome: Outcome,
    ) -> Option<u8> {
        let locate = outcome.stock_locate;
        let mut stock = self.stock(engine, locate);
        if stock == Stock::Unwanted {
            return None;
        }
        if let Some(anomaly) = outcome.anomaly {
            if self.board.taint(locate, anomaly) {
                self.taint(locate, anomaly);
            }
            stock = Stock::Tainted;
            self.stocks[locate] = stock;
        }
        Some(self.flags_of(stock))
    }
}

/// The scale of the prices: a constant for ITCH, of which no price has a test of its own then.
#[inline(always)]
fn scale_of<L: PriceLevels, S: OrderStore, const IS_ITCH: bool>(
    engine: &BookEngine<Books<L, S>>,
) -> PriceScale {
    if IS_ITCH { PriceScale::ITCH } else { engine.books().price_scale() }
}

/// The record of the current inside.
#[inline(always)]
fn inside<L: PriceLevels, S: OrderStore>(
    engine: &BookEngine<Books<L, S>>,
    (common, scale): (&Common, PriceScale),
    outcome: Outcome,
    change: Change,
) -> [u64; 10] {
    let book = engine.books().book(outcome.stock_locate);
    mbp1(common, LAST, change, BestLevels { scale, ..BestLevels::of(&book) })
}
