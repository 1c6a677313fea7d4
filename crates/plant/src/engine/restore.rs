//! Books from a snapshot of the exchange: each book that differs from it is replaced.
//!
//! Where: a live session that lost messages, or that was joined late. The books have the messages
//! before the snapshot that came; so they differ from it in the stocks of the messages that did
//! not, and in no others.
//! Cost: a sort of all live orders, of both sides. It happens once per loss, while messages wait.

use nanotape_book::{Books, Inside, Order, OrderStore, PriceLevels};
use nanotape_market::{MarketEvent, MarketSnapshot, NoOrigin, Position, RestingOrder, What};
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
    /// Whether an earlier message did not fit its book.
    pub was_tainted: bool,
    /// Best bid and best offer before.
    pub inside_before: Inside,
    /// Its orders in the snapshot; those of one price level from the first to be executed.
    pub orders: &'a [RestingOrder],
}

impl<L: PriceLevels, S: OrderStore> BookEngine<Books<L, S>> {
    /// Takes over the states of a snapshot, and the books of the stocks in which it differs.
    #[cold]
    #[inline(never)]
    pub(super) fn restore(
        &mut self,
        snapshot: &MarketSnapshot,
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
            if self.observed(at, &state, observer, NoOrigin, None).is_break() {
                return;
            }
        }
        let mut theirs = snapshot.orders.clone();
        theirs.sort_by_key(|order| order.stock_locate);
        let mut ours: Vec<RestingOrder> = self.books.orders().iter().map(resting).collect();
        ours.sort_unstable_by_key(|order| order.stock_locate);
        let tainted: Vec<StockLocate> = self.books.tainted().map(|(locate, _)| locate).collect();
        let (mut ours, mut theirs) = (ours.as_mut_slice(), theirs.as_slice());
        let mut stocks = Vec::new();
        // Orders leave before others enter, in all books: a reference may have changed its stock.
        for stock_locate in StockLocate::all() {
            let our_orders = take_of(&mut ours, stock_locate);
            let end = theirs.partition_point(|order| order.stock_locate <= stock_locate);
            let (orders, rest) = theirs.split_at(end);
            theirs = rest;
            let was_tainted = tainted.binary_search(&stock_locate).is_ok();
            if our_orders.is_empty() && orders.is_empty() && !was_tainted {
                continue;
            }
            let is_replaced = differ(our_orders, orders);
            let inside_before = self.books.book(stock_locate).inside();
            for &mut RestingOrder { reference, .. } in our_orders {
                if is_replaced {
                    let _ = self.books.apply(BookEvent::Delete { stock_locate, reference });
                }
            }
            self.books.clear_taint(stock_locate);
            let next = snapshot.next;
            stocks.push(RestoredStock {
                stock_locate,
                next,
                is_replaced,
                was_tainted,
                inside_before,
                orders,
            });
        }
        stocks.iter().for_each(|stock| observer.restoring(self, stock));
        for stock in &stocks {
            for &RestingOrder { stock_locate, reference, side, shares, price } in stock.orders {
                if stock.is_replaced {
                    let added = BookEvent::Add { stock_locate, reference, side, shares, price };
                    let _ = self.books.apply(added);
                }
            }
            observer.restored(self, stock);
        }
    }
}

impl<B> BookEngine<B> {
    /// Whether a state only names a stock as before.
    fn is_known(&self, state: &MarketEvent) -> bool {
        let symbol = self.directory.symbol(state.instrument);
        matches!(state.what, What::Definition(_))
            && symbol.is_some()
            && symbol == state.symbol.get()
    }
}

fn resting((reference, order): (OrderReferenceNumber, Order)) -> RestingOrder {
    let Order { stock_locate, side, price, shares, .. } = order;
    RestingOrder { stock_locate, reference, side, shares, price }
}

/// Takes the orders of a stock from the beginning of orders that are sorted by stock.
fn take_of<'a>(orders: &mut &'a mut [RestingOrder], locate: StockLocate) -> &'a mut [RestingOrder] {
    let all = core::mem::take(orders);
    let (of_stock, rest) =
        all.split_at_mut(all.partition_point(|order| order.stock_locate <= locate));
    *orders = rest;
    of_stock
}

/// Whether two sets of orders differ. The same orders have the same queue positions: an order takes
/// its place when it enters, and keeps it under its reference.
fn differ(ours: &mut [RestingOrder], theirs: &[RestingOrder]) -> bool {
    if ours.len() != theirs.len() {
        return true;
    }
    let mut theirs = theirs.to_vec();
    theirs.sort_unstable();
    ours.sort_unstable();
    ours != theirs
}
