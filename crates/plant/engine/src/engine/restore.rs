//! Books from a snapshot of the exchange: each book that differs from it is replaced.
//!
//! Where: a live session that lost messages, or that was joined late. The books have the messages
//! before the snapshot that came; so they differ from it in the stocks of the messages that did
//! not, and in no others.
//! Cost: a sort of all live orders, of both sides. It happens once per loss, while messages wait.

use std::collections::BTreeMap;

use nanotape_book::{Anomaly, Books, Inside, Order, OrderStore, PriceLevels};
use nanotape_market::{MarketEvent, MarketSnapshot, Position, RestingOrder, What};
use nanotape_types::{BookEvent, OrderReferenceNumber, StockLocate};

use super::{BookEngine, Observer};

/// A stock whose book is that of a snapshot now.
#[derive(Debug)]
pub struct RestoredStock<'a> {
    /// The stock.
    pub stock_locate: StockLocate,
    /// The number of the first message after the snapshot.
    pub next: u64,
    /// Whether its book differed, and was replaced.
    pub is_replaced: bool,
    /// Whether no message before `next` is lost that the book does not have from a snapshot.
    pub is_whole: bool,
    /// Whether an earlier message did not fit its book.
    pub was_tainted: bool,
    /// Best bid and best offer before.
    pub inside_before: Inside,
    /// Its orders in the snapshot, without those that no book can have; those of one price level
    /// from the first to be executed.
    pub orders: &'a [RestingOrder],
    /// Why an order of the snapshot is not in its book, or what did not fit the book that it is
    /// restored to, the first one; the stock stays tainted.
    pub refused: Option<Anomaly>,
}

/// The stocks to restore, and what did not fit the books that they are restored to, the first one.
pub(super) enum Wanted {
    All(BTreeMap<StockLocate, Option<Anomaly>>),
    These(BTreeMap<StockLocate, Option<Anomaly>>),
}

impl Wanted {
    /// Those that a snapshot has.
    pub(super) fn of(snapshot: &MarketSnapshot) -> Self {
        match &snapshot.stocks {
            Some(stocks) => Self::These(stocks.iter().map(|stock| (*stock, None)).collect()),
            None => Self::All(BTreeMap::new()),
        }
    }

    fn has(&self, stock_locate: StockLocate) -> bool {
        match self {
            Self::All(_) => true,
            Self::These(stocks) => stocks.contains_key(&stock_locate),
        }
    }

    fn unfit(&self, stock_locate: StockLocate) -> Option<Anomaly> {
        let (Self::All(stocks) | Self::These(stocks)) = self;
        stocks.get(&stock_locate).copied().flatten()
    }
}

/// A stock before its orders enter.
struct Leaving {
    stock_locate: StockLocate,
    is_replaced: bool,
    was_tainted: bool,
    inside_before: Inside,
    refused: Option<Anomaly>,
}

impl<L: PriceLevels, S: OrderStore> BookEngine<Books<L, S>> {
    /// Takes over the states of a snapshot, and the books of the stocks in which it differs.
    #[cold]
    #[inline(never)]
    pub(super) fn restore(
        &mut self,
        snapshot: &MarketSnapshot,
        wanted: Wanted,
        is_whole: bool,
        observer: &mut impl Observer<Books<L, S>>,
    ) {
        let number = snapshot.next.saturating_sub(1);
        let at = Position { number, offset: number };
        // The orders of a snapshot may have older times than messages that were applied. Only a
        // market without any order takes its time from the snapshot.
        let is_first = self.books.orders().iter().next().is_none();
        let mut time = is_first.then_some(snapshot.time);
        for state in &snapshot.states {
            if self.is_known(state) {
                continue;
            }
            let state = MarketEvent { time: time.take(), ..*state };
            if self.observed_alone(at, &state, observer).is_break() {
                return;
            }
        }
        let mut theirs = snapshot.orders.clone();
        theirs.retain(|order| wanted.has(order.stock_locate));
        theirs.sort_by_key(|order| order.stock_locate);
        // Orders leave before others enter, in all books: a reference may have changed its stock.
        let mut stocks = self.leave(&theirs, &wanted, snapshot.stocks.is_some());
        theirs.retain(|order| self.enters(order, &mut stocks));
        let mut rest = theirs.as_slice();
        let restored = stocks.into_iter().map(|stock| {
            let Leaving { stock_locate, is_replaced, was_tainted, inside_before, refused } = stock;
            let orders = take_of(&mut rest, stock_locate);
            let next = snapshot.next;
            RestoredStock {
                stock_locate,
                next,
                is_replaced,
                is_whole,
                was_tainted,
                inside_before,
                orders,
                refused,
            }
        });
        let restored: Vec<_> = restored.collect();
        restored.iter().for_each(|stock| observer.restoring(self, stock));
        restored.iter().for_each(|stock| observer.restored(self, stock));
    }

    /// The stocks of the snapshot and of the books, after those that differ lost their orders.
    /// `theirs`: the orders of the snapshot, by stock. `can_move`: whether the exchange has orders
    /// that lose their place in the queue and keep their reference.
    fn leave(
        &mut self,
        mut theirs: &[RestingOrder],
        wanted: &Wanted,
        can_move: bool,
    ) -> Vec<Leaving> {
        let ours = self.books.orders().iter().filter(|(_, order)| wanted.has(order.stock_locate));
        let mut ours: Vec<RestingOrder> = ours.map(resting).collect();
        ours.sort_unstable_by_key(|order| order.stock_locate);
        let tainted: Vec<StockLocate> = self.books.tainted().map(|(locate, _)| locate).collect();
        let mut ours = ours.as_slice();
        let mut stocks = Vec::new();
        for stock_locate in StockLocate::all() {
            let our_orders = take_of(&mut ours, stock_locate);
            let their_orders = take_of(&mut theirs, stock_locate);
            let was_tainted = tainted.binary_search(&stock_locate).is_ok();
            let refused = wanted.unfit(stock_locate);
            let is_same = our_orders.is_empty() && their_orders.is_empty();
            let is_reliable = !was_tainted && refused.is_none();
            if is_same && is_reliable || !wanted.has(stock_locate) {
                continue;
            }
            let is_replaced = differ(our_orders, their_orders)
                || can_move && self.has_other_queues(our_orders, their_orders);
            let inside_before = self.books.book(stock_locate).inside();
            for &RestingOrder { reference, .. } in our_orders {
                if is_replaced {
                    let _ = self.books.apply(BookEvent::Delete { stock_locate, reference });
                }
            }
            self.books.clear_taint(stock_locate);
            if let Some(anomaly) = refused {
                self.books.record_anomaly(stock_locate, anomaly);
            }
            stocks.push(Leaving { stock_locate, is_replaced, was_tainted, inside_before, refused });
        }
        stocks
    }

    /// Whether the same orders of a stock have other places in their queues.
    fn has_other_queues(&self, ours: &[RestingOrder], theirs: &[RestingOrder]) -> bool {
        let of_ours = ours.iter().map(|order| order.reference);
        let ours = of_ours.filter_map(|reference| Some((reference, self.books.order(reference)?)));
        let mut ours: Vec<_> =
            self.books.by_queue(ours.collect()).into_iter().map(resting).collect();
        let mut theirs = theirs.to_vec();
        // Stable: the orders of a level keep their order.
        ours.sort_by_key(|order| (order.side, order.price));
        theirs.sort_by_key(|order| (order.side, order.price));
        ours != theirs
    }

    /// Whether an order of a snapshot is in its book, where it enters now if the book is replaced.
    /// The books refuse an order of no shares and one whose reference is live, and taint its stock.
    fn enters(&mut self, order: &RestingOrder, stocks: &mut [Leaving]) -> bool {
        let &RestingOrder { stock_locate, reference, side, shares, price } = order;
        let found = stocks.binary_search_by_key(&stock_locate, |stock| stock.stock_locate);
        let Some(stock) = found.ok().and_then(|at| stocks.get_mut(at)) else { return false };
        if !stock.is_replaced {
            return true;
        }
        let added = BookEvent::Add { stock_locate, reference, side, shares, price };
        let refused = self.books.apply(added).anomaly;
        stock.refused = stock.refused.or(refused);
        refused.is_none()
    }
}

impl<B> BookEngine<B> {
    /// Whether a state only names a stock as before.
    fn is_known(&self, state: &MarketEvent) -> bool {
        let symbol = self.directory.symbol(state.stock_locate);
        matches!(state.what, What::Definition(_))
            && symbol.is_some()
            && symbol == state.symbol.get()
    }
}

pub(super) fn resting((reference, order): (OrderReferenceNumber, Order)) -> RestingOrder {
    let Order { stock_locate, side, price, shares, .. } = order;
    RestingOrder { stock_locate, reference, side, shares, price }
}

/// Takes the orders of a stock from the beginning of orders that are sorted by stock.
fn take_of<'a>(orders: &mut &'a [RestingOrder], locate: StockLocate) -> &'a [RestingOrder] {
    let (of_stock, rest) =
        orders.split_at(orders.partition_point(|order| order.stock_locate <= locate));
    *orders = rest;
    of_stock
}

/// Whether two sets of orders differ. At Nasdaq the same orders have the same queue positions: an
/// order takes its place when it enters, and keeps it under its reference.
fn differ(ours: &[RestingOrder], theirs: &[RestingOrder]) -> bool {
    if ours.len() != theirs.len() {
        return true;
    }
    let [mut ours, mut theirs] = [ours.to_vec(), theirs.to_vec()];
    theirs.sort_unstable();
    ours.sort_unstable();
    ours != theirs
}
