//! Messages about orders: order events, prints, insides.

use dbn::Action;
use nanotape_book::{Books, OrderStore, Outcome, PriceLevels};
use nanotape_ring::Publish;
use nanotape_types::{OrderReferenceNumber, Side};
use nanotape_wire::itch50::{Message, YesNo};

use super::{Publisher, Stock, outbox::Outbox};
use crate::{
    Plant,
    records::{
        Common, Notice, RecordKind, Taint,
        encode::{Change, LAST, bytes, mbo, mbp1, opposite, price_of, trade},
    },
};

impl<W: Publish> Publisher<W> {
    /// A message about an order. Not inlined into the loop that reads: that has no register to spare.
    #[inline(never)]
    pub(super) fn about_an_order<L: PriceLevels, S: OrderStore>(
        &mut self,
        plant: &Plant<Books<L, S>>,
        message: &Message<'_>,
        outcome: Outcome,
    ) {
        let locate = outcome.stock_locate;
        let mut common = self.common(locate);
        if self.stocks[locate.index()] != Stock::Wanted || outcome.anomaly.is_some() {
            match self.unusual(plant, outcome, &common) {
                Some(flags) => common.flags = flags,
                None => return,
            }
        }
        // Told apart without a jump by type, which would be guessed wrong as often as the first one.
        let is_execution =
            matches!(message, Message::OrderExecuted(_) | Message::OrderExecutedWithPrice(_));
        if is_execution || self.changes.count() != 1 {
            return self.several(plant, message, outcome, &common);
        }
        let (change, reference) = (self.changes.first(), reference_in(message));
        let tells_orders = self.kinds.has(RecordKind::Mbo);
        if outcome.inside_changed && self.kinds.has(RecordKind::Bbo) {
            let mut outbox = Outbox::new(&mut self.writer, &mut self.counts, &mut self.refused);
            if tells_orders {
                outbox.push(RecordKind::Mbo, mbo(&common, LAST, reference.get(), change));
            }
            outbox.push(RecordKind::Bbo, inside(plant, &common, outcome, change));
            outbox.publish();
        } else if tells_orders {
            let order = bytes(mbo(&common, LAST, reference.get(), change));
            self.record(RecordKind::Mbo, order.as_flattened());
        }
    }

    /// Executions and replaces, which are several order records; and what changed nothing.
    #[inline(never)]
    fn several<L: PriceLevels, S: OrderStore>(
        &mut self,
        plant: &Plant<Books<L, S>>,
        message: &Message<'_>,
        outcome: Outcome,
        common: &Common,
    ) {
        let left = self.changes.first();
        match message {
            _ if self.changes.count() == 0 => {}
            Message::OrderReplace(replace) => {
                self.replaced(
                    plant,
                    common,
                    outcome,
                    replace.new_order_reference_number(),
                    message,
                );
            }
            Message::OrderExecuted(_) => {
                self.executed(plant, common, outcome, message, left.price, true);
            }
            Message::OrderExecutedWithPrice(executed) => {
                let is_printed = executed.printable() == YesNo::Yes;
                let price = price_of(executed.execution_price());
                self.executed(plant, common, outcome, message, price, is_printed);
            }
            // No other message has several.
            _ => {}
        }
    }

    /// An order that came in place of another.
    #[inline(always)]
    fn replaced<L: PriceLevels, S: OrderStore>(
        &mut self,
        plant: &Plant<Books<L, S>>,
        common: &Common,
        outcome: Outcome,
        replacement: OrderReferenceNumber,
        message: &Message<'_>,
    ) {
        let (left, came) = (self.changes.first(), self.changes.second());
        let original = reference_in(message).get();
        let mut outbox = Outbox::new(&mut self.writer, &mut self.counts, &mut self.refused);
        if self.kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(common, 0, original, left));
            outbox.push(RecordKind::Mbo, mbo(common, LAST, replacement.get(), came));
        }
        if outcome.inside_changed && self.kinds.has(RecordKind::Bbo) {
            let change = Change { action: Action::Modify, ..came };
            outbox.push(RecordKind::Bbo, inside(plant, common, outcome, change));
        }
        outbox.publish();
    }

    /// An order of which shares were executed, at its own price or another.
    #[inline(always)]
    fn executed<L: PriceLevels, S: OrderStore>(
        &mut self,
        plant: &Plant<Books<L, S>>,
        common: &Common,
        outcome: Outcome,
        message: &Message<'_>,
        price: i64,
        is_printed: bool,
    ) {
        let (left, reference) = (self.changes.first(), reference_in(message).get());
        let aggressor = opposite(left.side);
        let traded = Change { action: Action::Trade, side: aggressor, price, size: left.size };
        let filled = Change { action: Action::Fill, price, ..left };
        let mut outbox = Outbox::new(&mut self.writer, &mut self.counts, &mut self.refused);
        if self.kinds.has(RecordKind::Mbo) {
            if is_printed {
                outbox.push(RecordKind::Mbo, mbo(common, 0, 0, traded));
            }
            outbox.push(RecordKind::Mbo, mbo(common, 0, reference, filled));
            outbox.push(RecordKind::Mbo, mbo(common, LAST, reference, left));
        }
        if is_printed && self.kinds.has(RecordKind::Trades) {
            outbox.push(RecordKind::Trades, trade(common, LAST, traded));
        }
        if outcome.inside_changed && self.kinds.has(RecordKind::Bbo) {
            outbox.push(RecordKind::Bbo, inside(plant, common, outcome, left));
        }
        outbox.publish();
    }

    /// A message whose stock is not simply wanted, or that did not fit its book. Gives the flags of its
    /// records; none if nobody wants them.
    #[cold]
    #[inline(never)]
    fn unusual<L: PriceLevels, S: OrderStore>(
        &mut self,
        plant: &Plant<Books<L, S>>,
        outcome: Outcome,
        common: &Common,
    ) -> Option<u8> {
        let locate = outcome.stock_locate;
        let mut stock = self.stock(plant, locate);
        if stock == Stock::Unwanted {
            return None;
        }
        if let Some(anomaly) = outcome.anomaly {
            if self.board.taint(locate, anomaly) {
                self.notice(&Notice::Taint(Taint {
                    instrument_id: common.instrument_id,
                    ts_event: common.ts_event,
                    ts_recv: common.ts_recv,
                    anomaly: Some(anomaly),
                    message: self.counts.messages,
                }));
            }
            stock = Stock::Tainted;
            self.stocks[locate.index()] = stock;
        }
        Some(if stock == Stock::Tainted { dbn::flags::MAYBE_BAD_BOOK } else { 0 })
    }
}

/// The order that a message is about; of a replace, the one that leaves. All have it at one place, so
/// that this is a load.
#[inline(always)]
fn reference_in(message: &Message<'_>) -> OrderReferenceNumber {
    match message {
        Message::AddOrder(m) => m.order_reference_number(),
        Message::AddOrderMpid(m) => m.order_reference_number(),
        Message::OrderExecuted(m) => m.order_reference_number(),
        Message::OrderExecutedWithPrice(m) => m.order_reference_number(),
        Message::OrderCancel(m) => m.order_reference_number(),
        Message::OrderDelete(m) => m.order_reference_number(),
        Message::OrderReplace(m) => m.original_order_reference_number(),
        // No other message changes an order.
        _ => OrderReferenceNumber::new(0),
    }
}

/// The record of the inside as it is now.
#[inline(always)]
fn inside<L: PriceLevels, S: OrderStore>(
    plant: &Plant<Books<L, S>>,
    common: &Common,
    outcome: Outcome,
    change: Change,
) -> [u64; 10] {
    let book = plant.books().book(outcome.stock_locate);
    mbp1(common, LAST, change, book.best_level(Side::Buy), book.best_level(Side::Sell))
}
