//! A live session in records: gaps, since when books are suspect, and books from a snapshot.
//!
//! While a gap is open, later messages wait, so what was published is old and not wrong. If they do
//! not wait, after a loss, and after a late join, the records of all stocks have the flag
//! `MAYBE_BAD_BOOK`. A book that is replaced is published as a clear and adds with `F_SNAPSHOT`,
//! then its inside. A stock of which the snapshot has an order that no book can have stays tainted.

use dbn::{Action, Side as DbnSide, UNDEF_PRICE};
use nanotape_book::{Anomaly, Books, OrderStore, PriceLevels};
use nanotape_engine::{BookEngine, RestoredStock};
use nanotape_market::{MarketEvent, Position, SessionChange, Suspect};
use nanotape_ring::Publish;
use nanotape_types::StockLocate;

use super::{CHECK_EVERY, Publisher, Stock};
use crate::records::{
    Common, GapNotice, Notice, RecordKind, RestoredCause, RestoredNotice, SuspectNotice,
    SuspectReason, Taint,
    encode::{BestLevels, Change, LAST, mbo, mbp1, side_of},
};

/// Why the records of all stocks are flagged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unreliable {
    /// Messages are lost, or come later.
    Loss,
    /// The session had begun before it was joined.
    LateJoin,
}

/// The change of a record that no order caused.
pub(super) const CLEARED: Change =
    Change { action: Action::Clear, side: DbnSide::None, price: UNDEF_PRICE, size: 0 };

impl<W: Publish> Publisher<W> {
    /// Reports a change of what is known about the messages of the session.
    #[cold]
    pub(super) fn session_changed(&mut self, change: &SessionChange) {
        let ts_recv = self.read_clock();
        match *change {
            SessionChange::EndsWhenIdle => self.ends_when_idle = true,
            SessionChange::CaughtUp => self.gate.iter_mut().for_each(|gate| gate.let_go()),
            SessionChange::GapDeclared(gap) | SessionChange::GapClosed(gap) => {
                self.notice(&Notice::SessionGap(GapNotice { ts_recv, gap }));
            }
            SessionChange::Suspect(Suspect { first, next, is_late_join }) => {
                let reason =
                    if is_late_join { SuspectReason::LateJoin } else { SuspectReason::Gap };
                self.notice(&Notice::Suspect(SuspectNotice { ts_recv, reason, first, next }));
                if is_late_join {
                    self.flag_all(Some(Unreliable::LateJoin));
                    self.unread_to(next);
                }
            }
            SessionChange::GoesOn if self.unreliable.is_none() => {
                self.flag_all(Some(Unreliable::Loss));
            }
            SessionChange::GoesOn => {}
            SessionChange::Complete { next } => {
                self.reliable(StockLocate::default(), RestoredCause::Complete, next);
                self.end_suspicion();
            }
            SessionChange::Restored { next } => {
                self.reliable(StockLocate::default(), RestoredCause::Snapshot, next);
                self.end_suspicion();
            }
        }
    }

    /// No stock is suspect any more. For a reader, the notice before ended all taints.
    fn end_suspicion(&mut self) {
        self.flag_all(None);
        for (locate, anomaly) in std::mem::take(&mut self.refused_stocks) {
            self.taint(locate, anomaly);
        }
    }

    /// Publishes the records of an event that is about no order in a book, with its own number and
    /// time, which are before those of the records before it.
    pub(super) fn late<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        event: &MarketEvent,
    ) {
        let now = (self.counts.messages, self.counts.ts_event);
        self.counts.messages = at.number;
        if let Some(time) = event.time {
            self.counts.ts_event = time.get();
        }
        self.about_no_order(engine, event);
        (self.counts.messages, self.counts.ts_event) = now;
    }

    /// The messages before this number that have not been read will not be.
    pub(super) fn unread_to(&mut self, next: u64) {
        let unread = next.saturating_sub(1).saturating_sub(self.counts.messages);
        self.counts.messages += unread;
        self.counts.unread += unread;
    }

    /// Publishes that a stock is tainted if its book differs from the snapshot, and that its orders
    /// leave. All orders leave before the first one enters: a reference may change its stock.
    #[cold]
    pub(super) fn restoring_stock<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        stock: &RestoredStock<'_>,
    ) {
        let locate = stock.stock_locate;
        self.unread_to(stock.next);
        if !stock.is_replaced || self.stock(engine, locate) == Stock::Unwanted {
            return;
        }
        // Any number of stocks may follow each other without a message. If the run is to end, its
        // next check ends it.
        let _ = self.pass_gate();
        let is_joining = self.unreliable == Some(Unreliable::LateJoin);
        let missed = (!is_joining).then_some(Anomaly::MissedMessages);
        if let Some(anomaly) = stock.refused.or(missed)
            && self.board.taint(locate, anomaly)
        {
            self.taint(locate, anomaly);
        }
        if self.kinds.has(RecordKind::Mbo) {
            let last = if stock.orders.is_empty() { LAST } else { 0 };
            let common = self.of_snapshot(stock);
            self.record(RecordKind::Mbo, mbo(&common, last, 0, CLEARED));
        }
    }

    /// Publishes the orders of a snapshot, the inside if it changed, and that the book is reliable.
    #[cold]
    pub(super) fn stock_restored<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        stock: &RestoredStock<'_>,
    ) {
        let locate = stock.stock_locate;
        if self.stock(engine, locate) == Stock::Unwanted {
            return;
        }
        let _ = self.pass_gate();
        if stock.is_replaced {
            self.entered(engine, stock);
        }
        if let Some(anomaly) = stock.refused {
            if !stock.is_replaced && !stock.was_tainted {
                self.board.taint(locate, anomaly);
            }
            self.stocks[locate] = Stock::Tainted;
            self.refused_stocks.push((locate, anomaly));
            return;
        }
        self.refused_stocks.retain(|(refused, _)| *refused != locate);
        let was_tainted = self.board.clear_taint(locate);
        if self.stocks[locate] == Stock::Tainted {
            self.stocks[locate] = Stock::Unknown;
            self.stock(engine, locate);
        }
        if was_tainted {
            let cause =
                if stock.is_replaced { RestoredCause::Replaced } else { RestoredCause::Same };
            self.reliable(locate, cause, stock.next);
        }
    }

    fn entered<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        stock: &RestoredStock<'_>,
    ) {
        let common = self.of_snapshot(stock);
        let book = engine.books().book(stock.stock_locate);
        if self.kinds.has(RecordKind::Mbo) {
            for (place, order) in stock.orders.iter().enumerate() {
                if place.is_multiple_of(CHECK_EVERY as usize) {
                    let _ = self.pass_gate();
                }
                let last = if place + 1 == stock.orders.len() { LAST } else { 0 };
                let (side, price) = (side_of(order.side), book.price_scale().nanos(order.price));
                let change = Change { action: Action::Add, side, price, size: order.shares.get() };
                self.record(RecordKind::Mbo, mbo(&common, last, order.reference.get(), change));
            }
        }
        if self.kinds.has(RecordKind::Bbo) && book.inside() != stock.inside_before {
            let best = BestLevels::of(&book);
            self.record(RecordKind::Bbo, mbp1(&common, LAST, CLEARED, best));
        }
    }

    /// The common fields of the records of a stock of a snapshot.
    fn of_snapshot(&self, stock: &RestoredStock<'_>) -> Common {
        let is_reliable = stock.is_whole && stock.refused.is_none();
        let unreliable = if is_reliable { 0 } else { dbn::flags::MAYBE_BAD_BOOK };
        let flags = dbn::flags::SNAPSHOT | unreliable;
        Common { flags, ..self.common(stock.stock_locate) }
    }

    /// Publishes that a stock is tainted.
    pub(super) fn taint(&mut self, locate: StockLocate, anomaly: Anomaly) {
        let Common { instrument, ts_event, ts_recv, .. } = self.common(locate);
        let instrument_id = instrument.id();
        let (anomaly, message) = (Some(anomaly), self.counts.messages);
        let taint = Taint { instrument_id, ts_event, ts_recv, anomaly, message };
        self.notice(&Notice::Taint(taint));
    }

    /// Publishes that a book is reliable again, or all of them.
    fn reliable(&mut self, locate: StockLocate, cause: RestoredCause, next: u64) {
        let Common { instrument, ts_event, ts_recv, .. } = self.common(locate);
        let instrument_id = instrument.id();
        let restored = RestoredNotice { instrument_id, ts_event, ts_recv, cause, next };
        self.notice(&Notice::Restored(restored));
    }

    /// Flags the records of all stocks, or ends that. Tainted stocks stay tainted.
    pub(super) fn flag_all(&mut self, unreliable: Option<Unreliable>) {
        self.unreliable = unreliable;
        let (from, to) = match unreliable {
            Some(_) => (Stock::Wanted, Stock::Suspect),
            None => (Stock::Suspect, Stock::Wanted),
        };
        for stock in self.stocks.iter_mut().map(|(_, stock)| stock) {
            if *stock == from {
                *stock = to;
            }
        }
    }
}
