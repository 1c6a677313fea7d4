//! Books behind messages that did not wait for their turn.
//!
//! Where: a live session with an open gap, whose policy is to go on. The books have the messages
//! ahead of the gap at once. Here the state of each order that they concern is kept as it was
//! before; when the missing messages have come, they and those ahead are applied to these orders
//! once more, in order. Then the books of the stocks that can differ are replaced.
//! Protocol: a stock can differ if a missing message is about it, or a message ahead did not fit
//! it.
//! The messages are those of ITCH, which clears no book and modifies no order in place.
//! Bounds: an entry for each order of the messages ahead, which the receiver bounds.
//! Cost: no work for a gap itself; a lookup and an entry per message ahead, and the same again
//! when it comes in its turn; one pass over all live orders at the end.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, HashMap, HashSet};

use nanotape_book::{Anomaly, AnomalyCounts, Books, Order, OrderStore, PriceLevels};
use nanotape_market::{
    Execution, MarketEvent, MarketSnapshot, Position, RestingOrder, Trade, TradeKind, Turn, What,
};
use nanotape_types::{BookEvent, OrderReferenceNumber, Shares, Side, StockLocate, TotalShares};

use super::{
    BookEngine, Observer,
    restore::{Wanted, resting},
};

/// What the orders were, and are in their turn.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// The orders of messages ahead, as they were before the first of these; `None` if not there.
    before: HashMap<OrderReferenceNumber, Option<Order>>,
    /// The orders of messages that came in their turn, as they are now.
    now: HashMap<OrderReferenceNumber, Option<Held>>,
    /// Stocks whose books can differ, and what did not fit in its turn, the first one.
    stocks: BTreeMap<StockLocate, Option<Anomaly>>,
    /// Stocks that were unreliable before, and why: they stay so.
    tainted: BTreeMap<StockLocate, Option<Anomaly>>,
    /// Orders that entered in their turn.
    entered: u64,
    /// The numbers of executions ahead whose order was not there: their trade is not published.
    unprinted: HashSet<u64>,
    /// The states of the snapshot that has the place of all orders before it.
    snapshot: Option<MarketSnapshot>,
}

/// An order in its turn.
#[derive(Clone, Copy, Debug)]
struct Held {
    order: Order,
    /// Its place behind the orders that were there before; `None` if it is one of them.
    place: Option<u64>,
}

impl Behind {
    /// Keeps an order as it was before a message ahead.
    fn keep<L: PriceLevels, S: OrderStore>(
        &mut self,
        books: &Books<L, S>,
        reference: OrderReferenceNumber,
    ) {
        self.before.entry(reference).or_insert_with(|| books.order(reference));
    }

    /// An order as it is in its turn.
    fn order<L: PriceLevels, S: OrderStore>(
        &self,
        books: &Books<L, S>,
        reference: OrderReferenceNumber,
    ) -> Option<Held> {
        if let Some(held) = self.now.get(&reference) {
            return *held;
        }
        if self.snapshot.is_some() {
            return None;
        }
        let before = self.before.get(&reference).copied();
        let order = before.unwrap_or_else(|| books.order(reference))?;
        Some(Held { order, place: None })
    }

    /// Applies an event in its turn, as [`Books`] do. Returns the order that lost shares, as it
    /// was, and how many.
    fn apply<L: PriceLevels, S: OrderStore>(
        &mut self,
        books: &Books<L, S>,
        event: BookEvent,
    ) -> Option<(Order, u32)> {
        match event {
            BookEvent::Add { stock_locate, reference, side, shares, price } => {
                let order = Order { stock_locate, side, price, shares, arrival: 0 };
                self.enter(books, reference, order);
                None
            }
            BookEvent::Execute { stock_locate, reference, shares } => {
                let over = Some(Anomaly::OverExecution);
                self.take(books, stock_locate, reference, shares.get(), over)
            }
            BookEvent::Cancel { stock_locate, reference, shares } => {
                let over = Some(Anomaly::OverCancel);
                self.take(books, stock_locate, reference, shares.get(), over)
            }
            BookEvent::Delete { stock_locate, reference } => {
                self.take(books, stock_locate, reference, u32::MAX, None)
            }
            BookEvent::Replace { stock_locate, original, replacement, shares, price } => {
                let taken = self.take(books, stock_locate, original, u32::MAX, None);
                if let Some((order, _)) = taken {
                    self.enter(books, replacement, Order { shares, price, ..order });
                }
                taken
            }
        }
    }

    fn enter<L: PriceLevels, S: OrderStore>(
        &mut self,
        books: &Books<L, S>,
        reference: OrderReferenceNumber,
        order: Order,
    ) {
        if order.shares.get() == 0 {
            return self.refuse(order.stock_locate, Anomaly::ZeroShares);
        }
        if self.order(books, reference).is_some() {
            return self.refuse(order.stock_locate, Anomaly::DuplicateReference);
        }
        let place = Some(self.entered);
        self.entered += 1;
        self.now.insert(reference, Some(Held { order, place }));
    }

    fn take<L: PriceLevels, S: OrderStore>(
        &mut self,
        books: &Books<L, S>,
        stock_locate: StockLocate,
        reference: OrderReferenceNumber,
        shares: u32,
        over: Option<Anomaly>,
    ) -> Option<(Order, u32)> {
        let Some(held) = self.order(books, reference) else {
            self.refuse(stock_locate, Anomaly::UnknownReference);
            return None;
        };
        let (had, order) = (held.order.shares.get(), held.order);
        let taken = shares.min(had);
        let rest = Order { shares: Shares::new(had - taken), ..order };
        self.now.insert(reference, (taken < had).then_some(Held { order: rest, ..held }));
        if order.stock_locate != stock_locate {
            self.refuse(order.stock_locate, Anomaly::LocateMismatch);
        } else if let Some(anomaly) = over.filter(|_| shares > had) {
            self.refuse(stock_locate, anomaly);
        }
        Some((order, taken))
    }

    fn refuse(&mut self, stock_locate: StockLocate, anomaly: Anomaly) {
        self.stocks.entry(stock_locate).or_default().get_or_insert(anomaly);
    }

    /// The orders of these stocks in their turn; those of one price level in queue order.
    fn orders<L: PriceLevels, S: OrderStore>(&self, books: &Books<L, S>) -> Vec<RestingOrder> {
        let is_wanted = |order: &Order| {
            self.snapshot.is_some() || self.stocks.contains_key(&order.stock_locate)
        };
        let held = self.now.iter().filter_map(|(&reference, held)| Some((reference, (*held)?)));
        let held = held.filter(|(_, held)| is_wanted(&held.order));
        let (mut entered, there): (Vec<_>, Vec<_>) =
            held.partition(|(_, held)| held.place.is_some());
        entered.sort_unstable_by_key(|(_, held)| held.place);
        let order_of = |(reference, held): (_, Held)| (reference, held.order);
        let mut there: Vec<_> = there.into_iter().map(order_of).collect();
        if self.snapshot.is_none() {
            let before =
                self.before.iter().filter_map(|(&reference, order)| Some((reference, (*order)?)));
            let live = books.orders().iter();
            let others = live.filter(|(reference, _)| !self.before.contains_key(reference));
            there.extend(before.chain(others).filter(|(reference, order)| {
                is_wanted(order) && !self.now.contains_key(reference)
            }));
        }
        let there = books.by_queue(there).into_iter();
        there.chain(entered.into_iter().map(order_of)).map(resting).collect()
    }
}

impl<L: PriceLevels, S: OrderStore> BookEngine<Books<L, S>> {
    /// Applies an event of a session that does not wait for its turn.
    pub(super) fn out_of_turn(
        &mut self,
        at: Position,
        event: &MarketEvent,
        turn: Turn,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> ControlFlow<()> {
        let behind = self.behind.get_or_insert_with(|| {
            let first = |anomalies: AnomalyCounts| anomalies.iter().next().map(|(first, _)| first);
            let tainted =
                self.books.tainted().map(|(locate, anomalies)| (locate, first(anomalies)));
            Box::new(Behind { tainted: tainted.collect(), ..Behind::default() })
        });
        match turn {
            Turn::Ahead => {
                if let Some(reference) = event.reference() {
                    behind.keep(&self.books, reference);
                }
                if let What::Order(BookEvent::Replace { replacement, .. }) = event.what {
                    behind.keep(&self.books, replacement);
                }
                let order = event.reference().and_then(|reference| self.books.order(reference));
                let anomalies = self.books.anomalies();
                let flow = self.observed_alone(at, event, observer);
                if self.books.anomalies() != anomalies
                    && let Some(behind) = &mut self.behind
                {
                    // It may fit in its turn.
                    let of_order = order.map(|order| order.stock_locate);
                    for stock_locate in of_order.into_iter().chain([event.stock_locate]) {
                        behind.stocks.entry(stock_locate).or_default();
                    }
                    if of_order.is_none() && matches!(event.what, What::Execution(_)) {
                        behind.unprinted.insert(at.number);
                    }
                }
                flow
            }
            _ if event.what == What::UnknownSide => {
                behind.refuse(event.stock_locate, Anomaly::UnknownSide);
                ControlFlow::Continue(())
            }
            Turn::Again => {
                let taken = event.book_event().and_then(|event| behind.apply(&self.books, event));
                if !behind.unprinted.remove(&at.number) {
                    return ControlFlow::Continue(());
                }
                match taken.and_then(|taken| printed(event, taken)) {
                    Some(trade) => observer.missed(self, at, &trade),
                    None => ControlFlow::Continue(()),
                }
            }
            Turn::Missed => {
                let Some(book_event) = event.book_event() else {
                    self.directory.learn(event);
                    return observer.missed(self, at, event);
                };
                behind.stocks.entry(event.stock_locate).or_default();
                let taken = behind.apply(&self.books, book_event);
                let Some((order, _)) = taken else { return ControlFlow::Continue(()) };
                behind.stocks.entry(order.stock_locate).or_default();
                match taken.and_then(|taken| printed(event, taken)) {
                    Some(trade) => observer.missed(self, at, &trade),
                    None => ControlFlow::Continue(()),
                }
            }
        }
    }

    /// The snapshot has the place of all orders before it; messages after it come again.
    pub(super) fn restore_behind(&mut self, snapshot: &MarketSnapshot) {
        let behind = self.behind.get_or_insert_default();
        let unprinted = core::mem::take(&mut behind.unprinted);
        **behind = Behind { snapshot: Some(snapshot.clone()), unprinted, ..Behind::default() };
        for order in &snapshot.orders {
            let &RestingOrder { stock_locate, reference, side, shares, price } = order;
            let order = Order { stock_locate, side, price, shares, arrival: 0 };
            behind.enter(&self.books, reference, order);
        }
    }

    /// All messages that were there ahead have come again: the books that differ are replaced.
    pub(super) fn caught_up(
        &mut self,
        next: u64,
        is_whole: bool,
        observer: &mut impl Observer<Books<L, S>>,
    ) {
        let Some(mut behind) = self.behind.take() else { return };
        let orders = behind.orders(&self.books);
        for (stock_locate, anomaly) in &mut behind.stocks {
            *anomaly = anomaly.or_else(|| behind.tainted.get(stock_locate).copied().flatten());
        }
        let (snapshot, wanted) = match behind.snapshot.take() {
            Some(snapshot) => (snapshot, Wanted::All(behind.stocks)),
            None => (MarketSnapshot::default(), Wanted::These(behind.stocks)),
        };
        self.restore(&MarketSnapshot { next, orders, ..snapshot }, wanted, is_whole, observer);
    }
}

/// The trade of an execution of which only the print is new, if it has one.
fn printed(event: &MarketEvent, (order, shares): (Order, u32)) -> Option<MarketEvent> {
    let What::Execution(Execution { price, match_number, is_printed, .. }) = event.what else {
        return None;
    };
    let aggressor = match order.side {
        Side::Buy => Side::Sell,
        Side::Sell => Side::Buy,
    };
    let trade = Trade {
        shares: TotalShares::new(shares.into()),
        price: price.unwrap_or(order.price),
        match_number,
        kind: TradeKind::Displayed,
        aggressor: Some(aggressor),
    };
    let event =
        MarketEvent { stock_locate: order.stock_locate, what: What::Trade(trade), ..*event };
    (is_printed && shares > 0).then_some(event)
}
